"""Property ``precision``: what rounding does stays within the rounding of a threshold.

Where draft and target differ by factors of a thousand the law of each request is compared with the declared rule's, outcome
by outcome (a total variation hides what happens to a small probability). Tokens below 2^-24 of the best must still come
out: noise in single precision never lets them. Products over 32 positions must neither underflow nor divide zero by zero.
Rows in single precision and bfloat16 must be decided as the same numbers in double precision, up to a shift of a uniform
that their rounding explains.

LIMITS. Scripted draws have the lattice of their dtype, not what a device makes of it: noise that a GPU rounds is not seen.
"""

from collections.abc import Iterator
from functools import partial

import torch

from specproof.properties.cases import Case
from specproof.properties.check import Evidence, Finding
from specproof.properties.evidence.rounding import (
    ALMOST_NEVER,
    FAR,
    LONG,
    LONG_BLOCKS,
    MARGIN,
    TAIL,
    TAIL_MASS,
    FarRatios,
    LongBlock,
    OtherDtype,
    observe_dtype,
    observe_far,
    observe_long,
    observe_tail,
)
from specproof.properties.plan import Check, Gathering, Plan, named
from specproof.properties.subject import Subject
from specproof.properties.verdict import Verdict

CLAIM = "precision"
NAMES = {torch.float32: "single", torch.bfloat16: "bfloat16"}


def precision_checks(subject: Subject, plan: Plan) -> Iterator[Check]:
    """Name the checks of a verifier; laws are compared with the rule that it declares, where it declares one."""
    if plan.asks_for("probed"):
        if subject.declared is not None:
            for case in _possible(subject):
                yield named("precision", CLAIM, case.name, "probed", Gathering(observe_far, subject, case), judge_far)
        if subject.drafting.replacement and "lossy_by_design" not in subject.capabilities:
            yield named("precision", CLAIM, "tail", "probed", Gathering(observe_tail, subject), judge_tail)
    if plan.asks_for("driven"):
        if subject.declared is not None and subject.drafting.drafts == 1:
            for name in LONG_BLOCKS:
                seen = Gathering(observe_long, subject, name, plan.seed)
                yield named("precision", CLAIM, name, "driven", seen, partial(judge_long, subject.declared.name))
        if "batch" in subject.capabilities:
            for dtype, name in NAMES.items():
                other = Gathering(observe_dtype, subject, dtype, plan.seed)
                yield named("precision", CLAIM, f"rows in {name}", "driven", other, partial(judge_dtype, dtype))


def _possible(subject: Subject) -> list[Case]:
    """The cases whose vocabulary has as many tokens as there are distinct drafts."""
    return [case for case in FAR if subject.drafting.replacement or subject.drafting.drafts <= case.vocabulary]


def judge_far(found: FarRatios) -> Finding:
    """Judge the outcome whose probability is furthest off."""
    evidence = Evidence("probed", expected=found.expected, observed=found.observed, calls=found.calls, tolerance=1.0)
    if found.worst > 1:
        reason = (
            f"{found.outcome} has probability {found.observed:.9g} instead of {found.expected:.9g}, "
            f"{found.worst:.3g} times what single precision explains"
        )
        return Finding(Verdict.FAILED, reason, evidence)
    return Finding(Verdict.HELD, f"every outcome within {found.worst:.2g} of what single precision explains", evidence)


def judge_tail(found: tuple[float, int]) -> Finding:
    """Judge how often a tail token comes out: rounding may halve that, not end it."""
    seen, calls = found
    expected = float(TAIL_MASS)
    evidence = Evidence("probed", expected=expected, observed=seen, calls=calls)
    if seen < expected / 2:
        reason = (
            f"{TAIL} tokens of probability 2^-26 each come out with {seen:.2e} in all, at least {expected:.2e} is right"
        )
        return Finding(Verdict.FAILED, reason, evidence)
    return Finding(Verdict.HELD, f"{TAIL} tokens of probability 2^-26 each come out ({seen:.2e})", evidence)


def judge_long(rule: str, found: LongBlock) -> Finding:
    """Judge the kept lengths of a long block."""
    calls = len(found.kept)
    evidence = Evidence("driven", calls=calls, observed=found.probability, tolerance=ALMOST_NEVER)
    if found.probability < ALMOST_NEVER:
        reason = (
            f"keeps {found.least_likely} of {LONG} tokens, for {rule} an event of probability {found.probability:.1e}"
        )
        return Finding(Verdict.FAILED, reason, evidence)
    return Finding(
        Verdict.HELD, f"keeps {sum(found.kept) / calls:.1f} of {LONG} tokens on average, as {rule} may", evidence
    )


def judge_dtype(dtype: torch.dtype, found: OtherDtype) -> Finding:
    """Judge decisions on rounded rows."""
    name = NAMES[dtype]
    evidence = Evidence("driven", observed=float(found.unexplained), expected=0.0, tolerance=MARGIN[dtype])
    if found.raised:
        return Finding(Verdict.NOT_APPLICABLE, f"takes no rows in {name}: {found.raised}", evidence)
    if found.unexplained:
        reason = (
            f"{found.unexplained} of {found.compared} decisions on rows in {name} are not explained: {found.example}"
        )
        return Finding(Verdict.FAILED, reason, evidence)
    return Finding(
        Verdict.HELD, f"{found.compared} decisions on rows in {name}, {found.different} moved by rounding", evidence
    )
