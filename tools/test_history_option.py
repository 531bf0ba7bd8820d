"""``--history``: nights add up in a file; what does not fit is refused before anything runs."""

import json
import sys
from pathlib import Path

import pytest

from specproof import cli
from specproof.properties.cases import one_step_cases
from specproof.properties.evidence.sampled import SamplePlan, observe_sampled
from specproof.subjects import resolve


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command line and return its exit code."""
    monkeypatch.setattr(sys, "argv", ["specproof", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def test_nights_add_up_under_one_state_of_the_suite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same code goes on with its counts; another state of the suite starts anew, though its version is the same."""
    path, subject, (case, *_) = str(tmp_path / "nights.json"), resolve("fast:standard"), one_step_cases()
    for digest in ("one", "one", "other"):
        monkeypatch.setattr(cli, "suite_digest", lambda digest=digest: digest)
        observe_sampled(subject, case, SamplePlan(256, 1e-7, 1e-7, seed=3), history=cli._history(path, "sampled"))
    nights = json.loads((tmp_path / "nights.json").read_text())["nights"]
    assert [(sum(entry["text"]), len(entry["seeds"])) for entry in nights] == [(512, 2), (256, 1)]


@pytest.mark.parametrize(
    ("evidence", "content", "message"),
    [("probed", "", "--history keeps counts"), ("sampled", "{", "no history of specproof")],
)
def test_what_does_not_fit_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], evidence: str, content: str, message: str
) -> None:  # fmt: skip
    """Exit code 64 and one line that says why."""
    path = tmp_path / "nights.json"
    if content:
        path.write_text(content)
    assert run(monkeypatch, "certify", "fast:standard", "--evidence", evidence, "--history", str(path)) == 64
    assert message in capsys.readouterr().err
