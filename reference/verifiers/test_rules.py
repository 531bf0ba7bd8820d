"""The way in: names, options and what is refused."""

from typing import Any

import pytest

from specproof.reference import TableModel, exact, rule, rule_names
from specproof.reference.selectors import selector, selector_names

EVEN = TableModel.from_table({"": ["1/2", "1/2"], "0": ["1/2", "1/2"], "1": ["1/2", "1/2"]})


def test_every_rule_runs_by_its_name() -> None:
    """All rules take two drafts, except the one-draft rules, which take one."""
    for name in rule_names():
        drafts = rule(name).paths or 2
        assert sum(exact(name, EVEN, EVEN, drafts=drafts, length=1).steps.values()) == 1


def test_spectr_gbv_is_a_pair() -> None:
    """``spectr_gbv`` and the pair it names have the same law, down to the returned models."""
    pair = exact("greedy_block", EVEN, EVEN, drafts=2, length=1, selector="race", table="balanced", cells=2)
    assert exact("spectr_gbv", EVEN, EVEN, drafts=2, length=1, cells=2).steps == pair.steps


def test_greedy_multipath_block_is_a_pair() -> None:
    """``greedy_multipath_block`` is block verification of the best draft by ratio."""
    pair = exact("block", EVEN, EVEN, drafts=2, length=1, selector="best_ratio")
    assert exact("greedy_multipath_block", EVEN, EVEN, drafts=2, length=1).steps == pair.steps


@pytest.mark.parametrize("name", ["standard", "block", "greedy_block"])
def test_one_draft_rule_refuses_several_drafts_without_a_selector(name: str) -> None:
    """The message says why and names the selectors."""
    with pytest.raises(ValueError, match=f"{name} verifies 1 draft, got 2: nothing says which .* scan, race") as error:
        exact(name, EVEN, EVEN, drafts=2, length=1)
    assert all(selector_name in str(error.value) for selector_name in selector_names())


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("spectr_gvb", {}, "Unknown verification rule 'spectr_gvb'. Did you mean 'spectr_gbv'?"),
        ("block", {"selector": "rase"}, "Unknown selector 'rase'. Did you mean 'race'?"),
        ("block", {"selector": "race", "cell": 2}, "Unknown option of block 'cell'. Did you mean 'cells'?"),
        ("block", {"selector": "race", "table": "balance"}, "Unknown table 'balance'. Did you mean 'balanced'?"),
        ("block", {"cells": 2}, "Unknown option of block 'cells'."),
        ("block", {"selector": "scan", "cells": 2}, "Unknown option of block 'cells'."),
        ("k_seq", {"selector": "race"}, "Unknown option of k_seq 'selector'."),
        ("spectr_gbv", {"table": "proportional"}, "Unknown option of spectr_gbv 'table'."),
        ("spectr_gbv_published", {"stray": False}, "Did you mean 'strays'?"),
    ],
)
def test_unknown_names_are_refused_when_the_rule_is_made(name: str, options: dict[str, Any], message: str) -> None:
    """Nothing runs before every name is known; the nearest valid one is offered."""
    with pytest.raises(ValueError) as error:  # noqa: PT011
        rule(name, **options)
    assert message in str(error.value)


def test_selector_refuses_unknown_options() -> None:
    """So does ``selector`` on its own."""
    with pytest.raises(ValueError, match="Unknown option of selector scan 'cells'"):
        selector("scan", cells=2)
