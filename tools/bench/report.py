"""What a benchmark found, to read and as JSON: sections of timings, how time grows, who was skipped."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specproof.bench.clock import Timing
from specproof.bench.inputs import Size
from specproof.bench.machine import Machine
from specproof.bench.rivals import Skipped

SCHEMA = "specproof-bench/1"
READING = (
    "ms: median time of a call. times: median ratio to the first line, round by round. ±: half the distance of the quartiles. "
    "MB: rows that the outcome cannot do without, each read once. floor: the time to copy as much, as a share of the median."
)


class Part(Protocol):
    """A piece of a report."""

    def render(self, machine: Machine) -> RenderableType:
        """To read."""
        ...

    def json(self, machine: Machine) -> dict[str, Any]:
        """As data."""
        ...


@dataclass(frozen=True)
class Section:
    """Contenders side by side on the same inputs; a line without bytes of its own has the first line's."""

    title: str
    size: Size
    timings: Sequence[Timing]
    note: str = ""
    skipped: Sequence[Skipped] = ()

    def _bytes(self, timing: Timing) -> float | None:
        return timing.bytes if timing.bytes is not None else self.timings[0].bytes

    def render(self, machine: Machine) -> RenderableType:
        """A table with a line for each contender, the skipped ones below."""
        known = self.timings[0].bytes is not None
        table = grid(f"{self.title}: {self.size}", "ms", "±", "times", "±", *(["MB", "floor"] if known else []))
        for one in self.timings:
            spent, ratio = one.milliseconds, one.ratio
            numbers = [f"{spent.median:.3g}", f"{spent.relative:.0%}", f"{ratio.median:.2f}", f"{ratio.relative:.0%}"]
            bytes_ = self._bytes(one)
            if bytes_ is not None:
                numbers += [f"{bytes_ / 1e6:.3g}", f"{machine.milliseconds(bytes_) / spent.median:.0%}"]
            table.add_row(one.name, *numbers)
        below = [Text(f"skipped {one.name}: {one.reason}", "yellow") for one in self.skipped]
        if self.note:
            below.append(Text(self.note, "dim"))
        return Group(table, *below)

    def json(self, machine: Machine) -> dict[str, Any]:
        """Every number."""
        return {
            "kind": "timings", "title": self.title, "size": self.size.json, "note": self.note,
            "lines": [
                {
                    "name": one.name, "milliseconds": one.milliseconds.json, "ratio": one.ratio.json, "rounds": one.rounds,
                    "bytes": bytes_ and round(bytes_),
                    "floor_milliseconds": bytes_ and float(f"{machine.milliseconds(bytes_):.5g}"),
                }
                for one in self.timings for bytes_ in [self._bytes(one)]
            ],
            "skipped": [{"name": one.name, "reason": one.reason} for one in self.skipped],
        }  # fmt: skip


@dataclass(frozen=True)
class Growth:
    """Median times at several sizes of one axis; the exponent is that of the power law that fits them best."""

    axis: str
    size: Size
    values: Sequence[int]
    milliseconds: dict[str, list[float]]

    def exponent(self, name: str) -> float:
        """Slope of the logarithms, least squares."""
        across = [math.log(value) for value in self.values]
        up = [math.log(spent) for spent in self.milliseconds[name]]
        middle, level = sum(across) / len(across), sum(up) / len(up)
        return sum((x - middle) * (y - level) for x, y in zip(across, up, strict=True)) / sum(
            (x - middle) ** 2 for x in across
        )

    def last(self, name: str) -> float:
        """The exponent between the two largest sizes, where fixed costs weigh least."""
        return replace(self, values=self.values[-2:], milliseconds={name: self.milliseconds[name][-2:]}).exponent(name)

    def render(self, machine: Machine) -> RenderableType:  # noqa: ARG002 - other parts need it
        """A line for each contender."""
        table = grid(
            f"growth with {self.axis}: ms, from {self.size}",
            *(f"{self.axis}={v}" for v in self.values),
            "exponent",
            "at the end",
        )
        for name, spent in self.milliseconds.items():
            table.add_row(
                name, *(f"{one:.3g}" for one in spent), f"{self.exponent(name):.2f}", f"{self.last(name):.2f}"
            )
        return table

    def json(self, machine: Machine) -> dict[str, Any]:  # noqa: ARG002 - other parts need it
        """Every number."""
        return {
            "kind": "growth", "axis": self.axis, "size": self.size.json, "values": list(self.values),
            "lines": [
                {
                    "name": name, "milliseconds": [float(f"{one:.5g}") for one in spent],
                    "exponent": round(self.exponent(name), 4), "last_exponent": round(self.last(name), 4),
                }
                for name, spent in self.milliseconds.items()
            ],
        }  # fmt: skip


@dataclass(frozen=True)
class Report:
    """One run of one command."""

    command: str
    quick: bool
    machine: Machine
    parts: Sequence[Part]
    reading: str = READING

    def render(self) -> RenderableType:
        """Everything, one part below the other."""
        spaced = [piece for part in self.parts for piece in (part.render(self.machine), Text(""))]
        return Group(Text(self.machine.describe(), "bold"), Text(""), *spaced, Text(self.reading, "dim"))

    def to_json(self) -> str:
        """Everything as JSON."""
        return json.dumps(
            {
                "schema": SCHEMA, "command": self.command, "quick": self.quick, "machine": self.machine.json,
                "sections": [part.json(self.machine) for part in self.parts],
            },
            indent=1,
        )  # fmt: skip


def grid(title: str, *columns: str) -> Table:
    """A table whose first column is a name and whose others are numbers."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), header_style="dim"
    )
    table.add_column("", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table
