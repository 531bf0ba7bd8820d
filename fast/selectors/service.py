"""Serving the hits of ratio groups, in numbers: what happens at one node of each request (MATH 4.2, selector scan).

n drafts pass through the node with state mass w(n). Group after group, m of them hit it and k come later. Hits with nothing
later must be selected; the others are served in rising k until the group's ``need`` is covered, and what is left of them is
dropped: its k later drafts pass on.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb

import numpy as np

from specproof.fast.selectors.numbers import Flags, Floats, Indices

MOST = 1 << 20  # numbers in the matrices that are made at once


@dataclass(frozen=True)
class Hits:
    """The ways (m, k) in which m of m + k drafts hit a group, as columns, in the order in which ``scan`` serves them."""

    drafts: int
    now: Indices  # [S] m
    later: Indices  # [S] k
    ways: Floats  # [S] how many sets of drafts

    def chances(self, hit: Floats) -> Floats:
        """Probability [.., S] of each (m, k), given that m + k drafts arrive and each hits with probability ``hit``."""
        return self.ways * hit[..., None] ** self.now * (1 - hit[..., None]) ** self.later


@lru_cache
def hits_of(drafts: int) -> Hits:
    """The ways of that many drafts, K (K + 1) / 2 of them: few later first, then many hits."""
    pairs = np.array([(m, k) for k in range(drafts) for m in range(drafts - k, 0, -1)])
    return Hits(drafts, pairs[:, 0], pairs[:, 1], np.array([float(comb(m + k, m)) for m, k in pairs.tolist()]))


@lru_cache
def _binomials(drafts: int) -> tuple[Indices, Indices, Floats]:
    """Of n drafts (columns) k come later (rows, both from 1): how many hit, how many are later, and the ways, [K, K] each."""
    later, number = np.mgrid[1 : drafts + 1, 1 : drafts + 1]
    ways = np.array([[float(comb(n, k)) if k < n else 0.0 for n in number[0]] for k in later[:, 0]])
    return (number - later).clip(0), later, ways


@dataclass(frozen=True)
class Served:
    """All groups of one node of each request, the best ratio first."""

    hits: Hits
    need: Floats  # [B, G] the target's mass of the group, relative to D(z); inf: whatever hits is selected
    hit: Floats  # [B, G] probability that a draft hits the group, given that it did not hit an earlier one
    state: Floats  # [B, G, K] masses of the drafts that arrive at it

    @cached_property
    def kept(self) -> Floats:
        """Mass [B, G] of the hits that are selected."""
        number = np.arange(1, self.hits.drafts + 1)
        with np.errstate(divide="ignore"):
            missed = number * np.log1p(-self.hit)[..., None]
        some = -(self.state * np.expm1(missed)).sum(-1)
        every = (self.state * self.hit[..., None] ** number).sum(-1)  # nothing is later
        kept: Floats = np.minimum(some, np.maximum(self.need, every))
        return kept

    def at(self, group: Indices) -> tuple[Floats, Floats]:
        """What occurs and what is selected of every (m, k) at groups [B, M]: [B, M, S] each."""
        state = np.take_along_axis(self.state, group[..., None], 1)
        need, hit = (np.take_along_axis(part, group, 1) for part in (self.need, self.hit))
        occurs = state[..., self.hits.now + self.hits.later - 1] * self.hits.chances(hit)
        left = need[..., None] - (occurs.cumsum(-1) - occurs)
        return occurs, np.where(self.hits.later == 0, occurs, np.minimum(occurs, left.clip(0)))


def served(state: Floats, need: Floats | None, share: Floats) -> Served:
    """Serve the groups of B nodes: ``state`` [B, K], the groups' ``need`` [B, G] (None: no end of it) and ``share`` of the draws."""
    drafts = state.shape[1]
    left = share[:, ::-1].cumsum(-1)[:, ::-1]
    hit = np.divide(share, left, out=np.zeros_like(share), where=share > 0)
    if need is None:  # nothing is dropped
        missed = (1 - hit[:, :-1, None]) ** np.arange(1, drafts + 1)
        arrive = np.concatenate([state[:, None], missed], axis=1).cumprod(1)
        return Served(hits_of(drafts), np.full_like(hit, np.inf), hit, arrive)
    need = np.where(share > 0, need, 0)
    arrive = np.empty((*hit.shape, drafts))
    size = max(1, MOST // (hit.shape[1] * drafts * drafts))
    for first in range(0, len(state), size):
        part = slice(first, first + size)
        _arrive(state[part], need[part], hit[part], arrive[part])
    return Served(hits_of(drafts), need, hit, arrive)


def _arrive(state: Floats, need: Floats, hit: Floats, out: Floats) -> None:
    """Write down the state masses before every group, ``out`` [B, G, K]."""
    drafts = state.shape[1]
    now, later, ways = _binomials(drafts)
    powers = np.arange(drafts + 1)
    hitting, missing = hit.T[..., None] ** powers, (1 - hit.T[..., None]) ** powers  # [G, B, K + 1]
    some = ways * hitting[..., now] * missing[..., later]  # [G, B, K, K] of n drafts k come later, some do not
    every = hitting[..., None, 1:]  # of n drafts all hit
    upto = every + some.cumsum(-2)  # at most k come later
    matrices = np.concatenate([some, upto, every], axis=-2)  # [G, B, 2 K + 1, K]
    alone, covered = missing[..., 1:, None], need.T[..., None, None]
    mass = state[..., None]  # [B, K, 1]
    for g, matrix in enumerate(matrices):
        out[:, g] = mass[..., 0]
        flow = matrix @ mass
        # Of the hits with k later ones those beyond the need are dropped, and beyond those that must be selected.
        dropped = flow[:, drafts:-1] - np.maximum(covered[g], flow[:, -1:])
        np.minimum(np.maximum(dropped, 0, out=dropped), flow[:, :drafts], out=dropped)
        mass = alone[g] * mass + dropped


def passed(selected: Floats, share: Floats, hits: Hits) -> Floats:
    """State masses [B, K] behind a selected token: ``selected`` [B, S]; each other hit has it too with probability ``share`` [B]."""
    number = np.arange(hits.drafts)  # j of m - 1 others
    ways = np.array([[float(comb(m, j)) for j in number] for m in number])
    share = share[:, None, None]
    others = ways * share**number * (1 - share) ** (number[:, None] - number).clip(0)  # [B, K, K]
    state = (selected[:, None] @ others[:, hits.now - 1])[:, 0]
    total: Floats = state.sum(-1, keepdims=True)
    behind: Floats = np.divide(state, total, out=np.zeros_like(state), where=total > 0)
    return behind


def stop_chances(own: Indices, alive: Flags, node: Served) -> Floats:
    """Probability [B, K] that the walk stops at each draft's group ``own`` [B, K], at the first draft that hits it."""
    hits = node.hits
    together = (own[:, :, None] == own[:, None]) & alive[:, None]  # [B, K, K]
    behind = ((own[:, :, None] < own[:, None]) & alive[:, None]).sum(-1)
    first = together.argmax(-1) == np.arange(own.shape[1])
    leads = alive & first
    pair = (hits.now == together.sum(-1, keepdims=True)) & (hits.later == behind[..., None])  # [B, K, S]
    mass, kept = ((part * pair).sum(-1) for part in node.at(own))  # [B, K]
    coin = np.divide(kept, mass, out=np.ones_like(mass), where=mass > 0)
    ahead = (own[:, :, None] > own[:, None]) & leads[:, None]  # [B, K, K] the groups before
    return np.where(leads, coin * np.where(ahead, 1 - coin[:, None], 1).prod(-1), 0)
