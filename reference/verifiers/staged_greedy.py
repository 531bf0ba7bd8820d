"""Staged greedy verification: greedy block verification of draft after draft (MATH 4.2, staged_greedy).

Draft k of K is verified against the sub-measure ``target / (K - k + 1)`` by greedy block verification, with a coin at the
root: when that fails too, the next draft's turn comes. Draft K always ends the step. A prefix z is accepted with
probability ``(1/K) sum over j = 1..K of min(target(z), j draft(z))``. What is carried over belongs to the draft that ended.
"""

from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.step import Step
from specproof.reference.verifiers.greedy_block import GreedyLayer, longest


def verify(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:
    """Verify any number of independent paths of equal length drawn from ``draft``."""
    for tried, path in enumerate(drafts):
        layer = GreedyLayer(target, draft, len(path), Fraction(1, len(drafts) - tried))
        accepted = longest(chance, layer, path)
        if accepted is not None:
            left = target.probabilities(path) if accepted == path else layer.residual(accepted)
            return Step(accepted, chance.choose(left), layer)
    raise AssertionError("the last draft always passes at the root")
