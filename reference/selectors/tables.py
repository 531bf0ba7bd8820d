"""Tables for the score race: how a node's cells are split over its tokens (MATH 4.2, tables).

Cells are served in order, low scores first. A cell pours its mass into the tokens by water filling: ``x_c = min(level *
weight_c, limit_c)``. *proportional* weighs by the target's mass and limits by the draft's: then the winner starts with z
at least as often as the published rule claims. *balanced* weighs by what the target still needs, to a power, and never
overshoots the need. A cell that cannot be filled so is cut there; the rest takes what the draft has left.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from specproof.reference.model import Row
from specproof.reference.names import nearest
from specproof.reference.rows import residual
from specproof.reference.selectors.scores import Profile, rate

UNIT = Fraction(1, 1 << 12)  # weights of the balanced table are rounded to multiples of this


@dataclass(frozen=True)
class Node:
    """What a table may look at: joint masses of the children, the prefix's profile, levels below the children."""

    target: Row
    draft: Row
    profile: Profile
    drafts: int
    below: int


TableRow = tuple[Fraction, Fraction, Row]
Table = Callable[[Node], Sequence[TableRow]]
Weigh = Callable[[Row, Row], Row]  # the draft's mass not yet placed, the target's need -> weights


def fill(amount: Fraction, weights: Row, limits: Row) -> Row:
    """Water filling: ``min(level * weight, limit)`` with the level that places ``amount``, or all the limits allow."""
    row = [Fraction(0)] * len(weights)
    pouring = sorted((token for token in range(len(row)) if weights[token] > 0), key=lambda c: limits[c] / weights[c])
    left, weight = amount, sum((weights[token] for token in pouring), start=Fraction(0))
    for token in pouring:  # the tightest limit first: once one is not met, none is
        row[token] = min(limits[token], left * weights[token] / weight)
        left, weight = left - row[token], weight - weights[token]
    return tuple(row)


def added(first: Row, second: Row) -> Row:
    """Entry by entry sum of two rows."""
    return tuple(a + b for a, b in zip(first, second, strict=True))


def dealt(node: Node, weigh: Weigh, *, capped: bool) -> list[TableRow]:
    """Split every cell over the tokens. ``capped``: no token gets more than wins what the target needs of it."""
    table: list[TableRow] = []
    left, won = node.draft, (Fraction(0),) * len(node.draft)

    def emit(low: Fraction, high: Fraction, row: Row) -> None:
        nonlocal left, won
        table.append((low, high, row))
        left = residual(left, row)
        won = added(won, tuple(rate(low, high, node.drafts) * mass for mass in row))

    def cap(row: Row, need: Row, low: Fraction, high: Fraction) -> Row:
        limits = tuple(mass / rate(low, high, node.drafts) for mass in need) if capped else row
        return tuple(min(pair) for pair in zip(row, limits, strict=True))

    for low, high, mass in node.profile:
        need = residual(node.target, won)
        row = fill(mass, weigh(left, need), cap(left, need, low, high))
        got, start = sum(row, start=Fraction(0)), low
        if 0 < got < mass:
            row = cap(row, need, low, low + (high - low) * got / mass)  # lower scores win more: cap again
            got = sum(row, start=Fraction(0))
            start = low + (high - low) * got / mass
            emit(low, start, row)
            row = (Fraction(0),) * len(row)
        rest = mass * (high - start) / (high - low) - sum(row, start=Fraction(0))
        row = added(row, fill(rest, node.target, residual(left, row)))
        rest = mass * (high - start) / (high - low) - sum(row, start=Fraction(0))
        emit(start, high, added(row, fill(rest, residual(left, row), residual(left, row))))
    return table


def proportional(node: Node) -> list[TableRow]:
    """Weigh by the target. The winner starts with z with probability at least f(z) of the cells, at every prefix."""
    return dealt(node, lambda left, need: node.target, capped=False)  # noqa: ARG005


def balanced(node: Node) -> list[TableRow]:
    """Weigh by ``left (need / left)^e``: the larger the exponent, the more the neediest tokens come first."""
    exponent = max(2, math.ceil(Fraction(8, node.below + 1)))

    def weigh(left: Row, need: Row) -> Row:
        ratios = [n / c if c > 0 else Fraction(0) for c, n in zip(left, need, strict=True)]
        best = max(ratios)
        powers = [max(UNIT, round((ratio / best) ** exponent / UNIT) * UNIT) if ratio else ratio for ratio in ratios]
        return tuple(mass * power for mass, power in zip(left, powers, strict=True))

    return dealt(node, weigh, capped=True)


TABLES: dict[str, Table] = {"proportional": proportional, "balanced": balanced}


def table_of(given: str | Table) -> Table:
    """Return the table of that name, or the callable as given. Raises ``ValueError`` for an unknown name."""
    if not isinstance(given, str):
        return given
    if given not in TABLES:
        raise ValueError(nearest("table", given, TABLES))
    return TABLES[given]
