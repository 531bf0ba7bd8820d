"""Policies: the trace of each on rewards that are given, ties, feedback, stored states, and what is refused."""

import json
import math
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from scipy.stats import beta

from specproof.reference.bandits import Bandit, policy, policy_names, policy_options
from specproof.reference.bandits.drafters import Independent
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.play import from_seed, play
from specproof.reference.bandits.policy import Policy, Record
from specproof.reference.bandits.rates import bernoulli_divergence
from specproof.reference.bandits.rewards import reward
from specproof.reference.bandits.ucb_v import Spread
from specproof.reference.bandits.uniforms import Given
from specproof.reference.chance import Dice
from specproof.reference.law import law

KNOWING = {"router": {"best": 1}, "oracle": {"best": 1}}
REWARDS = (Fraction(1, 5), Fraction(4, 5), Fraction(2, 5))


def make(name: str, arms: int = 3, **options: Any) -> Policy:
    """A policy by name; told the best arm where it must know it."""
    return policy(name, arms, **KNOWING.get(name, {}), **options)


def trace(bandit: Bandit, rounds: int) -> list[int]:
    """Arms on constant rewards."""
    arms = []
    for _ in range(rounds):
        arms.append(bandit.choose())
        bandit.update(arms[-1], REWARDS if bandit.feedback == "all" else REWARDS[arms[-1]])
    return arms


@pytest.mark.parametrize("name", policy_names())
def test_stored_state_goes_on_like_the_original(name: str) -> None:
    """Through JSON text: the restored bandit has the same state, the same next law and the same arms."""
    made = make(name)
    first = Bandit(made, from_seed(3))
    trace(first, 25)
    second = Bandit(made, from_seed(4))
    second.restore(json.loads(json.dumps(first.state())))
    assert second.state() == first.state()
    if name != "thompson":
        assert second.probabilities() == first.probabilities()
        assert sum(second.probabilities()) == 1
    first.reset()
    assert first.state() == Bandit(made, from_seed(5)).state()


@pytest.mark.parametrize("name", policy_names())
def test_update_leaves_the_old_state_alone(name: str) -> None:
    """States are values: an earlier one can be used again."""
    made = make(name)
    start = made.start()
    told = REWARDS if made.feedback == "all" else REWARDS[1]
    first = made.update(start, 1, told)
    assert made.update(start, 1, told) == first
    assert made.start() == start
    assert hash(first) == hash(made.update(start, 1, told))


@pytest.mark.parametrize(
    ("name", "options", "arms"),
    [
        ("meta_sd_ucb", {"beta": 0.2}, [0, 1, 2, 1, 1, 1, 1, 1]),
        ("meta_sd_ucb", {"beta": 0}, [0, 1, 2, 1, 1, 1, 1, 1]),
        ("epsilon_greedy", {"epsilon": 0}, [0, 1, 2, 1, 1, 1, 1, 1]),
        ("successive_halving", {"budget": 12}, [0, 1, 2, 0, 1, 2, 1, 2, 1, 2, 1, 2, 1, 1]),
        ("successive_halving", {"budget": 12, "interleaved": False}, [0, 0, 1, 1, 2, 2, 1, 1, 1, 2, 2, 2, 1, 1]),
        ("sliding_window_ucb", {"window": 4, "beta": 0}, [0, 1, 2, 1, 1, 0, 1, 2]),
        ("discounted_ucb", {"discount": 1.0, "beta": 0.2}, [0, 1, 2, 1, 1, 1, 1, 1]),
        ("full_information", {}, [0, 1, 1, 1]),
        ("static", {"arm": 2}, [2, 2, 2]),
        ("oracle", {}, [1, 1, 1]),
        ("router", {"error": 0}, [1, 1, 1]),
        ("round_robin", {}, [0, 1, 2, 0, 1]),
    ],
)
def test_traces_on_constant_rewards(name: str, options: dict[str, Any], arms: list[int]) -> None:
    """Every deterministic policy arm by arm; each arm comes first where the paper says so."""
    assert trace(Bandit(make(name, **options), from_seed(0)), len(arms)) == arms


def test_ucb_explores_what_the_formula_says() -> None:
    """After one round each: indices 1/5, 4/5, 2/5 plus 1 * sqrt(2 ln 3)."""
    made = make("meta_sd_ucb", beta=1.0)
    state = made.start()
    for arm in range(3):
        state = made.update(state, arm, REWARDS[arm])
    assert state.completed == 3
    assert [state.mean(arm) for arm in range(3)] == [0.2, 0.8, 0.4]
    after = made.update(state, 1, REWARDS[1])
    # 0.8 + sqrt(2 ln 4 / 2) = 1.977 against 0.4 + sqrt(2 ln 4) = 2.065.
    assert made.choose(after, Given(())) == 2


def test_ucb_spec_is_the_paper_s_index_on_emitted_tokens() -> None:
    """Scaled to L = 4: mean emitted tokens plus ``L/2 sqrt((1+n)/n^2 (1 + 2 ln(K t^2 sqrt(1+n) / delta)))``, 8,000 records."""
    made = make("ucb_spec")
    for pulls in product(range(1, 200, 10), repeat=3):
        state = Record(pulls, tuple(n * share for n, share in zip(pulls, REWARDS, strict=True)))
        paper = [
            1 + 4 * float(share)
            + 4 / 2 * math.sqrt((1 + n) / n**2 * (1 + 2 * math.log(3 * sum(pulls) ** 2 * math.sqrt(1 + n) / 0.5)))
            for n, share in zip(pulls, REWARDS, strict=True)
        ]  # fmt: skip
        assert made.choose(state, Given(())) == paper.index(max(paper))


def after(made: Policy, *rounds: tuple[int, Any]) -> Any:
    """The state after these rounds, arms and rewards."""
    state = made.start()
    for arm, told in rounds:
        state = made.update(state, arm, told)
    return state


def test_exponential_weights_by_hand() -> None:
    """EXP3: gains over probabilities, mixed with gamma; EXP3Spec: losses, at the rate of the round to come."""
    mixed = make("exp3", 2, exploration=0.2)
    state = after(mixed, (0, 0.5))  # estimate 0.5 / 0.5 = 1, learning rate gamma / K = 0.1
    share = math.exp(0.1) / (math.exp(0.1) + 1)
    assert mixed.probabilities(state) == pytest.approx([0.8 * share + 0.1, 0.8 * (1 - share) + 0.1])
    pure = make("exp3_spec", 2)
    rate = math.sqrt(math.log(2) / (2 * 2))  # before round 2
    share = math.exp(-rate * 0.25 / 0.5) / (math.exp(-rate * 0.25 / 0.5) + 1)
    assert pure.probabilities(after(pure, (0, 0.75))) == pytest.approx([share, 1 - share])


def test_discounted_and_windowed_records_by_hand() -> None:
    """Old rounds fade by the discount; only the last rounds are in the window."""
    faded = after(make("discounted_ucb", 2, discount=Fraction(1, 2)), (0, 1), (1, Fraction(1, 2)), (0, 0))
    assert faded.weights == (Fraction(5, 4), Fraction(1, 2))
    assert faded.sums == (Fraction(1, 4), Fraction(1, 4))
    window = after(make("sliding_window_ucb", 2, window=2), (0, 1), (1, Fraction(1, 2)), (1, 0))
    assert (window.pulls, window.sums) == ((0, 2), (0, Fraction(1, 2)))


def test_full_information_adds_up_all_rewards() -> None:
    """The leader by sums, not by the last round."""
    made = make("full_information", 2)
    state = after(made, (0, (Fraction(1), Fraction(0))), (0, (Fraction(0), Fraction(1, 2))))
    assert state.sums == (1, Fraction(1, 2))
    assert made.choose(state, Given(())) == 0


def test_a_router_keeps_its_answer() -> None:
    """For the whole query, also where somebody else chose a round."""
    made = make("router", error=Fraction(1, 2))
    state = after(made, (2, 0), (0, 1))
    assert made.choose(state, Given(())) == 2


def highest_divergent(mean: float, radius: float) -> float:
    """The largest q with ``kl(mean, q) <= radius``, by bisection."""
    low, high = mean, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if bernoulli_divergence(mean, middle) <= radius else (low, middle)
    return low


def test_variance_and_divergence_bounds_by_hand() -> None:
    """UCB-V and KL-UCB choose the highest index of their papers, on 512 records of coins."""
    ucb_v, kl_ucb = make("ucb_v"), make("kl_ucb")
    for pulls in product((2, 3, 5, 9, 20, 33, 60, 90), repeat=3):
        ones = [round(n * float(share)) for n, share in zip(pulls, REWARDS, strict=True)]
        record = Record(pulls, tuple(map(Fraction, ones)))
        clock = math.log(sum(pulls))
        pairs = [(count / n, n) for count, n in zip(ones, pulls, strict=True)]
        wide = [mean + math.sqrt(2 * mean * (1 - mean) * clock / n) + 3 * clock / n for mean, n in pairs]
        assert ucb_v.choose(Spread(record, record.sums), Given(())) == wide.index(max(wide))
        limits = [highest_divergent(mean, clock / n) for mean, n in pairs]
        runner_up, highest = sorted(limits)[-2:]
        if highest - runner_up > 1e-6:  # further apart than either method is off
            assert kl_ucb.choose(record, Given(())) == limits.index(highest)


def test_ties_go_to_the_lowest_arm_or_to_any() -> None:
    """With equal records; the law of a uniform tie is even."""
    for ties, expected in (("lowest", {0: 1}), ("uniform", {0: Fraction(1, 2), 1: Fraction(1, 2)})):
        made = make("meta_sd_ucb", 2, ties=ties)
        state = made.update(made.update(made.start(), 0, Fraction(1, 2)), 1, Fraction(1, 2))
        assert law(lambda chance, made=made, state=state: made.choose(state, chance)) == expected


def test_exact_sums_keep_equal_records_equal() -> None:
    """Means of fractions do not depend on the order of rewards; running means of floats do."""
    made = make("meta_sd_ucb", 1)
    orders = [(1, 2, 4, 5, 3), (5, 3, 1, 2, 4), (2, 1, 5, 4, 3)]
    means = set()
    for order in orders:
        state = made.start()
        for count in order:
            state = made.update(state, 0, Fraction(count, 5))
        means.add(state.mean(0))
    assert means == {0.6}


def test_laws_of_randomised_choices() -> None:
    """Exact probabilities of the policies that draw."""
    assert Bandit(make("random"), Dice(0)).probabilities() == [Fraction(1, 3)] * 3
    assert Bandit(make("router", error=Fraction(1, 4)), Dice(0)).probabilities() == [
        Fraction(1, 8), Fraction(3, 4), Fraction(1, 8),
    ]  # fmt: skip
    bandit = Bandit(make("epsilon_greedy", epsilon=Fraction(3, 10)), Dice(0))
    trace(bandit, 3)
    assert bandit.probabilities() == [Fraction(1, 10), Fraction(8, 10), Fraction(1, 10)]
    for name in ("exp3", "exp3_spec"):
        bandit = Bandit(make(name), from_seed(1))
        assert [round(float(share), 12) for share in bandit.probabilities()] == [round(1 / 3, 12)] * 3
        trace(bandit, 300)
        assert max(bandit.probabilities()) == bandit.probabilities()[1] > 0.4


def test_epsilon_fades_as_told() -> None:
    """``min(1, epsilon / t^decay)`` in round t."""
    assert make("epsilon_greedy", epsilon=100, decay=1).exploration(199) == Fraction(1, 2)
    assert make("epsilon_greedy", epsilon=100, decay=1).exploration(10) == 1
    assert make("epsilon_greedy", epsilon=1, decay=0.5).exploration(24) == pytest.approx(1 / 5)


def test_halving_spends_its_budget() -> None:
    """100 rounds over five arms: 5 x 6, 3 x 11, 2 x 16 = 95, then one arm; in blocks it switches once an arm."""
    drafters = Independent((0.8, 0.7, 0.6, 0.5, 0.35), 5, 0.5, "beta")
    for interleaved, most in ((True, 95), (False, 10)):
        made = policy("successive_halving", 5, budget=100, interleaved=interleaved)
        log = play(made, Instance(drafters), 2000, from_seed(1), Instance(drafters).told(reward("BD")))
        assert len(set(log.arms[95:])) == 1
        assert 94 <= log.switches <= 95 if interleaved else log.switches <= most


def test_thompson_draws_one_uniform_an_arm() -> None:
    """Medians at level 1/2: Beta(1, 1) gives 1/2, a Gaussian its mean; enumeration is refused."""
    made = make("thompson", 2)
    assert made.draw(made.start(), 0, 0.5) == 0.5
    assert made.choose(made.start(), Given((0.2, 0.9))) == 1
    lucky = after(made, *[(0, Fraction(3, 4))] * 4)  # Beta(4, 2)
    assert made.draw(lucky, 0, 0.3) == pytest.approx(float(beta.ppf(0.3, 4, 2)))
    gauss = make("thompson", 2, belief="gauss", sd=1.0)
    state = gauss.update(gauss.update(gauss.start(), 0, 0.25), 1, 0.5)
    assert gauss.draw(state, 1, 0.5) == 0.5
    with pytest.raises(ValueError, match="continuous"):
        Bandit(made, Dice(0)).probabilities()


def test_the_log_charges_what_was_lost_and_switched() -> None:
    """Round robin over 1/2 and 4/5: half a switch a round; the loss is that of the drafter behind the arm."""
    drafters = Independent((Fraction(1, 2), Fraction(4, 5)), 2)
    instance = Instance(drafters, switch_cost=3, changes=((6, (1, 0)),))
    log = play(policy("round_robin", 2), instance, 20, from_seed(2), instance.told(reward("BE")))
    lost = instance.losses()
    assert log.switches == len(log.arms) - 1
    assert log.lost == sum(lost[drafter] for drafter in log.drafters) + 3 * log.switches
    before = sum(emitted < 6 for emitted in log.emitted) + 1
    assert log.drafters[:before] == log.arms[:before]
    assert log.drafters[before:] == tuple(1 - arm for arm in log.arms[before:])
    assert log.emitted[-2] < 20 <= log.emitted[-1]


def test_oracle_follows_the_instance() -> None:
    """The best arm has the most tokens for its cost."""
    drafters = Independent((Fraction(1, 2), Fraction(4, 5)), 2)
    assert Instance(drafters).best == 1
    assert Instance(drafters, costs=(1, 2)).best == 0


@pytest.mark.parametrize(
    ("name", "arms", "options", "message"),
    [
        ("meta_sd_ubc", 2, {}, "Did you mean 'meta_sd_ucb'"),
        ("meta_sd_ucb", 2, {"bta": 1}, "Did you mean 'beta'"),
        ("meta_sd_ucb", 2, {"beta": -1}, "beta must be 0 or more"),
        ("meta_sd_ucb", 2, {"beta": float("nan")}, "beta must be 0 or more"),
        ("meta_sd_ucb", 2, {"ties": "lowst"}, "Did you mean 'lowest'"),
        ("meta_sd_ucb", 0, {}, "from 1 up"),
        ("ucb_spec", 2, {"delta": 1}, "delta"),
        ("exp3", 2, {"exploration": 0}, "exploration"),
        ("successive_halving", 2, {"budget": 0}, "budget"),
        ("epsilon_greedy", 2, {"epsilon": -1}, "epsilon"),
        ("thompson", 2, {"belief": "bta"}, "Did you mean 'beta'"),
        ("thompson", 2, {"sd": 0}, "sd must be positive"),
        ("discounted_ucb", 2, {"discount": 0}, "discount"),
        ("sliding_window_ucb", 3, {"window": 2}, "window"),
        ("static", 2, {"arm": 2}, r"0\.\.1"),
        ("router", 2, {}, "best"),
        ("oracle", 2, {}, "best"),
    ],
)
def test_bad_policies_are_refused(name: str, arms: int, options: dict[str, Any], message: str) -> None:
    """The message says what was given, what is allowed and the nearest choice."""
    with pytest.raises(ValueError, match=message):
        policy(name, arms, **options)


def test_bandit_refuses_what_is_no_arm_and_no_number() -> None:
    """A NaN would poison every later mean."""
    bandit = Bandit(make("meta_sd_ucb"), Given(()))
    with pytest.raises(ValueError, match=r"0\.\.2"):
        bandit.update(3, 0.5)
    with pytest.raises(ValueError, match="finite"):
        bandit.update(0, float("nan"))
    with pytest.raises(LookupError, match="uniforms"):
        Bandit(make("random"), Given(())).choose()
    assert "beta" in policy_options("meta_sd_ucb")
