"""Tokens grouped by ``target/draft``: rows of V entries become a few masses (MATH 4.2, tables).

With ``bins`` every octave of the ratio is cut into that many bins, and one pass over the rows gives every group's target
and draft mass. ``bins=None`` keeps every token apart. Whatever is grouped, tokens of a group share what the group gets in
proportion to their draft mass, which keeps any selector's law known: bins cost acceptance, never the law. The last group takes tokens that the draft never draws; its masses are zero.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from specproof.fast import kernels
from specproof.fast.batch import Drafts
from specproof.fast.selectors.trie import Trie

OCTAVES = 10  # ratios beyond 2^10 and below 2^-10 share the outermost groups
MOST_ON_KERNELS = 1024  # a tile of a kernel holds no more groups
MERGED = 32  # columns that the groups of a node are merged into
CHUNK = 1 << 15  # entries of the rows that are worked on at once: a few passes over them should stay in the cache


def group_of(target: Tensor, draft: Tensor, bins: int | None) -> Tensor:
    """Group [.., V] of every token of some rows, int64, increasing with the ratio.

    An octave is cut evenly in the ratio: as a whole number the bits of a float, exponent first, are its logarithm to base 2,
    linear between powers of two.
    """
    if bins is None:
        return torch.arange(draft.shape[-1], device=draft.device).expand(draft.shape)
    if on_kernels(draft.device, bins):
        from specproof.fast.kernels import histogram

        return histogram.groups(target, draft, bins, OCTAVES)
    ratio = target.to(law_type(target)) / draft
    bits, mantissa, bias = (torch.int64, 52, 1023) if ratio.dtype == torch.float64 else (torch.int32, 23, 127)
    place = ratio.nan_to_num_(nan=0.0, posinf=torch.inf).view(bits).to(ratio.dtype)
    place = place.mul_(bins / 2**mantissa).sub_((bias - OCTAVES) * bins - 1)
    never = place.sub((bias + 1 + OCTAVES) * bins).clamp_(0, 1)  # the ratio is infinite: the draft never draws it
    return place.clamp_(0, 2 * OCTAVES * bins + 1).add_(never).int().long()  # by way of int32: twice as fast


def law_type(row: Tensor) -> torch.dtype:
    """What ratios are formed and rows of a law are kept in: half precision would lose them."""
    return torch.promote_types(row.dtype, torch.float32)


def on_kernels(device: torch.device, bins: int) -> bool:
    """Whether histograms of that many groups are made by kernels."""
    return kernels.usable(device) and 2 * OCTAVES * bins + 3 <= MOST_ON_KERNELS


def group_count(vocabulary: int, bins: int | None) -> int:
    """Number of groups that ``group_of`` can return. Raises ``ValueError`` for fewer than one bin."""
    if bins is not None and bins < 1:
        raise ValueError(f"bins must be at least 1, or None for one group a token, got {bins}")
    return vocabulary if bins is None else 2 * OCTAVES * bins + 3


@dataclass(frozen=True)
class Masses:
    """Target and draft mass of the groups of each node, in conditional probabilities, after neighbours were merged."""

    target: Tensor  # [N, G]
    draft: Tensor  # [N, G]
    column: Tensor  # [N, groups] where a group went

    def spread(self, gain: Tensor) -> Tensor:
        """What each group has, [N, groups], of what is known of the columns, ``gain`` [N, G]."""
        return gain.gather(1, self.column)


def masses_of(target: Tensor, draft: Tensor, group: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Sum rows [n, V] by group into [n, count]."""
    empty = torch.zeros((len(draft), count), dtype=torch.float64, device=draft.device)
    return empty.scatter_add(1, group, target.double()), empty.scatter_add(1, group, draft.double())


def rows_at(drafts: Drafts, place: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Target and draft rows [n, V] at places [.., 3] of request, draft and level: wide rows one by one, where they lie."""
    every = drafts.draft_rows()
    for part in torch.split(place, max(1, CHUNK // drafts.vocabulary)):
        if len(part) == 1:
            b, k, i = part[0].tolist()
            yield drafts.target_probs[b, k, i][None], every[b, k, i][None]
        else:
            yield drafts.target_probs[part.unbind(1)], every[part.unbind(1)]


def masses_at(drafts: Drafts, place: Tensor, bins: int | None, count: int) -> tuple[Tensor, Tensor]:
    """Target and draft mass [n, count] of the groups at places [n, 3]."""
    if bins is not None and on_kernels(drafts.device, bins):
        from specproof.fast.kernels import histogram

        return histogram.masses(drafts, place, bins, OCTAVES, count)
    parts = [masses_of(*rows, group_of(*rows, bins), count) for rows in rows_at(drafts, place)]
    target_mass, draft_mass = zip(*parts, strict=True)
    return torch.cat(target_mass), torch.cat(draft_mass)


def trie_masses(drafts: Drafts, trie: Trie, bins: int | None) -> Masses:
    """The masses of every node of a trie. Raises ``ValueError`` naming the first row without draft mass or with a NaN."""
    count = group_count(drafts.vocabulary, bins)
    place = torch.stack([trie.request, trie.draft, trie.level], dim=1)
    target_mass, draft_mass = masses_at(drafts, place, bins, count)
    read = trie.level < drafts.each_length()[trie.request]
    refuse(target_mass[read], draft_mass[read], place[read])
    target_mass = torch.where(draft_mass > 0, target_mass, 0.0)
    if bins is None:
        return Masses(target_mass, draft_mass, torch.arange(count, device=place.device).expand(len(place), -1))
    column, empty = merged(target_mass, draft_mass), draft_mass.new_zeros((len(place), MERGED))
    return Masses(empty.scatter_add(1, column, target_mass), empty.scatter_add(1, column, draft_mass), column)


def merged(target_mass: Tensor, draft_mass: Tensor) -> Tensor:
    """Where each group [N, groups] of a node goes when neighbours share ``MERGED`` columns of about equal mass."""
    mass = target_mass / target_mass.sum(-1, keepdim=True).clamp(min=1e-300) + draft_mass / draft_mass.sum(
        -1, keepdim=True
    )
    middle = mass.cumsum(-1) - mass / 2
    return (middle * (MERGED / 2)).long().clamp_(0, MERGED - 1)


def refuse(target_mass: Tensor, draft_mass: Tensor, place: Tensor) -> None:
    """Raise ``ValueError`` for a row at ``place`` [n, 3] that cannot be grouped."""
    target, draft = target_mass.sum(-1), draft_mass.sum(-1)
    bad = ~((draft > 0) & draft.isfinite() & target.isfinite())
    if bool(bad.any()):
        first = int(bad.nonzero()[0])
        request, path, level = place[first].tolist()
        whose, mass = ("draft", draft[first]) if target[first].isfinite() else ("target", target[first])
        why = "has no mass" if float(mass) == 0 else f"sums to {float(mass)}"
        raise ValueError(f"request {request}: {whose} row {level} of draft {path} {why}")
