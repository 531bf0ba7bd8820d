"""The command line: exit codes, messages, certificates."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import specproof
from specproof.certificate import SCHEMA
from specproof.cli import main
from specproof.properties.verdict import Verdict
from specproof.subjects import parse_options

SUBJECTS = '''
import os
import numpy as np
import torch
from specproof import Drafting, Outcome
from specproof.fast.verifiers import standard

hidden = np.random.default_rng(0)

class Base:
    def verify(self, drafts, generator, carry=None):
        return self.change(standard.verify(drafts, generator))

class Right(Base):
    def change(self, outcome):
        return outcome

class Raises(Base):
    def change(self, outcome):
        raise RuntimeError("out of [bold]memory")

class NotANumber(Base):
    def change(self, outcome):
        return Outcome(outcome.tokens * float("nan"), outcome.accepted)

class OutsideVocabulary(Base):
    def change(self, outcome):
        return Outcome(torch.where(outcome.tokens == 1, 100, outcome.tokens), outcome.accepted)

class WrongShape(Base):
    def change(self, outcome):
        return Outcome(outcome.tokens[:, :-1], outcome.accepted)

class NoOutcome(Base):
    def change(self, outcome):
        return None

class ChangesInput(Base):
    def verify(self, drafts, generator, carry=None):
        outcome = standard.verify(drafts, generator)
        drafts.target_probs.zero_()
        return outcome

class HidesRandomness(Base):
    def verify(self, drafts, generator, carry=None):
        coins = np.frombuffer(os.urandom(4 * drafts.batch * (drafts.length + 1)), np.uint32) / 2**32
        return standard.verify(drafts, torch.from_numpy(coins.reshape(drafts.batch, -1)))

class KeepsAGenerator(Base):
    def verify(self, drafts, generator, carry=None):
        return standard.verify(drafts, torch.from_numpy(hidden.random((drafts.batch, drafts.length + 1))))

class NeverDraws(Base):
    def verify(self, drafts, generator, carry=None):
        best = drafts.target_probs[:, 0, 0].argmax(-1)
        tokens = torch.full((drafts.batch, drafts.length + 1), -1)
        tokens[:, 0] = best
        return Outcome(tokens, torch.zeros(drafts.batch, dtype=torch.int64))

class HashesInputs(Base):
    def verify(self, drafts, generator, carry=None):
        rows = torch.cat([drafts.tokens.flatten(1).double(), drafts.target_probs.flatten(1).double()], 1)
        coins = (rows.sum(-1, keepdim=True) * torch.arange(1, drafts.length + 2) * 12.9898).sin().mul(43758.5453) % 1
        return standard.verify(drafts, coins)

class Gaussian(Base):
    def verify(self, drafts, generator, carry=None):
        return standard.verify(drafts, torch.special.ndtr(torch.randn(drafts.batch, drafts.length + 1).double()))

def function(tokens, draft, target, generator):
    """The standard rule from its parts, one request after the other."""
    out, counts = torch.full((len(tokens), tokens.shape[1] + 1), -1), []
    for b in range(len(tokens)):
        kept = 0
        for i, token in enumerate(tokens[b]):
            if torch.rand((), generator=generator) >= target[b, i, token] / draft[b, i, token]:
                break
            kept += 1
        row = target[b, kept]
        if kept < tokens.shape[1]:
            row = (row - draft[b, kept]).clamp(min=0)
        out[b, :kept] = tokens[b, :kept]
        out[b, kept] = torch.multinomial(row, 1, generator=generator)
        counts.append(kept)
    return out, torch.tensor(counts)
'''


@pytest.fixture
def subjects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of somebody's own next to where the command runs."""
    (tmp_path / "theirs.py").write_text(SUBJECTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "theirs", raising=False)
    return "theirs"


def run(*arguments: str) -> int:
    """Run the command line and return its exit code."""
    sys.argv = ["specproof", *arguments]
    with pytest.raises(SystemExit) as exit_:
        main()
    return int(exit_.value.code or 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["certify", "nosuch"], "Unknown subject 'nosuch'"),
        (["certify", "transfomers"], "Did you mean 'transformers'?"),
        (["certify", "transformers", "--option", "nosuch=1"], "Available: assistant_ensemble_weight"),
        (["certify", "transformers", "--option", "nosuch"], "written key=value"),
        (["certify", "transformers", "--option", "assistant_ensemble_weight=2"], "in (0, 1], got 2"),
        (["certify", "fast:standrad"], "Did you mean 'standard'?"),
        (["certify", "fast:standard", "--option", "a=1"], "Unknown option of fast:standard 'a'"),
        (["certify", "mutant:one_con"], "Did you mean 'one_coin'?"),
        (["certify", "reference:blok"], "Did you mean 'block'?"),
        (["certify", "reference:block", "--option", "drafts=2"], "verifies 1 draft(s), got drafts=2"),
        (["certify", "reference:greedy_block", "--option", "carry=maybe"], "true or false, got 'maybe'"),
        (["certify", "theirs:missing"], "Unknown object of module theirs 'missing'"),
        (["certify", "theirs:hidden"], "has no verify(drafts, generator, carry=None) method"),
        (["certify", "nomodule:thing"], "cannot import module 'nomodule'"),
        (["certify", "fast:standard", "--evidence", "probe"], "Did you mean 'probed'?"),
        (["certify", "fast:standard", "--seconds", "0"], "must be positive"),
        (["certify", "fast:standard", "--device", "tpu"], "Available: cpu, cuda"),
        (["certify", "fast:standard", "mutant:one_coin", "--json", "-"], "takes one subject, got 2"),
        (["certify", "--bogus"], "No such option"),
        (["certfy"], "No such command"),
    ],
)
def test_usage_errors_exit_64_with_a_message(
    arguments: list[str], message: str, subjects: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was given, what is allowed, the nearest valid choice; nothing is run."""
    assert run(*arguments) == 64
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("Raises", 2, "the subject raised RuntimeError: out of [bold]memory"),
        ("NotANumber", 1, "tokens must hold integers, got torch.float32 holding NaN"),
        ("OutsideVocabulary", 1, "an emitted id lies outside the vocabulary"),
        ("WrongShape", 1, "tokens must have shape"),
        ("NoOutcome", 1, "tokens must be a tensor"),
        ("ChangesInput", 1, "the call changed its input target_probs"),
        ("HidesRandomness", 2, "randomness that the probe cannot see"),
        ("NeverDraws", 1, "Weakest claim violated: first token"),
        ("HashesInputs", 1, "Weakest claim violated: first token"),
        ("KeepsAGenerator", 0, "HELD"),
        ("Gaussian", 0, "HELD"),
        ("Right", 0, "HELD"),
    ],
)
def test_certify_own_module(
    name: str, code: int, message: str, subjects: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken subjects are refuted or undecided with the reason, right ones are certified; nothing broken ever passes."""
    assert run("certify", f"{subjects}:{name}", "--evidence", "probed") == code
    assert message in " ".join(capsys.readouterr().out.split())


def test_sampling_refutes_what_hides_its_randomness_when_it_is_wrong(
    subjects: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hidden but correct randomness stays undecided under both kinds of evidence: sampling alone never makes a pass."""
    assert run("certify", f"{subjects}:HidesRandomness", "--seconds", "1") == 2
    assert "UNDECIDED" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["resample_from_target", "always_accept", "subtract_drafted_only", "reuse_accept_coin", "one_coin"]
)
def test_mutants_exit_1_with_a_counterexample(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The report shows the instance, the law it should have and the law it has."""
    assert run("certify", f"mutant:{name}", "--evidence", "sampled") == 1
    printed = capsys.readouterr().out
    assert "FAILED" in printed
    assert "Smallest counterexample" in printed


def test_json_goes_to_stdout_and_the_report_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """``--json -`` prints one JSON document with the documented fields and nothing else."""
    assert run("certify", "reference:greedy_block", "--option", "carry=false", "--json", "-") == 1
    printed = capsys.readouterr()
    data = json.loads(printed.out)
    assert {"schema", "subject", "suite", "verdict", "weakest_violated", "claims", "counts", "alpha", "checks"} <= set(
        data
    )
    assert {"environment", "seeds", "elapsed_seconds"} <= set(data)
    assert data["schema"] == SCHEMA
    assert data["verdict"] == "FAILED"
    assert data["weakest_violated"] == "block"
    assert data["also_violated"] == ["iterations"]
    assert data["counts"]["planned"] == data["counts"]["run"] + data["counts"]["skipped"] == len(data["checks"])
    failed = [check for check in data["checks"] if check["verdict"] == "FAILED"]
    assert all(check["counterexample"]["expected"] for check in failed)
    assert "FAILED" in printed.err


def test_json_is_written_where_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Folders are made; several subjects get a file each; nothing half-written stays."""
    assert run("certify", "reference:standard", "reference:block", "--json", str(tmp_path / "new" / "c.json")) == 0
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["c-reference-block.json", "c-reference-standard.json"]
    assert json.loads((tmp_path / "new" / names[0]).read_text())["subject"]["name"] == "reference:block"
    assert "written: " in capsys.readouterr().err


def test_exit_code_is_the_worst_of_several_subjects(capsys: pytest.CaptureFixture[str]) -> None:
    """One refuted subject among good ones exits 1."""
    assert run("certify", "reference:standard", "mutant:greedy_block_without_carry") == 1
    assert "HELD" in capsys.readouterr().out


def test_crash_of_specproof_exits_70(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A fault of ours is not blamed on the subject."""

    def broken(*arguments: Any, **named: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("specproof.cli.run_certification", broken)
    assert run("certify", "reference:standard") == 70
    assert "a fault of specproof" in capsys.readouterr().err


def test_subjects_lists_every_family(capsys: pytest.CaptureFixture[str]) -> None:
    """Third-party names, fast and reference verifiers, mutants, and the way to one's own."""
    assert run("subjects") == 0
    listed = capsys.readouterr().out
    for name in ("transformers", "fast:standard", "reference:greedy_block", "mutant:one_coin", "module:object"):
        assert name in listed


def test_certify_takes_a_function_in_python(subjects: str) -> None:
    """``specproof.certify`` and ``specproof.from_function`` are the same way in; events tell the progress."""
    sys.path.insert(0, str(Path.cwd()))
    import theirs  # type: ignore[import-not-found]

    events: list[tuple[int, int, str]] = []
    certificate = specproof.certify(
        specproof.from_function(theirs.function, rule="standard"),
        evidence="probed",
        on_event=lambda *event: events.append(event),
    )
    assert certificate.verdict is Verdict.HELD
    assert certificate.claims["declared acceptance"] is Verdict.HELD
    assert events[0][0] == 0
    assert events[-1][:2] == (certificate.counts.planned, certificate.counts.planned)


def test_parse_options_reads_numbers_and_words() -> None:
    """Integers, decimals, true, false and none become what they look like."""
    assert parse_options(["a=1", "b=.5", "c=true", "d=none", "e=x=y"]) == {
        "a": 1,
        "b": 0.5,
        "c": True,
        "d": None,
        "e": "x=y",
    }
