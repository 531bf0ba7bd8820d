"""KL-UCB (Garivier and Cappe 2011): the highest mean that a Bernoulli divergence of ``ln t / n`` cannot rule out."""

import math
from dataclasses import dataclass
from typing import Literal

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import Record, Ties, best, check_arms, check_ties, empty
from specproof.reference.chance import Chance

EDGE = 1e-12  # means of 0 and 1 are moved by this, so that logarithms exist
STEPS = 5  # of Newton's method, which comes down on the bound from above: right to 1e-9


@dataclass(frozen=True)
class KLUCB:
    """No parameter; for rewards in [0, 1]."""

    arms: int
    ties: Ties = "lowest"
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)
        check_ties(self.ties)

    def start(self) -> Record:
        """No rounds."""
        return empty(self.arms)

    def choose(self, state: Record, chance: Chance) -> int:
        """An arm that was not played, else the highest bound."""
        if 0 in state.pulls:
            return state.pulls.index(0)
        clock = math.log(state.completed)
        return best([bound(state.mean(arm), clock / n) for arm, n in enumerate(state.pulls)], self.ties, chance)

    def update(self, state: Record, arm: int, reward: Number) -> Record:
        """One more round with the arm."""
        return state.after(arm, reward)


def bound(mean: float, radius: float) -> float:
    """The largest q with ``kl(mean, q) <= radius`` between Bernoulli laws, by Newton's method.

    It starts at the lower of two upper bounds: Pinsker's, and the one that leaves ``mean ln(1/q)`` out, near q = 1.
    """
    mean = min(max(mean, EDGE), 1 - EDGE)
    rest = 1 - mean
    beyond = 1 - rest * math.exp((mean * math.log(mean) - radius) / rest)
    q = min(mean + math.sqrt(radius / 2), beyond, 1 - EDGE)
    for _ in range(STEPS):
        if q > mean:
            excess = mean * math.log(mean / q) + (1 - mean) * math.log((1 - mean) / (1 - q)) - radius
            q -= max(0.0, excess) * q * (1 - q) / (q - mean)
    return q
