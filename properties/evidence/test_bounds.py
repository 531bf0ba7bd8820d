"""Finite-sample bounds against simulation and enumeration."""

import numpy as np
import pytest
from scipy.stats import binom

from specproof.properties.evidence import bounds

LAW = np.array([0.5, 0.25, 0.125, 0.125])


@pytest.mark.parametrize("draws", [1, 2, 7, 50])
def test_mean_total_variation_is_the_mean(draws: int) -> None:
    """De Moivre's formula equals the mean absolute deviation of each binomial, summed."""
    counts = np.arange(draws + 1)
    wanted = sum(float((np.abs(counts - draws * p) * binom.pmf(counts, draws, p)).sum()) for p in LAW) / (2 * draws)
    assert bounds.mean_total_variation(LAW, draws) == pytest.approx(wanted, rel=1e-12)


def test_total_variation_bound_covers_the_truth() -> None:
    """10,000 certificates at confidence .9 on a biased sampler: at most 10 % are below the true TV of .05.

    False-alarm rate of this test 1e-6; McDiarmid is conservative, in fact none is.
    """
    wrong = LAW + np.array([0.05, -0.05, 0, 0])
    counts = np.random.default_rng(1).multinomial(500, wrong, size=10_000)
    failures = sum(bounds.total_variation_bound(row, LAW, 0.1) < 0.05 for row in counts)
    assert failures <= binom.isf(1e-6, 10_000, 0.1)


def test_total_variation_exceeded_has_its_level() -> None:
    """10,000 null samples at alpha .01: at most 1 % exceed (this test errs with probability 1e-6)."""
    counts = np.random.default_rng(2).multinomial(500, LAW, size=10_000)
    alarms = sum(bounds.total_variation_exceeded(row, LAW, 0.01) for row in counts)
    assert alarms <= binom.isf(1e-6, 10_000, 0.01)


def test_total_variation_exceeded_sees_a_bias() -> None:
    """TV .05 at 10,000 draws exceeds what alpha 1e-6 allows (.05 against .026 + noise .006)."""
    wrong = LAW + np.array([0.05, -0.05, 0, 0])
    counts = np.random.default_rng(2).multinomial(10_000, wrong)
    assert bounds.total_variation_exceeded(counts, LAW, 1e-6)


def test_draws_outside_the_support_count_as_distance() -> None:
    """Mass on impossible cells is total variation too."""
    assert bounds.empirical_total_variation(np.array([50, 25, 12, 13]), LAW, outside=100) == pytest.approx(
        0.5, abs=0.005
    )
