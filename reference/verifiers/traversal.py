"""Traversal verification: from the leaves to the root (Weng et al. 2025, arXiv 2505.12398, algorithm 2).

The drafts form a tree. A node is entered with a probability p to pass, the root with 1; a child gets ``min(1, p
target/draft)`` and its whole subtree is tried before the node itself. Every refused child leaves the node with the target
``(p target - draft)+`` of mass R, normalised, and ``p = R / (R + 1 - p)``. When no child is left the node passes with p
and the token is drawn from what its target has become. A subtree passes with p however many drafts run through it, so
the drafts that are still to be tried stay independent. With one draft this is block verification.
"""

from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.rows import normalised, residual, scaled
from specproof.reference.step import Step


def verify(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:
    """Verify any number of independent paths of equal length drawn from ``draft``."""
    step = visit(chance, target, draft, drafts, (), Fraction(1))
    if step is None:
        raise AssertionError("the root always passes")
    return step


def visit(
    chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...], prefix: Prefix, passing: Fraction
) -> Step | None:
    """Try the subtree of a prefix, through which all the given drafts run; None when it is refused."""
    owed = tuple(target.probabilities(prefix))
    for path in drafts if len(prefix) < len(drafts[0]) else ():
        token, draft_row = path[len(prefix)], draft.probabilities(prefix)
        child = min(Fraction(1), passing * owed[token] / draft_row[token])
        if child:  # a token that was refused before has nothing left
            sharing = tuple(other for other in drafts if other[len(prefix)] == token)
            step = visit(chance, target, draft, sharing, (*prefix, token), child)
            if step is not None:
                return step
        left = residual(scaled(passing, owed), draft_row)
        mass = sum(left, start=Fraction(0))
        passing = mass / (mass + 1 - passing) if mass + 1 > passing else Fraction(1)
        owed = normalised(left) if mass else owed
    return Step(prefix, chance.choose(owed), target) if chance.flip(passing) else None
