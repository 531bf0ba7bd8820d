"""K-SEQ, batched: sequential selection with a fixed discount (SpecTr, arXiv 2310.15141, algorithm 2), the reference's ``k_seq``.

At a node with n drafts left accept the first whose token passes ``min(1, target/(rho draft))``. Everything rests on one function,
``S(rho) = sum (target - rho draft)+``: ``rho beta = 1 - S``, ``gamma = (1 - (1 - beta)^n)/beta``, and with ``g = gamma/rho`` the
residual is ``(1 - g) target + g (target - rho draft)+``. Rho is the smallest multiple of 2^-16 with ``1 - (1 - beta)^n <= rho
beta``, found by bisection: rounded up, so the law is kept and ``g <= 1``. Rows are normalised in float64 first; "<=" allows for
their own rounding (2^-24, or 2^-48 for float64 rows), by which the law may then be off.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import coins
from specproof.fast.rows import Nodes, shaved
from specproof.fast.verifiers.nodes import needs_rows, walk

drafting = Drafting(drafts=2)
capabilities = frozenset({"batch", "ragged", "drafts", "takes_uniforms"})
rule = "k_seq"
STEPS = 1 << 16


def verify(drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG001 - part of the contract
    """Verify any number of independent drafts with L K + 1 uniforms a request. Raises ``ValueError`` for rows without mass."""
    needs_rows("k_seq", drafts)
    last, flips = coins(generator, drafts, each=drafts.paths)
    found = walk(drafts, flips, Discount.enter)
    return Outcome.of(drafts, found.path, found.accepted, found.draw(last))


@dataclass(frozen=True)
class Discount:
    """K-SEQ at n nodes: fixed numbers, refusals change nothing."""

    cut: Tensor  # [n]: rho, in units of the rows' own sums
    gain: Tensor  # [n]: gamma / rho

    @classmethod
    def enter(cls, drafts: Drafts, nodes: Nodes, count: Tensor) -> "Discount":
        """Find rho for new nodes; with one draft left it is one, and K-SEQ is the standard rule."""
        cut = torch.ones_like(count, dtype=torch.float64)
        gain = torch.ones_like(cut)
        several = (count > 1).nonzero().flatten()
        if len(several):
            cut[several], gain[several] = best_discount(drafts, nodes[several], count[several])
        return cls(cut, gain)

    def accepts(self, at: Tensor, coin: Tensor, target: Tensor, draft: Tensor) -> Tensor:
        """Accept while ``u rho draft < target``."""
        return coin * self.cut[at] * draft < target

    def refused(self, at: Tensor, draft: Tensor, more: Tensor) -> None:
        """The next draft meets the same discount."""

    def residual(self) -> tuple[Tensor, Tensor]:
        """``(1 - g) target + g (target - rho draft)+``, divided by g; the target itself where nothing can be accepted."""
        some = self.gain > 0
        return torch.where(some, self.cut, 0.0), torch.where(some, (1 - self.gain) / self.gain.clamp(min=1e-300), 0.0)


def best_discount(drafts: Drafts, nodes: Nodes, count: Tensor) -> tuple[Tensor, Tensor]:
    """The smallest rho on the grid that covers, as a cut of the rows as they are, and ``gamma / rho``; both [n].

    Bracketed on the grid by false position (Illinois), and by bisection should that be slow: once covered, so is all above.
    """
    whole = shaved(drafts, nodes, torch.zeros_like(count, dtype=torch.float64)).or_target().mass
    unit = whole / draft_mass(drafts, nodes)  # the cut that subtracts one normalised draft row
    slack = 2.0**-48 if drafts.target_probs.dtype == torch.float64 else 2.0**-24
    low, high = torch.full_like(count, STEPS), count * STEPS
    low_gap, high_gap, gain = torch.zeros_like(unit), torch.zeros_like(unit), torch.zeros_like(unit)

    def look(at: Tensor, steps: Tensor, *, top: bool = False) -> None:
        """See whether rho at ``steps`` covers, and narrow the brackets of the nodes ``at``."""
        rho = steps / STEPS
        owned = (1 - shaved(drafts, nodes[at], rho * unit[at]).mass / whole[at]).clamp(min=0)  # rho beta
        accepted = -torch.expm1(count[at] * torch.log1p(-(owned / rho).clamp(max=1)))
        gap = owned * (1 + slack) - accepted
        covers = (gap >= 0) | top
        up, down = at[covers], at[~covers]
        low_gap[up] /= 2  # Illinois: an end that stays loses weight
        high_gap[down] /= 2
        high[up], high_gap[up] = steps[covers], gap[covers]
        low[down], low_gap[down] = steps[~covers], gap[~covers]
        gain[up] = (accepted / owned.clamp(min=1e-300))[covers]

    every = torch.arange(len(count), device=count.device)
    look(every, high, top=True)
    look(every, low)
    for turn in range(64):
        wide = (high - low > 1).nonzero().flatten()
        if not len(wide):
            break
        width, below, above = (high - low)[wide], low_gap[wide], high_gap[wide]
        share = below / (below - above) if turn < 12 else torch.full_like(below, 0.5)
        look(wide, low[wide] + (width * share).nan_to_num(1.0).long().clamp(min=1).minimum(width - 1))
    return high / STEPS * unit, gain.clamp(max=1)


def draft_mass(drafts: Drafts, nodes: Nodes) -> Tensor:
    """Sums of the draft's rows, [n]."""
    flipped = Drafts(drafts.tokens, None, drafts.draft_rows())
    return shaved(flipped, nodes, torch.zeros(len(nodes.request), dtype=torch.float64, device=drafts.device)).mass
