"""A certification that is killed loses nothing that was finished: the next run goes on from its journal."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from specproof.journal import Journal, opened, state_folder
from specproof.kept import KeptReason
from specproof.properties.check import CheckResult, Evidence
from specproof.properties.plan import Plan
from specproof.properties.subject import Subject
from specproof.properties.verdict import Verdict
from specproof.test_cli import run

# Guesses: refuted after some hundred draws. The first chunk of its case of eight tokens hangs where told to.
THEIRS = """
import os
import time

import torch


def verify(draft_tokens, draft_probs, target_probs, generator):
    rows, vocabulary = len(target_probs), target_probs.shape[-1]
    with open("calls", "a") as calls:
        calls.write(f"{rows}x{vocabulary} ")
    if "HANG" in os.environ and (rows, vocabulary) == (256, 8):
        open("hanging", "w").close()
        time.sleep(600)
    first = torch.randint(vocabulary, (rows, 1), generator=generator)
    return torch.cat([first, torch.full_like(draft_tokens, -1)], dim=-1), torch.zeros(rows, dtype=torch.int64)
"""
SUBJECT = Subject("theirs:verify", "verifier", "1")
PLAN = Plan("sampled", 3)


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state folder of the test's own, and their module where the command runs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "theirs.py").write_text(THEIRS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "theirs", raising=False)


def judged(path: Path) -> tuple[Any, ...]:
    """What a certificate says and what it keeps: all but times, and the search for a smaller counterexample."""
    data = json.loads(path.read_text())
    checks = {check["id"]: (check["verdict"], check["evidence"]) for check in data["checks"]}
    return data["verdict"], data["claims"], data["counts"], checks, data["kept"]


def test_a_killed_run_is_resumed_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SIGKILL in the middle of a case: the next run gathers nothing again that was finished, and finds the same."""
    command = [sys.executable, "-m", "specproof.cli", "certify", "theirs:verify", "--evidence", "sampled"]
    with subprocess.Popen(command, env={**os.environ, "HANG": "1"}, stderr=subprocess.DEVNULL) as killed:
        for _ in range(3000):
            if Path("hanging").exists():
                break
            assert killed.poll() is None
            time.sleep(0.1)
        os.kill(killed.pid, signal.SIGKILL)
    assert len(list(state_folder().glob("*.jsonl"))) == 1
    Path("calls").write_text("")
    certify = ["certify", "theirs:verify", "--evidence", "sampled", "--json"]
    assert run(*certify, "resumed.json") == 1
    assert re.search(r"resumed: \d+ checks from a run begun 20", capsys.readouterr().out)
    calls = Path("calls").read_text().split()
    assert "256x8" in calls
    assert "256x4" not in calls
    data = json.loads(Path("resumed.json").read_text())
    ids = [check["id"] for check in data["checks"]]
    assert data["resumed"]["checks"] == ids.index("contract.contract[sampled:counts_V8_L2]") >= 6
    assert list(state_folder().iterdir()) == []
    assert run(*certify, "whole.json") == 1
    assert json.loads(Path("whole.json").read_text())["resumed"] is None
    assert "256x4" in Path("calls").read_text().split()
    assert judged(Path("resumed.json")) == judged(Path("whole.json"))


def result(name: str) -> CheckResult:
    """A result with numbers that JSON has no word for."""
    evidence = Evidence("sampled", total_variation=float("nan"), counts=[1, 2], log_e_path=[(256, 0.5)])
    return CheckResult(name, "lossless", "block", "coin", Verdict.HELD, "it does", evidence)


def stop_after(write: Callable[[Journal], None], subject: Subject = SUBJECT, plan: Plan = PLAN) -> None:
    """A run that is stopped after it wrote something."""
    with suppress(KeyboardInterrupt), opened(subject, plan) as journal:
        write(journal)
        raise KeyboardInterrupt


def stopped(subject: Subject = SUBJECT, plan: Plan = PLAN) -> Path:
    """The journal of a run that was stopped after two results and one piece of evidence."""

    def write(journal: Journal) -> None:
        journal.add_evidence("sampled:coin", KeptReason(case="coin", reason="it raised"))
        journal.add_result(result("first"))
        journal.add_result(result("second"))

    stop_after(write, subject, plan)
    (path,) = state_folder().iterdir()
    return path


def reopened(subject: Subject = SUBJECT, plan: Plan = PLAN, *, fresh: bool = False) -> Journal:
    """What the next run of a certification finds."""
    with opened(subject, plan, fresh=fresh) as journal:
        return journal


def test_results_and_evidence_come_back() -> None:
    """In the order in which they were written, and gone after a run that ends."""
    stopped()
    found = reopened()
    assert list(found.results) == ["first", "second"]
    assert found.results["first"].verdict is Verdict.HELD
    assert found.results["first"].evidence.log_e_path == [(256, 0.5)]
    assert found.evidence == {"sampled:coin": KeptReason(case="coin", reason="it raised")}
    assert found.resumed == 2
    assert reopened().resumed == 0


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_last_line_that_was_cut_short_is_dropped(cut: int) -> None:
    """Cut at any byte: what stands before it is kept, and what is written next begins on a line of its own."""
    path = stopped()
    path.write_text(path.read_text()[:-cut])
    stop_after(lambda journal: journal.add_result(result("again")))
    assert list(reopened().results) == ["first", "again"]


@pytest.mark.parametrize("text", ["", "{", "[]\n", '{"begun": "x"}\n', "\n\n", '{"begun": "x", "identity": {}}\n'])
def test_a_journal_that_is_none_is_begun_anew(text: str) -> None:
    """Nothing of it is believed."""
    stopped().write_text(text)
    assert reopened().resumed == 0


def test_fresh_ignores_what_was_finished() -> None:
    """``--fresh`` begins anew."""
    stopped()
    assert reopened(fresh=True).resumed == 0


@pytest.mark.parametrize(
    ("subject", "plan"),
    [
        (Subject("theirs:verify", "verifier", "2"), PLAN),
        (Subject("theirs:other", "verifier", "1"), PLAN),
        (Subject("theirs:verify", "verifier", "1", options={"a": 1}), PLAN),
        (SUBJECT, Plan("sampled", 4)),
        (SUBJECT, Plan("quick", 3)),
        (SUBJECT, Plan("sampled", 3, seconds=1)),
    ],
)
def test_another_certification_has_a_journal_of_its_own(subject: Subject, plan: Plan) -> None:
    """Another version, name, option, seed, kind of evidence or time limit resumes nothing."""
    stopped()
    assert reopened(subject, plan).resumed == 0
    assert reopened().resumed == 2


def test_changed_source_is_another_certification(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function whose file was edited since is not the one that was measured."""
    sys.path.insert(0, str(Path.cwd()))
    from importlib import import_module

    subject = Subject("theirs:verify", "verifier", "1", verifier=import_module("theirs"))
    stopped(subject)
    Path("theirs.py").write_text(THEIRS + "\n# changed\n")
    assert reopened(subject).resumed == 0


def test_two_runs_at_once_do_not_share_a_journal() -> None:
    """The second keeps none; the first is not disturbed."""
    with opened(SUBJECT, PLAN) as first:
        first.add_result(result("first"))
        with opened(SUBJECT, PLAN) as second:
            assert second.resumed == 0
            second.add_result(result("other"))
        assert len(list(state_folder().iterdir())) == 1


def test_without_a_place_to_write_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state folder that cannot be made is no reason not to certify."""
    Path("taken").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(Path("taken").resolve()))
    assert reopened().resumed == 0
