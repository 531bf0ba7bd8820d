"""The distinct prefixes of the drafts: where rows must be read, each once however many drafts share it.

A node is a prefix that some draft goes on from (a level below the draft's length; the root always is one). Its rows are
those of the first draft that starts with it. Leaves, one a draft, are numbered after the N nodes. An edge leads from a
node by a token to a deeper node or to a leaf. Only indices are made here: the rows stay where they are.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from specproof.fast.batch import Drafts


@dataclass(frozen=True)
class Trie:
    """Nodes in falling order of the levels below them, and the edges between them."""

    request: Tensor  # [N] where a node's rows are: draft_probs[request, draft, level]
    draft: Tensor  # [N]
    level: Tensor  # [N]
    below: Tensor  # [N] levels between the node's children and the end of its draft
    root: Tensor  # [B]
    parent: Tensor  # [E] the node above
    child: Tensor  # [E] the node or leaf below
    token: Tensor  # [E]
    node: Tensor  # [B, K, L] the node of every draft at every level (beyond its length: any)

    @property
    def nodes(self) -> int:
        """Number of nodes, N."""
        return len(self.request)

    @property
    def size(self) -> int:
        """Number of nodes and leaves, N + B K."""
        return self.nodes + self.node.shape[0] * self.node.shape[1]


def trie_of(drafts: Drafts, left: Tensor | None = None) -> Trie:
    """Return the trie of a batch of drafts; ``left`` [B] tokens remain of each block, unless told those drafted."""
    tokens, lengths = drafts.tokens, drafts.each_length()
    batch, paths, length = tokens.shape
    rows, ways = torch.arange(batch, device=tokens.device), torch.arange(paths, device=tokens.device)
    levels = torch.arange(length, device=tokens.device)
    agree = (tokens[:, :, None] == tokens[:, None]).long().cumprod(-1)  # [B, K, K, L] on the first i + 1 tokens
    agree = torch.nn.functional.pad(agree[..., :-1], (1, 0), value=1)
    first = agree.argmax(2)  # [B, K, L] the first draft with the same i tokens
    inside = (levels < lengths[:, None, None]) | (levels == 0)
    request, draft, level = ((first == ways[:, None]) & inside).nonzero(as_tuple=True)
    below = (lengths if left is None else left)[request] - 1 - level
    below, order = below.sort(descending=True, stable=True)
    request, draft, level = request[order], draft[order], level[order]
    number = torch.zeros_like(tokens)
    number[request, draft, level] = torch.arange(len(order), device=tokens.device)
    node = number.gather(1, first)  # [B, K, L]

    deeper = (level > 0).nonzero().flatten()
    up = request[deeper], draft[deeper], level[deeper] - 1
    last = (lengths - 1).clamp(min=0)[:, None, None].expand(batch, paths, 1)
    leaf = len(order) + paths * rows[:, None] + ways
    return Trie(
        request, draft, level, below, node[:, 0, 0],
        torch.cat([node[up], node.gather(2, last).flatten()]),
        torch.cat([deeper, leaf.flatten()]),
        torch.cat([tokens[up], tokens.gather(2, last).flatten()]),
        node,
    )  # fmt: skip
