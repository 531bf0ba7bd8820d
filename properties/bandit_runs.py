"""Runs of any bandit on the standard instances, with the harness's own log: what the regret battery judges.

The standard instance has five drafters of block length 5 whose agreement has a Beta law, best first; the other one has the best
arm last, so that a bandit that favours low arms, or high ones, is seen. Each run draws the blocks of each arm from a stream
of its own. The reference's own policies are simulated all runs at once (they choose the same arms, ``fast.bandits``).
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from specproof.fast.bandits import batched
from specproof.fast.bandits.blocks import batched_drafters
from specproof.fast.bandits.play import from_seed, play
from specproof.fast.bandits.rewards import told as batch_told
from specproof.properties.bandit import BanditMaker
from specproof.properties.bandit_battery import Runs
from specproof.properties.bandit_contract import chosen, made, told
from specproof.properties.builtin_bandits import BuiltIn
from specproof.properties.verdict import Undecided
from specproof.reference.bandits import policy
from specproof.reference.bandits.block import Block
from specproof.reference.bandits.drafters import Independent
from specproof.reference.bandits.instance import Instance

ACCEPTANCE = (0.8, 0.7, 0.6, 0.5, 0.35)
LENGTH = 5
DISPERSION = 0.5
CHUNK = 256  # blocks of one arm that are drawn at once
FIRST = 250  # tokens at the first checkpoint; each later one is twice that before


@dataclass(frozen=True)
class Schedule:
    """How many runs, how many tokens each, and when to give up (``time.monotonic``)."""

    runs: int
    tokens: int
    seed: int
    deadline: float = float("inf")

    @property
    def checkpoints(self) -> tuple[int, ...]:
        """250, 500, ... up to ``tokens``."""
        found = [FIRST]
        while found[-1] < self.tokens:
            found.append(2 * found[-1])
        return tuple(found)


def standard_instances(arms: int | None) -> dict[str, Instance]:
    """Best arm first, and best arm last; for a bandit of another size, fewer drafters or more of the worst."""
    count = arms or len(ACCEPTANCE)
    shares = tuple(ACCEPTANCE[min(arm, len(ACCEPTANCE) - 1)] for arm in range(count))
    return {
        name: Instance(Independent(order, LENGTH, DISPERSION, "beta"))
        for name, order in (("best arm first", shares), ("best arm last", shares[::-1]))
    }


def runs_of(maker: BanditMaker, name: str, instance: Instance, schedule: Schedule) -> Runs:
    """Run the bandit. Raises ``Undecided`` (``BrokenBandit``) where it breaks its contract or time is over."""
    if isinstance(maker.make, BuiltIn):
        return _batched_runs(maker, maker.make, name, instance, schedule)
    logs = [_one_run(maker, instance, schedule, run) for run in range(schedule.runs)]
    return Runs(
        name, schedule.checkpoints, np.array([lost for lost, _ in logs]).T, np.array([share for _, share in logs])
    )


def _batched_runs(maker: BanditMaker, given: BuiltIn, name: str, instance: Instance, schedule: Schedule) -> Runs:
    settings = {"beta": LENGTH**-0.5} if "beta" in maker.takes else {}
    policy_given = policy(given.policy, instance.arms, **{**settings, **given.policy_options})

    def on_time(_: int) -> None:
        _check(schedule)

    log = play(
        batched(policy_given), instance, maker.declared_reward, schedule.checkpoints, schedule.runs,
        from_seed(schedule.seed), listen=on_time,
    )  # fmt: skip
    late = (log.best[-1] - log.best[-2]) / (log.rounds[-1] - log.rounds[-2])
    return Runs(name, schedule.checkpoints, log.lost.numpy(), late.double().numpy())


def _one_run(maker: BanditMaker, instance: Instance, schedule: Schedule, run: int) -> tuple[list[float], float]:
    """Pseudo-regret at each checkpoint, and the best arm's share of the last octave's rounds."""
    losses, best = [float(loss) for loss in instance.losses()], instance.best
    bandit = made(maker, instance.arms, LENGTH, seed=schedule.seed + run)
    streams = [_stream(maker, instance, arm, schedule.seed, run) for arm in range(instance.arms)]
    emitted, lost, rounds, with_best = 0, 0.0, 0, 0
    curve: list[float] = []
    before = (0, 0)
    for checkpoint in schedule.checkpoints:
        before = (rounds, with_best)
        while emitted < checkpoint:
            arm = chosen(bandit, instance.arms)
            reward, tokens = next(streams[arm])
            told(bandit, arm, reward)
            emitted += tokens
            lost += losses[arm]
            rounds += 1
            with_best += arm == best
        curve.append(lost)
        _check(schedule)
    return curve, (with_best - before[1]) / (rounds - before[0])


def _stream(maker: BanditMaker, instance: Instance, arm: int, seed: int, run: int) -> Iterator[tuple[Any, int]]:
    """Rewards and emitted tokens of one arm in one run; the same whenever they are asked for."""
    drafters = batched_drafters(instance.drafters)
    earned, scale = batch_told(instance, maker.declared_reward)
    generator = torch.Generator().manual_seed(((seed * 10_007 + run) * 1009 + arm) % 2**63)
    arms = torch.full((CHUNK,), arm)
    own: Callable[[Block], Any] | None = maker.own_reward
    while True:
        blocks = drafters.draw(arms, torch.rand(drafters.draws, CHUNK, dtype=torch.float64, generator=generator))
        accepted = blocks.accepted.tolist()
        if own is None:
            rewards = (earned(arms, blocks) / scale).tolist()
        else:
            rows = zip(blocks.agreement.T.tolist(), blocks.survival.T.tolist(), accepted, strict=True)
            rewards = [own(Block(tuple(agreement), tuple(survival), kept)) for agreement, survival, kept in rows]
        yield from zip(rewards, (kept + 1 for kept in accepted), strict=True)


def _check(schedule: Schedule) -> None:
    if time.monotonic() > schedule.deadline:
        raise Undecided("the time that was given is over")
