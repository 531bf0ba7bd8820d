"""Reading the weights of an exponential race, ``argmax(weights / exponentials)``, which no cut along one axis can find.

Index j is made to win by a tiny exponential for it and large ones for the others. Against the index i that wins when all
are equal (the heaviest), it wins while ``e_j < (w_j / w_i) e_i``: one bisection reads the ratio of their weights. The
probability of j is then ``w_j / sum w``, exactly. Spot checks with real exponentials guard the assumption of a race.
"""

import math
from dataclasses import dataclass

import numpy as np

from specproof.properties.evidence.tapes import Asking, Tape, fix
from specproof.properties.verdict import Undecided

LARGE = 36.0  # near the largest exponential that a double can give
TINY = 2.0**-52
LOW = 2.0**-20  # of the index that is compared with; the others, at LARGE, cannot win against it
STEPS = 36  # halvings of the logarithm of a ratio between 2^-32 and 2


def exponential(quantile: float) -> float:
    """The exponential that the script answers at a quantile: its inverse distribution function, never zero."""
    return max(-math.log1p(-quantile), TINY)


def quantile(exponential_: float) -> float:
    """Where the script answers a given exponential."""
    return -math.expm1(-exponential_)


@dataclass(frozen=True)
class RaceCells:
    """Who can win, with which probability, and how to make each win."""

    position: int
    weights: tuple[float, ...]  # zero: cannot win, or cannot be told from the heaviest because nothing depends on it

    def winner(self, quantiles: np.ndarray) -> int:
        """Index that wins at these quantiles."""
        drawn = [exponential(quantiles[(self.position + j) % len(quantiles)]) for j in range(len(self.weights))]
        return max(range(len(drawn)), key=lambda j: self.weights[j] / drawn[j])

    def forced(self, index: int) -> dict[int, float]:
        """Quantiles by position that make an index win."""
        return _answers(self.position, len(self.weights), {index: TINY})


def _answers(position: int, size: int, chosen: dict[int, float], others: float = LARGE) -> dict[int, float]:
    return {position + j: quantile(chosen.get(j, others)) for j in range(size)}


def read_race(root: int, fixed: tuple[float, ...], fills: list[tuple[float, ...]], position: int, size: int) -> Asking:
    """Return the ``RaceCells`` of the race whose exponentials start at ``position``."""

    def behaviours(choices: list[dict[int, float]], others: float = LARGE) -> Asking:
        tapes = [
            Tape(root, fix(fixed, _answers(position, size, chosen, others)), fill)
            for chosen in choices
            for fill in fills
        ]
        runs = yield tapes
        seen = [run.behaviour for run in runs]
        return [tuple(seen[i * len(fills) : (i + 1) * len(fills)]) for i in range(len(choices))]

    (level,) = yield from behaviours([{}], others=1.0)
    forced = yield from behaviours([{j: TINY} for j in range(size)])
    challengers = [j for j in range(size) if forced[j] != level]
    if not challengers:  # nothing depends on this race
        return RaceCells(position, (1.0, *([0.0] * (size - 1))))
    heaviest = [j for j in range(size) if forced[j] == level]
    if len(heaviest) > 1:  # those without weight lose even when forced: who, held back, changes the outcome?
        held_back = yield from behaviours([{j: LARGE} for j in heaviest], others=1.0)
        heaviest = [j for j, seen in zip(heaviest, held_back, strict=True) if seen != level]
    if len(heaviest) != 1:
        raise Undecided("exponential draws that are no race between tokens")
    (best,) = heaviest
    low, high = dict.fromkeys(challengers, 2.0**-32), dict.fromkeys(challengers, 2.0)
    for _ in range(STEPS):
        middle = {j: math.sqrt(low[j] * high[j]) for j in challengers}
        seen = yield from behaviours([{j: middle[j] * LOW, best: LOW} for j in challengers])
        for j, outcome in zip(challengers, seen, strict=True):
            (low if outcome == forced[j] else high)[j] = middle[j]
    ratios = [1.0 if j == best else low.get(j, 0.0) for j in range(size)]
    return RaceCells(position, tuple(ratio / sum(ratios) for ratio in ratios))
