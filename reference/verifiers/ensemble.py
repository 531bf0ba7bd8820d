"""Standard verification against a mixture of both models (DIVERSE, arXiv 2604.07622): lossy by design.

Accept with ``min(1, (1 - weight) + weight target/draft)``; the residual is the standard one. Weight 1 is standard
verification. Where the residual is empty the target itself is drawn from.
"""

from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.rows import residual
from specproof.reference.step import Step


def verify(
    chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...], *, weight: Fraction | int | str = 1
) -> Step:
    """Verify one path drawn from ``draft`` with the target's share ``weight``. Raises ``ValueError`` for more paths."""
    (path,) = drafts
    share = Fraction(weight)
    for i, token in enumerate(path):
        target_row, draft_row = target.probabilities(path[:i]), draft.probabilities(path[:i])
        if not chance.flip(min(Fraction(1), 1 - share + share * target_row[token] / draft_row[token])):
            left = residual(target_row, draft_row)
            return Step(path[:i], chance.choose(left if any(left) else target_row), target)
    return Step(path, chance.choose(target.probabilities(path)), target)
