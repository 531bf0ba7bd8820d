"""The one measuring core: everyone on the same inputs, warmed up, in turns, with medians and quartiles.

On a CPU the clock counts the time of this process, so that neighbours who take the core away do not count; they still take
the cache and the memory bus, which is why contenders run in turns and ratios are taken round by round. The contender that
goes first changes from round to round. On a GPU the clock waits for the device. Random numbers are seeded alike for all
before the clock starts.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

LEAST, MOST = 5, 400  # rounds
Listener = Callable[[str], None]


@dataclass(frozen=True)
class Contender:
    """Something to time. ``touches`` gives the bytes that no rule can avoid reading once it decides as it did."""

    name: str
    call: Callable[[torch.Generator], Any]
    touches: Callable[[Any], float] | None = None


@dataclass(frozen=True)
class Spread:
    """A median and its quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of at least two values."""
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)

    @property
    def relative(self) -> float:
        """Half the distance of the quartiles, as a share of the median."""
        return (self.high - self.low) / (2 * self.median)

    @property
    def json(self) -> dict[str, float]:
        """Rounded to what was measured."""
        return {
            "median": float(f"{self.median:.5g}"),
            "low": float(f"{self.low:.5g}"),
            "high": float(f"{self.high:.5g}"),
        }


@dataclass(frozen=True)
class Timing:
    """One contender: milliseconds a call, times the first contender's of the same round, bytes of its outcomes."""

    name: str
    milliseconds: Spread
    ratio: Spread
    bytes: float | None
    rounds: int


def measure(
    contenders: Sequence[Contender], *, seconds: float, device: torch.device, listen: Listener = lambda _: None
) -> list[Timing]:
    """Time everyone in turns for about ``seconds``, at least five rounds; ratios are to the first contender."""
    listen(", ".join(one.name for one in contenders))
    generator = torch.Generator(device)
    for one in contenders:  # warm up
        _timed(one, generator, 0, device)
    taken: dict[str, list[float]] = {one.name: [] for one in contenders}
    bytes_: dict[str, list[float]] = {one.name: [] for one in contenders}
    end, turn = time.monotonic() + seconds, 0
    while turn < LEAST or (turn < MOST and time.monotonic() < end):
        first = turn % len(contenders)
        for one in [*contenders[first:], *contenders[:first]]:
            spent, result = _timed(one, generator, turn + 1, device)
            taken[one.name].append(spent)
            if one.touches is not None:
                bytes_[one.name].append(one.touches(result))
        turn += 1
    base = taken[contenders[0].name]
    return [
        Timing(
            one.name,
            Spread.of([1e3 * spent for spent in taken[one.name]]),
            Spread.of([spent / first for spent, first in zip(taken[one.name], base, strict=True)]),
            statistics.fmean(bytes_[one.name]) if bytes_[one.name] else None,
            turn,
        )
        for one in contenders
    ]


def _timed(one: Contender, generator: torch.Generator, seed: int, device: torch.device) -> tuple[float, Any]:
    generator.manual_seed(seed)
    torch.manual_seed(seed)  # for those who draw from the global generator
    if device.type == "cpu":
        start = time.process_time()
        result = one.call(generator)
        return time.process_time() - start, result
    torch.cuda.synchronize(device)
    start = time.perf_counter()
    result = one.call(generator)
    torch.cuda.synchronize(device)
    return time.perf_counter() - start, result
