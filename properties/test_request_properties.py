"""Batching, randomness, degenerate rows, precision and monotonicity: each convicts its mutants and acquits what is right."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Outcome, Randomness
from specproof.fast.from_function import from_function
from specproof.fast.verifiers import VERIFIERS, sample_match, standard
from specproof.properties.batching import batch_checks, judge_scripted
from specproof.properties.check import CheckResult
from specproof.properties.degenerate import degenerate_checks
from specproof.properties.evidence import rounding
from specproof.properties.evidence.arranged import compare_scripted, compare_with_seeds
from specproof.properties.evidence.together import observe_together
from specproof.properties.monotonicity import monotone_checks
from specproof.properties.mutants import MUTANTS, batched, degenerate_rows, mutant, precision_faults, random_streams
from specproof.properties.mutants.batched import Faulty, neighbours_draft_row, one_in_4096
from specproof.properties.plan import Plan
from specproof.properties.precision import precision_checks
from specproof.properties.randomness import randomness_checks
from specproof.properties.subject import Subject, subject_of_rule, subject_of_verifier
from specproof.properties.verdict import Verdict
from specproof.reference.verifiers import rule

FAMILIES = {
    "batching": batch_checks,
    "randomness": randomness_checks,
    "degenerate": degenerate_checks,
    "precision": precision_checks,
    "monotonicity": monotone_checks,
}
OURS = {**batched.MUTANTS, **random_streams.MUTANTS, **degenerate_rows.MUTANTS, **precision_faults.MUTANTS}
SLOW = {"claims_monotone", "coarse_noise", "shared_noise"}  # seconds each
NAMED = [name for name, given in OURS.items() if given.property in FAMILIES]
HOST = {"batch", "one_hot_draft"}


def results(name: str, subject: Subject, evidence: str) -> list[CheckResult]:
    """What one family says of a subject, up to its first conviction."""
    found = []
    for check in FAMILIES[name](subject, Plan(evidence)):  # type: ignore[arg-type]
        found.append(check.run())
        if found[-1].verdict is Verdict.FAILED:
            break
    return found


def convicted(name: str) -> None:
    """Assert that the property that a mutant names convicts it of the claim that it names."""
    given = MUTANTS[name]
    assert given.evidence is not None
    last = results(given.property, mutant(name), given.evidence)[-1]
    assert (last.verdict, last.claim) == (Verdict.FAILED, given.violates), last


@pytest.mark.parametrize("name", [name for name in NAMED if name not in SLOW])
def test_mutants_are_convicted_by_the_property_they_name(name: str) -> None:
    """Batches, streams, spoiled rows and rounding: sampled ones at a false-alarm rate below 1e-7 each, all far beyond it."""
    convicted(name)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(SLOW))
def test_slow_mutants_are_convicted_by_the_property_they_name(name: str) -> None:
    """Noise shared with the drafter has TV 0.027 and takes most of 32,768 draws at a false-alarm rate of 1.3e-8."""
    convicted(name)


@pytest.mark.parametrize("family", ["batching", pytest.param("randomness", marks=pytest.mark.nightly), "degenerate"])
def test_the_standard_rule_is_acquitted(family: str) -> None:
    """Everything applies and holds; the sampled checks at a false-alarm rate of 1e-7 in all."""
    for evidence in ("driven", "sampled"):
        found = results(family, subject_of_verifier(standard, name="fast:standard"), evidence)
        assert {result.verdict for result in found} <= {Verdict.HELD}, found


@pytest.mark.parametrize("name", ["block", "sample_match", "k_seq", "recursive_without_replacement"])
def test_verifiers_answer_alike_in_every_batch(name: str) -> None:
    """One seed a request: sizes 1 to 257, permuted, repeated, padded, with shared seeds and without draft rows."""
    found = compare_with_seeds(subject_of_verifier(VERIFIERS[name], name=name), 40, 3)
    assert found is not None
    assert (found.difference, found.rounded, found.unattributed) == (None, 0, [])
    assert found.compared > 900


@pytest.mark.nightly
def test_scripted_draws_find_what_seeds_find() -> None:
    """A neighbour's row shows as another law of the request in its batch, with no seeds taken."""
    faulty = subject_of_verifier(Faulty(reads=neighbours_draft_row, capabilities=frozenset(HOST)), name="x")
    found = compare_scripted(faulty, 67, 0)
    assert found.difference is not None
    assert found.difference.distance is not None
    assert found.difference.distance > 0.05
    right = subject_of_verifier(Faulty(capabilities=frozenset(HOST)), name="y")
    assert compare_scripted(right, 67, 0).difference is None


class OneAfterTheOther:
    """Verifies request after request; ``draws`` says how uniforms reach them."""

    capabilities = frozenset({"batch"})

    def __init__(self, *, shared: bool = False, backwards: bool = False) -> None:
        self._shared = shared
        self._backwards = backwards

    def verify(self, drafts: Drafts, generator: Randomness, carry: object = None) -> Outcome:  # noqa: ARG002
        """Draw for one request after the other, from the last to the first, or once for all."""
        assert isinstance(generator, torch.Generator)
        count, size = drafts.batch, drafts.length + 1
        if self._shared:
            uniforms = torch.rand(size, dtype=torch.float64, generator=generator).expand(count, -1).contiguous()
        else:
            uniforms = torch.stack([torch.rand(size, dtype=torch.float64, generator=generator) for _ in range(count)])
            uniforms = uniforms.flip(0) if self._backwards else uniforms
        return standard.verify(drafts, uniforms)


@pytest.mark.nightly
def test_requests_in_turn_are_attributed() -> None:
    """A loop over the requests draws in their order: every answer is compared, none left out."""
    found = compare_scripted(subject_of_verifier(OneAfterTheOther(), name="x"), 67, 0)
    assert (found.difference, found.unattributed) == (None, [])


@pytest.mark.nightly
def test_unattributed_draws_are_judged_by_the_law_of_two_requests() -> None:
    """Who draws for the last request first is right, and who draws once for all is not; neither can be attributed."""
    right = judge_scripted(observe_together(subject_of_verifier(OneAfterTheOther(backwards=True), name="x"), 0))
    wrong = judge_scripted(observe_together(subject_of_verifier(OneAfterTheOther(shared=True), name="x"), 0))
    assert (right.verdict, wrong.verdict) == (Verdict.HELD, Verdict.FAILED)
    assert wrong.evidence.total_variation is not None
    assert wrong.evidence.total_variation > 0.1


@pytest.mark.nightly
def test_one_wrong_request_in_4096_is_convicted_at_the_planned_size() -> None:
    """The nightly battery counts each of 4,096 requests 1,024 times (false alarms below 4e-8).

    It also compares all of them alone, one answer each: a single wrong row often gives the right answer there.
    """
    subject = subject_of_verifier(one_in_4096(), name="x")
    check = list(batch_checks(subject, Plan("nightly")))[-1]
    assert check.kind == "sampled"
    result = check.run()
    assert result.verdict is Verdict.FAILED
    assert "4095" in result.reason


def test_one_request_at_a_time_has_no_batches() -> None:
    """What a subject does not take is not asked of it."""
    single = from_function(lambda *_: None, batch=False)  # type: ignore[arg-type, return-value]
    assert not list(batch_checks(subject_of_verifier(single, name="x"), Plan("quick")))


def test_the_global_generator_is_worth_a_note() -> None:
    """A subject that is handed a generator and draws elsewhere is not convicted for it, unless it promises seeds."""
    elsewhere = Faulty(draws=lambda _drafts, _source: None, capabilities=frozenset(HOST))
    (result,) = results("randomness", subject_of_verifier(elsewhere, name="x"), "driven")
    assert result.verdict is Verdict.NOT_APPLICABLE
    assert "declare global_rng" in result.notes[0]


@pytest.mark.parametrize("name", ["block", "sample_match", "typical", "ensemble"])
def test_spoiled_rows_get_a_documented_answer(name: str) -> None:
    """Whatever the rule, lossy by design or not: errors, or answers within the rules."""
    found = results("degenerate", subject_of_verifier(VERIFIERS[name], name=name), "driven")
    assert {result.verdict for result in found} == {Verdict.HELD}, [r for r in found if r.verdict is not Verdict.HELD]


def test_a_negative_draft_row_is_outside_the_contract() -> None:
    """An id that the target rules out is a note there, not a failure."""
    found = results("degenerate", subject_of_verifier(standard, name="x"), "driven")
    notes = [note for result in found for note in result.notes]
    assert [note for note in notes if note.startswith("negative draft row: outside the contract")]


@pytest.mark.parametrize("name", ["block", "k_seq", "sample_match"])
def test_rounding_of_what_is_right_is_explained(name: str) -> None:
    """Long blocks, and rows in single precision and bfloat16 against double."""
    found = results("precision", subject_of_verifier(VERIFIERS[name], name=name), "driven")
    assert {result.verdict for result in found} == {Verdict.HELD}


def test_a_race_that_decides_only_after_a_rejection_keeps_its_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines race for the correction and leave the bonus to a choice: the race is idle after most coins, and nothing is lost.

    Two tail tokens of 2^-24 each: both come out as the correction (after a coin of 2^-23) and as the bonus.
    """
    mass = Fraction(2, 2**24)
    case = rounding._case("tail", (1 - mass, *(mass / 2,) * 2), (Fraction(1), Fraction(0), Fraction(0)), "")
    for name, value in (("TAIL", 2), ("TAIL_MASS", mass), ("TAILED", case)):
        monkeypatch.setattr(rounding, name, value)

    def verify(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
        coins = torch.rand(tokens.shape, dtype=torch.float64, generator=generator)
        ratio = (target[:, :-1] / draft).gather(-1, tokens[..., None])[..., 0]
        accepted = (coins < ratio).int().cumprod(-1).sum(-1)
        noise = torch.empty(len(tokens), target.shape[-1]).exponential_(generator=generator)
        bonus = torch.multinomial(target[:, -1], 1, generator=generator)
        correction = ((target[:, 0] - draft[:, 0]).clamp(min=0) / noise).argmax(-1, keepdim=True)
        final = torch.where(accepted[:, None] == 1, bonus, correction)
        return torch.cat([tokens, tokens], dim=-1).scatter(1, accepted[:, None], final), accepted

    reached, _ = rounding.observe_tail(subject_of_verifier(from_function(verify), name="race after rejection"))
    assert reached == pytest.approx(2 * float(mass), rel=0.05)


@pytest.mark.parametrize("name", ["recursive", "transport", "traversal"])
def test_rules_that_are_monotone_hold(name: str) -> None:
    """Exact means from one draft on never fall."""
    found = results("monotonicity", subject_of_rule(rule(name), name=name, version="1", drafts=2), "exact")
    assert {result.verdict for result in found} == {Verdict.HELD}


def test_a_fall_is_a_note_unless_the_subject_declares_that_there_is_none() -> None:
    """K-SEQ loses by its rounded discount: said, but not held against it."""
    found = results("monotonicity", subject_of_rule(rule("k_seq"), name="k_seq", version="1", drafts=2), "exact")
    (fall,) = [result for result in found if result.verdict is not Verdict.HELD]
    assert fall.verdict is Verdict.NOT_APPLICABLE
    assert fall.notes == [f"not monotone in the number of drafts: certain draft: {fall.reason.split(';')[0]}"]


@pytest.mark.nightly
def test_the_alpha_of_these_checks_is_a_tenth_of_the_run() -> None:
    """The ledger of batching and randomness together stays within a tenth, and says who spent what."""
    subject = replace(subject_of_verifier(standard, name="x"), verifier=sample_match)  # quick to draw
    plan = Plan("sampled")
    checks = [*batch_checks(subject, plan), *randomness_checks(subject, plan)]
    spent = [check.run().evidence.alpha for check in checks]
    assert None not in spent
    assert sum(alpha or 0.0 for alpha in spent) == pytest.approx(plan.alpha / 10)
