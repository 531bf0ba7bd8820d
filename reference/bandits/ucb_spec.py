"""UCBSpec (BanditSpec, arXiv 2505.15141, algorithm 2): every drafter once, then a self-normalised confidence bound.

The paper's reward is the emitted tokens in [1, L+1] with bonus ``L/2 * sqrt((1+n)/n^2 * (1 + 2 ln(K t^2 sqrt(1+n) / delta)))``;
with a reward in [0, 1] (block efficiency is the emitted tokens less one, over L) the same index is the mean plus half of
that root. Radical signs follow BANDITS 1.4: the stored text of the paper drops them.
"""

import math
from dataclasses import dataclass
from typing import Literal

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import Record, Ties, best, check_arms, check_ties, empty
from specproof.reference.chance import Chance


@dataclass(frozen=True)
class UCBSpec:
    """``delta`` is the paper's failure probability, 1/2 there."""

    arms: int
    delta: float = 0.5
    ties: Ties = "lowest"
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)
        check_ties(self.ties)
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must be between 0 and 1, got {self.delta}")

    def start(self) -> Record:
        """No rounds."""
        return empty(self.arms)

    def choose(self, state: Record, chance: Chance) -> int:
        """An arm that was not played, else the highest bound."""
        if 0 in state.pulls:
            return state.pulls.index(0)
        scale = 2 * math.log(self.arms * state.completed**2 / self.delta)
        scores = [
            state.mean(arm) + math.sqrt((1 + n) / n**2 * (1 + scale + math.log(1 + n))) / 2
            for arm, n in enumerate(state.pulls)
        ]
        return best(scores, self.ties, chance)

    def update(self, state: Record, arm: int, reward: Number) -> Record:
        """One more round with the arm."""
        return state.after(arm, reward)
