"""Several drafts a request, token by token: the walk down their common prefixes that every such rule shares.

At a node the drafts that still agree with what is accepted are tried in order; the first whose token the rule accepts takes
the walk to its child, and drafts with another token drop out. The walk ends where a rule accepts none of them, or at the end
of the drafts. Coin (i, k) of a request decides draft k after i tokens, so every request has a fixed number of coins.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.rows import Nodes, shaved


class Rule(Protocol):
    """What a rule does at n nodes at once. Subsets of them are given as indices."""

    def accepts(self, at: Tensor, coin: Tensor, target: Tensor, draft: Tensor) -> Tensor:
        """Whether the coins accept a token with these probabilities, at some of the nodes."""
        ...

    def refused(self, at: Tensor, draft: Tensor, more: Tensor) -> None:
        """Take note of a refusal; ``more`` says where another draft will be tried."""
        ...

    def residual(self) -> tuple[Tensor, Tensor]:
        """Where nothing was accepted: ``(cut, extra)`` for the law ``extra target + (target - cut draft)+``, each [n]."""
        ...


Enter = Callable[[Drafts, Nodes, Tensor], Rule]
"""Makes the rule of some nodes from the batch, the nodes, and how many drafts are left at each, [n]."""


@dataclass(frozen=True)
class Walk:
    """Where a walk ended, for every request: after ``accepted`` tokens of ``path``, with the law of the next token."""

    drafts: Drafts
    accepted: Tensor  # [B]
    path: Tensor  # [B]
    cut: Tensor  # [B] float64
    extra: Tensor  # [B] float64

    def draw(self, uniform: Tensor) -> Tensor:
        """Draw the token that follows from ``extra target + (target - cut draft)+``, one uniform a request."""
        nodes = Nodes(torch.arange(self.drafts.batch, device=uniform.device), self.path, self.accepted)
        weights = shaved(self.drafts, nodes, self.cut)
        mixed = bool((self.extra > 0).any())
        return (weights.plus_target(self.extra) if mixed else weights).or_target().draw(uniform)


def walk(drafts: Drafts, coins: Tensor, enter: Enter) -> Walk:
    """Walk down the drafts of every request; ``coins`` is [B, L, K]."""
    lengths = drafts.each_length()
    path = torch.zeros_like(lengths)
    accepted = torch.zeros_like(lengths)
    cut = torch.zeros(drafts.batch, dtype=torch.float64, device=drafts.device)
    extra = torch.zeros_like(cut)
    agreeing = torch.ones(drafts.batch, drafts.paths, dtype=torch.bool, device=drafts.device)
    for i in range(drafts.length):
        here = ((accepted == i) & (lengths > i)).nonzero().flatten()
        if not len(here):
            break
        lead = agreeing[here].long().argmax(1)  # any draft that agrees has the node's rows; the first always has
        nodes = Nodes(here, lead, torch.full_like(here, i))
        rule = enter(drafts, nodes, agreeing[here].sum(1))
        taken = _try_in_order(drafts, nodes, agreeing[here], coins[here, i], rule)
        went = taken >= 0
        on, off = here[went], here[~went]
        path[here] = torch.where(went, taken, lead)
        accepted[on] += 1
        agreeing[on] &= drafts.tokens[on, :, i] == drafts.tokens[on, taken[went], i][:, None]
        cut_here, extra_here = rule.residual()
        cut[off], extra[off] = cut_here[~went], extra_here[~went]
    return Walk(drafts, accepted, path, cut, extra)


def _try_in_order(drafts: Drafts, nodes: Nodes, agreeing: Tensor, coins: Tensor, rule: Rule) -> Tensor:
    """The draft that is accepted at every node, [n]; -1 where none is."""
    taken = torch.full_like(nodes.request, -1)
    for k in range(drafts.paths):
        at = ((taken < 0) & agreeing[:, k]).nonzero().flatten()
        if not len(at):
            continue
        token = drafts.tokens[nodes.request[at], k, nodes.position[at]]
        draft = nodes[at].draft(drafts, token)
        accepted = rule.accepts(at, coins[at, k], nodes[at].target(drafts, token), draft)
        taken[at[accepted]] = k
        refused = ~accepted
        rule.refused(at[refused], draft[refused], agreeing[at[refused], k + 1 :].any(1))
    return taken


def needs_rows(name: str, drafts: Drafts) -> Drafts:
    """Return the checked batch. Raises ``ValueError`` without draft probabilities: several drafts cannot all be certain."""
    drafts.check()
    if drafts.draft_probs is None and drafts.paths > 1:
        raise ValueError(f"{name} needs draft_probs for several drafts, got None")
    return drafts


def first_sharing(tokens: Tensor) -> Tensor:
    """The first of drafts ``tokens`` [B, K, L] that shares the first i + 1 tokens of draft k, [B, K, L]."""
    same = (tokens[:, :, None] == tokens[:, None]).long().cumprod(-1)  # [B, K, K, L]
    return same.argmax(2)
