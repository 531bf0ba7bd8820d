"""The one generator of named checks, behind the command line, ``specproof.certify`` and pytest alike.

Evidence is gathered once for a case and judged by every property. ``checks`` names all of them before anything runs, so
that what did not run can be told from what passed.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from specproof.properties import acceptance, contract, lossless, lossy, support
from specproof.properties.bandit_contract import bandit_contract
from specproof.properties.batching import batch_checks
from specproof.properties.cases import Case, iterated_cases, one_step_cases, sampled_cases
from specproof.properties.check import Evidence, Finding, Judge
from specproof.properties.decoding import decoder_checks
from specproof.properties.degenerate import degenerate_checks
from specproof.properties.driven import driven
from specproof.properties.evidence.exact import observe_exactly
from specproof.properties.evidence.observation import Observation
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.evidence.sampled import SamplePlan, observe_sampled
from specproof.properties.monotonicity import monotone_checks
from specproof.properties.plan import Check, Gathering, Plan, cases, named
from specproof.properties.precision import precision_checks
from specproof.properties.randomness import randomness_checks
from specproof.properties.regret import regret
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided, Verdict
from specproof.properties.vocabulary import large_vocabulary

DRAWS = {"quick": 2**17, "nightly": 2**23, "sampled": 2**17}
LAWS: dict[str, tuple[str, Callable[[Subject, Case], Observation]]] = {
    "rule": ("exact", observe_exactly),
    "verifier": ("probed", observe_probed),
}
TEXT_SHARE = 0.8  # of a case's alpha; the rest goes to its accepted lengths


def checks(subject: Subject, plan: Plan) -> Iterator[Check]:
    """Name every check of a certification, in the order in which they run."""
    if subject.unavailable:
        yield Check("available", "available", "contract", "", "none", _unavailable(subject.unavailable), _never)
        return
    for family in FAMILIES[subject.kind]:
        for check in family(subject, plan):
            yield _out_of_reach(check) if _needs_script(check, subject) else check


def exact_laws(subject: Subject, plan: Plan) -> Iterator[Check]:
    """Laws of a rule by enumeration."""
    if plan.asks_for("exact"):
        yield from laws(subject)


def probed_laws(subject: Subject, plan: Plan) -> Iterator[Check]:
    """Laws of a verifier by scripting its random draws."""
    if plan.asks_for("probed"):
        yield from laws(subject)


def laws(subject: Subject) -> Iterator[Check]:
    """Laws on every case of the suite."""
    for case in cases(one_step_cases, subject) + cases(iterated_cases, subject):
        yield from laws_on(subject, case)


def laws_on(subject: Subject, case: Case) -> Iterator[Check]:
    """Laws on one case: of a rule by enumeration, of a verifier by scripting its random draws."""
    kind, observe = LAWS[subject.kind]
    yield from _law_checks(subject, case, kind, Gathering(observe, subject, case))


def counts_on(subject: Subject, case: Case, plan: SamplePlan) -> Iterator[Check]:
    """What a verifier emits on one case, counted."""
    yield from _count_checks(subject, case, Gathering(observe_sampled, subject, case, plan))


def counts(subject: Subject, plan: Plan) -> Iterator[Check]:
    """What a verifier emits, counted."""
    if plan.evidence in DRAWS:
        sampled = cases(sampled_cases, subject)
        if lossy.declares_loss(subject) and subject.declared is not None:
            sampled = [lossy.expecting_declared(subject, case) for case in sampled]
        for index, case in enumerate(sampled):
            sample_plan = plan_of(plan, case, index, len(sampled))
            sample_plan = replace(sample_plan, draws=subject.affordable(sample_plan.draws))
            yield from _count_checks(
                subject, case, Gathering(observe_sampled, subject, case, sample_plan, plan.deadline, plan.history)
            )


# What is run on a subject of either kind, in this order.
FAMILIES: dict[str, tuple[Callable[[Subject, Plan], Iterator[Check]], ...]] = {
    "rule": (exact_laws, monotone_checks),
    "decoder": (decoder_checks,),
    "verifier": (
        probed_laws,
        driven,
        batch_checks,
        randomness_checks,
        degenerate_checks,
        precision_checks,
        monotone_checks,
        counts,
        large_vocabulary,
    ),
    "bandit": (bandit_contract, regret),
}


def plan_of(plan: Plan, case: Case, index: int, among: int) -> SamplePlan:
    """Draws, alpha and seed of one sampled case: alpha is split evenly, iterated texts cost several calls each."""
    share = plan.alpha_of("counts") / among
    text_share = 1.0 if case.iterated else TEXT_SHARE
    draws = DRAWS[plan.evidence] // (2 if case.iterated else 1)
    return SamplePlan(draws, share * text_share, share * (1 - TEXT_SHARE), plan.seed + 1000 * (index + 1))


def _needs_script(check: Check, subject: Subject) -> bool:
    """Whether a check answers draws that cannot be answered: only what is counted is left then."""
    return "hidden_randomness" in subject.capabilities and check.kind not in ("sampled", "none")


def _out_of_reach(check: Check) -> Check:
    finding = Finding(Verdict.NOT_APPLICABLE, "the subject draws where no script reaches", Evidence(check.kind))
    return replace(check, gather=lambda: None, judge=lambda _: finding)


def _unavailable(reason: str) -> Callable[[], Any]:
    def gather() -> Any:
        raise Undecided(reason)

    return gather


def _never(evidence: Any) -> Finding:
    raise AssertionError(f"nothing is gathered from a subject that cannot be run, got {evidence}")


def _law_checks(subject: Subject, case: Case, kind: str, gather: Gathering) -> Iterator[Check]:
    if lossy.declares_loss(subject):
        judges: list[tuple[str, str, Judge]] = [
            ("contract", "contract", contract.judge_law),
            ("lossless", "declared law", _well_formed(lossy.declared_law(subject))),
        ]
    elif case.iterated:
        judges = [
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
        yield named(name, claim, case, kind, gather, judge)


def _count_checks(subject: Subject, case: Case, gather: Gathering) -> Iterator[Check]:
    yield named("contract", "contract", case, "sampled", gather, contract.judge_counts)
    if lossy.declares_loss(subject):
        if subject.declared is not None:  # a largest deviation alone is judged by laws, not by counts
            yield named("lossless", "declared law", case, "sampled", gather, lossless.judge_counts)
        return
    yield named("support", "support", case, "sampled", gather, support.judge_counts)
    yield named("lossless", "iterations" if case.iterated else "block", case, "sampled", gather, lossless.judge_counts)
    if not case.iterated and subject.declared is not None:
        yield named("acceptance", "declared acceptance", case, "sampled", gather, acceptance.judge_counts)


def _well_formed(judge: Callable[[Observation], Finding]) -> Judge:
    """Laws of answers that break the contract mean nothing: only the contract is judged then."""

    def judged(observation: Observation) -> Finding:
        probability, reason = contract.broken(observation)
        if probability > 0:
            return Finding(Verdict.UNDECIDED, f"the contract is broken: {reason}", Evidence(observation.kind))
        return judge(observation)

    return judged
