"""One draft a request: the drafted tokens' probabilities, and the scan for the longest prefix that passes its coin.

A chain reads [n, L] entries of the batch. Where the target is modified (``fast.layers``) row i of it is
``(target - cut_i draft)+ / mass_i``; without modification ``cut = 0`` and ``mass = 1``.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Outcome
from specproof.fast.rows import Nodes, Weights, shaved

LARGEST_LOG = 690.0  # its exponential is still finite, and beyond it nothing that the draft can reach is left
WITHIN_ROUNDING = 1 - 1e-6  # the sum of a row may exceed one by this much


@dataclass(frozen=True)
class Chain:
    """One path for each of n requests."""

    drafts: Drafts
    request: Tensor  # [n]
    path: Tensor  # [n]
    tokens: Tensor  # [n, L]; behind a request's length some valid id
    lengths: Tensor  # [n]
    target: Tensor  # [n, L] float64: probability of each drafted token under the target
    draft: Tensor  # [n, L] float64
    cut: Tensor  # [n, L+1] float64
    mass: Tensor  # [n, L+1] float64

    def nodes(self, position: Tensor) -> Nodes:
        """The rows after ``position`` [n] tokens."""
        return Nodes(self.request, self.path, position)

    def following(self, position: Tensor, share: Tensor) -> tuple[Nodes, Tensor]:
        """The rows after ``position`` [n] tokens, and the cuts that leave ``(target - share draft)+`` of them."""
        at = position[:, None]
        return self.nodes(position), (self.cut.gather(1, at) + self.mass.gather(1, at) * share[:, None]).squeeze(1)


def only_draft(name: str, drafts: Drafts) -> Chain:
    """Return the only draft of every request. Raises ``ValueError`` for several, or for a batch that breaks the contract."""
    drafts.check()
    if drafts.paths != 1:
        raise ValueError(f"{name} verifies 1 draft, got {drafts.paths}")
    rows = torch.arange(drafts.batch, device=drafts.device)
    return along(drafts, rows, torch.zeros_like(rows))


def along(drafts: Drafts, request: Tensor, path: Tensor) -> Chain:
    """Return draft ``path[j]`` of request ``request[j]`` for every j."""
    tokens = drafts.tokens[request, path].clamp(0, drafts.vocabulary - 1)  # [n, L]
    at = Nodes(request[:, None], path[:, None], torch.arange(drafts.length, device=drafts.device)[None])
    cut = torch.zeros(len(request), drafts.length + 1, dtype=torch.float64, device=drafts.device)
    return Chain(
        drafts, request, path, tokens, drafts.each_length()[request],
        at.target(drafts, tokens), at.draft(drafts, tokens), cut, torch.ones_like(cut),
    )  # fmt: skip


def log_ratios(chain: Chain) -> Tensor:
    """Log of target over draft for each drafted token, [n, L]: -inf where the target rules it out, finite otherwise."""
    ratio = chain.target.log() - chain.draft.clamp(min=1e-320).log()
    return torch.where(chain.target > 0, ratio, -torch.inf)


def longest(chain: Chain, coins: Tensor, log_ratio: Tensor) -> tuple[Tensor, Weights]:
    """Accept the longest prefix that passes: how many tokens, [n] (-1: none), and for those that pass what follows.

    ``log_ratio`` [n, L+1] is the log of ``a/b`` at every prefix. With ``S_i = sum (a target - b draft)+`` prefix i passes
    with ``S_i / (S_i + (b - a)+)`` and the whole path with ``min(1, a/b)``; coin i of ``coins`` [n, L+1] is its own. Where
    ``a >= b`` it passes for certain, where ``a`` is zero never, not even with a coin of zero. ``S_i`` is at most a, less what
    the two share at the drafted token: where the coin cannot pass even so, the row is not read.
    """
    share = (-log_ratio).clamp(max=LARGEST_LOG).exp()  # b/a, [n, L+1]
    whole = (coins < log_ratio.clamp(max=0).exp()).gather(1, chain.lengths[:, None]).squeeze(1)
    accepted = torch.where(whole, chain.lengths, -1)
    inside = torch.arange(chain.drafts.length, device=coins.device) < chain.lengths[:, None]
    certain = (log_ratio[:, :-1] >= 0) & inside
    most = 1 / WITHIN_ROUNDING - torch.minimum(chain.target, share[:, :-1] * chain.draft)  # of S / a
    open_ = (coins[:, :-1] * (most + share[:, :-1] - 1) < most) & inside & ~certain & (log_ratio[:, :-1] > -torch.inf)
    cuts = chain.cut + chain.mass * share
    read: list[tuple[Tensor, Tensor]] = []  # rows that have passed, and their block sums
    for i in reversed((open_ | certain).any(0).nonzero().flatten().tolist()):
        waiting = accepted < 0
        asked = (waiting & open_[:, i]).nonzero().flatten()
        accepted = torch.where(waiting & certain[:, i], i, accepted)
        if len(asked):
            nodes = Nodes(chain.request[asked], chain.path[asked], torch.full_like(asked, i))
            weights = shaved(chain.drafts, nodes, cuts[asked, i])
            left = weights.mass / chain.mass[asked, i]  # S / a
            passes = coins[asked, i] * (left + share[asked, i] - 1) < left
            accepted[asked[passes]] = i
            read.append((asked[passes], weights.sums[passes]))
    return accepted, _what_follows(chain, accepted, share, read)


def _what_follows(chain: Chain, accepted: Tensor, share: Tensor, read: list[tuple[Tensor, Tensor]]) -> Weights:
    """The weights behind the accepted prefixes: the target after a whole path, the residual after a shorter one."""
    position = accepted.clamp(min=0)
    bonus = accepted == chain.lengths
    share = torch.where(bonus, 0.0, share.gather(1, position[:, None]).squeeze(1))
    nodes, cut = chain.following(position, share)
    new = accepted >= 0
    for rows, _ in read:
        new[rows] = False
    fresh = new.nonzero().flatten()
    read = [*read, (fresh, shaved(chain.drafts, nodes[fresh], cut[fresh]).sums)]
    order = torch.cat([rows for rows, _ in read]).argsort()
    passed = (accepted >= 0).nonzero().flatten()
    sums = torch.cat([sums for _, sums in read])[order]
    return Weights(chain.drafts, nodes[passed], cut[passed], sums).or_target()


def first_refusal(chain: Chain, passes: Tensor, uniform: Tensor) -> Outcome:
    """Keep the tokens before the first that does not pass, ``passes`` [n, L], and correct from ``(target - draft)+``."""
    inside = torch.arange(chain.drafts.length, device=passes.device) < chain.lengths[:, None]
    accepted = (passes & inside).long().cumprod(-1).sum(-1)
    nodes, cut = chain.following(accepted, (accepted < chain.lengths).double())
    weights = shaved(chain.drafts, nodes, cut).or_target()
    return Outcome.of(chain.drafts, chain.path, accepted, weights.draw(uniform))
