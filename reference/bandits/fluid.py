"""The noiseless curve of an index policy: its regret when every reward equals its mean.

All indices ``mean + beta sqrt(2 ln t / n)`` are then equal to one level, so every arm has ``n = 2 beta^2 ln t / (level -
mean)^2`` rounds; the level follows from their sum, and t from the tokens. Simulated regret lies within a few percent of it
while the bonus is wider than the noise (beta above about 1.1 standard deviations of the reward), above it by 0.5 to 4 rounds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.optimize import brentq

from specproof.reference.bandits.block import Number


@dataclass(frozen=True)
class Fluid:
    """A point of the curve: rounds with each arm until ``tokens`` tokens are emitted, and what they lose."""

    tokens: float
    rounds: float
    pulls: tuple[float, ...]
    regret: float


def fluid(means: Sequence[Number], tokens_a_round: Sequence[Number], tokens: float, beta: float) -> Fluid:
    """Return the point of the curve at ``tokens``: ``means`` of the reward, ``tokens_a_round`` m, of every arm.

    Regret is in rounds, ``sum_i (m_best - m_i) / m_best * n_i``. Every arm has at least one round.
    Raises ``ValueError`` for fewer tokens than those rounds emit, or a beta that is not positive.
    """
    levels, emitted = [float(mean) for mean in means], [float(each) for each in tokens_a_round]
    if not beta > 0:
        raise ValueError(f"the curve needs a bonus, beta > 0, got {beta}")
    if tokens < sum(emitted):
        raise ValueError(f"the first round with each arm emits {sum(emitted):.2f} tokens, the curve starts there")

    def at(time: float) -> list[float]:
        return pulls(levels, time, beta)

    def surplus(time: float) -> float:
        return sum(each * count for each, count in zip(emitted, at(time), strict=True)) - tokens

    first = float(len(levels))
    time = first if surplus(first) >= 0 else brentq(surplus, first, tokens + first, xtol=1e-9, rtol=1e-12)
    counts = at(time)
    best = max(emitted)
    lost = sum((best - each) / best * count for each, count in zip(emitted, counts, strict=True))
    return Fluid(tokens, time, tuple(counts), lost)


def pulls(means: Sequence[float], time: float, beta: float) -> list[float]:
    """Rounds with each arm after ``time`` rounds: all with one level of index, none below one round."""
    width = 2 * beta**2 * math.log(max(time, 1 + 1e-12))

    def counts(level: float) -> list[float]:
        return [max(1.0, width / (level - mean) ** 2) for mean in means]

    if time <= len(means):
        return [time / len(means)] * len(means)
    # At the lower level the best arm alone has all rounds; at the upper one each has at most its share.
    lowest, highest = max(means) + math.sqrt(width / time), max(means) + math.sqrt(width * len(means) / time) + 1.0
    level = brentq(lambda level: sum(counts(level)) - time, lowest, highest, xtol=1e-15, rtol=1e-14)
    return counts(level)
