"""UCB-V (Audibert, Munos and Szepesvari 2009): a bonus that follows the variance which was seen."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import Record, Ties, best, check_arms, check_ties, empty
from specproof.reference.chance import Chance


class Spread(NamedTuple):
    """Rounds and sums of every arm, and sums of squared rewards."""

    record: Record
    squares: tuple[Number, ...]


@dataclass(frozen=True)
class UCBV:
    """Index ``mean + sqrt(2 variance ln t / n) + linear ln t / n`` for rewards in [0, 1]; ``linear`` 3 is the paper's."""

    arms: int
    linear: float = 3.0
    ties: Ties = "lowest"
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)
        check_ties(self.ties)
        if not self.linear >= 0:
            raise ValueError(f"linear must be 0 or more, got {self.linear}")

    def start(self) -> Spread:
        """No rounds."""
        record = empty(self.arms)
        return Spread(record, record.sums)

    def choose(self, state: Spread, chance: Chance) -> int:
        """An arm that was not played, else the highest index."""
        pulls = state.record.pulls
        if 0 in pulls:
            return pulls.index(0)
        clock = math.log(state.record.completed)
        means = [state.record.mean(arm) for arm in range(self.arms)]
        variances = [
            max(0.0, float(total / n) - mean**2) for total, n, mean in zip(state.squares, pulls, means, strict=True)
        ]
        scores = [
            mean + math.sqrt(2 * variance * clock / n) + self.linear * clock / n
            for mean, variance, n in zip(means, variances, pulls, strict=True)
        ]
        return best(scores, self.ties, chance)

    def update(self, state: Spread, arm: int, reward: Number) -> Spread:
        """One more round with the arm."""
        squares = (*state.squares[:arm], state.squares[arm] + reward * reward, *state.squares[arm + 1 :])
        return Spread(state.record.after(arm, reward), squares)
