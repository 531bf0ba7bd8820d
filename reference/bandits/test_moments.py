"""Block divergence against block efficiency, exactly: where the paper's variance and signal-to-noise claims are true."""

from fractions import Fraction
from itertools import pairwise
from math import comb

import pytest

from specproof.reference.bandits.drafters import Independent, block_law
from specproof.reference.bandits.moments import (
    acceptance_threshold,
    accepted_variance,
    advantage,
    disadvantaged,
    dispersion_limit,
    efficiency_slope,
    gap_ratio,
    of_divergence,
    of_efficiency,
    slope_crossing,
    small_gap_advantage,
    zero_probability,
)
from specproof.reference.bandits.rewards import reward

GRID = [Fraction(step, 20) for step in range(1, 20)]
LENGTHS = (2, 3, 4, 5, 8, 16)


@pytest.mark.parametrize("length", LENGTHS)
def test_closed_form_of_the_variance(length: int) -> None:
    """The closed form of Var[accepted] and the sum over powers are one polynomial."""
    for share in GRID:
        assert of_efficiency(share, length).variance * length**2 == accepted_variance(share, length)


def test_divergence_can_vary_more_than_efficiency() -> None:
    """The paper's Var[BD] <= Var[BE] is false at greedy decoding below .4347 (N = 5) and .5061 (N = 8)."""
    for length, threshold in ((5, 0.4347), (8, 0.5061)):
        assert acceptance_threshold(length) == pytest.approx(threshold, abs=5e-5)
        below, above = Fraction(round(threshold * 100) - 2, 100), Fraction(round(threshold * 100) + 2, 100)
        assert of_divergence(below, length).variance > of_efficiency(below, length).variance
        assert of_divergence(above, length).variance < of_efficiency(above, length).variance


@pytest.mark.parametrize(
    ("length", "thresholds"),
    [
        (2, (0.3028, 0.158, None, None)),
        (3, (0.3583, 0.261, 0.130, None)),
        (4, (0.4008, 0.322, 0.210, None)),
        (5, (0.4347, 0.366, 0.266, 0.072)),
        (8, (0.5061, 0.453, 0.371, 0.206)),
        (16, (0.6037, 0.563, 0.500, 0.370)),
    ],
)
def test_thresholds_by_dispersion(length: int, thresholds: tuple[float | None, ...]) -> None:
    """There is none up to a dispersion of 1/N; otherwise the claim holds exactly above it."""
    for dispersion, wanted in zip((1, Fraction(3, 4), Fraction(1, 2), Fraction(1, 4)), thresholds, strict=True):
        found = acceptance_threshold(length, dispersion)
        assert found == (wanted if wanted is None else pytest.approx(wanted, abs=6e-4))
        for share in GRID:
            smaller = of_divergence(share, length, dispersion).variance <= of_efficiency(share, length).variance
            assert smaller == (found is None or share > found) == (dispersion <= dispersion_limit(share, length))


def test_dispersion_limit_rises_from_one_over_n() -> None:
    """To (N+1)(2N+1)/6."""
    limits = [dispersion_limit(Fraction(step, 1000), 5) for step in range(1, 1000)]
    assert all(first < second for first, second in pairwise(limits))
    assert float(limits[0]) == pytest.approx(1 / 5, abs=1e-3)
    assert float(limits[-1]) == pytest.approx(6 * 11 / 6, abs=0.05)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dispersion", [Fraction(1), Fraction(1, 4)])
def test_small_gaps_are_always_seen_better_by_divergence(length: int, dispersion: Fraction) -> None:
    """The proved half of "more information": at least 1, and more than 1 for less dispersion."""
    assert all(small_gap_advantage(share, length, dispersion) > 1 for share in GRID)
    assert small_gap_advantage(Fraction(1, 3), 1) == 1


@pytest.mark.parametrize("share", [Fraction(1, 5), Fraction(9, 10)])
def test_cramer_rao_is_why(share: Fraction) -> None:
    """Information on a of coins stopped at the first failure, enumerated, is ``(1 + a + ... + a^(N-1)) / (a (1-a))``.

    Block efficiency attains less than that, block divergence at greedy decoding all of the N coins'.
    """
    blocks = block_law(Independent([share], 5), 0)
    information = sum(
        mass * (block.accepted / share - (block.accepted < 5) / (1 - share)) ** 2 for block, mass in blocks.items()
    )
    stopped = sum(share**k for k in range(5)) / (share * (1 - share))
    assert information == stopped < 5 / (share * (1 - share))
    assert efficiency_slope(share, 5) ** 2 / of_efficiency(share, 5).variance <= stopped
    assert 1 / of_divergence(share, 5).variance == 5 / (share * (1 - share))


def test_large_gaps_can_be_seen_worse_by_divergence() -> None:
    """The counterexamples to "more information": (.95, .50) 0.78 and (.98, .60) 0.67 at greedy decoding, N = 5."""
    assert float(advantage(Fraction(1, 2), Fraction(19, 20), 5)) == pytest.approx(0.7803, abs=1e-4)
    assert float(advantage(Fraction(3, 5), Fraction(49, 50), 5)) == pytest.approx(0.6678, abs=1e-4)


@pytest.mark.parametrize(
    ("length", "shares", "best_from", "worst"),
    [
        (2, (13.4, 1.7, 0), 0.82, 0.61),
        (3, (10.3, 3.1, 0.2), 0.86, 0.48),
        (5, (6.3, 2.6, 0.4), 0.92, 0.44),
        (8, (3.4, 1.4, 0.2), 0.94, 0.49),
    ],
)
def test_how_often_divergence_sees_worse(
    length: int, shares: tuple[float, ...], best_from: float, worst: float
) -> None:
    """Of all pairs on a grid of 0.02: 86 % or more go the paper's way, and the others need a very good drafter."""
    pairs = comb(49, 2)
    for dispersion, wanted in zip((Fraction(1), Fraction(3, 4), Fraction(1, 2)), shares, strict=True):
        found = list(disadvantaged(length, dispersion))
        assert round(100 * len(found) / pairs, 1) == wanted
        if dispersion == 1:
            assert min(float(better) for _, better, _ in found) == best_from
            assert round(min(float(ratio) for _, _, ratio in found), 2) == worst


def test_equal_beta_prefers_efficiency_for_good_drafters() -> None:
    """Pulls of a wrong arm go with 1/gap^2, and BE's gap is wider above .614 (N = 5); tuned betas move that to .892."""
    ratios = [
        round(float(gap_ratio(Fraction(low, 100), Fraction(high, 100), 5)) ** 2, 2)
        for high, low in ((50, 30), (60, 50), (70, 60), (80, 70), (90, 70), (98, 80))
    ]
    assert ratios == [0.29, 0.69, 1.24, 2.24, 3.04, 5.03]
    assert [round(slope_crossing(length), 3) for length in LENGTHS] == [0.5, 0.549, 0.585, 0.614, 0.675, 0.757]
    tuned = [round(slope_crossing(length, length**0.5), 3) for length in LENGTHS]
    assert tuned == [0.914, 0.895, 0.891, 0.892, 0.901, 0.923]


def test_mean_of_efficiency_is_convex_between_one_over_n_and_half_of_n_plus_one() -> None:
    """Slopes at 0 and 1, and increasing slopes between."""
    assert (efficiency_slope(Fraction(0), 5), efficiency_slope(Fraction(1), 5)) == (Fraction(1, 5), 3)
    slopes = [efficiency_slope(share, 5) for share in GRID]
    assert all(first < second for first, second in pairwise(slopes))


def test_divergence_is_zero_at_greedy_decoding() -> None:
    """The paper's "BD is never zero" is false: (1-a)^N of all blocks say nothing; it is true where rows overlap."""
    share = Fraction(1, 5)
    for name, wanted in (("block_divergence", Fraction(32768, 100000)), ("block_efficiency", Fraction(4, 5))):
        told = reward(name)
        blocks = block_law(Independent([share], 5), 0)
        silent = sum(mass for block, mass in blocks.items() if told(block) == 0)
        assert silent == zero_probability(share, 5, reward=name) == wanted
    overlapping = block_law(Independent([share], 3, 0), 0)
    assert all(reward("BD")(block) > 0 for block in overlapping)
