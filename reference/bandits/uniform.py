"""Any drafter with equal probability, each round anew."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import check_arms
from specproof.reference.chance import Chance


@dataclass(frozen=True)
class Uniform:
    """What every policy should beat."""

    arms: int
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)

    def start(self) -> tuple[()]:
        """Nothing to remember."""
        return ()

    def choose(self, state: tuple[()], chance: Chance) -> int:  # noqa: ARG002 - history does not matter
        """Any arm."""
        return chance.choose([Fraction(1)] * self.arms)

    def update(self, state: tuple[()], arm: int, reward: Number) -> tuple[()]:  # noqa: ARG002
        """Nothing is learned."""
        return state
