"""The one generator of named checks, behind the command line, ``specproof.certify`` and pytest alike.

Evidence is gathered once for a case and judged by every property. ``planned`` names all checks before anything runs, so
that what did not run can be told from what passed.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from specproof.properties import acceptance, contract, lossless, support
from specproof.properties.cases import Case, iterated_cases, one_step_cases, sampled_cases
from specproof.properties.check import CheckResult, Evidence, Finding, Judge
from specproof.properties.evidence.exact import observe_exactly
from specproof.properties.evidence.observation import Observation
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.evidence.sampled import SamplePlan, observe_sampled
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided, Verdict

EvidenceChoice = Literal["quick", "nightly", "exact", "probed", "sampled"]
DRAWS = {"quick": 2**17, "nightly": 2**23, "sampled": 2**17}
FAMILY_ALPHA = 1e-6
TEXT_SHARE = 0.8  # of a case's alpha; the rest goes to its accepted lengths


@dataclass(frozen=True)
class Plan:
    """What one certification runs. ``seconds`` limits the sampled evidence, which then ends UNDECIDED."""

    evidence: EvidenceChoice = "quick"
    seed: int = 0
    seconds: float | None = None
    alpha: float = FAMILY_ALPHA


@dataclass(frozen=True)
class Check:
    """A named check that has not run yet."""

    id: str
    property: str
    claim: str
    case: str
    kind: str
    run: Callable[[], CheckResult] = field(repr=False)


class _Gathering:
    """Evidence on one case, gathered when first asked for and kept, also when it failed."""

    def __init__(self, gather: Callable[[], Any]) -> None:
        self._gather = gather
        self._known = False
        self._found: Any = None
        self._reason: Undecided | None = None

    def __call__(self) -> Any:
        if not self._known:
            try:
                self._found = self._gather()
            except Undecided as reason:
                self._reason = reason
            self._known = True
        if self._reason is not None:
            raise self._reason
        return self._found


def checks(subject: Subject, plan: Plan) -> Iterator[Check]:
    """Name every check of a certification, in the order in which they run."""
    if subject.unavailable:
        yield Check("available", "available", "contract", "", "none", _unavailable(subject.unavailable))
        return
    deadline = time.monotonic() + plan.seconds if plan.seconds is not None else float("inf")
    if subject.kind == "rule":
        if plan.evidence in ("quick", "nightly", "exact"):
            for case in cases(one_step_cases, subject) + cases(iterated_cases, subject):
                yield from _law_checks(subject, case, "exact", _Gathering(_bind(observe_exactly, subject, case)))
        return
    if plan.evidence in ("quick", "nightly", "probed"):
        for case in cases(one_step_cases, subject) + cases(iterated_cases, subject):
            yield from _law_checks(subject, case, "probed", _Gathering(_bind(observe_probed, subject, case)))
    if plan.evidence in DRAWS:
        sampled = cases(sampled_cases, subject)
        for index, case in enumerate(sampled):
            sample_plan = plan_of(plan, case, index, len(sampled))
            gather = _bind(observe_sampled, subject, case, sample_plan, deadline)
            yield from _count_checks(subject, case, _Gathering(gather))


def cases(make: Callable[[int], list[Case]], subject: Subject) -> list[Case]:
    """The cases of a kind for as many drafts as the subject takes, drawn in the way it wants them."""
    made = make(subject.drafting.drafts)
    return made if subject.drafting.replacement else [case for case in made if case.allows_distinct_drafts]


def plan_of(plan: Plan, case: Case, index: int, among: int) -> SamplePlan:
    """Draws, alpha and seed of one sampled case: alpha is split evenly, iterated texts cost several calls each."""
    share = plan.alpha / among
    text_share = 1.0 if case.iterated else TEXT_SHARE
    draws = DRAWS[plan.evidence] // (2 if case.iterated else 1)
    return SamplePlan(draws, share * text_share, share * (1 - TEXT_SHARE), plan.seed + 1000 * (index + 1))


def _bind(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    return lambda: function(*arguments)


def _unavailable(reason: str) -> Callable[[], CheckResult]:
    return lambda: CheckResult("available", "available", "contract", "", Verdict.UNDECIDED, reason, Evidence("none"))


def _law_checks(subject: Subject, case: Case, kind: str, gather: _Gathering) -> Iterator[Check]:
    if case.iterated:
        judges: list[tuple[str, str, Judge]] = [
            ("contract", "contract", contract.judge_law),
            ("lossless", "iterations", _well_formed(lossless.text)),
        ]
    else:
        judges = [
            ("contract", "contract", contract.judge_law),
            ("support", "support", _well_formed(support.judge_law)),
            ("lossless", "first token", _well_formed(lossless.first_token)),
            ("lossless", "block", _well_formed(lossless.text)),
            ("acceptance", "declared acceptance", _well_formed(lambda seen: acceptance.declared(subject, seen))),
            ("acceptance", "acceptance ceiling", _well_formed(lambda seen: acceptance.ceiling(subject, seen))),
        ]
    for name, claim, judge in judges:
        yield _named(name, claim, case, kind, gather, judge)


def _count_checks(subject: Subject, case: Case, gather: _Gathering) -> Iterator[Check]:
    yield _named("contract", "contract", case, "sampled", gather, contract.judge_counts)
    yield _named("support", "support", case, "sampled", gather, support.judge_counts)
    yield _named("lossless", "iterations" if case.iterated else "block", case, "sampled", gather, lossless.judge_counts)
    if not case.iterated and subject.declared is not None:
        yield _named("acceptance", "declared acceptance", case, "sampled", gather, acceptance.judge_counts)


def _well_formed(judge: Callable[[Observation], Finding]) -> Judge:
    """Laws of answers that break the contract mean nothing: only the contract is judged then."""

    def judged(observation: Observation) -> Finding:
        probability, reason = contract.broken(observation)
        if probability > 0:
            return Finding(Verdict.UNDECIDED, f"the contract is broken: {reason}", Evidence(observation.kind))
        return judge(observation)

    return judged


def _named(name: str, claim: str, case: Case, kind: str, gather: _Gathering, judge: Judge) -> Check:
    identity = f"{name}.{claim.replace(' ', '_')}[{kind}:{case.name.replace(' ', '_')}]"

    def run() -> CheckResult:
        try:
            found = judge(gather())
        except Undecided as reason:
            found = Finding(Verdict.UNDECIDED, str(reason), Evidence(kind))
        return CheckResult(
            identity, name, claim, case.name, found.verdict, found.reason, found.evidence, found.counterexample,
            found.notes,
        )  # fmt: skip

    return Check(identity, name, claim, case.name, kind, run)
