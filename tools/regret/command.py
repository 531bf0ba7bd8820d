"""``specproof regret``: what policies lose on an instance; ``--explain`` the paper's claims; ``--tables`` its simulations."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from specproof import regret_tables as published
from specproof.output import check_destination, report_console, write_data
from specproof.reference.bandits import policy_names
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.rewards import PER_COST, REWARDS
from specproof.regret import explain as claims
from specproof.regret.claims import Claim
from specproof.regret.instances import ABOUT, typed
from specproof.regret.picture import ENDINGS, draw
from specproof.regret.show import render, tables_json, to_json
from specproof.regret.simulate import Contender, Runs, checkpoints, contender, simulate
from specproof.usage import refuse

LEAST_TOKENS = 50
UNEXPECTED = 1


def regret(
    policy: Annotated[
        list[str] | None,
        typer.Option(help=f"name or name:key=value,...; may be repeated. {', '.join(policy_names())}."),
    ] = None,
    reward: Annotated[
        str | None, typer.Option(help=f"{', '.join(REWARDS)} (BD, BE, CBE, tBD) or {PER_COST}. Default BD.")
    ] = None,
    tokens: Annotated[int, typer.Option(help="Length of the text, B.")] = 16_000,
    instance: Annotated[str, typer.Option(help=f"One of {ABOUT}.")] = "mid",
    length: Annotated[str | None, typer.Option(help="Tokens in a draft, N: one for all drafters, or 5,3,0.")] = None,
    dispersion: Annotated[
        float | None, typer.Option(help="Variance of TV over that of a coin: 1 is greedy decoding. Default 0.5.")
    ] = None,
    cost: Annotated[str | None, typer.Option(help="Cost of a round with each drafter, such as 1,1.2,0.8.")] = None,
    switch_cost: Annotated[float, typer.Option(help="Cost of changing the drafter.")] = 0.0,
    runs: Annotated[int, typer.Option(help="Independent runs of each policy.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the runs.")] = 0,
    explain: Annotated[bool, typer.Option("--explain", help="Test the paper's claims, a few minutes.")] = False,
    tables: Annotated[bool, typer.Option("--tables", help="Simulate the published tables again.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="With --tables: shorter texts, a quarter of the runs.")
    ] = False,
    only: Annotated[list[str] | None, typer.Option(help="A claim's or a table's number; may be repeated.")] = None,
    json: Annotated[str | None, typer.Option(help="Write every number as JSON here; - for stdout.")] = None,
    picture: Annotated[str | None, typer.Option(help="Draw regret against tokens: a .png or .svg file.")] = None,
) -> None:
    """Simulate bandits over drafters: lost rounds with quantiles, the noiseless curve and the theorem's bound.

    Exit code 1 when --explain or --tables finds a number that is not as expected.
    """
    check_destination("--json", json)
    if picture is not None:
        check_destination("--picture", picture, ENDINGS)
    if explain and tables:
        refuse("--explain and --tables: choose one")
    if only and not (explain or tables):
        refuse("--only chooses among claims or tables; add --explain or --tables")
    if picture is not None and (explain or tables):
        refuse("--picture draws the regret of policies; leave --explain and --tables out")
    torch.set_num_threads(1)  # two threads make small tensors many times slower than one
    if explain:
        raise typer.Exit(_explain(only or [], seed, json))
    if tables:
        raise typer.Exit(_tables(only or [], seed, json, quick=quick))
    _check_size(tokens, runs)
    where = typed(instance, tokens, length=length, dispersion=dispersion, costs=cost, switch_cost=switch_cost)
    told = reward or ("BD" if len(set(where.drafters.lengths)) == 1 and not where.costs else PER_COST)
    chosen = [contender(text, told, where) for text in policy or ["meta_sd_ucb"]]
    found = _simulated(chosen, where, tokens, runs, seed)
    report_console(json).print(render(found))
    if json is not None:
        write_data(json, to_json(found, seed))
    if picture is not None:
        draw(found, Path(picture))
        Console(stderr=True, highlight=False).print(f"written: {picture}")


def _check_size(tokens: int, runs: int) -> None:
    if tokens < LEAST_TOKENS:
        refuse(f"--tokens must be at least {LEAST_TOKENS}, got {tokens}")
    if runs < 2:
        refuse(f"--runs must be at least 2 for a standard error, got {runs}")


@contextmanager
def _progress() -> Iterator[tuple[Progress, TaskID]]:
    columns = (BarColumn(), TextColumn("{task.percentage:3.0f} %"), TimeElapsedColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, TextColumn("[dim]{task.description}"), console=console, transient=True) as progress:
        yield progress, progress.add_task("", total=1.0)


def _simulated(chosen: list[Contender], where: Instance, tokens: int, runs: int, seed: int) -> list[Runs]:
    found = []
    with _progress() as (progress, task):
        for done, given in enumerate(chosen):

            def listen(share: float, done: int = done, name: str = given.name) -> None:
                progress.update(task, completed=(done + share) / len(chosen), description=name)

            listen(0.0)
            found.append(simulate(given, where, checkpoints(tokens), runs=runs, seed=seed, listen=listen))
    return found


def _explain(only: list[str], seed: int, json: str | None) -> int:
    try:
        wanted = claims.chosen(only)
    except ValueError as error:
        refuse(error)
    with _progress() as (progress, task):

        def listen(claim: Claim, share: float) -> None:
            done = (wanted.index(claim) + share) / len(wanted)
            progress.update(task, completed=done, description=f"claim {claim.number}")

        found = claims.answers(wanted, seed, listen)
    report_console(json).print(claims.render(found))
    if json is not None:
        write_data(json, claims.to_json(found))
    return 0 if all(answer.agrees for answer in found) else UNEXPECTED


def _tables(only: list[str], seed: int, json: str | None, *, quick: bool) -> int:
    with _progress() as (progress, task):
        try:
            found = published.tables(
                only, quick=quick, seed=seed,
                listen=lambda name, share: progress.update(task, completed=share, description=name),
            )  # fmt: skip
        except ValueError as error:
            refuse(error)
    console = report_console(json)
    for result in found:
        console.print(result.rich())
    if json is not None:
        write_data(json, tables_json(found, seed))
    return 0 if all(cell.agrees for result in found for cell in result.cells) else UNEXPECTED
