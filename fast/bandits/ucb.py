"""Policies that play every arm once and then the highest index: means with a bonus for what was played little."""

import math

import torch
from torch import Tensor

from specproof.fast.bandits.policy import Record, best
from specproof.reference.bandits.discounted_ucb import DiscountedUCB
from specproof.reference.bandits.kl_ucb import EDGE, KLUCB, STEPS
from specproof.reference.bandits.sliding_window_ucb import SlidingWindowUCB
from specproof.reference.bandits.ucb import MetaSDUCB
from specproof.reference.bandits.ucb_spec import UCBSpec
from specproof.reference.bandits.ucb_v import UCBV


class Indexed:
    """Every arm once, then the highest ``index``."""

    feedback = "chosen"

    def __init__(self, arms: int, ties: str) -> None:
        self._arms, self._ties = arms, ties
        self.draws = 0 if ties == "lowest" else 1

    def start(self, runs: int, scale: float) -> None:
        """No rounds."""
        self._record = Record(self._arms, runs, scale)

    def choose(self, completed: int, uniforms: Tensor) -> Tensor:
        """The next arm of the first K rounds, then the highest index."""
        if completed < self._arms:
            return torch.full((self._record.runs,), completed)
        return best(self.index(completed), self._ties, uniforms)

    def index(self, completed: int) -> Tensor:
        """What arms are ranked by, [K, R]."""
        raise NotImplementedError

    def update(self, arms: Tensor, rewards: Tensor) -> None:
        """One more round with each arm."""
        self._record.add(arms, rewards)


class UCB(Indexed):
    """MetaSD-UCB."""

    def __init__(self, given: MetaSDUCB) -> None:
        super().__init__(given.arms, given.ties)
        self._beta = given.beta

    def index(self, completed: int) -> Tensor:
        """``mean + beta sqrt(2 ln t / n)``."""
        return torch.add(self._record.means, self._record.width, alpha=self._beta * math.sqrt(2 * math.log(completed)))


class Spec(Indexed):
    """UCBSpec of BanditSpec."""

    def __init__(self, given: UCBSpec) -> None:
        super().__init__(given.arms, given.ties)
        self._delta = given.delta

    def index(self, completed: int) -> Tensor:
        """Mean and half of the self-normalised radius."""
        pulls = self._record.pulls
        scale = 1 + 2 * math.log(self._arms * completed**2 / self._delta)
        return self._record.means + ((1 + pulls) / pulls**2 * (scale + torch.log(1 + pulls))).sqrt() / 2


class Discounted(Indexed):
    """Old rounds count less and less."""

    def __init__(self, given: DiscountedUCB) -> None:
        super().__init__(given.arms, given.ties)
        self._beta, self._discount = given.beta, float(given.discount)

    def start(self, runs: int, scale: float) -> None:
        """No rounds."""
        super().start(runs, scale)
        self._weights, self._sums = (torch.zeros(self._arms, runs, dtype=torch.float64) for _ in range(2))

    def index(self, completed: int) -> Tensor:  # noqa: ARG002 - the clock is the sum of the weights
        """``mean + beta sqrt(2 ln(sum of weights) / weight)``."""
        clock = 2 * self._weights.sum(0).log().clamp(min=0)
        return self._sums / (self._weights * self._record.scale) + self._beta * (clock / self._weights).sqrt()

    def update(self, arms: Tensor, rewards: Tensor) -> None:
        """Fade all, then add the round."""
        self._weights.mul_(self._discount).scatter_add_(0, arms[None], torch.ones_like(rewards)[None])
        self._sums.mul_(self._discount).scatter_add_(0, arms[None], rewards[None])


class SlidingWindow(Indexed):
    """Only the last rounds count."""

    def __init__(self, given: SlidingWindowUCB) -> None:
        super().__init__(given.arms, given.ties)
        self._beta, self._window = given.beta, given.window

    def start(self, runs: int, scale: float) -> None:
        """No rounds; a ring of the rounds in the window."""
        super().start(runs, scale)
        self._pulls, self._sums = (torch.zeros(self._arms, runs, dtype=torch.float64) for _ in range(2))
        self._ring_arms = torch.zeros(self._window, runs, dtype=torch.int64)
        self._ring_rewards = torch.zeros(self._window, runs, dtype=torch.float64)
        self._completed = 0

    def index(self, completed: int) -> Tensor:
        """``mean + beta sqrt(2 ln(rounds in the window) / n)``; arms without a round in the window come first."""
        clock = 2 * math.log(min(completed, self._window))
        scores = self._sums / (self._pulls * self._record.scale) + self._beta * (clock / self._pulls).sqrt()
        return torch.where(self._pulls > 0, scores, torch.inf)

    def update(self, arms: Tensor, rewards: Tensor) -> None:
        """Add the round; drop the oldest of a full window."""
        place = self._completed % self._window
        self._change(arms, rewards, 1)
        if self._completed >= self._window:
            self._change(self._ring_arms[place], self._ring_rewards[place], -1)
        self._ring_arms[place], self._ring_rewards[place] = arms, rewards
        self._completed += 1

    def _change(self, arms: Tensor, rewards: Tensor, sign: int) -> None:
        self._pulls.scatter_add_(0, arms[None], torch.full_like(rewards, sign)[None])
        self._sums.scatter_add_(0, arms[None], sign * rewards[None])


class Variance(Indexed):
    """UCB-V."""

    def __init__(self, given: UCBV) -> None:
        super().__init__(given.arms, given.ties)
        self._linear = given.linear

    def start(self, runs: int, scale: float) -> None:
        """No rounds; sums of squared rewards too."""
        super().start(runs, scale)
        self._squares = torch.zeros(self._arms, runs, dtype=torch.float64)

    def index(self, completed: int) -> Tensor:
        """``mean + sqrt(2 variance ln t / n) + linear ln t / n``."""
        pulls, means = self._record.pulls, self._record.means
        variance = (self._squares / (pulls * self._record.scale**2) - means**2).clamp(min=0)
        clock = math.log(completed)
        return means + (2 * clock * variance / pulls).sqrt() + self._linear * clock / pulls

    def update(self, arms: Tensor, rewards: Tensor) -> None:
        """One more round with each arm."""
        super().update(arms, rewards)
        self._squares.scatter_add_(0, arms[None], (rewards * rewards)[None])


class Divergence(Indexed):
    """KL-UCB."""

    def __init__(self, given: KLUCB) -> None:
        super().__init__(given.arms, given.ties)

    def index(self, completed: int) -> Tensor:
        """Newton's method as in ``reference.bandits.kl_ucb.bound``."""
        mean = self._record.means.clamp(EDGE, 1 - EDGE)
        rest, radius = 1 - mean, math.log(completed) / self._record.pulls
        within = mean * mean.log() - radius
        q = torch.minimum(mean + (radius / 2).sqrt(), 1 - rest * (within / rest).exp()).clamp(max=1 - EDGE)
        within += rest * rest.log()
        for _ in range(STEPS):
            excess = (within - mean * q.log() - rest * (1 - q).log()).clamp(min=0)
            q = torch.where(q > mean, q - excess * q * (1 - q) / (q - mean), q)
        return q
