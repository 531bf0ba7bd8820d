"""A certification on a worker: planned like the caller's from its words, its pieces of evidence gathered by name.

LIMITS. Code is told apart by the files that suite and subject are written in; what those import elsewhere is not followed.
"""

import platform
import time
from pathlib import Path
from typing import Any

import torch

from specproof.certificate import versions
from specproof.certification import examine
from specproof.cluster.words import Certification, Differs
from specproof.journal import identity
from specproof.kept import Kept, evidence_names
from specproof.properties.check import CheckResult
from specproof.properties.evidence.sampling import Counts, draw_block
from specproof.properties.plan import Check, Plan
from specproof.properties.subject import Subject
from specproof.properties.suite import checks
from specproof.properties.verdict import Undecided
from specproof.subjects import UnknownSubject, resolve

LEAST = 1e-3  # seconds of a plan whose time is up


def in_words(subject: Subject, plan: Plan) -> Certification:
    """Write down what this process would run."""
    ends = None if plan.seconds is None else time.time() + plan.deadline - time.monotonic()
    return Certification(
        subject.name, subject.options, plan.evidence, plan.seed, plan.alpha, ends, str(Path.cwd()), state_of(subject)
    )


def state_of(subject: Subject) -> dict[str, str]:
    """What numbers depend on beside the plan: the subject and its source, the suite, packages and the kind of machine."""
    known = {**identity(subject, Plan()), **versions(), "machine": platform.machine()}
    del known["plan"]
    return {name: str(value) for name, value in known.items()}


def pieces(planned: list[Check]) -> dict[str, list[Check]]:
    """The pieces of evidence by name, each with the checks that share it."""
    found: dict[str, list[Check]] = {}
    for name, check in zip(evidence_names(planned), planned, strict=True):
        found.setdefault(name, []).append(check)
    return found


class Bench:
    """A certification's pieces, ready to be gathered in this process. Raises ``Differs`` where it cannot take part."""

    def __init__(self, certification: Certification) -> None:
        torch.set_num_threads(1)
        try:
            subject = resolve(certification.subject, certification.options)
        except UnknownSubject as error:
            raise Differs(str(error)) from error
        own = state_of(subject)
        for name, value in certification.state.items():
            if own[name] != value:
                why = f" ({subject.unavailable})" if subject.unavailable else ""
                raise Differs(f"its {name} differs: {own[name]} instead of {value}{why}")
        left = None if certification.ends is None else max(LEAST, certification.ends - time.time())
        plan = Plan(certification.evidence, certification.seed, left, certification.alpha)  # type: ignore[arg-type]
        self._pieces = pieces(list(checks(subject, plan)))

    def gather(self, name: str) -> tuple[Kept, list[CheckResult]]:
        """Gather one piece of evidence and judge it."""
        return examine(self._pieces[name], name)

    def draw(self, name: str, draws: int, seed: int, number: int) -> tuple[list[Counts], str | None]:
        """Draw one block of texts: its chunks, and the reason where the subject ends it early."""
        source: Any = self._pieces[name][0].gather
        chunks = []
        try:
            for chunk in draw_block(source.subject, source.case, draws, seed, number):
                chunks.append(chunk)  # noqa: PERF402 - those drawn before the subject raises count
        except Undecided as reason:
            return chunks, str(reason)
        return chunks, None
