"""The counterexample that a certificate shows: the smallest that can be found, by name, with the command that shows it.

It is looked for once, at the end of a certification, within the limits of ``Limits``, and never changes a verdict.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from specproof.properties.check import CLAIMS, CheckResult
from specproof.properties.decoder_cases import DecoderCase
from specproof.properties.evidence.observation import Observation
from specproof.properties.plan import Check, Gathering
from specproof.properties.shrink import Limits, Shrunk, shrink
from specproof.properties.subject import Subject
from specproof.properties.suite import LAWS, laws
from specproof.properties.verdict import Undecided, Verdict
from specproof.reproduction import line
from specproof.subjects import UnknownSubject, resolve

STARTS = 4  # failed checks that are tried as a start
WITNESSES = 3  # further failing instances that a fault must explain to be named
SAME = {"block", "first token", "support", "iterations"}  # claims on the text: where one fails, so may the others
Source = Callable[[], Any]


def with_smallest(
    subject: Subject, planned: Sequence[Check], results: Sequence[CheckResult], sources: Sequence[Source],
    limits: Limits | None = None,
) -> list[CheckResult]:  # fmt: skip
    """The results, one failed check's counterexample replaced by the smallest that was found; verdicts stay as they are.

    Where none is found it stays, with the command that shows it again, and so do all of a decoder and of what can only be
    counted. A crash of the search is noted with that check.
    """
    failed = [i for i, result in enumerate(results) if result.verdict is Verdict.FAILED]
    changed = list(results)
    if not failed:
        return changed
    if subject.kind not in LAWS or "hidden_randomness" in subject.capabilities:  # too dear a search
        return [_with_line(subject, check, result) for check, result in zip(planned, results, strict=True)]
    of_laws = [i for i in failed if planned[i].kind == LAWS[subject.kind][0] and _case(planned[i]) is not None]
    home = min(of_laws or failed, key=lambda i: _rank(planned[i]))
    try:
        found = _smallest(subject, planned, of_laws, home, sources, limits or Limits())
    except Exception as error:  # noqa: BLE001 - whatever a subject does on a small instance, its certificate stands
        note = f"no smaller counterexample: the search for one ended with {type(error).__name__}: {error}"
        changed[home] = replace(results[home], notes=[*results[home].notes, note])
        return changed
    if found is None or found.counterexample is None:
        if planned[home].kind == LAWS[subject.kind][0]:
            changed[home] = _with_line(subject, planned[home], results[home])
    else:
        home = next((i for i in of_laws if planned[i].id == found.result.id), home)
        shown = replace(found.counterexample, replay=line(found.subject, found.case))
        changed[home] = replace(results[home], counterexample=shown)
    return changed


def _with_line(subject: Subject, check: Check, result: CheckResult) -> CheckResult:
    """The result with the command that shows its counterexample again, where it has one."""
    gather, own = check.gather, result.counterexample
    case = (gather.case or gather.argument(DecoderCase)) if isinstance(gather, Gathering) else None
    if own is None or case is None:
        return result
    return replace(result, counterexample=replace(own, replay=line(subject, case)))


def _smallest(
    subject: Subject, planned: Sequence[Check], of_laws: list[int], home: int, sources: Sequence[Source], limits: Limits
) -> Shrunk | None:
    started = time.monotonic()
    starts = sorted((planned[i] for i in of_laws), key=_rank) or _by_law(subject, planned[home].claim)
    for number, check in enumerate(starts):
        left = limits.seconds - (time.monotonic() - started)
        if left <= 0 or (of_laws and number == STARTS):
            return None
        witnesses = list(_witnesses(planned, of_laws, sources, check))
        found = shrink(
            check, subject, limits=replace(limits, seconds=left), fewer_drafts=_with_drafts, witnesses=witnesses
        )
        if found is not None:
            return found
    return None


def _by_law(subject: Subject, claim: str) -> list[Check]:
    """Where only counts were looked at: the checks of laws that may show the same, smallest case first."""
    claims = SAME if claim in SAME else {claim}
    return sorted((check for check in laws(subject) if check.claim in claims), key=_size)


def _witnesses(
    planned: Sequence[Check], of_laws: list[int], sources: Sequence[Source], start: Check
) -> Iterator[Observation]:
    """What was seen on other cases that fail, smallest first; nothing is run for it."""
    cases = {start.case}
    for i in sorted(of_laws, key=lambda i: _size(planned[i])):
        if planned[i].case in cases or len(cases) > WITNESSES:
            continue
        cases.add(planned[i].case)
        try:
            seen = sources[i]()
        except Undecided:
            continue
        if isinstance(seen, Observation):
            yield seen


def _rank(check: Check) -> tuple[Any, ...]:
    """The weakest claim first, then the smallest case."""
    return list(CLAIMS).index(check.claim), _size(check)


def _case(check: Check) -> Any:
    return check.gather.case if isinstance(check.gather, Gathering) else None


def _size(check: Check) -> tuple[int, ...]:
    case = _case(check)
    return () if case is None else tuple(case.size)


def _with_drafts(subject: Subject, drafts: int) -> Subject | None:
    """The same subject for fewer drafts, where its name takes them as an option."""
    try:
        found = resolve(subject.name, {**subject.options, "drafts": drafts})
    except UnknownSubject:
        return None
    return found if found.drafting.drafts == drafts else None
