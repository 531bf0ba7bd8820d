"""Carried target modifications: what greedy block verification owes the rest of its block, stacked over iterations.

After a greedy step the target at a later prefix z of the same block is proportional to ``(target(zc) - draft(zc))+``
(arXiv 2403.10444v1; MATH 2.3). Divided by the layer's own target mass at z that is ``(target(c) - ratio draft(c))+`` with one
number a layer, ``ratio = draft(z)/target(z)``, kept as a log. Layers on top of each other read the same draft row, so a stack
is still ``(target - cut draft)+ / mass``: with ``cut = 0, mass = 1`` below the oldest, each layer adds ``mass ratio`` to the cut,
and the new mass is the sum of what is left. A layer dies when its block's tokens are used up, or where the draft could not
have gone; at most L - 1 are alive. Draft rows must come from one draft model throughout a generation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from specproof.fast.rows import shaved
from specproof.fast.verifiers.chain import LARGEST_LOG, Chain


@dataclass(frozen=True)
class Layers:
    """The layers of B requests, oldest first; a dead one has nothing left."""

    log_ratio: Tensor  # [B, J] float64: log of draft over target mass where the text stands, -inf when dead
    left: Tensor  # [B, J] int64: tokens of the layer's block that are still to come, 0 when dead

    def pruned(self) -> "Layers | None":
        """Forget the layers that are dead in every request; None when no other is there."""
        dead = (self.left <= 0) | (self.log_ratio == -torch.inf)
        kept = ~dead.all(0)
        if not bool(kept.any()):
            return None
        return Layers(self.log_ratio.masked_fill(dead, -torch.inf)[:, kept], self.left.masked_fill(dead, 0)[:, kept])

    def select(self, rows: Tensor) -> "Layers | None":
        """The layers of some requests, in that order; None when none of them has any."""
        return Layers(self.log_ratio[rows], self.left[rows]).pruned()

    @staticmethod
    def joined(parts: "Sequence[Layers | None]", sizes: Sequence[int]) -> "Layers | None":
        """The layers of several batches in one; a batch of ``sizes[j]`` requests without layers is None."""
        present = [part for part in parts if part is not None]
        if not present:
            return None
        depth = max(part.left.shape[1] for part in present)
        ratios, lefts = [], []
        for part, size in zip(parts, sizes, strict=True):
            missing = depth - (part.left.shape[1] if part is not None else 0)
            ratio, left = (
                present[0].log_ratio.new_full((size, missing), -torch.inf),
                present[0].left.new_zeros((size, missing)),
            )
            ratios.append(ratio if part is None else torch.cat([ratio, part.log_ratio], dim=1))
            lefts.append(left if part is None else torch.cat([left, part.left], dim=1))
        return Layers(torch.cat(ratios), torch.cat(lefts)).pruned()


@dataclass(frozen=True)
class Trail:
    """The stack along a chain: what lies under each layer at each row, and the layer's ratio there: [n, L+1, J]."""

    cut: Tensor
    mass: Tensor
    log_ratio: Tensor
    left: Tensor  # [n, J], at the start of the block


def modified(chain: Chain, layers: Layers | None) -> tuple[Chain, Trail | None]:
    """Put the layers of its requests over a chain.

    The token after a whole path needs the draft's row there while a layer reaches that far. There is none, so such a path
    gives up its last token. Raises ``ValueError`` for a request that has a layer alive and nothing drafted.
    """
    if layers is None:
        return chain, None
    if len(layers.left) != len(chain.request):
        raise ValueError(f"carry holds {len(layers.left)} requests, the batch has {len(chain.request)}")
    short = layers.left.amax(1) > chain.lengths
    if bool((short & (chain.lengths == 0)).any()):
        at = int(chain.request[(short & (chain.lengths == 0)).nonzero()[0]])
        raise ValueError(f"request {at}: its target is modified here and nothing is drafted; draft at least one token")
    chain = replace(chain, lengths=chain.lengths - short.long())
    rows: list[tuple[Tensor, Tensor]] = []
    under: list[tuple[Tensor, Tensor, Tensor]] = []
    log_ratio = layers.log_ratio
    for i in range(chain.drafts.length + 1):
        below, (cut, mass) = _stack(chain, i, log_ratio, layers.left)
        rows.append((cut, mass))
        under.append((*below, log_ratio))
        if i < chain.drafts.length:
            log_ratio = _followed(log_ratio, *below, chain.target[:, i], chain.draft[:, i])
    cuts, masses = (torch.stack(part, dim=1) for part in zip(*rows, strict=True))
    target = (chain.target - cuts[:, :-1] * chain.draft).clamp(min=0) / masses[:, :-1]
    cut_below, mass_below, ratios = (torch.stack(part, dim=1) for part in zip(*under, strict=True))
    return replace(chain, cut=cuts, mass=masses, target=target), Trail(cut_below, mass_below, ratios, layers.left)


def _stack(
    chain: Chain, position: int, log_ratio: Tensor, left: Tensor
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Cut and mass under every layer at a row, [n, J] each, and on top of all, [n] each."""
    cut, mass = torch.zeros_like(log_ratio[:, 0]), torch.ones_like(log_ratio[:, 0])
    below = []
    for j in range(log_ratio.shape[1]):
        below.append((cut, mass))
        alive = (left[:, j] > position) & (log_ratio[:, j] > -torch.inf) & (position <= chain.lengths)
        at = alive.nonzero().flatten()
        if len(at):
            deeper = cut[at] + mass[at] * log_ratio[at, j].clamp(max=LARGEST_LOG).exp()
            remaining = shaved(chain.drafts, chain.nodes(torch.full_like(chain.lengths, position))[at], deeper).mass
            reached = remaining > 0  # no emitted text arrives where nothing is left
            cut, mass = cut.clone(), mass.clone()
            cut[at[reached]], mass[at[reached]] = deeper[reached], remaining[reached]
    return (torch.stack([pair[0] for pair in below], 1), torch.stack([pair[1] for pair in below], 1)), (cut, mass)


def _followed(log_ratio: Tensor, cut: Tensor, mass: Tensor, target: Tensor, draft: Tensor) -> Tensor:
    """The ratios of layers one token later: ``cut``, ``mass`` [n, J] below them, the token's entries [n]."""
    below = (target[:, None] - cut * draft[:, None]).clamp(min=1e-320) / mass
    return log_ratio + draft.log()[:, None] - below.log()


def advanced(chain: Chain, trail: Trail | None, accepted: Tensor, final: Tensor, log_ratio: Tensor) -> Layers:
    """The stack after ``accepted`` [n] tokens and the token ``final`` [n]; dead layers are still in it.

    ``log_ratio`` [n, L+1] is target over draft in the block that has just been verified; its layer goes on top.
    """
    at = accepted[:, None]
    cut, mass, ratio = chain.cut.gather(1, at), chain.mass.gather(1, at), -log_ratio.gather(1, at)
    left = chain.lengths[:, None]
    if trail is not None:
        rows = torch.arange(len(accepted), device=accepted.device)
        cut, mass, ratio = (
            torch.cat([old[rows, accepted], new], dim=1)
            for old, new in ((trail.cut, cut), (trail.mass, mass), (trail.log_ratio, ratio))
        )
        left = torch.cat([trail.left, left], dim=1)
    nodes = chain.nodes(accepted)
    target, draft = nodes.target(chain.drafts, final), nodes.draft(chain.drafts, final)
    return Layers(_followed(ratio, cut, mass, target, draft), left - (accepted + 1)[:, None])
