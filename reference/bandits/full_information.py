"""Follow the leader when every drafter's reward is seen each round (HedgeSpec, arXiv 2510.20064, verifies with all)."""

from dataclasses import dataclass
from typing import Literal

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import Record, Ties, best, check_arms, check_ties, empty
from specproof.reference.chance import Chance


@dataclass(frozen=True)
class FullInformation:
    """``update`` takes the rewards of all arms, a tuple."""

    arms: int
    ties: Ties = "lowest"
    feedback: Literal["all"] = "all"

    def __post_init__(self) -> None:
        check_arms(self.arms)
        check_ties(self.ties)

    def start(self) -> Record:
        """No rounds."""
        return empty(self.arms)

    def choose(self, state: Record, chance: Chance) -> int:
        """The highest sum."""
        return best(state.sums, self.ties, chance)

    def update(self, state: Record, arm: int, reward: tuple[Number, ...]) -> Record:
        """Add every arm's reward; ``pulls`` count the rounds really played."""
        sums = tuple(total + own for total, own in zip(state.sums, reward, strict=True))
        return state.after(arm, 0)._replace(sums=sums)
