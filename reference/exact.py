"""The exact behaviour of a rule on one instance: ``exact("block", target, draft, drafts=1, length=2)``."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from specproof.reference.law import mapped, total_variation
from specproof.reference.model import Model, Prefix, after, sequences
from specproof.reference.selectors import selector_names
from specproof.reference.step import Step, decode_law, verification_law
from specproof.reference.verifiers import Rule, rule


@dataclass(frozen=True)
class Exact:
    """What one verification step does, and the law of the text it starts.

    ``steps`` is the law of the step; ``law`` the law of the first ``tokens`` tokens; both in fractions.
    """

    steps: dict[Step, Fraction]
    law: dict[Prefix, Fraction]
    target_law: dict[Prefix, Fraction]

    @cached_property
    def accepted_law(self) -> dict[int, Fraction]:
        """Law of the number of accepted draft tokens, tau."""
        return dict(sorted(mapped(self.steps, lambda step: len(step.accepted)).items()))

    @property
    def expected_accepted(self) -> Fraction:
        """E[tau]; block efficiency is one more."""
        return sum((count * mass for count, mass in self.accepted_law.items()), start=Fraction(0))

    @property
    def total_variation(self) -> Fraction:
        """Distance of ``law`` from the target's own law. Zero means lossless on this instance."""
        return Fraction(total_variation(self.law, self.target_law))


def completed(steps: dict[Step, Fraction], tokens: int) -> dict[Prefix, Fraction]:
    """Law of the first ``tokens`` tokens: each step's own, then those of the target it returned."""
    result: dict[Prefix, Fraction] = {}
    for step, mass in steps.items():
        emitted = step.tokens[:tokens]
        rest = sequences(after(step.target, step.tokens), tokens - len(emitted))
        for tail, share in rest.items():
            text = emitted + tail
            result[text] = result.get(text, Fraction(0)) + mass * share
    return result


def step_law(given: Rule, target: Model, draft: Model, *, drafts: int, length: int) -> dict[Step, Fraction]:
    """The exact law of one step of a rule, its drafts drawn by the rule's own drafter."""
    return verification_law(given.verify, target, draft, drafts=drafts, length=length, drafter=given.drafter)


def exact(
    name: str, target: Model, draft: Model, *, drafts: int, length: int, tokens: int | None = None, **options: Any
) -> Exact:
    """Return the exact behaviour of the named rule.

    ``tokens`` is how far the law reaches: one block of ``length + 1`` unless told; up to one block the text is completed
    with the target that the step returns, beyond it by further iterations of the same rule.
    Raises ``ValueError`` for an unknown name or option, vocabularies that differ, or a number of drafts the rule lacks.
    """
    given = rule(name, **options)
    check_instance(given, target, draft, drafts=drafts, length=length)
    reach = length + 1 if tokens is None else tokens
    steps = step_law(given, target, draft, drafts=drafts, length=length)
    if reach <= length + 1:
        text = completed(steps, reach)
    else:
        text = decode_law(
            given.verify, target, draft, drafts=drafts, length=length, tokens=reach, drafter=given.drafter
        )
    return Exact(steps, text, sequences(target, reach))


def check_instance(given: Rule, target: Model, draft: Model, *, drafts: int, length: int) -> None:
    """Raise ``ValueError`` when the rule cannot run on these models."""
    if target.vocabulary != draft.vocabulary:
        raise ValueError(f"target has {target.vocabulary} tokens, draft has {draft.vocabulary}; they must be equal")
    if drafts < 1 or length < 1:
        raise ValueError(f"drafts and length must be at least 1, got {drafts} and {length}")
    if given.paths is not None and drafts != given.paths:
        raise ValueError(
            f"{given.name} verifies {given.paths} draft, got {drafts}: nothing says which one to verify. "
            f"Give a selector, one of {', '.join(selector_names())}, or take a rule for several drafts."
        )
