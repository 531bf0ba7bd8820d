"""Select by the race whose score is when greedy verification stops rejecting a draft at the root (MATH 4.2, kill_race).

With ``m_u = min(u target, draft)``, a draft whose score is above u at z goes on with ``P_u(zc) = P_u(z) (draft(zc) -
m_u(zc)) / (draft(z) - sum over c of m_u(zc))``. No table and no order: the chances at the edges u of the cells are products
along the path. Everything is relative to the draft's mass; a group of tokens acts as one of the group's mean ratio.
"""

import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.randomness import draw
from specproof.fast.selectors.groups import trie_masses
from specproof.fast.selectors.scores import Profile, grid, rate, win_shares
from specproof.fast.selectors.selection import Selection, edge_groups, path_ratios, selected
from specproof.fast.selectors.trie import trie_of


def coins(length: int) -> int:  # noqa: ARG001 - the same for every selector
    """How many uniforms a request takes."""
    return 1


def select(drafts: Drafts, uniform: Tensor, *, cells: int | None = None, bins: int | None = 10) -> Selection:
    """Return the winner of each request and its law; ``uniform`` is [B, 1].

    ``cells`` equal cells (None: 32 of the default grid) and ``bins`` ratio groups an octave (None: one a token). Raises
    ``ValueError`` for fewer than one cell.
    """
    trie = trie_of(drafts)
    masses = trie_masses(drafts, trie, bins)
    cap = masses.draft / masses.draft.sum(-1, keepdim=True)  # [N, G]
    wanted = masses.target / masses.draft.clamp(min=torch.finfo(cap.dtype).tiny)
    wanted = wanted * path_ratios(drafts)[trie.request, trie.draft, trie.level][:, None]  # target(zc)/draft(zc)
    edges = grid(cells, drafts.paths, uniform.device)
    kept = torch.stack([(cap * (1 - edge * wanted).clamp(min=0)).sum(-1) for edge in edges], dim=-1)  # [N, J + 1]
    inverse = torch.where(kept > 0, 1 / kept, 0)

    group = edge_groups(drafts, trie, masses, bins)
    step = inverse[trie.parent] * (1 - edges * wanted[trie.parent, group][:, None]).clamp(min=0)  # one an edge
    above = (1 - edges).repeat(trie.size, 1)  # P_u/draft of the nodes and leaves
    for level in range(drafts.length):
        leaving = (trie.level[trie.parent] == level).nonzero().flatten()
        above[trie.child[leaving]] = above[trie.parent[leaving]] * step[leaving]
    leaves = above[trie.nodes :]
    low, width = edges[:-1].expand(len(leaves), -1), edges.diff().expand(len(leaves), -1)
    path = draw(win_shares(Profile(low, width, -leaves.diff(dim=-1)), drafts.batch), uniform[:, 0])

    rates = rate(edges[:-1], edges.diff(), drafts.paths)
    weight = torch.cat([rates[:1], rates.diff()])  # of P_u at the lower edge u of each cell; P_1 is zero
    node = trie.node[torch.arange(drafts.batch, device=path.device), path]  # [B, L]
    gain = torch.zeros_like(cap[node])  # [B, L, G]
    for j, edge in enumerate(edges[:-1]):
        passing = weight[j] * above[node, j] * inverse[node, j]
        gain += passing[..., None] * (1 - edge * wanted[node]).clamp(min=0)
    return selected(drafts, path, gain, masses, bins)
