"""Reading the weights of a race, ``argmax(weights / exponentials)``, which no cut along one axis can find.

The exponentials are drawn as such, or made of uniforms, ``e = -log u`` (Gumbel's form: ``log weight - log(-log u)``). Index
j is made to win by a tiny exponential for it and large ones for the others. Against the index i that wins when all are
equal (the heaviest), it wins while ``e_j < (w_j / w_i) e_i``: one bisection reads the ratio of their weights. The
probability of j is then ``w_j / sum w``. Spot checks with real draws guard the assumption of a race.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from specproof.properties.evidence.script import Atom, Exponential
from specproof.properties.evidence.tapes import Asking, Tape, fix
from specproof.properties.verdict import Undecided

STEPS = 40  # halvings of the logarithm of a ratio
SCALINGS = 16


@dataclass(frozen=True)
class Scale:
    """How exponentials come out of quantiles, and which are nearest to zero and largest."""

    exponential: Callable[[float], float]
    quantile: Callable[[float], float]
    tiny: float
    large: float


DRAWN = Scale(lambda q: max(-math.log1p(-q), 2.0**-52), lambda e: -math.expm1(-e), 2.0**-52, 36.0)
# Uniforms on the lattice of single precision end at 1 - 2^-24; coarser ones are no better.
GUMBEL = Scale(lambda q: -math.log(max(q, 2.0**-24)), lambda e: math.exp(-e), 2.0**-23, 16.0)


@dataclass(frozen=True)
class Field:
    """Who runs: the exponentials of ``size`` indices from ``position`` on."""

    position: int
    size: int
    scale: Scale

    def answers(self, chosen: dict[int, float], others: float) -> dict[int, float]:
        """Quantiles by position: the chosen exponentials, and the same one for all others."""
        return {self.position + j: self.scale.quantile(chosen.get(j, others)) for j in range(self.size)}


@dataclass(frozen=True)
class RaceCells:
    """Who can win and with which probability. Zero: cannot, or cannot be told apart because nothing depends on it."""

    field: Field
    weights: tuple[float, ...]

    def winner(self, quantiles: Sequence[float]) -> int:
        """Index that wins at these quantiles."""
        start, scale = self.field.position, self.field.scale
        drawn = [scale.exponential(quantiles[(start + j) % len(quantiles)]) for j in range(self.field.size)]
        return max(range(len(drawn)), key=lambda j: self.weights[j] / drawn[j])

    def forced(self, index: int) -> dict[int, float]:
        """Quantiles by position that make an index win."""
        return self.field.answers({index: self.field.scale.tiny}, self.field.scale.large)


def gathered(atoms: Sequence[Atom], vocabulary: int) -> list[Atom]:
    """Exponentials that were drawn one after the other belong together: to races of ``vocabulary``, or to one race."""
    result: list[Atom] = []
    for single, run in groupby(atoms, lambda atom: isinstance(atom, Exponential) and atom.size == 1):
        drawn = list(run)
        size = vocabulary if len(drawn) % vocabulary == 0 else len(drawn)
        result += [Exponential(size, i % size) for i in range(len(drawn))] if single else drawn
    return result


Where = tuple[int, tuple[float, ...], list[tuple[float, ...]]]  # root, answers so far, fillings


def _behaviours(where: Where, answers: list[dict[int, float]]) -> Asking:
    """What the subject does under each of the answers, under every filling."""
    root, fixed, fills = where
    runs = yield [Tape(root, fix(fixed, chosen), fill) for chosen in answers for fill in fills]
    seen = [run.behaviour for run in runs]
    return [tuple(seen[i : i + len(fills)]) for i in range(0, len(seen), len(fills))]


def is_race(where: Where, field: Field) -> Asking:
    """Whether all exponentials can be multiplied without changing anything, as in a race.

    The factor takes uniforms from above 0.99 to below 0.21: no coin with a threshold between can fail to notice.
    """
    rng = np.random.default_rng(field.position)
    drawn = [rng.uniform(1, 10, field.size).tolist() for _ in range(SCALINGS)]
    scaled = [
        field.answers({j: factor * value for j, value in enumerate(values)}, 1.0)
        for factor in (1e-3, 1.6)
        for values in drawn
    ]
    seen = yield from _behaviours(where, scaled)
    return seen[:SCALINGS] == seen[SCALINGS:]


def read_race(where: Where, field: Field) -> Asking:
    """Return the ``RaceCells`` of a race. Raises ``Undecided`` where it is none."""
    tiny, large = field.scale.tiny, field.scale.large
    (level,) = yield from _behaviours(where, [field.answers({}, 1.0)])
    forced = yield from _behaviours(where, [field.answers({j: tiny}, large) for j in range(field.size)])
    challengers = [j for j in range(field.size) if forced[j] != level]
    if not challengers:  # nothing depends on this race
        return RaceCells(field, (1.0, *([0.0] * (field.size - 1))))
    heaviest = [j for j in range(field.size) if forced[j] == level]
    if len(heaviest) > 1:  # those without weight lose even when forced: who, held back, changes the outcome?
        held_back = yield from _behaviours(where, [field.answers({j: large}, math.sqrt(tiny)) for j in heaviest])
        heaviest = [j for j, seen in zip(heaviest, held_back, strict=True) if seen != level]
    if len(heaviest) != 1:
        raise Undecided("draws that are no race between tokens")
    (best,) = heaviest
    low, high = dict.fromkeys(challengers, tiny / 2), dict.fromkeys(challengers, 2.0)
    for _ in range(STEPS):
        middle = {j: math.sqrt(low[j] * high[j]) for j in challengers}
        seen = yield from _behaviours(where, [field.answers({j: middle[j], best: 1.0}, large) for j in challengers])
        for j, outcome in zip(challengers, seen, strict=True):
            (low if outcome == forced[j] else high)[j] = middle[j]
    ratios = [1.0 if j == best else low.get(j, 0.0) for j in range(field.size)]
    return RaceCells(field, tuple(ratio / sum(ratios) for ratio in ratios))
