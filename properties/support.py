"""Property ``support``: no text that the target rules out, ever.

Exact evidence allows nothing. Probed evidence allows what single precision explains: a uniform of exactly zero (2^-24)
that lets an impossible draft pass is reported as a note, not as a failure. Counting allows nothing.
"""

from specproof.properties.check import Evidence, Finding, counterexample
from specproof.properties.evidence.observation import Observation
from specproof.properties.evidence.sampled import Sample
from specproof.properties.verdict import Verdict


def judge_law(observation: Observation) -> Finding:
    """Judge the law of the text."""
    case, allowed = observation.case, observation.case.target_law
    outside = {text: mass for text, mass in observation.text.items() if text not in allowed and mass > 0}
    lost = sum(outside.values())
    evidence = Evidence(
        observation.kind, observed=float(lost), expected=0.0, tolerance=float(observation.tolerance),
        calls=observation.calls,
    )  # fmt: skip
    if lost > observation.tolerance:
        worst = max(outside, key=outside.__getitem__)
        shown = counterexample(case, allowed, observation.text, lost)
        reason = f"text {worst} has probability {float(outside[worst]):.3g} and is impossible under the target"
        return Finding(Verdict.FAILED, reason, evidence, shown)
    notes = []
    if lost:
        worst = max(outside, key=outside.__getitem__)
        notes.append(
            f"{case.name}: a draw at the edge of its range emits the impossible text {worst}, {float(lost):.1e}"
        )
    return Finding(Verdict.HELD, "nothing impossible is emitted", evidence, notes=notes)


def judge_counts(sample: Sample) -> Finding:
    """Judge the sampled texts: a single impossible one refutes, with no false alarm possible."""
    evidence = Evidence("sampled", observed=float(sample.impossible), expected=0.0, draws=sample.counts.draws)
    if sample.impossible:
        return Finding(Verdict.FAILED, f"{sample.impossible} texts are impossible under the target", evidence)
    if sample.counts.draws == 0:
        return Finding(Verdict.UNDECIDED, "nothing was drawn", evidence)
    return Finding(Verdict.HELD, f"none of {sample.counts.draws:,} texts is impossible", evidence)
