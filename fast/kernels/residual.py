"""Residual sums and draws on the GPU: the two passes of ``fast.rows`` over ``(target - cut draft)+ + extra target``.

The first pass reads both rows where they lie and leaves one sum for every ``width`` tokens; the second finds the block in
which ``uniform * mass`` falls, reads that block again and finds the token. Weights and sums are in float64, in another order
than torch's: tokens differ only where the uniform lies within ``V 2^-52`` of a threshold.

DEGENERATE ROWS. A token without weight is never drawn, whatever the uniform and the rounding of prefix sums: it is skipped
by its weight, not by its interval. A row without mass, or with NaN or infinite mass, gives -1. Nothing is clamped into range.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.kernels import AS_WRITTEN
from specproof.fast.rows import Nodes

TILE = 1024  # tokens that one program of the first pass reads


@triton.jit
def _weights(
    target, draft, token_step, draft_step, column, inside, drafted_end, cut, extra, ONE_HOT: tl.constexpr
):  # fmt: skip
    """Weights of the tokens at ``column`` in one pair of rows, NaN kept; zero outside. The draft's row ends at ``drafted_end``."""
    here = tl.load(target + column * token_step, mask=inside, other=0.0).to(tl.float64)
    if ONE_HOT:
        drafted = (tl.load(draft, mask=drafted_end > 0, other=-1) == column).to(tl.float64)
    else:
        drafted = tl.load(draft + column * draft_step, mask=inside & (column < drafted_end), other=0.0).to(tl.float64)
    left = tl.where(cut > 0, here - cut * drafted, here)
    return tl.where(inside, tl.where(left < 0, 0.0, left) + extra * here, 0.0)


@triton.jit
def _search(weights, position, SIZE: tl.constexpr):
    """First entry with weight whose prefix sum exceeds ``position``, and how far inside; -1 where nothing has weight."""
    place = tl.arange(0, SIZE)
    prefix = tl.cumsum(weights, 0)
    first = tl.min(tl.where((prefix > position) & (weights > 0), place, SIZE), 0)
    last = tl.max(tl.where(weights > 0, place, -1), 0)
    index = tl.minimum(first, last)
    before = tl.sum(tl.where(place == index, prefix - weights, 0.0), 0)
    return index, tl.maximum(position - before, 0.0)


@triton.jit
def _sum_kernel(
    target, draft, request, path, position, cut, sums, length, vocabulary, blocks,
    t_request, t_path, t_position, t_token, d_request, d_path, d_position, d_token,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, SPAN: tl.constexpr, ONE_HOT: tl.constexpr,
):  # fmt: skip
    node = tl.program_id(0).to(tl.int64)
    b, k, i = tl.load(request + node), tl.load(path + node), tl.load(position + node)
    block = tl.program_id(1) * SPAN + tl.arange(0, SPAN)[:, None]
    lane = tl.arange(0, PADDED)[None, :]
    column = block * WIDTH + lane  # [SPAN, PADDED]
    weights = _weights(
        target + b * t_request + k * t_path + i * t_position, draft + b * d_request + k * d_path + i * d_position,
        t_token, d_token, column, (lane < WIDTH) & (column < vocabulary), tl.where(i < length, vocabulary, 0),
        tl.load(cut + node), 0.0, ONE_HOT,
    )  # fmt: skip
    one = tl.program_id(1) * SPAN + tl.arange(0, SPAN)
    tl.store(sums + node * blocks + one, tl.sum(weights, 1), mask=one < blocks)


@triton.jit
def _draw_kernel(
    target, draft, request, path, position, cut, extra, sums, uniform, tokens, length, vocabulary, blocks,
    t_request, t_path, t_position, t_token, d_request, d_path, d_position, d_token,
    WIDTH: tl.constexpr, PADDED: tl.constexpr, BLOCKS: tl.constexpr, ONE_HOT: tl.constexpr,
):  # fmt: skip
    node = tl.program_id(0).to(tl.int64)
    b, k, i = tl.load(request + node), tl.load(path + node), tl.load(position + node)
    place = tl.arange(0, BLOCKS)
    mass = tl.load(sums + node * blocks + place, mask=place < blocks, other=0.0)
    total = tl.sum(mass, 0)
    width = tl.where((total > 0) & (total < float("inf")), WIDTH, 0)  # nothing is read of a row that is not sound
    block, rest = _search(mass, tl.load(uniform + node) * total, BLOCKS)
    lane = tl.arange(0, PADDED)
    column = block * WIDTH + lane
    weights = _weights(
        target + b * t_request + k * t_path + i * t_position, draft + b * d_request + k * d_path + i * d_position,
        t_token, d_token, column, (lane < width) & (column < vocabulary), tl.where(i < length, vocabulary, 0),
        tl.load(cut + node), tl.load(extra + node), ONE_HOT,
    )  # fmt: skip
    inside, _ = _search(weights, rest, PADDED)
    tl.store(tokens + node, tl.where(inside >= 0, block * WIDTH + inside, -1))


def block_sums(drafts: Drafts, nodes: Nodes, cut: Tensor, width: int) -> Tensor:
    """Sum ``(target - cut draft)+`` of nodes [n] over blocks of ``width`` tokens, [n, blocks] float64.

    ``cut`` [n] float64 counts only where the drafts have a row: behind the last drafted token the target stands alone.
    """
    blocks = triton.cdiv(drafts.vocabulary, width)
    sums = torch.empty((len(cut), blocks), dtype=torch.float64, device=drafts.device)
    padded = triton.next_power_of_2(width)
    span = min(max(1, TILE // padded), triton.next_power_of_2(blocks))
    if len(cut):
        with torch.cuda.device_of(sums):
            _sum_kernel[len(cut), triton.cdiv(blocks, span)](
                *_rows(drafts), *_places(nodes), cut.contiguous(), sums, drafts.length, drafts.vocabulary, blocks,
                *_steps(drafts), width, padded, span, drafts.draft_probs is None, **AS_WRITTEN,
            )  # fmt: skip
    return sums


def draw(
    drafts: Drafts, nodes: Nodes, cut: Tensor, extra: Tensor | None, sums: Tensor, uniform: Tensor, width: int
) -> Tensor:
    """Draw one token a node, [n] int64, where ``sums`` [n, blocks] are the block sums; -1 where a row has no finite mass."""
    tokens = torch.empty(len(cut), dtype=torch.int64, device=drafts.device)
    added = torch.zeros_like(cut) if extra is None else extra.contiguous()
    if len(cut):
        with torch.cuda.device_of(tokens):
            _draw_kernel[(len(cut),)](
                *_rows(drafts), *_places(nodes), cut.contiguous(), added, sums.contiguous(),
                uniform.double().contiguous(), tokens, drafts.length, drafts.vocabulary, sums.shape[1], *_steps(drafts),
                width, triton.next_power_of_2(width), triton.next_power_of_2(sums.shape[1]), drafts.draft_probs is None,
                **AS_WRITTEN,
            )  # fmt: skip
    return tokens


def _rows(drafts: Drafts) -> tuple[Tensor, Tensor]:
    """Where target rows are read, and draft rows: the drafted tokens themselves stand for one-hot rows."""
    return drafts.target_probs, drafts.tokens if drafts.draft_probs is None else drafts.draft_probs


def _places(nodes: Nodes) -> tuple[Tensor, Tensor, Tensor]:
    return nodes.request.contiguous(), nodes.path.contiguous(), nodes.position.contiguous()


def _steps(drafts: Drafts) -> tuple[int, ...]:
    """Strides of the target's rows and of the draft's."""
    draft = (*drafts.tokens.stride(), 0) if drafts.draft_probs is None else drafts.draft_probs.stride()
    return *drafts.target_probs.stride(), *draft
