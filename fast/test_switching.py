"""Switching drafters: the text is the target's whoever drafts, choices are learned from, and switches are counted."""

import itertools
from collections.abc import Callable

import pytest

from specproof.fast.drafters import Drafter, ModelDrafter, PromptLookup
from specproof.fast.generate import Settings, generate
from specproof.fast.sampling import Sampling
from specproof.fast.switching import History, SwitchingDrafter
from specproof.fast.test_generate import DRAFT, PROMPTS, TARGET, plain, toy
from specproof.fast.verifiers import standard
from specproof.reference.bandits import Bandit, policy, reward
from specproof.reference.chance import Dice

DRAFTERS: list[Drafter] = [ModelDrafter(DRAFT, "other"), PromptLookup(), ModelDrafter(TARGET, "itself")]


def bandit(name: str) -> Callable[[], Bandit]:
    """A fresh bandit for every request."""
    return lambda: Bandit(policy(name, 3), Dice(1))


@pytest.mark.parametrize("name", ["round_robin", "meta_sd_ucb", "random"])
def test_the_text_does_not_depend_on_who_drafts(name: str) -> None:
    """At temperature 0 it is that of plain decoding, with caches that lag behind and certain drafts among the others."""
    drafter = SwitchingDrafter(DRAFTERS, bandit(name))
    settings = Settings(25, 1, 3, Sampling(temperature=0))
    for made, prompt in zip(generate(TARGET, drafter, standard, PROMPTS, settings), PROMPTS, strict=True):
        assert made.tokens == plain(prompt, 25, settings.sampling)


@pytest.mark.parametrize("name", ["block_divergence", "block_efficiency", "conditional_block_efficiency"])
def test_the_best_drafter_is_found(name: str) -> None:
    """The target itself as a drafter has reward 1, and most rounds of 60 go to it."""
    drafter = SwitchingDrafter(DRAFTERS, lambda: Bandit(policy("meta_sd_ucb", 3, beta=0.2), Dice(1)), reward(name))
    settings = Settings(55, 1, 1)
    generate(TARGET, drafter, standard, [[1, 2, 3], [2]], settings, seeds=[1, 2])
    for history in drafter.histories:
        assert history.arms.count(2) > len(history.arms) / 2
        best = [value for arm, value in zip(history.arms, history.rewards, strict=False) if arm == 2]
        assert len(history.arms) > len(history.rewards) or min(best) == pytest.approx(1, abs=1e-6)


def test_switches_and_what_they_cost_are_counted() -> None:
    """Round robin switches every round; an arm that comes back reads what was written since it drafted last."""
    drafter = SwitchingDrafter(DRAFTERS[::2], lambda: Bandit(policy("round_robin", 2), Dice(1)))
    (made,) = generate(TARGET, drafter, standard, [[1, 2, 3]], Settings(20, 1, 2))
    (history,) = drafter.histories
    assert history.switches == len(history.arms) - 1 == len(made.rounds) - 1
    emitted = [done.accepted + 1 for done in made.rounds]
    assert history.caught_up[:2] == [3, 3 + emitted[0]]
    assert history.caught_up[2:] == [a + b for a, b in itertools.pairwise(emitted)][: len(emitted) - 2]


def test_a_history_counts_switches() -> None:
    """Changes between neighbours."""
    assert History([0, 0, 1, 2, 2]).switches == 2


def test_drafters_that_do_not_fit_are_refused() -> None:
    """None at all, or of two vocabularies, or an arm that there is not."""
    with pytest.raises(ValueError, match="at least one drafter"):
        SwitchingDrafter([], bandit("random"))
    with pytest.raises(ValueError, match="share its vocabulary"):
        SwitchingDrafter([ModelDrafter(DRAFT, "a"), ModelDrafter(toy(1, vocabulary=6), "b")], bandit("random"))
    with pytest.raises(ValueError, match="arm"):
        generate(TARGET, SwitchingDrafter(DRAFTERS[:1], bandit("round_robin")), standard, [[1]], Settings(9, 1, 2))
