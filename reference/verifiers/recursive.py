"""Recursive rejection for drafts with replacement (SpecInfer, Miao et al. 2023, arXiv 2305.09781).

At a node try the drafts that share the accepted prefix in turn: accept a token with ``min(1, target/draft)``; after a
rejection go on against the normalised ``(target - draft)+``, from which the token is drawn when all are rejected.
"""

from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.rows import normalised, residual
from specproof.reference.step import Step


def verify(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:
    """Verify any number of independent paths of equal length drawn from ``draft``."""
    surviving = drafts
    prefix: Prefix = ()
    while len(prefix) < len(drafts[0]):
        owed, draft_row = tuple(target.probabilities(prefix)), draft.probabilities(prefix)
        for path in surviving:
            token = path[len(prefix)]
            if chance.flip(min(Fraction(1), owed[token] / draft_row[token])):
                prefix = (*prefix, token)
                surviving = tuple(path for path in surviving if path[: len(prefix)] == prefix)
                break
            owed = normalised(residual(owed, draft_row))
        else:
            return Step(prefix, chance.choose(owed), target)
    return Step(prefix, chance.choose(target.probabilities(prefix)), target)
