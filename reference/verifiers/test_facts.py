"""What must hold between rules, and where everything or nothing is accepted."""

from fractions import Fraction

import pytest
from hypothesis import given

from specproof.reference import TableModel, exact, rule, rule_names
from specproof.reference.ceilings import union
from specproof.reference.model import prefixes
from specproof.reference.testing import Instance, generated, instances

LOSSY = {"ensemble", "typical", "spectr_gbv_published"}
DRAFTED = sorted(set(rule_names()) - LOSSY - {"autoregressive"})


def expected(name: str, given: Instance, *, drafts: int | None = None, **options: object) -> Fraction:
    """E[tau] of a rule on an instance."""
    count = given.drafts if drafts is None else drafts
    return exact(name, given.target, given.draft, drafts=count, length=given.length, **options).expected_accepted


@generated(60)
@given(instances())
def test_standard_block_greedy_order(instance: Instance) -> None:
    """For one draft E[tau] grows from standard to block to greedy block, which attains the ceiling."""
    standard, block, greedy = (expected(name, instance, drafts=1) for name in ("standard", "block", "greedy_block"))
    assert standard <= block <= greedy
    assert greedy == union(instance.target, instance.draft, drafts=1, length=instance.length)


@pytest.mark.parametrize("selector", ["scan", "race", "kill_race", "best_ratio"])
def test_the_order_holds_behind_every_selector(selector: str) -> None:
    """The same order for any selected path, and no pair exceeds what several drafts can give."""

    @generated(12)
    @given(instances())
    def check(instance: Instance) -> None:
        names = ("standard", "block", "greedy_block")
        standard, block, greedy = (expected(name, instance, selector=selector) for name in names)
        assert standard <= block <= greedy
        assert greedy <= union(instance.target, instance.draft, drafts=instance.drafts, length=instance.length)

    check()


@pytest.mark.parametrize("name", sorted(set(DRAFTED) - {"sample_match"}))
def test_equal_models_accept_everything(name: str) -> None:
    """When the draft is the target, tau is L: nothing is ever rejected."""
    model = TableModel({prefix: ["1/5", "3/10", "1/2"] for prefix in prefixes(3, 2)})
    assert exact(name, model, model, drafts=rule(name).paths or 2, length=2).accepted_law == {2: 1}


@pytest.mark.parametrize("name", DRAFTED)
def test_disjoint_supports_accept_nothing(name: str) -> None:
    """When no drafted token is possible, tau is 0 and the law still the target's."""
    target = TableModel({prefix: ["1/4", "3/4", 0, 0] for prefix in prefixes(4, 2)})
    draft = TableModel({prefix: [0, 0, "1/3", "2/3"] for prefix in prefixes(4, 2)})
    found = exact(name, target, draft, drafts=rule(name).paths or 2, length=2)
    assert found.accepted_law == {0: 1}
    assert found.total_variation == 0


@pytest.mark.parametrize("name", sorted(set(DRAFTED) - {"staged_greedy"}))
def test_one_hot_target_is_greedy_matching(name: str) -> None:
    """At temperature 0 a prefix is accepted exactly when some draft has it."""
    target = TableModel({prefix: [0, 1, 0] for prefix in prefixes(3, 2)})
    draft = TableModel({prefix: ["1/4", "1/4", "1/2"] for prefix in prefixes(3, 2)})
    drafts = rule(name).paths or 2
    found = exact(name, target, draft, drafts=drafts, length=2)
    if name == "recursive_without_replacement":  # the token is drawn first or second
        first = Fraction(1, 4) + Fraction(1, 4) * Fraction(1, 3) + Fraction(1, 2) * Fraction(1, 2)
        assert found.expected_accepted == first + first / 4
    else:
        assert found.expected_accepted == union(target, draft, drafts=drafts, length=2)


def test_one_hot_target_and_staged_greedy() -> None:
    """Staged greedy verification is the exception: its root coins discard drafts that match (15/32 of 143/256)."""
    target = TableModel({prefix: [0, 1, 0] for prefix in prefixes(3, 2)})
    draft = TableModel({prefix: ["1/4", "1/4", "1/2"] for prefix in prefixes(3, 2)})
    assert exact("staged_greedy", target, draft, drafts=2, length=2).expected_accepted == Fraction(15, 32)


@generated(40)
@given(instances())
def test_traversal_accepts_more_than_token_rules_of_its_kind(instance: Instance) -> None:
    """Traversal verification is block verification for one draft and beats recursive rejection for several."""
    assert expected("traversal", instance, drafts=1) == expected("block", instance, drafts=1)
    assert expected("traversal", instance) >= expected("recursive", instance)
    assert expected("traversal", instance) >= expected("block", instance, drafts=1)


@generated(40)
@given(instances(sizes=((2, 1, 2), (3, 1, 2), (3, 1, 3), (4, 1, 2))))
def test_transport_is_the_best_for_one_token(instance: Instance) -> None:
    """For blocks of one token no rule accepts more than the optimal coupling."""
    best = expected("transport", instance)
    for name in ("k_seq", "recursive", "staged_greedy", "traversal", "sample_match", "spectr_gbv"):
        assert expected(name, instance) <= best
