"""``specproof bench``: the subcommands, their options and the progress shown while they run."""

from collections.abc import Callable
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from specproof.bench import bandits as choosing
from specproof.bench import efficiency as efficiencies
from specproof.bench import layers as carried
from specproof.bench import select as selecting
from specproof.bench import verify as verifying
from specproof.bench.clock import Listener
from specproof.bench.machine import COPIED, machine
from specproof.bench.report import READING, Part, Report
from specproof.devices import Device, check_device
from specproof.output import check_destination, report_console, write_data

SECONDS = {True: 2.0, False: 20.0}  # for one table, quick or not
bench = typer.Typer(no_args_is_help=True)

Quick = Annotated[bool, typer.Option("--quick", help="Smaller sizes and fewer rounds: under a minute.")]
Json = Annotated[str | None, typer.Option(help="Write every number as JSON here; - for stdout.")]
Run = Callable[[torch.device, Listener], list[Part]]


@bench.callback()
def side_by_side() -> None:
    """Time the fast verifiers beside others on the same inputs, with one thread, or simulate what they accept."""


@bench.command()
def verify(quick: Quick = False, json: Json = None, device: Device = "cpu") -> None:
    """Time every verifier: one draft beside vLLM, flashspec and transformers, several drafts, growth with V, L, K and B."""
    sizes, axes = (verifying.QUICK, {}) if quick else (verifying.FULL, verifying.AXES)
    run(
        "verify",
        quick,
        json,
        device,
        lambda where, listen: verifying.verify(sizes, axes, SECONDS[quick], where, listen),
    )


@bench.command()
def select(quick: Quick = False, json: Json = None, device: Device = "cpu") -> None:
    """Time every selector beside K-SEQ, and how they grow with V."""
    size, vocabularies = (
        (selecting.QUICK, selecting.QUICK_VOCABULARIES) if quick else (selecting.FULL, selecting.VOCABULARIES)
    )
    run(
        "select", quick, json, device,
        lambda where, listen: selecting.select(size, vocabularies, SECONDS[quick], where, listen),
    )  # fmt: skip


@bench.command()
def layers(quick: Quick = False, json: Json = None, device: Device = "cpu") -> None:
    """Time the iterations of a generation: what greedy rules pay for the modifications they carry."""
    sizes = carried.QUICK if quick else carried.FULL
    run(
        "layers", quick, json, device,
        lambda where, listen: carried.layers(sizes, carried.ITERATIONS, SECONDS[quick], where, listen),
    )  # fmt: skip


@bench.command()
def efficiency(quick: Quick = False, json: Json = None, device: Device = "cpu") -> None:
    """Simulate the tokens that every rule emits an iteration on random Markov models: one block, and long runs."""
    plan = efficiencies.QUICK if quick else efficiencies.FULL
    run(
        "efficiency", quick, json, device,
        lambda where, listen: efficiencies.efficiency(plan, where, listen), reading=efficiencies.READING,
    )  # fmt: skip


@bench.command()
def bandits(quick: Quick = False, json: Json = None) -> None:
    """Count the rounds a second that policies for choosing drafters play, all runs at once beside one of the reference."""
    size = choosing.QUICK if quick else choosing.FULL
    run(
        "bandits", quick, json, "cpu",
        lambda where, listen: choosing.bandits(size, SECONDS[quick], where, listen), reading=choosing.READING,
    )  # fmt: skip


def run(command: str, quick: bool, json: str | None, device: str, found: Run, *, reading: str = READING) -> None:
    """Run with one thread and progress on stderr, then print and write the report."""
    check_destination("--json", json)
    check_device(device)
    torch.set_num_threads(1)
    where = torch.device(device)
    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("[dim]{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("the machine", total=None)
        host = machine(where, copied=COPIED // 4 if quick else COPIED)
        parts = found(where, lambda doing: progress.update(task, description=doing))
    report = Report(command, quick, host, parts, reading)
    report_console(json).print(report.render())
    if json is not None:
        write_data(json, report.to_json())
