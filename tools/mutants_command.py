"""``specproof mutants``: the suite before every fault of its catalogue, as one matrix."""

import json as written_json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from typing import Annotated

import torch
import typer
from rich.markup import escape
from rich.progress import TextColumn
from rich.table import Table

from specproof.output import check_destination, report_console, write_data
from specproof.progress import bars
from specproof.properties.matrix import Entry, examine
from specproof.properties.mutants import MUTANTS
from specproof.reference.names import nearest
from specproof.usage import refuse

COLUMNS = ("mutant", "entries", "convicted by", "evidence", "weakest claim violated", "TV", "planned", "spent")


def mutants(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="All of them when none is named.")
    ] = None,
    json: Annotated[str | None, typer.Option(help="Write the matrix as JSON here; - for stdout.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
) -> None:
    """Run every mutant and control: each mutant must be convicted by the property it names, each control acquitted.

    Exit code 0 when all are as expected, 1 otherwise.
    """
    check_destination("--json", json)
    for name in names or ():
        if name not in MUTANTS:
            refuse(nearest("mutant", name, MUTANTS))
    chosen = list(dict.fromkeys(names or MUTANTS))
    entries = _examined(chosen, jobs)
    report = report_console(json)
    report.print(_table(entries))
    unexpected = [entry for entry in entries if not entry.as_expected]
    for entry in unexpected:
        report.print(
            f"[bold red]{entry.mutant}[/]: {entry.verdict}, weakest {entry.weakest_violated}: {escape(entry.reason)}"
        )
    controls = sum(entry.control for entry in entries)
    report.print(
        f"{len(entries) - controls} mutants, {controls} controls: "
        + (f"[bold red]{len(unexpected)} not as expected[/]" if unexpected else "[bold green]all as expected[/]")
    )
    if json is not None:
        write_data(json, to_json(entries))
    raise typer.Exit(1 if unexpected else 0)


def _examined(names: list[str], jobs: int) -> list[Entry]:
    """The entries in the order of their names; progress goes to stderr."""
    found: dict[str, Entry] = {}
    with bars(TextColumn("mutants")) as progress:
        task = progress.add_task("", total=len(names))
        for entry in _as_they_come(names, jobs):
            found[entry.mutant] = entry
            progress.update(task, advance=1, description=entry.mutant)
    return [found[name] for name in names]


def _as_they_come(names: list[str], jobs: int) -> Iterator[Entry]:
    if jobs == 1 or len(names) == 1:
        torch.set_num_threads(1)
        yield from map(examine, names)
        return
    os.environ["OMP_NUM_THREADS"] = "1"  # before the processes load torch
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_one_thread) as pool:
        for future in as_completed([pool.submit(examine, name) for name in names]):
            yield future.result()


def _one_thread() -> None:
    torch.set_num_threads(1)


def _table(entries: list[Entry]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in COLUMNS:
        right = column in ("TV", "planned", "spent")
        table.add_column(column, overflow="fold", justify="right" if right else "left", no_wrap=column == "mutant")
    for entry in entries:
        mark = "green" if entry.as_expected else "bold red"
        by = entry.verdict if entry.control else f"{entry.property}" if entry.verdict == "convicted" else entry.verdict
        where = f"{entry.evidence}: {entry.case}" if entry.case else entry.evidence
        cost = [f"{count:,} {entry.unit}" if count else entry.unit for count in (entry.planned, entry.spent)]
        table.add_row(
            entry.mutant, " ".join(entry.fault_id), f"[{mark}]{by}[/]", where, entry.weakest_violated or "none",
            entry.total_variation or "", *cost,
        )  # fmt: skip
    return table


def to_json(entries: list[Entry]) -> str:
    """The matrix as JSON: one object for each entry, and the counts."""
    data = {
        "schema": "specproof-mutants/1",
        "as_expected": all(entry.as_expected for entry in entries),
        "mutants": sum(not entry.control for entry in entries),
        "controls": sum(entry.control for entry in entries),
        "entries": [asdict(entry) for entry in entries],
    }
    return written_json.dumps(data, indent=2)
