"""Tables for the score race, one cell at a time for many nodes at once (MATH 4.2, tables).

A cell of a node holds ``mass`` of its draws; the table pours it into the groups by water filling: ``min(level weight,
limit)``. *proportional* weighs by the target's mass and limits by the draft's. *balanced* weighs by what the target still
needs, to a power, and never overshoots the need. A cell that cannot be filled so is cut where it ran short. From then on
no group has both need and draft mass left, so a node cuts at most once, and what remains goes to the target's tokens,
then to whatever the draft has left. All masses are relative to the draft's mass of the node.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

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

    width: Tensor  # [N]
    row: Tensor  # [N, G]
    cut: Tensor  # [N] bool


class Pour:
    """The tables of N nodes between two cells.

    ``need`` and ``cap`` [N, G] are the target's and the draft's masses, ``below`` [N] the levels below the children, in
    falling order. ``won`` [N, G] is the probability that the winner goes to each group, ``left`` what the draft has left.
    """

    def __init__(self, table: str, drafts: int, need: Tensor, cap: Tensor, below: Tensor) -> None:
        self.balanced = table == "balanced"
        self.drafts = drafts
        self.target = need
        self.need = need * (1 - ROUNDING)
        self.dust = cap * ROUNDING
        self.left = cap.clone()
        self.won = torch.zeros_like(cap)
        self.was_cut = torch.zeros_like(below, dtype=torch.bool)
        # Exponents max(2, ceil(8 / (below + 1))): 8, 4, 3, 2, 2, ... from the last level upward.
        self.from_third, self.from_second, self.from_last = (int((below >= least).sum()) for least in (3, 2, 1))

    def weights(self, left: Tensor, need: Tensor) -> Tensor:
        """``left (need / left)^e`` relative to the largest ratio, zero where either is zero."""
        ratio = need / (left + TINY) * left.sign()
        ratio = ratio / ratio.amax(-1, keepdim=True).clamp(min=TINY)
        units = ratio * ratio * UNIT
        units[self.from_third : self.from_second] *= ratio[self.from_third : self.from_second]
        units[self.from_second :] *= ratio[self.from_second :] ** 2
        units[self.from_last :] *= ratio[self.from_last :].square().square()
        return units.round_().clamp_(min=1).mul_(left).mul_(ratio.sign())

    def __call__(self, mass: Tensor, low: Tensor, width: Tensor) -> Poured:
        """Split one cell (or what is left of it) of every node."""
        winning = rate(low, width, self.drafts)[:, None]
        left = (self.left - self.dust).clamp_(min=0)
        need, weights, limits = self.target, self.target, left
        if self.balanced:
            need = (self.need - self.won).clamp_(min=0)
            weights, limits = self.weights(left, need), torch.minimum(left, need / winning.clamp(min=TINY))
            room = limits.sum(-1)
        else:
            room = (limits * weights.sign()).sum(-1)
        wanted = room > 0
        if not bool(wanted.all()):  # nothing that is needed can be had: the target's tokens first
            weights = torch.where(wanted[:, None], weights, self.target)
            limits = torch.where(wanted[:, None], limits, left)
        row = fill(mass, weights, limits)
        got = row.sum(-1)
        rest = mass - got
        cut = wanted & (room < (1 - ROUNDING) * mass) & ~self.was_cut
        at = cut.nonzero().flatten()
        if len(at):
            part = width[at] * got[at] / mass[at]
            if self.balanced:  # lower scores win more: cap again
                row[at] = torch.minimum(row[at], need[at] / rate(low[at], part, self.drafts)[:, None])
                part = width[at] * row[at].sum(-1) / mass[at]
            width = width.index_copy(0, at, part)
            winning = winning.index_copy(0, at, rate(low[at], part, self.drafts)[:, None])
            rest = rest.index_fill(0, at, 0.0)
            self.was_cut |= cut
        spare = self.left - row
        row += spare * (rest / spare.sum(-1).clamp(min=TINY)).clamp_(min=0)[:, None]
        self.left = (self.left - row).clamp_(min=0)
        self.won += row * winning
        return Poured(width, row, cut)


def fill(amount: Tensor, weights: Tensor, limits: Tensor) -> Tensor:
    """Water filling [N, G]: ``min(level weight, limit)`` that places ``amount``, or all the limits allow."""
    key, order = (limits / (weights + TINY)).sort(-1)  # the tightest limit first
    bound, free = limits.gather(-1, order), weights.gather(-1, order)
    before = bound.cumsum(-1).sub_(bound)  # what is placed where the limits before are met
    after = free.flip(-1).cumsum(-1).flip(-1)  # weights that take part from here on
    last = (torch.addcmul(before, key, after) < amount[:, None]).sum(-1, keepdim=True).clamp_(max=key.shape[1] - 1)
    level = (amount[:, None] - before.gather(-1, last)) / after.gather(-1, last).clamp_(min=TINY)
    return torch.minimum(level.clamp_(max=1 / TINY) * weights, limits)
