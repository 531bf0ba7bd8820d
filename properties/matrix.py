"""Every mutant before the suite: which property convicts it, on what evidence, and at what cost; every control acquitted.

A mutant is run on the cheapest evidence that can see it, case by case, until the property that it names convicts it; all
checks that share that case's evidence are then judged too, which names the weakest claim that falls. A control runs
through everything.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from specproof.properties.cases import Case
from specproof.properties.check import CLAIMS, CheckResult, readable
from specproof.properties.decoder_cases import DecoderCase
from specproof.properties.decoder_runs import probe, row_of
from specproof.properties.evidence.exact import observe_exactly
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.mutants import MUTANTS
from specproof.properties.mutants.mutant import Mutant
from specproof.properties.plan import Check, Plan
from specproof.properties.subject import Subject, subject_of_rule
from specproof.properties.suite import checks
from specproof.properties.verdict import Undecided, Verdict
from specproof.reference.law import total_variation


@dataclass(frozen=True)
class Entry:
    """One row of the matrix. ``planned`` and ``spent`` are texts for evidence that counts, calls for that which probes."""

    mutant: str
    fault: str
    fault_id: tuple[str, ...]
    control: bool
    property: str
    claim: str
    as_expected: bool
    verdict: str
    evidence: str
    case: str | None
    weakest_violated: str | None
    total_variation: str | None
    published: str | None
    unit: str
    planned: int | None
    spent: int | None
    reason: str


def subject_for(name: str) -> Subject:
    """The subject that the matrix examines: a rule to enumerate where the mutant is one."""
    given = MUTANTS[name]
    rule = given.rule(name)
    if rule is None:
        return given.subject(name)
    return subject_of_rule(rule, name=f"mutant:{name}", version="1", drafts=given.drafts)


def plan_for(given: Mutant, subject: Subject) -> Plan:
    """The cheapest evidence that can see the fault."""
    return Plan(given.evidence or ("exact" if subject.kind == "rule" else "probed"))  # type: ignore[arg-type]


def examine(name: str, on_check: Callable[[str], None] | None = None) -> Entry:
    """Run one mutant or control, and say whether it is convicted or acquitted as it should be."""
    given = MUTANTS[name]
    subject = subject_for(name)
    plan = plan_for(given, subject)
    results = list(_run(given, list(checks(subject, plan)), on_check))
    failed = [result for result in results if result.verdict is Verdict.FAILED]
    weakest = _weakest(failed)
    convicted = next((result for result in failed if result.property == given.property), None)
    if given.control:
        judged = [result for result in results if result.property not in given.gives_up]
        as_expected = {result.verdict for result in judged} - {Verdict.NOT_APPLICABLE} == {Verdict.HELD}
        failed = [result for result in judged if result.verdict is Verdict.FAILED]
        weakest, shown = _weakest(failed), failed[0] if failed else None
        verdict = "acquitted" if as_expected else ("convicted" if failed else "undecided")
    else:
        as_expected, shown = convicted is not None and weakest == given.violates, convicted
        verdict = "convicted" if convicted is not None else "escaped"
    planned, spent, unit = _cost(results, shown)
    return Entry(
        name, given.fault, given.fault_id, given.control, given.property, given.violates, as_expected, verdict,
        shown.evidence.kind if shown else plan.evidence, shown.case if shown else None, weakest,
        distance(given, subject), given.distance, unit, planned, spent, _reason(results, shown),
    )  # fmt: skip


def _weakest(failed: list[CheckResult]) -> str | None:
    return next((claim for claim in CLAIMS if claim in {result.claim for result in failed}), None)


def _run(given: Mutant, planned: list[Check], on_check: Callable[[str], None] | None) -> Iterator[CheckResult]:
    """The checks of one case after the other, until the named property has convicted."""
    for _, group in groupby(planned, key=lambda check: (check.kind, check.case)):
        together = list(group)
        if not given.control and all(check.property != given.property for check in together):
            continue
        named_first = sorted(together, key=lambda check: check.property != given.property)
        convicted = False
        for check in named_first:
            if on_check is not None:
                on_check(check.id)
            if not given.control and check.property != given.property and not convicted:
                break
            result = check.run()
            convicted |= result.verdict is Verdict.FAILED
            yield result
        if convicted and not given.control:
            return


def _cost(results: list[CheckResult], shown: CheckResult | None) -> tuple[int | None, int | None, str]:
    """Planned and spent draws or calls: of the conviction, or of all evidence of a control, each case once."""
    if shown is not None:
        seen = [shown]
    else:
        seen = list({(result.case, result.evidence.kind): result for result in results}.values())
    drawn = [result.evidence for result in seen if result.evidence.draws]
    if drawn:
        return sum(e.planned_draws or e.draws or 0 for e in drawn), sum(e.draws or 0 for e in drawn), "draws"
    calls = sum(result.evidence.calls or 0 for result in seen)
    return (calls, calls, "calls") if calls else (None, None, "enumerated")


def _reason(results: list[CheckResult], shown: CheckResult | None) -> str:
    if shown is not None:
        return shown.reason
    undecided = next((result.reason for result in results if result.verdict is Verdict.UNDECIDED), "")
    return undecided or f"{sum(result.verdict is Verdict.HELD for result in results)} checks held"


def measured(given: Mutant, subject: Subject) -> Fraction | float | None:
    """Total variation from the target on the mutant's own instance; None without one or where no law can be read."""
    case: Any = given.instance
    if given.evidence == "sampled":  # its law cannot be read off
        return None
    try:
        if isinstance(case, DecoderCase):
            return float(total_variation(probe(subject, case).text, case.target_law(row_of(subject))))
        if not isinstance(case, Case):
            return None
        seen = observe_exactly(subject, case) if subject.kind == "rule" else observe_probed(subject, case)
    except Undecided:
        return None
    found: Fraction | float = total_variation(seen.text, case.target_law)
    return found


def distance(given: Mutant, subject: Subject) -> str | None:
    """``measured``, to be read."""
    found = measured(given, subject)
    if isinstance(found, float):
        return f"{abs(found):.6f}"
    return None if found is None else readable(found)
