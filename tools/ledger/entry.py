"""One row of the ledger: what a certificate says of a subject in one line, and what was measured beside it."""

from typing import Any

from pydantic import BaseModel

from specproof.certificate import Certificate
from specproof.properties.check import CheckResult, Counterexample
from specproof.properties.verdict import Verdict

READ = ("exact", "probed")
ANCHORS = ("context V3 L2", "context V2 L2")  # where acceptance is told: one draft, several drafts


class Entry(BaseModel):
    """One subject. ``total_variation`` is the largest distance of a law that was read, or else counted (``counted``).

    ``accepted`` and ``ceiling`` are tokens a block on case ``anchor``; ``microseconds`` the time of one row there.
    """

    name: str
    version: str
    about: str
    verdict: Verdict
    weakest: str | None = None
    reason: str | None = None
    total_variation: float | None = None
    counted: bool = False
    bound: float | None = None
    anchor: str | None = None
    accepted: float | None = None
    ceiling: float | None = None
    microseconds: float | None = None
    undecided: int = 0
    checks: int = 0
    seconds: float = 0.0
    counterexample: str | None = None
    replay: str | None = None
    key: dict[str, Any] = {}

    @property
    def share(self) -> float | None:
        """Acceptance as a share of the ceiling."""
        return None if self.accepted is None or not self.ceiling else self.accepted / self.ceiling


def entry_of(certificate: Certificate, about: str, microseconds: float | None, key: dict[str, Any]) -> Entry:
    """Sum a certificate up."""
    of_laws = [check for check in certificate.checks if check.property == "lossless"]
    read = [c for c in of_laws if c.evidence.kind in READ and c.evidence.total_variation is not None]
    counts = [c for c in of_laws if c.evidence.kind == "sampled" and c.evidence.total_variation is not None]
    weighed = read or counts
    told = _acceptance(certificate)
    return Entry(
        name=certificate.subject.name,
        version=certificate.subject.version,
        about=about,
        verdict=certificate.verdict,
        weakest=certificate.weakest_violated,
        reason=_reason(certificate),
        total_variation=max((float(c.evidence.total_variation or 0) for c in weighed), default=None),
        counted=not read,
        bound=max((c.evidence.upper_bound for c in counts if c.evidence.upper_bound is not None), default=None),
        anchor=told.case if told else None,
        accepted=told.evidence.observed if told else None,
        ceiling=told.evidence.expected if told else None,
        microseconds=microseconds,
        undecided=certificate.counts.undecided,
        checks=certificate.counts.planned,
        seconds=certificate.elapsed_seconds,
        counterexample=_shown(certificate.counterexample),
        replay=getattr(certificate.counterexample, "replay", None),
        key=key,
    )


def _acceptance(certificate: Certificate) -> CheckResult | None:
    """The check that compares with the ceiling on one of the anchor cases."""
    return next(
        (
            check
            for check in certificate.checks
            if check.claim == "acceptance ceiling" and check.case in ANCHORS and check.evidence.observed is not None
        ),
        None,
    )


def _reason(certificate: Certificate) -> str | None:
    """Why the verdict is not HELD: the first check of the weakest claim, or the first that stayed undecided."""
    wanted = {Verdict.FAILED: certificate.weakest_violated}.get(certificate.verdict)
    for check in certificate.checks:
        if check.verdict is certificate.verdict and wanted in (None, check.claim):
            return (
                None
                if certificate.verdict is Verdict.HELD
                else f"{check.case}: {check.reason}"
                if check.case
                else check.reason
            )
    return None


def _shown(found: Counterexample | None) -> str | None:
    if found is None:
        return None
    return (
        f"{found.case} (V={found.vocabulary}, L={found.length}, K={found.drafts}): text {found.worst} has probability "
        f"{found.observed.get(found.worst, '0')} instead of {found.expected.get(found.worst, '0')}"
    )
