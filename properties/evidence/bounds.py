"""Finite-sample bounds around a law: tests and certificates whose level holds at every sample size.

``TV_hat`` is the plug-in total variation between counts and the reference law; it moves by at most 1/N when one draw
changes, so McDiarmid's inequality bounds its fluctuation by ``sqrt(ln(1/alpha) / 2N)`` whatever the number of cells.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

Floats = NDArray[np.float64]


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
