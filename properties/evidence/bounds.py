"""Finite-sample bounds around a law: tests and certificates whose level holds at every sample size.

``TV_hat`` is the plug-in total variation between counts and the reference law; it moves by at most 1/N when one draw
changes, so McDiarmid's inequality bounds its fluctuation by ``sqrt(ln(1/alpha) / 2N)`` whatever the number of cells.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import binom, chi2, ncx2

Floats = NDArray[np.float64]
DISTINCT = 1e-12  # below it two laws differ by rounding only


def empirical_total_variation(counts: NDArray[np.int64], law: Floats, outside: int = 0) -> float:
    """TV between the empirical law and ``law``; ``outside`` counts draws in cells where the law has no mass."""
    draws = counts.sum() + outside
    return float((np.abs(counts / draws - law).sum() + outside / draws) / 2)


def fluctuation(draws: int, alpha: float) -> float:
    """How far TV_hat exceeds its mean with probability at most ``alpha`` (McDiarmid)."""
    return math.sqrt(math.log(1 / alpha) / (2 * draws))


def mean_total_variation(law: Floats, draws: int) -> float:
    """Mean of TV_hat under the law itself, by de Moivre's formula for the mean deviation of a binomial."""
    above = np.floor(draws * law) + 1
    deviation = 2 * above * (1 - law) * binom.pmf(above, draws, law)
    return float(deviation.sum() / (2 * draws))


def total_variation_exceeded(counts: NDArray[np.int64], law: Floats, alpha: float, outside: int = 0) -> bool:
    """Whether TV_hat is larger than the law allows; false alarm at most ``alpha`` at this sample size."""
    draws = int(counts.sum()) + outside
    limit = mean_total_variation(law, draws) + fluctuation(draws, alpha)
    return empirical_total_variation(counts, law, outside) > limit


def total_variation_bound(counts: NDArray[np.int64], law: Floats, alpha: float, outside: int = 0) -> float:
    """Upper bound on TV(subject, law) that holds with confidence ``1 - alpha`` (Jensen and McDiarmid)."""
    draws = int(counts.sum()) + outside
    return empirical_total_variation(counts, law, outside) + fluctuation(draws, alpha)


def noncentrality(cells: int, alpha: float, power: float) -> float:
    """Non-centrality at which a chi-square test on ``cells`` cells at level ``alpha`` has the given power."""
    degrees = cells - 1
    critical = chi2.isf(alpha, degrees)
    return float(brentq(lambda value: ncx2.sf(critical, degrees, value) - power, 1e-6, 1e5))


def detectable_total_variation(cells: int, draws: int, alpha: float, power: float = 0.999) -> float:
    """TV spread evenly over equally likely cells that the e-process finds with the given power (planning figure).

    Chi-square needs ``noncentrality / (4 TV^2)`` draws; the e-process pays at most 15 % in TV over it.
    """
    return 1.15 * math.sqrt(noncentrality(cells, alpha, power) / (4 * draws))


def draws_to_refute(law: Floats, wrong: Floats, alpha: float, power: float = 0.999) -> int:
    """Draws that the e-process needs to refute a subject whose law is ``wrong`` (planning figure).

    The chi-square distance from the reference gives the count for chi-square; twice that covers the e-process.
    Raises ``ValueError`` for laws that no number of draws tells apart.
    """
    distance = float(((wrong - law) ** 2 / law).sum())
    if distance < DISTINCT:
        raise ValueError(
            f"the laws differ by {distance:.1e} in chi-square distance: no number of draws tells them apart"
        )
    return math.ceil(2 * noncentrality(len(law), alpha, power) / distance)
