"""Selecting by ratio groups: what ``scan`` and ``best_ratio`` share (MATH 4.2, selector scan).

At a node the tokens are grouped by ``target/draft``, the best ratio first. n drafts pass through it with state mass w(n);
m of them hit a group and k come later. A coin says whether to stop at the group (its first hit is selected, the drafts
that share its token go on) or to drop its hits. Only the selected path's nodes are visited, and one uniform a level says
at which of the groups that were hit to stop. State masses are relative to D(z), so nothing underflows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.randomness import draw
from specproof.fast.selectors.groups import group_count, group_of, masses_of, refuse
from specproof.fast.selectors.selection import Selection, laid_out

TIE = 2.0**-20  # ratios that agree to single precision are equal


class Hits:
    """The ways (m, k) in which m of m + k drafts hit a group, as columns, in the order in which ``scan`` serves them."""

    def __init__(self, drafts: int, device: torch.device) -> None:
        pairs = [(m, k) for k in range(drafts) for m in range(drafts - k, 0, -1)]  # few later first, then many hits
        self.drafts = drafts
        self.now, self.later = torch.tensor(pairs, device=device).unbind(1)  # [S] m and k
        self.ways = torch.tensor([comb(m + k, m) for m, k in pairs], dtype=torch.float64, device=device)

    def chances(self, share: Tensor) -> Tensor:
        """Probability [.., S] of each (m, k), given that m + k drafts arrive and each hits with probability ``share``."""
        return self.ways * share[..., None] ** self.now * (1 - share[..., None]) ** self.later


@dataclass(frozen=True)
class Stages:
    """All groups of one node of each request, the best ratio first."""

    need: Tensor  # [B, G] the target's mass of the group, relative to D(z)
    hit: Tensor  # [B, G] probability that a draft hits the group, given that it did not hit an earlier one
    chances: Tensor  # [B, G, S]
    hits: Hits


Serve = Callable[
    [Tensor, Stages], tuple[Tensor, Tensor]
]  # state masses [B, K] -> what occurs, what is selected [B, G, S]


def ordered_groups(target: Tensor, draft: Tensor, bins: int | None) -> tuple[Tensor, int]:
    """Group [B, V] of every token, the best ratio first, and how many there are. Without bins equal ratios share one."""
    if bins is not None:
        count = group_count(draft.shape[-1], bins)
        return count - 1 - group_of(target, draft, bins), count
    falling = torch.where(draft > 0, target.double() / draft, -1).sort(-1, descending=True)
    below = falling.values[:, 1:] < falling.values[:, :-1] * (1 - TIE)
    rank = torch.cat([torch.zeros_like(below[:, :1]), below], dim=-1).cumsum(-1)
    return torch.empty_like(rank).scatter_(-1, falling.indices, rank), draft.shape[-1]


def stages_of(need: Tensor, share: Tensor, hits: Hits) -> Stages:
    """Lay out the groups of each node."""
    left = share.flip(-1).cumsum(-1).flip(-1)
    hit = torch.where(share > 0, share / left, 0)
    return Stages(torch.where(share > 0, need, 0), hit, hits.chances(hit), hits)


def coins(length: int) -> int:
    """How many uniforms a request takes."""
    return length


def walk(drafts: Drafts, uniform: Tensor, serve: Serve, bins: int | None) -> Selection:
    """Follow the selected path of each request; ``uniform`` is [B, L]."""
    batch, paths, length = drafts.tokens.shape
    rows, hits = torch.arange(batch, device=uniform.device), Hits(paths, uniform.device)
    state = torch.zeros(batch, paths, dtype=torch.float64, device=uniform.device)  # w(1..K) / D(z)
    state[:, -1] = 1
    ratio = torch.ones(batch, dtype=torch.float64, device=uniform.device)  # target(z) / D(z)
    alive = torch.ones(batch, paths, dtype=torch.bool, device=uniform.device)
    path, laws = torch.zeros_like(rows), []
    for level in range(length):
        target, draft = drafts.target_probs[rows, path, level], drafts.draft_rows()[rows, path, level]  # [B, V]
        target = target * (ratio > 0)[:, None]  # behind an impossible prefix all ratios are zero
        group, count = ordered_groups(target, draft, bins)
        need, share = masses_of(target, draft, group, count)  # [B, G]
        refuse(need, share, torch.stack([rows, path, rows * 0 + level], dim=1), level < drafts.each_length())
        occurs, served = serve(state, stages_of(need * ratio[:, None], share / share.sum(-1, keepdim=True), hits))
        gain = torch.where(share > 0, served.sum(-1) / share, 0)
        law = draft * gain.gather(-1, group)  # [B, V]
        laws.append(law / law.sum(-1, keepdim=True))

        tokens = drafts.tokens[:, :, level].clamp(0, drafts.vocabulary - 1)  # [B, K]
        own = group.gather(-1, tokens)
        stopping = draw(stop_chances(own, alive, occurs, served, hits), uniform[:, level])
        path = torch.where(level < drafts.each_length(), stopping, path)
        token, at = tokens.gather(1, path[:, None]), own.gather(1, path[:, None])  # [B, 1]
        alive = alive & (tokens == token)
        state = passed(served[rows, at[:, 0]], (draft.gather(1, token) / share.gather(1, at))[:, 0], hits)
        chosen = laws[-1].gather(1, token)[:, 0]
        ratio = torch.where(chosen > 0, ratio * target.gather(1, token)[:, 0] / chosen, 0)
    return laid_out(drafts, path, torch.stack(laws, dim=1))


def stop_chances(own: Tensor, alive: Tensor, occurs: Tensor, served: Tensor, hits: Hits) -> Tensor:
    """Probability [B, K] that the walk stops at each draft's group, at the first draft that hits it.

    ``own`` [B, K] is the group of each draft's token; ``occurs`` and ``served`` are [B, G, S].
    """
    together = (own[:, :, None] == own[:, None]) & alive[:, None]  # [B, K, K]
    behind = ((own[:, :, None] < own[:, None]) & alive[:, None]).sum(-1)
    first = together.to(torch.int8).argmax(-1) == torch.arange(own.shape[1], device=own.device)
    leads = alive & first
    pair = (hits.now == together.sum(-1, keepdim=True)) & (hits.later == behind[..., None])  # [B, K, S]
    at = own[..., None].expand(-1, -1, len(hits.now))
    mass, kept = ((part.gather(1, at) * pair).sum(-1) for part in (occurs, served))  # [B, K]
    coin = torch.where(mass > 0, kept / mass, 1)
    ahead = (own[:, :, None] > own[:, None]) & leads[:, None]  # [B, K, K] the groups before
    return torch.where(leads, coin * torch.where(ahead, 1 - coin[:, None], 1).prod(-1), 0)


def passed(served: Tensor, share: Tensor, hits: Hits) -> Tensor:
    """State masses [B, K] behind the selected token: each of the other hits has it too with probability ``share``."""
    number = torch.arange(hits.drafts, device=served.device)  # j of m - 1 others
    ways = torch.tensor([[comb(m, j) for j in range(hits.drafts)] for m in range(hits.drafts)], device=served.device)
    share = share[:, None, None]
    others = ways * share**number * (1 - share) ** (number[:, None] - number).clamp(min=0)  # [B, K, K]
    state = (served[:, :, None] * others[:, hits.now - 1]).sum(1)
    return state / state.sum(-1, keepdim=True)
