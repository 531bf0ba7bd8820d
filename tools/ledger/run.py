"""Certify subjects in processes of their own, a few at a time; what an earlier run finished is taken as it is."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

from specproof.integration import adapters
from specproof.integration.shelf import Located
from specproof.integration.unavailable import Unavailable
from specproof.ledger.entry import Entry
from specproof.ledger.keep import certificate_path, entry_path, finished, key_of
from specproof.properties.verdict import Verdict

STDERR_LINES = 3


@dataclass(frozen=True)
class Task:
    """A subject to certify: its name with the version where several are installed, and its package."""

    name: str
    located: Located


@dataclass(frozen=True)
class Skipped:
    """A subject that is not here, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Settings:
    """How the ledger is made. ``limit`` is in seconds of wall time for one subject."""

    folder: Path
    evidence: str = "quick"
    seed: int = 0
    limit: float = 3600.0
    jobs: int = 2
    resume: bool = False


Listener = Callable[[str, int, int, str], None]
"""``(subject, done, planned, check)``; ``done == planned`` when the subject is finished."""


def tasks(names: Sequence[str], group: str) -> tuple[list[Task], list[Skipped]]:
    """The subjects to certify and those that are missing: the named ones, or all of the group (``full``: all).

    Raises ``ValueError`` for a name that no third-party subject has.
    """
    of_group = [name for name, entry in adapters.ADAPTERS.items() if group in ("full", entry.group)]
    found: list[Task] = []
    missing: list[Skipped] = []
    for name in names or of_group:
        adapters.adapter(name)
        try:
            versions = [name.partition("@")[2]] if "@" in name else adapters.versions(name)
            for version in versions:
                full = name if "@" in name or len(versions) == 1 else f"{name}@{version}"
                found.append(Task(full, adapters.located(full)))
        except Unavailable as reason:
            missing.append(Skipped(name, str(reason)))
    return found, missing


def run(planned: Sequence[Task], settings: Settings, listen: Listener) -> list[Entry]:
    """Certify every task; the entries are in the order of the tasks."""
    with ThreadPoolExecutor(settings.jobs) as pool:
        return list(pool.map(lambda task: _certified(task, settings, listen), planned))


def _certified(task: Task, settings: Settings, listen: Listener) -> Entry:
    """The entry of one subject: an earlier one, or that of a process; a process that fails has an entry that says so."""
    key = key_of(task.name, task.located.version, settings.evidence, settings.seed)
    known = finished(settings.folder, task.name, key) if settings.resume else None
    if known is not None:
        listen(task.name, known.checks, known.checks, "kept from an earlier run")
        return known
    began = time.monotonic()
    for path in (entry_path(settings.folder, task.name), certificate_path(settings.folder, task.name)):
        path.unlink(missing_ok=True)
    reason = _worked(task.name, settings, listen)
    entry = finished(settings.folder, task.name, key)
    if entry is None:
        entry = Entry(
            name=task.name, version=task.located.version, about=adapters.adapter(task.name).about,
            verdict=Verdict.UNDECIDED, reason=reason, seconds=round(time.monotonic() - began, 1), key=key,
        )  # fmt: skip
    listen(task.name, max(entry.checks, 1), max(entry.checks, 1), "")
    return entry


def _worked(name: str, settings: Settings, listen: Listener) -> str:
    """Run the worker to its end and return how it ended."""
    arguments = [name, settings.evidence, str(settings.seed), str(settings.folder)]
    with subprocess.Popen(
        [sys.executable, "-m", "specproof.ledger.worker", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as child:  # fmt: skip
        late = Timer(settings.limit, child.kill)
        late.start()
        try:
            assert child.stdout is not None
            assert child.stderr is not None
            for line in child.stdout:
                done, planned, check = line.split(" ", 2)
                listen(name, int(done), int(planned), check.strip())
            said = child.stderr.read().strip().splitlines()[-STDERR_LINES:]
            code = child.wait()
        finally:
            expired = not late.is_alive() and child.poll() == -signal.SIGKILL
            late.cancel()
    if expired:
        return f"no certificate within {settings.limit:g} s; what was finished is kept for the next run"
    ended = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
    return f"the certification {ended}: {' | '.join(said)}"
