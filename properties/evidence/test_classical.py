"""The tests that are reported and do not decide."""

import math

import numpy as np
from scipy.stats import kstest

from specproof.properties.evidence.classical import classical_tests, holm, randomised_ks

LAW = np.array([0.4, 0.3, 0.2, 0.1])
ORDER = np.array([3.0, 1.0, 2.0, 0.5])


def test_randomised_ks_is_uniform_under_the_law() -> None:
    """1,000 null p-values are uniform (KS of the p-values, this test errs with probability 1e-6)."""
    rng = np.random.default_rng(5)
    p_values = [randomised_ks(rng.multinomial(200, LAW), LAW, ORDER, rng) for _ in range(1000)]
    assert kstest(p_values, "uniform").pvalue > 1e-6


def test_classical_tests_reject_a_wrong_law() -> None:
    """A bias of TV .1 at 10,000 draws has p-values below 1e-6 in all three."""
    rng = np.random.default_rng(6)
    counts = rng.multinomial(10_000, [0.3, 0.3, 0.2, 0.2])
    found = classical_tests(counts, LAW, ORDER, rng)
    assert max(found.chi_square, found.g, found.kolmogorov_smirnov) < 1e-6


def test_classical_tests_of_one_cell_are_nan() -> None:
    """A law on one cell leaves nothing to test."""
    found = classical_tests(np.array([100]), np.array([1.0]), np.array([1.0]), np.random.default_rng(0))
    assert math.isnan(found.chi_square)


def test_holm_keeps_nan_apart() -> None:
    """A NaN is undecided, and never counts as not rejected."""
    assert holm({"a": 1e-9, "b": math.nan, "c": 0.5}, 0.01) == {
        "a": "rejected",
        "b": "undecided",
        "c": "not rejected",
    }
    assert holm({"b": math.nan}, 0.01) == {"b": "undecided"}
