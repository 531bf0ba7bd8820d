"""One run of a bandit on an instance, with a log that the bandit cannot touch.

The round that reaches the wanted number of tokens is the last one and counts in full: tau is its number, and what it emits
beyond is the overshoot.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from specproof.reference.bandits.block import Block, Number
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.policy import Policy
from specproof.reference.bandits.uniforms import Given
from specproof.reference.chance import Chance

Told = Callable[[int, Block], Number]


class Chooser(Protocol):
    """Any bandit object: ours, an engine's."""

    def choose(self) -> int:
        """Return the arm of the next round."""
        ...

    def update(self, arm: int, reward: Any) -> None:
        """Learn the reward of a round."""
        ...


@dataclass(frozen=True)
class Log:
    """Every choice of a run until ``tokens`` tokens were emitted: arms, the drafters behind them, tokens so far."""

    instance: Instance
    arms: tuple[int, ...]
    drafters: tuple[int, ...]
    emitted: tuple[int, ...]

    @property
    def counts(self) -> list[int]:
        """Rounds with each arm."""
        return [self.arms.count(arm) for arm in range(self.instance.arms)]

    @property
    def switches(self) -> int:
        """Rounds with another arm than the round before."""
        return sum(first != second for first, second in zip(self.arms, self.arms[1:], strict=False))

    @property
    def lost(self) -> Number:
        """Pseudo-regret in units of cost: ``sum_i losses_i n_i`` and the cost of the switches, by this log."""
        losses = self.instance.losses()
        return sum(losses[drafter] for drafter in self.drafters) + self.switches * self.instance.switch_cost


class Stream:
    """Floating-point uniforms without end. A copy goes on with the same numbers."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> float:
        return self._random.random()


def from_seed(seed: int) -> Given:
    """Chance from floating-point uniforms: faster than ``Dice``, and right to the last bit or so."""
    return Given(Stream(seed))


def play(policy: Policy, instance: Instance, tokens: int, chance: Chance, told: Told) -> Log:
    """Play until ``tokens`` tokens are emitted. ``told(drafter, block)`` is the reward.

    A policy that sees all arms is told the rewards of blocks drawn with each, of which only the chosen one is emitted.
    """
    arms: list[int] = []
    drafters: list[int] = []
    emitted: list[int] = []
    state, total = policy.start(), 0
    while total < tokens:
        arm = policy.choose(state, chance)
        every = range(instance.arms) if policy.feedback == "all" else (arm,)
        plays = {seen: instance.drafter(seen, total) for seen in every}
        blocks = {seen: instance.drafters.draw(chance, drafter) for seen, drafter in plays.items()}
        rewards = {seen: told(plays[seen], block) for seen, block in blocks.items()}
        state = policy.update(state, arm, tuple(rewards.values()) if policy.feedback == "all" else rewards[arm])
        total += blocks[arm].emitted
        arms.append(arm)
        drafters.append(plays[arm])
        emitted.append(total)
    return Log(instance, tuple(arms), tuple(drafters), tuple(emitted))
