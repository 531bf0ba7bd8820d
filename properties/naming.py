"""The name of a fault: the mutants whose law on a case is the subject's own."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from specproof.fast.batch import Drafting
from specproof.properties.evidence.exact import observe_exactly
from specproof.properties.evidence.observation import Observation
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.mutants import MUTANTS
from specproof.properties.subject import Subject, subject_of_rule
from specproof.properties.verdict import Undecided
from specproof.reference.law import total_variation

CLOSE = 1e-6  # laws that agree to float rounding


@cache
def named_subject(name: str) -> Subject | None:
    """A mutant to compare laws with: enumerated where it is a rule. None for a control, or one without a program."""
    given = MUTANTS[name]
    if given.control or given.program is None:
        return None
    rule = given.rule(name)
    return given.subject(name) if rule is None else subject_of_rule(rule, name=name, version="1", drafts=given.drafts)


def fault_name(name: str) -> str:
    """How a fault is named to a reader."""
    return f"{MUTANTS[name].fault} (mutant:{name})"


def enumerable(name: str) -> bool:
    """Whether the law of a mutant is found by enumeration, which is cheap."""
    found = named_subject(name)
    return found is not None and found.kind == "rule"


def candidates(drafting: Drafting) -> list[str]:
    """The mutants that verify as many drafts, drawn alike: those that are enumerated first."""
    found = {name: named_subject(name) for name in MUTANTS}
    alike = [name for name, given in found.items() if given is not None and given.drafting == drafting]
    return sorted(alike, key=lambda name: not enumerable(name))


def matching(seen: Observation, names: Iterable[str], limited: Callable[[Subject], Subject]) -> Iterator[str]:
    """Those of the named mutants whose step (over iterations, whose text) has the observed law.

    ``limited`` gives a subject that raises ``Undecided`` when it may run no more; a mutant that does has no known law. A text
    with the target's own law names no fault.
    """
    if total_variation(seen.text, seen.case.target_law) <= CLOSE:
        return
    for name in names:
        known = named_subject(name)
        if known is None:
            continue
        subject = limited(known)
        try:
            if subject.kind == "rule":
                own = observe_exactly(subject, seen.case)
            else:
                own = observe_probed(subject, seen.case, spot_checks=0)
        except Undecided:
            continue
        # Texts differ in how what follows an impossible token is written: steps say more, where there are any.
        laws = (own.text, seen.text) if seen.case.iterated else (own.steps, seen.steps)
        if total_variation(*laws) <= CLOSE:
            yield name
