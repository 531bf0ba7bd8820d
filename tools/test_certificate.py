"""The certificate as data: its schema, what it keeps, and how it is read back."""

import dataclasses
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from specproof.certificate import Certificate, json_schema
from specproof.kept import KeptCase, keep
from specproof.properties.cases import iterated_cases, one_step_cases, sampled_cases
from specproof.properties.evidence.calls import Emitted, Violation
from specproof.properties.evidence.observation import Observation
from specproof.properties.evidence.sampled import Sample
from specproof.properties.plan import Gathering, named
from specproof.properties.subject import Subject
from specproof.testing import exact, held, refuted

PUBLISHED = Path(__file__).resolve().parent / "schema" / "certificate-2.json"


def test_published_schema_is_the_models() -> None:
    """What is published is what is written; ``python -m specproof.certificate`` prints it anew."""
    assert json.loads(PUBLISHED.read_text()) == json_schema()


@pytest.mark.parametrize("make", [held, refuted, exact])
def test_certificates_validate_and_read_back(make: object) -> None:
    """Strict JSON (no NaN) that the published schema admits and ``Certificate`` reads without loss."""
    certificate = make()  # type: ignore[operator]
    text = certificate.to_json()
    data = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    jsonschema.Draft202012Validator(json_schema()).validate(data)
    assert Certificate.model_validate(data).to_json() == text


@pytest.mark.parametrize("field", ["verdict", "schema", "kept", "alpha"])
def test_schema_refuses_what_is_no_certificate(field: str) -> None:
    """A missing field, a field that is unknown, or one of another kind."""
    validator = jsonschema.Draft202012Validator(json_schema())
    data = json.loads(exact().to_json())
    assert validator.is_valid(data)
    assert not validator.is_valid({key: value for key, value in data.items() if key != field})
    assert not validator.is_valid({**data, field: 3})
    assert not validator.is_valid({**data, "unknown": 3})


def test_cases_are_kept_whole() -> None:
    """Every case of the suite comes back with the same tables."""
    for case in one_step_cases() + one_step_cases(2) + iterated_cases() + sampled_cases():
        kept = KeptCase.of(case)
        back = kept.restored()
        assert KeptCase.of(back) == kept
        assert back.horizon == case.horizon
        assert back.target_law == case.target_law


def test_laws_and_counts_come_back_as_they_were() -> None:
    """Every field of an observation and a sample is kept: what the properties judge again is what they judged."""
    case = one_step_cases()[0]
    check = named("lossless", "block", case, "probed", Gathering(lambda given: given, case), lambda found: found)
    steps = {Emitted(0, (1,)): 0.25, Emitted(1, (0, 1)): 0.7, Violation("no"): 0.05}
    law = Observation(case, "probed", steps, {(0, 1): 0.7, (1, 0): 0.25}, 1e-6, 12, 3)
    subject = Subject("s", "verifier", "1")
    assert keep(law, check).restored(subject, case) == law  # type: ignore[union-attr]
    kept = next(kept for name, kept in refuted().kept.items() if name == "sampled:counts V4 L2")
    on = next(case for case in sampled_cases() if case.name == kept.case)
    sample = kept.restored(subject, on)  # type: ignore[union-attr]
    again = keep(sample, dataclasses.replace(check, gather=Gathering(lambda given: given, on)))
    assert isinstance(sample, Sample)
    assert again == kept
    assert np.array_equal(sample.counts.text, kept.text)  # type: ignore[union-attr]


def test_evidence_of_another_form_is_named_and_not_kept() -> None:
    """A form that cannot be written down is no gap: it is listed as not kept."""
    check = named("driven", "driven", "nowhere", "driven", lambda: 3, lambda found: found)
    assert keep(3, check).form == "not kept"


def test_smallest_counterexample_comes_first() -> None:
    """Fewest tokens, then shortest block, of all that failed."""
    found = exact().counterexample
    assert found is not None
    sizes = [check.counterexample.size for check in exact().checks if check.counterexample is not None]
    assert found.size == min(sizes)
