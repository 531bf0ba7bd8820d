"""MetaSD-UCB (MetaSD, the main algorithm): every drafter once, then the highest ``mean + beta sqrt(2 ln t / n)``.

``t`` counts completed rounds of the query, ``n`` those with the arm. Two arms tie exactly when pulls and sums agree: for
different pulls the indices differ because ln t is transcendental, and for equal pulls the float mean decides.
"""

import math
from dataclasses import dataclass
from typing import Literal

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import Record, Ties, best, check_arms, check_ties, empty, indices
from specproof.reference.chance import Chance


@dataclass(frozen=True)
class MetaSDUCB:
    """``beta`` scales the bonus: ``1/sqrt(N)`` is what the analysis gives block divergence (the default, for N = 5).

    Smaller values (0.1 to 0.2) are better below a thousand tokens, and lock in on a wrong drafter now and then.
    """

    arms: int
    beta: float = 5**-0.5
    ties: Ties = "lowest"
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)
        check_ties(self.ties)
        if not self.beta >= 0:
            raise ValueError(f"beta must be 0 or more, got {self.beta}")

    def start(self) -> Record:
        """No rounds."""
        return empty(self.arms)

    def choose(self, state: Record, chance: Chance) -> int:
        """An arm that was not played, else the highest index."""
        if 0 in state.pulls:
            return state.pulls.index(0)
        clock = 2 * math.log(state.completed)
        return best(indices(state.pulls, state.sums, clock, self.beta), self.ties, chance)

    def update(self, state: Record, arm: int, reward: Number) -> Record:
        """One more round with the arm."""
        return state.after(arm, reward)
