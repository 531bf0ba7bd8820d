"""Uniforms for a batch, from whatever the caller gave: a generator, one seed a request, or the uniforms themselves."""

import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Randomness


def uniforms(source: Randomness, batch: int, count: int, device: torch.device) -> Tensor:
    """Return float64 uniforms in [0, 1) of shape [batch, count]; no two rows share a stream.

    Raises ``ValueError`` when given uniforms or seeds do not fit the batch.
    """
    if isinstance(source, Tensor):
        if source.shape != (batch, count):
            raise ValueError(f"uniforms must be [B, n] = {(batch, count)}, got {tuple(source.shape)}")
        return source.to(device=device, dtype=torch.float64)
    if source is None or isinstance(source, torch.Generator):
        return torch.rand(batch, count, dtype=torch.float64, device=device, generator=source)
    if len(source) != batch:
        raise ValueError(f"one seed a request: {batch} requests, got {len(source)} seeds")
    rows = [
        torch.rand(count, dtype=torch.float64, generator=torch.Generator().manual_seed(own_stream(seed)))
        for seed in source
    ]
    return torch.stack(rows).to(device)


def own_stream(seed: int) -> int:
    """A seed for verification alone: whoever drafts from the request's seed as it is draws other numbers.

    Mixed because torch reads no more than 32 bits of a seed on the CPU: those above must count too.
    """
    return splitmix(seed)


def splitmix(number: int) -> int:
    """One step of Steele's splitmix64: 64 bits in which every bit of ``number`` counts."""
    mixed = (number + 0x9E3779B97F4A7C15) % 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ mixed >> shift) * factor % 2**64
    return mixed ^ mixed >> 31


def coins(source: Randomness, drafts: Drafts, *, root: bool = False, each: int = 1) -> tuple[Tensor, Tensor]:
    """Return the uniform that draws each request's last token, [B], and ``each`` coins a position, [B, L, each].

    With ``root`` the empty prefix has coins of its own, [B, L+1, each]. A request uses the first numbers of its row, as many
    as its own length asks for, so that longer neighbours do not move them.
    """
    positions = drafts.length + root
    drawn = uniforms(source, drafts.batch, positions * each + 1, drafts.device)
    last = drawn.gather(1, ((drafts.each_length() + root) * each)[:, None]).squeeze(1)
    return last, drawn[:, :-1].view(drafts.batch, positions, each)


def draw(weights: Tensor, uniform: Tensor) -> Tensor:
    """Draw one index a row by inverse distribution function: ``weights`` [B, V], ``uniform`` [B]; never a zero weight."""
    wide = weights.double()
    return search(wide, uniform * wide.sum(-1))[0]


def search(weights: Tensor, position: Tensor) -> tuple[Tensor, Tensor]:
    """Find the entry of each row in which ``position`` lies when the weights are laid end to end, and how far inside.

    ``weights`` [n, m], ``position`` [n]. Rounding can push the position beyond the end: the last entry with weight is
    found then, never one without. It can also push it before the entry that was found: never inside by less than nothing,
    or a search that goes on there could find an entry without weight.
    """
    cumulative = weights.cumsum(-1)
    index = torch.searchsorted(cumulative, position[:, None], right=True)
    last = weights.shape[-1] - 1 - (weights > 0).flip(-1).to(torch.int8).argmax(-1, keepdim=True)
    index = torch.minimum(index, last)  # [n, 1]
    before = cumulative.gather(-1, index) - weights.gather(-1, index)
    return index.squeeze(-1), (position - before.squeeze(-1)).clamp(min=0)
