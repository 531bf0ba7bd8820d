"""The ledger: rows from certificates, one row's crash, resuming, and the three ways in which it is written."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import specproof
from specproof.integration.adapters import ADAPTERS
from specproof.integration.packages import PACKAGES
from specproof.integration.shelf import COMPLETE, Located, place
from specproof.ledger import lifeline
from specproof.ledger import run as running
from specproof.ledger.board import cells, render, to_html, to_json
from specproof.ledger.command import ledger
from specproof.ledger.entry import Entry, entry_of
from specproof.ledger.keep import entry_path, key_of, safe
from specproof.ledger.run import Settings, Skipped, Task, run, tasks
from specproof.output import report_console, write_file
from specproof.properties.verdict import Verdict
from specproof.subjects import resolve
from specproof.usage import UsageError

NAMES = ["flashspec", "dflash", "economize"]
PLANNED = [Task(name, Located(PACKAGES[name], "9", Path())) for name in NAMES]


def silent(*_: Any) -> None:
    """Progress that nobody looks at."""


def entry(name: str, settings: Settings, **values: Any) -> Entry:
    """An entry as a worker writes it."""
    key = key_of(name, "9", settings.evidence, settings.seed)
    return Entry(
        **{"name": name, "version": "9", "about": "", "verdict": Verdict.HELD, "checks": 5, "key": key, **values}
    )


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Workers that write their entry at once; dflash's crashes. Returns who was certified, in order."""
    asked: list[str] = []

    def worker(name: str, settings: Settings, listen: Any) -> str:
        asked.append(name)
        listen(name, 1, 5, "lossless.block[probed:coin]")
        if name == "dflash":
            return "the certification was ended by SIGSEGV: double free"
        write_file(entry_path(settings.folder, name), entry(name, settings).model_dump_json())
        return "the certification exited with 0: "

    monkeypatch.setattr(running, "_worked", worker)
    return asked


def test_one_crash_does_not_stop_the_rest(worked: list[str], tmp_path: Path) -> None:
    """A subject whose process dies is UNDECIDED with the reason; the others have their rows, in the order of the list."""
    entries = run(PLANNED, Settings(tmp_path, jobs=1), silent)
    assert [found.name for found in entries] == NAMES
    assert [found.verdict for found in entries] == [Verdict.HELD, Verdict.UNDECIDED, Verdict.HELD]
    assert entries[1].reason == "the certification was ended by SIGSEGV: double free"


def test_resume_certifies_only_what_is_not_finished(worked: list[str], tmp_path: Path) -> None:
    """Finished rows of the same suite, version and evidence are kept; failed ones, and others, are made again."""
    run(PLANNED, Settings(tmp_path, jobs=1), silent)
    worked.clear()
    told: list[tuple[Any, ...]] = []
    run(PLANNED, Settings(tmp_path, jobs=1, resume=True), lambda *words: told.append(words))
    assert worked == ["dflash"]
    assert ("flashspec", 5, 5, "kept from an earlier run") in told
    worked.clear()
    run(PLANNED, Settings(tmp_path, jobs=1, resume=True, seed=1), silent)
    assert worked == NAMES
    entry_path(tmp_path, "flashspec").write_text("{")
    worked.clear()
    run(PLANNED, Settings(tmp_path, jobs=1, resume=True, seed=1), silent)
    assert worked == ["flashspec", "dflash"]


def test_a_worker_that_dies_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real process: an unknown subject ends with an exit code and the last lines of its standard error."""
    monkeypatch.setenv("SPECPROOF_HOME", str(tmp_path))
    reason = running._worked("no-such-engine", Settings(tmp_path), silent)
    assert reason.startswith("the certification exited with 1: ")
    assert "no-such-engine" in reason
    assert "no certificate within 0.1 s" in running._worked("flashspec", Settings(tmp_path, limit=0.1), silent)


def test_missing_subjects_are_listed_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not installed is skipped, never a pass; every version on the shelf is a subject; unknown names are refused."""
    monkeypatch.setenv("SPECPROOF_HOME", str(tmp_path))
    for version in ("0.13.0", "0.18.0"):
        folder = place(PACKAGES["vllm-ascend"], version)
        folder.mkdir(parents=True)
        (folder / COMPLETE).touch()
    planned, skipped = tasks(["lmdeploy", "vllm-ascend:block"], "light")
    assert [task.name for task in planned] == ["vllm-ascend:block@0.18.0", "vllm-ascend:block@0.13.0"]
    assert skipped == [Skipped("lmdeploy", "not installed; get it with: specproof install lmdeploy")]
    everything = [*tasks([], "full")[0], *tasks([], "full")[1]]
    assert {found.name.partition("@")[0] for found in everything} == ADAPTERS.keys()
    with pytest.raises(ValueError, match="'lmdeploy'"):
        tasks(["lmdeplay"], "light")


def test_an_entry_sums_a_certificate_up() -> None:
    """Verdict, weakest claim, distance, acceptance beside its ceiling and the counterexample of a refuted rule."""
    certificate = specproof.certify(resolve("reference:typical"), evidence="exact")
    found = entry_of(certificate, "typical acceptance", 1.25, {})
    assert found.verdict is Verdict.FAILED
    assert found.weakest == certificate.weakest_violated
    assert found.reason
    assert found.counterexample
    assert " has probability " in found.counterexample
    assert found.total_variation is not None
    assert found.total_variation > 0.1
    assert not found.counted
    row = cells(found)
    assert row[0] == "reference:typical"
    assert row[2] == "FAILED"
    assert row[-1] == "1.25"


ROWS = [
    Entry(name="held", version="1", about="a", verdict=Verdict.HELD, total_variation=3e-8, accepted=1.1274, ceiling=1.2, anchor="context V3 L2"),
    Entry(name="<script>", version="2", about="<b>", verdict=Verdict.FAILED, weakest="block", reason="L < 3 & more",
          total_variation=0.3278, counterexample="text 0,1 has probability 1 instead of 1/2"),
    Entry(name="counted", version="3", about="c", verdict=Verdict.HELD, total_variation=0.01, counted=True, bound=0.024),
]  # fmt: skip


def test_text_json_and_page_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """Every row, every skip and the evidence in each; what comes from a subject is escaped in the page."""
    told = (ROWS, [Skipped("absent", "not installed")], "quick", 12.3)
    report_console(None).print(render(*told))
    text = capsys.readouterr().out
    for word in ("held", "3e-08", "0.9395", "0.33", "<= 0.024", "absent skipped: not installed", "evidence quick"):
        assert word in text, word
    data = json.loads(to_json(*told))
    assert [row["name"] for row in data["entries"]] == ["held", "<script>", "counted"]
    assert data["skipped"] == [{"name": "absent", "reason": "not installed"}]
    page = to_html(*told)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "L &lt; 3 &amp; more" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "2 held" in page
    assert "1 refuted" in page


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"group": "lite"}, "'light'"),
        ({"evidence": "quik"}, "'quick'"),
        ({"jobs": 0}, "--jobs"),
        ({"names": ["flaskspec"]}, "flashspec"),
    ],
)
def test_usage_mistakes_are_refused(given: dict[str, Any], reason: str) -> None:
    """Before anything is certified."""
    usual = {"names": None, "group": "light", "evidence": "quick", "seed": 0, "limit": 1.0, "jobs": 1, "resume": False}
    with pytest.raises(UsageError, match=reason):
        ledger(**{**usual, "folder": None, "json": None, "html": None, **given})


def test_names_become_file_names() -> None:
    """Nothing of a name can leave the folder."""
    assert safe("vllm-ascend:block@0.23.0") == "vllm-ascend-block@0.23.0"
    assert "/" not in safe("process:/bin/x ../y")


def test_a_worker_ends_with_the_run_that_started_it() -> None:
    """Killed outright, the run cannot end its workers; they notice within seconds. The pipe closes when the last has gone."""
    worker = f"import runpy, time; runpy.run_path({lifeline.__file__!r})['end_with_parent'](); print('up', flush=True); time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {worker!r}])"
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "up\n"
        began = time.monotonic()
        started.kill()
        assert started.stdout.read() == ""
        assert time.monotonic() - began < 30
