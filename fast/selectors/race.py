"""Select by a score race, batched (MATH 4.2): the fast twin of the reference's ``race``.

The draft with the smallest score wins. Scores are dealt out down the trie of the drafts by the tables of its nodes
(``tables``), on ratio groups (``groups``): a node costs one pass over its rows and cells x groups. All levels are poured
at the same time: a node takes a cell as soon as the table above has emitted it, so J cells and L levels take J + 2 L
steps, not J L. One uniform chooses the winner from the exact chances of all drafts.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.randomness import draw
from specproof.fast.selectors.groups import Masses, trie_masses
from specproof.fast.selectors.scores import Profile, grid, rate, win_shares
from specproof.fast.selectors.selection import Along, Selection, State, along_trie, edge_groups, path_ratios, selected
from specproof.fast.selectors.tables import Pour, checked
from specproof.fast.selectors.trie import Trie, trie_of


def coins(length: int) -> int:  # noqa: ARG001 - the same for every selector
    """How many uniforms a request takes."""
    return 1


@dataclass(frozen=True)
class Dealt:
    """The tables of a trie: who wins at each node, and the profiles of its leaves."""

    won: Tensor  # [N, G] D(group)/draft(node)
    leaves: Profile  # [B K, S]


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
    return Dealt(pour.won, Profile(low[nodes:], width[nodes:], share[nodes:]))  # those of nodes are used up


@dataclass(frozen=True)
class Law:
    """The law of the winner on a trie."""

    trie: Trie
    masses: Masses
    gain: Tensor  # [N, G] D(zc)/draft(zc) by group
    won: Tensor  # [N] D(z)/draft(z)
    leaves: Profile  # [B K, S]


def law_on(trie: Trie, state: State, drafts: Drafts, paths: int, table: str, bins: int | None) -> Law:
    """Deal the scores of ``paths`` drafts down a trie from where ``state`` stands."""
    masses = trie_masses(drafts, trie, bins)
    total = masses.draft.sum(-1, keepdim=True)
    ratio = path_ratios(drafts)[trie.request, trie.draft, trie.level] * state.ratio[trie.request]  # [N]
    need, cap = masses.target / total * ratio[:, None], masses.draft / total
    group = edge_groups(drafts, trie, masses, bins)
    high, width, share = state.cells.unbind(1)
    dealt = deal(trie, need, cap, group, Profile(1 - high, width, share), table=checked(table), drafts=paths)
    return Law(trie, masses, torch.where(cap > 0, dealt.won / cap, 0.0), dealt.won.sum(-1), dealt.leaves)


def start(drafts: Drafts, *, cells: int | None = None, **_: Any) -> State:
    """Where every block starts: a random draft's score is uniform. Raises ``ValueError`` for fewer than one cell."""
    edges = grid(cells, drafts.paths, drafts.device)
    width = edges.diff()
    ones = torch.ones(drafts.batch, dtype=torch.float64, device=drafts.device)
    return State(torch.stack([1 - edges[:-1], width, width]).expand(drafts.batch, -1, -1), ones)


def select(
    drafts: Drafts, uniform: Tensor, *, table: str = "balanced", cells: int | None = None, bins: int | None = 10
) -> Selection:
    """Return the winner of each request and its law; ``uniform`` is [B, 1].

    ``cells`` equal cells (None: 32 of the default grid) and ``bins`` ratio groups an octave (None: one a token). Raises
    ``ValueError`` for an unknown table, fewer than one cell or bin, or rows without mass.
    """
    law = law_on(trie_of(drafts), start(drafts, cells=cells), drafts, drafts.paths, table, bins)
    path = draw(win_shares(law.leaves, drafts.batch), uniform[:, 0])
    return selected(drafts, path, law.trie.node, law.gain, law.masses, bins)


def along(
    state: State, drafts: Drafts, left: Tensor, paths: int, *,
    table: str = "balanced", cells: int | None = None, bins: int | None = 10,  # noqa: ARG001 - part of the state
) -> Along:  # fmt: skip
    """The winner's law along other drafts, of which ``left`` [B] tokens belong to the block."""
    law = law_on(trie_of(drafts, left), state, drafts, paths, table, bins)
    low, width, share = law.leaves.low, law.leaves.width, law.leaves.share
    winning = torch.cat([law.won, (share * rate(low, width, paths)).sum(-1)])  # D(z)/draft(z)
    cells_of = torch.stack([1 - low, width, share], dim=1)
    return along_trie(state, drafts, law.trie, law.gain, law.masses, winning, cells_of, bins)
