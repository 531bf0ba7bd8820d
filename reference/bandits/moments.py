"""Block divergence against block efficiency when positions are alike and independent: means, variances, signal to noise.

Agreement at a position has mean ``acceptance`` a and variance ``dispersion * a * (1 - a)``; dispersion 1 is greedy
decoding. Everything is exact for fractions; thresholds, which are roots of polynomials, are floats.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from scipy.optimize import brentq

from specproof.reference.bandits.block import Number


@dataclass(frozen=True)
class Moments:
    """Mean and variance of a reward."""

    mean: Number
    variance: Number


def of_divergence(acceptance: Number, length: int, dispersion: Number = 1) -> Moments:
    """BD: mean a, variance ``dispersion * a (1 - a) / N``."""
    return Moments(acceptance, dispersion * acceptance * (1 - acceptance) / length)


def of_efficiency(acceptance: Number, length: int) -> Moments:
    """BE: ``P(accepted >= k) = a^k`` whatever the dispersion, so both moments follow from powers of a."""
    powers = [acceptance**k for k in range(1, length + 1)]
    mean = sum(powers)
    square = sum((2 * k - 1) * power for k, power in enumerate(powers, start=1))
    return Moments(mean / length, (square - mean**2) / length**2)


def accepted_variance(acceptance: Number, length: int) -> Number:
    """Variance of the accepted tokens in closed form, ``a (1 - (2N+1) a^N (1-a) - a^(2N+1)) / (1-a)^2``; needs a < 1."""
    a, n = acceptance, length
    return a * (1 - (2 * n + 1) * a**n * (1 - a) - a ** (2 * n + 1)) / (1 - a) ** 2


def efficiency_of_divergence(divergence: Number, length: int) -> Number:
    """MetaSD's relation of the means, ``E[BE] = (1 - a^N) / (N (1 - a)) * E[BD]`` with a = E[BD].

    True for independent positions; not where rows depend on what was drafted.
    """
    return divergence * sum(divergence**k for k in range(length)) / length


def dispersion_limit(acceptance: Fraction, length: int) -> Fraction:
    """The largest dispersion at which ``Var[BD] <= Var[BE]``; from 1/N at a = 0 to (N+1)(2N+1)/6 at a = 1."""
    variance = of_efficiency(acceptance, length).variance
    return Fraction(variance) * length / (acceptance * (1 - acceptance))


def acceptance_threshold(length: int, dispersion: Number = 1) -> float | None:
    """The acceptance below which ``Var[BD] > Var[BE]``; None where there is none, for a dispersion of at most 1/N."""
    if dispersion * length <= 1:
        return None

    def surplus(acceptance: float) -> float:
        noise = acceptance * (1 - acceptance) * float(dispersion)
        return float(of_efficiency(acceptance, length).variance) * length - noise

    return float(brentq(surplus, 1e-6, 1 - 1e-6, xtol=1e-12))


def zero_probability(acceptance: Number, length: int, *, reward: str) -> Number:
    """Probability at greedy decoding that a block says nothing: BD ``(1-a)^N``, BE ``1-a``."""
    return (1 - acceptance) ** (length if reward == "block_divergence" else 1)


def signal_to_noise(worse: Moments, better: Moments) -> Number:
    """MetaSD's R: squared gap of the means over the larger variance."""
    return (better.mean - worse.mean) ** 2 / max(worse.variance, better.variance)


def advantage(worse: Fraction, better: Fraction, length: int, dispersion: Number = 1) -> Number:
    """Signal to noise of BD over that of BE for two drafters; above 1 where BD tells them apart better."""
    divergence = signal_to_noise(of_divergence(worse, length, dispersion), of_divergence(better, length, dispersion))
    return divergence / signal_to_noise(of_efficiency(worse, length), of_efficiency(better, length))


def small_gap_advantage(acceptance: Fraction, length: int, dispersion: Number = 1) -> Number:
    """The limit of ``advantage`` for drafters that are nearly alike: never below 1 (proved by Cramer-Rao, BANDITS 2.4)."""
    slope = efficiency_slope(acceptance, length)
    return of_efficiency(acceptance, length).variance / (
        of_divergence(acceptance, length, dispersion).variance * slope**2
    )


def efficiency_slope(acceptance: Number, length: int) -> Number:
    """Derivative of the mean of BE: how much wider than BD's its gaps are between drafters that are nearly alike."""
    return sum(k * acceptance ** (k - 1) for k in range(1, length + 1)) / length


def gap_ratio(worse: Fraction, better: Fraction, length: int) -> Number:
    """Gap of BE over gap of BD. UCB of one beta plays a wrong arm this squared times as often with BD as with BE."""
    return (of_efficiency(better, length).mean - of_efficiency(worse, length).mean) / (better - worse)


def slope_crossing(length: int, value: float = 1.0) -> float:
    """The acceptance at which the slope of BE's mean is ``value``.

    At 1, UCB of equal beta starts to prefer BE; at sqrt(N), even with the betas of the analysis (1/sqrt(N) against 1).
    """
    return float(brentq(lambda acceptance: efficiency_slope(acceptance, length) - value, 0.0, 1.0, xtol=1e-12))


def disadvantaged(length: int, dispersion: Number = 1, cells: int = 50) -> Iterator[tuple[Fraction, Fraction, Number]]:
    """Pairs of the grid 1/cells .. 1 - 1/cells for which BD has less signal to noise: worse, better, advantage."""
    grid = [Fraction(cell, cells) for cell in range(1, cells)]
    for index, better in enumerate(grid):
        for worse in grid[:index]:
            if (found := advantage(worse, better, length, dispersion)) < 1:
                yield worse, better, found
