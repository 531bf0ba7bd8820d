"""The lattice of claims, and the weakest claim that mutants violate."""

import pytest

from specproof.properties.check import CLAIMS
from specproof.properties.lattice import IMPLIED, PREMISES, also_violated, falls_with, weakest
from specproof.properties.mutants import mutant
from specproof.properties.mutants.one_draft import MUTANTS
from specproof.properties.subject import subject_of_rule
from specproof.properties.suite import laws
from specproof.properties.verdict import Verdict, merged

HELD, FAILED = Verdict.HELD, Verdict.FAILED


def test_claims_are_listed_weakest_first() -> None:
    """No claim falls with one that is listed behind it, so the relation has no cycle either."""
    order = list(CLAIMS)
    for relation in (IMPLIED, PREMISES):
        for claim, fallen in relation.items():
            assert all(order.index(claim) < order.index(other) for other in fallen)


def test_edges_are_direct() -> None:
    """No edge follows from two others: the closure is computed, not written down."""
    for fallen in IMPLIED.values():
        for there in fallen:
            assert not any(there in falls_with(other) for other in fallen if other != there)


def test_what_falls_is_closed() -> None:
    """Whatever falls with something that falls, falls too."""
    for claim in CLAIMS:
        fallen = set(falls_with(claim))
        assert claim not in fallen
        assert all(set(falls_with(there)) <= fallen for there in fallen)
    assert falls_with("first token") == ["block", "iterations", "driven"]


@pytest.mark.parametrize(
    ("violated", "first", "also"),
    [
        (["iterations", "block"], "block", ["iterations"]),
        (["acceptance ceiling", "first token"], "first token", ["block", "iterations", "acceptance ceiling"]),
        (["block", "drafts"], "drafts", ["first token", "block", "iterations"]),
        (["declared acceptance"], "declared acceptance", ["driven"]),
        ([], None, []),
    ],
)
def test_the_weakest_violated_claim_falls_with_no_other(
    violated: list[str], first: str | None, also: list[str]
) -> None:
    """What falls with it comes first, then what is violated beside it."""
    verdicts = {claim: FAILED if claim in violated else Verdict.UNDECIDED for claim in CLAIMS}
    verdicts["driven"] = Verdict.UNDECIDED if "declared acceptance" in violated else Verdict.NOT_APPLICABLE
    assert weakest(verdicts) == first
    assert (also_violated(first, verdicts) if first else []) == also


def test_a_premise_does_not_take_down_what_holds_by_itself() -> None:
    """Drafts off their declared law are harmless to a rule that never uses it."""
    verdicts = {"drafts": FAILED, "first token": HELD, "iterations": HELD}
    assert falls_with("drafts", verdicts) == []
    assert falls_with("drafts", {**verdicts, "first token": Verdict.UNDECIDED}) == ["first token", "iterations"]


def test_claims_that_were_not_asked_for_are_not_named() -> None:
    """A bandit has a contract and no text; a subject without a declared rule is not driven."""
    assert falls_with("contract", {"contract": FAILED}) == []
    assert falls_with("block", {"block": FAILED, "iterations": HELD, "driven": Verdict.NOT_APPLICABLE}) == [
        "iterations"
    ]


@pytest.mark.parametrize(
    ("name", "first", "fallen"),
    [
        ("stale_bonus", "support", ["block", "iterations"]),
        ("lenient", "first token", ["block", "iterations"]),
        ("greedy_block_without_carry", "block", ["iterations"]),
    ],
)
def test_mutants_violate_a_weakest_claim_and_what_falls_with_it(name: str, first: str, fallen: list[str]) -> None:
    """Enumerated on all cases: the weakest claim is the one that the mutant names."""
    given = MUTANTS[name].rule(name)
    assert given is not None
    results = [check.run() for check in laws(subject_of_rule(given, name=name, version="1"))]
    verdicts = {claim: merged([r.verdict for r in results if r.claim == claim]) for claim in CLAIMS}
    verdicts = {claim: value for claim, value in verdicts.items() if any(r.claim == claim for r in results)}
    assert weakest(verdicts) == first == MUTANTS[name].violates
    assert also_violated(first, verdicts)[: len(fallen)] == fallen
    assert mutant(name).name == f"mutant:{name}"
