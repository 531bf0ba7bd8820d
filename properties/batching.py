"""Property ``batching``: what a request gets does not depend on the batch it is verified in.

With random numbers of its own (a seed, or scripted draws) every request must get the answer that it gets alone: in batches of
any size, in any order, twice in one call, padded to longer neighbours, among greedy ones and ones without draft rows, and
when the same batch is verified again. Where draws cannot be attributed to requests, the joint law of two requests in one
call must be the product of their laws alone. Counting then watches every row of one large batch.
"""

from collections.abc import Iterator
from functools import partial

from specproof.properties.check import Evidence, Finding
from specproof.properties.evidence.arranged import REQUESTS, Arranged, compare_scripted, compare_with_seeds
from specproof.properties.evidence.rows import CountedRows, RowPlan, count_rows, observed_share
from specproof.properties.evidence.together import Together, observe_together
from specproof.properties.plan import Check, Gathering, Plan, named
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided, Verdict

CLAIM = "independent requests"
ALL_REQUESTS = 4096  # in the nightly battery every one of so many requests is looked at
ROWS = {"quick": (65, 512), "sampled": (65, 512), "nightly": (ALL_REQUESTS, 1024)}  # requests in a batch, calls
ALPHA_PART = 1 / 9  # of what independence may spend
TOLERANCE = 2e-6  # of a law of two requests


def batch_checks(subject: Subject, plan: Plan) -> Iterator[Check]:
    """Name the checks of a verifier that takes batches; others verify one request at a time and have none."""
    if "batch" not in subject.capabilities:
        return
    requests = ALL_REQUESTS if plan.evidence == "nightly" else REQUESTS
    if plan.asks_for("driven") and "takes_uniforms" in subject.capabilities:
        seeds = Gathering(compare_with_seeds, subject, requests, plan.seed)
        yield named("batching", CLAIM, "a seed each", "driven", seeds, judge_arranged)
    if plan.asks_for("probed"):
        scripts = Gathering(_scripted, subject, requests, plan.seed)
        yield named("batching", CLAIM, "draws of its own", "probed", scripts, judge_scripted)
    if plan.evidence in ROWS:
        count, calls = ROWS[plan.evidence]
        rows = RowPlan(count, calls, plan.alpha_of("independence") * ALPHA_PART, plan.seed)
        counted = Gathering(count_rows, subject, rows)
        yield named("batching", CLAIM, "every row", "sampled", counted, partial(judge_rows, subject))


def _scripted(subject: Subject, requests: int, seed: int) -> Arranged | Together:
    """Compare request by request where that is possible, and the law of two requests otherwise."""
    try:
        return compare_scripted(subject, requests, seed)
    except Undecided:
        return observe_together(subject, seed)


def judge_scripted(found: Arranged | Together) -> Finding:
    """Judge what scripted draws show."""
    if isinstance(found, Arranged):
        return judge_arranged(found, "probed")
    evidence = Evidence("probed", total_variation=found.distance, tolerance=TOLERANCE, calls=found.calls)
    pair = "requests {} and {}".format(*found.pair)
    if found.distance > TOLERANCE:
        reason = f"the law of {pair} in one call is {found.distance:.3g} (total variation) from their laws alone"
        return Finding(Verdict.FAILED, reason, evidence)
    return Finding(
        Verdict.HELD, f"two requests in one call have the product of their laws ({found.distance:.1e})", evidence
    )


def judge_arranged(found: Arranged | None, kind: str = "driven") -> Finding:
    """Judge the answers in batches against the answers alone."""
    if found is None:
        return Finding(Verdict.NOT_APPLICABLE, "the subject takes no seeds", Evidence(kind))
    evidence = Evidence(kind, calls=found.calls, observed=float(found.difference is not None), expected=0.0)
    if found.difference is not None:
        return Finding(Verdict.FAILED, str(found.difference), evidence)
    notes = []
    if found.rounded:
        notes.append(
            f"{found.rounded} answers in a batch differ from the answer alone, and their law does not: rounding"
        )
    if found.unattributed:
        names = ", ".join(dict.fromkeys(found.unattributed))
        notes.append(f"batches whose draws could not be attributed to their requests: {names}")
    return Finding(Verdict.HELD, f"{found.compared:,} answers in batches are those alone", evidence, notes=notes)


def judge_rows(subject: Subject, found: CountedRows) -> Finding:
    """Judge the worst row of the batch."""
    plan = found.plan
    evidence = Evidence(
        "sampled", draws=plan.requests * plan.calls, planned_draws=plan.requests * plan.calls, calls=plan.calls,
        log_e=found.log_e, alpha=plan.alpha, detectable=found.detectable, counts=found.counts,
    )  # fmt: skip
    if found.violation:
        return Finding(Verdict.FAILED, found.violation, evidence)
    if "lossy_by_design" in subject.capabilities:
        return Finding(Verdict.NOT_APPLICABLE, "the subject does not promise the target's law", evidence)
    where = f"request {found.request} of {plan.requests}, token {found.position}"
    if found.log_e >= found.limit:
        reason = (
            f"{where}: log E = {found.log_e:.1f} >= {found.limit:.1f} after {plan.calls:,} calls; emitted "
            f"{observed_share(found)}, its target row is {found.expected}"
        )
        return Finding(Verdict.FAILED, reason, evidence)
    return Finding(
        Verdict.HELD,
        f"{plan.requests:,} requests of one batch, each {plan.calls:,} times (would find {found.detectable:.2f} in one)",
        evidence,
    )
