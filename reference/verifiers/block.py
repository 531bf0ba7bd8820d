"""Block verification (Sun et al., ICLR 2025, arXiv 2403.10444v3, algorithm 2).

With ``p_i = min(1, p_{i-1} target/draft)`` along the path and ``R_i = sum (p_i target - draft)+`` at its i-th prefix,
prefix i passes its own coin with probability ``R_i / (R_i + 1 - p_i)``, the whole path with ``p_L``. The longest prefix
that passes is accepted, so the coins are flipped from the longest down. Nothing is carried over.
"""

from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.rows import residual, scaled
from specproof.reference.step import Step


def verify(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:
    """Verify one path drawn from ``draft``. Raises ``ValueError`` for more than one path."""
    (path,) = drafts
    passing = [Fraction(1)]
    for i, token in enumerate(path):
        ratio = target.probabilities(path[:i])[token] / draft.probabilities(path[:i])[token]
        passing.append(min(Fraction(1), passing[i] * ratio))
    if chance.flip(passing[-1]):
        return Step(path, chance.choose(target.probabilities(path)), target)
    for i in reversed(range(len(path))):
        left = residual(scaled(passing[i], target.probabilities(path[:i])), draft.probabilities(path[:i]))
        mass = sum(left, start=Fraction(0))
        if i == 0 or chance.flip(mass / (mass + 1 - passing[i]) if mass + 1 > passing[i] else Fraction(1)):
            return Step(path[:i], chance.choose(left), target)
    raise AssertionError("the empty prefix always passes")
