"""Sampled evidence: counts of what the subject really emits, decided at a stated false-alarm rate.

The share of the case is split over an e-process on the text (1/2, looked at after every chunk), McDiarmid's bound on the
total variation (1/4) and an exact binomial on the texts that the draft model prefers (1/4); the last two look once, at
the planned number of draws. A pass states how far from the target the law can still be.

With a ``history`` the e-process goes on from the counts of earlier nights; the looks at the planned number stay tonight's.

LIMITS. Counting resolves what the planned draws resolve (stated as ``detectable``), sees one request at a time, and says
nothing about draws that real use would correlate.
"""

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from specproof.properties.cases import Case
from specproof.properties.evidence import bounds
from specproof.properties.evidence.classical import Classical, classical_tests
from specproof.properties.evidence.e_process import EProcess
from specproof.properties.evidence.history import History
from specproof.properties.evidence.portfolio import fault_laws
from specproof.properties.evidence.power import detectable_total_variation
from specproof.properties.evidence.sampling import Counts, Draw, sample_texts
from specproof.properties.subject import Subject
from specproof.reference.exact import step_law
from specproof.reference.law import mapped
from specproof.reference.model import Prefix, joint

E_SHARE, MCDIARMID_SHARE, BINOMIAL_SHARE = 1 / 2, 1 / 4, 1 / 4
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SamplePlan:
    """How many texts to draw of a case, and the false-alarm rates of its two deciding checks."""

    draws: int
    text_alpha: float
    accepted_alpha: float
    seed: int


@dataclass(frozen=True)
class Decided:
    """What one family of counts says: why the reference law is refuted (empty: it is not), and how sharply."""

    refutations: list[str]
    log_e: float
    total_variation: float
    bound: float
    confidence: float
    detectable: float


@dataclass(frozen=True)
class Sample:
    """The counts of one case and what they decide."""

    case: Case
    plan: SamplePlan
    counts: Counts
    impossible: int
    text: Decided
    accepted: Decided | None
    classical: Classical | None
    explanation: str | None
    cells: list[Prefix] = field(repr=False)
    path: list[tuple[int, float]] = field(repr=False)  # log E after every chunk of draws

    @property
    def complete(self) -> bool:
        """Whether every planned text was drawn."""
        return self.counts.draws >= self.plan.draws


def texts(case: Case) -> list[Prefix]:
    """All texts of the case in the order of their codes."""
    shape = (case.vocabulary,) * case.horizon
    return [tuple(int(token) for token in index) for index in np.ndindex(*shape)]


def as_array(law: dict[Prefix, object], cells: list[Prefix]) -> Floats:
    """Probabilities of the cells, in order."""
    return np.array([float(law.get(cell, 0)) for cell in cells])  # type: ignore[arg-type]


def reference_law(case: Case) -> tuple[Floats, NDArray[np.bool_]]:
    """The probabilities of the possible texts, in the order of their codes, and which texts are possible."""
    whole = as_array(dict(case.target_law), texts(case))
    possible = whole > 0
    return whole[possible], possible


@dataclass(frozen=True)
class Reference:
    """What the counts of a case are compared with: the possible texts, their law, and the e-process on it."""

    cells: list[Prefix]
    possible: NDArray[np.bool_]  # among all texts
    law: Floats
    process: EProcess

    @classmethod
    def of(cls, case: Case) -> "Reference":
        """The reference of a case, with the laws of the named faults as alternatives."""
        law, possible = reference_law(case)
        cells = [cell for cell, kept in zip(texts(case), possible, strict=True) if kept]
        faults = {name: as_array(dict(wrong), cells) for name, wrong in fault_laws(case).items()}
        return cls(cells, possible, law, EProcess(law, faults))


def observe_sampled(
    subject: Subject, case: Case, plan: SamplePlan, deadline: float = math.inf, history: History | None = None,
    draw: Draw = sample_texts,
) -> Sample:  # fmt: skip
    """Draw until the plan is complete, the e-process refutes, the contract breaks, or ``deadline`` (monotonic) passes.

    ``history`` gives a seed that was not used before where the plan's was, and is told what was counted. ``draw`` stands in
    for ``sample_texts`` where the texts are drawn elsewhere.
    """
    before = None
    if history is not None:
        plan = replace(plan, seed=history.fresh_seed(subject, case, plan.seed))
        before = history.of(subject, case).carried
    reference = Reference.of(case)
    threshold = math.log(1 / (plan.text_alpha * E_SHARE))
    counts = Counts(np.zeros(len(reference.possible), dtype=np.int64), np.zeros(case.length + 1, dtype=np.int64))
    path = []
    for counts in draw(subject, case, plan.draws, plan.seed):
        counts.before = before
        log_e = float(reference.process.log_e(_with_before(counts)[0][reference.possible]))
        path.append((counts.draws, round(log_e, 3)))
        refuted = counts.text[~reference.possible].any() or log_e >= threshold
        if refuted or time.monotonic() > deadline:
            break
    if history is not None and counts.violation is None:
        history.add(subject, case, plan.seed, counts.text, counts.accepted)
    return decided(subject, case, plan, counts, path, reference)


def _with_before(counts: Counts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Texts and accepted lengths of all nights together."""
    if counts.before is None:
        return counts.text, counts.accepted
    return counts.text + counts.before.text, counts.accepted + counts.before.accepted


def decided(
    subject: Subject, case: Case, plan: SamplePlan, counts: Counts, path: list[tuple[int, float]],
    reference: Reference | None = None,
) -> Sample:  # fmt: skip
    """Decide counts, just drawn or kept from an earlier run; only what the subject declares is used of it."""
    known = reference or Reference.of(case)
    seen, impossible = counts.text[known.possible], int(counts.text[~known.possible].sum())
    preferred = draft_preference(case, known.cells)
    rng = np.random.default_rng(plan.seed)
    final = counts.draws >= plan.draws
    so_far = _with_before(counts)[0]
    text = _decide(
        known.process, known.law, seen, impossible, plan.text_alpha, preferred > 1,
        final=final, so_far=so_far[known.possible],
    )  # fmt: skip
    return Sample(
        case, plan, counts, impossible, text,
        _decide_accepted(subject, case, counts, plan),
        classical_tests(seen, known.law, preferred, rng) if seen.sum() else None,
        known.process.best_explanation(seen) if text.refutations else None,
        known.cells, path,
    )  # fmt: skip


def draft_preference(case: Case, cells: list[Prefix]) -> Floats:
    """Ratio of draft to target probability of the first ``length`` tokens of every possible text."""
    ratio = {}
    for path in {cell[: case.length] for cell in cells}:
        ratio[path] = float(joint(case.draft, (), path) / joint(case.target, (), path))
    return np.array([ratio[cell[: case.length]] for cell in cells])


def _decide(
    process: EProcess, law: Floats, counts: NDArray[np.int64], impossible: int, alpha: float,
    directed: NDArray[np.bool_] | None, *, final: bool, so_far: NDArray[np.int64],
) -> Decided:  # fmt: skip
    """``so_far`` counts earlier nights in; everything but the e-process looks at ``counts`` alone."""
    draws = int(counts.sum()) + impossible
    if draws == 0:
        return Decided([], 0.0, math.nan, 1.0, 1 - alpha, 1.0)
    refutations = []
    log_e = float(process.log_e(so_far))
    limit = math.log(1 / (alpha * E_SHARE))
    distance = bounds.empirical_total_variation(counts, law, impossible)
    if impossible:
        refutations.append(f"{impossible} of {draws} texts are impossible under the target")
    if log_e >= limit:
        refutations.append(f"e-process: log E = {log_e:.1f} >= {limit:.1f} after {int(so_far.sum()):,} draws")
    if final and bounds.total_variation_exceeded(counts, law, alpha * MCDIARMID_SHARE, impossible):
        refutations.append(f"total variation of {draws:,} draws is {distance:.4f}, more than chance allows")
    if final and directed is not None and 0 < directed.sum() < len(law):
        inside, expected = int(counts[directed].sum()), min(float(law[directed].sum()), 1.0)
        p_value = binomtest(inside, draws, expected).pvalue
        if p_value <= alpha * BINOMIAL_SHARE:
            refutations.append(f"texts that the draft prefers: {inside / draws:.4f} instead of {expected:.4f}")
    return Decided(
        refutations, log_e, distance,
        bounds.total_variation_bound(counts, law, alpha, impossible), 1 - alpha,
        detectable_total_variation(max(len(law), 2), draws, alpha * E_SHARE),
    )  # fmt: skip


def _decide_accepted(subject: Subject, case: Case, counts: Counts, plan: SamplePlan) -> Decided | None:
    """Compare accepted lengths with the exact law of the declared rule; None without one, or over iterations."""
    if subject.declared is None or case.iterated or counts.draws == 0:
        return None
    steps = step_law(subject.declared, case.target, case.draft, drafts=case.drafts, length=case.length)
    promised = mapped(steps, lambda step: len(step.accepted))
    law = np.array([float(promised.get(count, 0)) for count in range(case.length + 1)])
    possible = law > 0
    impossible = int(counts.accepted[~possible].sum())
    process = EProcess(law[possible] / law[possible].sum())
    final = counts.draws >= plan.draws
    return _decide(
        process, law[possible], counts.accepted[possible], impossible, plan.accepted_alpha, None,
        final=final, so_far=_with_before(counts)[1][possible],
    )  # fmt: skip
