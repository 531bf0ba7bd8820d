"""Exact expected rounds: the golden fractions, both ways of computing them, and mutants of the identity's parts."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specproof.reference.bandits import Bandit, policy, reward
from specproof.reference.bandits.drafters import Independent
from specproof.reference.bandits.exact import expected, walked
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.regret import best_fixed, identity, optimum
from specproof.reference.bandits.rewards import PER_COST
from specproof.reference.bandits.uniforms import Given
from specproof.reference.testing import generated

BETA = math.sqrt(1 / 2)


def greedy(*acceptance: str, length: int = 2, **more: Any) -> Instance:
    """Drafters at greedy decoding, as BANDITS section 6 has them."""
    return Instance(Independent([Fraction(share) for share in acceptance], length), **more)


GOLDEN = [
    (("1/2", "4/5"), 12, "BE", "lowest", "234917661/40000000"),
    (("4/5", "1/2"), 12, "BE", "lowest", "233952987/40000000"),
    (("1/5", "1/2", "4/5"), 12, "BE", "lowest", "4054485051/625000000"),
    (("1/2", "4/5"), 9, "BD", "lowest", "113642094713/25000000000"),
    (("1/2", "4/5"), (6, 6), "BE", "lowest", "31563/5000"),
    (("1/2", "4/5"), 12, "BE", "uniform", "58608831/10000000"),
    (("1/2", "4/5"), 12, "BD", "uniform", "58487667005548731/10000000000000000"),
    (("1/5", "1/2", "4/5"), 10, "BE", "uniform", "4312743/781250"),
]


@pytest.mark.parametrize(("acceptance", "tokens", "told", "ties", "rounds"), GOLDEN)
def test_golden_rounds_of_ucb(acceptance: tuple[str, ...], tokens: Any, told: str, ties: str, rounds: str) -> None:
    """Equal fractions, by states; by cloning where ties are not drawn (and the tree is small)."""
    instance, made = greedy(*acceptance), policy("meta_sd_ucb", len(acceptance), beta=BETA, ties=ties)
    found = expected(made, instance, tokens, instance.told(reward(told)))
    assert found.rounds == Fraction(rounds)
    assert sum(found.pulls) == found.rounds == found.cost
    if ties == "lowest":
        assert walked(lambda: Bandit(made, Given(())), instance, tokens, instance.told(reward(told))) == found


@pytest.mark.parametrize(
    ("name", "options", "rounds"),
    [
        ("oracle", {"best": 1}, "51205008/9765625"),
        ("static", {"arm": 0}, "1839/256"),
        ("round_robin", {}, "123014001/20000000"),
        ("random", {}, "49774438353327/8192000000000"),
    ],
)
def test_golden_rounds_of_the_others(name: str, options: dict[str, Any], rounds: str) -> None:
    """Two arms, 12 tokens; the random one branches on its arms, also when it is cloned."""
    instance, made = greedy("1/2", "4/5"), policy(name, 2, **options)
    told = instance.told(reward("BE"))
    assert expected(made, instance, 12, told).rounds == Fraction(rounds)
    assert walked(lambda: Bandit(made, Given(())), instance, 7, told) == expected(made, instance, 7, told)


def test_another_beta_has_other_rounds() -> None:
    """beta^2 = 1/2 alone cannot tell beta from its square or from a missing factor 2; beta^2 = 1/3 can."""
    instance = greedy("1/2", "4/5")
    told = instance.told(reward("BE"))
    third = 3**-0.5
    rounds = {
        beta: expected(policy("meta_sd_ucb", 2, beta=beta), instance, 14, told).rounds
        for beta in (third, third**2, third * math.sqrt(2), third / math.sqrt(2))
    }
    assert len(set(rounds.values())) == 4


def test_float_sums_change_expected_rounds() -> None:
    """Ties are decided by records, not by rounding: N = 5, 14 tokens; sums of floats cost -3.0e-4 rounds."""
    instance = greedy("1/2", "3/5", length=5)
    made = policy("meta_sd_ucb", 2, beta=BETA)
    exact = expected(made, instance, 14, instance.told(reward("BE"))).rounds
    rounded = expected(made, instance, 14, lambda _, block: block.accepted / 5).rounds
    assert float(rounded - exact) == pytest.approx(-3.0e-4, abs=0.5e-4)


def test_golden_pulls_and_both_sides_of_the_identity() -> None:
    """E[n], the regret 771862851/1250000000, and the part of the overshoot."""
    instance, made = greedy("1/2", "4/5"), policy("meta_sd_ucb", 2, beta=BETA, ties="uniform")
    told = instance.told(reward("BE"))
    pulls = expected(made, instance, 12, told).pulls
    assert pulls == (Fraction(419904441, 200000000), Fraction(752272179, 200000000))
    sides = identity(made, instance, 12, told)
    assert sides.regret == Fraction(771862851, 1250000000) == sides.pseudo_regret + sides.overshoot
    assert float(sides.overshoot) == pytest.approx(0.02377, abs=5e-6)


@pytest.mark.parametrize(
    "name", ["meta_sd_ucb", "ucb_spec", "random", "round_robin", "successive_halving", "exp3_spec"]
)
@pytest.mark.parametrize("told", ["BD", "BE"])
def test_identity_holds_for_every_policy(name: str, told: str) -> None:
    """Whatever is chosen and however badly: both sides are the same fraction, the overshoot's part at most N/m."""
    instance = greedy("1/5", "4/5")
    sides = identity(policy(name, 2), instance, 6, instance.told(reward(told)))
    assert sides.holds
    assert abs(sides.overshoot) <= 2 / max(instance.tokens_a_round())
    # Without the overshoot, as for a text that ends at a token of its own, the identity would be off.
    assert sides.regret != sides.pseudo_regret


@given(st.data())
@generated(25)
def test_cloning_and_states_agree_and_the_identity_holds(data: st.DataObject) -> None:
    """Any acceptances, 0 and 1 included, any reward, several policies: one set of fractions."""
    share = st.fractions(0, 1, max_denominator=4)
    acceptance = data.draw(st.lists(share, min_size=2, max_size=3))
    length = data.draw(st.integers(1, 2))
    dispersion = data.draw(st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1)]))
    instance = Instance(Independent(acceptance, length, dispersion))
    told = instance.telling(data.draw(st.sampled_from(["BD", "BE", "CBE", "tBD"])))
    made = policy(
        data.draw(st.sampled_from(["meta_sd_ucb", "ucb_spec", "kl_ucb", "random", "round_robin"])), len(acceptance)
    )
    found = expected(made, instance, 4, told)
    assert walked(lambda: Bandit(made, Given(())), instance, 4, told) == found
    assert sum(found.pulls) == found.rounds
    assert identity(made, instance, 4, told).holds
    tokens = sum(count * Fraction(each) for count, each in zip(found.pulls, instance.tokens_a_round(), strict=True))
    assert tokens == 4 + found.overshoot


def test_best_single_arm_is_optimal_with_one_length_and_not_with_several() -> None:
    """Dynamic programming over all policies that know the laws: BANDITS 3.1."""
    alike = greedy("1/2", "4/5")
    told = alike.told(reward("BE"))
    assert optimum(alike, 12, told) == best_fixed(alike, 12, told)[1].cost == Fraction(51205008, 9765625)
    uneven = Instance(Independent([Fraction(4, 5)] * 3, [0, 2, 5]), costs=(1, Fraction(3, 2), Fraction(9, 4)))
    per_cost = uneven.telling(PER_COST)
    _, fixed = best_fixed(uneven, 12, per_cost)
    assert optimum(uneven, 12, per_cost) < fixed.cost


def test_switches_and_changes_are_counted() -> None:
    """Round robin switches every round; after a change of roles another drafter is behind the arm."""
    instance = greedy("1/2", "4/5", switch_cost=Fraction(1, 4))
    told = instance.told(reward("BE"))
    found = expected(policy("round_robin", 2), instance, 9, told)
    assert found.cost == found.rounds + (found.rounds - 1) / 4
    assert walked(lambda: Bandit(policy("round_robin", 2), Given(())), instance, 9, told) == found
    swapped = greedy("1/2", "4/5", changes=((0, (1, 0)),))
    priced = greedy("1/2", "4/5", costs=(1, 10), changes=((0, (1, 0)),))
    assert expected(policy("static", 2, arm=1), priced, 12, told).cost == Fraction(1839, 256)
    fixed = policy("static", 2, arm=0)
    assert expected(fixed, swapped, 12, swapped.told(reward("BE"))).rounds == Fraction(51205008, 9765625)


def test_full_information_is_enumerated_over_all_arms() -> None:
    """It ranks after one round as another does after K: far fewer rounds than round robin."""
    instance = greedy("1/5", "4/5")
    told = instance.told(reward("BE"))
    informed = expected(policy("full_information", 2), instance, 8, told).rounds
    assert informed < expected(policy("round_robin", 2), instance, 8, told).rounds


def test_carried_state_saves_rounds() -> None:
    """Without a reset the second query starts where the first ended."""
    instance, made = greedy("1/5", "4/5"), policy("meta_sd_ucb", 2, beta=0.1)
    told = instance.told(reward("BE"))
    anew, carried = (expected(made, instance, (8, 8), told, carry=carry) for carry in (False, True))
    assert anew.rounds == 2 * expected(made, instance, 8, told).rounds
    assert carried.rounds < anew.rounds


def test_hidden_randomness_is_refused() -> None:
    """A bandit that answers differently when asked again cannot be walked; continuous laws cannot be enumerated."""

    class Fickle:
        answers = 0

        def choose(self) -> int:
            type(self).answers += 1
            return self.answers % 2

        def update(self, arm: int, reward: Any) -> None:
            """Learn nothing."""

    instance = greedy("1/2", "4/5")
    told = instance.told(reward("BE"))
    with pytest.raises(ValueError, match="same state"):
        walked(Fickle, instance, 6, told)
    with pytest.raises(ValueError, match="continuous"):
        expected(policy("thompson", 2), instance, 6, told)
    with pytest.raises(ValueError, match="counts rounds"):
        identity(policy("random", 2), greedy("1/2", "4/5", switch_cost=1), 6, told)
