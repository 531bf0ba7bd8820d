"""Exact evidence: a subject written over ``Chance`` is enumerated, and its laws come out as fractions.

LIMITS. The rule is judged on the instances that were enumerated, with models that are tables; code that implements the rule
elsewhere is not. There is no rounding and no chance in it, so nothing has to be spot-checked.
"""

from specproof.properties.cases import Case
from specproof.properties.evidence.calls import Emitted, Returned
from specproof.properties.evidence.observation import Mass, Observation
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided
from specproof.reference.exact import check_instance, completed, step_law
from specproof.reference.law import mapped
from specproof.reference.step import decode_law


def observe_exactly(subject: Subject, case: Case) -> Observation:
    """Enumerate the subject's rule on the case. Raises ``Undecided`` where the rule itself raises."""
    rule = subject.program
    assert rule is not None
    size = {"drafts": case.drafts, "length": case.length}
    try:
        check_instance(rule, case.target, case.draft, **size)
        if case.iterated:
            text = decode_law(rule.verify, case.target, case.draft, tokens=case.horizon, drafter=rule.drafter, **size)
            return Observation(case, "exact", {}, text, 0)
        steps = step_law(rule, case.target, case.draft, **size)
        text = completed(steps, case.horizon)
    except Exception as error:
        raise Undecided(f"the rule raised {type(error).__name__}: {error}") from error
    emitted: dict[Returned, Mass] = mapped(steps, lambda step: Emitted(len(step.accepted), step.tokens))
    return Observation(case, "exact", emitted, text, 0)
