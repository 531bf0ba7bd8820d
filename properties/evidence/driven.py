"""Driven evidence: the same numbers through the subject and through the declared rule in float64, decision by decision.

A bias shows as soon as one call decides differently, about ``1 / TV`` calls, against ``1 / TV^2`` when counting. Rounding
alone makes decisions differ too, so a mismatch counts only when it is *unexplained*: no decision of the reference came
within ``rounding_margin`` of its threshold. What never happens by chance is asked for as well: each number at the edges of
its range, at exact ties and one step beside them.

LIMITS. Only where the subject maps numbers to tokens as some written *map* does (inverse distribution function, and
numbers used by position or in the order of use). A race maps them otherwise; so does a scan in another order. Then only
the edges are evidence (``maps`` lists the rules whose map is written).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from specproof.properties.cases import Case
from specproof.properties.evidence.calls import Request, Returned, Violation
from specproof.properties.evidence.maps import Map, Reference, TooFew, maps
from specproof.properties.evidence.prober import ATOMS, BATCH, Prober
from specproof.properties.evidence.probing import weighted_requests
from specproof.properties.evidence.script import Atom, Exponential, Floats, NotRowwise, Uniform
from specproof.properties.subject import Subject
from specproof.reference.model import Prefix, joint

BITS = 24
STEP = 2.0**-BITS
EDGES = (0.0, STEP, 0.5, 1 - STEP)
MOST_REQUESTS = 24  # whose edges are tried, for subjects that take one at a time
SLOWER = 8  # one request at a time, this many times fewer calls
KNOWN = 0.1  # a map under which more mismatches than this stay unexplained is not the subject's


@dataclass(frozen=True)
class Mismatch:
    """One call that decided otherwise than the rule, and how close the rule's closest decision was."""

    request: Request
    numbers: tuple[float, ...]
    returned: Returned
    wanted: Prefix
    margin: float


@dataclass(frozen=True)
class Edge:
    """An answer at the edge of the numbers' range that breaks the contract or is impossible under the target."""

    request: Request
    numbers: tuple[float, ...]
    returned: Returned
    mass: float


@dataclass(frozen=True)
class Driven:
    """What driving a subject on a case has shown. ``map`` None: it decides by none that is known, for ``reason``."""

    case: Case
    handed: bool
    calls: int
    margin: float
    map: Map | None
    reason: str
    mismatches: list[Mismatch]
    edges: list[Edge] = field(default_factory=list)
    edge_calls: int = 0

    @property
    def unexplained(self) -> list[Mismatch]:
        """Mismatches that rounding does not explain."""
        return [found for found in self.mismatches if found.margin > self.margin]


def rounding_margin(vocabulary: int, length: int) -> float:
    """How far rounding moves a threshold: sums of V numbers and products of L ratios in single precision."""
    return 8 * (vocabulary + length) * STEP


def observe_driven(subject: Subject, case: Case, calls: int, seed: int) -> Driven:
    """Drive the subject with ``calls`` rows of random numbers, and at the edges. Raises ``Undecided`` where it raises.

    A subject that takes one request at a time is called an eighth as often, and at least 256 times.
    """
    weighted = weighted_requests(case, (), replacement=subject.drafting.replacement)
    rng = np.random.default_rng(seed)
    with Prober(subject, case, hand=True).ready(weighted[0][0]) as prober:
        calls = calls if prober.batched else max(calls // SLOWER, 256)
        shares = np.array([share for _, share in weighted])
        drawn = [weighted[index][0] for index in rng.choice(len(weighted), calls, p=shares / shares.sum())]
        numbers = np.floor(rng.random((calls, ATOMS)) / STEP) * STEP
        runs = _run(prober, drawn, numbers)
        known = None if subject.declared is None else Reference(subject.declared, case)
        found = _compared(known, case, runs)
        edges, edge_calls = _edges(prober, weighted, runs, found[0], known, rng)
        margin = rounding_margin(case.vocabulary, case.length)
        return Driven(case, prober.handed, len(runs), margin, *found, edges, edge_calls)


@dataclass(frozen=True)
class _DrivenRun:
    request: Request
    atoms: list[Atom]
    numbers: tuple[float, ...]  # one for each atom, as the subject got it
    returned: Returned


def _run(prober: Prober, requests: Sequence[Request], numbers: Floats) -> list[_DrivenRun]:
    """Run every request with its row of numbers, in batches where that can be."""
    size = BATCH if prober.batched else 1
    runs: list[_DrivenRun] = []
    try:
        for start in range(0, len(requests), size):
            asked, rows = requests[start : start + size], numbers[start : start + size]
            answers = prober.run(asked, rows)
            runs += [
                _DrivenRun(request, atoms, _values(atoms, row), seen.returned)
                for request, row, (atoms, seen) in zip(asked, rows, answers, strict=True)
            ]
    except NotRowwise:
        prober.batched = False
        return _run(prober, requests, numbers)
    return runs


def _values(atoms: Sequence[Atom], quantiles: Floats) -> tuple[float, ...]:
    """The numbers that a subject got: uniforms on their lattice, and for choices the quantile itself."""
    lattice = [2.0**atom.bits if isinstance(atom, Uniform) else 0.0 for atom in atoms]
    return tuple(
        float(np.floor(q * cells) / cells if cells else q) for q, cells in zip(quantiles, lattice, strict=False)
    )


Found = tuple[Map | None, str, list[Mismatch]]


def _compared(known: Reference | None, case: Case, runs: Sequence[_DrivenRun]) -> Found:
    """The map under which fewest mismatches stay unexplained, and its mismatches."""
    if known is None:
        return None, "the subject declares no rule", []
    rule = known.rule
    if any(isinstance(atom, Exponential) for run in runs for atom in run.atoms):
        return None, "it decides by a race, not by inverse distribution functions", []
    margin = rounding_margin(case.vocabulary, case.length)
    candidates: list[tuple[int, int, Map, list[Mismatch]]] = []
    for given in maps(rule, case.drafts):
        try:
            mismatches = _mismatches(known, runs, given)
        except TooFew:
            continue
        candidates.append((sum(found.margin > margin for found in mismatches), len(candidates), given, mismatches))
    if not candidates:
        return None, f"no map is written for {rule.name} that draws as the subject does", []
    unexplained, _, given, mismatches = min(candidates, key=lambda candidate: candidate[:2])
    if unexplained > KNOWN * len(runs):
        return None, f"decides otherwise than every known map of {rule.name} in {unexplained} of {len(runs)} calls", []
    return given, "", mismatches


def _mismatches(known: Reference, runs: Sequence[_DrivenRun], given: Map) -> list[Mismatch]:
    found = []
    for run in runs:
        wanted, chance = known.decide(run.request, run.numbers, given)
        if run.returned != wanted:
            found.append(Mismatch(run.request, run.numbers, run.returned, wanted.tokens, chance.margin))
    return found


def _edges(
    prober: Prober,
    weighted: Sequence[tuple[Request, float]],
    runs: Sequence[_DrivenRun],
    given: Map | None,
    known: Reference | None,
    rng: np.random.Generator,
) -> tuple[list[Edge], int]:
    """Answers that break the contract or are impossible, with one number at a time at an edge or a tie."""
    case = prober.case
    chosen = sorted(weighted, key=lambda pair: -pair[1])[: None if prober.batched else MOST_REQUESTS]
    used = max((len(run.atoms) for run in runs), default=0)
    requests, rows, masses = [], [], []
    for request, share in chosen:
        fill = np.floor(rng.random(ATOMS) / STEP) * STEP
        points = [(index, edge) for index in range(used) for edge in EDGES]
        if given is not None and known is not None:
            _, chance = known.decide(request, tuple(fill), given)
            ties = [(index, np.floor(threshold / STEP) * STEP) for index, threshold in chance.thresholds]
            points += [(index, tie + side) for index, tie in ties for side in (-STEP, 0.0, STEP) if 0 <= tie + side < 1]
        for index, value in points:
            rows.append(np.where(np.arange(ATOMS) == index, value, fill))
            requests.append(request)
            masses.append(share * STEP)
        for value in (0.0, 1 - STEP):  # all at once
            rows.append(np.full(ATOMS, value))
            requests.append(request)
            masses.append(share * STEP**used)
    if not rows:
        return [], 0
    answers = _run(prober, requests, np.array(rows))
    broken = [
        Edge(run.request, run.numbers, run.returned, mass)
        for run, mass in zip(answers, masses, strict=True)
        if isinstance(run.returned, Violation) or not joint(case.target, (), run.returned.tokens)
    ]
    return broken, len(rows)
