"""Shrinking: small, simple, named, within its limits, and never anything but a failure."""

import time
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import Any

import pytest
import torch

from specproof.fast.batch import Outcome
from specproof.fast.verifiers import standard
from specproof.properties.cases import generated, iterated_cases, one_step_cases
from specproof.properties.mutants import mutant
from specproof.properties.mutants.chain import Chain, ratio
from specproof.properties.mutants.one_draft import MUTANTS
from specproof.properties.naming import named_subject
from specproof.properties.plan import Check
from specproof.properties.shrink import Limits, Shrunk, shrink
from specproof.properties.simplify import Instance, rows, simpler, sizes
from specproof.properties.subject import Subject, subject_of_rule, subject_of_verifier
from specproof.properties.suite import laws_on
from specproof.properties.verdict import Verdict
from specproof.reference.verifiers import Rule, rule

CASES = {case.name: case for case in one_step_cases() + iterated_cases()}
PATIENT = Limits(seconds=60, naming=60)  # on a busy machine the other limits must end the search


def failing(subject: Subject, claim: str, case: str) -> Check:
    """The check of a claim on a case; it must fail."""
    check = next(check for check in laws_on(subject, CASES[case]) if check.claim == claim)
    assert check.run().verdict is Verdict.FAILED
    return check


def shrunk(subject: Subject, claim: str, case: str) -> Shrunk:
    """The smallest instance found."""
    found = shrink(failing(subject, claim, case), subject, limits=PATIENT)
    assert found is not None
    assert found.result.verdict is Verdict.FAILED
    return found


def denominators(found: Shrunk) -> set[int]:
    """Denominators of all probabilities of an instance."""
    instance = Instance.of(found.case)
    return {share.denominator for table in (instance.target, instance.draft) for row in table.values() for share in row}


PROBED = {
    "resample_from_target": ("first token", "reversed"),
    "always_accept": ("support", "impossible tokens"),
    "accept_iff_larger": ("first token", "coin"),
    "subtract_drafted_only": ("first token", "reversed"),
    "softmax_residual": ("support", "impossible tokens"),
    "stale_bonus": ("support", "impossible tokens"),
    "squared_ratio": ("first token", "shared noise"),
    "lenient": ("first token", "reversed"),
    "reuse_accept_coin": ("first token", "two-way residual"),
    "one_coin": ("block", "rows by context"),
    "id_outside_vocabulary": ("contract", "reversed"),
}


@pytest.mark.parametrize("name", PROBED)
def test_probed_mutants_shrink_to_three_tokens_and_single_digits(name: str) -> None:
    """Run as torch code: at most three tokens, denominators below ten, both laws, and the name of the fault."""
    found = shrunk(mutant(name), *PROBED[name])
    assert found.complete
    assert found.case.vocabulary <= 3
    assert found.case.length <= 2
    assert max(denominators(found)) <= 9
    assert found.counterexample is not None
    assert found.counterexample.expected != found.counterexample.observed
    assert name in found.faults
    assert f"{MUTANTS[name].fault} (mutant:{name})" in str(found.counterexample.fault)


@pytest.mark.parametrize("case", ["context V4 L2", "context V2 L3", "zeros V4 L2", "context V8 L1"])
@pytest.mark.parametrize("name", ["resample_from_target", "subtract_drafted_only", "match_or_coin", "lenient"])
def test_large_cases_shrink_as_far(name: str, case: str) -> None:
    """From four tokens and two positions, or eight tokens, to the same few rows; enumerated."""
    subject = named_subject(name)
    assert subject is not None
    if name == "subtract_drafted_only" and case == "context V2 L3":
        pytest.skip("two tokens hide a wrong shape of the residual")
    found = shrunk(subject, "block", case)
    assert found.case.length == 1
    assert found.case.vocabulary == (3 if name == "subtract_drafted_only" else 2)
    assert max(denominators(found)) <= 3
    assert name in found.faults


def shy() -> Subject:
    """A fault that is in no table: accepts with nine tenths of the probability."""
    program = Chain(accept=lambda target, draft, token: Fraction(9, 10) * ratio(target, draft, token))
    return subject_of_rule(Rule("shy", program), name="shy", version="1")


def test_faults_without_a_name_are_shrunk_by_the_subject_itself() -> None:
    """The search then runs the subject, instance after instance, and names nothing."""
    found = shrunk(shy(), "block", "context V3 L2")
    assert (found.case.vocabulary, found.case.length, found.faults) == (2, 1, ())
    assert max(denominators(found)) <= 3
    assert found.instances > 5


def test_iterations_stay_iterations() -> None:
    """A fault that only later blocks show is shrunk over iterations, to the fewest tokens that show it."""
    subject = named_subject("greedy_block_without_carry")
    assert subject is not None
    found = shrunk(subject, "iterations", "iterations V2 L2")
    assert found.case.iterated
    assert max(denominators(found)) <= 3
    assert found.faults == ("greedy_block_without_carry",)


def test_drafts_are_taken_away_from_a_rule_for_any_number() -> None:
    """The published multi-draft rule fails with two drafts already."""
    published = rule("spectr_gbv_published")
    subject = subject_of_rule(published, name="reference:spectr_gbv_published", version="1", drafts=3)
    case = replace(generated("three drafts", 3, 1, "", seed=43), drafts=3)
    check = next(check for check in laws_on(subject, case) if check.claim == "block")
    found = shrink(check, subject, limits=PATIENT)
    assert found is not None
    assert (found.case.drafts, found.case.vocabulary, found.case.length) == (2, 2, 1)
    assert found.subject.drafting.drafts == 2
    assert max(denominators(found)) <= 4


def test_the_number_of_drafts_of_a_verifier_is_its_own() -> None:
    """A verifier is never handed fewer drafts than it declares, unless it can be made for fewer."""

    class Last:
        """Fault: keeps the last draft unseen."""

        capabilities = frozenset({"batch", "drafts"})

        def __init__(self, drafts: int) -> None:
            self.drafting = replace(standard.drafting, drafts=drafts)

        def verify(self, drafts: Any, generator: Any, _carry: Any = None) -> Outcome:
            assert drafts.paths == self.drafting.drafts
            bonus = torch.multinomial(drafts.target_probs[:, -1, -1].double(), 1, generator=generator)
            accepted = torch.full((drafts.batch,), drafts.length)
            return Outcome(
                torch.cat([drafts.tokens[:, -1], bonus], -1), accepted, torch.full_like(accepted, drafts.paths - 1)
            )

    subject = subject_of_verifier(Last(2), name="last")
    case = replace(CASES["coin"], drafts=2)
    check = next(check for check in laws_on(subject, case) if check.claim == "first token")
    kept = shrink(check, subject, limits=PATIENT)
    fewer = shrink(check, subject, limits=PATIENT, fewer_drafts=lambda _, k: subject_of_verifier(Last(k), name="last"))
    assert kept is not None
    assert fewer is not None
    assert (kept.case.drafts, fewer.case.drafts) == (2, 1)


def test_the_search_is_repeatable() -> None:
    """The same check leads to the same instance after as many calls."""
    first, second = (shrunk(shy(), "block", "zeros V4 L2") for _ in range(2))
    assert first.counterexample == second.counterexample
    assert (first.calls, first.instances) == (second.calls, second.instances)


@pytest.mark.parametrize("limits", [Limits(instances=3), Limits(calls=600), Limits(seconds=0.5)])
def test_a_spent_search_returns_the_best_that_it_has(limits: Limits) -> None:
    """Cut short, it says so, keeps within what it was given, and what it returns still fails."""
    check, subject = failing(mutant("one_coin"), "block", "rows by context"), mutant("one_coin")
    started = time.monotonic()
    found = shrink(check, subject, limits=limits)
    assert (
        time.monotonic() - started <= 2 * (limits.seconds + limits.naming) + 2
    )  # the search, the last look, the names
    if found is not None:
        assert found.result.verdict is Verdict.FAILED
        assert not found.complete
        assert found.calls <= limits.calls
        assert found.instances <= limits.instances + 1


def test_a_slow_subject_is_interrupted_within_an_instance() -> None:
    """A tenth of a second a call: the guard on seconds ends the search in the middle of probing."""

    class Slow:
        def verify(self, drafts: Any, generator: Any, _carry: Any = None) -> Outcome:
            time.sleep(0.1)
            return standard.verify(drafts, generator)

    subject = subject_of_verifier(Slow(), name="slow")
    check = next(check for check in laws_on(subject, CASES["reversed"]) if check.claim == "first token")
    started = time.monotonic()
    assert shrink(check, subject, limits=Limits(seconds=0.5)) is None
    assert time.monotonic() - started <= 5


def test_what_does_not_fail_again_is_not_shrunk() -> None:
    """A check that holds gives nothing, nor does one that looks at no case."""
    subject = subject_of_rule(rule("standard"), name="standard", version="1")
    check = next(check for check in laws_on(subject, CASES["coin"]) if check.claim == "block")
    assert shrink(check, subject) is None
    assert shrink(replace(check, gather=lambda: None), subject) is None


def test_moves_make_valid_instances_and_simpler_rows_come_nearest_first() -> None:
    """Every move keeps rows that sum to one; a denominator is tried before larger ones."""
    start = Instance.of(CASES["zeros V8 L1"])
    for new in [*sizes(start, fewer_drafts=True), *islice(rows(start), 300)]:
        assert all(sum(row) == 1 for table in (new.target, new.draft) for row in table.values())
    row = (Fraction(5, 12), Fraction(4, 12), Fraction(3, 12))
    assert simpler(row)[0] == (1, 0, 0)
    assert simpler(row)[3] == (Fraction(1, 2), Fraction(1, 2), 0)
    assert (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)) in simpler(row)
