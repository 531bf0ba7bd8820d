"""Ratio histograms on the GPU: target and draft mass of every group of ``selectors.groups``, one pass over the rows.

A group number is split into 16 ``low`` values and some ``high`` ones; a tile's histogram is then the product of the masses
spread over ``high`` [high, tile] with the indicators of ``low`` [tile, 16]: no atomics, so the sums do not depend on the
order in which programs run. Sums are in float32 inside a tile of 128 tokens, in float64 across tiles.

GROUPS. Division on a GPU is not torch's to the last bit, and a token counted in one group but looked up in another would
bend the selector's law. Where masses come from here, ``groups`` says which group single tokens belong to: same code, same bits.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.kernels import AS_WRITTEN

TILE = 128
SPAN = 4096  # tokens that one program reads
LOW = 16  # the smallest side of a product


@triton.jit
def _group(target, draft, BINS: tl.constexpr, OCTAVES: tl.constexpr):
    """Group of ``target / draft``, its octaves cut evenly; 0 for 0/0 and NaN, the last where only the target is."""
    ratio = target / draft
    ratio = tl.where(ratio == ratio, ratio, 0.0)  # noqa: PLR0124 - NaN is not itself
    if ratio.dtype == tl.float64:  # exponent and mantissa as a number: the logarithm, linear between powers of two
        place = ratio.to(tl.int64, bitcast=True).to(tl.float64) * (BINS / 4503599627370496.0) - (1023 - OCTAVES) * BINS
    else:
        place = ratio.to(tl.int32, bitcast=True).to(tl.float32) * (BINS / 8388608.0) - (127 - OCTAVES) * BINS
    never = ratio == float("inf")
    place = tl.minimum(tl.maximum(place + 1.0, 0.0), 2.0 * OCTAVES * BINS + 1.0)
    return place.to(tl.int32) + never.to(tl.int32)


@triton.jit
def _mass_kernel(
    target, draft, request, path, position, masses, vocabulary,
    t_request, t_path, t_position, t_token, d_request, d_path, d_position, d_token,
    BINS: tl.constexpr, OCTAVES: tl.constexpr, KIND: tl.constexpr, HIGH: tl.constexpr, LOW: tl.constexpr, TILE: tl.constexpr, SPAN: tl.constexpr,
):  # fmt: skip
    node, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    b, k, i = tl.load(request + node), tl.load(path + node), tl.load(position + node)
    target += b * t_request + k * t_path + i * t_position
    draft += b * d_request + k * d_path + i * d_position
    lows, highs = tl.arange(0, LOW), tl.arange(0, HIGH)
    of_target = tl.zeros((HIGH, LOW), tl.float64)
    of_draft = tl.zeros((HIGH, LOW), tl.float64)
    for start in range(0, tl.minimum(SPAN, vocabulary - part * SPAN), TILE):
        column = part * SPAN + start + tl.arange(0, TILE)
        inside = column < vocabulary
        here = tl.load(target + column * t_token, mask=inside, other=0.0).to(KIND)
        drafted = tl.load(draft + column * d_token, mask=inside, other=0.0).to(KIND)
        group = _group(here, drafted, BINS, OCTAVES)
        spread = (group // LOW)[None, :] == highs[:, None]  # [HIGH, TILE]
        which = ((group % LOW)[:, None] == lows[None, :]).to(tl.float32)  # [TILE, LOW]
        here, drafted = here.to(tl.float32)[None, :], drafted.to(tl.float32)[None, :]
        of_target += tl.dot(tl.where(spread, here, 0.0), which, input_precision="ieee").to(tl.float64)
        of_draft += tl.dot(tl.where(spread, drafted, 0.0), which, input_precision="ieee").to(tl.float64)
    cell = highs[:, None] * LOW + lows[None, :]
    out = masses + (node * tl.num_programs(1) + part) * (2 * HIGH * LOW) + cell
    tl.store(out, of_target)
    tl.store(out + HIGH * LOW, of_draft)


@triton.jit
def _group_kernel(
    target, draft, group, count, BINS: tl.constexpr, OCTAVES: tl.constexpr, KIND: tl.constexpr, TILE: tl.constexpr
):
    place = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = place < count
    here = tl.load(target + place, mask=inside, other=0.0).to(KIND)
    drafted = tl.load(draft + place, mask=inside, other=0.0).to(KIND)
    tl.store(group + place, _group(here, drafted, BINS, OCTAVES).to(tl.int64), mask=inside)


def masses(
    drafts: Drafts, place: Tensor, bins: int, octaves: int, count: int
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Target and draft mass [n, count] float64 of the groups at places [n, 3] of request, draft and level."""
    every = drafts.draft_rows()
    high = max(LOW, triton.next_power_of_2(triton.cdiv(count, LOW)))
    parts = triton.cdiv(drafts.vocabulary, SPAN)
    sums = torch.zeros((len(place), parts, 2, high * LOW), dtype=torch.float64, device=drafts.device)
    if len(place):
        with torch.cuda.device_of(sums):
            _mass_kernel[len(place), parts](
                drafts.target_probs, every, *(index.contiguous() for index in place.unbind(1)), sums,
                drafts.vocabulary, *drafts.target_probs.stride(), *every.stride(), bins, octaves,
                _kind(drafts.target_probs, every), high, LOW, TILE, SPAN, **AS_WRITTEN,
            )  # fmt: skip
    target, draft = sums.sum(1)[..., :count].unbind(1)
    return target, draft


def groups(target: Tensor, draft: Tensor, bins: int, octaves: int) -> Tensor:
    """Group of every entry of two tensors of one shape, int64."""
    group = torch.empty(target.shape, dtype=torch.int64, device=target.device)
    if group.numel():
        with torch.cuda.device_of(group):
            _group_kernel[(triton.cdiv(group.numel(), TILE),)](
                target.contiguous(), draft.contiguous(), group, group.numel(), bins, octaves, _kind(target, draft), TILE,
                **AS_WRITTEN,
            )  # fmt: skip
    return group


def _kind(target: Tensor, draft: Tensor) -> tl.dtype:
    """What ratios are formed in: float64 where either row is, float32 otherwise."""
    return tl.float64 if torch.float64 in {target.dtype, draft.dtype} else tl.float32
