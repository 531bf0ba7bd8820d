"""Policies: which drafter to use next.

A policy is immutable. What it knows about a run is a state that it is handed and returns: plain tuples of numbers, so a
state can be compared, hashed (which is what makes exact regret cheap), stored and restored. Its random questions go to
``Chance``. ``Bandit`` is the object that an engine holds: a policy, a state and a source of chance.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Protocol

from specproof.reference.bandits.block import Number
from specproof.reference.chance import Chance
from specproof.reference.law import law
from specproof.reference.names import nearest

Ties = Literal["lowest", "uniform"]


class Policy(Protocol):
    """A rule for choosing one of ``arms`` drafters.

    ``feedback`` says what ``update`` is handed: the reward of the chosen arm, or a tuple with the rewards of all.
    """

    @property
    def arms(self) -> int:
        """Number of drafters, K."""
        ...

    @property
    def feedback(self) -> Literal["chosen", "all"]:
        """Whose reward is observed."""
        ...

    def start(self) -> Any:
        """Return the state before the first round of a query."""
        ...

    def choose(self, state: Any, chance: Chance) -> int:
        """Return the arm of the next round, 0..K-1."""
        ...

    def update(self, state: Any, arm: int, reward: Any) -> Any:
        """Return the state after a round with ``arm`` that earned ``reward``."""
        ...


class Record(NamedTuple):
    """Rounds and summed rewards of every arm. Sums are exact when the rewards are fractions."""

    pulls: tuple[int, ...]
    sums: tuple[Number, ...]

    @property
    def completed(self) -> int:
        """Rounds so far: the t of ``ln t``."""
        return sum(self.pulls)

    def mean(self, arm: int) -> float:
        """Mean reward: one float for one (pulls, sum), however the sum came about, when rewards are fractions."""
        return float(self.sums[arm] / self.pulls[arm])

    def after(self, arm: int, reward: Number) -> "Record":
        """The record with one more round."""
        return Record(replaced(self.pulls, arm, self.pulls[arm] + 1), replaced(self.sums, arm, self.sums[arm] + reward))


def empty(arms: int) -> Record:
    """A record of no rounds."""
    return Record((0,) * arms, (Fraction(0),) * arms)


def replaced(values: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    """The tuple with one entry replaced."""
    return (*values[:index], value, *values[index + 1 :])


def indices(weights: Sequence[Number], sums: Sequence[Number], clock: float, beta: float) -> list[float]:
    """``mean + beta sqrt(clock / weight)`` of every arm: what the UCB family ranks by, each with its own clock and weights."""
    return [
        float(total / weight) + beta * math.sqrt(clock / weight) for weight, total in zip(weights, sums, strict=True)
    ]


def best(scores: Sequence[Number], ties: Ties, chance: Chance) -> int:
    """Index of the highest score; the lowest of several, or any of them with equal probability."""
    highest = max(scores)
    tied = [index for index, score in enumerate(scores) if score == highest]
    if ties == "lowest" or len(tied) == 1:
        return tied[0]
    return tied[chance.choose([Fraction(1)] * len(tied))]


def check_arms(arms: int) -> None:
    """Raise ``ValueError`` unless there is an arm to choose."""
    if isinstance(arms, bool) or not isinstance(arms, int) or arms < 1:
        raise ValueError(f"a policy needs a whole number of arms from 1 up, got {arms!r}")


def check_ties(ties: str) -> None:
    """Raise ``ValueError`` for an unknown rule."""
    if ties not in ("lowest", "uniform"):
        raise ValueError(nearest("tie rule", ties, ["lowest", "uniform"]))


class Bandit:
    """A policy in use: ``choose()`` and ``update(arm, reward)`` round by round, ``reset()`` between queries.

    ``state()`` is plain JSON data and ``restore(data)`` takes it back; the source of chance is the caller's to keep.
    """

    def __init__(self, policy: Policy, chance: Chance) -> None:
        self.policy = policy
        self._chance = chance
        self._state = policy.start()

    @property
    def arms(self) -> int:
        """Number of drafters, K."""
        return self.policy.arms

    @property
    def feedback(self) -> Literal["chosen", "all"]:
        """Whose reward ``update`` is handed."""
        return self.policy.feedback

    def choose(self) -> int:
        """Return the arm of the next round."""
        return self.policy.choose(self._state, self._chance)

    def probabilities(self) -> list[Fraction]:
        """The law of the next choice. Raises ``ValueError`` for a policy that draws from continuous laws."""
        choices = law(lambda chance: self.policy.choose(self._state, chance))
        return [choices.get(arm, Fraction(0)) for arm in range(self.policy.arms)]

    def update(self, arm: int, reward: Any) -> None:
        """Learn the reward of a round. Raises ``ValueError`` for an arm that there is not, or a reward that is no number."""
        if not 0 <= arm < self.policy.arms:
            raise ValueError(f"arm must be in 0..{self.policy.arms - 1}, got {arm}")
        if not all(map(math.isfinite, reward if isinstance(reward, tuple) else (reward,))):
            raise ValueError(f"a reward is a finite number, got {reward!r} for arm {arm}")
        self._state = self.policy.update(self._state, arm, reward)

    def reset(self) -> None:
        """Forget everything: a new query."""
        self._state = self.policy.start()

    def state(self) -> Any:
        """Everything learned, as JSON data: tuples are lists, fractions are text such as ``"1/3"``."""
        return encoded(self._state)

    def restore(self, data: Any) -> None:
        """Take back what ``state()`` gave."""
        self._state = decoded(data, self.policy.start())


def encoded(value: Any) -> Any:
    """Nested tuples of numbers as JSON data."""
    if isinstance(value, tuple):
        return [encoded(entry) for entry in value]
    return str(value) if isinstance(value, Fraction) else value


def decoded(data: Any, like: Any = None) -> Any:
    """JSON data as nested tuples of numbers, with the named fields of ``like``, a state of the same policy."""
    if isinstance(data, list):
        shaped = isinstance(like, tuple) and len(like) == len(data)
        entries = [decoded(entry, model) for entry, model in zip(data, like if shaped else data, strict=True)]
        return type(like)(*entries) if hasattr(like, "_fields") else tuple(entries)
    return Fraction(data) if isinstance(data, str) else data
