"""``specproof regret --tables``: the published simulations again, every number with its standard error and a verdict.

A number agrees when it lies within ``ERRORS`` standard errors of the difference (its own runs and the published ones) and
half a unit of the last printed digit. With right policies one of all 330 numbers misses that in 5 of 100 repetitions, and
somewhat more often where a few runs that lock in make the mean. A mean that is off by 6 of its standard errors is seen with
probability .98.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from rich.table import Table as RichTable
from torch import Tensor

from specproof.fast.bandits import batched
from specproof.fast.bandits.play import Log, from_seed, play
from specproof.reference.bandits import policy
from specproof.reference.bandits.alone import rounds_alone
from specproof.reference.bandits.fluid import fluid
from specproof.reference.names import nearest
from specproof.regret_published import TABLES, Row

ERRORS = 3.8  # of 330 normal deviates, one is beyond that in 5 of 100 repetitions
QUERIES = 32
QUICK_TOKENS, QUICK_SHARE = 16_000, 4  # the longest run, and the divisor of the number of runs
Listener = Callable[[str, float], None]


@dataclass(frozen=True)
class Cell:
    """A simulated mean, its standard error, and the published number with what it may be off by."""

    column: str
    value: float
    error: float
    published: str
    noise: float  # standard error of the difference
    slack: float  # rounding, and what the published number is off by itself
    differs: str = ""

    @property
    def deviation(self) -> float:
        """Of the published number, beyond slack, in standard errors of the difference."""
        beyond = max(0.0, abs(self.value - float(self.published)) - self.slack)
        return beyond / self.noise if self.noise else (math.inf if beyond else 0.0)

    @property
    def allowed(self) -> float:
        """How far the two numbers may be apart."""
        return ERRORS * self.noise + self.slack

    @property
    def agrees(self) -> bool:
        """Whether noise and rounding explain the difference, or it is known why they cannot."""
        return bool(self.differs) or self.deviation <= ERRORS

    def __str__(self) -> str:
        mark = "*" if self.differs else "" if self.agrees else " ✗"
        return f"{_short(self.value)} ± {self.error:.2g} ({self.published}){mark}"


@dataclass(frozen=True)
class Result:
    """One table: rows by name, each a list of cells."""

    name: str
    title: str
    rows: dict[str, list[Cell]]

    @property
    def columns(self) -> list[str]:
        """In the order in which they first occur."""
        return list(dict.fromkeys(cell.column for cells in self.rows.values() for cell in cells))

    @property
    def cells(self) -> list[Cell]:
        """All of them."""
        return [cell for cells in self.rows.values() for cell in cells]

    @property
    def summary(self) -> str:
        """How many agree, and how many are not compared."""
        judged = [cell for cell in self.cells if not cell.differs]
        beyond = sum(cell.deviation > 2 for cell in judged)
        text = (
            f"{sum(cell.agrees for cell in judged)} of {len(judged)} numbers agree, {beyond} beyond 2 standard errors"
        )
        others = len(self.cells) - len(judged)
        return f"{text}; {others} are of something else (*)" if others else text

    @property
    def notes(self) -> list[str]:
        """Why lines with a star are not judged."""
        return list(dict.fromkeys(f"* {cell.differs}." for cell in self.cells if cell.differs))

    def lines(self) -> Iterator[list[str]]:
        """Name and cells of every row, blank where there is none."""
        for name, cells in self.rows.items():
            found = {cell.column: str(cell) for cell in cells}
            yield [name, *(found.get(column, "") for column in self.columns)]

    def rich(self) -> RichTable:
        """For a terminal."""
        table = RichTable(title=f"{self.name} {self.title}: {self.summary}", title_justify="left")
        for heading in ("", *self.columns):
            table.add_column(heading, justify="left" if not heading else "right")
        for line in self.lines():
            table.add_row(*line)
        table.caption = "\n".join(self.notes) or None
        return table

    def markdown(self) -> str:
        """For a page."""
        heading = ["", *self.columns]
        lines = [heading, ["---", *("---:" for _ in self.columns)], *self.lines()]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return "\n\n".join([f"## {self.name} {self.title}", f"{self.summary}.", body, *self.notes]) + "\n"


def tables(names: Sequence[str], *, quick: bool, seed: int = 0, listen: Listener = lambda *_: None) -> list[Result]:
    """Simulate the named tables (all when none is named). ``listen(row, share)`` hears how far the whole is.

    Quick: no run above 16,000 tokens and a quarter of the runs. Raises ``ValueError`` for an unknown table.
    """
    for name in names:
        if name not in TABLES:
            raise ValueError(nearest("table", name, TABLES))
    chosen = {name: TABLES[name][1]() for name in (names or TABLES)}
    total, done = sum(map(len, chosen.values())), 0
    results = []
    for name, rows in chosen.items():
        found = {}
        for each in rows:

            def heard(share: float, name: str = each.name, done: int = done) -> None:
                listen(name, (done + share) / total)

            if cells := _cells(each, quick, seed, heard):
                found[each.name] = cells
            done += 1
            listen(each.name, done / total)
        results.append(Result(name, TABLES[name][0], found))
    return results


def _cells(given: Row, quick: bool, seed: int, listen: Callable[[float], None]) -> list[Cell]:
    asked = [(column, *column.split("@")) for column in given.published]
    wanted = [(column, kind, int(tokens)) for column, kind, tokens in asked if not quick or int(tokens) <= QUICK_TOKENS]
    if not wanted:
        return []
    checkpoints = sorted({tokens for _, _, tokens in wanted})
    made = policy(given.policy, given.instance.arms, best=given.instance.best, **given.options)
    queries = QUERIES if wanted[0][1] == "queries" else 1
    runs = max(8, given.runs // QUICK_SHARE if quick else given.runs)
    log = play(
        batched(made), given.instance, given.reward, checkpoints, runs * queries, from_seed(seed),
        listen=lambda tokens: listen(tokens / checkpoints[-1]),
    )  # fmt: skip
    cells = []
    for column, kind, tokens in wanted:
        values = QUANTITIES[kind](log, given, checkpoints.index(tokens)).double()
        text = given.published[column]
        mean, spread = float(values.mean()), float(values.std()) if len(values) > 1 else 0.0
        noise = spread * (1 / len(values) + 1 / given.runs) ** 0.5
        slack = _rounding(text) + given.slack * float(text) + given.stuck.get(column, 0.0)
        cells.append(Cell(column, mean, spread / len(values) ** 0.5, text, noise, slack, given.differs))
    return cells


def _lost(log: Log, given: Row, at: int) -> Tensor:  # noqa: ARG001 - all quantities are asked alike
    return log.lost[at]


def _share(log: Log, given: Row, at: int) -> Tensor:  # noqa: ARG001
    return log.best[at] / log.rounds[at]


def _switches(log: Log, given: Row, at: int) -> Tensor:  # noqa: ARG001
    return log.switches[at]


def _wrong(log: Log, given: Row, at: int) -> Tensor:
    """Whether the last arm, which successive halving committed to, is not the best: it then has most rounds."""
    return log.counts[at].argmax(-1) != given.instance.best


def _efficiency(log: Log, given: Row, at: int) -> Tensor:
    """Rounds of the best drafter over mean rounds, written as a mean over runs (first order in the noise)."""
    rounds = log.rounds[at].double()
    return (
        rounds_alone(given.instance.drafters, log.checkpoints[at])[given.instance.best]
        / rounds.mean()
        * (2 - rounds / rounds.mean())
    )


def _router(log: Log, given: Row, at: int) -> Tensor:
    """The error at which a router has the same mean efficiency; a wrong answer is any of the other drafters.

    Speed-ups are averaged over queries, as published. In total rounds the router must err less: 4 % where this says 8.
    """
    alone = rounds_alone(given.instance.drafters, log.checkpoints[at])
    best = alone.pop(given.instance.best)
    return (1 - _efficiency(log, given, at)) / (1 - sum(best / rounds for rounds in alone) / len(alone))


def _queries(log: Log, given: Row, at: int) -> Tensor:  # noqa: ARG001
    return log.lost[at].view(-1, QUERIES).sum(-1)


def _fluid(log: Log, given: Row, at: int) -> Tensor:
    """The noiseless curve."""
    shares = given.instance.drafters.acceptance  # type: ignore[attr-defined]
    beta = float(given.options["beta"])
    return torch.tensor([fluid(shares, given.instance.tokens_a_round(), log.checkpoints[at], beta).regret])


QUANTITIES: dict[str, Callable[[Log, Row, int], Tensor]] = {
    "lost": _lost,
    "share": _share,
    "switches": _switches,
    "wrong": _wrong,
    "efficiency": _efficiency,
    "router": _router,
    "queries": _queries,
    "fluid": _fluid,
}


def _rounding(text: str) -> float:
    """Half a unit of the last digit: of thousands for ``32000``, which was printed as 32k."""
    if "." in text:
        return 10.0 ** -len(text.partition(".")[2]) / 2
    return 500.0 if text.endswith("000") else 0.5


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.1f}" if abs(value) < 1000 else f"{value:,.0f}"
