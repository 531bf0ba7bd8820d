"""What ``play`` asks of a policy over R runs, and the record that most of them keep."""

from typing import Protocol

import torch
from torch import Tensor


class Policy(Protocol):
    """A policy of ``reference.bandits`` in R runs that are all in the same round.

    ``draws`` is how many uniforms each run gets a round, in the order in which the reference asks for them; ``feedback``
    says whose rewards ``update`` is handed: those of the chosen arms, [R], or of all, [K, R].
    """

    draws: int
    feedback: str

    def start(self, runs: int, scale: float) -> None:
        """Forget everything. Rewards will come multiplied by ``scale``, so that sums of counts stay whole numbers."""
        ...

    def choose(self, completed: int, uniforms: Tensor) -> Tensor:
        """The arm of every run, [R], after ``completed`` rounds; ``uniforms`` [draws, R]."""
        ...

    def update(self, arms: Tensor, rewards: Tensor) -> None:
        """Learn the rewards of the round."""
        ...


class Record:
    """Rounds and summed rewards of every arm in every run, [K, R], with what an index needs of them at hand.

    ``means`` are of rewards, ``width`` is ``1 / sqrt(pulls)``.
    """

    def __init__(self, arms: int, runs: int, scale: float) -> None:
        self.runs, self.scale = runs, scale
        self._row = torch.arange(runs)
        self.pulls, self.sums, self.means, self.width = (torch.zeros(arms, runs, dtype=torch.float64) for _ in range(4))

    def add(self, arms: Tensor, rewards: Tensor) -> None:
        """One more round with ``arms`` [R]."""
        at = arms * self.runs + self._row
        pulls, sums = self.pulls.view(-1)[at] + 1, self.sums.view(-1)[at] + rewards
        self.pulls.view(-1)[at] = pulls
        self.sums.view(-1)[at] = sums
        self.means.view(-1)[at] = sums / (pulls * self.scale)
        self.width.view(-1)[at] = pulls.rsqrt()


def best(scores: Tensor, ties: str, uniform: Tensor) -> Tensor:
    """Index of the highest score of every run, ``scores`` [K, R]: the lowest of several, or any by ``uniform`` [1, R]."""
    highest = scores.max(0)
    if ties == "lowest":
        return highest.indices
    tied = scores == highest.values
    wanted = (uniform[0] * tied.sum(0)).long() + 1
    return (tied.cumsum(0) == wanted).to(torch.int8).argmax(0)
