"""Property ``lossless``: the text has the target's law: its first token, one block, and several iterations.

The first token alone is the claim that most existing tests check; it is judged apart because faults that pass it (stale
rows, a forgotten modified target) fail the joint law.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from specproof.properties.check import Evidence, Finding, counterexample, readable
from specproof.properties.evidence.observation import Observation
from specproof.properties.evidence.sampled import Sample
from specproof.properties.verdict import Verdict
from specproof.reference.law import mapped, total_variation
from specproof.reference.model import Prefix


def first_token(observation: Observation) -> Finding:
    """Judge the law of the first emitted token."""
    head = mapped(observation.text, lambda text: text[:1])
    return _compare(observation, head, mapped(observation.case.target_law, lambda text: text[:1]))


def text(observation: Observation) -> Finding:
    """Judge the joint law of all compared tokens."""
    return _compare(observation, observation.text, observation.case.target_law)


def _compare(observation: Observation, seen: Mapping[Prefix, Any], wanted: Mapping[Prefix, Fraction]) -> Finding:
    exact = observation.kind == "exact"
    distance = total_variation(seen, observation.like(wanted))
    evidence = Evidence(
        observation.kind,
        total_variation=float(distance),
        total_variation_exact=str(distance) if exact else None,
        tolerance=float(observation.tolerance),
        calls=observation.calls or None,
        spot_checks=observation.spot_checks or None,
    )
    size = readable(distance) if exact else f"{float(distance):.2e}"
    if distance > observation.tolerance:
        shown = counterexample(observation.case, wanted, seen, distance)
        return Finding(Verdict.FAILED, f"total variation {readable(distance)} from the target", evidence, shown)
    return Finding(Verdict.HELD, f"total variation {size}", evidence)


def judge_counts(sample: Sample) -> Finding:
    """Judge the counted texts."""
    decided = sample.text
    evidence = Evidence(
        "sampled",
        total_variation=decided.total_variation,
        upper_bound=decided.bound,
        confidence=decided.confidence,
        detectable=decided.detectable,
        draws=sample.counts.draws,
        planned_draws=sample.plan.draws,
        log_e=decided.log_e,
        log_e_path=sample.path,
        alpha=sample.plan.text_alpha,
        classical=vars(sample.classical) if sample.classical else None,
        counts=sample.counts.text.tolist(),
    )
    if decided.refutations:
        named = f"; best explanation: {sample.explanation}" if sample.explanation else ""
        draws = sample.counts.draws
        seen = {
            tuple(int(token) for token in np.unravel_index(code, (sample.case.vocabulary,) * sample.case.horizon)):
                round(count / draws, 5)
            for code, count in enumerate(sample.counts.text.tolist()) if count
        }  # fmt: skip
        shown = counterexample(sample.case, sample.case.target_law, seen, decided.total_variation)
        return Finding(Verdict.FAILED, "; ".join(decided.refutations) + named, evidence, shown)
    if not sample.complete:
        reason = f"stopped after {sample.counts.draws:,} of {sample.plan.draws:,} planned draws"
        return Finding(Verdict.UNDECIDED, reason, evidence)
    reason = (
        f"TV <= {decided.bound:.4f} with confidence 1 - {1 - decided.confidence:.1e} ({sample.counts.draws:,} draws; "
        f"would find {decided.detectable:.4f})"
    )
    return Finding(Verdict.HELD, reason, evidence)
