"""What a worker does: it plans the certification that it is told of like the one who asked, and gathers pieces of it by name.

LIMITS. One piece at a time in a process: global generators and intercepted draws belong to one subject, so a worker is best
given one thread. Code is told apart by the files that suite and subject are written in, as this process first read them; what
those import elsewhere is not followed.
"""

import asyncio
import contextlib
import platform
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from specproof.certificate import versions
from specproof.certification import examine
from specproof.journal import identity, suite_digest
from specproof.kept import Kept, evidence_names
from specproof.properties.check import CheckResult
from specproof.properties.evidence.sampling import Counts, draw_block
from specproof.properties.plan import Check, EvidenceChoice, Plan
from specproof.properties.subject import Subject
from specproof.properties.suite import checks
from specproof.properties.verdict import Undecided
from specproof.subjects import UnknownSubject, resolve

SUITE = suite_digest()  # of the code that this process runs: its files may change later
LEAST = 1e-3  # seconds of a plan whose time is up


class Differs(Exception):
    """A worker does not have what the one who asks has; the message says in what they differ."""


@dataclass(frozen=True)
class Certification:
    """One certification in words.

    ``folder`` is where it was asked for: the caller's own modules and processes are looked for there. ``ends`` is the moment
    (``time.time``) at which the plan's seconds are over. ``state`` is what the worker must have in common with the caller.
    """

    subject: str
    options: dict[str, Any]
    evidence: EvidenceChoice
    seed: int
    alpha: float
    ends: float | None
    folder: str
    state: dict[str, str]

    @classmethod
    def of(cls, subject: Subject, plan: Plan) -> "Certification":
        """Write down what this process would run."""
        ends = None if plan.seconds is None else time.time() + plan.deadline - time.monotonic()
        return cls(
            subject.name,
            subject.options,
            plan.evidence,
            plan.seed,
            plan.alpha,
            ends,
            str(Path.cwd()),
            state_of(subject),
        )


def state_of(subject: Subject) -> dict[str, str]:
    """What numbers depend on beside the plan: the subject and its source, the suite, packages and the kind of machine."""
    known = {**identity(subject, Plan()), "suite": SUITE, **versions(), "machine": platform.machine()}
    del known["plan"]
    return {name: str(value) for name, value in known.items()}


def pieces(planned: list[Check]) -> dict[str, list[Check]]:
    """The pieces of evidence by name, each with the checks that share it."""
    found: dict[str, list[Check]] = {}
    for name, check in zip(evidence_names(planned), planned, strict=True):
        found.setdefault(name, []).append(check)
    return found


async def check_in(certification: Certification) -> str | None:
    """Why this process cannot take part; None when it can. A coroutine, so that the worker stays responsive."""

    def reason() -> str | None:
        try:
            with _opened(certification):
                return None
        except Differs as reason:
            return str(reason)

    return await asyncio.to_thread(reason)


def gather(certification: Certification, name: str) -> tuple[Kept, list[CheckResult]]:
    """Gather one piece of evidence and judge it. Raises ``Differs`` where this process cannot take part."""
    with _opened(certification) as found:
        return examine(found[name], name)


def draw(
    certification: Certification, name: str, draws: int, seed: int, number: int
) -> tuple[list[Counts], str | None]:
    """Draw one block of texts: its chunks, and the reason where the subject ends it early. Raises ``Differs``."""
    with _opened(certification) as found:
        source: Any = found[name][0].gather
        chunks = []
        try:
            for chunk in draw_block(source.subject, source.case, draws, seed, number):
                chunks.append(chunk)  # noqa: PERF402 - those drawn before the subject raises count
        except Undecided as reason:
            return chunks, str(reason)
        return chunks, None


def forget() -> None:
    """Let go of the subject, unless a piece is still being gathered; a process that it lives in is ended."""
    if _ALONE.acquire(blocking=False):
        try:
            _close()
        finally:
            _ALONE.release()


_ALONE = threading.Lock()
_current: list[tuple[Certification, Subject, dict[str, list[Check]]]] = []  # the one at work, or nothing
_first_seen: dict[str, str] = {}  # source of a subject when it was imported here


@contextlib.contextmanager
def _opened(certification: Certification) -> Iterator[dict[str, list[Check]]]:
    """The pieces of a certification, planned once; nothing else runs meanwhile. Raises ``Differs``."""
    there = Path(certification.folder).is_dir()
    with _ALONE, contextlib.chdir(certification.folder) if there else contextlib.nullcontext():
        if not _current or _current[0][0] != certification:
            _close()
            torch.set_num_threads(1)
            subject = _same_subject(certification)
            left = None if certification.ends is None else max(LEAST, certification.ends - time.time())
            plan = Plan(certification.evidence, certification.seed, left, certification.alpha)
            _current.append((certification, subject, pieces(list(checks(subject, plan)))))
        yield _current[0][2]


def _same_subject(certification: Certification) -> Subject:
    """The subject, in the same state as the caller's."""
    try:
        subject = resolve(certification.subject, certification.options)
    except UnknownSubject as error:
        raise Differs(str(error)) from error
    own = state_of(subject)
    if _first_seen.setdefault(certification.subject, own["source"]) != own["source"]:
        raise Differs(f"it has imported {certification.subject} before that was changed; restart the worker")
    for name, value in certification.state.items():
        if own[name] != value:
            why = f" ({subject.unavailable})" if subject.unavailable else ""
            raise Differs(f"its {name} differs: {own[name]} instead of {value}{why}")
    return subject


def _close() -> None:
    for _, subject, _ in _current:
        getattr(subject.verifier, "close", lambda: None)()
    _current.clear()
