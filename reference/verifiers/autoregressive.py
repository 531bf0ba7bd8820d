"""Plain decoding: ignore the drafts, draw one token from the target. The law every other rule must reproduce."""

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.step import Step


def verify(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:  # noqa: ARG001
    """Accept nothing and emit one token of the target."""
    return Step((), chance.choose(target.probabilities(())), target)
