"""Select by a score race, batched (MATH 4.2): the fast twin of the reference's ``race``.

The draft with the smallest score wins. Scores are dealt out down the trie of the drafts by the tables of its nodes
(``tables``), on ratio groups (``groups``): a node costs one pass over its rows and cells x groups. All levels are poured
at the same time: a node takes a cell as soon as the table above has emitted it, so J cells and L levels take J + 2 L
steps, not J L. One uniform chooses the winner from the exact chances of all drafts.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.randomness import draw
from specproof.fast.selectors.groups import trie_masses
from specproof.fast.selectors.numbers import Floats, Indices, numbers
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

    won: Floats  # [N, G] D(group)/draft(node)
    low: Floats  # [B K, S] as in ``Profile``
    width: Floats
    share: Floats


def deal(
    trie: Trie, need: Floats, cap: Floats, edge_group: Indices, roots: Floats, *, table: str, drafts: int
) -> Dealt:
    """Pour the roots' cells, ``roots`` [3, B, J] their lower edges, widths and shares, down the trie.

    ``need`` and ``cap`` [N, G] are relative to the draft's mass of the node; ``edge_group`` is the group of each edge's token.
    """
    nodes, parent, child, root = trie.nodes, *map(numbers, (trie.parent, trie.child, trie.root))
    first, depth = roots.shape[-1], int(trie.level.max()) + 1
    shape = (trie.size, first + depth + 1)  # every node cuts once; the last slot takes what nobody reads
    low, width, share = np.ones(shape), np.zeros(shape), np.zeros(shape)
    low[root, :first], width[root, :first], share[root, :first] = roots
    known = np.zeros(shape[0], dtype=np.int64)  # cells known of each profile
    known[root] = first
    read = np.zeros(nodes, dtype=np.int64)  # the cell that each node pours next
    every = np.arange(nodes)
    edge_cap = np.maximum(cap[parent, edge_group], np.finfo(np.float64).tiny)
    pour = Pour(table, drafts, need, cap, numbers(trie.below))
    while (active := read < known[:nodes]).any():
        mass, start, size = share[every, read] * active, low[every, read], width[every, read]
        poured = pour(mass, start, size)
        given = active[parent]
        to, slot, source = child[given], known[child[given]], parent[given]
        low[to, slot], width[to, slot] = start[source], poured.width[source]
        share[to, slot] = poured.row[source, edge_group[given]] / edge_cap[given]
        known[to] += 1
        at = poured.cut.nonzero()[0]
        if len(at):  # the cell goes on behind the cut
            low[at, read[at]] += poured.width[at]
            width[at, read[at]] -= poured.width[at]
            share[at, read[at]] -= poured.row[at].sum(-1)
        read += active & ~poured.cut
    return Dealt(pour.won, low[nodes:], width[nodes:], share[nodes:])  # those of nodes are used up


@dataclass(frozen=True)
class Law:
    """The law of the winner on a trie."""

    trie: Trie
    gain: Tensor  # [N, groups] D(zc)/draft(zc) by group
    won: Tensor  # [N] D(z)/draft(z)
    leaves: Profile  # [B K, S]


def law_on(trie: Trie, state: State, drafts: Drafts, paths: int, table: str, bins: int | None) -> Law:
    """Deal the scores of ``paths`` drafts down a trie from where ``state`` stands."""
    masses = trie_masses(drafts, trie, bins)
    total = masses.draft.sum(-1, keepdim=True)
    ratio = path_ratios(drafts)[trie.request, trie.draft, trie.level] * state.ratio[trie.request]  # [N]
    need, cap = masses.target / total * ratio[:, None], masses.draft / total
    group = edge_groups(drafts, trie, masses, bins)
    roots = np.moveaxis(numbers(state.cells), 1, 0).copy()
    roots[0] = 1 - roots[0]
    dealt = deal(trie, numbers(need), numbers(cap), numbers(group), roots, table=checked(table), drafts=paths)
    won, low, width, share = (torch.as_tensor(part, device=cap.device) for part in vars(dealt).values())
    gain = masses.spread(torch.where(cap > 0, won / cap, 0.0))
    return Law(trie, gain, won.sum(-1), Profile(low, width, share))


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

    ``cells`` equal cells (None: 16 of the default grid) and ``bins`` ratio groups an octave (None: one a token). Raises
    ``ValueError`` for an unknown table, fewer than one cell or bin, or rows without mass.
    """
    law = law_on(trie_of(drafts), start(drafts, cells=cells), drafts, drafts.paths, table, bins)
    path = draw(win_shares(law.leaves, drafts.batch), uniform[:, 0])
    return selected(drafts, path, law.trie.node, law.gain, bins)


def along(
    state: State, drafts: Drafts, left: Tensor, paths: int, *,
    table: str = "balanced", cells: int | None = None, bins: int | None = 10,  # noqa: ARG001 - part of the state
) -> Along:  # fmt: skip
    """The winner's law along other drafts, of which ``left`` [B] tokens belong to the block."""
    law = law_on(trie_of(drafts, left), state, drafts, paths, table, bins)
    low, width, share = law.leaves.low, law.leaves.width, law.leaves.share
    rates = torch.as_tensor(rate(numbers(low), numbers(width), paths), device=share.device)
    winning = torch.cat([law.won, (share * rates).sum(-1)])  # D(z)/draft(z)
    cells_of = torch.stack([1 - low, width, share], dim=1)
    return along_trie(state, drafts, law.trie, law.gain, winning, cells_of, bins)
