"""Every drafter in turn."""

from dataclasses import dataclass
from typing import Literal

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import check_arms
from specproof.reference.chance import Chance


@dataclass(frozen=True)
class RoundRobin:
    """Arm ``t mod K`` after t rounds."""

    arms: int
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)

    def start(self) -> tuple[int]:
        """The first arm is next."""
        return (0,)

    def choose(self, state: tuple[int], chance: Chance) -> int:  # noqa: ARG002 - no coin here
        """The arm whose turn it is."""
        return state[0]

    def update(self, state: tuple[int], arm: int, reward: Number) -> tuple[int]:  # noqa: ARG002
        """The next one."""
        return ((state[0] + 1) % self.arms,)
