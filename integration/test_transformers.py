"""The installed transformers under the certifier."""

from fractions import Fraction
from typing import Any

import pytest

from specproof.integration.adapters.transformers import NEEDED, SpeculativeSampling, load
from specproof.integration.unavailable import Unavailable
from specproof.properties.cases import iterated_cases, one_step_cases
from specproof.properties.evidence.exact import observe_exactly
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.subject import subject_of_rule, subject_of_verifier
from specproof.reference.law import total_variation
from specproof.reference.verifiers import rule

pytest.importorskip("transformers")


@pytest.mark.parametrize("case", one_step_cases() + iterated_cases(), ids=lambda case: case.name)
def test_ensemble_weight_is_measured_exactly(case: Any) -> None:
    """The lossy option's probed law has the total variation that enumeration gives, to 1e-6."""
    subject = subject_of_verifier(load(assistant_ensemble_weight=0.8), name="transformers")
    enumerated = subject_of_rule(rule("ensemble", weight=Fraction(4, 5)), name="ensemble", version="1")
    seen = total_variation(observe_probed(subject, case).text, case.target_law)
    wanted = total_variation(observe_exactly(enumerated, case).text, case.target_law)
    assert float(seen) == pytest.approx(float(wanted), abs=1e-6)


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
