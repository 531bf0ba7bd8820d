"""Select by a score race, batched (MATH 4.2): the fast twin of the reference's ``race``.

The draft with the smallest score wins. Scores are dealt out down the trie of the drafts by the tables of its nodes
(``tables``), on ratio groups (``groups``): a node costs one pass over its rows and cells x groups. All levels are poured
at the same time: a node takes a cell as soon as the table above has emitted it, so J cells and L levels take J + 2 L
steps, not J L. One uniform chooses the winner from the exact chances of all drafts.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.randomness import draw
from specproof.fast.selectors.groups import trie_masses
from specproof.fast.selectors.scores import Profile, grid, uniform_profile, win_shares
from specproof.fast.selectors.selection import Selection, edge_groups, path_ratios, selected
from specproof.fast.selectors.tables import Pour, checked
from specproof.fast.selectors.trie import Trie, trie_of


def coins(length: int) -> int:  # noqa: ARG001 - the same for every selector
    """How many uniforms a request takes."""
    return 1


@dataclass(frozen=True)
class Dealt:
    """The tables of a trie: who wins at each node, and the profiles of its nodes and leaves."""

    won: Tensor  # [N, G] D(group)/draft(node)
    profile: Profile  # [N + B K, S]


def deal(
    trie: Trie, need: Tensor, cap: Tensor, edge_group: Tensor, roots: Profile, *, table: str, drafts: int
) -> Dealt:
    """Pour the roots' cells down the trie.

    ``need`` and ``cap`` [N, G] are relative to the draft's mass of the node; ``edge_group`` is the group of each edge's token.
    """
    first, nodes, parent, child = roots.low.shape[1], trie.nodes, trie.parent, trie.child
    depth = int(trie.level.max()) + 1
    shape = (trie.size, first + depth + 1)  # every node cuts once; the last slot takes what nobody reads
    low, width, share = cap.new_ones(shape), cap.new_zeros(shape), cap.new_zeros(shape)
    low[trie.root, :first], width[trie.root, :first], share[trie.root, :first] = roots.low, roots.width, roots.share
    known = torch.zeros(shape[0], dtype=torch.int64, device=cap.device)  # cells known of each profile
    known[trie.root] = first
    read = torch.zeros(nodes, dtype=torch.int64, device=cap.device)  # the cell that each node pours next
    every = torch.arange(nodes, device=cap.device)
    edge_cap = cap[parent, edge_group].clamp(min=torch.finfo(cap.dtype).tiny)
    pour = Pour(table, drafts, need, cap, trie.below)
    while bool((active := read < known[:nodes]).any()):
        mass, start = share[every, read].masked_fill(~active, 0.0), low[every, read]
        poured = pour(mass, start, width[every, read])
        slot, given = known[child], active[parent]
        low[child, slot] = torch.where(given, start[parent], 1.0)
        width[child, slot] = poured.width[parent].masked_fill(~given, 0.0)
        share[child, slot] = poured.row[parent, edge_group] / edge_cap
        known[child] += given
        if bool(poured.cut.any()):  # the cell goes on behind the cut
            part = poured.width.masked_fill(~poured.cut, 0.0)
            low[every, read] += part
            width[every, read] -= part
            share[every, read] -= poured.row.sum(-1).masked_fill(~poured.cut, 0.0)
        read += active & ~poured.cut
    return Dealt(pour.won, Profile(low, width, share))


def select(
    drafts: Drafts, uniform: Tensor, *, table: str = "balanced", cells: int | None = None, bins: int | None = 10
) -> Selection:
    """Return the winner of each request and its law; ``uniform`` is [B, 1].

    ``cells`` equal cells (None: 32 of the default grid) and ``bins`` ratio groups an octave (None: one a token). Raises
    ``ValueError`` for an unknown table, fewer than one cell, or rows without mass.
    """
    trie = trie_of(drafts)
    masses = trie_masses(drafts, trie, bins)
    total = masses.draft.sum(-1, keepdim=True)
    ratio = path_ratios(drafts)[trie.request, trie.draft, trie.level]  # [N]
    need, cap = masses.target / total * ratio[:, None], masses.draft / total
    roots = uniform_profile(grid(cells, drafts.paths, uniform.device), drafts.batch)
    group = edge_groups(drafts, trie, masses, bins)
    dealt = deal(trie, need, cap, group, roots, table=checked(table), drafts=drafts.paths)
    shares = win_shares(dealt.profile.rows(slice(trie.nodes, None)), drafts.batch)
    path = draw(shares, uniform[:, 0])
    gain = torch.where(cap > 0, dealt.won / cap, 0)
    return selected(drafts, path, gain[trie.node[torch.arange(drafts.batch, device=path.device), path]], masses, bins)
