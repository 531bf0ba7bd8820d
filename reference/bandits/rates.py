"""How fast regret must and may grow: the explicit bound for UCB, asymptotic slopes, BanditSpec's bounds.

Everything is in rounds, for arms with reward means mu, tokens a round m and ``share_i = (m_best - m_i) / m_best``.
"""

import math
from collections.abc import Sequence

from specproof.reference.bandits.block import Number


def shares(tokens_a_round: Sequence[Number]) -> list[float]:
    """What a round with each arm loses, in rounds of the best."""
    best = float(max(tokens_a_round))
    return [(best - float(each)) / best for each in tokens_a_round]


def gaps(means: Sequence[Number], tokens_a_round: Sequence[Number]) -> list[float]:
    """Reward of the arm with the most tokens minus that of each. Raises ``ValueError`` where the reward ranks them otherwise."""
    best = list(tokens_a_round).index(max(tokens_a_round))
    found = [float(means[best]) - float(mean) for mean in means]
    if any(gap <= 0 for gap, share in zip(found, shares(tokens_a_round), strict=True) if share > 0):
        raise ValueError(
            f"reward means {list(map(float, means))} do not rank the arms as their tokens do: no bound holds"
        )
    return found


def bound(
    means: Sequence[Number], tokens_a_round: Sequence[Number], tokens: float, beta: float, length: int,
    *, independent_positions: int = 1,
) -> float:  # fmt: skip
    """U(B): upper bound on the regret of ``mean + beta sqrt(2 ln t / n)`` for rewards in [0, 1] (after Bubeck 2010).

    ``independent_positions`` is N for block divergence of independent positions, whose mean is N times less noisy; 1 for
    any other reward. ``E[n_i] <= 8 beta^2 ln B / gap_i^2 + a / (a - 2)`` with ``a = 4 beta^2 * independent_positions``;
    raises ``ValueError`` unless a > 2, below which nothing is proved.
    """
    width = 4 * beta**2 * independent_positions
    if not width > 2:
        least = math.sqrt(1 / (2 * independent_positions))
        raise ValueError(f"the bound needs beta > {least:.3f} for this reward, got {beta:.3f}")
    total = length / float(max(tokens_a_round))
    for share, gap in zip(shares(tokens_a_round), gaps(means, tokens_a_round), strict=True):
        if share:
            total += share * (8 * beta**2 * math.log(tokens) / gap**2 + width / (width - 2))
    return total


def ucb_slope(means: Sequence[Number], tokens_a_round: Sequence[Number], beta: float) -> float:
    """Regret per unit of ln B in the limit: ``2 beta^2 sum share_i / gap_i^2``. Not reached below a million tokens."""
    pairs = zip(shares(tokens_a_round), gaps(means, tokens_a_round), strict=True)
    return 2 * beta**2 * sum(share / gap**2 for share, gap in pairs if share)


def least_slope(acceptance: Sequence[Number], length: int, *, all_positions: bool) -> float:
    """Lai and Robbins: no policy that is good on every instance has less regret per ln B, at greedy decoding.

    ``all_positions``: block divergence shows N coins a round; block efficiency only those until the first rejection.
    """
    shown = [sum(float(share) ** k for k in range(length)) for share in acceptance]
    emitted = [sum(float(share) ** k for k in range(length + 1)) for share in acceptance]
    best = max(float(share) for share in acceptance)
    return sum(
        lost / ((length if all_positions else coins) * bernoulli_divergence(float(share), best))
        for share, coins, lost in zip(acceptance, shown, shares(emitted), strict=True)
        if lost
    )


def bernoulli_divergence(first: float, second: float) -> float:
    """Kullback-Leibler divergence between coins, in nats."""
    terms = ((first, second), (1 - first, 1 - second))
    return sum(p * math.log(p / q) if q > 0 else math.inf for p, q in terms if p > 0)


def ucb_spec_bound(tokens_a_round: Sequence[Number], tokens: float, length: int, *, delta: float = 0.5) -> float:
    """BanditSpec's upper bound for UCBSpec (arXiv 2505.15141, theorem 1), radicals and brackets as in BANDITS 1.4."""
    best, arms = float(max(tokens_a_round)), len(tokens_a_round)
    total = math.pi**2 * delta / 6 + arms
    for each in tokens_a_round:
        if (gap := best - float(each)) > 0:
            inner = 1 + 2 * math.log(length * arms * tokens**2 / (gap * delta))
            total += gap / best * (4 + 2 * length**2 / gap**2 * inner)
    return total
