"""Discounted UCB (Garivier and Moulines 2011) for drafters that change: old rounds count ``discount`` less each round."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import Ties, best, check_arms, check_ties, indices
from specproof.reference.chance import Chance


class Faded(NamedTuple):
    """Discounted rounds and discounted sums of rewards of every arm."""

    weights: tuple[Number, ...]
    sums: tuple[Number, ...]


@dataclass(frozen=True)
class DiscountedUCB:
    """Index ``mean + beta sqrt(2 ln(sum of weights) / weight)``. Discount 1 is plain UCB; as a fraction all is exact."""

    arms: int
    discount: Number = 0.998
    beta: float = 0.1
    ties: Ties = "lowest"
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)
        check_ties(self.ties)
        if not 0 < self.discount <= 1 or not self.beta >= 0:
            raise ValueError(f"discount must be in (0, 1] and beta 0 or more, got {self.discount} and {self.beta}")

    def start(self) -> Faded:
        """No rounds."""
        return Faded((0,) * self.arms, (0,) * self.arms)

    def choose(self, state: Faded, chance: Chance) -> int:
        """An arm that was never played, else the highest index."""
        if 0 in state.weights:
            return state.weights.index(0)
        clock = 2 * max(0.0, math.log(sum(state.weights)))
        return best(indices(state.weights, state.sums, clock, self.beta), self.ties, chance)

    def update(self, state: Faded, arm: int, reward: Number) -> Faded:
        """Fade all, then add the round."""
        pairs = enumerate(zip(state.weights, state.sums, strict=True))
        faded = [
            (weight * self.discount + (index == arm), total * self.discount + (reward if index == arm else 0))
            for index, (weight, total) in pairs
        ]
        return Faded(tuple(weight for weight, _ in faded), tuple(total for _, total in faded))
