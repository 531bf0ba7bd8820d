"""A verifier that is lossy by design is held to what it declares, and to the target's law when it declares nothing."""

from types import SimpleNamespace
from typing import Any

import pytest

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.verifiers import ensemble
from specproof.properties.plan import Plan
from specproof.properties.subject import Subject, subject_of_verifier
from specproof.properties.suite import checks
from specproof.properties.verdict import Verdict, merged

CASES = ("coin", "reversed", "rows by context", "iterations V2 L1")
LOSSY = frozenset({"batch", "ragged", "one_hot_draft", "takes_uniforms", "lossy_by_design"})


def lossy_subject(weight: float, **declared: Any) -> Subject:
    """Ensemble verification with some weight, and whatever it declares."""

    def verify(drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:
        return ensemble.verify(drafts, generator, carry, weight=weight)

    made = SimpleNamespace(verify=verify, drafting=Drafting(1), capabilities=LOSSY, **declared)
    return subject_of_verifier(made, name="ensemble")


def verdicts(subject: Subject) -> dict[str, Verdict]:
    """Merged verdict of every claim, by probing."""
    results = [check.run() for check in checks(subject, Plan("probed")) if check.case in CASES]
    found = {claim: [r.verdict for r in results if r.claim == claim] for claim in {r.claim for r in results}}
    return {claim: merged(given) for claim, given in found.items()}


def test_the_declared_rule_is_what_counts() -> None:
    """Half the weight as declared holds; another weight than the declared one is convicted."""
    declared = {"rule": "ensemble", "rule_options": {"weight": "1/2"}}
    assert verdicts(lossy_subject(0.5, **declared))["declared law"] is Verdict.HELD
    assert verdicts(lossy_subject(0.8, **declared))["declared law"] is Verdict.FAILED


def test_a_declared_deviation_is_a_limit() -> None:
    """The coin case loses .15 with half the weight: a declared .2 holds there, .1 is convicted."""
    for limit, verdict in ((0.2, Verdict.HELD), (0.1, Verdict.FAILED)):
        subject = lossy_subject(0.5, largest_deviation=limit)
        (found,) = [
            check.run()
            for check in checks(subject, Plan("probed"))
            if check.case == "coin" and check.claim == "declared law"
        ]
        assert found.verdict is verdict, found.reason
        assert found.evidence.total_variation == pytest.approx(0.15)


def test_loss_without_a_declaration_is_loss() -> None:
    """Then the target's law is asked for, and the ensemble does not have it."""
    assert verdicts(lossy_subject(0.5))["first token"] is Verdict.FAILED


def test_a_deviation_is_a_total_variation() -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.5"):
        lossy_subject(0.5, largest_deviation=1.5)
