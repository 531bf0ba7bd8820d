"""What each fault costs on tiny instances: expected rounds of the mutant objects themselves against the golden fractions."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from specproof.properties.mutants import bandits as faulty
from specproof.reference.bandits import reward
from specproof.reference.bandits.block import Block, Number
from specproof.reference.bandits.drafters import Independent
from specproof.reference.bandits.exact import walked
from specproof.reference.bandits.instance import Instance

Earned = Callable[[Block], Number]
# Acceptances at greedy decoding (N = 2), tokens of each query, reward, expected rounds of UCB with beta^2 = 1/2.
TINY: list[tuple[tuple[str, ...], int | tuple[int, ...], str, str]] = [
    (("1/2", "4/5"), 12, "BE", "234917661/40000000"),
    (("4/5", "1/2"), 12, "BE", "233952987/40000000"),
    (("1/5", "1/2", "4/5"), 12, "BE", "4054485051/625000000"),
    (("1/2", "4/5"), 9, "BD", "113642094713/25000000000"),
    (("1/2", "4/5"), (6, 6), "BE", "31563/5000"),
]
DIFFERENCES: list[tuple[str, type[faulty.UCB], str]] = [
    ("none", faulty.UCB, "0 0 0 0 0"),
    ("no bonus", faulty.NoBonus, ".1377 -.1062 .1951 .0497 .0744"),
    ("wrong arm", faulty.WrongArm, ".3270 .3355 .6781 .1526 .1854"),
    ("counts of all arms", faulty.CountsOfAllArms, ".2265 -.1213 .3045 .1138 .0744"),
    ("logarithm of tokens", faulty.ClockOfTokens, "-.0044 -.0010 0 .0012 0"),
    ("logarithm of own count", faulty.OwnClock, ".2004 -.1179 .2700 .1138 .0744"),
    ("ties to the last", faulty.TiesToTheLast, "-.0241 .0241 -.0878 -.0743 -.0300"),
    ("stale counts", faulty.StaleCounts, "0 0 0 0 .0190"),
    ("untried first", faulty.UntriedFirst, "0 0 0 0 0"),
]
# Of the rewards: r stands for the right one, accepted / N or the mean of 1 - TV.
REWARDS: list[tuple[str, Callable[[Earned], Earned], str]] = [
    ("N r", faulty.unscaled, "-.0006 -.0364 -.0105 -.0010 .0204"),
    ("(N r + 1) / (N + 1)", lambda right: lambda block: (block.length * right(block) + 1) / (block.length + 1),
     "-.0037 .0003 .1413 .0115 0"),
    ("(N r + 1) / N", lambda right: lambda block: right(block) + Fraction(1, block.length), "0 0 0 0 0"),
]  # fmt: skip


def differences(made: type[faulty.UCB], changed: Callable[[Earned], Earned] = lambda right: right) -> list[Fraction]:
    """Expected rounds minus the golden ones, instance by instance."""
    found = []
    for acceptance, tokens, name, golden in TINY:
        instance, earned = Instance(Independent(map(Fraction, acceptance), 2)), changed(reward(name))
        rounds = walked(
            lambda arms=instance.arms: made(arms, 2, math.sqrt(1 / 2)), instance, tokens,
            lambda _, block, earned=earned: float(earned(block)),
        ).rounds  # fmt: skip
        found.append(rounds - Fraction(golden))
    return found


def assert_differences(found: list[Fraction], published: str) -> None:
    """Equal to the printed digits; a published zero is zero as a fraction."""
    for value, text in zip(found, published.split(), strict=True):
        if text == "0":
            assert value == 0
        else:
            assert float(value) == pytest.approx(float(text), abs=0.5001e-4)


@pytest.mark.parametrize(("made", "published"), [row[1:] for row in DIFFERENCES], ids=[row[0] for row in DIFFERENCES])
def test_what_a_fault_costs(made: type[faulty.UCB], published: str) -> None:
    """Negative where the fault happens to help: the test of a policy is equality, never "not worse"."""
    assert_differences(differences(made), published)


@pytest.mark.parametrize(("changed", "published"), [row[1:] for row in REWARDS], ids=[row[0] for row in REWARDS])
def test_what_a_wrong_reward_costs(changed: Callable[[Earned], Earned], published: str) -> None:
    """A shift by a constant changes nothing; a change of scale does."""
    assert_differences(differences(faulty.UCB, changed), published)
