"""Bandits that break their contract are refused with a sentence that says how; those that keep it pass."""

import math
import random
from typing import Any

import pytest

from specproof.properties.bandit import bandit_maker
from specproof.properties.bandit_contract import CONVERSATIONS, bandit_contract
from specproof.properties.builtin_bandits import BuiltIn, builtin_names
from specproof.properties.check import CheckResult
from specproof.properties.plan import Plan
from specproof.properties.subject import Subject, subject_of_bandit
from specproof.properties.verdict import Verdict


class Plain:
    """UCB with a bonus of its own, as anybody would write it."""

    def __init__(self, arms: int, beta: float = 1.0) -> None:
        self.pulls, self.sums, self.beta = [0] * arms, [0.0] * arms, beta

    def choose(self) -> Any:
        """Unplayed arms first, then the highest index."""
        if 0 in self.pulls:
            return self.pulls.index(0)
        clock = 2 * math.log(sum(self.pulls))
        scores = [s / n + self.beta * math.sqrt(clock / n) for s, n in zip(self.sums, self.pulls, strict=True)]
        return scores.index(max(scores))

    def update(self, arm: int, reward: float) -> None:
        """Add up."""
        self.pulls[arm] += 1
        self.sums[arm] += reward


class RaisesInChoose(Plain):
    """Fails once it has seen fifty rounds."""

    def choose(self) -> Any:
        """Raise late."""
        if sum(self.pulls) >= 50:
            raise RuntimeError("no drafter left")
        return super().choose()


class RaisesInUpdate(Plain):
    """Cannot take a reward of zero."""

    def update(self, arm: int, reward: float) -> None:
        """Take its logarithm."""
        math.log(reward)
        super().update(arm, reward)


class TooHigh(Plain):
    """Counts arms from one."""

    def choose(self) -> Any:
        """One too many."""
        return len(self.pulls)


class Negative(Plain):
    """Answers -1 for the last arm."""

    def choose(self) -> Any:
        """Python would take it as an index."""
        return -1


class NotANumber(Plain):
    """A mean of nothing."""

    def choose(self) -> Any:
        """NaN."""
        return float("nan")


class Fickle(Plain):
    """Draws from the global generator."""

    def choose(self) -> Any:
        """Anything."""
        return random.randrange(len(self.pulls))


class Crowd(Plain):
    """Keeps its counts in the class: every bandit of a server shares them."""

    shared: dict[int, int] = {}

    def choose(self) -> Any:
        """The arm that was played least by all."""
        return min(range(len(self.pulls)), key=lambda arm: self.shared.get(arm, 0))

    def update(self, arm: int, reward: float) -> None:  # noqa: ARG002
        """Count for all."""
        self.shared[arm] = self.shared.get(arm, 0) + 1


class StaleCounts(Plain):
    """Forgets the sums between queries, keeps the counts."""

    def reset(self) -> None:
        """Half of it."""
        self.sums = [0.0] * len(self.pulls)


class HalfRestored(Plain):
    """Stores only the sums."""

    def state(self) -> Any:
        """Half of it."""
        return list(self.sums)

    def restore(self, data: Any) -> None:
        """Half of it."""
        self.sums = list(data)


class Whole(Plain):
    """Resets and restores all."""

    def reset(self) -> None:
        """Everything."""
        self.__init__(len(self.pulls), self.beta)  # type: ignore[misc]

    def state(self) -> Any:
        """Everything."""
        return [list(self.pulls), list(self.sums)]

    def restore(self, data: Any) -> None:
        """Everything."""
        self.pulls, self.sums = map(list, data)


def seeded(arms: int, seed: int) -> Plain:
    """A maker that takes a seed and ignores it for the global generator."""
    del seed
    return Fickle(arms)


def results(found: Any) -> list[CheckResult]:
    """Every contract check of a bandit, run."""
    subject = found if isinstance(found, Subject) else subject_of_bandit(found, name="mine")
    return [check.run() for check in bandit_contract(subject, Plan())]


BROKEN = [
    (RaisesInChoose, "choose() raised RuntimeError: no drafter left"),
    (RaisesInUpdate, "raised ValueError"),
    (TooHigh, "choose() returned 2; there are 2 arms, 0..1"),
    (Negative, "choose() returned -1; there are 2 arms, 0..1"),
    (NotANumber, "choose() returned nan of type float; an arm is a whole number in 0..1"),
    (Fickle, "its answer depends on something that is not in its state"),
    (Crowd, "a bandit whose maker takes no seed must be deterministic"),
    (StaleCounts, "reset() does not forget everything"),
    (HalfRestored, "restore(state()) does not take over everything"),
    (seeded, "all its randomness must come from the seed that its maker takes"),
]


@pytest.mark.parametrize(("made", "message"), BROKEN, ids=lambda given: getattr(given, "__name__", ""))
def test_broken_bandits_are_refused_with_the_reason(made: Any, message: str) -> None:
    """Each fault fails a check whose reason names it."""
    random.seed(5)
    Crowd.shared.clear()
    failed = [result.reason for result in results(made) if result.verdict is Verdict.FAILED]
    assert any(message in reason for reason in failed), failed


@pytest.mark.parametrize("made", [Plain, Whole], ids=["Plain", "Whole"])
def test_a_bandit_that_keeps_its_contract_passes(made: Any) -> None:
    """What it has no methods for does not apply."""
    verdicts = {result.case: result.verdict for result in results(made)}
    assert Verdict.FAILED not in verdicts.values()
    asked = Verdict.HELD if made is Whole else Verdict.NOT_APPLICABLE
    assert verdicts["reset, 2 arms"] == verdicts["restore, 5 arms"] == asked
    assert len(verdicts) == 2 * len(CONVERSATIONS)


@pytest.mark.parametrize("name", builtin_names())
def test_built_in_bandits_keep_it(name: str) -> None:
    """Every policy, randomised ones on their seed; the deterministic ones also reset and restore."""
    maker = BuiltIn(name)
    verdicts = [result.verdict for result in results(maker)]
    assert set(verdicts) <= {Verdict.HELD, Verdict.NOT_APPLICABLE}
    assert verdicts.count(Verdict.HELD) == (6 if maker.draws else 10)


def test_built_in_makers_say_what_they_take() -> None:
    """Beta by option is no longer asked for; ties at random need a seed."""
    assert bandit_maker(BuiltIn("meta_sd_ucb"), name="ucb").takes == {"arms", "beta"}
    fixed = bandit_maker(BuiltIn("meta_sd_ucb", {"beta": 0.1, "ties": "uniform"}, "BE"), name="ucb")
    assert (fixed.takes, fixed.beta, fixed.declared_reward) == ({"arms", "seed"}, 0.1, "BE")
    assert fixed.fresh(arms=3, length=5, beta=1.0).policy.beta == 0.1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("meta_sd_ubc",), "Did you mean 'meta_sd_ucb'"),
        (("oracle",), "told the best arm"),
        (("full_information",), "rewards of all arms"),
        (("exp3", {"gamma": 1}), "exploration"),
        (("exp3", {}, "BDD"), "Did you mean 'BD'"),
    ],
)
def test_bad_built_ins_are_refused(given: tuple[Any, ...], message: str) -> None:
    """Before anything is played."""
    with pytest.raises(ValueError, match=message):
        BuiltIn(*given)


def test_an_object_is_copied_and_keeps_its_number_of_arms() -> None:
    """A bandit given as an object is played on its own number of arms only."""
    found = Plain(3)
    found.arms = 3  # type: ignore[attr-defined]
    cases = [result.case for result in results(found)]
    assert cases[0] == "answers, 3 arms"
    assert sum(found.pulls) == 0
