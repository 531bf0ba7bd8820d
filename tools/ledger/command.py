"""``specproof ledger``: certify every installed third-party subject and write one table."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.markup import escape
from rich.progress import TaskID, TextColumn

from specproof.integration.packages import Group
from specproof.ledger.board import render, to_html, to_json
from specproof.ledger.keep import default_folder
from specproof.ledger.run import Listener, Settings, run, tasks
from specproof.output import check_destination, report_console, write_data
from specproof.progress import bars
from specproof.properties.plan import EvidenceChoice
from specproof.properties.verdict import Verdict
from specproof.reference.names import nearest
from specproof.usage import refuse

UNDECIDED = 2


def ledger(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="See `specproof subjects`.")] = None,
    group: Annotated[
        str, typer.Option(help=f"One of {', '.join(get_args(Group))}: which subjects without names.")
    ] = "light",
    evidence: Annotated[str, typer.Option(help=f"One of {', '.join(get_args(EvidenceChoice))}.")] = "quick",
    seed: Annotated[int, typer.Option(help="Seed of every certification.")] = 0,
    limit: Annotated[float, typer.Option(help="Seconds for one subject; then it is UNDECIDED.")] = 3600.0,
    jobs: Annotated[int, typer.Option(help="Subjects that are certified at once.")] = 2,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep what an earlier run of the same suite finished.")
    ] = False,
    folder: Annotated[str | None, typer.Option(help="Where certificates and entries are kept.")] = None,
    json: Annotated[str | None, typer.Option(help="Write every number as JSON here; - for stdout.")] = None,
    html: Annotated[str | None, typer.Option(help="Write the table as a page here.")] = None,
) -> None:
    """Certify every installed third-party subject: one table. Exit code 2 when any stayed undecided, otherwise 0."""
    for what, given, allowed in (
        ("group", group, get_args(Group)),
        ("kind of evidence", evidence, get_args(EvidenceChoice)),
    ):
        if given not in allowed:
            refuse(nearest(what, given, allowed))
    if jobs < 1 or not limit > 0:
        refuse(f"--jobs must be at least 1 and --limit positive, got {jobs} and {limit}")
    check_destination("--json", json)
    check_destination("--html", html)
    try:
        planned, skipped = tasks(names or [], group)
    except ValueError as error:
        refuse(error)
    settings = Settings(Path(folder) if folder else default_folder(), evidence, seed, limit, jobs, resume)
    began = time.monotonic()
    with progress() as listen:
        entries = run(planned, settings, listen)
    told = (entries, skipped, evidence, time.monotonic() - began)
    report_console(json).print(render(*told))
    if json is not None:
        write_data(json, to_json(*told))
    if html is not None:
        write_data(html, to_html(*told))
    raise typer.Exit(UNDECIDED if any(entry.verdict is Verdict.UNDECIDED for entry in entries) else 0)


@contextmanager
def progress() -> Iterator[Listener]:
    """A bar for each subject on stderr, as it starts."""
    with bars(TextColumn("{task.fields[subject]}")) as shown:
        known: dict[str, TaskID] = {}

        def listen(name: str, done: int, planned: int, check: str) -> None:
            if name not in known:
                known[name] = shown.add_task("", subject=escape(name), total=planned)
            shown.update(known[name], completed=done, total=planned, description=escape(check))

        yield listen
