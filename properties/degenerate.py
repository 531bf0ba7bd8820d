"""Property ``degenerate``: rows that are no laws get a documented answer, and edge cases of laws a right one.

A documented answer is an error, a row marked as not verified (nothing accepted, all ids -1), or ids of the vocabulary. While
the target rows are healthy, whatever the draft rows are, no id that they rule out may come out: a fully masked draft row
that becomes NaN must not turn into token 0. Drafts that are certain under both models must be kept, also when a fast softmax
hands over 1 + 2^-23. Healthy neighbours of a spoiled request are held to the same.

What is in the contract and what is not: a third party promises nothing about a target row without a law, so there any id of
the vocabulary will do. At a uniform of exactly zero (2^-24 in single precision) an impossible token is a note, as it is for
``support``.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from specproof.properties.check import Evidence, Finding
from specproof.properties.evidence.spoiled import LENGTH, VOCABULARY, Reaction, Spoiled, applicable, react
from specproof.properties.plan import Check, Gathering, Plan, named
from specproof.properties.subject import Subject
from specproof.properties.verdict import Verdict
from specproof.reference.exact import step_law
from specproof.reference.model import TableModel, prefixes

CLAIM = "degenerate rows"


def degenerate_checks(subject: Subject, plan: Plan) -> Iterator[Check]:
    """Name the checks of a verifier, one for each instance."""
    if plan.asks_for("driven"):
        for instance in applicable(subject):
            seen = Gathering(react, subject, instance, plan.seed)
            yield named("degenerate", CLAIM, instance.name, "driven", seen, partial(judge, subject))


def judge(subject: Subject, seen: Reaction) -> Finding:
    """Judge what a subject does with one instance."""
    instance = seen.instance
    evidence = Evidence("driven", calls=seen.calls, observed=float(len(seen.wrong)), expected=0.0)
    wrong = seen.wrong
    if "lossy_by_design" in subject.capabilities:  # may emit what the target rules out, never what is no token
        wrong = [reason for reason in wrong if "target probability zero" not in reason]
    if wrong:
        return Finding(Verdict.FAILED, f"{wrong[0]} (in {len(wrong)} of {seen.calls} calls)", evidence)
    if instance.sure and (missing := _not_kept(subject, seen)):
        return Finding(Verdict.FAILED, missing, evidence)
    return Finding(Verdict.HELD, _described(seen), evidence, notes=_notes(seen))


def _not_kept(subject: Subject, seen: Reaction) -> str:
    """Why a certain draft is missed: fewer tokens kept than the declared rule keeps, or an error."""
    if subject.declared is None:
        return ""
    promised = _promised(subject, seen.instance)
    if seen.errors:
        return f"a draft that is certain under both models is refused: {next(iter(seen.errors))}"
    if seen.accepted and min(seen.accepted) < promised:
        return (
            f"keeps {sum(seen.accepted) / len(seen.accepted):.3f} tokens of a draft that is certain under both models, "
            f"{subject.declared.name} keeps {promised}"
        )
    return ""


def _promised(subject: Subject, instance: Spoiled) -> Fraction:
    """Tokens that the declared rule keeps of a draft that both models are certain of; it does not depend on chance."""
    assert subject.declared is not None
    row = [Fraction(int(token == instance.drafted)) for token in range(VOCABULARY)]
    sure = TableModel(dict.fromkeys(prefixes(VOCABULARY, LENGTH), row))
    steps = step_law(subject.declared, sure, sure, drafts=subject.drafting.drafts, length=LENGTH)
    return Fraction(min(len(step.accepted) for step in steps))


def _described(seen: Reaction) -> str:
    raised, refused = sum(seen.errors.values()), seen.refused
    answered = seen.calls - raised - refused
    parts = [f"{answered} answers within the rules"] if answered else []
    parts += [f"{refused} marked as not verified"] if refused else []
    parts += [f"raises in {raised} of {seen.calls} calls: {next(iter(seen.errors))}"] if raised else []
    return "; ".join(parts)


def _notes(seen: Reaction) -> list[str]:
    if not seen.noted:
        return []
    when = "at a draw of exactly zero" if seen.instance.promised else "outside the contract"
    return [f"{seen.instance.name}: {when} the subject {seen.noted[0]}"]
