"""Selecting by ratio groups: what ``scan`` and ``best_ratio`` share (MATH 4.2, selector scan).

At a node the tokens are grouped by ``target/draft``, the best ratio first. n drafts pass through it with state mass w(n);
m of them hit a group and k come later. A coin says whether to stop at the group (its first hit is selected, the drafts
that share its token go on) or to drop its hits. Only the selected path's nodes are visited, and one uniform a level says
at which of the groups that were hit to stop. State masses are relative to D(z), so nothing underflows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.randomness import draw
from specproof.fast.selectors.groups import group_count, group_of, masses_of, refuse
from specproof.fast.selectors.selection import Along, Selection, State, laid_out

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


@dataclass(frozen=True)
class Node:
    """What happens at one node of each request."""

    group: Tensor  # [B, V]
    share: Tensor  # [B, G]
    occurs: Tensor  # [B, G, S]
    served: Tensor  # [B, G, S]
    law: Tensor  # [B, V] D(zc)/D(z)


def node_of(state: State, target: Tensor, draft: Tensor, serve: Serve, bins: int | None, hits: Hits) -> Node:
    """Serve the groups of a node whose rows are ``target`` and ``draft`` [B, V]."""
    known = target * (state.ratio > 0)[:, None]  # behind an impossible prefix all ratios are zero
    group, count = ordered_groups(known, draft, bins)
    need, share = masses_of(known, draft, group, count)  # [B, G]
    stages = stages_of(need * state.ratio[:, None], share / share.sum(-1, keepdim=True), hits)
    occurs, served = serve(state.cells[:, 0], stages)
    gain = torch.where(share > 0, served.sum(-1) / share, 0.0)
    law = draft * gain.gather(-1, group)
    return Node(group, share, occurs, served, law / law.sum(-1, keepdim=True))


def start(drafts: Drafts, **_: Any) -> State:
    """Where every block starts: all K drafts are there."""
    cells = torch.zeros(drafts.batch, 1, drafts.paths, dtype=torch.float64, device=drafts.device)
    cells[:, 0, -1] = 1
    return State(cells, torch.ones_like(cells[:, 0, 0]))


def after(state: State, node: Node, token: Tensor, target: Tensor, draft: Tensor, hits: Hits) -> State:
    """The state behind ``token`` [B, 1]."""
    at = node.group.gather(1, token)
    served = node.served.gather(1, at[..., None].expand(-1, -1, node.served.shape[-1]))[:, 0]  # [B, S]
    cells = passed(served, (draft.gather(1, token) / node.share.gather(1, at))[:, 0], hits)
    law = node.law.gather(1, token)[:, 0]
    ratio = torch.where(law > 0, state.ratio * target.gather(1, token)[:, 0] / law, 0.0)
    return State(cells[:, None], ratio)


def walk(drafts: Drafts, uniform: Tensor, serve: Serve, bins: int | None) -> Selection:
    """Follow the selected path of each request; ``uniform`` is [B, L]."""
    rows, hits = torch.arange(drafts.batch, device=drafts.device), Hits(drafts.paths, drafts.device)
    alive = torch.ones(drafts.batch, drafts.paths, dtype=torch.bool, device=drafts.device)
    state, path, laws = start(drafts), torch.zeros_like(rows), []
    for level in range(drafts.length):
        inside = level < drafts.each_length()
        target, draft = drafts.target_probs[rows, path, level], drafts.draft_rows()[rows, path, level]  # [B, V]
        refuse(target, draft, torch.stack([rows, path, rows * 0 + level], dim=1), inside)
        node = node_of(state, target, draft, serve, bins, hits)
        laws.append(node.law)
        tokens = drafts.tokens[:, :, level].clamp(0, drafts.vocabulary - 1)  # [B, K]
        stop = stop_chances(node.group.gather(-1, tokens), alive, node.occurs, node.served, hits)
        path = torch.where(inside, draw(stop, uniform[:, level]), path)
        token = tokens.gather(1, path[:, None])  # [B, 1]
        alive = alive & (tokens == token)
        state = after(state, node, token, target, draft, hits)
    return laid_out(drafts, path, torch.stack(laws, dim=1))


def walk_along(state: State, drafts: Drafts, paths: int, serve: Serve, bins: int | None) -> Along:
    """The law along other drafts, of a selection among ``paths`` from where ``state`` stands."""
    request = torch.arange(drafts.batch, device=drafts.device).repeat_interleave(drafts.paths)  # [B K]
    state, hits, lengths = state.select(request), Hits(paths, drafts.device), drafts.each_length()[request]
    tokens, laws, odds = drafts.tokens.flatten(0, 1), [], [state.ratio]
    for level in range(drafts.length):
        target, draft = drafts.target_probs[:, :, level].flatten(0, 1), drafts.draft_rows()[:, :, level].flatten(0, 1)
        node = node_of(state, target, draft, serve, bins, hits)
        laws.append(node.law)
        behind = after(state, node, tokens[:, level, None], target, draft, hits)
        inside = level < lengths
        cells = torch.where(inside[:, None, None], behind.cells, state.cells)
        state = State(cells, torch.where(inside, behind.ratio, state.ratio))
        odds.append(state.ratio)
    law, ratio = torch.stack(laws, dim=1), torch.stack(odds, dim=1)
    return Along(
        law.reshape(*drafts.tokens.shape[:2], drafts.length, -1), ratio.reshape(*drafts.tokens.shape[:2], -1), state
    )


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
