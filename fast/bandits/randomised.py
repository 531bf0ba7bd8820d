"""Policies that draw: exponential weights, coins between exploring and the best mean, Thompson sampling."""

import math

import torch
from scipy.special import betaincinv
from torch import Tensor

from specproof.fast.bandits.policy import Record, best
from specproof.reference.bandits.epsilon_greedy import EpsilonGreedy
from specproof.reference.bandits.exp3 import Exp3
from specproof.reference.bandits.exp3_spec import Exp3Spec
from specproof.reference.bandits.thompson import Thompson
from specproof.reference.bandits.uniform import Uniform


class Exponential:
    """Shares proportional to ``exp(rate * sum of estimates)``, mixed with a share of uniform choices."""

    feedback = "chosen"
    draws = 1

    def __init__(self, given: Exp3 | Exp3Spec) -> None:
        self._arms = given.arms
        self._mixed = given.exploration if isinstance(given, Exp3) else 0.0
        self._by_loss = isinstance(given, Exp3Spec)

    def start(self, runs: int, scale: float) -> None:
        """No rounds."""
        self._sums = torch.zeros(self._arms, runs, dtype=torch.float64)
        self._scale = scale

    def choose(self, completed: int, uniforms: Tensor) -> Tensor:
        """Draw from the shares."""
        rate = -math.sqrt(math.log(self._arms) / ((completed + 1) * self._arms)) if self._by_loss else (
            self._mixed / self._arms
        )  # fmt: skip
        shares = (rate * self._sums).softmax(0)
        self._shares = (1 - self._mixed) * shares + self._mixed / self._arms
        ends = self._shares.cumsum(0)
        return (uniforms[0] * ends[-1] >= ends[:-1]).sum(0)

    def update(self, arms: Tensor, rewards: Tensor) -> None:
        """Add the reward (or the loss) over the probability with which its arm was chosen."""
        earned = rewards / self._scale
        estimate = (1 - earned if self._by_loss else earned) / self._shares.gather(0, arms[None])[0]
        self._sums.scatter_add_(0, arms[None], estimate[None])


class Epsilon:
    """A coin between any arm and the best mean."""

    feedback = "chosen"
    draws = 2

    def __init__(self, given: EpsilonGreedy) -> None:
        self._given = given

    def start(self, runs: int, scale: float) -> None:
        """No rounds."""
        self._record = Record(self._given.arms, runs, scale)

    def choose(self, completed: int, uniforms: Tensor) -> Tensor:
        """The next arm of the first K rounds, then by the coin."""
        if completed < self._given.arms:
            return torch.full((self._record.runs,), completed)
        explores = uniforms[0] < float(self._given.exploration(completed))
        return torch.where(
            explores, (uniforms[1] * self._given.arms).long(), best(self._record.means, self._given.ties, uniforms[1:])
        )

    def update(self, arms: Tensor, rewards: Tensor) -> None:
        """One more round with each arm."""
        self._record.add(arms, rewards)


class Believing:
    """Thompson sampling, one uniform an arm."""

    feedback = "chosen"

    def __init__(self, given: Thompson) -> None:
        self._given = given
        self.draws = given.arms

    def start(self, runs: int, scale: float) -> None:
        """No rounds."""
        self._record = Record(self._given.arms, runs, scale)

    def choose(self, completed: int, uniforms: Tensor) -> Tensor:
        """The highest draw; a Gaussian belief starts with every arm once."""
        record = self._record
        if self._given.belief == "gauss":
            if completed < self._given.arms:
                return torch.full((record.runs,), completed)
            return best(
                record.means + self._given.sd * record.width * torch.special.ndtri(uniforms), "lowest", uniforms
            )
        earned = record.sums / record.scale
        failed = (record.pulls - earned).clamp(min=0)
        drawn = torch.from_numpy(betaincinv(1 + earned.numpy(), 1 + failed.numpy(), uniforms.numpy()))
        return best(drawn, "lowest", uniforms)

    def update(self, arms: Tensor, rewards: Tensor) -> None:
        """One more round with each arm."""
        self._record.add(arms, rewards)


class Anything:
    """Any arm, each round anew."""

    feedback = "chosen"
    draws = 1

    def __init__(self, given: Uniform) -> None:
        self._arms = given.arms

    def start(self, runs: int, scale: float) -> None:
        """Nothing to remember."""

    def choose(self, completed: int, uniforms: Tensor) -> Tensor:  # noqa: ARG002 - history does not matter
        """Any arm."""
        return (uniforms[0] * self._arms).long()

    def update(self, arms: Tensor, rewards: Tensor) -> None:
        """Nothing is learned."""
