"""Thousands of runs of one policy at once, each until it has emitted enough tokens, with a log that the policy cannot touch.

All runs are in the same round; a run that has reached the last checkpoint plays on unrecorded until all have.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from specproof.fast.bandits.blocks import batched_drafters
from specproof.fast.bandits.policy import Policy
from specproof.fast.bandits.rewards import told
from specproof.reference.bandits.instance import Instance

Uniforms = Callable[[int, int], Tensor]
NEVER = 2**62
ROUNDING = 1e-12  # a drafter that loses less in a round is the best one
LISTENING = 256  # rounds between two reports of progress


@dataclass(frozen=True)
class Log:
    """What had happened when each checkpoint of tokens was reached: G checkpoints, R runs, K arms, T rounds.

    ``counts`` [G, R, K] rounds with each arm, ``rounds`` [G, R], ``switches`` [G, R], ``lost`` [G, R] pseudo-regret in units
    of cost with the cost of the switches, ``best`` [G, R] rounds with a drafter that loses nothing, ``arms`` [T, R] every
    choice where it was asked for.
    """

    checkpoints: tuple[int, ...]
    counts: Tensor
    rounds: Tensor
    switches: Tensor
    lost: Tensor
    best: Tensor
    arms: Tensor | None = None


def from_seed(seed: int) -> Uniforms:
    """Uniforms [count, R] of a round, from one generator."""
    generator = torch.Generator().manual_seed(seed)
    return lambda count, runs: torch.rand(count, runs, dtype=torch.float64, generator=generator)


def play(
    policy: Policy,
    instance: Instance,
    reward: str,
    checkpoints: Sequence[int],
    runs: int,
    uniforms: Uniforms,
    *,
    keep_arms: bool = False,
    listen: Callable[[int], None] = lambda _: None,
) -> Log:
    """Play ``runs`` independent runs until each has emitted ``checkpoints[-1]`` tokens.

    A round takes uniforms for the policy, then for the block (of every arm in turn if the policy sees all). ``listen`` hears
    now and then how many tokens the slowest run has. Raises ``ValueError`` for checkpoints that do not increase and for a
    reward that does not fit (``rewards.told``).
    """
    drafters = batched_drafters(instance.drafters)
    earned, scale = told(instance, reward)
    arms_given = range(instance.arms)
    orders = torch.tensor([list(arms_given), *(list(order) for _, order in instance.changes)])
    drawn_blocks = instance.arms if policy.feedback == "all" else 1
    ledger = Ledger(instance, checkpoints, runs)
    kept: list[Tensor] = []
    policy.start(runs, scale)
    while ledger.unfinished:
        drawn = uniforms(policy.draws + drawn_blocks * drafters.draws, runs)
        arms = policy.choose(ledger.completed, drawn[: policy.draws])
        order = orders[ledger.phase].T if instance.changes else None  # [K, R]: the drafter behind each arm
        played = arms if order is None else order.gather(0, arms[None])[0]
        if policy.feedback == "chosen":
            blocks = drafters.draw(played, drawn[policy.draws :])
            rewards, accepted = earned(played, blocks), blocks.accepted
        else:
            seen = drawn[policy.draws :].view(instance.arms, drafters.draws, runs)
            behind = [torch.full((runs,), arm) if order is None else order[arm] for arm in arms_given]
            shown = [drafters.draw(drafter, seen[arm]) for arm, drafter in enumerate(behind)]
            rewards = torch.stack([earned(drafter, blocks) for drafter, blocks in zip(behind, shown, strict=True)])
            accepted = torch.stack([blocks.accepted for blocks in shown]).gather(0, arms[None])[0]
        policy.update(arms, rewards)
        ledger.record(arms, played, accepted)
        if keep_arms:
            kept.append(arms)
        if ledger.completed % LISTENING == 0:
            listen(min(int(ledger.tokens.min()), checkpoints[-1]))
    return ledger.log(torch.stack(kept) if keep_arms else None)


class Ledger:
    """The harness's own books: what every run has done, written down as it passes its checkpoints."""

    def __init__(self, instance: Instance, checkpoints: Sequence[int], runs: int) -> None:
        if not checkpoints or list(checkpoints) != sorted(set(checkpoints)) or checkpoints[0] < 1:
            raise ValueError(f"checkpoints must be positive and increase, got {list(checkpoints)}")
        self.completed, self.unfinished = 0, runs
        self.tokens = torch.zeros(runs, dtype=torch.int64)
        self._runs = runs
        self._row = torch.arange(runs)
        self._losses = torch.tensor([float(loss) for loss in instance.losses()], dtype=torch.float64)
        self._switch_cost = float(instance.switch_cost)
        self._starts = [start for start, _ in instance.changes]
        self._checkpoints = tuple(checkpoints)
        self._grid = torch.tensor([*checkpoints, NEVER])
        self._reached = torch.zeros_like(self.tokens)
        self._goal = self._grid[self._reached]
        self._counts = torch.zeros(instance.arms, runs, dtype=torch.int64)
        self._switches, self._best = torch.zeros_like(self.tokens), torch.zeros_like(self.tokens)
        self._lost = torch.zeros(runs, dtype=torch.float64)
        self._previous: Tensor | None = None
        shape = (len(checkpoints), runs)
        self._counts_at = torch.zeros(*shape, instance.arms, dtype=torch.int64)
        self._rounds_at, self._switches_at, self._best_at = (torch.zeros(shape, dtype=torch.int64) for _ in range(3))
        self._lost_at = torch.zeros(shape, dtype=torch.float64)

    @property
    def phase(self) -> Tensor:
        """How many changes of roles every run has behind it, [R]."""
        return torch.stack([self.tokens >= start for start in self._starts]).sum(0)

    def record(self, arms: Tensor, played: Tensor, accepted: Tensor) -> None:
        """Add a round: the arms, the drafters behind them, the accepted tokens."""
        self.completed += 1
        self._counts.view(-1)[arms * self._runs + self._row] += 1
        loss = self._losses[played]
        self._lost += loss
        self._best += loss <= ROUNDING
        if self._previous is not None:
            moved = arms != self._previous
            self._switches += moved
            if self._switch_cost:
                self._lost += self._switch_cost * moved
        self._previous = arms
        self.tokens += accepted
        self.tokens += 1
        while (crossed := (self.tokens >= self._goal).nonzero().squeeze(-1)).numel():
            self._write_down(crossed)

    def _write_down(self, runs: Tensor) -> None:
        at = self._reached[runs]
        self._counts_at[at, runs] = self._counts[:, runs].T
        self._rounds_at[at, runs] = self.completed
        self._switches_at[at, runs] = self._switches[runs]
        self._best_at[at, runs] = self._best[runs]
        self._lost_at[at, runs] = self._lost[runs]
        self._reached[runs] = at + 1
        self._goal[runs] = self._grid[at + 1]
        self.unfinished -= int((at + 1 == len(self._checkpoints)).sum())

    def log(self, arms: Tensor | None) -> Log:
        """What was written down."""
        return Log(
            self._checkpoints, self._counts_at, self._rounds_at, self._switches_at, self._lost_at, self._best_at, arms
        )
