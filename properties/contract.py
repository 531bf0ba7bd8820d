"""Property ``contract``: every answer has the shape, types, ids and lengths that ``fast.batch`` promises.

LIMITS. Only calls that were made can be judged: probed evidence weighs violations by their exact probability.
"""

from specproof.properties.check import Evidence, Finding, counterexample
from specproof.properties.evidence.calls import Violation
from specproof.properties.evidence.observation import Observation
from specproof.properties.evidence.sampled import Sample
from specproof.properties.verdict import Verdict


def broken(observation: Observation) -> tuple[float, str]:
    """Probability that an answer breaks the contract, and the most frequent reason."""
    reasons = {
        returned.reason: float(mass)
        for returned, mass in observation.steps.items()
        if isinstance(returned, Violation) and mass > 0
    }
    return sum(reasons.values()), max(reasons, key=reasons.__getitem__, default="")


def judge_law(observation: Observation) -> Finding:
    """Judge the law of one step."""
    probability, reason = broken(observation)
    evidence = Evidence(observation.kind, calls=observation.calls, observed=probability, expected=0.0)
    if probability > 0:
        case = observation.case
        shown = counterexample(case, case.target_law, observation.text, probability)
        return Finding(Verdict.FAILED, f"{reason} (probability {probability:.3g})", evidence, shown)
    return Finding(Verdict.HELD, "every answer is well formed", evidence)


def judge_counts(sample: Sample) -> Finding:
    """Judge the sampled answers."""
    evidence = Evidence("sampled", draws=sample.counts.draws, planned_draws=sample.plan.draws)
    if sample.counts.violation:
        return Finding(Verdict.FAILED, sample.counts.violation, evidence)
    if sample.counts.draws == 0:
        return Finding(Verdict.UNDECIDED, "nothing was drawn", evidence)
    return Finding(Verdict.HELD, f"{sample.counts.draws:,} answers are well formed", evidence)
