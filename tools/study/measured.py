"""Means over prompts with their confidence intervals, and the time that a round takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev
from typing import Any

from specproof.fast.generate import Generated, Seconds

Z = 1.96  # 95 %, normal


@dataclass(frozen=True)
class Estimate:
    """A mean over prompts and half the width of its 95 % interval."""

    value: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Estimate":
        """From one number a prompt; a single one has no interval."""
        return cls(mean(values), Z * stdev(values) / sqrt(len(values)) if len(values) > 1 else float("nan"))

    def __str__(self) -> str:
        return f"{self.value:.3f} ±{self.half:.3f}"

    def percent(self) -> str:
        """As a relative change."""
        return f"{self.value:+.1%} ±{self.half:.1%}"

    def json(self) -> dict[str, float]:
        """For the report."""
        return {"value": self.value, "half_width_95": self.half}


def first_block(requests: Sequence[Generated]) -> list[float]:
    """Tokens of each prompt's first round."""
    return [request.rounds[0].accepted + 1 for request in requests]


def long_run(requests: Sequence[Generated]) -> list[float]:
    """Tokens a round of each prompt, over all its rounds."""
    return [request.block_efficiency for request in requests]


def gain(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Estimate:
    """By how much, relatively, the first of each pair has the larger mean: the mean over settings of the same prompts.

    Prompts are compared with themselves: half the width is that of the influence of one prompt on all settings (delta method).
    """
    ratios = [mean(own) / mean(other) for own, other in pairs]
    influence = [
        mean(
            (a - ratio * b) / mean(other)
            for ratio, (own, other) in zip(ratios, pairs, strict=True)
            for a, b in [(own[i], other[i])]
        )
        for i in range(len(pairs[0][0]))
    ]
    return Estimate(mean(ratios) - 1, Estimate.of(influence).half)


@dataclass(frozen=True)
class Speed:
    """Tokens a second relative to plain decoding: as measured, and without the time that verification takes.

    The second is what remains where a pass of the target takes much longer than verification, as large models do.
    """

    measured: float
    models_only: float

    @classmethod
    def of(
        cls, requests: Sequence[Generated], spent: Seconds, plain: Sequence[Generated], plain_spent: Seconds
    ) -> "Speed":
        """Compare two runs over the same prompts."""

        def rate(made: Sequence[Generated], seconds: float) -> float:
            return sum(len(request.tokens) for request in made) / seconds

        whole = sum(vars(spent).values())
        return cls(
            rate(requests, whole) / rate(plain, sum(vars(plain_spent).values())),
            rate(requests, spent.draft + spent.target) / rate(plain, plain_spent.target),
        )

    def json(self) -> dict[str, Any]:
        """For the report."""
        return vars(self)
