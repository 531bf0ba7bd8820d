"""Run a program over ``Chance`` as torch code: the bridge from rules and mutants to probed and sampled evidence.

The program meets a ``Chance`` that draws with torch, row by row, and models made of the handed rows. Faults in the use
of randomness are then faults of the chance, not of the program: ``ReusedCoin``, ``OneCoin`` and ``DefaultId``.
"""

from collections.abc import Sequence
from typing import Any

import torch

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.reference.model import Prefix
from specproof.reference.step import Verify


class TorchChance:
    """Answers with torch draws: a uniform for a coin, ``multinomial`` for a choice."""

    def __init__(self, generator: torch.Generator | None) -> None:
        self._generator = generator

    def uniform(self) -> float:
        """Return a fresh uniform in [0, 1)."""
        return float(torch.rand((), dtype=torch.float64, generator=self._generator))

    def flip(self, probability: Any) -> bool:
        """Return True with the given probability."""
        return bool(self.uniform() < probability)

    def choose(self, weights: Sequence[Any]) -> int:
        """Return an index with probability proportional to its weight."""
        row = torch.tensor([float(weight) for weight in weights], dtype=torch.float64)
        return int(torch.multinomial(row, 1, generator=self._generator))


class ReusedCoin(TorchChance):
    """Fault: the correction is drawn with the uniform that has just rejected the draft."""

    _last: float | None = None

    def flip(self, probability: Any) -> bool:
        """Flip a fresh coin and remember it when it rejects."""
        coin = self.uniform()
        self._last = None if coin < probability else coin
        return self._last is None

    def choose(self, weights: Sequence[Any]) -> int:
        """Draw by inverse distribution function with the remembered uniform."""
        left = (self.uniform() if self._last is None else self._last) * float(sum(weights))
        for index, weight in enumerate(weights):
            left -= float(weight)
            if left < 0:
                return index
        return max(index for index, weight in enumerate(weights) if weight > 0)


class OneCoin(TorchChance):
    """Fault: one uniform decides every position of the block."""

    _coin: float | None = None

    def flip(self, probability: Any) -> bool:
        """Compare the block's only coin."""
        if self._coin is None:
            self._coin = self.uniform()
        return bool(self._coin < probability)


class DefaultId(TorchChance):
    """Fault: the scan for a token falls short of the total by rounding and then answers with an id that does not exist."""

    def choose(self, weights: Sequence[Any]) -> int:
        """Scan a distribution function that ends at 0.99."""
        left = self.uniform() * float(sum(weights))
        for index, weight in enumerate(weights):
            left -= 0.99 * float(weight)
            if left < 0:
                return index
        return len(weights)


class HandedRows:
    """A model that knows the rows along the handed drafts and nothing else."""

    def __init__(self, rows: dict[Prefix, list[float]], vocabulary: int) -> None:
        self._rows = rows
        self.vocabulary = vocabulary

    def probabilities(self, prefix: Prefix) -> list[float]:
        """Return the row after ``prefix``. Raises ``LookupError`` off the drafts."""
        return self._rows[prefix]


class ProgramVerifier:
    """A stateless program as a verifier of one request at a time."""

    capabilities = frozenset({"drafts"})

    def __init__(
        self, program: Verify, *, drafts: int = 1, chance: type[TorchChance] = TorchChance, declares: str | None = None
    ) -> None:
        self._program = program
        self._chance = chance
        self.drafting = Drafting(drafts)
        self.rule = declares

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG002
        """Run the program on the only request. Raises ``ValueError`` for a batch."""
        if drafts.batch != 1:
            raise ValueError(f"a program verifies one request at a time, got {drafts.batch}")
        assert generator is None or isinstance(generator, torch.Generator)
        paths = tuple(tuple(path) for path in drafts.tokens[0].tolist())
        target, draft = (
            HandedRows(
                {
                    path[:i]: row
                    for path, rows in zip(paths, probs[0].tolist(), strict=True)
                    for i, row in enumerate(rows)
                },
                drafts.vocabulary,
            )
            for probs in (drafts.target_probs, drafts.draft_rows())
        )
        step = self._program(self._chance(generator), target, draft, paths)  # type: ignore[arg-type]
        tokens = torch.full((1, drafts.length + 1), -1)
        tokens[0, : len(step.tokens)] = torch.tensor(step.tokens)
        return Outcome(tokens, torch.tensor([len(step.accepted)]))
