"""What greedy verification of a selected path owes the rest of its block (MATH 2.3 with D in place of the draft).

At each later prefix z of the block the target is proportional to ``(target(zc) - D(zc))+``, D the law of the selection. D
goes on to be known where no draft went: a layer keeps the selector's ``State`` at the prefix where the text stands, and the
selector follows it ``along`` the next drafts. Layers stack, the oldest below; one dies when its block's tokens are used up.
The rows of all drafts are modified before the next selection, which needs a copy of the target's rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Outcome
from specproof.fast.selectors import Selector
from specproof.fast.selectors.selection import Selection, State


@dataclass(frozen=True)
class Layer:
    """One block's debt: D follows from ``state`` for ``paths`` drafts, ``left`` [B] tokens of the block are to come."""

    state: State
    odds: Tensor  # [B] target(z)/D(z) where the text stands
    left: Tensor  # [B] 0 when dead
    paths: int

    def select(self, rows: Tensor) -> "Layer":
        """The layer of some requests, in that order."""
        return Layer(self.state.select(rows), self.odds[rows], self.left[rows], self.paths)


@dataclass(frozen=True)
class Carried:
    """The layers of a batch, oldest first."""

    layers: tuple[Layer, ...]

    def select(self, rows: Tensor) -> "Carried | None":
        """The layers of some requests, in that order; None when none of them has any."""
        return carried([layer.select(rows) for layer in self.layers])

    @staticmethod
    def joined(parts: "Sequence[Carried | None]", sizes: Sequence[int]) -> "Carried | None":
        """The layers of several batches in one; a batch of ``sizes[j]`` requests without layers is None."""
        depth = max(len(part.layers) if part else 0 for part in parts)
        some = next((part.layers[0] for part in parts if part), None)
        if some is None:
            return None
        blank = Layer(some.state.select(torch.tensor([0])), some.odds[:1] * 0, some.left[:1] * 0, some.paths)
        stacks = []
        for part, size in zip(parts, sizes, strict=True):
            layers = part.layers if part else ()
            dead = blank.select(torch.zeros(size, dtype=torch.int64, device=blank.left.device))
            stacks.append([dead] * (depth - len(layers)) + list(layers))
        return carried([_beside(level) for level in zip(*stacks, strict=True)])


def carried(layers: Sequence[Layer]) -> Carried | None:
    """Forget the layers that are dead in every request; None when no other is there."""
    alive = tuple(layer for layer in layers if bool((layer.left > 0).any()))
    return Carried(alive) if alive else None


def _beside(layers: Sequence[Layer]) -> Layer:
    width = max(layer.state.cells.shape[-1] for layer in layers)
    cells = [torch.nn.functional.pad(layer.state.cells, (0, width - layer.state.cells.shape[-1])) for layer in layers]
    return Layer(
        State(torch.cat(cells), torch.cat([layer.state.ratio for layer in layers])),
        torch.cat([layer.odds for layer in layers]), torch.cat([layer.left for layer in layers]), layers[0].paths,
    )  # fmt: skip


def owed(selector: Selector, drafts: Drafts, layers: Sequence[Layer]) -> tuple[Drafts, list[Drafts]]:
    """Modify the target's rows by the layers; and the drafts with the rows under each layer.

    The row behind a whole path has no draft row to be modified with: a path that a layer outlives gives up its last token.
    Raises ``ValueError`` for a request with a layer alive and nothing drafted.
    """
    under = []
    for layer in layers:
        if len(layer.left) != drafts.batch:
            raise ValueError(f"carry holds {len(layer.left)} requests, the batch has {drafts.batch}")
        short = layer.left > drafts.each_length()
        if bool((short & (drafts.each_length() == 0)).any()):
            at = int((short & (drafts.each_length() == 0)).nonzero()[0])
            raise ValueError(
                f"request {at}: its target is modified here and nothing is drafted; draft at least one token"
            )
    lengths = drafts.each_length()
    if layers:
        lengths = lengths - (torch.stack([layer.left for layer in layers]).amax(0) > lengths).long()
    for layer in layers:
        under.append(drafts)
        reach = torch.minimum(layer.left, lengths + 1).clamp(min=0)  # rows that the layer modifies
        found = selector.along(layer.state, replace(drafts, lengths=reach), layer.left, layer.paths)
        target = drafts.target_probs.to(found.law.dtype, copy=True)
        for i in range(int(reach.max())):
            left = found.odds[:, :, i, None] * target[:, :, i] - found.law[:, :, i]  # [B, K, V]
            mass = left.clamp_(min=0).sum(-1, keepdim=True)
            # No emitted text arrives where nothing is left, or where the selection could not have gone.
            arrives = (i < reach)[:, None, None] & (mass > 0) & mass.isfinite()
            target[:, :, i] = torch.where(arrives, left / mass, target[:, :, i])
        drafts = replace(drafts, target_probs=target)
    return replace(drafts, lengths=lengths), under


def advanced(
    selector: Selector,
    drafts: Drafts,
    under: Sequence[Drafts],
    layers: Sequence[Layer],
    selection: Selection,
    outcome: Outcome,
) -> Carried | None:
    """The layers behind what was emitted, that of the block just verified on top."""
    rows = torch.arange(drafts.batch, device=drafts.device)
    lengths = drafts.each_length()
    new = Layer(selector.start(drafts), torch.ones_like(rows, dtype=torch.float64), lengths, drafts.paths)
    result = []
    for below, layer in zip([*under, drafts], [*layers, new], strict=True):
        emitted = outcome.tokens[:, None, :-1].clamp(min=0)  # [B, 1, L]
        goes_on = layer.left > outcome.accepted + 1
        chain = Drafts(
            emitted,
            below.draft_rows()[rows, selection.path][:, None],
            below.target_probs[rows, selection.path][:, None],
            torch.where(goes_on, outcome.accepted + 1, 0),
        )
        found = selector.along(layer.state, chain, layer.left, layer.paths)
        left = torch.where(goes_on, layer.left - outcome.accepted - 1, 0)
        result.append(Layer(found.ends, found.odds[:, 0, -1], left, layer.paths))
    return carried(result)
