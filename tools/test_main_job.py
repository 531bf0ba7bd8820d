"""The main job, end to end: the installed transformers, certified by name."""

import pytest

import specproof
from specproof.properties.verdict import Verdict
from specproof.subjects import resolve

pytest.importorskip("transformers")


def test_transformers_is_certified() -> None:
    """The main job: HELD with probed TV at most 1e-6 on every case and at most 3,000 calls for V=3, L=2.

    Sampled at family alpha 1e-6: 131,072 texts of 64 and of 512 cells (finds TV .020 and .029 with power .999) and
    65,536 texts over several iterations.
    """
    certificate = specproof.certify(resolve("transformers"))
    assert certificate.verdict is Verdict.HELD
    assert certificate.counts.planned == certificate.counts.run + certificate.counts.skipped
    probed = [c for c in certificate.checks if c.evidence.kind == "probed"]
    assert all(c.evidence.total_variation <= 1e-6 for c in probed if c.property == "lossless")  # type: ignore[operator]
    calls = [c.evidence.calls for c in probed if c.case == "context V3 L2" and c.evidence.calls]
    assert calls
    assert max(calls) <= 3000
    bounds = [c.evidence for c in certificate.checks if c.evidence.upper_bound is not None]
    assert all(e.confidence is not None and e.confidence >= 1 - 1e-6 for e in bounds)
    # ``r <= p/q`` accepts an impossible draft when the uniform is exactly zero: 2^-24, below tolerance and not hidden.
    assert any("impossible text" in note and "e-08" in note for note in certificate.notes)


def test_ensemble_weight_is_refuted_with_its_weakest_claim() -> None:
    """With weight 0.8 impossible drafts pass: the support is the weakest claim that falls."""
    certificate = specproof.certify(resolve("transformers", {"assistant_ensemble_weight": 0.8}), evidence="probed")
    assert certificate.verdict is Verdict.FAILED
    assert certificate.weakest_violated == "support"
    assert certificate.claims["declared acceptance"] is Verdict.HELD
    assert certificate.claims["acceptance ceiling"] is Verdict.FAILED
