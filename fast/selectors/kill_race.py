"""Select by the race whose score is when greedy verification stops rejecting a draft at the root (MATH 4.2, kill_race).

With ``m_u = min(u target, draft)``, a draft whose score is above u at z goes on with ``P_u(zc) = P_u(z) (draft(zc) -
m_u(zc)) / (draft(z) - sum over c of m_u(zc))``. No table and no order: the chances at the edges u of the cells are products
along the path. Everything is relative to the draft's mass; a group of tokens acts as one of the group's mean ratio.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.randomness import draw
from specproof.fast.selectors.groups import trie_masses
from specproof.fast.selectors.numbers import numbers
from specproof.fast.selectors.scores import Profile, grid, rate, win_shares
from specproof.fast.selectors.selection import Along, Selection, State, along_trie, edge_groups, path_ratios, selected
from specproof.fast.selectors.trie import Trie, trie_of


def coins(length: int) -> int:  # noqa: ARG001 - the same for every selector
    """How many uniforms a request takes."""
    return 1


@dataclass(frozen=True)
class Law:
    """The chances of a trie's nodes: P_u at the edges u of the cells, relative to the draft's mass."""

    trie: Trie
    edges: Tensor  # [J + 1]
    above: Tensor  # [N + B K, J + 1]
    gain: Tensor  # [N, groups] D(zc)/draft(zc) by group
    rates: Tensor  # [J]


def law_on(trie: Trie, state: State, drafts: Drafts, paths: int, cells: int | None, bins: int | None) -> Law:
    """Follow the chances of ``paths`` drafts down a trie from where ``state`` stands."""
    masses = trie_masses(drafts, trie, bins)
    cap = masses.draft / masses.draft.sum(-1, keepdim=True)  # [N, G]
    wanted = masses.target / masses.draft.clamp(min=torch.finfo(cap.dtype).tiny)
    ratio = path_ratios(drafts)[trie.request, trie.draft, trie.level] * state.ratio[trie.request]
    wanted = wanted * ratio[:, None]  # target(zc)/draft(zc)
    edges = grid(cells, paths, drafts.device)
    kept = torch.stack([(cap * (1 - edge * wanted).clamp(min=0)).sum(-1) for edge in edges], dim=-1)  # [N, J + 1]
    inverse = torch.where(kept > 0, 1 / kept, 0.0)
    group = edge_groups(drafts, trie, masses, bins)
    step = inverse[trie.parent] * (1 - edges * wanted[trie.parent, group][:, None]).clamp(min=0)  # one an edge
    above = cap.new_zeros((trie.size, len(edges)))
    above[trie.root] = state.cells[:, 0]
    for level in range(drafts.length):
        leaving = (trie.level[trie.parent] == level).nonzero().flatten()
        above[trie.child[leaving]] = above[trie.parent[leaving]] * step[leaving]
    rates = torch.as_tensor(rate(numbers(edges[:-1]), numbers(edges.diff()), paths), device=edges.device)
    weight = torch.cat([rates[:1], rates.diff()])  # of P_u at the lower edge u of each cell; P_1 is zero
    gain = torch.zeros_like(cap)
    for j, edge in enumerate(edges[:-1]):
        passing = weight[j] * above[: trie.nodes, j] * inverse[:, j]
        gain += passing[:, None] * (1 - edge * wanted).clamp(min=0)
    return Law(trie, edges, above, masses.spread(gain), rates)


def start(drafts: Drafts, *, cells: int | None = None, **_: Any) -> State:
    """Where every block starts: a random draft's score is uniform. Raises ``ValueError`` for fewer than one cell."""
    above = 1 - grid(cells, drafts.paths, drafts.device)
    return State(above.expand(drafts.batch, 1, -1), above.new_ones(drafts.batch))


def select(drafts: Drafts, uniform: Tensor, *, cells: int | None = None, bins: int | None = 10) -> Selection:
    """Return the winner of each request and its law; ``uniform`` is [B, 1].

    ``cells`` equal cells (None: 16 of the default grid) and ``bins`` ratio groups an octave (None: one a token). Raises
    ``ValueError`` for fewer than one cell or bin, or rows without mass.
    """
    law = law_on(trie_of(drafts), start(drafts, cells=cells), drafts, drafts.paths, cells, bins)
    leaves = law.above[law.trie.nodes :]
    low, width = (part.expand(len(leaves), -1) for part in (law.edges[:-1], law.edges.diff()))
    path = draw(win_shares(Profile(low, width, -leaves.diff(dim=-1)), drafts.batch), uniform[:, 0])
    return selected(drafts, path, law.trie.node, law.gain, bins)


def along(
    state: State, drafts: Drafts, left: Tensor, paths: int, *, cells: int | None = None, bins: int | None = 10
) -> Along:
    """The winner's law along other drafts, of which ``left`` [B] tokens belong to the block."""
    law = law_on(trie_of(drafts, left), state, drafts, paths, cells, bins)
    winning = (-law.above.diff(dim=-1) * law.rates).sum(-1)  # [N + B K] D(z)/draft(z)
    return along_trie(state, drafts, law.trie, law.gain, winning, law.above[law.trie.nodes :, None], bins)
