"""Epsilon-greedy: every drafter once, then the best mean, or with probability epsilon any drafter at random."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import Record, Ties, best, check_arms, check_ties, empty
from specproof.reference.chance import Chance


@dataclass(frozen=True)
class EpsilonGreedy:
    """In round t (from 1) the probability is ``min(1, epsilon / t^decay)``: decay 0 gives linear regret, 1 logarithmic.

    Epsilon 0 is the greedy policy.
    """

    arms: int
    epsilon: float | Fraction = Fraction(1, 10)
    decay: float = 0
    ties: Ties = "lowest"
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)
        check_ties(self.ties)
        if not self.epsilon >= 0 or not self.decay >= 0:
            raise ValueError(f"epsilon and decay must be 0 or more, got {self.epsilon} and {self.decay}")

    def start(self) -> Record:
        """No rounds."""
        return empty(self.arms)

    def exploration(self, completed: int) -> Fraction:
        """Probability of a random choice after so many rounds."""
        faded = self.epsilon if self.decay == 0 else self.epsilon / (completed + 1) ** self.decay
        return min(Fraction(1), Fraction(faded))

    def choose(self, state: Record, chance: Chance) -> int:
        """An arm that was not played, else a coin between any arm and the best mean."""
        if 0 in state.pulls:
            return state.pulls.index(0)
        if chance.flip(self.exploration(state.completed)):
            return chance.choose([Fraction(1)] * self.arms)
        return best([state.mean(arm) for arm in range(self.arms)], self.ties, chance)

    def update(self, state: Record, arm: int, reward: Number) -> Record:
        """One more round with the arm."""
        return state.after(arm, reward)
