"""EXP3Spec (BanditSpec, arXiv 2505.15141, algorithm 3): exponential weights on losses, no parameter.

Shares ``exp(-eta_t * sum of loss/probability)`` with ``eta_t = sqrt(ln K / (t K))`` and loss ``(L + 1 - emitted) / L``, which
is one minus block efficiency.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.exp3 import Estimates, exponential
from specproof.reference.bandits.policy import check_arms, replaced
from specproof.reference.chance import Chance


@dataclass(frozen=True)
class Exp3Spec:
    """``t`` is the round that is about to be played, from 1."""

    arms: int
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)

    def start(self) -> Estimates:
        """No rounds."""
        return Estimates(0, (0.0,) * self.arms)

    def probabilities(self, state: Estimates) -> list[float]:
        """The law of the next choice."""
        rate = math.sqrt(math.log(self.arms) / ((state.completed + 1) * self.arms))
        return exponential(state.sums, -rate)

    def choose(self, state: Estimates, chance: Chance) -> int:
        """Draw from the law."""
        return chance.choose([Fraction(share) for share in self.probabilities(state)])

    def update(self, state: Estimates, arm: int, reward: Number) -> Estimates:
        """Add the loss over the probability with which its arm was chosen."""
        estimate = (1 - float(reward)) / self.probabilities(state)[arm]
        return Estimates(state.completed + 1, replaced(state.sums, arm, state.sums[arm] + estimate))
