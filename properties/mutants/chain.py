"""Token-by-token verification out of exchangeable parts: most faults of the catalogue are one wrong part of it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.rows import residual
from specproof.reference.step import Step

Row = Sequence[Any]  # fractions under exact evidence, floats under probed and sampled


def ratio(target: Row, draft: Row, token: int) -> Any:
    """Accept with target / draft: the standard rule. A drafted token without draft mass is accepted."""
    return min(Fraction(1), target[token] / draft[token]) if draft[token] else Fraction(1)


def match_or_coin(target: Row, draft: Row, token: int) -> Any:
    """Accept when a target draw equals the draft, and otherwise still flip the coin."""
    return target[token] + (1 - target[token]) * ratio(target, draft, token)


def standard_residual(target: Row, draft: Row, token: int) -> Row:  # noqa: ARG001
    """The positive part of target - draft."""
    return residual(target, draft)


def without(target: Row, token: int, removed: Any) -> Row:
    """The target with ``removed`` taken off one token."""
    return [max(share - removed, 0) if c == token else share for c, share in enumerate(target)]


def most_likely(row: Row) -> int:
    """The first of the most likely tokens."""
    return max(range(len(row)), key=row.__getitem__)


def certain(row: Row, token: int) -> Row:
    """All weight on one token, for a vocabulary as large as the row's."""
    return [Fraction(int(c == token)) for c in range(len(row))]


def softmax_residual(target: Row, draft: Row, token: int) -> Row:  # noqa: ARG001
    """The residual sent through a softmax instead of being divided by its sum; to four decimals, for short fractions."""
    return [Fraction(round(math.exp(left) * 10**4), 10**4) for left in residual(target, draft)]


@dataclass(frozen=True)
class Chain:
    """Verification of one draft; as it stands, the standard rule.

    ``shift`` and ``bonus_row`` move rows that are read; the first ``unseen`` drafts are kept without a look.
    """

    accept: Callable[[Row, Row, int], Any] = ratio
    correct: Callable[[Row, Row, int], Row] = standard_residual
    shift: int = 0
    bonus_row: int = 0
    unseen: int = 0

    def __call__(self, chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:
        """Verify one path."""
        (path,) = drafts
        for i, token in enumerate(path):
            if i < self.unseen:
                continue
            rows = target.probabilities(path[:i]), draft.probabilities(path[:i])
            if not chance.flip(self.accept(*rows, token)):
                weights = self.correct(*rows, token) if not self.shift else target.probabilities(path[: i + self.shift])
                return Step(path[:i], chance.choose(weights if any(weights) else rows[0]), target)
        return Step(path, chance.choose(target.probabilities(path[: len(path) + self.bonus_row])), target)
