"""Requests to put into batches: no two have a row in common, so that a neighbour's row, used by mistake, shows.

Rows depend on the position and not on what was drafted, so that the law of every emitted token is a row of the request.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts

CERTAIN_DRAFT, CERTAIN_TARGET, CERTAIN_BOTH = 5, 7, 11  # every so many requests have rows with a single token


def pool(
    drafting: Drafting, requests: int, *, length: int, vocabulary: int, seed: int, plain: bool = False,
    dtype: torch.dtype = torch.float32,
) -> Drafts:  # fmt: skip
    """Requests with random rows and drafts drawn from them.

    Unless ``plain``, some are greedy (one-hot target rows), some have drafts without randomness, some have both.
    """
    generator = torch.Generator().manual_seed(seed)
    target = _rows((requests, 1, length + 1, vocabulary), generator)
    draft = _rows((requests, 1, length, vocabulary), generator)
    at = torch.arange(requests)
    if not plain:
        greedy = (at % CERTAIN_TARGET == 1) | (at % CERTAIN_BOTH == 3)
        target = torch.where(greedy[:, None, None, None], _certain(target), target)
    if not plain and drafting.replacement:  # distinct drafts need several tokens
        fixed = (at % CERTAIN_DRAFT == 2) | (at % CERTAIN_BOTH == 3)
        draft = torch.where(fixed[:, None, None, None], _certain(draft), draft)
    every = (-1, drafting.drafts, -1, -1)
    target, draft = target.to(dtype).expand(every).contiguous(), draft.to(dtype).expand(every).contiguous()
    return Drafts(drawn(drafting, draft, generator), draft, target).check()


def drawn(drafting: Drafting, draft: Tensor, generator: torch.Generator) -> Tensor:
    """Draft tokens [B, K, L] from context-free rows [B, K, L, V]: independent, or with distinct first tokens."""
    first = torch.multinomial(draft[:, 0, 0].double(), drafting.drafts, drafting.replacement, generator=generator)
    later = draft[:, :, 1:]
    if not later.shape[2]:
        return first[..., None]
    rest = torch.multinomial(later.reshape(-1, draft.shape[-1]).double(), 1, generator=generator)
    return torch.cat([first[..., None], rest.view(later.shape[:3])], dim=-1)


def _rows(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64).mul(1.5).softmax(-1)


def _certain(rows: Tensor) -> Tensor:
    return torch.zeros_like(rows).scatter_(-1, rows.argmax(-1, keepdim=True), 1.0)


def some(drafts: Drafts, index: Sequence[int]) -> Drafts:
    """Some requests of a batch, in that order; copies, so that no call can change the pool."""
    at = torch.tensor(index)
    rows = None if drafts.draft_probs is None else drafts.draft_probs[at]
    lengths = None if drafts.lengths is None else drafts.lengths[at]
    return Drafts(drafts.tokens[at], rows, drafts.target_probs[at], lengths)


def ragged(drafts: Drafts) -> Drafts:
    """The same requests with lengths from 0 to L in turn, and nothing readable behind them: ids -1, rows of NaN."""
    lengths = torch.arange(drafts.batch) % (drafts.length + 1)
    behind = torch.arange(drafts.length) >= lengths[:, None, None]  # [B, 1, L]
    behind_bonus = torch.arange(drafts.length + 1) > lengths[:, None, None]
    return Drafts(
        drafts.tokens.masked_fill(behind, -1),
        drafts.draft_rows().masked_fill(behind[..., None], torch.nan),
        drafts.target_probs.masked_fill(behind_bonus[..., None], torch.nan),
        lengths,
    )


def unpadded(drafts: Drafts, request: int) -> Drafts:
    """One request of a ragged batch as a batch of its own, as long as it is (at least one token, which may not count)."""
    length = max(int(drafts.each_length()[request]), 1)
    one = some(drafts, [request])
    rows = None if one.draft_probs is None else one.draft_probs[:, :, :length]
    return Drafts(one.tokens[:, :, :length], rows, one.target_probs[:, :, : length + 1], one.lengths)


def without_rows(drafts: Drafts) -> Drafts:
    """The same drafts as drafts of probability one, which are handed over without rows."""
    return Drafts(drafts.tokens, None, drafts.target_probs, drafts.lengths)


def with_certain_rows(drafts: Drafts) -> Drafts:
    """The same drafts with one-hot rows written out."""
    return Drafts(drafts.tokens, without_rows(drafts).draft_rows(), drafts.target_probs, drafts.lengths)
