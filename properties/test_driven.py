"""Driven evidence: the rules of the house decide as their reference, faults at the edges of the range are found."""

from typing import Any

import pytest
import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Outcome
from specproof.fast.from_function import from_function
from specproof.fast.verifiers import VERIFIERS, standard
from specproof.properties.cases import Case, one_step_cases
from specproof.properties.driven import judge_contract, judge_map, judge_support
from specproof.properties.evidence.driven import Driven, observe_driven, rounding_margin
from specproof.properties.subject import Subject, subject_of_verifier
from specproof.properties.verdict import Verdict

CASES = {case.name: case for case in one_step_cases()}
MAPPED = [
    "autoregressive", "block", "ensemble", "greedy_block", "k_seq", "recursive", "recursive_without_replacement",
    "sample_match", "staged_greedy", "standard",
]  # fmt: skip


class Own:
    """Standard verification on given or drawn numbers, its parts exchangeable."""

    rule = "standard"
    strict = True
    clamped = True
    kind = torch.float32
    mirrored = False

    def __init__(self, *, takes: bool, **parts: Any) -> None:
        self.capabilities = frozenset({"batch", "takes_uniforms"} if takes else {"batch"})
        vars(self).update(parts)

    def uniforms_wanted(self, drafts: Drafts) -> int:
        """One number a position, and one for the token."""
        return drafts.length + 1

    def verify(self, drafts: Drafts, generator: Any, carry: Any = None) -> Outcome:  # noqa: ARG002
        """Verify with single precision."""
        shape = drafts.batch, drafts.length + 1
        coins = generator if isinstance(generator, Tensor) else torch.rand(shape, generator=generator)
        coins = 1 - coins if self.mirrored else coins
        tokens, rows = drafts.tokens[:, 0], torch.arange(drafts.batch)
        target, draft = (probs[:, 0].to(self.kind).float() for probs in (drafts.target_probs, drafts.draft_rows()))
        ratio = (target[:, :-1] / draft).gather(-1, tokens[..., None]).squeeze(-1)
        passes = coins[:, :-1] < ratio if self.strict else coins[:, :-1] <= ratio
        accepted = passes.long().cumprod(-1).sum(-1)
        ended = (accepted < drafts.length)[:, None]
        left = target[rows, accepted] - torch.where(ended, draft[rows, accepted.clamp(max=drafts.length - 1)], 0)
        left = left.clamp(min=0)
        ends = (left / left.sum(-1, keepdim=True)).cumsum(-1)
        ends = ends if self.clamped else ends * (1 - 2.0**-23)
        final = torch.searchsorted(ends, coins[:, -1:].contiguous(), right=True).squeeze(-1)
        if self.clamped:
            final = torch.minimum(final, drafts.vocabulary - 1 - (left > 0).flip(-1).long().argmax(-1))
        return Outcome.of(drafts, torch.zeros_like(accepted), accepted, final)


def drive(verifier: Any, case: Case, calls: int = 1024) -> Driven:
    """Drive a verifier on a case."""
    return observe_driven(subject_of_verifier(verifier, name="own"), case, calls, seed=1)


@pytest.mark.parametrize("name", MAPPED)
def test_fast_rules_decide_as_the_reference(name: str) -> None:
    """The same numbers, 1,024 calls a case: no decision differs, at edges and ties neither (a TV of .7 % would show)."""
    subject: Subject = subject_of_verifier(VERIFIERS[name], name=name)
    chosen = ("rows by context", "impossible tokens", "zeros V4 L2", "context V2 L2", "zeros V4 L1")
    for case in one_step_cases(subject.drafting.drafts):
        if case.name in chosen and (subject.drafting.replacement or case.allows_distinct_drafts):
            seen = observe_driven(subject, case, 1024, seed=1)
            assert judge_map(seen).verdict is Verdict.HELD, judge_map(seen).reason
            assert seen.mismatches == []
            assert judge_contract(seen).verdict is Verdict.HELD
            assert name == "ensemble" or judge_support(seen).verdict is Verdict.HELD


def test_single_precision_is_explained() -> None:
    """Decisions made in float32 differ from float64 only within the margin, when they differ at all."""
    seen = drive(Own(takes=True), CASES["context V8 L1"], 8192)
    assert judge_map(seen).verdict is Verdict.HELD
    assert rounding_margin(8, 1) < 1e-5


@pytest.mark.parametrize("takes", [True, False])
def test_low_precision_is_not(takes: bool) -> None:
    """Probabilities in bfloat16 decide differently far from any threshold (8,192 calls, about 10 mismatches)."""
    found = judge_map(drive(Own(takes=takes, kind=torch.bfloat16), CASES["context V8 L1"], 8192))
    assert found.verdict is Verdict.FAILED
    assert "away from every threshold" in found.reason


def test_a_coin_of_zero_must_not_accept_what_is_impossible() -> None:
    """``coin <= ratio``: who takes its coins from the caller fails; who draws them reaches it once in 2^24: a note."""
    strict, lenient = (judge_support(drive(Own(takes=True, strict=s), CASES["disjoint"])) for s in (True, False))
    assert (strict.verdict, lenient.verdict) == (Verdict.HELD, Verdict.FAILED)
    assert "with the numbers (0," in lenient.reason
    own = judge_support(drive(Own(takes=False, strict=False), CASES["disjoint"]))
    assert own.verdict is Verdict.HELD
    assert "probability 1.2e-07" in own.notes[0]


def test_a_scan_must_not_fall_off_its_end() -> None:
    """A distribution function that ends a rounding below one answers the last number with an id that does not exist."""
    found = judge_contract(drive(Own(takes=True, clamped=False), CASES["reversed"]))
    assert found.verdict is Verdict.FAILED
    assert "an emitted id lies outside the vocabulary" in found.reason
    assert judge_contract(drive(Own(takes=True), CASES["reversed"])).verdict is Verdict.HELD


def test_another_map_is_not_judged_and_decides_nothing_by_itself() -> None:
    """Numbers used from above are as good; where nothing else was asked for, that is UNDECIDED."""
    seen = drive(Own(takes=True, mirrored=True), CASES["reversed"])
    assert judge_map(seen).verdict is Verdict.NOT_APPLICABLE
    assert judge_map(seen, alone=True).verdict is Verdict.UNDECIDED


def test_a_race_has_edges_and_no_map() -> None:
    """Exponentials at their extremes must not let an impossible token win."""

    def race(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
        noise = torch.empty(len(tokens), target.shape[-1]).exponential_(generator=generator)
        return torch.cat([(target[:, 0] / noise).argmax(-1)[:, None], tokens], 1), torch.zeros(len(tokens)).long()

    seen = drive(from_function(race, rule="autoregressive"), CASES["impossible tokens"])
    assert judge_map(seen).verdict is Verdict.NOT_APPLICABLE
    assert "race" in seen.reason
    assert seen.edge_calls > 0
    assert judge_support(seen).verdict is Verdict.HELD


def test_numbers_are_handed_as_such_to_who_takes_them() -> None:
    """A verifier that takes both is driven through its argument, as many numbers as it draws by itself."""
    assert drive(standard, CASES["coin"]).handed
    assert not drive(Own(takes=False), CASES["coin"]).handed
