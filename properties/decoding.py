"""The checks of a decoder: its text, its drafts, the rows that it verifies with, what it stops at.

Text, support and stop time are laws over several rounds. ``rows``: the target row of every verified position and bonus
equals the one that plain decoding samples from, entry by entry, in every round that occurs; no sampling error is involved.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from specproof.properties.check import Finding, counterexample, name_of
from specproof.properties.decoder_cases import DecoderCase, decoder_cases
from specproof.properties.decoder_runs import Ran, Runs, drawn, probe, row_of, sample
from specproof.properties.drafting import judge_adaptive, judge_drafts
from specproof.properties.evidence import bounds
from specproof.properties.evidence.e_process import EProcess
from specproof.properties.evidence.power import detectable_total_variation
from specproof.properties.plan import FAMILY_ALPHA, Check, Gathering, Plan, named
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided, Verdict
from specproof.reference.law import mapped, total_variation
from specproof.reference.model import Prefix

TOLERANCE = 2e-6  # of a law: several rows in single precision
ROW_TOLERANCE = 1e-5
DRAWS = {"quick": 2**11, "nightly": 2**16, "sampled": 2**11}
FEW = 2**7  # runs in which rows are compared: no statistics are made of them
LENGTH = 2  # tokens that a decoder drafts in a round unless it says otherwise
SAMPLED = ("plain V2", "everything")
TEXT_SHARE, DRAFT_SHARE = 0.6, 0.2  # of a case's alpha; the rest goes to the verified length
Head = Callable[[Prefix], Prefix]
Judge = Callable[[Runs], Finding]


def decoder_checks(subject: Subject, plan: Plan) -> Iterator[Check]:
    """Name every check of a decoder."""
    cases = [
        case
        for case in decoder_cases(getattr(subject.decoder, "length", LENGTH))
        if case.sampling.needs <= subject.capabilities
    ]
    if plan.asks_for("driven"):
        for case in cases:
            gather = Gathering(observe, subject, case, FEW, None, plan.seed, plan.deadline)
            yield named("contract", "contract", case.name, "driven", gather, judge_contract)
            yield named("rows", "target rows", case.name, "driven", gather, partial(judge_rows, subject))
    if plan.asks_for("probed"):
        for case in cases:
            yield from decoder_laws(subject, case, plan.alpha)
    if plan.evidence in DRAWS:
        counted = [case for case in cases if case.name in SAMPLED]
        for index, case in enumerate(counted):
            alpha, seed = plan.alpha / len(counted), plan.seed + 1000 * (index + 1)
            gather = Gathering(observe, subject, case, DRAWS[plan.evidence], alpha, seed, plan.deadline)
            yield from _checks(subject, case, "sampled", gather, alpha)


def decoder_laws(subject: Subject, case: DecoderCase, alpha: float = FAMILY_ALPHA) -> Iterator[Check]:
    """Laws of a decoder on one case, by scripting its random draws."""
    yield from _checks(subject, case, "probed", Gathering(probe, subject, case), alpha)


def _checks(subject: Subject, case: DecoderCase, kind: str, gather: Gathering, alpha: float) -> Iterator[Check]:
    def check(name: str, claim: str, judge: Judge) -> Check:
        return named(name, claim, case.name, kind, gather, judge)

    law = partial(judge_law, subject, alpha * TEXT_SHARE)
    yield check("contract", "contract", judge_contract)
    yield check("support", "support", partial(judge_support, subject))
    if kind == "probed":
        yield check("lossless", "first token", partial(law, lambda text: text[:1]))
        if case.sampling.stop is not None:
            yield check("stopping", "stop time", partial(law, lambda text: (len(text),)))
    if case.tokens > 1 or kind == "sampled":
        yield check("lossless", "iterations", partial(law, lambda text: text))
    yield check("rows", "target rows", partial(judge_rows, subject))
    yield check("drafting", "drafts", lambda runs: judge_drafts(subject, runs, alpha * DRAFT_SHARE))
    share = 1 - TEXT_SHARE - DRAFT_SHARE
    yield check("adaptive", "verified length", lambda runs: judge_adaptive(subject, runs, alpha * share))


def observe(subject: Subject, case: DecoderCase, draws: int, alpha: float | None, seed: int, deadline: float) -> Runs:
    """Draw runs until all are there, ``deadline`` (monotonic) passes or, at this alpha, the e-process on the text refutes.

    Raises ``Undecided`` when nothing was drawn.
    """
    expected = case.target_law(row_of(subject))
    cells = sorted(expected)
    process = EProcess(np.array([expected[cell] for cell in cells]) / sum(expected.values()))
    rans: list[Ran] = []
    for chunk in sample(subject, case, draws, seed, deadline):
        rans += chunk
        counts = np.array([sum(ran.written == cell for ran in rans) for cell in cells])
        if alpha is not None and process.log_e(counts) >= np.log(2 / (alpha * TEXT_SHARE)):
            break
    if not rans:
        raise Undecided("nothing was drawn")
    return drawn(case, rans, draws, "driven" if alpha is None else "sampled")


def judge_contract(runs: Runs) -> Finding:
    """Judge the form of every answer."""
    broken: dict[str, float] = {}
    for mass, ran in runs.law:
        if ran.violation is not None:
            broken[ran.violation] = broken.get(ran.violation, 0.0) + mass
    evidence = runs.evidence(observed=sum(broken.values()), expected=0.0)
    if broken:
        worst = max(broken, key=broken.__getitem__)
        return Finding(Verdict.FAILED, f"{worst} (probability {broken[worst]:.3g})", evidence)
    return Finding(Verdict.HELD, "every answer is well formed", evidence)


def judge_support(subject: Subject, runs: Runs) -> Finding:
    """Judge whether a text is impossible under plain decoding."""
    _well_formed(runs)
    allowed = runs.case.target_law(row_of(subject))
    outside = {text: mass for text, mass in runs.text.items() if text not in allowed}
    lost = sum(outside.values())
    evidence = runs.evidence(observed=lost, expected=0.0)
    if lost > (TOLERANCE if runs.kind == "probed" else 0):
        worst = max(outside, key=outside.__getitem__)
        reason = f"text {name_of(worst)} has probability {outside[worst]:.3g} and is impossible under the target"
        return Finding(Verdict.FAILED, reason, evidence)
    return Finding(Verdict.HELD, "nothing impossible is written", evidence)


def judge_law(subject: Subject, alpha: float, head: Head, runs: Runs) -> Finding:
    """Judge the law of the text, or of ``head`` of it."""
    _well_formed(runs)
    expected = mapped(runs.case.target_law(row_of(subject)), head)
    seen = mapped(runs.text, head)
    distance = float(total_variation(seen, expected))
    if runs.kind == "sampled":
        return _counted(runs, expected, alpha, distance)
    evidence = runs.evidence(total_variation=distance, tolerance=TOLERANCE)
    if distance > TOLERANCE:
        shown = counterexample(runs.case.case, expected, seen, distance)
        return Finding(Verdict.FAILED, f"total variation {distance:.6g} from plain decoding", evidence, shown)
    return Finding(Verdict.HELD, f"total variation {distance:.2e}", evidence)


def _counted(runs: Runs, expected: Mapping[Prefix, float], alpha: float, distance: float) -> Finding:
    """Half of alpha for the e-process, half for the total variation at the planned number of draws."""
    cells = sorted(expected)
    law = np.array([expected[cell] for cell in cells]) / sum(expected.values())
    counts = np.array([round(runs.text.get(cell, 0.0) * runs.calls) for cell in cells])
    outside = runs.calls - int(counts.sum())
    log_e, limit = float(EProcess(law).log_e(counts)), float(np.log(2 / alpha))
    bound = bounds.total_variation_bound(counts, law, alpha, outside)
    complete = runs.calls >= (runs.planned or 0)
    evidence = runs.evidence(
        total_variation=distance, upper_bound=bound, confidence=1 - alpha, log_e=log_e, alpha=alpha,
        detectable=detectable_total_variation(max(len(law), 2), runs.calls, alpha / 2),
    )  # fmt: skip
    if log_e >= limit or outside or (complete and bounds.total_variation_exceeded(counts, law, alpha / 2)):
        shown = counterexample(runs.case.case, expected, runs.text, distance)  # type: ignore[arg-type]
        reason = f"log E = {log_e:.1f} (limit {limit:.1f}), total variation {distance:.4f} in {runs.calls:,} texts"
        return Finding(Verdict.FAILED, reason, evidence, shown)
    if not complete:
        return Finding(Verdict.UNDECIDED, f"stopped after {runs.calls:,} of {runs.planned:,} planned texts", evidence)
    return Finding(Verdict.HELD, f"TV <= {bound:.4f} with confidence 1 - {alpha:.1e} ({runs.calls:,} texts)", evidence)


def judge_rows(subject: Subject, runs: Runs) -> Finding:
    """Compare every target row that can matter with the plain path's."""
    _well_formed(runs)
    compared, worst, reason = 0, 0.0, ""
    for place, row in _target_rows(subject, runs):
        wanted = runs.case.plain(row_of(subject), place).double().numpy()
        compared += 1
        given = np.asarray(row, dtype=np.float64)
        gap = float(np.abs(given - wanted).max()) if given.shape == wanted.shape else float("inf")
        if not gap <= max(worst, ROW_TOLERANCE):  # a NaN is a difference
            worst = gap
            reason = f"after {name_of(place)} the row is {given.round(6).tolist()}, plain decoding has {wanted.round(6).tolist()}"
    evidence = runs.evidence(observed=worst, expected=0.0, tolerance=ROW_TOLERANCE)
    if compared == 0:
        return Finding(Verdict.NOT_APPLICABLE, "the decoder reports no rounds", evidence)
    if reason:
        return Finding(Verdict.FAILED, reason, evidence)
    return Finding(Verdict.HELD, f"{compared:,} rows equal those of plain decoding", evidence)


def _target_rows(subject: Subject, runs: Runs) -> Iterator[tuple[Prefix, tuple[float, ...]]]:
    """Different target rows by place: only where a token could still be written and the text before is possible."""
    case, plain, known = runs.case, row_of(subject), set()
    for _, ran in runs.law:
        for seen in ran.rounds:
            place = seen.text
            for i, row in enumerate([] if seen.target_rows is None else seen.target_rows.double().tolist()):
                if i > 0:
                    token = seen.drafts[i - 1]
                    possible = 0 <= token < case.case.vocabulary and case.plain(plain, place)[token] > 0
                    place = (*place, token)
                    if not possible:
                        break
                written = place[len(case.prefix) :]
                if case.complete(written) or len(written) > case.tokens:
                    break
                if (place, tuple(row)) not in known:
                    known.add((place, tuple(row)))
                    yield place, tuple(row)


def _well_formed(runs: Runs) -> None:
    reason = next((ran.violation for _, ran in runs.law if ran.violation), None)
    if reason is not None:
        raise Undecided(f"the contract is broken: {reason}")
