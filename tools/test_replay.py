"""``specproof replay``, the line that calls it, and the counterexample of a certificate."""

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from specproof.certification import certify
from specproof.cli import main
from specproof.properties.cases import generated, one_step_cases
from specproof.properties.decoder_cases import decoder_cases
from specproof.properties.decoding import decoder_laws
from specproof.properties.mutants import mutant
from specproof.properties.shrink import Limits, Shrunk
from specproof.properties.subject import Subject
from specproof.properties.suite import counts_on, laws_on
from specproof.properties.verdict import Verdict
from specproof.replay import COUNTED, replayed
from specproof.reproduction import line
from specproof.shrinking import with_smallest
from specproof.subjects import resolve

CASES = {case.name: case for case in one_step_cases()}
STARTS = {
    "mutant:resample_from_target": "reversed",
    "mutant:subtract_drafted_only": "reversed",
    "mutant:softmax_residual": "impossible tokens",
    "mutant:stale_bonus": "impossible tokens",
    "mutant:squared_ratio": "coin",
    "mutant:match_or_coin": "reversed",
    "mutant:most_likely_draft": "context V4 L2",
    "mutant:greedy_block_without_carry": "rows by context",
    "reference:ensemble": "context V3 L2",
}


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code."""
    sys.argv = ["specproof", *arguments]
    with pytest.raises(SystemExit) as exit_:
        main()
    return int(exit_.value.code or 0)


def certified(subject: Subject, case: Any, **keywords: Any) -> list[Any]:
    """All laws of a subject on one case, judged, with the smallest counterexample looked for."""
    planned = list(laws_on(subject, case))
    results = [check.run() for check in planned]
    return with_smallest(subject, planned, results, [check.gather for check in planned], **keywords)


def floats(law: Mapping[str, str]) -> dict[str, float]:
    """A law as it is written, in numbers."""
    return {text: float(eval(mass)) for text, mass in law.items()}  # noqa: S307 - a fraction written by ourselves


@pytest.mark.parametrize("name", STARTS)
def test_the_line_of_a_counterexample_shows_it_again(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Typed as printed it exits 1 with the same laws, on at most three tokens with single-digit denominators."""
    subject = resolve(name, {"weight": 0.5} if name == "reference:ensemble" else {})
    shown = next(
        r.counterexample
        for r in certified(subject, CASES[STARTS[name]])
        if r.counterexample and r.counterexample.replay
    )
    assert shown is not None
    assert shown.vocabulary <= 3
    assert all(
        len(entry.partition("/")[2]) <= 1 for row in [*shown.target.values(), *shown.draft.values()] for entry in row
    )
    words = shlex.split(str(shown.replay))
    assert words[:2] == ["specproof", "replay"]
    assert run([*words[1:], "--json", "-"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["verdict"] == "FAILED"
    laws = [data["laws"], *(check["counterexample"] for check in data["checks"] if check["counterexample"])]
    assert any(floats(law["observed"]) == pytest.approx(floats(shown.observed), abs=1e-5) for law in laws)
    assert any(floats(law["expected"]) == pytest.approx(floats(shown.expected), abs=1e-5) for law in laws)


def test_what_can_only_be_counted_is_counted_again() -> None:
    """Texts on the instance, at a false-alarm rate of 1e-6: the residual that is left out is off by .15 there and is found."""
    counted = mutant("resample_from_target")
    hidden = replace(counted, capabilities=counted.capabilities | {"hidden_randomness"})
    planned = list(counts_on(hidden, CASES["reversed"], COUNTED))
    results = with_smallest(hidden, planned, [check.run() for check in planned], [check.gather for check in planned])
    (shown,) = [r.counterexample for r in results if r.counterexample is not None]
    assert shown.replay == line(hidden, CASES["reversed"])
    found = replayed(hidden, CASES["reversed"])
    assert found.verdict is Verdict.FAILED
    assert found.shown is not None
    assert {result.evidence.kind for result in found.results} == {"sampled"}


def test_a_decoder_is_shown_again_with_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    """The line says how its text is sampled; without that the same decoder holds there, and no verifier takes it."""
    wrong = mutant("temperature_forgotten")
    (case,) = [case for case in decoder_cases(2) if case.name == "hot"]
    planned = list(decoder_laws(wrong, case))
    results = with_smallest(wrong, planned, [check.run() for check in planned], [check.gather for check in planned])
    shown = next(r.counterexample for r in results if r.claim == "iterations")
    assert shown is not None
    words = shlex.split(str(shown.replay))[1:]
    assert words[-2:] == ["--sampling", "temperature=2.0"]
    assert run([*words, "--json", "-"]) == 1
    checks = json.loads(capsys.readouterr().out)["checks"]
    (again,) = [check["counterexample"] for check in checks if check["claim"] == "iterations"]
    assert floats(again["observed"]) == pytest.approx(floats(shown.observed), abs=1e-5)
    assert run(words[:-2]) == 0
    assert run(["replay", "fast:standard", *words[2:]]) == 64
    assert "only a decoder samples with parameters" in capsys.readouterr().err


def test_what_holds_exits_0_and_shows_both_laws(capsys: pytest.CaptureFixture[str]) -> None:
    """The fixed subject on the instance of a fault."""
    assert run(["replay", "fast:standard", "--target", "1/2 1/2", "--draft", "1 0"]) == 0
    printed = capsys.readouterr().out
    assert "HELD" in printed
    assert "should be" in printed


def test_sizes_and_options_are_part_of_the_line() -> None:
    """Drafts, tokens over iterations and the subject's options come back as they were."""
    subject = resolve("reference:recursive", {"drafts": 2})
    case = generated("iterations", 2, 1, "", seed=22, tokens=3, drafts=2)
    words = shlex.split(line(subject, case))
    assert words[-6:] == ["--drafts", "2", "--tokens", "3", "--option", "drafts=2"]
    assert run(words[1:]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fast:standard", "--target", "1/2 1/2"], "give --target and --draft"),
        (
            ["fast:standard", "--target", "1/2 1/2", "--draft", "1 0", "--drafts", "2"],
            "takes 1 draft(s), the instance has 2",
        ),
        (["fast:standrad", "--target", "1/2 1/2", "--draft", "1 0"], "Did you mean 'standard'?"),
        (["fast:standard", "--target", "1/2 1/3", "--draft", "1 0"], "sum to 5/6"),
    ],
)
def test_usage_errors_exit_64(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What was given and what is allowed."""
    assert run(["replay", *arguments]) == 64
    assert message in capsys.readouterr().err


def test_the_search_never_changes_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts, reasons and numbers stay, also when the search crashes; then the check says so."""
    subject, case = mutant("lenient"), CASES["coin"]
    plain = [check.run() for check in laws_on(subject, case)]
    found = certified(subject, case)
    assert [(r.id, r.verdict, r.reason, r.evidence) for r in found] == [
        (r.id, r.verdict, r.reason, r.evidence) for r in plain
    ]

    def crash(*_: Any, **__: Any) -> Shrunk:
        raise ZeroDivisionError("somebody else's")

    monkeypatch.setattr("specproof.shrinking.shrink", crash)
    crashed = certified(subject, case)
    assert [r.verdict for r in crashed] == [r.verdict for r in plain]
    assert [r.counterexample for r in crashed] == [r.counterexample for r in plain]
    assert any("ended with ZeroDivisionError: somebody else's" in note for r in crashed for note in r.notes)


def test_no_time_leaves_the_counterexample_and_says_how_to_replay_it() -> None:
    """Without a second to spend nothing smaller is looked for; the command shows the case as it is."""
    plain = [check.run() for check in laws_on(mutant("lenient"), CASES["coin"])]
    found = certified(mutant("lenient"), CASES["coin"], limits=Limits(seconds=0))
    (shown,) = (r.counterexample for r in found if r.counterexample is not None and r.counterexample.replay)
    assert shown.replay == "specproof replay mutant:lenient --target '1/2 1/2' --draft '4/5 1/5' --length 1"
    assert [replace(r, counterexample=None) for r in found] == [replace(r, counterexample=None) for r in plain]


def test_counts_alone_are_followed_up_by_laws() -> None:
    """Where only counting was asked for and refutes, a small law is looked for, and named."""
    certificate = certify(mutant("always_accept"), evidence="sampled")
    assert certificate.verdict is Verdict.FAILED
    shown = certificate.counterexample
    assert shown is not None
    assert (shown.vocabulary, shown.length) == (2, 1)
    assert "every draft accepted" in str(shown.fault)


def test_a_subject_that_holds_is_left_alone() -> None:
    """No failure, no search."""
    results = certified(resolve("fast:standard"), CASES["coin"])
    assert {r.verdict for r in results} == {Verdict.HELD}
    assert all(r.counterexample is None for r in results)
