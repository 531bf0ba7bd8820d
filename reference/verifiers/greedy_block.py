"""Greedy block verification (Sun et al., arXiv 2403.10444v1, algorithm 4): the longest accepted block for one draft.

With joint probabilities along the path, ``S_i = sum (target(x^i c) - draft(x^i c))+`` and ``delta_i = target(x^i) -
draft(x^i)``, prefix i passes with ``(S_i - (delta_i)+) / (S_i - delta_i)`` and the whole path with ``min(1, target /
draft)``. Then a prefix z is accepted with probability ``min(target(z), draft(z))``, the largest possible. The price: the
rest of the block owes the target a modified law, the ``GreedyLayer`` that the step returns. Against a sub-measure, a
``share`` of the target, the same formulas hold with the root flipping a coin too.
"""

from dataclasses import dataclass
from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix, Row, Shifted, after, children, joint
from specproof.reference.rows import normalised, residual, scaled
from specproof.reference.step import Step


@dataclass(frozen=True)
class GreedyLayer:
    """The target after a greedy step: for the rest of the block, proportional to ``(share target(zc) - draft(zc))+``."""

    target: Model
    draft: Model
    length: int
    share: Fraction = Fraction(1)

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        return self.target.vocabulary

    def residual(self, prefix: Prefix) -> Row:
        """What the drafts leave of the target after ``prefix``, in joint probabilities."""
        return residual(scaled(self.share, children(self.target, prefix)), children(self.draft, prefix))

    def probabilities(self, prefix: Prefix) -> Row:
        """Return the modified row, or the target's own beyond the block and where no emitted text can arrive."""
        left = self.residual(prefix) if len(prefix) < self.length else ()
        return normalised(left) if any(left) else tuple(self.target.probabilities(prefix))

    def after(self, prefix: Prefix) -> Model:
        """The layer dies once the block's ``length`` tokens are used up."""
        return Shifted(self, prefix) if len(prefix) < self.length else after(self.target, prefix)


def longest(chance: Chance, layer: GreedyLayer, path: Prefix) -> Prefix | None:
    """Return the longest prefix that passes its coin; None when none does, which needs a share below one."""
    for prefix in (path[:i] for i in reversed(range(len(path) + 1))):
        target_mass, draft_mass = layer.share * joint(layer.target, (), prefix), joint(layer.draft, (), prefix)
        if prefix == path:
            passing = min(Fraction(1), target_mass / draft_mass)
        else:
            mass, delta = sum(layer.residual(prefix), start=Fraction(0)), target_mass - draft_mass
            passing = (mass - max(delta, Fraction(0))) / (mass - delta) if mass > delta else Fraction(0)
        if chance.flip(passing):
            return prefix
    return None


def verify(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...], *, carry: bool = True) -> Step:
    """Verify one path drawn from ``draft``. ``carry=False`` forgets the layer, which is a fault kept for study.

    Raises ``ValueError`` for more than one path.
    """
    (path,) = drafts
    layer = GreedyLayer(target, draft, len(path))
    accepted = longest(chance, layer, path)
    if accepted is None:
        raise AssertionError("the empty prefix always passes")
    left = target.probabilities(path) if accepted == path else layer.residual(accepted)
    return Step(accepted, chance.choose(left), layer if carry else target)
