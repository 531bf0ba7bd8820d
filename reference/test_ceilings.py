"""The closed forms: their recorded values, brute force over sets and prefixes, and how they are ordered."""

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specproof.reference.ceilings import alpha_star, ceilings, claimed, level, single_draft, union
from specproof.reference.model import Row, TableModel, joint, prefixes
from specproof.reference.testing import Instance, generated, instances, rows

INSTANCES = json.loads((Path(__file__).parent / "oracles" / "step.json").read_text())["instances"]
ORACLE_NAMES = {"single_draft": "single_greedy", "claimed": "claimed", "union": "union", "level": "level"}


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance["name"])
def test_oracle(instance: dict[str, Any]) -> None:
    """Every closed form is the recorded fraction."""
    target, draft = TableModel.from_table(instance["target"]), TableModel.from_table(instance["draft"])
    found = ceilings(target, draft, drafts=instance["drafts"], length=instance["length"])
    for name, key in ORACLE_NAMES.items():
        assert found[name] == Fraction(instance["ceilings"][key]), name


def test_every_ceiling_of_the_oracles_is_compared() -> None:
    """No recorded entry is left out; the block optimum is compared where it is computed."""
    recorded = {key for instance in INSTANCES for key in instance["ceilings"]}
    assert recorded == {*ORACLE_NAMES.values(), "block_transport"}


@given(st.integers(1, 5).flatmap(lambda size: st.tuples(rows(size), rows(size))), st.integers(1, 4))
@generated(150)
def test_alpha_star(pair: tuple[Row, Row], drafts: int) -> None:
    """The threshold sets are enough: no other set of tokens gives a smaller bound."""
    target, draft = pair
    tokens = range(len(target))
    sets = [set(chosen) for size in range(len(target) + 1) for chosen in combinations(tokens, size)]
    bounds = [
        1 - (1 - sum(draft[c] for c in chosen)) ** drafts + sum(target[c] for c in tokens if c not in chosen)
        for chosen in sets
    ]
    assert alpha_star(target, draft, drafts) == min(bounds)


@given(instances())
@generated(40)
def test_sums_over_every_prefix(instance: Instance) -> None:
    """Prefixes that one model never emits may be left out: the sums over all prefixes are the same."""
    target, draft, drafts = instance.target, instance.draft, instance.drafts
    masses = [
        (joint(target, (), prefix), joint(draft, (), prefix))
        for prefix in prefixes(target.vocabulary, instance.length)
        if prefix
    ]
    size = {"drafts": drafts, "length": instance.length}
    assert union(target, draft, **size) == sum(min(t, 1 - (1 - d) ** drafts) for t, d in masses)
    assert claimed(target, draft, **size) == sum(
        t * (1 - (1 - min(Fraction(1), d / t)) ** drafts) for t, d in masses if t
    )
    assert single_draft(target, draft, length=instance.length) == sum(min(t, d) for t, d in masses)


@given(instances())
@generated(80)
def test_order(instance: Instance) -> None:
    """One draft, the published claim, the coupling of every level, the union bound: each at most the next."""
    found = ceilings(instance.target, instance.draft, drafts=instance.drafts, length=instance.length)
    assert found["single_draft"] <= found["claimed"] <= found["level"] <= found["union"] <= instance.length
    if instance.length == 1:
        assert found["level"] == found["alpha_star"]


@given(instances())
@generated(80)
def test_one_draft(instance: Instance) -> None:
    """For one draft all of them are the optimum ``sum min(target, draft)``."""
    found = ceilings(instance.target, instance.draft, drafts=1, length=instance.length)
    assert found["single_draft"] == found["claimed"] == found["union"] == found["level"]


@given(instances())
@generated(80)
def test_more_drafts_never_hurt(instance: Instance) -> None:
    """More drafts lower no ceiling."""
    fewer, more = (
        ceilings(instance.target, instance.draft, drafts=drafts, length=instance.length)
        for drafts in (instance.drafts, instance.drafts + 1)
    )
    assert all(fewer[name] <= more[name] for name in fewer)


@given(instances())
@generated(40)
def test_equal_models(instance: Instance) -> None:
    """A draft equal to the target can be accepted whole."""
    for name, value in ceilings(
        instance.target, instance.target, drafts=instance.drafts, length=instance.length
    ).items():
        assert value == (1 if name == "alpha_star" else instance.length)


def test_disjoint_supports_need_no_rows_beyond_them() -> None:
    """Nothing can be accepted, and no row after an impossible prefix is asked for."""
    target, draft = TableModel({(): [1, 0], (0,): [1, 0]}), TableModel({(): [0, 1], (1,): [1, 0]})
    assert set(ceilings(target, draft, drafts=2, length=2).values()) == {Fraction(0)}
    assert level(target, draft, drafts=2, length=2) == 0
