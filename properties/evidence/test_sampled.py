"""Counting: correct subjects pass with their bound, mutants fail at the planned size, nothing is assumed of the rest."""

from typing import Any

import numpy as np
import pytest
import torch

from specproof.fast.batch import Drafts, Outcome
from specproof.fast.verifiers import standard
from specproof.properties import contract, lossless
from specproof.properties.cases import one_step_cases, sampled_cases
from specproof.properties.evidence.power import draws_to_refute
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.evidence.sampled import E_SHARE, SamplePlan, as_array, observe_sampled, texts
from specproof.properties.mutants import mutant
from specproof.properties.program import ProgramVerifier
from specproof.properties.subject import subject_of_verifier
from specproof.properties.verdict import Verdict
from specproof.reference.verifiers import rule

ALPHA = 1e-6
FAST = subject_of_verifier(standard, name="fast:standard")
SMALL = next(case for case in one_step_cases() if case.name == "reversed")


def plan(draws: int, seed: int = 1) -> SamplePlan:
    """A plan at the family's alpha."""
    return SamplePlan(draws, ALPHA, ALPHA, seed)


@pytest.mark.parametrize("case", sampled_cases(), ids=lambda case: case.name)
def test_correct_subject_passes_with_a_bound(case: Any) -> None:
    """2^15 draws at alpha 1e-6: no refutation, and the stated bound is that of McDiarmid (TV .04 or less)."""
    sample = observe_sampled(FAST, case, plan(2**15))
    found = lossless.judge_counts(sample)
    assert found.verdict is Verdict.HELD
    assert found.evidence.confidence == 1 - ALPHA
    assert 0 < (found.evidence.upper_bound or 1) < 0.06
    assert sample.complete


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("resample_from_target", "reversed"),
        ("always_accept", "reversed"),
        ("subtract_drafted_only", "reversed"),
        ("reuse_accept_coin", "two-way residual"),
        ("one_coin", "leaky row"),
    ],
)
def test_mutants_are_convicted_at_the_planned_sample_size(name: str, where: str) -> None:
    """Alpha 1e-6, planned for power .999 from the mutant's probed law: 275 to 4,751 draws for TV .30 to .04."""
    case = next(case for case in one_step_cases() if case.name == where)
    subject = mutant(name)
    cells = texts(case)
    law = as_array(dict(case.target_law), cells)
    wrong = as_array(dict(observe_probed(subject, case).text), cells)
    planned = draws_to_refute(law, wrong, ALPHA * E_SHARE)
    sample = observe_sampled(subject, case, plan(planned))
    assert sample.text.refutations, f"not refuted within {planned} draws"


def test_program_over_several_drafts_passes() -> None:
    """K = 2: recursive rejection as torch code, 2,000 draws at alpha 1e-6 (finds TV of .15)."""
    subject = subject_of_verifier(ProgramVerifier(rule("recursive").verify, drafts=2), name="recursive")
    case = next(case for case in one_step_cases(2) if case.name == "reversed")
    assert lossless.judge_counts(observe_sampled(subject, case, plan(2000))).verdict is Verdict.HELD


def test_accepted_lengths_are_compared_with_the_declared_rule() -> None:
    """Standard verification that declares block verification is refuted by its accepted lengths, TV .1 at 20,000 draws."""

    class Declares:
        verify = staticmethod(standard.verify)
        rule = "block"

    case = next(case for case in one_step_cases() if case.name == "rows by context")
    sample = observe_sampled(subject_of_verifier(Declares, name="declares"), case, plan(20_000))
    assert sample.text.refutations == []
    assert sample.accepted is not None
    assert sample.accepted.refutations


def test_violation_of_the_contract_ends_the_run() -> None:
    """A returned id outside the vocabulary is a contract failure, not a count."""

    class Outside:
        @staticmethod
        def verify(drafts: Drafts, generator: Any, carry: Any = None) -> Outcome:  # noqa: ARG004
            outcome = standard.verify(drafts, generator)
            return Outcome(torch.where(outcome.tokens == 2, 3, outcome.tokens), outcome.accepted)

    sample = observe_sampled(subject_of_verifier(Outside, name="outside"), SMALL, plan(1000))
    assert contract.judge_counts(sample).reason == "an emitted id lies outside the vocabulary"


def test_too_few_draws_are_undecided() -> None:
    """A deadline that has passed leaves the verdict open, with the number of draws that were made."""
    sample = observe_sampled(FAST, SMALL, plan(100_000), deadline=0.0)
    found = lossless.judge_counts(sample)
    assert found.verdict is Verdict.UNDECIDED
    assert found.reason == "stopped after 256 of 100,000 planned draws"


def test_draws_repeat_for_the_same_seed_and_leave_the_global_generator_alone() -> None:
    """Fixed seeds give the same counts; the caller's generator is put back."""
    before = torch.random.get_rng_state()
    first, second, other = (observe_sampled(FAST, SMALL, plan(5000, seed)).counts.text for seed in (1, 1, 2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
    assert torch.equal(before, torch.random.get_rng_state())


def test_carried_state_comes_back_with_its_request() -> None:
    """A subject that carries state is called again with what it returned, over all iterations."""

    class Counting:
        seen: list[Any] = []

        @classmethod
        def verify(cls, drafts: Drafts, generator: Any, carry: Any = None) -> Outcome:
            cls.seen.append(carry)
            outcome = standard.verify(drafts, generator)
            return Outcome(outcome.tokens, outcome.accepted, outcome.path, (carry or 0) + 1)

    case = next(case for case in sampled_cases() if case.iterated)
    sample = observe_sampled(subject_of_verifier(Counting, name="counting"), case, plan(256))
    assert sample.text.refutations == []
    assert Counting.seen[:3] == [None, 1, 2]
