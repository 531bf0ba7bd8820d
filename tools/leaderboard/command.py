"""``specproof leaderboard``: run every exact rule on a fixed suite and print how they compare."""

from pathlib import Path
from typing import Annotated, cast, get_args

import typer
from rich.console import Console

from specproof.leaderboard.board import render, to_json
from specproof.leaderboard.contestants import contestants
from specproof.leaderboard.measure import Board, measure, units
from specproof.leaderboard.picture import ENDINGS, draw
from specproof.leaderboard.suite import SuiteName, suite
from specproof.output import check_destination, report_console, write_data
from specproof.progress import bars
from specproof.reference.names import nearest
from specproof.usage import refuse


def leaderboard(
    suite_name: Annotated[str, typer.Option("--suite", help="small: under a minute; full: many minutes.")] = "small",
    json: Annotated[str | None, typer.Option(help="Write every number as JSON here; - for stdout.")] = None,
    picture: Annotated[str | None, typer.Option(help="Draw acceptance against K: a .png or .svg file.")] = None,
) -> None:
    """Compare every exact rule: share of the optimum, tokens per iteration, lossless, monotone in K."""
    if suite_name not in get_args(SuiteName):
        refuse(nearest("suite", suite_name, get_args(SuiteName)))
    check_destination("--json", json)
    if picture is not None:
        check_destination("--picture", picture, ENDINGS)
    board = run(cast(SuiteName, suite_name))
    report_console(json).print(render(board))
    if json is not None:
        write_data(json, to_json(board))
    if picture is not None:
        draw(board, Path(picture))
        Console(stderr=True, highlight=False).print(f"written: {picture}")


def run(name: SuiteName) -> Board:
    """Measure everyone, with progress on stderr."""
    entries, chosen = contestants(), suite(name)
    with bars(transient=True) as progress:
        task = progress.add_task("", total=units(chosen, entries))
        return measure(chosen, entries, lambda where: progress.update(task, advance=1, description=where))
