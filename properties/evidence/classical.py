"""Chi-square, G and Kolmogorov-Smirnov: computed because readers ask for them, reported under Holm, deciding nothing.

Their tail levels are asymptotic: at expected count 5 chi-square alarms 69 times too often at 1e-6. The KS statistic uses
the randomised probability integral transform, exact for discrete laws, with cells ordered by draft/target ratio.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

POOLED = 5.0
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Classical:
    """p-values of one case; NaN where a test has too few cells."""

    chi_square: float
    g: float
    kolmogorov_smirnov: float


def classical_tests(counts: NDArray[np.int64], law: Floats, order: Floats, rng: np.random.Generator) -> Classical:
    """Test counts against a positive law; ``order`` sorts the cells for the KS test."""
    expected = law * counts.sum()
    small = expected < POOLED
    observed, wanted = counts[~small].astype(float), expected[~small]
    if small.any():
        observed, wanted = np.append(observed, counts[small].sum()), np.append(wanted, expected[small].sum())
    if len(wanted) < 2:
        return Classical(math.nan, math.nan, math.nan)
    wanted *= observed.sum() / wanted.sum()  # scipy insists that both sums agree to the last bits
    chi = stats.chisquare(observed, wanted).pvalue
    g = stats.power_divergence(observed, wanted, lambda_="log-likelihood").pvalue
    return Classical(float(chi), float(g), randomised_ks(counts, law, order, rng))


def randomised_ks(counts: NDArray[np.int64], law: Floats, order: Floats, rng: np.random.Generator) -> float:
    """p-value of KS on ``F(x-) + U p(x)``, which is uniform when the counts follow the law."""
    ranked = np.argsort(order, kind="stable")
    start = np.concatenate([[0.0], law[ranked].cumsum()[:-1]])
    cells = np.repeat(np.arange(len(law)), counts[ranked])
    transformed = start[cells] + rng.random(len(cells)) * law[ranked][cells]
    return float(stats.kstest(transformed, "uniform").pvalue)


def holm(p_values: Mapping[str, float], alpha: float) -> dict[str, str]:
    """Holm's procedure over a family: ``rejected``, ``not rejected``, or ``undecided`` for a NaN, which is left out."""
    known = {name: p for name, p in p_values.items() if not math.isnan(p)}
    result = dict.fromkeys(p_values, "undecided")
    if known:
        rejected = multipletests(list(known.values()), alpha=alpha, method="holm")[0]
        result |= {name: "rejected" if hit else "not rejected" for name, hit in zip(known, rejected, strict=True)}
    return result
