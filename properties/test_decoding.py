"""Decoders: a right loop holds on every case, what it does not report is inferred or does not apply, bad answers are named."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from specproof.fast.decoder import DECODER_CAPABILITIES, Decoded, Model, Round
from specproof.fast.sampling import Sampling
from specproof.properties.check import CheckResult
from specproof.properties.decoder_cases import DecoderCase, decoder_cases
from specproof.properties.decoder_runs import probe, row_of
from specproof.properties.decoding import decoder_checks
from specproof.properties.mutants.loop import Loop
from specproof.properties.mutants.loops import at_double_temperature, most_likely
from specproof.properties.plan import Plan
from specproof.properties.subject import subject_of_decoder
from specproof.properties.verdict import Undecided, Verdict

SHORT = ("reversed", "greedy", "stop")
Rows = list[Tensor]


class TokensOnly(Loop):
    """A loop that reports no rounds."""

    def decode(
        self, target: Model, draft: Model, prefix: Tensor, tokens: int, generator: torch.Generator, sampling: Sampling
    ) -> Any:
        """Return the tokens alone. Rows are asked for anew, so that every call is seen."""
        self.known.clear()
        return super().decode(target, draft, prefix, tokens, generator, sampling).tokens


class DeclaresDrafts(TokensOnly):
    """Reports no rounds, and says what law its drafts have."""

    def draft_law(self, sampling: Sampling, text: Tensor, logits: Tensor) -> Tensor:
        """The request's own row."""
        return sampling.row(text, logits)


def judged(decoder: Any, names: Sequence[str] = SHORT, evidence: str = "probed") -> dict[str, CheckResult]:
    """Results by ``property[case]``."""
    checks = decoder_checks(subject_of_decoder(decoder, name="decoder"), Plan(evidence))  # type: ignore[arg-type]
    return {f"{check.property}.{check.claim}[{check.case}]": check.run() for check in checks if check.case in names}


def verdicts(results: dict[str, CheckResult], name: str) -> set[Verdict]:
    """Verdicts of a property."""
    return {result.verdict for result in results.values() if result.property == name}


@pytest.mark.parametrize("decoder", [Loop(length=1), Loop(length=1, draft_row=at_double_temperature)])
def test_a_right_loop_holds(decoder: Loop) -> None:
    """Its text to 2e-6 and its rows to 1e-5, also where its drafts are at another temperature that it declares."""
    results = judged(decoder, (*SHORT, "penalties", "grammar"))
    assert {result.verdict for result in results.values()} == {Verdict.HELD}
    assert {result.property for result in results.values()} == {
        "contract", "support", "lossless", "stopping", "rows", "drafting", "adaptive"
    }  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_a_right_loop_holds_on_every_case(length: int) -> None:
    """Any draft length, also none; quick battery at alpha 1e-6."""
    every = [case.name for case in decoder_cases(length)]
    results = judged(Loop(length=length), every, "quick")
    allowed = {Verdict.HELD} | ({Verdict.UNDECIDED} if length == 0 else set())
    assert {result.verdict for result in results.values()} <= allowed


def test_counting_holds_for_a_right_loop() -> None:
    """2,048 texts of 16 cells at alpha 5e-7 in each of two cases; would find TV of .16."""
    results = judged(Loop(length=1), ("plain V2",), "sampled")
    assert {result.verdict for result in results.values()} == {Verdict.HELD}


def test_counting_convicts_wrong_drafts() -> None:
    """Greedy drafts are impossible under no declared row here, and refuted by their e-process."""
    results = judged(Loop(length=1, pick=most_likely), ("plain V2",), "sampled")
    assert verdicts(results, "drafting") == {Verdict.FAILED}


def test_without_rounds_the_text_is_judged_and_the_rest_does_not_apply() -> None:
    """Drafts are seen by what the models are asked, and have no declared law; rows are not seen."""
    results = judged(TokensOnly(length=1), ("reversed", "stop"))
    assert verdicts(results, "lossless") == {Verdict.HELD}
    assert verdicts(results, "rows") == verdicts(results, "drafting") == {Verdict.NOT_APPLICABLE}


def test_inferred_drafts_are_judged_by_the_row_that_the_decoder_declares() -> None:
    """Right drafts hold, greedy ones are convicted, from the order of the models' calls alone."""
    assert verdicts(judged(DeclaresDrafts(length=1), ("reversed",)), "drafting") == {Verdict.HELD}
    wrong = judged(DeclaresDrafts(length=1, pick=most_likely), ("reversed",))
    assert verdicts(wrong, "drafting") == {Verdict.FAILED}


def test_verified_length_may_depend_on_rows_and_earlier_drafts() -> None:
    """Stopping where the draft row is flat, or one position after a token, moves nothing at the position itself."""

    def by_row(drafts: tuple[int, ...], rows: Rows) -> int:
        return next((i for i, row in enumerate(rows) if float(row.max()) < 0.45), len(rows))

    def after_token(drafts: tuple[int, ...], rows: Rows) -> int:
        return next((i for i in range(1, len(rows)) if drafts[i - 1] == 0), len(rows))

    for verified in (by_row, after_token):
        results = judged(Loop(verified=verified), ("reversed", "end of text"))
        assert {result.verdict for result in results.values()} == {Verdict.HELD}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([], "fewer tokens than asked for"),
        ([7], "an id outside the vocabulary"),
        (torch.tensor([[0, 1]]), "new tokens must be one row of integers"),
        (Decoded([0], [Round((0,), (1,), torch.ones(1, 3) / 3, torch.ones(2, 3) / 3, 2)]), "accepted 2 of 1"),
        (Decoded([0], [Round((0,), (1,), torch.ones(2, 3) / 3, torch.ones(2, 3) / 3, 0)]), "a draft row for each"),
        (Decoded([0], [Round((0, 2), (1,), torch.ones(1, 3) / 3, torch.ones(2, 3) / 3, 0)]), "was not written"),
        (Decoded([0], [Round((0,), (1,), torch.ones(1, 3) / 3, torch.ones(2, 3) / 3, 1)]), "are not in the text"),
    ],
)
def test_answers_that_break_the_contract_are_named(answer: Any, message: str) -> None:
    """The clause is the reason, and the laws of such answers are not judged."""

    class Broken:
        def decode(self, *_: Any) -> Any:
            return answer

    results = judged(Broken(), ("reversed",))
    contract = results["contract.contract[reversed]"]
    assert contract.verdict is Verdict.FAILED
    assert message in contract.reason
    assert verdicts(results, "lossless") == {Verdict.UNDECIDED}


def test_a_changed_prefix_is_a_breach() -> None:
    """Inputs stay as they are."""

    class Changes:
        def decode(self, *given: Any) -> list[int]:
            given[2][0] = 1
            return [0]

    assert "changed its prefix" in judged(Changes(), ("reversed",))["contract.contract[reversed]"].reason


def test_decoders_that_raise_are_undecided() -> None:
    """The reason is theirs."""

    class Raises:
        def decode(self, *_: Any) -> None:
            raise RuntimeError("no kernel for this shape")

    results = judged(Raises(), ("reversed",))
    assert {result.verdict for result in results.values()} == {Verdict.UNDECIDED}
    assert "no kernel for this shape" in results["contract.contract[reversed]"].reason


def test_cases_that_need_more_than_a_decoder_takes_are_left_out() -> None:
    """One that takes no parameters is tried on plain sampling only; each capability of the contract opens a case."""
    asked: set[str] = set()
    for case in decoder_cases(2):
        asked |= case.sampling.needs
    assert asked == DECODER_CAPABILITIES.keys() - {"global_rng", "lossy_by_design"}
    plain = replace(Loop(), capabilities=frozenset())
    names = {check.case for check in decoder_checks(subject_of_decoder(plain, name="plain"), Plan("probed"))}
    assert names == {case.name for case in decoder_cases(2) if not case.sampling.needs}


def test_expected_texts_end_with_the_stop_and_have_all_the_mass() -> None:
    """Plain decoding: every text is as long as asked for, or ends with its only stop."""
    subject = subject_of_decoder(Loop(), name="loop")
    for case in decoder_cases(2):
        law = case.target_law(row_of(subject))
        assert sum(law.values()) == pytest.approx(1, abs=1e-5)
        assert all(case.complete(text) and case.cut(text) == text for text in law)


def test_hidden_randomness_is_undecided() -> None:
    """A generator made from the operating system's noise cannot be answered for."""

    class Hidden(Loop):
        def decode(self, *given: Any) -> Decoded:
            fresh = torch.Generator()
            fresh.seed()
            return super().decode(*given[:4], fresh, given[5])

    case: DecoderCase = next(case for case in decoder_cases(1) if case.name == "reversed")
    with pytest.raises(Undecided):
        probe(subject_of_decoder(Hidden(length=1), name="hidden"), case)


@pytest.mark.parametrize(
    ("decoder", "error", "message"),
    [
        (object(), TypeError, "has no decode"),
        (type("D", (), {"decode": print, "capabilities": {"tempreature"}})(), ValueError, "temperature"),
    ],
)
def test_what_is_no_decoder_is_refused(decoder: Any, error: type[Exception], message: str) -> None:
    """Missing method, unknown capability with the nearest one."""
    with pytest.raises(error, match=message):
        subject_of_decoder(decoder, name="x")
