"""Select by a score race (MATH 4.2): the draft with the smallest score wins, and tokens the target wants score low.

A score is dealt out token by token. The root's score is uniform; at a node a table splits every cell of the prefix's
profile over the next tokens, ``table[cell][c]`` with the cell's mass as row sums and ``draft(zc)`` as column sums. Any
table with these sums keeps the law known, hence lossless; a good one gives low scores where the target lacks mass.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix, Row, children
from specproof.reference.rows import normalised
from specproof.reference.selectors.scores import Profile, held, thin, uniform_edges, win_shares, winning
from specproof.reference.selectors.tables import Node, Table, table_of


@dataclass(frozen=True)
class Race:
    """The law of the winner among ``drafts`` independent drafts of ``length`` tokens."""

    target: Model
    draft: Model
    drafts: int
    length: int
    table: Table
    cells: int

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        return self.target.vocabulary

    def probabilities(self, prefix: Prefix) -> Row:
        """Return the row ``D(zc)/D(z)``; the draft's own where the winner never arrives."""
        row = tuple(winning(profile(self, (*prefix, token)), self.drafts) for token in range(self.vocabulary))
        return normalised(row) if any(row) else tuple(self.draft.probabilities(prefix))


@lru_cache(maxsize=1 << 14)
def child_profiles(race: Race, prefix: Prefix) -> tuple[Profile, ...]:
    """The profiles of all one-token extensions of a prefix."""
    node = Node(
        target=children(race.target, prefix),
        draft=children(race.draft, prefix),
        profile=profile(race, prefix),
        drafts=race.drafts,
        below=race.length - len(prefix) - 1,
    )
    table = race.table(node) if node.profile else ()
    check_sums(node, table)
    return tuple(thin((low, high, row[token]) for low, high, row in table) for token in range(race.vocabulary))


def profile(race: Race, prefix: Prefix) -> Profile:
    """The score profile of a prefix: cells ``(a, b, probability of the prefix with a score in between)``."""
    if prefix:
        return child_profiles(race, prefix[:-1])[prefix[-1]]
    return tuple((low, high, high - low) for low, high in pairwise(uniform_edges(race.cells)))


def check_sums(node: Node, table: Sequence[tuple[Fraction, Fraction, Row]]) -> None:
    """Losslessness depends on nothing else. Raises ``ValueError`` for a table whose sums or signs are wrong."""
    edges = [edge for low, high, _ in table for edge in (low, high)]
    if edges != sorted(edges) or any(low >= high for low, high, _ in table):
        raise ValueError(f"a table needs disjoint cells in increasing order, got edges {[str(edge) for edge in edges]}")
    for low, high, row in table:
        if min(row) < 0 or sum(row) != held(node.profile, low, high):
            raise ValueError(f"cell ({low}, {high}) holds {held(node.profile, low, high)}, its row is {row}")
    columns = tuple(sum((row[token] for *_, row in table), start=Fraction(0)) for token in range(len(node.draft)))
    if columns != node.draft:
        raise ValueError(f"the columns of a table sum to the draft's {node.draft}, got {columns}")


def select(
    chance: Chance,
    target: Model,
    draft: Model,
    drafts: tuple[Prefix, ...],
    *,
    table: str | Table = "balanced",
    cells: int = 4,
) -> tuple[Prefix, Model]:
    """Return the winner and the model of its law. Raises ``ValueError`` for an unknown table or wrong sums."""
    race = Race(target, draft, len(drafts), len(drafts[0]), table_of(table), cells)
    shares = win_shares(tuple(profile(race, path) for path in drafts))
    return drafts[chance.choose(shares)], race
