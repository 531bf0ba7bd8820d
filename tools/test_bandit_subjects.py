"""Bandits as subjects: by name, as a class, a function that makes one, or an object; what is declared and what is refused."""

import sys
from pathlib import Path

import pytest

from specproof.certification import certify
from specproof.properties.verdict import Verdict
from specproof.subjects import UnknownSubject, catalogue, describe, resolve

MODULE = '''
class Greedy:
    """Follows the best mean."""

    policy = "epsilon_greedy"
    policy_options = {"epsilon": 0}
    reward = "block_efficiency"

    def __init__(self, arms, optimism=0.0):
        self.arms, self.optimism = arms, optimism
        self.reset()

    def reset(self):
        self.pulls, self.sums = [0] * self.arms, [self.optimism] * self.arms

    def choose(self):
        if 0 in self.pulls:
            return self.pulls.index(0)
        means = [total / pulls for total, pulls in zip(self.sums, self.pulls)]
        return means.index(max(means))

    def update(self, arm, reward):
        self.pulls[arm] += 1
        self.sums[arm] += reward


class Overflowing(Greedy):
    def choose(self):
        return super().choose() if sum(self.pulls) < 20 else self.arms


def make(arms, patience=1):
    return Greedy(arms, patience)


def needs(arms, temperature):
    return Greedy(arms)


ready = Greedy(3)
nameless = Greedy(3)
del nameless.arms
'''


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A module of the caller's own."""
    folder = tmp_path_factory.mktemp("own")
    Path(folder / "my_bandits.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    return "my_bandits"


@pytest.mark.parametrize("name", ["Greedy", "make", "ready"])
def test_classes_makers_and_objects_are_bandits(module: str, name: str) -> None:
    """Not verifiers, and nothing is made before it is played."""
    subject = resolve(f"{module}:{name}")
    assert subject.kind == "bandit"
    assert subject.bandit is not None
    assert subject.bandit.arms == (3 if name == "ready" else None)


def test_what_the_class_declares_survives_options(module: str) -> None:
    """Options are given to the maker; policy and reward stay declared."""
    subject = resolve(f"{module}:Greedy", {"optimism": 0.5})
    assert subject.bandit is not None
    assert (subject.bandit.policy, subject.bandit.declared_reward) == ("epsilon_greedy", "block_efficiency")
    assert subject.bandit.fresh(arms=2, length=5, beta=1.0).optimism == 0.5
    assert subject.options == {"optimism": 0.5}


def test_built_in_bandits_are_listed_and_take_options() -> None:
    """``reward`` beside the policy's own."""
    assert "bandit:meta_sd_ucb" in [name for name, _, _ in catalogue()]
    subject = resolve("bandit:meta_sd_ucb", {"beta": 0.2, "reward": "CBE"})
    assert subject.bandit is not None
    assert (subject.bandit.beta, subject.bandit.declared_reward) == (0.2, "CBE")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bandit:meta_sd_ubc", {}, "Did you mean 'meta_sd_ucb'"),
        ("bandit:oracle", {}, "told the best arm"),
        ("bandit:meta_sd_ucb", {"bta": 1}, "Did you mean 'beta'"),
        ("bandit:exp3", {"reward": "BDD"}, "Did you mean 'BD'"),
        ("my_bandits:Greedy", {"optimsm": 1}, "Did you mean 'optimism'"),
        ("my_bandits:ready", {"optimism": 1}, "takes no options"),
        ("my_bandits:needs", {}, "temperature"),
        ("my_bandits:nameless", {}, "number of arms"),
    ],
)
@pytest.mark.usefixtures("module")
def test_mistakes_are_named(name: str, options: dict[str, object], message: str) -> None:
    """What was given, what is allowed."""
    with pytest.raises(UnknownSubject, match=message):
        resolve(name, options)


def test_a_broken_bandit_is_refused_and_a_greedy_one_is_not_logarithmic(module: str) -> None:
    """By certificate: an arm that there is not fails the contract; greedy is what it declares, and grows too fast."""
    broken = certify(resolve(f"{module}:Overflowing"), evidence="exact")
    assert broken.weakest_violated == "contract"
    assert any("there are 2 arms, 0..1" in check.reason for check in broken.checks)
    greedy = certify(resolve(f"{module}:Greedy"))
    assert greedy.claims["contract"] is greedy.claims["exact regret"] is Verdict.HELD
    assert greedy.claims["logarithmic regret"] is Verdict.FAILED


def test_an_object_can_be_handed_over(module: str) -> None:
    """``specproof.certify(bandit)`` in a test of one's own."""
    resolve(f"{module}:Greedy")
    assert describe(sys.modules[module].ready).kind == "bandit"
