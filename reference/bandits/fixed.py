"""One drafter throughout: ``static`` whichever one is told, ``oracle`` the best one of the instance."""

from dataclasses import dataclass
from typing import Literal

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import check_arms
from specproof.reference.chance import Chance


@dataclass(frozen=True)
class Static:
    """Always ``arm``."""

    arms: int
    arm: int = 0
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)
        if not 0 <= self.arm < self.arms:
            raise ValueError(f"arm must be in 0..{self.arms - 1}, got {self.arm}")

    def start(self) -> tuple[()]:
        """Nothing to remember."""
        return ()

    def choose(self, state: tuple[()], chance: Chance) -> int:  # noqa: ARG002 - neither history nor chance matters
        """The arm."""
        return self.arm

    def update(self, state: tuple[()], arm: int, reward: Number) -> tuple[()]:  # noqa: ARG002
        """Nothing is learned."""
        return state


def oracle(arms: int, best: int) -> Static:
    """The policy that knows the best arm. With changes of roles it is the best arm of the start."""
    return Static(arms, best)
