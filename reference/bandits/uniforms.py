"""Chance from given uniforms: what a policy does on the same random numbers as its batched twin."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate

from specproof.reference.chance import Chance, checked_probability, checked_total


def uniform(chance: Chance, what: str) -> float:
    """Ask for a uniform number. Raises ``ValueError`` where ``chance`` enumerates: ``what`` cannot be enumerated."""
    ask = getattr(chance, "uniform", None)
    if ask is None:
        raise ValueError(f"{what} draws from a continuous law, which cannot be enumerated: chance must offer uniform()")
    return float(ask())


class Given:
    """Answers from given numbers in [0, 1), one for each question, by inverse distribution functions."""

    def __init__(self, numbers: Iterable[float]) -> None:
        self._numbers = iter(numbers)

    def uniform(self) -> float:
        """Return the next number. Raises ``LookupError`` when there is none left."""
        try:
            return next(self._numbers)
        except StopIteration:
            raise LookupError("more random questions were asked than uniforms were given") from None

    def flip(self, probability: Fraction) -> bool:
        """Return whether the next number is below the probability."""
        return self.uniform() < checked_probability(probability)

    def choose(self, weights: Sequence[Fraction]) -> int:
        """Return the first index whose cumulated share exceeds the next number."""
        level = self.uniform() * checked_total(weights)
        possible = [index for index, weight in enumerate(weights) if weight > 0]
        return next((index for index, end in enumerate(accumulate(weights)) if level < end), possible[-1])
