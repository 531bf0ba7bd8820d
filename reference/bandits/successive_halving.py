"""Successive halving (Karnin et al. 2013; the variant of MetaSD for costly switches): drop the worse half, then commit.

A budget of B rounds is split over ``ceil(log2 K)`` phases. In each, every arm that is left is played
``floor(B / (left * phases))`` times, at least once, and the better half (rounded up) goes on. Means are over all rounds.
"""

from dataclasses import dataclass
from typing import Literal

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import Record, check_arms, empty
from specproof.reference.chance import Chance


@dataclass(frozen=True)
class SuccessiveHalving:
    """``interleaved`` plays the arms of a phase in turn (a switch a round); otherwise one after the other (few switches)."""

    arms: int
    budget: int = 50
    interleaved: bool = True
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)
        if self.budget < 1:
            raise ValueError(f"budget must be at least 1 round, got {self.budget}")

    def start(self) -> tuple[Record, tuple[int, ...], int]:
        """No rounds; all arms left; no round of the phase played."""
        return empty(self.arms), tuple(range(self.arms)), 0

    def repeats(self, left: int) -> int:
        """Rounds with each of the arms left in a phase."""
        phases = (self.arms - 1).bit_length()
        return max(1, self.budget // (left * phases))

    def choose(self, state: tuple[Record, tuple[int, ...], int], chance: Chance) -> int:  # noqa: ARG002 - no coin here
        """The next arm of the phase, or the one that is left."""
        _, left, played = state
        if len(left) == 1:
            return left[0]
        return left[played % len(left) if self.interleaved else played // self.repeats(len(left))]

    def update(
        self, state: tuple[Record, tuple[int, ...], int], arm: int, reward: Number
    ) -> tuple[Record, tuple[int, ...], int]:
        """One more round; at the end of a phase the better half stays (of equals the lower arm)."""
        record, left, played = state
        record = record.after(arm, reward)
        if len(left) == 1 or played + 1 < len(left) * self.repeats(len(left)):
            return record, left, played + 1
        ranked = sorted(left, key=lambda index: -record.mean(index))
        return record, tuple(sorted(ranked[: (len(left) + 1) // 2])), 0
