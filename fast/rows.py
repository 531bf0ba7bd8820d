"""The one row-sized operation that every verifier needs: the weights ``(target - cut draft)+`` of a node, and a draw from them.

A node is a row of the batch: what follows the first ``position`` tokens of a draft. Corrections, recursive residuals and
carried modifications are all of this form, with a number ``cut`` a node (``cut`` 0 is the target itself), so no row is ever
stored: one pass sums the weights in blocks of ``WIDTH`` tokens, and a draw looks again at one block only.

ROUNDING. Weights of wide rows are formed in the rows' own precision (float32 at least), of short ones in float64; sums are in
float64. For a cut of one, a single subtraction, a weight is off by at most 2^-24 of itself. For any other it is the weight of a
draft row whose entries are off by at most 2^-24 of themselves: no more than their own rounding has already moved them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from specproof.fast import kernels
from specproof.fast.batch import Drafts
from specproof.fast.randomness import search

WIDTH = 256
CACHED = 1 << 15  # entries of a chunk whose intermediates stay in the cache of a core
LARGEST = 1e300  # a cut beyond it leaves exactly the tokens that the draft rules out, without inf * 0


@dataclass(frozen=True)
class Nodes:
    """Rows of a batch: after ``position`` tokens of draft ``path`` of request ``request``; tensors that broadcast."""

    request: Tensor
    path: Tensor
    position: Tensor

    def __getitem__(self, index: Tensor | slice) -> "Nodes":
        """Pick some of the nodes."""
        return Nodes(self.request[index], self.path[index], self.position[index])

    def wide(self) -> "Nodes":
        """Nodes [n] as [n, 1], to be met by several tokens each."""
        return Nodes(self.request[:, None], self.path[:, None], self.position[:, None])

    def target(self, drafts: Drafts, tokens: Tensor) -> Tensor:
        """Target probabilities of ``tokens`` at the nodes, in float64."""
        return drafts.target_probs[self.request, self.path, self.position, tokens].double()

    def draft(self, drafts: Drafts, tokens: Tensor) -> Tensor:
        """Draft probabilities of ``tokens`` at the nodes, in float64; zero where the drafts have no row."""
        if drafts.length == 0:
            return torch.zeros_like(tokens, dtype=torch.float64)
        known = self.position < drafts.length
        position = self.position.clamp(max=drafts.length - 1)
        if drafts.draft_probs is None:
            here = (drafts.tokens[self.request, self.path, position] == tokens).double()
        else:
            here = drafts.draft_probs[self.request, self.path, position, tokens].double()
        return torch.where(known, here, 0.0)


@dataclass(frozen=True)
class Weights:
    """Weights of the tokens at some nodes, as sums over blocks: ``(target - cut draft)+``, and ``extra target`` with it."""

    drafts: Drafts
    nodes: Nodes  # of [n]
    cut: Tensor  # [n] float64
    sums: Tensor  # [n, blocks] float64
    extra: Tensor | None = None  # [n] float64

    @property
    def mass(self) -> Tensor:
        """Sum of the weights, [n]."""
        return self.sums.sum(-1)

    def or_target(self) -> "Weights":
        """Replace what rounding has left without weight by the target's own row.

        Raises ``ValueError`` naming the request whose row has no mass even so.
        """
        empty = (self.mass == 0) & (self.cut > 0)
        filled = self
        if bool(empty.any()):
            index = empty.nonzero().flatten()
            plain = shaved(self.drafts, self.nodes[index], torch.zeros_like(self.cut[index]))
            filled = replace(
                self, cut=self.cut.masked_fill(empty, 0.0), sums=self.sums.index_copy(0, index, plain.sums)
            )
        refuse(filled.nodes, ~((filled.mass > 0) & (filled.mass < torch.inf)), "has no mass")
        return filled

    def plus_target(self, extra: Tensor) -> "Weights":
        """Add ``extra`` [n] times the target's own row."""
        plain = shaved(self.drafts, self.nodes, torch.zeros_like(self.cut))
        return replace(self, sums=self.sums + extra[:, None] * plain.sums, extra=extra)

    def draw(self, uniform: Tensor) -> Tensor:
        """Draw one token a node by inverse distribution function: ``uniform`` [n] gives [n]; never one without weight."""
        vocabulary = self.drafts.vocabulary
        if kernels.usable(self.drafts.device):
            from specproof.fast.kernels import residual

            width = _width(vocabulary)
            return residual.draw(self.drafts, self.nodes, self.cut, self.extra, self.sums, uniform, width)
        block, rest = search(self.sums, uniform * self.mass)
        tokens = block[:, None] * _width(vocabulary) + torch.arange(_width(vocabulary), device=uniform.device)
        inside, known = tokens < vocabulary, tokens.clamp(max=vocabulary - 1)
        wide = self.nodes.wide()
        target, draft = wide.target(self.drafts, known), wide.draft(self.drafts, known)
        left = torch.where(self.cut[:, None] > 0, target - self.cut[:, None] * draft, target).clamp(min=0)
        if self.extra is not None:
            left = left + self.extra[:, None] * target
        return tokens.gather(-1, search(left * inside, rest)[0][:, None]).squeeze(-1)


def shaved(drafts: Drafts, nodes: Nodes, cut: Tensor) -> Weights:
    """Sum the weights ``(target - cut draft)+`` of nodes [n]. Raises ``ValueError`` naming the request with a NaN."""
    cut = cut.clamp(max=LARGEST)
    weights = Weights(drafts, nodes, cut, _sums(drafts, nodes, cut))
    refuse(nodes, weights.mass.isnan(), "is NaN")
    return weights


def _sums(drafts: Drafts, nodes: Nodes, cut: Tensor) -> Tensor:
    """Block sums of the weights of nodes [n], by what the device is good at."""
    if kernels.usable(drafts.device):
        from specproof.fast.kernels import residual

        return residual.block_sums(drafts, nodes, cut, _width(drafts.vocabulary))
    chunk = max(1, CACHED // drafts.vocabulary)
    if chunk == 1:
        places = zip(nodes.request.tolist(), nodes.path.tolist(), nodes.position.tolist(), cut.tolist(), strict=True)
        parts = [_one(drafts, b, k, i, factor) for b, k, i, factor in places]
    else:
        parts = [_some(drafts, nodes[i : i + chunk], cut[i : i + chunk]) for i in range(0, len(cut), chunk)]
    return torch.cat(parts) if parts else cut.new_zeros(0, _blocks(drafts.vocabulary))


def both_rows(drafts: Drafts, nodes: Nodes) -> Iterator[tuple[slice, Tensor, Tensor]]:
    """Yield the target's and the draft's rows of nodes [n] in float64, a chunk of nodes at a time: which, and [m, V] each."""
    chunk = max(1, CACHED // drafts.vocabulary)
    every = torch.arange(drafts.vocabulary, device=drafts.device)[None]
    for i in range(0, len(nodes.request), chunk):
        at = nodes[slice(i, i + chunk)].wide()
        yield slice(i, i + chunk), at.target(drafts, every), at.draft(drafts, every)


def _one(drafts: Drafts, request: int, path: int, position: int, cut: float) -> Tensor:
    """Block sums of one wide row: views, nothing is gathered."""
    row = drafts.target_probs[request, path, position]
    if cut == 0:
        return block_sums(row[None])
    if row.dtype.itemsize < 4:
        row = row.float()
    if drafts.draft_probs is None:
        row = row.clone()
        row[drafts.tokens[request, path, position]] -= cut
    else:
        row = torch.sub(row, drafts.draft_probs[request, path, position].to(row.dtype), alpha=cut)
    return block_sums(row.clamp_(min=0)[None])


def _some(drafts: Drafts, nodes: Nodes, cut: Tensor) -> Tensor:
    """Block sums of several rows at once."""
    left = drafts.target_probs[nodes.request, nodes.path, nodes.position].double()  # [n, V]
    if drafts.length and bool((cut > 0).any()):
        position = nodes.position.clamp(max=drafts.length - 1)
        if drafts.draft_probs is None:
            token = drafts.tokens[nodes.request, nodes.path, position].clamp(0, drafts.vocabulary - 1)
            left = left.scatter_add(-1, token[:, None], -cut[:, None])
        else:
            draft = drafts.draft_probs[nodes.request, nodes.path, position].double()
            left = torch.where(cut[:, None] > 0, left - cut[:, None] * draft, left)
        left = left.clamp(min=0)
    return block_sums(left)


def block_sums(rows: Tensor) -> Tensor:
    """Sum rows [n, V] over blocks of tokens, [n, blocks]; the last block may be short."""
    width = _width(rows.shape[-1])
    whole = rows.shape[-1] // width * width
    sums = rows[:, :whole].reshape(len(rows), -1, width).sum(-1, dtype=torch.float64)
    if whole == rows.shape[-1]:
        return sums
    return torch.cat([sums, rows[:, whole:].sum(-1, keepdim=True, dtype=torch.float64)], dim=-1)


def _width(vocabulary: int) -> int:
    return min(vocabulary, WIDTH)


def _blocks(vocabulary: int) -> int:
    return -(-vocabulary // _width(vocabulary))


def refuse(nodes: Nodes, bad: Tensor, why: str) -> None:
    """Raise ``ValueError`` naming the first request whose row is ``bad``."""
    if bool(bad.any()):
        at = int(bad.nonzero()[0])
        raise ValueError(f"request {int(nodes.request[at])}: target row {int(nodes.position[at])} {why}")
