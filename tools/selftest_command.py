"""``specproof selftest``: are the checks as sharp, and as slow to accuse, on this machine as they are said to be?"""

from typing import Annotated

import torch
import typer
from rich.table import Table

from specproof.mutants_command import mutants
from specproof.output import report_console
from specproof.progress import bars
from specproof.properties.calibration import ALPHA, Calibration, calibrate
from specproof.properties.cases import sampled_cases
from specproof.properties.matrix import subject_for
from specproof.properties.mutants import MUTANTS

RUNS = {True: 200, False: 10_000}  # of a right subject on every sampled case


def selftest(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer null runs, and only the mutants that are enumerated.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the null runs.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes for the mutants.")] = 2,
) -> None:
    """Calibrate every deciding count on a right subject, then run the mutants. Exit code 1 when anything is not as said."""
    torch.set_num_threads(1)
    console = report_console(None)
    found = calibrated(RUNS[quick], seed)
    console.print(_table(found))
    off = [it for it in found if not it.within]
    console.print(
        f"null calibration at alpha {ALPHA:g}: "
        + (f"[bold red]{len(off)} checks alarm too often[/]" if off else "[bold green]every level holds[/]")
    )
    names = [name for name in MUTANTS if not quick or subject_for(name).kind == "rule"]
    try:
        mutants(names, None, jobs)
    except typer.Exit as ended:
        raise typer.Exit(1 if off else ended.exit_code) from None


def calibrated(runs: int, seed: int) -> list[Calibration]:
    """Calibrate with progress on stderr."""
    with bars(transient=True) as progress:
        task = progress.add_task("null runs", total=runs * len(sampled_cases()))
        return list(calibrate(runs, seed, listen=lambda done: progress.update(task, advance=done)))


def _table(found: list[Calibration]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("case", "check", "null runs", "alarms", "allowed"):
        table.add_column(title)
    for it in found:
        style = "" if it.within else "bold red"
        table.add_row(it.case, it.check, f"{it.runs:,}", f"{it.alarms:,}", f"{it.allowed:,}", style=style)
    return table
