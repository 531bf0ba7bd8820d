"""Standard verification: token by token (Leviathan et al. 2023, algorithm 1; Chen et al. 2023, algorithm 2).

Accept token i with probability min(1, target/draft); at the first rejection draw from the positive part of
``target - draft``. One token is accepted with probability 1 - TV(target, draft).
"""

from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.rows import residual
from specproof.reference.step import Step


def verify(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:
    """Verify one path drawn from ``draft``. Raises ``ValueError`` for more than one path."""
    (path,) = drafts
    for i, token in enumerate(path):
        target_row, draft_row = target.probabilities(path[:i]), draft.probabilities(path[:i])
        if not chance.flip(min(Fraction(1), target_row[token] / draft_row[token])):
            return Step(path[:i], chance.choose(residual(target_row, draft_row)), target)
    return Step(path, chance.choose(target.probabilities(path)), target)
