"""Sliding-window UCB (Garivier and Moulines 2011) for drafters that change: only the last ``window`` rounds count."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import Ties, best, check_arms, check_ties, indices
from specproof.reference.chance import Chance


class Window(NamedTuple):
    """The last rounds, oldest first: arms and their rewards, and their counts and sums (exact with fractions)."""

    arms: tuple[int, ...]
    rewards: tuple[Number, ...]
    pulls: tuple[int, ...]
    sums: tuple[Number, ...]


@dataclass(frozen=True)
class SlidingWindowUCB:
    """Index ``mean + beta sqrt(2 ln(rounds in the window) / n)`` with mean and n over the window."""

    arms: int
    window: int = 500
    beta: float = 0.1
    ties: Ties = "lowest"
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)
        check_ties(self.ties)
        if self.window < self.arms or not self.beta >= 0:
            raise ValueError(
                f"window must be at least the {self.arms} arms and beta 0 or more, got {self.window} and {self.beta}"
            )

    def start(self) -> Window:
        """No rounds."""
        return Window((), (), (0,) * self.arms, (0,) * self.arms)

    def choose(self, state: Window, chance: Chance) -> int:
        """An arm without a round in the window, else the highest index."""
        if 0 in state.pulls:
            return state.pulls.index(0)
        clock = 2 * math.log(len(state.arms))
        return best(indices(state.pulls, state.sums, clock, self.beta), self.ties, chance)

    def update(self, state: Window, arm: int, reward: Number) -> Window:
        """Add the round; drop the oldest of a full window."""
        arms, rewards = (*state.arms, arm), (*state.rewards, reward)
        pulls, sums = list(state.pulls), list(state.sums)
        pulls[arm], sums[arm] = pulls[arm] + 1, sums[arm] + reward
        if len(arms) > self.window:
            pulls[arms[0]], sums[arms[0]] = pulls[arms[0]] - 1, sums[arms[0]] - rewards[0]
            arms, rewards = arms[1:], rewards[1:]
        return Window(arms, rewards, tuple(pulls), tuple(sums))
