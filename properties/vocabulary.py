"""Large vocabularies, counted: the law on awkward ids, along two orders of the ids, and the rare tokens taken together.

Beside what decides every count (``evidence.sampled``) two tests look along an order of the cells, by draft over target and
by id: the Kolmogorov-Smirnov distance of the randomised probability integral transform, whose finite-sample law is exact.
Rare tokens are merged and their number is compared with its binomial law.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.stats import binomtest

from specproof.properties import acceptance, contract, lossless, lossy, support
from specproof.properties.check import Evidence, Finding
from specproof.properties.evidence.classical import randomised_ks
from specproof.properties.evidence.sampled import Sample, SamplePlan, draft_preference, observe_sampled, reference_law
from specproof.properties.evidence.wide import WideCase, wide_cases, widened
from specproof.properties.plan import Check, Gathering, Plan, named
from specproof.properties.subject import Subject
from specproof.properties.verdict import Verdict

DRAWS = {"large-vocabulary": 2**16, "nightly": 2**16}
# Parts of a case's alpha: text (e-process, McDiarmid, binomial), accepted lengths, either order, and the tail.
TEXT, ACCEPTED, ORDER, TAIL = 0.5, 0.1, 0.15, 0.1


def large_vocabulary(subject: Subject, plan: Plan) -> Iterator[Check]:
    """What a verifier emits from rows as wide as in use."""
    if plan.evidence not in DRAWS or lossy.declares_loss(subject):
        return
    battery = [
        wide
        for wide in wide_cases(subject.drafting.drafts)
        if subject.drafting.replacement or wide.case.allows_distinct_drafts
    ]
    share = plan.alpha_of("large vocabulary") / len(battery)
    for index, wide in enumerate(battery):
        seed = plan.seed + 500_000 + 1000 * index
        sample_plan = SamplePlan(subject.affordable(DRAWS[plan.evidence]), share * TEXT, share * ACCEPTED, seed)
        gather = Gathering(observe_sampled, widened(subject, wide), wide.case, sample_plan, plan.deadline, plan.history)
        yield from wide_checks(subject, wide, gather, share)


def wide_checks(subject: Subject, wide: WideCase, gather: Gathering, share: float) -> Iterator[Check]:
    """Everything that is decided about one wide case, at a false-alarm rate of ``share`` together."""
    case = wide.case
    yield named("contract", "contract", case, "sampled", gather, contract.judge_counts)
    yield named("support", "support", case, "sampled", gather, support.judge_counts)
    yield named("lossless", "block", case, "sampled", gather, lossless.judge_counts)
    if subject.declared is not None:
        yield named("acceptance", "declared acceptance", case, "sampled", gather, acceptance.judge_counts)
    for order in ("draft over target", "id"):
        judge = partial(judge_order, order=order, alpha=share * ORDER)
        yield named("lossless", "block", f"{case.name} by {order}", "sampled", gather, judge)
    if wide.tail is not None:
        judge = partial(judge_tail, tail=wide.tail, alpha=share * TAIL)
        yield named("lossless", "block", f"{case.name} rare tokens", "sampled", gather, judge)


def judge_order(sample: Sample, *, order: str, alpha: float) -> Finding:
    """Judge the texts along an order by one look at the planned number of draws."""
    open_ = _not_all_drawn(sample, alpha)
    if open_ is not None:
        return open_
    law, possible = reference_law(sample.case)
    counts = sample.counts.text[possible]
    along = draft_preference(sample.case, sample.cells) if order != "id" else np.arange(len(law), dtype=float)
    p_value = randomised_ks(counts, law, along, np.random.default_rng(sample.plan.seed + 1))
    evidence = Evidence("sampled", draws=sample.counts.draws, alpha=alpha, classical={"kolmogorov_smirnov": p_value})
    what = f"the texts in the order of {order} {{}} their distribution function (p = {p_value:.2g})"
    if p_value <= alpha:
        return Finding(Verdict.FAILED, what.format("leave"), evidence)
    return Finding(Verdict.HELD, what.format("follow"), evidence)


def judge_tail(sample: Sample, *, tail: int, alpha: float) -> Finding:
    """Judge how many texts hold a rare token, all rare tokens taken together."""
    open_ = _not_all_drawn(sample, alpha)
    if open_ is not None:
        return open_
    law, possible = reference_law(sample.case)
    rare = np.array([tail in cell for cell in sample.cells])
    seen, chance = int(sample.counts.text[possible][rare].sum()), float(law[rare].sum())
    expected = chance * sample.counts.draws
    p_value = binomtest(seen, sample.counts.draws, chance).pvalue
    evidence = Evidence("sampled", draws=sample.counts.draws, alpha=alpha, observed=float(seen), expected=expected)
    reason = f"{seen:,} texts hold a rare token, {expected:,.1f} are expected (p = {p_value:.2g})"
    return Finding(Verdict.FAILED if p_value <= alpha else Verdict.HELD, reason, evidence)


def _not_all_drawn(sample: Sample, alpha: float) -> Finding | None:
    """A finding where a look at the planned number of draws cannot be had: the run ended before."""
    if sample.complete and not sample.counts.violation:
        return None
    reason = f"stopped after {sample.counts.draws:,} of {sample.plan.draws:,} planned draws"
    return Finding(Verdict.UNDECIDED, reason, Evidence("sampled", draws=sample.counts.draws, alpha=alpha))
