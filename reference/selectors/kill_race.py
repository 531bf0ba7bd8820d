"""Select by the race whose score is when greedy verification stops rejecting a draft at the root (MATH 4.2, kill_race).

The score is the smallest u at which greedy verification against the sub-measure ``u target`` does not reject the draft at
the root. With ``m_u = min(u target, draft)`` a draft that is still rejected at u, ``P_u``, goes on to the next tokens by
``P_u(zc) = P_u(z) (draft(zc) - m_u(zc)) / (draft(z) - sum over c of m_u(zc))``, which fixes the table of the race at the
edges of its cells. The winner starts with z with probability at least f(z) of the cells, as with *proportional*.
"""

from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix, Row
from specproof.reference.rows import normalised, residual, scaled
from specproof.reference.selectors import race
from specproof.reference.selectors.tables import Node, TableRow


def rejected(node: Node, level: Fraction, arriving: Fraction) -> Row:
    """``P_u`` of the children, from ``arriving``, that of the node."""
    left = residual(node.draft, scaled(level, node.target))
    return scaled(arriving, normalised(left)) if any(left) else (Fraction(0),) * len(left)


def kill_times(node: Node) -> list[TableRow]:
    """What stops being rejected between the edges of each cell."""
    table, arriving = [], sum(node.draft, start=Fraction(0))
    for low, high, mass in node.profile:
        before, after = rejected(node, low, arriving), rejected(node, high, arriving - mass)
        table.append((low, high, tuple(b - a for b, a in zip(before, after, strict=True))))
        arriving -= mass
    return table


def select(
    chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...], *, cells: int = 4
) -> tuple[Prefix, Model]:
    """Return the winner and the model of its law. Raises ``ValueError`` for fewer than one cell."""
    return race.select(chance, target, draft, drafts, table=kill_times, cells=cells)
