"""Greedy block verification (Sun et al., arXiv 2403.10444v1, algorithm 4): the longest accepted block for one draft.

With joint probabilities along the path, ``S_i = sum (target(x^i c) - draft(x^i c))+`` and ``delta_i = target(x^i) -
draft(x^i)``, prefix i passes with ``(S_i - (delta_i)+) / (S_i - delta_i)`` and the whole path with ``min(1, target /
draft)``. Then a prefix z is accepted with probability ``min(target(z), draft(z))``, the largest possible. The price: the
rest of the block owes the target a modified law, the ``GreedyLayer`` that the step returns.
"""

from dataclasses import dataclass
from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix, Row, Shifted, after, joint
from specproof.reference.rows import normalised, residual, scaled
from specproof.reference.step import Step


def children(model: Model, prefix: Prefix) -> Row:
    """Joint probabilities of the one-token extensions of ``prefix``; all zero where the prefix is impossible."""
    mass = joint(model, (), prefix)
    return scaled(mass, model.probabilities(prefix)) if mass else (Fraction(0),) * model.vocabulary


@dataclass(frozen=True)
class GreedyLayer:
    """The target after a greedy step: for the rest of the block, proportional to ``(target(zc) - draft(zc))+``."""

    target: Model
    draft: Model
    length: int

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        return self.target.vocabulary

    def probabilities(self, prefix: Prefix) -> Row:
        """Return the modified row, or the target's own beyond the block and where no emitted text can arrive."""
        if len(prefix) < self.length:
            left = residual(children(self.target, prefix), children(self.draft, prefix))
            if any(left):
                return normalised(left)
        return tuple(self.target.probabilities(prefix))

    def after(self, prefix: Prefix) -> Model:
        """The layer dies once the block's ``length`` tokens are used up."""
        return Shifted(self, prefix) if len(prefix) < self.length else after(self.target, prefix)


def verify(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...], *, carry: bool = True) -> Step:
    """Verify one path drawn from ``draft``. ``carry=False`` forgets the layer, which is a fault kept for study.

    Raises ``ValueError`` for more than one path.
    """
    (path,) = drafts
    target_after = GreedyLayer(target, draft, len(path)) if carry else target
    target_joint, draft_joint = joint(target, (), path), joint(draft, (), path)
    if chance.flip(min(Fraction(1), target_joint / draft_joint)):
        return Step(path, chance.choose(target.probabilities(path)), target_after)
    for i in reversed(range(len(path))):
        prefix = path[:i]
        left = residual(children(target, prefix), children(draft, prefix))
        mass = sum(left, start=Fraction(0))
        delta = joint(target, (), prefix) - joint(draft, (), prefix)
        passing = (mass - max(delta, Fraction(0))) / (mass - delta) if mass > delta else Fraction(0)
        if i == 0 or chance.flip(passing):
            return Step(prefix, chance.choose(left), target_after)
    raise AssertionError("the empty prefix always passes")
