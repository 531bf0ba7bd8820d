"""EXP3 (Auer et al. 2002): exponential weights on importance-weighted rewards, mixed with uniform exploration."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import check_arms, replaced
from specproof.reference.chance import Chance


class Estimates(NamedTuple):
    """Completed rounds and the sums of importance-weighted rewards (or losses) of every arm."""

    completed: int
    sums: tuple[float, ...]


@dataclass(frozen=True)
class Exp3:
    """``exploration`` is gamma: the share of uniform choices, and K times the learning rate."""

    arms: int
    exploration: float = 0.1
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)
        if not 0 < self.exploration <= 1:
            raise ValueError(f"exploration must be in (0, 1], got {self.exploration}")

    def start(self) -> Estimates:
        """No rounds."""
        return Estimates(0, (0.0,) * self.arms)

    def probabilities(self, state: Estimates) -> list[float]:
        """The law of the next choice."""
        weights = exponential(state.sums, self.exploration / self.arms)
        return [(1 - self.exploration) * weight + self.exploration / self.arms for weight in weights]

    def choose(self, state: Estimates, chance: Chance) -> int:
        """Draw from the law."""
        return chance.choose([Fraction(share) for share in self.probabilities(state)])

    def update(self, state: Estimates, arm: int, reward: Number) -> Estimates:
        """Add the reward over the probability with which its arm was chosen."""
        estimate = float(reward) / self.probabilities(state)[arm]
        return Estimates(state.completed + 1, replaced(state.sums, arm, state.sums[arm] + estimate))


def exponential(scores: tuple[float, ...], rate: float) -> list[float]:
    """Shares proportional to ``exp(rate * score)``, without overflow."""
    highest = max(rate * score for score in scores)
    weights = [math.exp(rate * score - highest) for score in scores]
    return [weight / sum(weights) for weight in weights]
