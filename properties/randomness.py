"""Property ``randomness``: no two requests, calls or seeds share random numbers, and a seed decides everything.

The same request is verified over and over: the answers of two slots of a batch, of two calls, of two seeds must be
independent, tested on pairs by exact tests that need no law (``evidence.independence``). Subjects that take seeds are also
run twice with the same ones while the global generators are in another state, and from the very seed that has drawn their
drafts: the noise of the draft must not come back in the coins.

LIMITS. Positions of one request are judged by their joint law (``lossless``). Weaker couplings than the stated correlation
pass, and so does a stream that comes back after more calls than were made.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from specproof.properties.check import Evidence, Finding
from specproof.properties.evidence.attributed import takes_seeds
from specproof.properties.evidence.e_process import EProcess
from specproof.properties.evidence.independence import (
    TESTS,
    Answers,
    Pairing,
    at_distance,
    detectable_correlation,
    in_consecutive_calls,
    pairing,
)
from specproof.properties.evidence.power import detectable_total_variation
from specproof.properties.evidence.streams import (
    DRAFTERS,
    SHARED_TARGET,
    Repeated,
    drafted_with_its_seed,
    from_generator,
    from_seeds,
    repeat,
    repeated_request,
)
from specproof.properties.plan import Check, Gathering, Plan, named
from specproof.properties.subject import Subject
from specproof.properties.verdict import Verdict

CLAIM = "independent requests"
OUTCOMES = {"quick": 2**14, "sampled": 2**14, "nightly": 2**20}
DRAFTED = {"quick": 2**15, "sampled": 2**15, "nightly": 2**18}
ALPHA_PART = 2 / 9  # of what independence may spend: with ``batching`` a tenth of the run's
PARTS = 2 + len(DRAFTERS)  # checks that count: from a generator, from seeds, and one for each drafter


def randomness_checks(subject: Subject, plan: Plan) -> Iterator[Check]:
    """Name the checks of a verifier."""
    if plan.asks_for("driven"):
        yield named(
            "randomness",
            CLAIM,
            "same seed",
            "driven",
            Gathering(repeat, subject, plan.seed),
            partial(judge_repeated, subject),
        )
    if plan.evidence not in OUTCOMES:
        return
    alpha = plan.alpha_of("independence") * ALPHA_PART / PARTS
    outcomes = OUTCOMES[plan.evidence]
    streams = Gathering(_slots_and_calls, subject, outcomes, plan.seed)
    yield named("randomness", CLAIM, "slots and calls", "sampled", streams, partial(judge_pairs, alpha))
    if "takes_uniforms" not in subject.capabilities:
        return
    yield named(
        "randomness",
        CLAIM,
        "seeds",
        "sampled",
        Gathering(_seeds, subject, 4 * outcomes, plan.seed),
        partial(judge_pairs, alpha),
    )
    if subject.drafting.replacement and "lossy_by_design" not in subject.capabilities:
        for drafter in DRAFTERS:
            drafted = Gathering(_drafted, subject, drafter, DRAFTED[plan.evidence], alpha, plan.seed)
            yield named("randomness", CLAIM, f"drafted by {drafter}", "sampled", drafted, judge_drafted)


def _slots_and_calls(subject: Subject, outcomes: int, seed: int) -> list[Pairing]:
    """Pairs of one generator's answers: slots of one call, and one slot of consecutive calls."""
    found = from_generator(subject, outcomes, seed)
    calls, batch = found.codes.shape
    pairs = [pairing("consecutive calls", found, *in_consecutive_calls(calls, batch))]
    if batch > 1:
        pairs += [
            pairing("neighbouring requests", found, *at_distance(calls, batch, 1)),
            pairing("requests half a batch apart", found, *at_distance(calls, batch, batch // 2)),
        ]
    return pairs


def _seeds(subject: Subject, outcomes: int, seed: int) -> list[Pairing] | None:
    """Pairs of answers from different seeds; None for a subject that takes none."""
    if not takes_seeds(subject, repeated_request(subject, 2)):
        return None
    found = from_seeds(subject, outcomes, seed)
    calls, batch = found.codes.shape
    low = Answers(found.codes[:, : batch // 2], found.kept[:, : batch // 2])
    return [
        pairing("consecutive seeds", low, *at_distance(calls, batch // 2, 1)),
        pairing("seeds that differ in their high bits", found, *at_distance(calls, batch, batch // 2)),
    ]


def judge_pairs(alpha: float, found: list[Pairing] | None) -> Finding:
    """Judge the pairings, each at its part of ``alpha``."""
    if found is None:
        return Finding(Verdict.NOT_APPLICABLE, "the subject takes no seeds", Evidence("sampled"))
    each = alpha / (TESTS * len(found))
    pairs = min(one.pairs for one in found)
    detectable = detectable_correlation(pairs, each)
    worst = min(found, key=lambda one: one.p_value)
    evidence = Evidence(
        "sampled", draws=sum(one.pairs for one in found), planned_draws=sum(one.pairs for one in found), alpha=alpha,
        detectable=detectable, observed=worst.correlation, expected=0.0,
    )  # fmt: skip
    if worst.p_value <= each:
        reason = (
            f"{worst.name}: {worst.equal:.3f} of {worst.pairs:,} pairs of answers are equal, correlation of what is kept "
            f"{worst.correlation:.3f}; independent answers differ so much with probability {worst.p_value:.1e}"
        )
        return Finding(Verdict.FAILED, reason, evidence)
    names = ", ".join(one.name for one in found)
    return Finding(
        Verdict.HELD, f"{names}: independent ({pairs:,} pairs; would find correlation {detectable:.3f})", evidence
    )


def judge_repeated(subject: Subject, found: Repeated) -> Finding:
    """Judge requests that were verified twice with the same randomness."""
    evidence = Evidence("driven", calls=2 * found.requests, observed=float(found.different), expected=0.0)
    what = "seeds" if found.explicit else "generator"
    if found.different and found.explicit:
        reason = f"{found.different} of {found.requests} requests get another answer from the same seed the second time"
        return Finding(Verdict.FAILED, reason, evidence)
    notes = []
    if (found.consumed or found.different) and "global_rng" not in subject.capabilities:
        notes.append(f"draws from elsewhere than the {what} that it is handed; declare global_rng where that is meant")
    if found.different:
        return Finding(
            Verdict.NOT_APPLICABLE, "the subject does not draw from the generator alone", evidence, notes=notes
        )
    return Finding(
        Verdict.HELD, f"{found.requests} requests get the same answer from the same {what}", evidence, notes=notes
    )


@dataclass(frozen=True)
class Drafted:
    """First tokens of requests that were drafted and verified from one seed."""

    counts: list[int]
    planned: int
    log_e: float
    alpha: float


def _drafted(subject: Subject, drafter: str, requests: int, alpha: float, seed: int) -> Drafted | None:
    """Count until the law is refuted or all requests were verified; None for a subject that takes no seeds."""
    if not takes_seeds(subject, repeated_request(subject, 2)):
        return None
    process = EProcess(np.array(SHARED_TARGET))
    counts, log_e = np.zeros(len(SHARED_TARGET), dtype=np.int64), 0.0
    for counts in drafted_with_its_seed(subject, drafter, requests, seed):
        log_e = float(process.log_e(counts))
        if log_e >= math.log(1 / alpha):
            break
    return Drafted(counts.tolist(), requests, log_e, alpha)


def judge_drafted(found: Drafted | None) -> Finding:
    """Judge the first tokens of requests that were drafted with the seed that verifies them."""
    if found is None:
        return Finding(Verdict.NOT_APPLICABLE, "the subject takes no seeds", Evidence("sampled"))
    draws = sum(found.counts)
    detectable = detectable_total_variation(len(SHARED_TARGET), found.planned, found.alpha)
    evidence = Evidence(
        "sampled", draws=draws, planned_draws=found.planned, log_e=found.log_e, alpha=found.alpha,
        detectable=detectable, counts=found.counts,
    )  # fmt: skip
    if found.log_e >= math.log(1 / found.alpha):
        seen = [round(count / draws, 4) for count in found.counts]
        reason = f"drafted and verified from one seed the first token has {seen}, the target is {list(SHARED_TARGET)}"
        return Finding(Verdict.FAILED, reason, evidence)
    return Finding(
        Verdict.HELD, f"the draft's noise does not come back ({draws:,} seeds; would find {detectable:.3f})", evidence
    )
