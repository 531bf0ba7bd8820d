"""Recursive rejection for drafts with replacement, batched (SpecInfer, arXiv 2305.09781): the reference's ``recursive``.

Every refusal replaces the target by the normalised ``(target - draft)+``. Repeated, this stays ``(target - cut draft)+ / mass``
with two numbers a node: a refusal adds ``mass / left`` to the cut, where ``left`` is the draft mass that is left (one, with
replacement; without it every refused token is taken off), and the new mass is the sum of what remains. So no row is stored,
and a node costs one pass over its row for every refusal that another draft follows.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import coins
from specproof.fast.rows import Nodes, shaved
from specproof.fast.verifiers.nodes import needs_rows, walk

drafting = Drafting(drafts=2)
capabilities = frozenset({"batch", "ragged", "drafts", "takes_uniforms"})
rule = "recursive"


def verify(drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG001 - part of the contract
    """Verify any number of independent drafts with L K + 1 uniforms a request. Raises ``ValueError`` for rows without mass."""
    return rejected_in_turn("recursive", drafts, generator, replacement=True)


def rejected_in_turn(name: str, drafts: Drafts, generator: Randomness, *, replacement: bool) -> Outcome:
    """Verify by recursive rejection, the drafts at a node drawn with or without replacement."""
    needs_rows(name, drafts)
    last, flips = coins(generator, drafts, each=drafts.paths)
    found = walk(
        drafts,
        flips,
        lambda *given: Rejection.enter(*given, replacement=replacement),
    )
    return Outcome.of(drafts, found.path, found.accepted, found.draw(last))


@dataclass(frozen=True)
class Rejection:
    """Recursive rejection at n nodes; the numbers change with every refusal."""

    drafts: Drafts
    nodes: Nodes
    cut: Tensor  # [n]
    mass: Tensor  # [n]
    left: Tensor  # [n]
    replacement: bool

    @classmethod
    def enter(cls, drafts: Drafts, nodes: Nodes, count: Tensor, *, replacement: bool) -> "Rejection":
        """Start at new nodes: the target is untouched, the draft whole."""
        ones = torch.ones_like(count, dtype=torch.float64)
        return cls(drafts, nodes, torch.zeros_like(ones), ones, ones.clone(), replacement)

    def accepts(self, at: Tensor, coin: Tensor, target: Tensor, draft: Tensor) -> Tensor:
        """Accept while ``u draft / left < (target - cut draft)+ / mass``."""
        return coin * draft * self.mass[at] < (target - self.cut[at] * draft) * self.left[at]

    def refused(self, at: Tensor, draft: Tensor, more: Tensor) -> None:
        """Cut deeper, and sum what remains where another draft is tried against it."""
        self.cut[at] += self.mass[at] / self.left[at]
        if not self.replacement:
            self.left[at] = (self.left[at] - draft).clamp(min=1e-300)
        again = at[more]
        if len(again):
            self.mass[again] = shaved(self.drafts, self.nodes[again], self.cut[again]).mass

    def residual(self) -> tuple[Tensor, Tensor]:
        """What the last refusal has left."""
        return self.cut, torch.zeros_like(self.cut)
