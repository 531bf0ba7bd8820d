"""Policies that commit: one arm, all in turn, a router's answer, halving until one is left, the leader of all."""

import torch
from torch import Tensor

from specproof.fast.bandits.policy import Record, best
from specproof.reference.bandits.fixed import Static
from specproof.reference.bandits.full_information import FullInformation
from specproof.reference.bandits.round_robin import RoundRobin
from specproof.reference.bandits.router import Router
from specproof.reference.bandits.successive_halving import SuccessiveHalving


class Unlearning:
    """What is chosen does not depend on rewards."""

    feedback = "chosen"
    draws = 0

    def start(self, runs: int, scale: float) -> None:  # noqa: ARG002 - rewards are not looked at
        """How many runs there are is all to know."""
        self._runs = runs

    def update(self, arms: Tensor, rewards: Tensor) -> None:
        """Nothing is learned."""


class One(Unlearning):
    """Always the same arm."""

    def __init__(self, given: Static) -> None:
        self._arm = given.arm

    def choose(self, completed: int, uniforms: Tensor) -> Tensor:  # noqa: ARG002 - neither history nor chance matters
        """The arm."""
        return torch.full((self._runs,), self._arm)


class InTurn(Unlearning):
    """Round robin."""

    def __init__(self, given: RoundRobin) -> None:
        self._arms = given.arms

    def choose(self, completed: int, uniforms: Tensor) -> Tensor:  # noqa: ARG002 - no coin here
        """The arm whose turn it is."""
        return torch.full((self._runs,), completed % self._arms)


class Routed(Unlearning):
    """A classifier's answer for the whole query."""

    draws = 2

    def __init__(self, given: Router) -> None:
        self._given = given

    def choose(self, completed: int, uniforms: Tensor) -> Tensor:
        """The answer given in the first round."""
        if completed == 0:
            other = (uniforms[1] * (self._given.arms - 1)).long()
            other += other >= self._given.best
            self._answer = torch.where(uniforms[0] < float(self._given.error), other, self._given.best)
        return self._answer


class Halving:
    """Successive halving; all runs are in the same phase."""

    feedback = "chosen"
    draws = 0

    def __init__(self, given: SuccessiveHalving) -> None:
        self._given = given

    def start(self, runs: int, scale: float) -> None:
        """All arms left, [L, R], lowest first."""
        self._record = Record(self._given.arms, runs, scale)
        self._left = torch.arange(self._given.arms)[:, None].repeat(1, runs)
        self._played = 0

    def choose(self, completed: int, uniforms: Tensor) -> Tensor:  # noqa: ARG002 - the phase counts
        """The next arm of the phase, or the one that is left."""
        left = len(self._left)
        if left == 1:
            return self._left[0]
        return self._left[self._played % left if self._given.interleaved else self._played // self._given.repeats(left)]

    def update(self, arms: Tensor, rewards: Tensor) -> None:
        """One more round; at the end of a phase the better half stays."""
        left = len(self._left)
        if left == 1:
            return
        self._record.add(arms, rewards)
        self._played += 1
        if self._played == left * self._given.repeats(left):
            order = self._record.means.gather(0, self._left).argsort(dim=0, descending=True, stable=True)
            self._left = self._left.gather(0, order[: (left + 1) // 2]).sort(0).values
            self._played = 0


class Leader:
    """Full information: the highest sum."""

    feedback = "all"

    def __init__(self, given: FullInformation) -> None:
        self._given = given
        self.draws = 0 if given.ties == "lowest" else 1

    def start(self, runs: int, scale: float) -> None:  # noqa: ARG002 - sums are ranked alike at any scale
        """No rounds."""
        self._sums = torch.zeros(self._given.arms, runs, dtype=torch.float64)

    def choose(self, completed: int, uniforms: Tensor) -> Tensor:  # noqa: ARG002 - sums say it all
        """The highest sum."""
        return best(self._sums, self._given.ties, uniforms)

    def update(self, arms: Tensor, rewards: Tensor) -> None:  # noqa: ARG002 - all arms are seen
        """Add every arm's reward, [K, R]."""
        self._sums += rewards
