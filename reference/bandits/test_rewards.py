"""Rewards: their values on single blocks, their means under exact laws, and where block divergence misleads."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specproof.reference.bandits import reward
from specproof.reference.bandits.block import Block
from specproof.reference.bandits.drafters import AfterRejection, Drafters, Independent, Models, block_law
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.means import reward_means
from specproof.reference.bandits.moments import efficiency_of_divergence, of_divergence, of_efficiency
from specproof.reference.bandits.rewards import PER_COST, REWARDS, tokens_per_cost
from specproof.reference.law import mapped
from specproof.reference.model import TableModel, prefixes
from specproof.reference.testing import generated, rows

HALF, FOUR_FIFTHS = Fraction(1, 2), Fraction(4, 5)
FLIP = AfterRejection((HALF, FOUR_FIFTHS), (Fraction(1), Fraction(0)), 5)
SAME_MEAN = ("block_efficiency", "conditional_block_efficiency", "truncated_block_divergence")


def mean(drafters: Drafters, arm: int, name: str) -> Fraction:
    """Exact mean of a reward."""
    told = reward(name)
    return sum((mass * told(block) for block, mass in block_law(drafters, arm).items()), start=Fraction(0))


def variance(drafters: Drafters, arm: int, name: str) -> Fraction:
    """Exact variance of a reward."""
    told, centre = reward(name), mean(drafters, arm, name)
    return sum(
        (mass * (told(block) - centre) ** 2 for block, mass in block_law(drafters, arm).items()), start=Fraction(0)
    )


def flip_model(agreement: Fraction, after_one: bool) -> tuple[TableModel, TableModel]:
    """The target and one drafter of the flip example as language models over {0, 1}, for blocks of 5."""
    zero, one = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))
    drafted = {prefix: (agreement, 1 - agreement) for prefix in prefixes(2, 5) if 1 not in prefix}
    rest = {prefix: zero if after_one else one for prefix in prefixes(2, 5) if 1 in prefix}
    return TableModel(dict.fromkeys(prefixes(2, 5), zero)), TableModel(drafted | rest)


def test_values_on_one_block() -> None:
    """Each reward of a block of three positions, one accepted, as its formula writes it."""
    block = Block((HALF, Fraction(1, 4), Fraction(1)), (Fraction(1), Fraction(1, 3), Fraction(1)), 1)
    assert reward("BD")(block) == Fraction(7, 12)
    assert reward("BE")(block) == Fraction(1, 3)
    assert reward("CBE")(block) == (HALF + Fraction(1, 4) + Fraction(1, 3)) / 3
    assert reward("tBD")(block) == Fraction(1, 4)


def test_divergence_is_one_minus_total_variation() -> None:
    """One for equal rows, zero for disjoint ones: the word reciprocal, sometimes read, is wrong."""
    first, second = (TableModel(dict.fromkeys(prefixes(2, 2), row)) for row in ((1, 0), (0, 1)))
    assert mean(Models(first, (first, second), 2), 0, "BD") == 1
    assert mean(Models(first, (first, second), 2), 1, "BD") == 0


@pytest.mark.parametrize("name", REWARDS)
@pytest.mark.parametrize("dispersion", [0, Fraction(1, 3), 1])
def test_rewards_lie_in_the_unit_interval(name: str, dispersion: Fraction) -> None:
    """Every block of every law."""
    blocks = block_law(Independent([Fraction(3, 10)], 3, dispersion), 0)
    assert sum(blocks.values()) == 1
    assert all(0 <= reward(name)(block) <= 1 for block in blocks)


@pytest.mark.parametrize("dispersion", [Fraction(0), Fraction(2, 5), Fraction(1)])
@pytest.mark.parametrize("acceptance", [Fraction(1, 5), Fraction(7, 10)])
def test_closed_forms_are_the_enumerated_moments(acceptance: Fraction, dispersion: Fraction) -> None:
    """Mean and variance of BD and BE, and MetaSD's relation of the means."""
    drafters = Independent([acceptance], 3, dispersion)
    divergence, efficiency = of_divergence(acceptance, 3, dispersion), of_efficiency(acceptance, 3)
    assert (mean(drafters, 0, "BD"), variance(drafters, 0, "BD")) == (divergence.mean, divergence.variance)
    assert (mean(drafters, 0, "BE"), variance(drafters, 0, "BE")) == (efficiency.mean, efficiency.variance)
    assert efficiency_of_divergence(acceptance, 3) == efficiency.mean


@given(st.data())
@generated(12)
def test_conditional_and_truncated_rewards_are_unbiased_for_block_efficiency(data: st.DataObject) -> None:
    """Any target, any drafter, rows by context: equal fractions, and CBE never varies more than BE."""
    target, draft = (TableModel({prefix: data.draw(rows(3)) for prefix in prefixes(3, 2)}) for _ in range(2))
    drafters = Models(target, (draft,), 3)
    wanted = mean(drafters, 0, "BE")
    assert all(mean(drafters, 0, name) == wanted for name in SAME_MEAN)
    assert variance(drafters, 0, "CBE") <= variance(drafters, 0, "tBD") <= variance(drafters, 0, "BE")


def test_block_divergence_prefers_the_drafter_that_accepts_less() -> None:
    """The flip example: 129/160 against 8404/15625 for drafters that accept 31/160 and 8404/15625 of a block."""
    assert [mean(FLIP, arm, "BD") for arm in (0, 1)] == [Fraction(129, 160), Fraction(8404, 15625)]
    for name in SAME_MEAN:
        assert [mean(FLIP, arm, name) for arm in (0, 1)] == [Fraction(31, 160), Fraction(8404, 15625)]
    assert round(float(efficiency_of_divergence(Fraction(129, 160), 5)), 3) == 0.549


def test_flip_example_is_two_real_drafters() -> None:
    """As language models over two tokens the blocks have the same law of accepted tokens and of agreement."""
    for arm, agreement in enumerate((HALF, FOUR_FIFTHS)):
        target, draft = flip_model(agreement, after_one=arm == 0)
        laws = (block_law(Models(target, (draft,), 5), 0), block_law(FLIP, arm))
        seen, wanted = (mapped(found, lambda block: (block.agreement, block.accepted)) for found in laws)
        assert seen == wanted


def test_greedy_conditional_efficiency_is_block_efficiency() -> None:
    """Rows that agree or do not leave nothing to average."""
    for block in block_law(Independent([Fraction(2, 5)], 4), 0):
        assert reward("CBE")(block) == reward("BE")(block)


@pytest.mark.parametrize("name", REWARDS)
def test_means_are_enumerated_or_closed(name: str) -> None:
    """Closed forms for independent positions against the law of blocks."""
    drafters = Independent([Fraction(1, 5), Fraction(9, 10)], 3, Fraction(1, 2))
    assert reward_means(Instance(drafters), name) == [mean(drafters, arm, name) for arm in (0, 1)]
    assert reward_means(Instance(FLIP), name) == [mean(FLIP, arm, name) for arm in (0, 1)]


def test_tokens_per_cost_rank_arms_of_different_length() -> None:
    """With an arm that does not speculate: shares of the length are refused, tokens per cost have the right means."""
    uneven = Instance(
        Independent([HALF, FOUR_FIFTHS, FOUR_FIFTHS], [0, 2, 5]), costs=(1, Fraction(3, 2), Fraction(5, 2))
    )
    with pytest.raises(ValueError, match="lengths"):
        uneven.told(reward("BE"))
    told = uneven.told_per_cost()
    assert told(0, Block((), (), 0)) == Fraction(5, 12)
    means = [
        sum(mass * told(arm, block) for block, mass in block_law(uneven.drafters, arm).items()) for arm in range(3)
    ]
    assert means == reward_means(uneven, PER_COST)
    assert means.index(max(means)) == uneven.best == 1


def test_bad_input_is_refused() -> None:
    """Unknown names, blocks that contradict themselves, costs and acceptance out of range, vocabularies that differ."""
    with pytest.raises(ValueError, match="Did you mean 'block_divergence'"):
        reward("block_divergense")
    with pytest.raises(ValueError, match="no positions"):
        reward("BD")(Block((), (), 0))
    with pytest.raises(ValueError, match="survivals"):
        Block((HALF,), (HALF,), 2)
    with pytest.raises(ValueError, match="positive costs"):
        tokens_per_cost([1, 0], [2, 2])
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        Independent([1.5], 2)
    with pytest.raises(ValueError, match="as many lengths"):
        Independent([HALF], [2, 3])
    with pytest.raises(ValueError, match="they must be equal"):
        Models(TableModel({(): [1]}), (TableModel({(): [HALF, HALF]}),), 1)
    with pytest.raises(ValueError, match="reorders"):
        Instance(FLIP, changes=((10, (0, 0)),))
    with pytest.raises(ValueError, match="continuous"):
        block_law(Independent([0.5], 2, 0.5, "beta"), 0)
