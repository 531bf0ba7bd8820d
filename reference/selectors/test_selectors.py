"""The lemma's premise: the returned model is exactly the law of the selected path."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given

from specproof.reference.chance import Chance
from specproof.reference.law import law
from specproof.reference.model import Model, Prefix, joint, prefixes
from specproof.reference.selectors import selector, selector_names
from specproof.reference.step import independent_drafts
from specproof.reference.testing import Instance, generated, instances


def selections(name: str, instance: Instance, **options: Any) -> dict[tuple[Prefix, Model], Fraction]:
    """Law of (selected path, model of its law) over the drafts and the selector's own coins."""
    select = selector(name, **options)

    def program(chance: Chance) -> tuple[Prefix, Model]:
        drafts = independent_drafts(chance, instance.draft, instance.drafts, instance.length)
        path, selected = select(chance, instance.target, instance.draft, drafts)
        assert path in drafts
        return path, selected

    return law(program)


CASES = [(name, {}) for name in selector_names()] + [("race", {"table": "proportional", "cells": 3})]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_selected_model_is_the_law_of_the_selected_path(name: str, options: dict[str, Any]) -> None:
    """Every draft set gives the same model, and its joint probabilities are how often each path is selected."""

    @generated(15)
    @given(instances(sizes=((2, 1, 2), (3, 1, 2), (2, 1, 3), (2, 2, 2), (2, 3, 2))))
    def check(instance: Instance) -> None:
        found = selections(name, instance, **options)
        (selected,) = {selected for _, selected in found}
        for path in prefixes(instance.target.vocabulary, instance.length):
            if len(path) == instance.length:
                assert joint(selected, (), path) == found.get((path, selected), Fraction(0))

    check()


@pytest.mark.parametrize(("name", "options"), CASES)
def test_one_draft_comes_back(name: str, options: dict[str, Any]) -> None:
    """With one draft there is nothing to select: the law is the draft model's."""

    @generated(8)
    @given(instances(sizes=((3, 1, 1), (2, 2, 1))))
    def check(instance: Instance) -> None:
        ((_, selected), *_) = selections(name, instance, **options)
        for path in prefixes(instance.target.vocabulary, instance.length):
            assert joint(selected, (), path) == joint(instance.draft, (), path)

    check()
