"""Typical acceptance (Medusa, Cai et al. 2024, arXiv 2401.10774): lossy by design.

A draft token is accepted when ``target(x) > min(epsilon, delta exp(-H))``, with H the entropy of the target's row: no coin
and no draft probability. The draft whose accepted prefix is longest wins (ties: the first draft). The token after it is
the target's: its most likely one, or a draw with ``greedy=False``.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.step import Step

STEPS = 1 << 20


def threshold(target_row: Sequence[Fraction], epsilon: Fraction, delta: Fraction) -> Fraction:
    """What a token's probability must exceed; the exponential is rounded to the nearest multiple of 2^-20."""
    entropy = -math.fsum(share * math.log(share) for share in target_row if share > 0)
    return min(epsilon, delta * Fraction(round(math.exp(-entropy) * STEPS), STEPS))


def verify(
    chance: Chance,
    target: Model,
    draft: Model,  # noqa: ARG001
    drafts: tuple[Prefix, ...],
    *,
    epsilon: Fraction | int | str = "9/100",
    delta: Fraction | int | str = "3/10",
    greedy: bool = True,
) -> Step:
    """Verify any number of paths; the defaults are Medusa's."""
    best: Prefix = ()
    for path in drafts:
        length = 0
        while length < len(path):
            row = target.probabilities(path[:length])
            if row[path[length]] <= threshold(row, Fraction(epsilon), Fraction(delta)):
                break
            length += 1
        best = max(best, path[:length], key=len)
    row = target.probabilities(best)
    return Step(best, row.index(max(row)) if greedy else chance.choose(row), target)
