"""The block optimum: recorded values, an unmerged second statement of the problem, and its place among the ceilings."""

import json
import random
from fractions import Fraction
from itertools import combinations_with_replacement
from math import factorial, prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import specproof.reference
from specproof.reference.ceilings import ceilings
from specproof.reference.model import Model, Prefix, TableModel, prefixes, sequences
from specproof.reference.testing import Instance, generated, instances
from specproof.reference.transport import linear
from specproof.reference.transport.block import block_coupling, common_prefix
from specproof.reference.transport.certificate import Problem, check
from specproof.reference.transport.token import coupling

ORACLES = Path(specproof.reference.__file__).parent / "oracles" / "step.json"
RECORDED = json.loads(ORACLES.read_text())["instances"]


def random_model(vocabulary: int, depth: int, seed: int) -> TableModel:
    """A model without zeros."""
    dice = random.Random(seed)
    table = {}
    for prefix in prefixes(vocabulary, depth - 1):
        weights = [dice.randrange(1, 100) for _ in range(vocabulary)]
        table[prefix] = [Fraction(weight, sum(weights)) for weight in weights]
    return TableModel(table)


def multiset_problem(target: Model, draft: Model, drafts: int, length: int) -> Problem:
    """One row for every multiset of drafts, found by counting orders instead of inclusion and exclusion."""
    texts, paths = sequences(target, length), sequences(draft, length)
    multisets = list(combinations_with_replacement(paths, drafts))

    def mass(multiset: tuple[Prefix, ...]) -> Fraction:
        orders = factorial(drafts) // prod(factorial(multiset.count(path)) for path in set(multiset))
        return orders * prod((paths[path] for path in multiset), start=Fraction(1))

    return Problem(
        supply=tuple(mass(multiset) for multiset in multisets),
        demand=tuple(texts.values()),
        gain=tuple(
            tuple(max(common_prefix(path, text) for path in multiset) for text in texts) for multiset in multisets
        ),
    )


@pytest.mark.parametrize("instance", RECORDED, ids=lambda instance: instance["name"])
def test_oracle(instance: dict[str, Any]) -> None:
    """The certified fraction is within 1e-9 of the recorded decimal."""
    target, draft = TableModel.from_table(instance["target"]), TableModel.from_table(instance["draft"])
    found = block_coupling(target, draft, drafts=instance["drafts"], length=instance["length"])
    check(found.problem, found.certificate)
    assert found.certificate.closed
    assert abs(found.value - Fraction(instance["ceilings"]["block_transport"])) < Fraction(1, 10**9)


@given(instances())
@generated(40)
def test_flow(instance: Instance) -> None:
    """The coupling has the right margins and accepts as many tokens as its value says."""
    target, draft, length = instance.target, instance.draft, instance.length
    found = block_coupling(target, draft, drafts=instance.drafts, length=length)
    texts: dict[Prefix, Fraction] = {}
    for (_, text), mass in found.flow.items():
        texts[text] = texts.get(text, Fraction(0)) + mass
    assert texts == sequences(target, length)
    gains = {pair: max(common_prefix(path, pair[1]) for path in pair[0]) for pair in found.flow}
    assert found.value == sum(mass * gains[pair] for pair, mass in found.flow.items())
    for path, share in sequences(draft, length).items():
        absent = sum(mass for (support, _), mass in found.flow.items() if path not in support)
        assert absent == (1 - share) ** instance.drafts


@given(instances())
@generated(30)
def test_multisets(instance: Instance) -> None:
    """HiGHS on the problem over multisets proves the same fraction."""
    found = block_coupling(instance.target, instance.draft, drafts=instance.drafts, length=instance.length)
    stated = multiset_problem(instance.target, instance.draft, instance.drafts, instance.length)
    assert linear.solve(stated).value == found.value


@given(instances())
@generated(60)
def test_between_claim_and_level(instance: Instance) -> None:
    """What a rule attains is at most the optimum, which is at most the coupling of every level."""
    size = {"drafts": instance.drafts, "length": instance.length}
    bounds = ceilings(instance.target, instance.draft, **size)
    found = block_coupling(instance.target, instance.draft, **size).value
    assert bounds["claimed"] <= found <= bounds["level"]
    if instance.length == 1:
        row, draft_row = instance.target.probabilities(()), instance.draft.probabilities(())
        assert found == bounds["level"] == coupling(row, draft_row, instance.drafts).value


@given(instances())
@generated(40)
def test_one_draft(instance: Instance) -> None:
    """For one draft the optimum is ``sum min(target, draft)``."""
    found = block_coupling(instance.target, instance.draft, drafts=1, length=instance.length)
    assert found.value == ceilings(instance.target, instance.draft, drafts=1, length=instance.length)["single_draft"]


@given(instances())
@generated(40)
def test_more_drafts_never_hurt(instance: Instance) -> None:
    """One more draft never lowers the optimum."""
    fewer, more = (
        block_coupling(instance.target, instance.draft, drafts=drafts, length=instance.length).value
        for drafts in (instance.drafts, instance.drafts + 1)
    )
    assert fewer <= more


@given(instances())
@generated(20)
def test_equal_models(instance: Instance) -> None:
    """A draft equal to the target can be accepted whole."""
    found = block_coupling(instance.target, instance.target, drafts=instance.drafts, length=instance.length)
    assert found.value == instance.length


@pytest.mark.parametrize(
    ("vocabulary", "length", "drafts"),
    [(3, 2, 3), (4, 2, 3), (3, 3, 2), pytest.param(3, 3, 3, marks=pytest.mark.nightly)],
)
def test_large(vocabulary: int, length: int, drafts: int) -> None:
    """Tens of thousands of pairs: the integer method and HiGHS close on the same fraction."""
    target, draft = random_model(vocabulary, length, 1), random_model(vocabulary, length, 2)
    found = block_coupling(target, draft, drafts=drafts, length=length)
    assert found.value == linear.solve(found.problem).value


def test_bad_size() -> None:
    """An empty block or no draft is refused."""
    model = random_model(2, 1, 1)
    with pytest.raises(ValueError, match="drafts and length must be at least 1, got 0 and 1"):
        block_coupling(model, model, drafts=0, length=1)
