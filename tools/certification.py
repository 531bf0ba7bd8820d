"""``certify``: run every check of a plan on a subject and put the certificate together."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from specproof.certificate import Certificate, assemble
from specproof.expected import check_expected
from specproof.journal import Journal
from specproof.kept import Kept, KeptReason, NotKept, case_of, evidence_names, keep
from specproof.properties.check import CheckResult
from specproof.properties.evidence.history import History
from specproof.properties.plan import Check, EvidenceChoice, Gathering, Plan
from specproof.properties.subject import Subject
from specproof.properties.suite import checks
from specproof.properties.verdict import Undecided
from specproof.shrinking import with_smallest
from specproof.subjects import describe

Listener = Callable[[int, int, str], None]
Ahead = Callable[[Subject, Plan, list[Check], Journal, Listener], None]


def certify(
    subject: Any, *, evidence: EvidenceChoice = "quick", seed: int = 0, seconds: float | None = None,
    expected_failures: Mapping[str, str] | None = None, on_event: Listener | None = None, journal: Journal | None = None,
    history: History | None = None, ahead: Ahead | None = None,
) -> Certificate:  # fmt: skip
    """Certify a verifier object, a plain function, or a subject, and return its certificate.

    ``evidence``: ``quick`` (probed or exact, and 131,072 sampled texts a case), ``nightly`` (8,388,608), or one kind alone.
    ``seconds`` limits the sampled evidence; what it cuts short is UNDECIDED. ``expected_failures``: ``{check id: reason}``
    of what is known to fail; the certificate's ``outcome`` then says whether exactly those fail. ``on_event(done, planned,
    check id)`` is called before each check. ``journal`` holds what an earlier run finished, and is told what this one does.
    ``history`` holds what earlier nights have counted, and takes what this one does. ``ahead`` finishes checks elsewhere, into
    the journal, before the others run here (``specproof.cluster``).
    Raises ``TypeError`` or ``ValueError`` for an object that cannot be a subject, or an unknown check id.
    """
    described = describe(subject)
    plan = Plan(evidence, seed, seconds, history=history)
    listen = on_event or _unheard
    started = time.monotonic()
    planned = list(checks(described, plan))
    check_expected(expected_failures or {}, [check.id for check in planned])
    kept = journal or Journal()
    if ahead is not None:
        ahead(described, plan, planned, kept, listen)
    sources = _sources(described, planned, kept)
    results = []
    for done, (check, source) in enumerate(zip(planned, sources, strict=True)):
        if check.id not in kept.results:
            listen(done, len(planned), check.id)
            kept.add_result(check.run(source))
        results.append(kept.results[check.id])
    listen(len(planned), len(planned), "")
    results = with_smallest(described, planned, results, sources)
    elapsed = time.monotonic() - started
    return assemble(described, plan, planned, results, elapsed, journal=kept, expected=expected_failures or {})


def planned_checks(subject: Subject, plan: Plan) -> list[str]:
    """The ids of the checks that a certification would run."""
    return [check.id for check in checks(subject, plan)]


def examine(together: list[Check], name: str) -> tuple[Kept, list[CheckResult]]:
    """Gather the evidence ``name`` that these checks share and judge it: what is kept of it, and a result of each."""
    journal = Journal()
    source = Gathering(_gathered, together[0], name, journal)
    results = [check.run(source) for check in together]
    return journal.evidence[name], results


def restorable(check: Check, name: str, journal: Journal) -> bool:
    """Whether the journal has the evidence in a form that can be judged."""
    kept = journal.evidence.get(name)
    return case_of(check.gather) is not None and kept is not None and not isinstance(kept, NotKept)


def _sources(subject: Subject, planned: list[Check], journal: Journal) -> list[Gathering]:
    """What each check looks at: the journal's evidence where it has it, else the subject; checks that share one share it."""
    sources: dict[str, Gathering] = {}
    names = evidence_names(planned)
    for check, name in zip(planned, names, strict=True):
        if name in sources:
            continue
        if restorable(check, name, journal):
            sources[name] = Gathering(journal.evidence[name].restored, subject, case_of(check.gather))
        else:
            sources[name] = Gathering(_gathered, check, name, journal)
    return [sources[name] for name in names]


def _gathered(check: Check, name: str, journal: Journal) -> Any:
    """Gather evidence from the subject and write it down."""
    try:
        found = check.gather()
    except Undecided as reason:
        journal.add_evidence(name, KeptReason(case=check.case, reason=str(reason)))
        raise
    journal.add_evidence(name, keep(found, check))
    return found


def _unheard(_done: int, _planned: int, _check: str) -> None:
    """Nobody listens."""
