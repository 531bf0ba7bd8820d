"""The journal of a certification: every finished piece of evidence and result, a line each, as soon as it is there.

A run that is killed leaves its journal behind; the next run of the same certification goes on from it. The same means: the
same subject (name, version, options, source file), suite and plan. A line that was cut short is dropped, with what follows.
"""

import fcntl
import hashlib
import inspect
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from pydantic import TypeAdapter, ValidationError

from specproof import fast, integration, properties, reference
from specproof.kept import Kept
from specproof.properties.check import CheckResult
from specproof.properties.plan import Plan
from specproof.properties.subject import Subject

RESULT = TypeAdapter(CheckResult)
EVIDENCE: TypeAdapter[Any] = TypeAdapter(Kept)
ENDING = ".jsonl"


def state_folder() -> Path:
    """Where journals lie: ``$XDG_STATE_HOME/specproof``, or ``~/.local/state/specproof``."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "specproof"


def identity(subject: Subject, plan: Plan) -> dict[str, Any]:
    """What makes two certifications the same, as data."""
    return {
        "subject": [subject.name, subject.version, subject.kind, sorted(subject.capabilities)],
        "options": {key: repr(value) for key, value in sorted(subject.options.items())},
        "source": _digest(_source_files(subject)),
        "suite": suite_digest(),
        "plan": [plan.evidence, plan.seed, plan.seconds, plan.alpha],
    }


class Journal:
    """Results and evidence by name: those of an earlier run, and those that are added now."""

    def __init__(self, file: TextIO | None = None, begun: str = "") -> None:
        self._file = file
        self.begun = begun
        self.results: dict[str, CheckResult] = {}
        self.evidence: dict[str, Any] = {}
        self.resumed = 0

    def add_evidence(self, name: str, kept: Any) -> None:
        """Write evidence down."""
        self.evidence[name] = kept
        self._write({"evidence": name, "kept": kept.model_dump(mode="json")})

    def add_result(self, result: CheckResult) -> None:
        """Write a result down."""
        self.results[result.id] = result
        self._write({"result": RESULT.dump_python(result, mode="json")})

    def _write(self, line: dict[str, Any]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    def read(self, lines: Iterator[str]) -> int:
        """Take over what an earlier run wrote; returns how many characters of it are whole."""
        whole = 0
        for line in lines:
            try:
                given = json.loads(line)
                if "result" in given:
                    result = RESULT.validate_python(given["result"])
                    self.results[result.id] = result
                else:
                    self.evidence[given["evidence"]] = EVIDENCE.validate_python(given["kept"])
            except (ValueError, ValidationError, KeyError, TypeError):
                break
            whole += len(line)
        self.resumed = len(self.results)
        return whole


@contextmanager
def opened(subject: Subject, plan: Plan, *, fresh: bool = False) -> Iterator[Journal]:
    """The journal of this certification; removed when the block ends well, left behind when it does not.

    Where no journal can be kept (a folder that cannot be written, another run of the same certification at work), the
    certification runs without one.
    """
    this = identity(subject, plan)
    path = state_folder() / f"{hashlib.sha256(json.dumps(this).encode()).hexdigest()[:24]}{ENDING}"
    file = _locked(path)
    if file is None:
        yield Journal()
        return
    with file:
        yield _continued(file, this, fresh=fresh)
        path.unlink(missing_ok=True)


def _locked(path: Path) -> TextIO | None:
    """The file, held by this process alone; None where that cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def _continued(file: TextIO, this: dict[str, Any], *, fresh: bool) -> Journal:
    """A journal on an open file, cut after its last whole line."""
    file.seek(0)
    lines = iter(file.read().splitlines(keepends=True))
    head = next(lines, "")
    journal = Journal(file, _begun(head, this))
    whole = 0
    if journal.begun and not fresh:
        whole = len(head) + journal.read(line for line in lines if line.endswith("\n"))
    file.seek(0)
    file.truncate(whole)  # json.dumps writes ASCII: characters are bytes
    if not whole:
        journal.begun = datetime.now(UTC).isoformat(timespec="seconds")
        journal._write({"begun": journal.begun, "identity": this})
    return journal


def _begun(head: str, this: dict[str, Any]) -> str:
    """When the run that wrote this first line began; empty for a line that is none, or of another certification."""
    try:
        given = json.loads(head)
        return str(given["begun"]) if given["identity"] == this else ""
    except (ValueError, KeyError, TypeError):
        return ""


def suite_digest() -> str:
    """What tells one state of the suite's own code from another."""
    return _digest(_suite_files())


def _suite_files() -> list[Path]:
    folders = [
        Path(__file__).parent,
        *(Path(package.__path__[0]) for package in (reference, fast, properties, integration)),
    ]
    return sorted({file for folder in folders for file in folder.rglob("*.py") if not file.name.startswith("test_")})


def _source_files(subject: Subject) -> list[Path]:
    """The files that a subject's own code is written in, as far as its object says; what those import is not followed."""
    made: list[Any] = [subject.verifier or subject.decoder or getattr(subject.bandit, "make", None)]
    if isinstance(made[0], partial):  # a bandit with options, or a copied one
        made = [made[0].func, *made[0].args]
    files = set()
    for found in [part for it in made for part in (it, type(it), getattr(it, "function", None))]:
        try:
            files.add(Path(inspect.getsourcefile(found) or ""))  # type: ignore[arg-type]
        except TypeError:
            continue
    return sorted(file for file in files if file.is_file())


def _digest(files: list[Path]) -> str:
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
