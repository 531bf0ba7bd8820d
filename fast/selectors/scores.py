"""Score laws, batched: what ``race`` and ``kill_race`` share (MATH 4.2, selector race).

Every draft carries a score, uniform on [0, 1] over random drafts, and the smallest score wins. A profile lists cells in
increasing order: ``low`` and ``width`` of each and the ``share`` of the prefix's draft mass whose score lies there,
spread uniformly. With ``rate = ((1 - low)^K - (1 - low - width)^K) / width`` the winner starts with a prefix z with
probability ``D(z) = draft(z) sum of share rate``. Shares are relative to draft(z), so nothing underflows.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from specproof.fast.selectors.numbers import Floats

ALMOST = 1 - 2.0**-53  # of a cell up to the end, whose logarithm stays finite
LEVELS = 16  # cells of the default grid; 32 gain a hundredth of a token, 8 lose two


@dataclass(frozen=True)
class Profile:
    """Score profiles of some prefixes; cells that are not used have share 0 and lie at 1."""

    low: Tensor  # [N, S]
    width: Tensor  # [N, S]
    share: Tensor  # [N, S]


def rate(low: Floats, width: Floats, drafts: int) -> Floats:
    """Probability of winning per unit of draft mass in a cell, without cancellation in narrow cells."""
    left = np.maximum(1 - low, np.finfo(np.float64).tiny)
    lost = -np.expm1(drafts * np.log1p(-np.minimum(width / left, ALMOST)))
    some = width > 0
    found: Floats = np.where(some, left**drafts * lost / np.where(some, width, 1), drafts * left ** (drafts - 1))
    return found


def grid(cells: int | None, drafts: int, device: torch.device) -> Tensor:
    """Edges of the root's cells: equal ones, or by default 16 that are finer where most winners score.

    Raises ``ValueError`` for fewer than one cell.
    """
    if cells is not None:
        if cells < 1:
            raise ValueError(f"cells must be at least 1, got {cells}")
        return torch.linspace(0, 1, cells + 1, dtype=torch.float64, device=device)
    x = torch.linspace(0, 1, LEVELS + 1, dtype=torch.float64, device=device)
    return x / 2 + (1 - (1 - x) ** (1 / drafts)) / 2


@lru_cache
def gauss(count: int) -> list[tuple[float, float]]:
    """Gauss's points on [-1, 1] and their weights."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return list(zip(points.tolist(), weights.tolist(), strict=True))


def win_shares(profile: Profile, batch: int) -> Tensor:
    """Probability [B, K] that each draft has the smallest score, given the profiles of all B K drafts.

    On the common refinement of the cells all survival functions are linear, so the product of K - 1 of them is integrated
    exactly by Gauss's rule. Drafts of equal profile are equally likely.
    """
    low, width, share = (
        part.reshape(batch, -1, part.shape[-1]) for part in (profile.low, profile.width, profile.share)
    )
    drafts = low.shape[1]  # low, width, share: [B, K, S]
    ends = torch.cat([low.flatten(1), torch.ones_like(low[:, 0, :1])], dim=-1).sort(-1).values  # [B, R]
    edges = ends[:, None].expand(-1, drafts, -1).contiguous()  # [B, K, R]
    cell = (torch.searchsorted(low.contiguous(), edges, right=True) - 1).clamp(min=0)
    inside = ((edges - low.gather(2, cell)) / width.gather(2, cell).clamp(min=1e-300)).clamp(0, 1)
    before = share.cumsum(-1) - share
    scored = before.gather(2, cell) + share.gather(2, cell) * inside  # [B, K, R]
    total = share.sum(-1, keepdim=True)
    mass = scored.diff(dim=-1)  # [B, K, R - 1]
    left = (total - scored[..., :-1]).clamp(min=0)
    result = torch.zeros_like(low[..., 0])  # [B, K]
    for point, weight in gauss((drafts + 1) // 2):
        later = (left - mass * (1 + point) / 2).clamp(min=0)  # [B, K, R - 1]
        others = later.prod(1, keepdim=True) / torch.where(later > 0, later, 1)
        result = result + weight / 2 * torch.where(later > 0, mass * others, 0).sum(-1)
    return result
