"""``bench bandits``: how many rounds a second policies play, all runs at once beside one run of the reference after the other.

A contender plays whole texts until all runs are done; what is compared is rounds, since runs take different numbers of them.
Everything is counted: drawing blocks, choosing, learning, the log. One thread.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from rich.console import RenderableType

from specproof.bench.clock import Contender, Listener, Timing, measure
from specproof.bench.machine import Machine
from specproof.bench.report import Part, grid
from specproof.fast.bandits import batched
from specproof.fast.bandits.play import play
from specproof.reference.bandits import policy, reward
from specproof.reference.bandits.drafters import Independent
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.play import from_seed as one_seed
from specproof.reference.bandits.play import play as play_one

INSTANCE = Instance(Independent((0.8, 0.7, 0.6, 0.5, 0.35), 5, 0.5, "beta"))
POLICIES = ("meta_sd_ucb", "exp3_spec", "successive_halving", "discounted_ucb", "thompson", "random")
BESIDE = "meta_sd_ucb"
QUICK, FULL = (1024, 1000), (4096, 4000)  # runs at once, tokens
READING = "rounds/s: rounds of all runs over the median time; five drafters of length 5 with Beta agreement, block divergence."


@dataclass(frozen=True)
class Played:
    """Rounds a second of each contender, and how often as many as the first's."""

    title: str
    timings: Sequence[Timing]
    rounds: Sequence[float]

    def speeds(self) -> list[tuple[str, float, float]]:
        """Name, rounds a second, half the distance of the quartiles as a share."""
        return [
            (timing.name, 1e3 * count / timing.milliseconds.median, timing.milliseconds.relative)
            for timing, count in zip(self.timings, self.rounds, strict=True)
        ]

    def render(self, machine: Machine) -> RenderableType:  # noqa: ARG002 - other parts need it
        """A line for each contender."""
        table = grid(self.title, "rounds/s", "±", "times")
        first = self.speeds()[0][1]
        for name, speed, spread in self.speeds():
            table.add_row(name, f"{speed:,.0f}", f"{spread:.0%}", f"{speed / first:.3g}")
        return table

    def json(self, machine: Machine) -> dict[str, Any]:  # noqa: ARG002 - other parts need it
        """Every number."""
        return {
            "kind": "rounds", "title": self.title,
            "lines": [
                {"name": name, "rounds_per_second": round(speed), "relative_spread": round(spread, 4)}
                for name, speed, spread in self.speeds()
            ],
        }  # fmt: skip


def bandits(size: tuple[int, int], seconds: float, device: torch.device, listen: Listener) -> list[Part]:
    """Time every policy at once, and the reference's UCB on one run."""
    runs, tokens = size
    counted: dict[str, float] = {}
    contenders = [
        Contender(f"{BESIDE}, one run of the reference", _one(tokens // 4, counted)),
        *(Contender(name, _all(name, runs, tokens, counted)) for name in POLICIES),
    ]
    timings = measure(contenders, seconds=seconds, device=device, listen=listen)
    title = f"{runs:,} runs of {tokens:,} tokens at once"
    return [Played(title, timings, [counted[one.name] for one in contenders])]


def _one(tokens: int, counted: dict[str, float]) -> Callable[[torch.Generator], int]:
    told = INSTANCE.told(reward("block_divergence"))

    def call(_: torch.Generator) -> int:
        log = play_one(policy(BESIDE, INSTANCE.arms), INSTANCE, tokens, one_seed(0), told)
        counted[f"{BESIDE}, one run of the reference"] = len(log.arms)
        return len(log.arms)

    return call


def _all(name: str, runs: int, tokens: int, counted: dict[str, float]) -> Callable[[torch.Generator], int]:
    def call(generator: torch.Generator) -> int:
        def uniforms(count: int, width: int) -> torch.Tensor:
            return torch.rand(count, width, dtype=torch.float64, generator=generator)

        log = play(batched(policy(name, INSTANCE.arms)), INSTANCE, "block_divergence", [tokens], runs, uniforms)
        counted[name] = float(log.rounds[-1].sum())
        return int(counted[name])

    return call
