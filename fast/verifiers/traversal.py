"""Traversal verification, batched (arXiv 2505.12398, algorithm 2): from the leaves to the root, the reference's ``traversal``.

The drafts of a request form a tree. A node is entered with a probability p to pass, the root with 1; a child gets ``min(1, p
target/draft)`` and its subtree is tried first. Every refused child leaves the node with ``(p target - draft)+`` of mass R,
normalised, and ``p = R / (R + 1 - p)``; that row stays ``(target - cut draft)+ / mass`` with ``cut += mass / p``. The order of these
events depends on which drafts share prefixes only: each request has its list, and the batch works through them together.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import coins
from specproof.fast.rows import Nodes, shaved
from specproof.fast.verifiers.chain import LARGEST_LOG
from specproof.fast.verifiers.nodes import first_sharing, needs_rows

drafting = Drafting(drafts=2)
capabilities = frozenset({"batch", "ragged", "drafts", "takes_uniforms"})
rule = "traversal"

ENTER, REFUSE, FLIP = range(3)
Event = tuple[int, int, int]  # what happens, the draft along which, and the level of the node to which it happens


def verify(drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG001 - part of the contract
    """Verify any number of independent drafts with K (L + 1) + 1 uniforms a request.

    Raises ``ValueError`` for rows without mass.
    """
    batch = needs_rows("traversal", drafts).batch
    # A node's coin is that of the first draft through it.
    last, flips = coins(generator, drafts, root=True, each=drafts.paths)
    stack = Stack.start(drafts)
    waiting = torch.arange(batch, device=drafts.device)
    path, accepted = torch.zeros_like(waiting), torch.zeros_like(waiting)
    for event in schedule(drafts).unbind(1):  # [B, 3]
        what, along, level = event[waiting].unbind(1)
        for kind, happens in ((ENTER, stack.enter), (REFUSE, stack.refuse)):
            those = what == kind
            happens(waiting[those], along[those], level[those])
        passes = (what == FLIP) & (
            (flips[waiting, level, along] < stack.log_passing[waiting, level].exp()) | (level == 0)
        )
        path[waiting[passes]], accepted[waiting[passes]] = along[passes], level[passes]
        waiting = waiting[~passes]
        if not len(waiting):
            break
    nodes = Nodes(torch.arange(batch, device=drafts.device), path, accepted)
    left = shaved(drafts, nodes, stack.cut.gather(1, accepted[:, None]).squeeze(1)).or_target()
    return Outcome.of(drafts, path, accepted, left.draw(last))


@dataclass(frozen=True)
class Stack:
    """The nodes from the root to where each request stands, by level: what is left of their targets, and log p; [B, L+1]."""

    drafts: Drafts
    cut: Tensor
    mass: Tensor
    log_passing: Tensor

    @classmethod
    def start(cls, drafts: Drafts) -> "Stack":
        """Every root untouched, and certain to pass."""
        zeros = torch.zeros(drafts.batch, drafts.length + 1, dtype=torch.float64, device=drafts.device)
        return cls(drafts, zeros, torch.ones_like(zeros), zeros.clone())

    def enter(self, at: Tensor, along: Tensor, level: Tensor) -> None:
        """Go down to the children at ``level`` >= 1."""
        parent = Nodes(at, along, level - 1)
        token = self.drafts.tokens[at, along, level - 1]
        target, draft = parent.target(self.drafts, token), parent.draft(self.drafts, token)
        owed = (target - self.cut[at, level - 1] * draft).clamp(min=0) / self.mass[at, level - 1]
        offered = self.log_passing[at, level - 1] + owed.log() - draft.clamp(min=1e-320).log()
        self.log_passing[at, level] = offered.clamp(max=0)
        self.cut[at, level], self.mass[at, level] = 0.0, 1.0

    def refuse(self, at: Tensor, along: Tensor, level: Tensor) -> None:
        """Take a refused child off the nodes at ``level``."""
        live = self.log_passing[at, level] > -torch.inf  # a node that cannot pass stays so
        at, along, level = at[live], along[live], level[live]
        if not len(at):
            return
        passing, mass = self.log_passing[at, level], self.mass[at, level]
        cut = self.cut[at, level] + mass * (-passing).clamp(max=LARGEST_LOG).exp()
        remaining = shaved(self.drafts, Nodes(at, along, level), cut).mass
        left = passing + (remaining / mass).log()  # log R
        total = left.exp() - torch.expm1(passing)  # R + 1 - p
        self.log_passing[at, level] = torch.where(total > 0, left - total.log(), 0.0).clamp(max=0)
        some = remaining > 0
        self.cut[at[some], level[some]], self.mass[at[some], level[some]] = cut[some], remaining[some]


def schedule(drafts: Drafts) -> Tensor:
    """The events of every request, [B, T, 3]; the last one is its root's."""
    lead, lengths = first_sharing(drafts.tokens).tolist(), drafts.each_length().tolist()
    lists = [events(tuple(tuple(first[:length]) for first in one)) for one, length in zip(lead, lengths, strict=True)]
    return torch.nn.utils.rnn.pad_sequence(lists, batch_first=True).to(drafts.device)


@lru_cache(maxsize=1 << 14)
def events(lead: tuple[tuple[int, ...], ...]) -> Tensor:
    """Depth first: ``lead[k][i]`` is the first draft that shares the first i + 1 tokens of draft k."""
    happening: list[Event] = []

    def visit(through: list[int], level: int) -> None:
        for k in through if level < len(lead[0]) else []:
            if lead[k][level] == k:  # a later draft with the same child only counts as a refusal
                happening.append((ENTER, k, level + 1))
                visit([other for other in through if lead[other][level] == k], level + 1)
            happening.append((REFUSE, k, level))
        happening.append((FLIP, through[0], level))

    visit(list(range(len(lead))), 0)
    return torch.tensor(happening)
