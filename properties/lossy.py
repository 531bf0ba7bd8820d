"""Property ``lossless`` for a subject that is lossy by design: it must do what it declares instead, and the loss is measured.

It declares a reference rule (``rule``, ``rule_options``), whose exact law its own must equal, or the largest total variation
from the target that its text may have (``largest_deviation``). One that declares neither is held to the target's law.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from specproof.properties.cases import Case
from specproof.properties.check import Evidence, Finding, counterexample, readable
from specproof.properties.evidence.exact import observe_exactly
from specproof.properties.evidence.observation import Mass, Observation
from specproof.properties.subject import Subject, subject_of_rule
from specproof.properties.verdict import Verdict
from specproof.reference.law import total_variation
from specproof.reference.model import Prefix


def declares_loss(subject: Subject) -> bool:
    """Whether the subject is lossy by design and says how."""
    return "lossy_by_design" in subject.capabilities and (
        subject.declared is not None or subject.largest_deviation is not None
    )


def declared_law(subject: Subject) -> Callable[[Observation], Finding]:
    """Judge a law against what the subject declares; the finding states how far from the target that is."""

    def judge(observation: Observation) -> Finding:
        deviation = total_variation(observation.text, observation.like(observation.case.target_law))
        if subject.declared is None:
            return _within(subject, observation, float(deviation))
        wanted = _of_rule(subject, observation.case)
        pair = (
            (observation.text, observation.like(wanted.text))
            if observation.case.iterated
            else (observation.steps, observation.like(wanted.steps))
        )
        distance = float(total_variation(*pair))
        evidence = _evidence(observation, distance)
        lost = f"TV {float(deviation):.4f} from the target"
        if distance > observation.tolerance:
            shown = counterexample(observation.case, _fractions(wanted.text), observation.text, distance)
            reason = f"total variation {readable(distance)} from the declared rule {subject.declared.name} ({lost})"
            return Finding(Verdict.FAILED, reason, evidence, shown)
        return Finding(Verdict.HELD, f"lossy as declared: the law of {subject.declared.name}, {lost}", evidence)

    return judge


def _within(subject: Subject, observation: Observation, deviation: float) -> Finding:
    bound, evidence = subject.largest_deviation, _evidence(observation, deviation)
    assert bound is not None
    if deviation > bound + observation.tolerance:
        shown = counterexample(observation.case, observation.case.target_law, observation.text, deviation)
        reason = f"total variation {readable(deviation)} from the target, {bound:g} is declared"
        return Finding(Verdict.FAILED, reason, evidence, shown)
    return Finding(Verdict.HELD, f"lossy as declared: TV {deviation:.4f} from the target, at most {bound:g}", evidence)


def _of_rule(subject: Subject, case: Case) -> Observation:
    assert subject.declared is not None
    rule = subject_of_rule(subject.declared, name=subject.declared.name, version="", drafts=case.drafts)
    return observe_exactly(rule, case)


def _fractions(law: Mapping[Prefix, Mass]) -> dict[Prefix, Fraction]:
    return {text: Fraction(mass) for text, mass in law.items()}


def _evidence(observation: Observation, distance: float) -> Evidence:
    return Evidence(
        observation.kind, total_variation=distance, tolerance=float(observation.tolerance),
        calls=observation.calls or None, spot_checks=observation.spot_checks or None,
    )  # fmt: skip


@dataclass(frozen=True)
class DeclaredCase(Case):
    """A case on which the text is expected to have the law of the declared rule, for evidence that counts."""

    subject: Subject | None = None

    @cached_property
    def target_law(self) -> dict[Prefix, Fraction]:
        """The law of the declared rule's text."""
        assert self.subject is not None
        return {text: mass for text, mass in _fractions(_of_rule(self.subject, self).text).items() if mass}


def expecting_declared(subject: Subject, case: Case) -> Case:
    """Return the case with the declared rule's law in the target's place."""
    given = {name: getattr(case, name) for name in Case.__dataclass_fields__}
    return DeclaredCase(**given, subject=subject)
