"""Shrinking: from an instance on which a check fails to the smallest and simplest one on which it still fails.

Moves (``simplify``) are tried greedily, each kept when the same check fails there, until none is left or a limit is
reached. Where the law of the failing instance is that of a named fault, the fault is shrunk in its place, by enumeration,
and the subject is looked at again on what comes out: a handful of runs instead of hundreds. The result always rests on
evidence of full strength from the subject itself; what cannot be shown again is not returned.

LIMITS. A local minimum, not the smallest instance of all. ``calls`` and ``instances`` make the search repeatable;
``seconds`` is a guard that ends it early on a slow machine.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from specproof.properties import simplify
from specproof.properties.cases import Case
from specproof.properties.check import CheckResult, Counterexample
from specproof.properties.evidence.exact import observe_exactly
from specproof.properties.evidence.observation import Observation
from specproof.properties.naming import candidates, enumerable, fault_name, matching, named_subject
from specproof.properties.plan import Check, Gathering
from specproof.properties.simplify import Instance
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided, Verdict

CLEAR = 1e-3  # total variation below which an enumerated fault is not worth showing the subject
METERED = {"verifier": "verify", "decoder": "decode"}
SPOT_CHECKS = 16  # while searching; what is found is looked at again with the usual number

FewerDrafts = Callable[[Subject, int], Subject | None]


@dataclass(frozen=True)
class Limits:
    """What a search may spend: seconds, calls of the subject, and instances that are looked at.

    Twice ``naming`` seconds may be spent besides on the laws of named faults.
    """

    seconds: float = 10.0
    calls: int = 20_000
    instances: int = 400
    naming: float = 2.0


@dataclass
class Meter:
    """What a search has spent."""

    limits: Limits
    calls: int = 0
    instances: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> bool:
        """Whether a limit is reached."""
        late = time.monotonic() - self.started >= self.limits.seconds
        return late or self.calls >= self.limits.calls or self.instances >= self.limits.instances

    def more(self) -> bool:
        """Whether the search may go on."""
        return not self.spent

    def call(self) -> None:
        """Count a call of the subject. Raises ``Undecided`` when there may be no more."""
        if self.spent:
            raise Undecided("the search for a smaller instance has reached its limit")
        self.calls += 1


class _Metered:
    """An object whose calls of one method are counted, and end with the search."""

    def __init__(self, wrapped: Any, method: str, meter: Meter) -> None:
        self._wrapped, self._method, self._meter = wrapped, method, meter

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._wrapped, name)
        if name != self._method:
            return found

        def counted(*arguments: Any, **keywords: Any) -> Any:
            self._meter.call()
            return found(*arguments, **keywords)

        return counted


@dataclass(frozen=True)
class Shrunk:
    """The smallest instance found: the failed check there, the subject that it was run on, and the search's expense."""

    result: CheckResult
    case: Case
    subject: Subject
    faults: tuple[str, ...]
    complete: bool  # nothing was cut short by a limit
    calls: int
    instances: int

    @property
    def counterexample(self) -> Counterexample | None:
        """The counterexample, with the names of the faults that have its law."""
        shown = self.result.counterexample
        names = " or ".join(fault_name(name) for name in self.faults)
        return None if shown is None else replace(shown, fault=names or None)


def shrink(
    check: Check, subject: Subject, *, limits: Limits | None = None, fewer_drafts: FewerDrafts = lambda *_: None,
    witnesses: Sequence[Observation] = (),
) -> Shrunk | None:  # fmt: skip
    """Shrink the case of a failed check. None when it does not fail again, or does not look at a case.

    ``fewer_drafts`` makes the subject for fewer drafts where that can be done; rules for any number need none. A fault is
    named only if it also has the subject's law on the cases of ``witnesses``. After the search there is one last look at what
    was found, with evidence of full strength and as many seconds and calls again; None when that is not enough.
    """
    if not isinstance(check.gather, Gathering) or check.gather.case is None:
        return None
    search = _Search(check, subject, Meter(limits or Limits()), fewer_drafts)
    first = Instance.of(check.gather.case)
    failed, law = search.seen(first)
    if not failed:
        return None
    seen = [law for law in (law, *witnesses) if isinstance(law, Observation)]
    names = [name for name in candidates(subject.drafting) if enumerable(name)]
    limited = search.naming()
    for observation in seen:
        names = list(matching(observation, names, limited))
    found = search.through_a_fault(first, names) or search.smallest(first, search.fails)
    return search.confirmed(found, names)


@dataclass
class _Search:
    check: Check
    subject: Subject
    meter: Meter
    fewer_drafts: FewerDrafts
    subjects: dict[int, Subject | None] = field(default_factory=dict)

    def smallest(self, start: Instance, fails: Callable[[Instance], bool]) -> Instance:
        """Move greedily to an instance that no move makes smaller, as far as the limits allow."""
        best, tried = start, {start.key}
        improved = True
        while improved and self.meter.more():
            improved = False
            for moves in (self._sizes, simplify.rows):
                step: Instance | None = best
                while step is not None and self.meter.more():
                    step = next((new for new in self._new(moves(best), best, tried) if fails(new)), None)
                    if step is not None:
                        best, improved = step, True
        return best

    def through_a_fault(self, start: Instance, names: list[str]) -> Instance | None:
        """Shrink the first named fault whose smallest instance convicts the subject too."""
        for name in names:
            fault = named_subject(name)
            assert fault is not None
            found = self.smallest(start, lambda new, fault=fault: self._shows(fault, new))  # type: ignore[misc]
            if found is start or self.fails(found):
                return found
        return None

    def confirmed(self, found: Instance, names: list[str]) -> Shrunk | None:
        """The instance with evidence of full strength; None when that does not convict within the limits."""
        case = replace(found.case, name=f"{found.case.name}, shrunk", purpose="smallest instance found")
        subject = self._subject(case.drafts)
        assert subject is not None
        assert isinstance(self.check.gather, Gathering)
        gather = self.check.gather.on(_metered(subject, Meter(self.meter.limits)), case)
        result = replace(self.check, case=case.name, gather=gather).run()
        if result.verdict is not Verdict.FAILED:
            return None
        complete = self.meter.more()
        law = gather()
        named: list[str] = []
        if isinstance(law, Observation):
            limited = self.naming()
            known = names or candidates(subject.drafting)
            named = list(matching(law, [name for name in known if enumerable(name)], limited))
            if not named:
                rest = [name for name in candidates(subject.drafting) if not enumerable(name)]
                named = list(matching(law, rest, limited))
        return Shrunk(result, case, subject, tuple(named), complete, self.meter.calls, self.meter.instances)

    def fails(self, found: Instance) -> bool:
        """Whether the check fails on the instance."""
        return self.seen(found)[0]

    def seen(self, found: Instance) -> tuple[bool, Any]:
        """Whether the check fails on the instance, and what it was judged by."""
        self.meter.instances += 1
        gather = self._gather(found)
        if gather is None or replace(self.check, gather=gather).run().verdict is not Verdict.FAILED:
            return False, None
        return True, gather()

    def naming(self) -> Callable[[Subject], Subject]:
        """Limits the runs of named faults, all together, to their own time."""
        meter = Meter(replace(self.meter.limits, seconds=self.meter.limits.naming))
        return lambda fault: _metered(fault, meter)

    def _shows(self, fault: Subject, found: Instance) -> bool:
        """Whether an enumerated fault fails the check clearly on the instance, and the subject can be handed it."""
        if self._subject(found.case.drafts) is None or not _drawable(fault, found):
            return False
        seen = Gathering(observe_exactly, fault, found.case)
        result = replace(self.check, gather=seen).run()
        return result.verdict is Verdict.FAILED and (result.evidence.total_variation or 1.0) >= CLEAR

    def _gather(self, found: Instance) -> Gathering | None:
        subject = self._subject(found.case.drafts)
        assert isinstance(self.check.gather, Gathering)
        if subject is None or not _drawable(subject, found):
            return None
        return self.check.gather.on(_metered(subject, self.meter), found.case, spot_checks=SPOT_CHECKS)

    def _subject(self, drafts: int) -> Subject | None:
        """The subject for so many drafts, if there is one."""
        if drafts not in self.subjects:
            given = self.subject
            if given.program is not None and given.program.paths is None:
                self.subjects[drafts] = replace(given, drafting=replace(given.drafting, drafts=drafts))
            else:
                self.subjects[drafts] = given if drafts == given.drafting.drafts else self.fewer_drafts(given, drafts)
        return self.subjects[drafts]

    def _sizes(self, best: Instance) -> Iterator[Instance]:
        fewer = best.case.drafts > 1 and self._subject(best.case.drafts - 1) is not None
        return simplify.sizes(best, fewer_drafts=fewer)

    def _new(self, moves: Iterator[Instance], best: Instance, tried: set[Any]) -> Iterator[Instance]:
        """The moves that make the instance smaller and were not tried yet."""
        for new in moves:
            if not self.meter.more():
                return
            if new.cost < best.cost and new.key not in tried:
                tried.add(new.key)
                yield new


def _metered(subject: Subject, meter: Meter) -> Subject:
    """The subject with its calls counted."""
    changes: dict[str, Any] = {}
    for part, method in METERED.items():
        if (wrapped := getattr(subject, part, None)) is not None:
            changes[part] = _Metered(wrapped, method, meter)
    if subject.program is not None:
        changes["program"] = replace(subject.program, verify=_Metered(subject.program, "verify", meter).verify)
    return replace(subject, **changes)


def _drawable(subject: Subject, found: Instance) -> bool:
    """Whether as many distinct drafts as the subject wants can be drawn wherever a step starts."""
    if subject.drafting.replacement:
        return True
    starts = found.draft.items() if found.case.iterated else [((), found.draft[()])]
    return all(sum(share > 0 for share in row) >= found.case.drafts for _, row in starts)
