"""Choosing the drafter does not change the text: exactly, for every policy, until somebody looks before choosing."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specproof.reference.bandits import policy, policy_names, reward
from specproof.reference.bandits.text import text_law
from specproof.reference.chance import Chance
from specproof.reference.law import law, total_variation
from specproof.reference.model import Model, Prefix, TableModel, after, prefixes, sequences
from specproof.reference.step import Step, sample
from specproof.reference.testing import generated, rows
from specproof.reference.verifiers import block as block_rule
from specproof.reference.verifiers import standard

DEPTH = 5  # text of four tokens, the last block of two starts after three
KNOWING = {"router": {"best": 1}, "oracle": {"best": 1}}


def table(*first: str) -> TableModel:
    """Rows over {0, 1} by how many ones the prefix has: the given probabilities of 0, then around again."""
    shares = [Fraction(share) for share in first]
    return TableModel({p: (s := shares[sum(p) % len(shares)], 1 - s) for p in prefixes(2, DEPTH)})


TARGET, FIRST, SECOND = table("1/2", "4/5", "0"), table("1/5", "2/5"), table("9/10", "1", "1/3")


@pytest.mark.parametrize("name", [name for name in policy_names() if name not in ("thompson", "full_information")])
def test_every_policy_keeps_the_target_s_law(name: str) -> None:
    """Two drafters, blocks of two, text of four tokens: total variation 0 as a fraction."""
    made = policy(name, 2, **KNOWING.get(name, {}))
    found = text_law(made, TARGET, (FIRST, SECOND), length=2, tokens=4, reward=reward("BD"))
    assert total_variation(found, sequences(TARGET, 4)) == 0


@given(st.data())
@generated(10)
def test_any_target_and_drafters(data: st.DataObject) -> None:
    """Rows by context with zeros, UCB on every reward, block verification too."""
    tables = [TableModel({p: data.draw(rows(2)) for p in prefixes(2, 4)}) for _ in range(3)]
    made = policy("meta_sd_ucb", 2, beta=0.3)
    told = reward(data.draw(st.sampled_from(["BD", "BE", "CBE", "tBD"])))
    verify = data.draw(st.sampled_from([standard.verify, block_rule.verify]))
    found = text_law(made, tables[0], tables[1:], length=2, tokens=3, reward=told, verify=verify)
    assert total_variation(found, sequences(tables[0], 3)) == 0


def test_drafters_continue_the_text() -> None:
    """The drafter is asked after the text so far: one that is the target has every token accepted, in every block."""

    def accepting(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:
        step = standard.verify(chance, target, draft, drafts)
        assert step.accepted == drafts[0]
        return step

    text_law(
        policy("round_robin", 2), TARGET, (TARGET, TARGET), length=2, tokens=4, reward=reward("BD"), verify=accepting
    )


def from_the_target(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:
    """Standard verification with corrections from the target in place of the residual."""
    (path,) = drafts
    for i, token in enumerate(path):
        wanted, drafted = target.probabilities(path[:i]), draft.probabilities(path[:i])
        if not chance.flip(min(Fraction(1), wanted[token] / drafted[token])):
            return Step(path[:i], chance.choose(wanted), target)
    return Step(path, chance.choose(target.probabilities(path)), target)


def test_a_wrong_residual_is_seen() -> None:
    """The check can fail: corrections from the target are lossy under the same bandit."""
    made = policy("meta_sd_ucb", 2)
    found = text_law(
        made, TARGET, (FIRST, SECOND), length=2, tokens=4, reward=reward("BD"), verify=from_the_target
    )  # fmt: skip
    assert total_variation(found, sequences(TARGET, 4)) > Fraction(1, 10)


def test_choosing_after_verification_is_lossy() -> None:
    """Running both drafters and keeping the block that accepted more is not a choice of drafter: it selects texts."""

    def best_of_both(chance: Chance) -> Prefix:
        steps = []
        for draft in (FIRST, SECOND):
            path = sample(chance, draft, 2)
            steps.append(standard.verify(chance, TARGET, draft, (path,)))
        kept = max(steps, key=lambda step: len(step.accepted))
        text = kept.tokens[:2]
        return text if len(text) == 2 else (*text, *sample(chance, after(TARGET, text), 1))

    distance = total_variation(law(best_of_both), sequences(TARGET, 2))
    assert distance == Fraction(83, 2500)


def test_the_wrong_number_of_drafters_is_refused() -> None:
    """Or a policy that would have to see every drafter's block."""
    with pytest.raises(ValueError, match="2 drafters"):
        text_law(policy("random", 3), TARGET, (FIRST, SECOND), length=1, tokens=2, reward=reward("BD"))
    with pytest.raises(ValueError, match="feedback: all"):
        text_law(policy("full_information", 2), TARGET, (FIRST, SECOND), length=1, tokens=2, reward=reward("BD"))
