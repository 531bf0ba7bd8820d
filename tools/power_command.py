"""``specproof bench power``: what today's tests of verifiers find, beside counting and probing here, in one table."""

import json as json_module
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specproof.output import check_destination, report_console, write_data
from specproof.progress import bars
from specproof.properties import practice
from specproof.properties.practice import FAULTS, POWER, TODAY, Convictions, Row

CALLS = (20_000, 131_072)  # of SGLang's test, and of one case of the quick battery
RUNS = {True: 200, False: 2000}  # of every test, quick or not
FAULT_RUNS = {True: 50, False: 200}
SURE = 0.995


@dataclass(frozen=True)
class Comparison:
    """Both tables, and how many runs they rest on."""

    runs: int
    fault_runs: int
    tests: list[Row]
    faults: list[Convictions]

    def render(self) -> RenderableType:
        """Lay the tables out for a terminal."""
        return Group(
            Text("Smallest share of drafts kept unseen that a test finds with power .999, and its total variation"),
            _table(*self.sizes()), Text(""), Text("Share of runs that convict a fault"), _table(*self.shares()),
        )  # fmt: skip

    def sizes(self) -> tuple[list[str], list[list[str]]]:
        """Header and lines of the first table."""
        lines = [
            [test.name, f"{test.calls:,}", f"{test.false_alarms:.2%}", _size(test.smallest), _size(test.ours)]
            for test in self.tests
        ]
        return ["test", "calls", "false alarms", "finds", "counting here, as many calls, same rows"], lines

    def shares(self) -> tuple[list[str], list[list[str]]]:
        """Header and lines of the second table."""
        header = ["fault", *(test.name for test in TODAY), *(f"counted, {calls:,}" for calls in CALLS), "probed: TV"]
        return header, [
            [it.fault, *map(_share, it.today.values()), *map(_share, it.counted.values()), f"{it.probed:.2g}"]
            for it in self.faults
        ]

    def markdown(self) -> str:
        """Both tables as they stand in the documentation."""
        return "\n\n".join(_markdown(*table) for table in (self.sizes(), self.shares()))

    def to_json(self) -> str:
        """Every number as JSON."""
        data: dict[str, Any] = {"schema": "specproof-power/1", "power": POWER, **asdict(self)}
        return json_module.dumps(data, indent=1)


def power(
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the runs.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the simulated runs.")] = 0,
    json: Annotated[str | None, typer.Option(help="Write every number as JSON here; - for stdout.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
) -> None:
    """Compare what today's tests of verifiers find with what is found here at equal or smaller cost. Takes minutes."""
    check_destination("--json", json)
    found = compared(RUNS[quick], FAULT_RUNS[quick], seed)
    report_console(json).print(found.markdown() if markdown else found.render(), soft_wrap=markdown)
    if json is not None:
        write_data(json, found.to_json())


def compared(runs: int, fault_runs: int, seed: int = 0) -> Comparison:
    """Run the comparison with progress on stderr."""
    with bars(transient=True) as progress:
        task = progress.add_task("tests", total=len(TODAY) + len(FAULTS))
        tests, faults = [], []
        for test in practice.comparison(runs=runs, seed=seed):
            tests.append(test)
            progress.update(task, advance=1, description=test.name)
        for fault in practice.convictions(CALLS, runs=fault_runs, seed=seed):
            faults.append(fault)
            progress.update(task, advance=1, description=fault.fault)
    return Comparison(runs, fault_runs, tests, faults)


def _size(found: tuple[float, float] | None) -> str:
    return "nothing so surely" if found is None else f"{found[0]:.2%} of drafts, TV {found[1]:.2g}"


def _share(share: float) -> str:
    return "always" if share >= SURE else "never" if share <= 1 - SURE else f"{share:.0%}"


def _table(header: list[str], lines: list[list[str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in header:
        table.add_column(title, overflow="fold")
    for line in lines:
        table.add_row(*line)
    return table


def _markdown(header: list[str], lines: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, ["---"] * len(header), *lines])
