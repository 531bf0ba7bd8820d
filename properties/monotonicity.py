"""Property ``monotonicity``: with more drafts a subject does not accept fewer tokens on average.

Being lossless does not imply it: many rules lose acceptance on some instance when a draft is added (``docs/claims.md``). So
a counterexample is a failure only of a subject that declares ``monotone = True``; of any other it is worth a note. The mean
number of accepted tokens is exact for rules and probed for verifiers, from one draft on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from specproof.properties.cases import Case, by_hand, generated
from specproof.properties.check import Evidence, Finding, readable
from specproof.properties.evidence.exact import observe_exactly
from specproof.properties.evidence.observation import Mass
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.plan import Check, Gathering, Plan, named
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided, Verdict

CLAIM = "monotone"
MOST = {1: 3, 2: 2}  # drafts that are tried, by length: draft sets grow as V^(L K)
SPOT_CHECKS = 300
CASES = (
    by_hand("certain draft", {"": "1/2 1/2"}, {"": "1 0"}, 1, "equal drafts: a discount that is rounded up loses"),
    by_hand("biased coin", {"": "1/2 1/2"}, {"": "3/4 1/4"}, 1, "smallest instance"),
    by_hand("even draft", {"": "1/4 3/4"}, {"": "1/2 1/2"}, 1, "balanced races and best ratios lose at three drafts"),
    generated("context V2 L2", 2, 2, "rows by context at every position", seed=42),
)


@dataclass(frozen=True)
class Means:
    """Mean number of accepted tokens with 1, 2, ... drafts."""

    case: Case
    kind: str
    means: tuple[Mass, ...]
    tolerance: float
    calls: int


def monotone_checks(subject: Subject, plan: Plan) -> Iterator[Check]:
    """Name the checks of a subject that takes any number of drafts; others have none."""
    kind = "exact" if subject.kind == "rule" else "probed"
    if not plan.asks_for(kind) or "drafts" not in subject.capabilities:
        return
    for case in CASES:
        if subject.drafting.replacement or replace(case, drafts=2).allows_distinct_drafts:
            seen = Gathering(_means, subject, case)
            yield named("monotonicity", CLAIM, case.name, kind, seen, partial(judge, declares(subject)))


def declares(subject: Subject) -> bool:
    """Whether the subject says that more drafts never hurt."""
    made: Any = subject.verifier if subject.kind == "verifier" else subject.program
    return bool(getattr(made, "monotone", False))


def _means(subject: Subject, case: Case) -> Means:
    """Raises ``Undecided`` where not even two numbers of drafts can be observed."""
    means: list[Mass] = []
    calls, tolerance, reason = 0, 0.0, ""
    for drafts in range(1, MOST[case.length] + 1):
        given = replace(case, drafts=drafts)
        if not (subject.drafting.replacement or given.allows_distinct_drafts):
            break
        asked = replace(subject, drafting=replace(subject.drafting, drafts=drafts))
        try:
            if subject.kind == "rule":
                seen = observe_exactly(asked, given)
            else:
                seen = observe_probed(asked, given, spot_checks=SPOT_CHECKS)
        except (Undecided, ValueError) as error:
            reason = str(error)
            break
        means.append(seen.expected_accepted)
        tolerance = float(seen.tolerance) * case.length
        calls += seen.calls
    if len(means) < 2:
        raise Undecided(f"only {len(means)} number(s) of drafts could be observed: {reason}")
    return Means(case, "exact" if subject.kind == "rule" else "probed", tuple(means), tolerance, calls)


def judge(declared: bool, found: Means) -> Finding:
    """Judge the means; a fall is a note unless the subject declares that there is none."""
    means = found.means
    falls = [k for k in range(1, len(means)) if means[k] < means[k - 1] - 2 * found.tolerance]
    told = ", ".join(readable(mean) for mean in means)
    evidence = Evidence(found.kind, tolerance=found.tolerance, calls=found.calls or None)
    if not falls:
        return Finding(Verdict.HELD, f"accepts {told} tokens with 1 to {len(means)} drafts", evidence)
    k = falls[0]
    evidence = replace(evidence, expected=float(means[k - 1]), observed=float(means[k]))
    lost = float(means[k - 1] - means[k])
    reason = f"accepts {readable(means[k])} tokens with {k + 1} drafts, {lost:.2g} fewer than with {k}"
    if declared:
        return Finding(Verdict.FAILED, reason, evidence)
    note = f"not monotone in the number of drafts: {found.case.name}: {reason}"
    return Finding(
        Verdict.NOT_APPLICABLE, f"{reason}; the subject does not declare to be monotone", evidence, notes=[note]
    )
