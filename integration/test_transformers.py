"""The installed transformers under the certifier."""

from fractions import Fraction
from typing import Any

import pytest

import specproof
from specproof.integration.adapters.transformers import NEEDED, SpeculativeSampling, load
from specproof.integration.adapters.unavailable import Unavailable
from specproof.properties.cases import iterated_cases, one_step_cases
from specproof.properties.evidence.exact import observe_exactly
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.subject import subject_of_rule, subject_of_verifier
from specproof.properties.verdict import Verdict
from specproof.reference.law import total_variation
from specproof.reference.verifiers import rule
from specproof.subjects import resolve

pytest.importorskip("transformers")


def test_transformers_is_certified() -> None:
    """The main job: HELD with probed TV at most 1e-6 on every case and at most 3,000 calls for V=3, L=2.

    Sampled at family alpha 1e-6: 131,072 texts of 64 and of 512 cells (finds TV .020 and .029 with power .999) and
    65,536 texts over several iterations.
    """
    certificate = specproof.certify(resolve("transformers"))
    assert certificate.verdict is Verdict.HELD
    assert certificate.counts.planned == certificate.counts.run
    probed = [c for c in certificate.checks if c.evidence.kind == "probed"]
    assert all(c.evidence.total_variation <= 1e-6 for c in probed if c.property == "lossless")  # type: ignore[operator]
    calls = [c.evidence.calls for c in probed if c.case == "context V3 L2" and c.evidence.calls]
    assert calls
    assert max(calls) <= 3000
    bounds = [c.evidence for c in certificate.checks if c.evidence.upper_bound is not None]
    assert all(e.confidence is not None and e.confidence >= 1 - 1e-6 for e in bounds)


@pytest.mark.parametrize("case", one_step_cases() + iterated_cases(), ids=lambda case: case.name)
def test_ensemble_weight_is_measured_exactly(case: Any) -> None:
    """The lossy option's probed law has the total variation that enumeration gives, to 1e-6."""
    subject = subject_of_verifier(load(assistant_ensemble_weight=0.8), name="transformers")
    enumerated = subject_of_rule(rule("ensemble", weight=Fraction(4, 5)), name="ensemble", version="1")
    seen = total_variation(observe_probed(subject, case).text, case.target_law)
    wanted = total_variation(observe_exactly(enumerated, case).text, case.target_law)
    assert float(seen) == pytest.approx(float(wanted), abs=1e-6)


def test_ensemble_weight_is_refuted_with_its_weakest_claim() -> None:
    """With weight 0.8 impossible drafts pass: the support is the weakest claim that falls."""
    certificate = specproof.certify(resolve("transformers", {"assistant_ensemble_weight": 0.8}), evidence="probed")
    assert certificate.verdict is Verdict.FAILED
    assert certificate.weakest_violated == "support"
    assert certificate.claims["declared acceptance"] is Verdict.HELD
    assert certificate.claims["acceptance ceiling"] is Verdict.FAILED


def test_uniform_of_zero_is_noted() -> None:
    """``r <= p/q`` accepts an impossible draft when the uniform is exactly zero: 2^-24, below tolerance, not hidden."""
    certificate = specproof.certify(resolve("transformers"), evidence="probed")
    assert any("impossible text" in note and "e-08" in note for note in certificate.notes)


def test_unknown_signature_is_unavailable() -> None:
    """A function with arguments that the adapter does not know is never called."""

    def newer(
        candidate_input_ids: Any, candidate_logits: Any, candidate_length: Any, new_logits: Any, mode: Any
    ) -> None:
        raise AssertionError

    with pytest.raises(Unavailable, match=r"unknown arguments \['mode'\]"):
        SpeculativeSampling(newer)
    with pytest.raises(Unavailable, match="no arguments"):
        SpeculativeSampling(lambda new_logits: new_logits)


def test_older_signatures_get_neutral_arguments() -> None:
    """Releases that asked for more are called with values that change nothing."""
    from transformers.generation import utils

    def older(
        candidate_input_ids: Any, candidate_logits: Any, candidate_length: Any, new_logits: Any, is_done_candidate: Any
    ) -> Any:
        assert is_done_candidate is False
        return utils._speculative_sampling(candidate_input_ids, candidate_logits, candidate_length, new_logits)

    case = one_step_cases()[1]
    law = observe_probed(subject_of_verifier(SpeculativeSampling(older), name="older"), case).text
    assert total_variation(law, case.target_law) <= 1e-6
    assert {"new_logits"} <= NEEDED
    with pytest.raises(ValueError, match="assistant_ensemble_weight"):
        SpeculativeSampling(older, assistant_ensemble_weight=0.5)


@pytest.mark.parametrize("weight", [0, -1, 1.5, "much", True])
def test_load_refuses_bad_weights(weight: Any) -> None:
    """Only numbers in (0, 1]."""
    with pytest.raises(ValueError, match="must be a number in"):
        load(assistant_ensemble_weight=weight)
