"""Property ``acceptance``: as many tokens as the declared rule accepts, and never more than a lossless rule can.

A rule that keeps the law can still be the wrong rule (an option that is accepted and ignored); its mean number of accepted
tokens shows it. A mean above the ceiling proves by itself that the law is lost.
"""

from fractions import Fraction
from typing import Any

from specproof.properties.cases import Case
from specproof.properties.check import Evidence, Finding, counterexample
from specproof.properties.evidence.observation import Observation
from specproof.properties.evidence.sampled import Sample
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided, Verdict
from specproof.reference.ceilings import level
from specproof.reference.exact import check_instance, step_law
from specproof.reference.law import law, mapped, total_variation
from specproof.reference.model import Prefix, joint
from specproof.reference.verifiers.recursive_without_replacement import distinct_drafts


def declared(subject: Subject, observation: Observation) -> Finding:
    """Compare the mean with the exact value of the rule that the subject declares."""
    case, rule = observation.case, subject.declared
    if rule is None:
        reason = "the subject is its own rule" if subject.kind == "rule" else "the subject declares no rule"
        return Finding(Verdict.NOT_APPLICABLE, reason, Evidence(observation.kind))
    try:
        check_instance(rule, case.target, case.draft, drafts=case.drafts, length=case.length)
        steps = step_law(rule, case.target, case.draft, drafts=case.drafts, length=case.length)
    except ValueError as error:
        raise Undecided(f"the declared rule cannot be run: {error}") from error
    promised = sum(len(step.accepted) * mass for step, mass in steps.items())
    seen = observation.expected_accepted
    evidence = _evidence(observation, float(promised))
    if abs(float(seen) - float(promised)) > case.length * observation.tolerance:
        reason = f"accepts {float(seen):.6f} tokens on average, {rule.name} accepts {float(promised):.6f}"
        wanted: dict[Prefix, Fraction] = mapped(steps, lambda step: (len(step.accepted),))
        counted: dict[Prefix, Any] = {(count,): mass for count, mass in observation.accepted_law.items()}
        shown = counterexample(case, wanted, counted, total_variation(counted, wanted), of="accepted tokens")
        return Finding(Verdict.FAILED, reason, evidence, shown)
    return Finding(Verdict.HELD, f"accepts {float(seen):.6f} tokens on average, as {rule.name} does", evidence)


def ceiling(subject: Subject, observation: Observation) -> Finding:
    """Compare the mean with what no lossless rule exceeds on drafts that are drawn in this way."""
    case = observation.case
    if subject.drafting.replacement:
        limit = level(case.target, case.draft, drafts=case.drafts, length=case.length)
    else:
        limit = _distinct_union(case)
    seen = observation.expected_accepted
    evidence = _evidence(observation, float(limit))
    if seen > limit + case.length * observation.tolerance:
        reason = f"accepts {float(seen):.6f} tokens on average, a lossless rule at most {float(limit):.6f}"
        return Finding(Verdict.FAILED, reason, evidence)
    return Finding(Verdict.HELD, f"{float(seen):.6f} tokens, at most {float(limit):.6f} are possible", evidence)


def _distinct_union(case: Case) -> Fraction:
    """Sum of ``min(target(z), P(some draft contains z))`` over drafts without replacement."""
    contained: dict[Prefix, Fraction] = {}
    for paths, mass in law(lambda chance: distinct_drafts(chance, case.draft, case.drafts, case.length)).items():
        for prefix in {path[:i] for path in paths for i in range(1, case.length + 1)}:
            contained[prefix] = contained.get(prefix, Fraction(0)) + mass
    limits = (min(joint(case.target, (), prefix), mass) for prefix, mass in contained.items())
    return sum(limits, start=Fraction(0))


def _evidence(observation: Observation, expected: float) -> Evidence:
    return Evidence(
        observation.kind, expected=expected, observed=float(observation.expected_accepted),
        tolerance=float(observation.tolerance) * observation.case.length, calls=observation.calls or None,
    )  # fmt: skip


def judge_counts(sample: Sample) -> Finding:
    """Judge the counted lengths against the exact law of the declared rule."""
    decided = sample.accepted
    if decided is None:
        return Finding(Verdict.NOT_APPLICABLE, "the subject declares no rule", Evidence("sampled"))
    evidence = Evidence(
        "sampled", total_variation=decided.total_variation, upper_bound=decided.bound, confidence=decided.confidence,
        detectable=decided.detectable, draws=sample.counts.draws, planned_draws=sample.plan.draws, log_e=decided.log_e,
        alpha=sample.plan.accepted_alpha, counts=sample.counts.accepted.tolist(),
    )  # fmt: skip
    if decided.refutations:
        return Finding(Verdict.FAILED, "accepted lengths: " + "; ".join(decided.refutations), evidence)
    if not sample.complete:
        reason = f"stopped after {sample.counts.draws:,} of {sample.plan.draws:,} planned draws"
        return Finding(Verdict.UNDECIDED, reason, evidence)
    return Finding(Verdict.HELD, f"accepted lengths within TV {decided.bound:.4f} of the declared rule", evidence)
