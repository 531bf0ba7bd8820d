"""Property ``driven``: on the same numbers the subject decides as its declared rule does, and no number breaks it.

A broken edge has the probability of one step of the numbers' lattice. For a subject that draws its own numbers that is a
note while it lies below the tolerance of probing, as in ``support``; for one that takes them from its caller every number
in [0, 1) is an input that it must answer, and a broken one is a failure.
"""

from collections.abc import Callable, Iterator
from functools import partial

from specproof.properties import lossy
from specproof.properties.cases import one_step_cases
from specproof.properties.check import Evidence, Finding
from specproof.properties.evidence.calls import Emitted, Violation
from specproof.properties.evidence.driven import Driven, Edge, observe_driven
from specproof.properties.evidence.probing import TOLERANCE
from specproof.properties.plan import Check, Gathering, Plan, cases, named
from specproof.properties.subject import Subject
from specproof.properties.verdict import Verdict

CALLS = {"quick": 2048, "driven": 2**13, "nightly": 2**16}
CASES = (
    "coin", "biased coin", "reversed", "rows by context", "impossible tokens", "disjoint", "context V4 L2", "zeros V4 L2",
    "context V2 L2", "zeros V4 L1",
)  # fmt: skip


def driven(subject: Subject, plan: Plan) -> Iterator[Check]:
    """Decisions of a verifier on given numbers, and its answers at the edges of their range."""
    if plan.evidence not in CALLS:
        return
    for index, case in enumerate(case for case in cases(one_step_cases, subject) if case.name in CASES):
        gather = Gathering(observe_driven, subject, case, CALLS[plan.evidence], plan.seed + 77 * index)
        judge = partial(judge_map, alone=plan.evidence == "driven")
        yield named("driven", "driven", case, "driven", gather, judge)
        yield named("contract", "contract", case, "driven", gather, judge_contract)
        if not lossy.declares_loss(subject):
            yield named("support", "support", case, "driven", gather, judge_support)


def judge_map(seen: Driven, *, alone: bool = False) -> Finding:
    """Judge the decisions. Where this is the only evidence asked for, an unknown map decides nothing."""
    evidence = Evidence("driven", calls=seen.calls, tolerance=seen.margin, observed=float(len(seen.mismatches)))
    if seen.map is None:
        unknown = alone and seen.reason.startswith("decides")
        return Finding(Verdict.UNDECIDED if unknown else Verdict.NOT_APPLICABLE, seen.reason, evidence)
    if seen.unexplained:
        worst = max(seen.unexplained, key=lambda found: found.margin)
        shown = ", ".join(f"{number:.8g}" for number in worst.numbers[: seen.case.length + 2])
        reason = (
            f"{len(seen.unexplained)} of {seen.calls} calls decide otherwise than the rule; with ({shown}) on drafts "
            f"{worst.request.paths} it returned {_answer(worst.returned)}, the rule {worst.wanted}, "
            f"{worst.margin:.3g} away from every threshold"
        )
        return Finding(Verdict.FAILED, reason, evidence)
    # Rounding moves a threshold by the margin at most: mismatches are as rare as numbers that close to one.
    expected = 2 * seen.margin * seen.calls * (seen.case.length + 1) * seen.case.vocabulary
    if len(seen.mismatches) > 8 + 4 * expected:
        reason = f"{len(seen.mismatches)} of {seen.calls} calls differ, each near a threshold: too many for rounding"
        return Finding(Verdict.FAILED, reason, evidence)
    rounding = f", {len(seen.mismatches)} within rounding of a threshold" if seen.mismatches else ""
    return Finding(Verdict.HELD, f"{seen.calls:,} calls decide as the rule ({seen.map.name}){rounding}", evidence)


def judge_contract(seen: Driven) -> Finding:
    """Judge the answers at the edges by their form."""
    return _judge_edges(seen, "well formed", lambda edge: isinstance(edge.returned, Violation))


def judge_support(seen: Driven) -> Finding:
    """Judge the answers at the edges by what the target allows."""
    return _judge_edges(seen, "possible under the target", lambda edge: isinstance(edge.returned, Emitted))


def _judge_edges(seen: Driven, what: str, concerns: Callable[[Edge], bool]) -> Finding:
    broken = [edge for edge in seen.edges if concerns(edge)]
    mass = sum(edge.mass for edge in broken)
    evidence = Evidence("driven", calls=seen.edge_calls, observed=mass, expected=0.0, tolerance=TOLERANCE)
    if not seen.edge_calls:
        return Finding(Verdict.NOT_APPLICABLE, "the subject draws nothing", evidence)
    if not broken:
        return Finding(Verdict.HELD, f"{seen.edge_calls:,} answers at edges and ties are {what}", evidence)
    worst = max(broken, key=lambda edge: edge.mass)
    shown = ", ".join(f"{number:.8g}" for number in worst.numbers[: seen.case.length + 2])
    reason = f"with the numbers ({shown}) on drafts {worst.request.paths}: {_answer(worst.returned)} is not {what}"
    if seen.handed or mass > TOLERANCE:
        return Finding(Verdict.FAILED, reason, evidence)
    note = f"{seen.case.name}: {reason}; probability {mass:.1e}"
    return Finding(Verdict.HELD, f"all answers but edges of probability {mass:.1e} are {what}", evidence, notes=[note])


def _answer(returned: Emitted | Violation) -> str:
    return f"'{returned.reason}'" if isinstance(returned, Violation) else str(returned.tokens)
