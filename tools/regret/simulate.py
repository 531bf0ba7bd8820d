"""Runs of one policy on one instance, and what they show at every checkpoint of tokens."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specproof.fast.bandits import batched
from specproof.fast.bandits.play import Log, from_seed, play
from specproof.reference.bandits import policy, policy_names, policy_options
from specproof.reference.bandits.alone import alone
from specproof.reference.bandits.fluid import fluid
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.means import reward_means
from specproof.reference.bandits.policy import Policy
from specproof.reference.bandits.rates import bound
from specproof.reference.bandits.rewards import PER_COST, REWARDS, SHORT
from specproof.reference.names import nearest
from specproof.subjects import UnknownSubject, parse_options
from specproof.usage import refuse

Listener = Callable[[float], None]
UCB = "meta_sd_ucb"
FIRST = 250  # the first checkpoint is about here; each is twice the one before
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Contender:
    """A policy, its options, and the reward that it is told."""

    policy: str
    reward: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As it is typed, the reward apart."""
        values = (
            f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}"
            for key, value in self.options.items()
        )
        return ":".join(filter(None, (self.policy, ",".join(values))))

    @property
    def told(self) -> str:
        """The reward's short name."""
        return next((short for short, full in SHORT.items() if full == self.reward), self.reward.replace("_", " "))

    def made(self, instance: Instance) -> Policy:
        """The policy. Raises ``ValueError`` for options that it does not take."""
        return policy(self.policy, instance.arms, best=instance.best, **self.options)


def contender(text: str, reward: str, instance: Instance) -> Contender:
    """Read ``name`` or ``name:key=value,key=value``; ``reward`` is a key like any other. UCB's beta is 1/sqrt(N) by default.

    Raises ``UsageError``.
    """
    name, _, rest = text.partition(":")
    if name not in policy_names():
        refuse(nearest("policy", name, policy_names()))
    try:
        options = parse_options(rest.split(",") if rest else [])
    except UnknownSubject as error:
        refuse(error)
    told = str(options.pop("reward", reward))
    full = SHORT.get(told, told)
    if full not in (*REWARDS, PER_COST):
        refuse(nearest("reward", told, [*REWARDS, *SHORT, PER_COST]))
    if name == UCB and "beta" not in options:
        options["beta"] = max(instance.drafters.lengths) ** -0.5
    for option in options:
        if option not in policy_options(name):
            refuse(nearest(f"option of {name}", option, [*policy_options(name), "reward"]))
    found = Contender(name, full, options)
    try:
        found.made(instance)
        instance.telling(full)
    except ValueError as error:
        refuse(error)
    return found


@dataclass(frozen=True)
class Runs:
    """What ``runs`` runs did until each checkpoint, G of them: [G, R] everywhere."""

    contender: Contender
    instance: Instance
    log: Log

    @property
    def checkpoints(self) -> tuple[int, ...]:
        """Tokens."""
        return self.log.checkpoints

    @cached_property
    def lost(self) -> NDArray[np.float64]:
        """Pseudo-regret of every run, in units of cost."""
        return self.log.lost.numpy().astype(np.float64)

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean regret."""
        return self.lost.mean(1)  # type: ignore[no-any-return]

    @property
    def error(self) -> NDArray[np.float64]:
        """Its standard error."""
        return standard_error(self.lost)

    def quantiles(self, shares: tuple[float, ...] = QUANTILES) -> NDArray[np.float64]:
        """Quantiles over runs, [Q, G]: they tell a few runs that lock in from a slow growth of all."""
        return np.quantile(self.lost, shares, axis=1)

    @cached_property
    def share(self) -> NDArray[np.float64]:
        """Share of the rounds with a best drafter, every run."""
        return (self.log.best / self.log.rounds).numpy().astype(np.float64)

    @cached_property
    def switches(self) -> NDArray[np.float64]:
        """Rounds with another arm than before, every run."""
        return self.log.switches.numpy().astype(np.float64)

    @cached_property
    def rounds(self) -> NDArray[np.float64]:
        """Rounds until the checkpoint, every run."""
        return self.log.rounds.numpy().astype(np.float64)

    def stuck(self) -> float | None:
        """Share of runs that give a best drafter less than half of the rounds after the last but one checkpoint."""
        if len(self.checkpoints) < 2:
            return None
        late = (self.log.best[-1] - self.log.best[-2]) / (self.log.rounds[-1] - self.log.rounds[-2])
        return float((late < 1 / 2).float().mean())

    def efficiency(self) -> NDArray[np.float64]:
        """Expected cost of the best drafter alone over that of every run at the last checkpoint, to first order.

        Where rounds differ in cost or switches cost something, a run's is the best drafter's and what was lost (the identity
        of the regret, up to its overshoot).
        """
        best, costs = self.instance.best, self.instance.round_costs
        by_itself = alone(self.instance.drafters, best, self.checkpoints[-1]) * float(costs[best])
        priced = self.instance.costs or self.instance.switch_cost
        spent = by_itself + self.lost[-1] if priced else self.rounds[-1]
        return by_itself / spent.mean() * (2 - spent / spent.mean())  # type: ignore[no-any-return]

    def curve(self) -> list[float] | None:
        """The noiseless curve; None where there is none: another policy, costs, changes of roles, no bonus."""
        plain = set(self.instance.round_costs) == {1} and not self.instance.switch_cost and not self.instance.changes
        if self.contender.policy != UCB or not plain or not self.contender.options["beta"]:
            return None
        means, emitted = reward_means(self.instance, self.contender.reward), self.instance.tokens_a_round()
        beta = float(self.contender.options["beta"])
        try:
            return [fluid(means, emitted, tokens, beta).regret for tokens in self.checkpoints]
        except ValueError:
            return None

    def limit(self) -> float | None:
        """The theorem's bound at the last checkpoint; None where nothing is proved."""
        if self.contender.policy != UCB or self.curve() is None or self.contender.reward == PER_COST:
            return None
        length = max(self.instance.drafters.lengths)
        positions = length if self.contender.reward == "block_divergence" else 1
        means, emitted = reward_means(self.instance, self.contender.reward), self.instance.tokens_a_round()
        try:
            return bound(
                means, emitted, self.checkpoints[-1], float(self.contender.options["beta"]), length,
                independent_positions=positions,
            )  # fmt: skip
        except ValueError:
            return None


def standard_error(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the means over runs."""
    return values.std(-1, ddof=1) / np.sqrt(values.shape[-1])  # type: ignore[no-any-return]


def checkpoints(tokens: int) -> list[int]:
    """Doubling up to ``tokens``."""
    found = [tokens]
    while found[0] // 2 >= FIRST:
        found.insert(0, found[0] // 2)
    return found


def simulate(
    given: Contender, instance: Instance, at: list[int], *, runs: int, seed: int, listen: Listener = lambda _: None
) -> Runs:
    """Play. ``listen`` hears what share is done."""
    log = play(
        batched(given.made(instance)), instance, given.reward, at, runs, from_seed(seed),
        listen=lambda tokens: listen(tokens / at[-1]),
    )  # fmt: skip
    return Runs(given, instance, log)
