"""The published rule is convicted, and each of its four faults on its own."""

from fractions import Fraction

import pytest
from hypothesis import given

from specproof.reference import TableModel, exact
from specproof.reference.model import prefixes
from specproof.reference.testing import Instance, generated, instances

Entries = list[int | str]
REPAIRED = {"claimed": False, "swapped": False, "strays": False, "carry": True}


def constant(target_row: Entries, draft_row: Entries, length: int) -> tuple[TableModel, TableModel]:
    """Models with the same row after every prefix."""
    target, draft = (dict.fromkeys(prefixes(len(row), length), row) for row in (target_row, draft_row))
    return TableModel(target), TableModel(draft)


COMPETING = constant(["1/2", "1/2"], ["3/4", "1/4"], 1)
ONE_USEFUL = constant([0, "1/2", "1/2"], ["3/4", "1/4", 0], 1)  # only token 1 can be drafted and accepted
DETERMINISTIC = constant(["1/2", "1/2"], [1, 0], 1)
ONE_DRAFT = constant(["1/3", "2/3"], ["2/3", "1/3"], 2)


def test_the_smallest_counterexample() -> None:
    """V = 2, L = 1, K = 2, target (1/2, 1/2), draft (3/4, 1/4): the first token's law is (97/175, 78/175)."""
    target, draft = COMPETING
    found = exact("spectr_gbv_published", target, draft, drafts=2, length=1)
    assert found.total_variation == Fraction(19, 350)
    first = exact("spectr_gbv_published", target, draft, drafts=2, length=1, tokens=1)
    assert first.law == {(0,): Fraction(97, 175), (1,): Fraction(78, 175)}
    assert first.total_variation == Fraction(19, 350)


@pytest.mark.parametrize(
    ("fault", "models", "drafts", "length", "distance"),
    [
        ({"claimed": True}, COMPETING, 2, 1, Fraction(3, 35)),
        ({"swapped": True}, ONE_USEFUL, 2, 1, Fraction(1, 7)),
        ({"strays": True}, DETERMINISTIC, 2, 1, Fraction(1, 4)),
        ({"carry": False}, ONE_DRAFT, 1, 2, Fraction(1, 9)),
    ],
    ids=["claimed", "swapped", "strays", "carry"],
)
def test_each_fault_alone_loses_the_law(
    fault: dict[str, bool], models: tuple[TableModel, TableModel], drafts: int, length: int, distance: Fraction
) -> None:
    """With the other three repaired each fault is convicted on an instance where the repaired rule is exact."""
    target, draft = models
    size = {"drafts": drafts, "length": length}
    assert exact("spectr_gbv_published", target, draft, **size, **(REPAIRED | fault)).total_variation == distance
    assert exact("spectr_gbv_published", target, draft, **size, **REPAIRED).total_variation == 0


def test_the_claim_holds_where_nothing_competes() -> None:
    """With a single useful token the coins accept f, so only the shape of the residual can be wrong."""
    target, draft = ONE_USEFUL
    options = REPAIRED | {"claimed": True}
    assert exact("spectr_gbv_published", target, draft, drafts=2, length=1, **options).total_variation == 0


@generated(30)
@given(instances())
def test_all_four_repaired_keep_the_law(instance: Instance) -> None:
    """Subtracting what the coins really accept, without strays and with carry-over, is lossless."""
    found = exact(
        "spectr_gbv_published", instance.target, instance.draft, drafts=instance.drafts, length=instance.length,
        **REPAIRED,
    )  # fmt: skip
    assert found.total_variation == 0


@generated(20)
@given(instances(sizes=((2, 1, 1), (3, 1, 1), (2, 2, 1), (2, 3, 1))))
def test_one_draft_is_greedy_block_verification(instance: Instance) -> None:
    """At K = 1 the published rule with carry-over is greedy block verification: same law of tau, no loss."""
    size = {"drafts": 1, "length": instance.length}
    found = exact("spectr_gbv_published", instance.target, instance.draft, **size, carry=True)
    assert found.total_variation == 0
    assert found.accepted_law == exact("greedy_block", instance.target, instance.draft, **size).accepted_law
