"""Tables for the score race, one cell at a time for many nodes at once (MATH 4.2, tables).

A cell of a node holds ``mass`` of its draws; the table pours it into the groups by water filling: ``min(level weight,
limit)``. *proportional* weighs by the target's mass and limits by the draft's. *balanced* weighs by what the target still
needs, to a power, and never overshoots the need. A cell that cannot be filled so is cut where it ran short. From then on
no group has both need and draft mass left, so a node cuts at most once, and what remains goes to the target's tokens,
then to whatever the draft has left. All masses are relative to the draft's mass of the node.
"""

from dataclasses import dataclass

import numpy as np

from specproof.fast.selectors.numbers import Flags, Floats, Indices
from specproof.fast.selectors.scores import rate
from specproof.reference.names import nearest

UNIT = 2.0**12  # weights of the balanced table are rounded to multiples of 1 / UNIT, as in the exact engine
ROUNDING = 1e-12  # what rounding leaves of a mass, relative to it, counts as nothing
TINY = 1e-250
TABLES = ("proportional", "balanced")


def checked(table: str) -> str:
    """Return the name of the table. Raises ``ValueError`` for an unknown one."""
    if table not in TABLES:
        raise ValueError(nearest("table", table, TABLES))
    return table


@dataclass(frozen=True)
class Poured:
    """What one step emits of each node's cell: its part [low, low + width), how it is split, whether it goes on."""

    width: Floats  # [N]
    row: Floats  # [N, G]
    cut: Flags  # [N]


class Pour:
    """The tables of N nodes between two cells.

    ``need`` and ``cap`` [N, G] are the target's and the draft's masses, ``below`` [N] the levels below the children, in
    falling order. ``won`` [N, G] is the probability that the winner goes to each group, ``left`` what the draft has left.
    """

    def __init__(self, table: str, drafts: int, need: Floats, cap: Floats, below: Indices) -> None:
        self.balanced = table == "balanced"
        self.drafts = drafts
        self.target = need
        self.need = need * (1 - ROUNDING)
        self.dust = cap * ROUNDING
        self.left = cap.copy()
        self.won = np.zeros_like(cap)
        self.was_cut = np.zeros(len(below), dtype=bool)
        # Exponents max(2, ceil(8 / (below + 1))): 8, 4, 3, 2, 2, ... from the last level upward.
        self.from_third, self.from_second, self.from_last = (int((below >= least).sum()) for least in (3, 2, 1))

    def weights(self, left: Floats, need: Floats) -> Floats:
        """``left (need / left)^e`` relative to the largest ratio, zero where nothing is left."""
        ratio = np.divide(need, left, out=np.zeros_like(need), where=left > 0)
        ratio /= np.maximum(ratio.max(-1, keepdims=True), TINY)
        square = ratio * ratio
        units = square * UNIT
        units[self.from_third : self.from_second] *= ratio[self.from_third : self.from_second]
        units[self.from_second :] *= square[self.from_second :]
        units[self.from_last :] *= square[self.from_last :] ** 2
        np.maximum(np.rint(units, out=units), 1, out=units)
        units *= left
        return units

    @np.errstate(over="ignore")  # an infinite limit is none, and behind improbable prefixes needs are enormous
    def __call__(self, mass: Floats, low: Floats, width: Floats) -> Poured:
        """Split one cell (or what is left of it) of every node."""
        winning = rate(low, width, self.drafts)[:, None]
        left = np.maximum(self.left - self.dust, 0)
        if self.balanced:
            need = np.maximum(self.need - self.won, 0)
            weights, limits = self.weights(left, need), np.minimum(left, need / np.maximum(winning, TINY))
            room = limits.sum(-1)
        else:
            need, weights, limits = self.target, self.target, left
            room = (limits * (weights > 0)).sum(-1)
        wanted = room > 0
        if not wanted.all():  # nothing that is needed can be had: the target's tokens first
            weights = np.where(wanted[:, None], weights, self.target)
            limits = np.where(wanted[:, None], limits, left)
        row = fill(mass, weights, limits)
        got = row.sum(-1)
        rest = mass - got
        cut = wanted & (room < (1 - ROUNDING) * mass) & ~self.was_cut
        at = cut.nonzero()[0]
        if len(at):
            part = width[at] * got[at] / mass[at]
            if self.balanced:  # lower scores win more: cap again
                row[at] = np.minimum(row[at], need[at] / rate(low[at], part, self.drafts)[:, None])
                part = width[at] * row[at].sum(-1) / mass[at]
            width = width.copy()
            width[at], winning[at, 0], rest[at] = part, rate(low[at], part, self.drafts), 0
            self.was_cut |= cut
        over = (rest > ROUNDING * mass).nonzero()[0]
        if len(over):
            spare = self.left[over] - row[over]
            row[over] += spare * (rest[over] / np.maximum(spare.sum(-1), TINY))[:, None]
        self.left = np.maximum(self.left - row, 0)
        self.won += row * winning
        return Poured(width, row, cut)


def fill(amount: Floats, weights: Floats, limits: Floats) -> Floats:
    """Water filling [N, G]: ``min(level weight, limit)`` that places ``amount``, or all the limits allow."""
    rows = np.arange(len(amount))
    key = limits / (weights + TINY)
    order = key.argsort(-1) + rows[:, None] * key.shape[1]  # the tightest limit first
    key, bound, free = key.take(order), limits.take(order), weights.take(order)
    before = bound.cumsum(-1)
    before -= bound  # what is placed where the limits before are met
    after = free[:, ::-1].cumsum(-1)[:, ::-1]  # weights that take part from here on
    key *= after
    key += before
    last = np.minimum((key < amount[:, None]).sum(-1), key.shape[1] - 1)
    level = (amount - before[rows, last]) / np.maximum(after[rows, last], TINY)
    filled: Floats = np.minimum(np.minimum(level, 1 / TINY)[:, None] * weights, limits)
    return filled
