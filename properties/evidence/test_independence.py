"""Pairs of answers: exact levels under independence, and the coupling they find."""

import numpy as np

from specproof.properties.evidence.independence import (
    Answers,
    at_distance,
    detectable_correlation,
    equality_p_value,
    in_consecutive_calls,
    pairing,
)

RNG = np.random.default_rng(0)


def answers(codes: np.ndarray) -> Answers:
    """Answers by code; the first draft token was kept where the code is not zero."""
    return Answers(codes, codes > 0)


def test_pairs_are_disjoint_and_as_far_apart_as_said() -> None:
    """No answer stands in two pairs, so that the pairs are independent."""
    for lag in (1, 3, 8):
        first, second = at_distance(4, 16, lag)
        assert (second - first == lag).all()
        assert len(set(first) | set(second)) == 2 * len(first)
    first, second = in_consecutive_calls(5, 16)
    assert (second - first == 16).all()
    assert len(set(first) | set(second)) == 2 * len(first) == 64


def test_false_alarms_stay_below_the_level() -> None:
    """500 null runs of 400 pairs at level 1e-2 each: more than 16 alarms (of 5 expected) have probability below 1e-4."""
    alarms = np.zeros(2, dtype=int)
    for _ in range(500):
        found = pairing("x", answers(RNG.integers(0, 3, (2, 400))), *in_consecutive_calls(2, 400))
        alarms += np.array([found.kept_p, found.equal_p]) <= 1e-2
    assert (alarms <= 16).all()


def test_a_correlation_of_the_planned_size_is_found() -> None:
    """At level 1e-7 and 8,192 pairs, a correlation 20 % above the planned one (0.105) is found with power above 0.999."""
    pairs = 8192
    size = 1.2 * detectable_correlation(pairs, 1e-7)
    shared = RNG.random(pairs) < size
    one, other = RNG.integers(0, 2, (2, pairs))
    found = pairing("x", answers(np.stack([one, np.where(shared, one, other)])), *in_consecutive_calls(2, pairs))
    assert found.kept_p <= 1e-7


def test_equality_needs_no_flags() -> None:
    """Answers that repeat are found whatever they are; answers of one kind decide nothing."""
    codes = RNG.integers(1, 7, 1000)
    assert equality_p_value(codes, codes) < 1e-30
    assert equality_p_value(codes, RNG.permutation(codes)) > 1e-6
    assert equality_p_value(np.ones(100, dtype=int), np.ones(100, dtype=int)) == 1.0
