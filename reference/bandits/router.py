"""A classifier before the first token: the best drafter, or with probability ``error`` a wrong one, for a whole query."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import check_arms
from specproof.reference.chance import Chance


@dataclass(frozen=True)
class Router:
    """``best`` is the right answer; a wrong one is any of the others with equal probability."""

    arms: int
    best: int
    error: float | Fraction = Fraction(1, 10)
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)
        if not 0 <= self.best < self.arms or not 0 <= self.error <= 1 or (self.arms == 1 and self.error > 0):
            raise ValueError(
                f"a router needs an arm in 0..{self.arms - 1} and an error in [0, 1] (0 for one arm), "
                f"got {self.best} and {self.error}"
            )

    def start(self) -> tuple[int, ...]:
        """No answer yet."""
        return ()

    def choose(self, state: tuple[int, ...], chance: Chance) -> int:
        """The answer given in the first round."""
        if state:
            return state[0]
        if self.error == 0 or not chance.flip(Fraction(self.error)):
            return self.best
        return chance.choose([Fraction(arm != self.best) for arm in range(self.arms)])

    def update(self, state: tuple[int, ...], arm: int, reward: Number) -> tuple[int, ...]:  # noqa: ARG002
        """Keep the answer."""
        return state or (arm,)
