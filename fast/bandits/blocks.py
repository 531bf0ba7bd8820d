"""Blocks of many runs at once, drawn from the drafters of ``reference.bandits`` by inverse distribution functions.

Agreement with a Beta law is read from a table of ``CELLS`` quantiles, the middle of each cell: against the law itself the
distribution function is off by at most 1 / (2 CELLS), the mean by less than 1e-6 and the variance by less than 1e-4 of
itself. Uniforms that lie in the middle of a cell give what the reference makes of them. All else is exact.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import torch
from scipy.special import betaincinv
from torch import Tensor

from specproof.reference.bandits import drafters as reference

CELLS = 2**14


@dataclass(frozen=True)
class Blocks:
    """One block of every run, R of them; positions come first so that one position of all runs is contiguous.

    ``agreement`` [N, R], ``survival`` [N, R] and ``accepted`` [R] are those of ``reference.bandits.block``; N is the longest
    block of any arm, and beyond a shorter one's own length agreement and survival are zero.
    """

    agreement: Tensor
    survival: Tensor
    accepted: Tensor


class Drafters(Protocol):
    """Arms to choose from. ``draws`` is how many uniforms a block takes."""

    draws: int

    def draw(self, arms: Tensor, uniforms: Tensor) -> Blocks:
        """One block a run: ``arms`` [R], ``uniforms`` [draws, R]."""
        ...


def batched_drafters(given: reference.Drafters) -> Drafters:
    """The same drafters for many runs. Raises ``TypeError`` for drafters made of language models: too slow to simulate."""
    if isinstance(given, reference.Independent):
        return Independent(given)
    if isinstance(given, reference.AfterRejection):
        return AfterRejection(given)
    raise TypeError(f"no batched form of {type(given).__name__}; there is one of Independent and of AfterRejection")


class Independent:
    """Positions alike and independent. The first N uniforms are for the rows, the others for the coins."""

    def __init__(self, given: reference.Independent) -> None:
        acceptance = [float(share) for share in given.acceptance]
        self._longest = max(given.lengths)
        self.draws = 2 * self._longest
        self._acceptance = torch.tensor(acceptance, dtype=torch.float64)
        self._dispersion = float(given.dispersion)
        tabled = given.between == "beta" and 0 < self._dispersion < 1
        self._table = quantiles(tuple(acceptance), self._dispersion) if tabled else None
        uneven = min(given.lengths) < self._longest
        self._lengths = torch.tensor(given.lengths) if uneven else None

    def draw(self, arms: Tensor, uniforms: Tensor) -> Blocks:
        """Rows, then coins."""
        rows, coins = uniforms[: self._longest], uniforms[self._longest :]
        if self._table is not None:
            agreement = self._table.take((rows * CELLS).long().add_(arms * CELLS))
        else:
            mean = self._acceptance[arms]
            agreement = torch.where(rows < self._dispersion, 0.0, mean)
            agreement[rows < self._dispersion * mean] = 1.0
        if self._lengths is not None:
            agreement = torch.where(torch.arange(self._longest)[:, None] < self._lengths[arms], agreement, 0.0)
        return Blocks(agreement, agreement, leading(coins < agreement))


class AfterRejection:
    """Rows after the first rejection that mislead. One uniform a position: whether its token matches."""

    def __init__(self, given: reference.AfterRejection) -> None:
        self.draws = given.length
        self._before, self._after = (
            torch.tensor([float(share) for share in shares], dtype=torch.float64)
            for shares in (given.before, given.after)
        )

    def draw(self, arms: Tensor, uniforms: Tensor) -> Blocks:
        """The rows follow from the coins."""
        matches = uniforms < self._before[arms]
        accepted = leading(matches)
        reached = torch.arange(self.draws)[:, None] <= accepted
        return Blocks(torch.where(reached, self._before[arms], self._after[arms]), matches.double(), accepted)


def leading(kept: Tensor) -> Tensor:
    """How many positions are kept before the first that is not: ``kept`` [N, R] to [R]."""
    total = torch.zeros(kept.shape[1], dtype=torch.int64)
    running = torch.ones(kept.shape[1], dtype=torch.bool)
    for position in kept:
        running &= position
        total += running
    return total


@lru_cache(maxsize=64)
def quantiles(acceptance: tuple[float, ...], dispersion: float) -> Tensor:
    """Quantiles of the Beta laws at the middle of each cell, arm after arm, [K * CELLS]."""
    size = 1 / dispersion - 1
    middle = (np.arange(CELLS) + 0.5) / CELLS
    tables = [
        betaincinv(share * size, (1 - share) * size, middle) if 0 < share < 1 else np.full(CELLS, share)
        for share in acceptance
    ]
    return torch.from_numpy(np.concatenate(tables))
