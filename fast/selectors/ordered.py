"""Selecting by ratio groups: what ``scan`` and ``best_ratio`` share (MATH 4.2, selector scan).

At a node the tokens are grouped by ``target/draft``, the best ratio first, and ``service`` says which hits of a group are
selected and which are dropped. A coin says whether to stop at a group (its first hit is selected, the drafts that share its
token go on) or to drop its hits. Only the selected path's nodes are visited, and one uniform a level says at which of the
groups that were hit to stop. State masses are relative to D(z), so nothing underflows.

Where a draft is alone with its path, the law goes on as the draft's own and no row is looked at. With bins it is left alone
as soon as company is unlikely (``COMPANY``): that depends on the path and not on the drafts, so the law stays known, and costs
less acceptance than the company is worth.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.randomness import draw
from specproof.fast.selectors.groups import group_count, group_of, masses_of, refuse, rows_at
from specproof.fast.selectors.numbers import Flags, Floats, Indices, numbers
from specproof.fast.selectors.selection import (
    Along,
    Selection,
    State,
    along_paths,
    blank_law,
    laid_out,
    own_law,
    token_ratios,
    write_rows,
)
from specproof.fast.selectors.service import Served, passed, served, stop_chances

TIE = 2.0**-20  # ratios that agree to single precision are equal
COMPANY = 2.0**-5  # where other drafts share the path with less probability, the selector of groups lets them go


def ordered_groups(target: Tensor, draft: Tensor, bins: int | None) -> Tensor:
    """Group [B, V] of every token, the best ratio first. Without bins equal ratios share one."""
    if bins is not None:
        return group_of(target, draft, bins).neg_().add_(group_count(draft.shape[-1], bins) - 1)
    falling = torch.where(draft > 0, target.double() / draft, -1).sort(-1, descending=True)
    below = falling.values[:, 1:] < falling.values[:, :-1] * (1 - TIE)
    rank = torch.cat([torch.zeros_like(below[:, :1]), below], dim=-1).cumsum(-1)
    return torch.empty_like(rank).scatter_(-1, falling.indices, rank)


def coins(length: int) -> int:
    """How many uniforms a request takes."""
    return length


def start(drafts: Drafts, **_: object) -> State:
    """Where every block starts: all K drafts are there."""
    cells = torch.zeros(drafts.batch, 1, drafts.paths, dtype=torch.float64, device=drafts.device)
    cells[:, 0, -1] = 1
    return State(cells, torch.ones_like(cells[:, 0, 0]))


@dataclass(frozen=True)
class Rule:
    """What tells the selectors apart: whether there is no end to what the target needs, and the bins."""

    endless: bool
    bins: int | None

    def settled(self, cells: Floats) -> Floats:
        """State masses [n, K], put on one draft where others are too unlikely to be worth looking at rows."""
        if self.bins is not None:
            cells[cells[:, 1:].sum(-1) < COMPANY] = np.eye(1, cells.shape[1])
        return cells


@dataclass(frozen=True)
class Standing:
    """Where the law stands at one prefix of n requests: a ``State`` without its axis of one, as numbers."""

    cells: Floats  # [n, K]
    ratio: Floats  # [n] target(z)/D(z)

    @classmethod
    def of(cls, state: State) -> "Standing":
        """Read off a state."""
        return cls(numbers(state.cells[:, 0]).copy(), numbers(state.ratio).copy())

    def state(self, device: torch.device) -> State:
        """As it is kept between blocks."""
        return State(torch.as_tensor(self.cells[:, None], device=device), torch.as_tensor(self.ratio, device=device))

    @property
    def shared(self) -> Flags:
        """Whether other drafts may have the prefix too, [n]: where none has, the law goes on as the draft's own."""
        return np.asarray((self.cells[:, 1:] > 0).any(axis=-1))

    def __getitem__(self, index: Indices) -> "Standing":
        """That of some requests."""
        return Standing(self.cells[index], self.ratio[index])

    def __setitem__(self, index: Indices, other: "Standing") -> None:
        """Go on with some requests."""
        self.cells[index], self.ratio[index] = other.cells, other.ratio


@dataclass(frozen=True)
class Node:
    """What happens at one node of each of n requests."""

    law: Tensor  # [n, V] D(zc)/D(z)
    group: Indices  # [n, M] of the tokens that were asked for
    target: Floats  # [n, M] their probabilities
    draft: Floats  # [n, M]
    share: Floats  # [n, G] the draft's mass of each group
    served: Served

    def behind(self, which: Indices, standing: Standing, rule: Rule) -> Standing:
        """Where the law stands behind one of the tokens, ``which`` [n]."""
        rows = np.arange(len(which))
        group, kept = self.group[rows, which], self.served.kept
        part = _ratio(self.draft[rows, which], self.share[rows, group])
        law = _ratio(kept[rows, group] * part, kept.sum(-1))
        ratio = _ratio(standing.ratio * self.target[rows, which], law)
        selected = self.served.at(group[:, None])[1][:, 0]
        return Standing(rule.settled(passed(selected, part, self.served.hits)), ratio)


def visit(drafts: Drafts, place: Tensor, standing: Standing, tokens: Tensor, rule: Rule) -> Node:
    """Serve the groups of the nodes at ``place`` [n, 3], for questions about ``tokens`` [n, M].

    Raises ``ValueError`` naming the first row that cannot be grouped.
    """
    count = group_count(drafts.vocabulary, rule.bins)
    possible = standing.ratio > 0
    some = torch.as_tensor(possible, device=place.device)[:, None]
    parts, done = [], 0
    for target, draft in rows_at(drafts, place):
        # Behind an impossible prefix all ratios are zero.
        known = target if possible.all() else target * some[done : done + len(draft)]
        group = ordered_groups(known, draft, rule.bins)
        parts.append((group, draft, *masses_of(known, draft, group, count)))
        done += len(draft)
    groups, rows, needs, shares = zip(*parts, strict=True)
    target_mass, draft_mass = torch.cat(needs), torch.cat(shares)
    refuse(target_mass, draft_mass, place)
    need, share = numbers(target_mass), numbers(draft_mass)
    used = (share > 0).any(0)
    column = (used.cumsum() - 1).clip(0)
    need, share = need[:, used], share[:, used]
    drawn = share / share.sum(-1, keepdims=True)
    found = served(standing.cells, None if rule.endless else need * standing.ratio[:, None], drawn)
    gain = _ratio(_ratio(found.kept, share), found.kept.sum(-1, keepdims=True))[:, column]
    law = blank_law(drafts, len(place))
    write_rows(law, torch.as_tensor(gain, device=law.device, dtype=law.dtype), zip(groups, rows, strict=True))
    asked = torch.split(tokens, [len(group) for group in groups])
    own = torch.cat([group.gather(1, token) for group, token in zip(groups, asked, strict=True)])
    at = (*(index[:, None] for index in place.unbind(1)), tokens)
    entries = [numbers(part[at].double()) for part in (drafts.target_probs, drafts.draft_rows())]
    return Node(law, column[numbers(own)], entries[0], entries[1], share, found)


def walk(drafts: Drafts, uniform: Tensor, rule: Rule) -> Selection:
    """Follow the selected path of each request; ``uniform`` is [B, L]."""
    path, lengths = torch.zeros_like(drafts.tokens[:, 0, 0]), numbers(drafts.each_length())
    alive, standing = np.ones((drafts.batch, drafts.paths), dtype=bool), Standing.of(start(drafts))
    visited = []
    for level in range(drafts.length):
        here = (standing.shared & (level < lengths)).nonzero()[0]
        if not len(here):
            break  # the drafts go on alone
        at = torch.as_tensor(here, device=path.device)
        tokens = drafts.tokens[at, :, level]  # [n, K]
        place = torch.stack([at, path[at], torch.full_like(at, level)], dim=1)
        node = visit(drafts, place, standing[here], tokens, rule)
        visited.append((at, level, node.law))
        stop = torch.as_tensor(stop_chances(node.group, alive[here], node.served), device=path.device)
        path[at] = draw(stop, uniform[at, level])
        alive[here] &= numbers(tokens == tokens.gather(1, path[at, None]))
        standing[here] = node.behind(numbers(path[at]), standing[here], rule)
    law = own_law(along_paths(drafts.draft_rows(), path))  # [B, L, V]
    for at, level, row in visited:
        law[at, level] = row
    return laid_out(drafts, path, law)


def walk_along(state: State, drafts: Drafts, rule: Rule) -> Along:
    """The law along other drafts, of a selection among as many as the state knows, from where it stands."""
    every = torch.arange(drafts.batch * drafts.paths, device=drafts.device)
    request = every // drafts.paths
    standing, lengths = Standing.of(state.select(request)), numbers(drafts.each_length()[request])
    law = own_law(drafts.draft_rows()).flatten(0, 1)  # [B K, L, V]
    alone, odds = numbers(token_ratios(drafts).flatten(0, 1)), [standing.ratio.copy()]
    for level in range(drafts.length):
        inside = level < lengths
        here = (standing.shared & inside).nonzero()[0]
        standing.ratio[inside & ~standing.shared] *= alone[inside & ~standing.shared, level]
        if len(here):
            at = torch.as_tensor(here, device=drafts.device)
            place = torch.stack([request[at], at % drafts.paths, torch.full_like(at, level)], dim=1)
            node = visit(drafts, place, standing[here], drafts.tokens.flatten(0, 1)[at, level, None], rule)
            law[at, level] = node.law
            standing[here] = node.behind(np.zeros_like(here), standing[here], rule)
        odds.append(standing.ratio.copy())
    shape = drafts.tokens.shape[:2]
    ratio = torch.as_tensor(np.stack(odds, axis=1), device=drafts.device)
    return Along(law.view(*shape, *law.shape[1:]), ratio.view(*shape, -1), standing.state(drafts.device))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """``part / whole``, zero where nothing is there."""
    return np.divide(part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole > 0)
