"""Losslessness, exactly: the law of the text equals the target's on generated instances and over several iterations."""

import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given

from specproof.reference import Step, TableModel, exact
from specproof.reference.exact import completed
from specproof.reference.law import total_variation
from specproof.reference.model import prefixes
from specproof.reference.selectors import selector_names, selector_options
from specproof.reference.testing import SIZES, Instance, bounded, generated, instances

ONE_DRAFT = ["standard", "block", "greedy_block"]
SEVERAL = ["autoregressive", "k_seq", "recursive", "transport", "staged_greedy", "traversal", "sample_match"]
COMPOSED = [
    (rule, {"selector": selector} | ({"cells": 2} if "cells" in selector_options(selector) else {}))
    for rule in ONE_DRAFT
    for selector in selector_names()
]
LOSSLESS = [
    *((rule, {}) for rule in SEVERAL),
    *COMPOSED,
    ("greedy_block", {"selector": "race", "table": "proportional", "cells": 3}),
    ("spectr_gbv", {"cells": 3}),
    ("greedy_multipath_block", {}),
]


def name(part: str | dict[str, Any] | int) -> str:
    """Name a test after its rule and options."""
    return "+".join(map(str, part.values())) or "plain" if isinstance(part, dict) else str(part)


@pytest.mark.parametrize(("rule", "options"), LOSSLESS, ids=name)
def test_keeps_the_law_of_a_block(rule: str, options: dict[str, Any]) -> None:
    """Total variation is exactly zero and no prefix is accepted more often than any lossless rule can."""

    @generated(20)
    @given(instances())
    def check(instance: Instance) -> None:
        found = exact(rule, instance.target, instance.draft, drafts=instance.drafts, length=instance.length, **options)
        assert found.total_variation == 0
        assert bounded(found.steps, instance)

    check()


@pytest.mark.parametrize("rule", ONE_DRAFT)
def test_one_draft_keeps_the_law_of_a_block(rule: str) -> None:
    """So do the one-draft rules without a selector."""

    @generated(20)
    @given(instances(sizes=tuple((vocabulary, length, 1) for vocabulary, length, _ in SIZES)))
    def check(instance: Instance) -> None:
        found = exact(rule, instance.target, instance.draft, drafts=1, length=instance.length)
        assert found.total_variation == 0
        assert bounded(found.steps, instance)

    check()


def test_without_replacement_keeps_the_law_of_a_block() -> None:
    """Recursive rejection without replacement is lossless for drafts whose first tokens are distinct."""

    @generated(40)
    @given(instances())
    def check(instance: Instance) -> None:
        possible = sum(share > 0 for share in instance.draft.probabilities(()))
        found = exact(
            "recursive_without_replacement",
            instance.target,
            instance.draft,
            drafts=min(possible, instance.drafts),
            length=instance.length,
        )
        assert found.total_variation == 0

    check()


def table(seed: int, vocabulary: int, depth: int, weights: tuple[int, ...]) -> TableModel:
    """A model whose rows differ from prefix to prefix."""
    dice = random.Random(seed)

    def row() -> list[Fraction]:
        drawn = [dice.choice(weights) for _ in range(vocabulary - 1)] + [1]
        return [Fraction(weight, sum(drawn)) for weight in drawn]

    return TableModel({prefix: row() for prefix in prefixes(vocabulary, depth)})


SEVERAL_ITERATIONS = [(2, 1, 3, 4), (3, 1, 2, 3), (2, 2, 2, 5), (2, 3, 2, 5)]


@pytest.mark.parametrize(("vocabulary", "length", "drafts", "tokens"), SEVERAL_ITERATIONS)
@pytest.mark.parametrize(("rule", "options"), [*LOSSLESS, ("recursive_without_replacement", {})], ids=name)
def test_keeps_the_law_over_iterations(
    rule: str, options: dict[str, Any], vocabulary: int, length: int, drafts: int, tokens: int
) -> None:
    """Total variation is exactly zero when the text takes several iterations: what is carried over is right."""
    target = table(1, vocabulary, tokens - 1 + length, (0, 1, 2, 3, 5))
    draft = table(2, vocabulary, tokens - 1 + length, (1, 1, 2, 3))
    count = min(drafts, vocabulary) if rule == "recursive_without_replacement" else drafts
    assert exact(rule, target, draft, drafts=count, length=length, tokens=tokens, **options).total_variation == 0


@pytest.mark.parametrize("rule", ["spectr_gbv", "staged_greedy"])
def test_forgetting_what_is_carried_over_shows_within_a_block(rule: str) -> None:
    """Greedy rules modify the target: completing the block with the plain target would not keep the law."""
    target, draft = table(1, 2, 3, (0, 1, 2, 3, 5)), table(2, 2, 3, (1, 1, 2, 3))
    found = exact(rule, target, draft, drafts=2, length=3)
    forgotten = {Step(step.accepted, step.token, target): Fraction(0) for step in found.steps}
    for step, mass in found.steps.items():
        forgotten[Step(step.accepted, step.token, target)] += mass
    assert total_variation(completed(forgotten, 4), found.target_law) > 0
