"""What looks wrong and is right: a suite that convicts one of these is broken."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from specproof.fast.batch import Drafts, Outcome, Randomness
from specproof.fast.verifiers import standard
from specproof.properties.mutants.chain import Chain, without
from specproof.properties.mutants.loop import Loop
from specproof.properties.mutants.loops import at_double_temperature
from specproof.properties.mutants.more_rules import Declared
from specproof.properties.mutants.mutant import Mutant
from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.step import Step
from specproof.reference.verifiers import rule


def target_only(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:  # noqa: ARG001
    """Try the drafts with what is left of the target's own row: a tried token is removed, the draft's law never read."""
    prefix: Prefix = ()
    while len(prefix) < len(drafts[0]):
        left: Sequence[Any] = target.probabilities(prefix)
        for path in (path for path in drafts if path[: len(prefix)] == prefix):
            token = path[len(prefix)]
            if left[token] and chance.flip(left[token] / sum(left)):
                prefix = (*prefix, token)
                break
            if any(remaining := without(left, token, left[token])):
                left = remaining
        else:
            return Step(prefix, chance.choose(left), target)
    return Step(prefix, chance.choose(target.probabilities(prefix)), target)


class OneHotForAll:
    """One request without drafts switches its whole batch to verification without draft probabilities."""

    capabilities = standard.capabilities
    drafting = standard.drafting

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:
        """Verify with the standard rule."""
        bare = bool((drafts.each_length() == 0).any())
        return standard.verify(replace(drafts, draft_probs=None) if bare else drafts, generator, carry)


class OtherRounding:
    """Rows pass through logits first, which rounds them differently from the plain path."""

    capabilities = standard.capabilities
    drafting = standard.drafting

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:
        """Verify with the standard rule."""
        return standard.verify(replace(drafts, target_probs=drafts.target_probs.log().softmax(-1)), generator, carry)


def _control(title: str, *ids: str, **how: Any) -> Mutant:
    return Mutant(title, "iterations", fault_id=ids, control=True, distance="0.0000", **how)


MUTANTS: dict[str, Mutant] = {
    "sample_match": _control(
        "accepts what the target itself draws", "Z01", program=rule("sample_match").verify
    ),
    "drafts_as_certain": _control(
        "sampled drafts are verified as if each had been certain", "Z03",
        program=Chain(accept=lambda t, _, x: Fraction(t[x]), correct=lambda t, _, x: without(t, x, t[x])),
    ),
    "target_only": _control(
        "draft probabilities are never read", "Z04", program=target_only, drafts=2
    ),
    "hot_assistant": _control(
        "drafts at another temperature than the request's, declared as such", "Z05",
        make=lambda: Loop(length=1, draft_row=at_double_temperature),
    ),
    "recursive_in_place": _control(
        "the last draw reads the target after it has become the residual", "Z06", program=rule("recursive").verify,
        drafts=2,
    ),
    "siblings_renormalised": _control(
        "siblings drawn without replacement, each verified with the law it was drawn from", "G04",
        make=lambda: replace(rule("recursive_without_replacement"), paths=2),
    ),
    "one_hot_for_all": _control(
        "one request without drafts makes the batch ignore draft probabilities", "Z07", make=OneHotForAll, evidence="probed",
        gives_up=("batching",),  # neighbours change how much is accepted, which the catalogue says too; no law changes
    ),
    "other_rounding": _control(
        "rows are rounded differently from the plain path", "Z08", make=OtherRounding, evidence="probed"
    ),
    "lossy_as_declared": _control(
        "loses the law and says which other law it has", make=lambda: Declared(rule("typical").verify, declares="typical")
    ),
}  # fmt: skip
