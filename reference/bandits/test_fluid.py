"""The noiseless curve and the bounds: golden values of BANDITS sections 3 and 10, and what simulation says of them."""

import math

import pytest

from specproof.reference.bandits import policy
from specproof.reference.bandits.drafters import Independent
from specproof.reference.bandits.fluid import fluid
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.means import reward_means
from specproof.reference.bandits.play import from_seed, play
from specproof.reference.bandits.rates import bound, gaps, least_slope, ucb_slope, ucb_spec_bound
from specproof.reference.bandits.regret import pseudo_regret
from specproof.reference.bandits.rewards import reward

ACCEPTANCE = (0.8, 0.7, 0.6, 0.5, 0.35)
A = Instance(Independent(ACCEPTANCE, 5, 0.5, "beta"))
TOKENS = [250 * 2**k for k in range(9)]
BETA = 5**-0.5
EMITTED = A.tokens_a_round()


@pytest.mark.parametrize(
    ("name", "golden"),
    [
        ("BD", [13.1, 20.4, 30.3, 42.3, 56.2, 71.3, 87.0, 102.9, 118.5]),
        ("BE", [11.3, 16.8, 23.5, 31.1, 39.2, 47.7, 56.3, 64.7, 72.9]),
    ],
)
def test_golden_curve(name: str, golden: list[float]) -> None:
    """Instance A, N = 5, beta = 1/sqrt5, 250 to 64,000 tokens."""
    assert [round(fluid(reward_means(A, name), EMITTED, tokens, BETA).regret, 1) for tokens in TOKENS] == golden


def test_curve_solves_its_equations() -> None:
    """Tokens and rounds add up, and every arm has the level of the others."""
    point = fluid(ACCEPTANCE, EMITTED, 16000, BETA)
    assert sum(n * m for n, m in zip(point.pulls, EMITTED, strict=True)) == pytest.approx(16000)
    assert sum(point.pulls) == pytest.approx(point.rounds)
    bonus = [BETA * math.sqrt(2 * math.log(point.rounds) / n) for n in point.pulls]
    levels = [mean + width for mean, width in zip(ACCEPTANCE, bonus, strict=True)]
    assert max(levels) - min(levels) < 1e-9


def test_longer_blocks_help_only_with_the_beta_of_the_analysis() -> None:
    """The paper's "improves with N": 149 to 49 rounds with 1/sqrt(N), 37 to 139 with beta kept."""

    def lost(length: int, beta: float) -> int:
        instance = Instance(Independent(ACCEPTANCE, length))
        return round(fluid(reward_means(instance, "BD"), instance.tokens_a_round(), 32000, beta).regret)

    lengths = (1, 2, 3, 5, 8, 16)
    assert [lost(length, length**-0.5) for length in lengths] == [149, 137, 124, 103, 81, 49]
    assert [lost(length, BETA) for length in lengths] == [37, 62, 79, 103, 122, 139]


def test_golden_bounds_and_slopes() -> None:
    """U(B) for block divergence, the slope of UCB, and what no policy can go below."""
    bounds = [bound(ACCEPTANCE, EMITTED, tokens, BETA, 5, independent_positions=5) for tokens in TOKENS]
    assert [round(value) for value in bounds] == [333, 374, 416, 457, 498, 539, 581, 622, 663]
    assert ucb_slope(ACCEPTANCE, EMITTED, BETA) == pytest.approx(14.88, abs=0.005)
    assert least_slope(ACCEPTANCE, 5, all_positions=False) == pytest.approx(5.94, abs=0.005)
    assert least_slope(ACCEPTANCE, 5, all_positions=True) == pytest.approx(2.78, abs=0.005)
    assert ucb_spec_bound(EMITTED, 1e5, 5) > bounds[-1]
    slope = (fluid(ACCEPTANCE, EMITTED, 2e5, BETA).regret - fluid(ACCEPTANCE, EMITTED, 1e5, BETA).regret) / math.log(2)
    assert slope > 1.4 * ucb_slope(ACCEPTANCE, EMITTED, BETA)  # the limit is far away


def test_random_choice_passes_the_bound_for_thousands_of_tokens() -> None:
    """Why the theorem's bound certifies nothing: up to 23,350 tokens (BD, beta 1) a random policy is below it."""
    lost = pseudo_regret([1 / 5] * 5, EMITTED) / (sum(EMITTED) / 5)  # a token

    def passes(tokens: float, beta: float, means: list[float], positions: int) -> bool:
        return lost * tokens <= bound(means, EMITTED, tokens, beta, 5, independent_positions=positions)

    divergence, efficiency = (list(map(float, reward_means(A, name))) for name in ("BD", "BE"))
    for tokens, beta, means, positions in (
        (23350, 1, divergence, 5),
        (12586, 1, efficiency, 1),
        (3865, BETA, divergence, 5),
    ):
        assert passes(tokens * 0.999, beta, means, positions)
        assert not passes(tokens * 1.001, beta, means, positions)


def test_simulated_regret_is_near_the_curve() -> None:
    """24 runs of 4,000 tokens, BD: within 3 standard errors of 1.019 times the curve (sd 5.7 a run, so +- 3.5 rounds)."""
    told = A.told(reward("BD"))
    made = policy("meta_sd_ucb", 5, beta=BETA)
    lost = [float(play(made, A, 4000, from_seed(seed), told).lost) for seed in range(24)]
    curve = fluid(ACCEPTANCE, EMITTED, 4000, BETA).regret
    assert abs(sum(lost) / 24 - 1.019 * curve) < 3 * 5.7 / math.sqrt(24)


def test_no_bound_without_a_wide_bonus_or_a_right_ranking() -> None:
    """Below beta = .707 (BE) nothing is proved; with a reward that misranks, nothing can be."""
    with pytest.raises(ValueError, match=r"beta > 0\.707"):
        bound(list(map(float, reward_means(A, "BE"))), EMITTED, 1000, 0.7, 5)
    with pytest.raises(ValueError, match="do not rank"):
        gaps((0.8, 0.5), (1.97, 3.69))
    with pytest.raises(ValueError, match="bonus"):
        fluid(ACCEPTANCE, EMITTED, 1000, 0)
    with pytest.raises(ValueError, match="starts there"):
        fluid(ACCEPTANCE, EMITTED, 5, 1)
