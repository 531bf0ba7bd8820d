"""The command line: ``specproof certify``, ``specproof subjects``. Data goes to stdout, progress to stderr.

Exit codes: 0 certified, 1 refuted, 2 undecided, 64 usage error, 70 crash of specproof itself.
"""

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, get_args

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from specproof.bench.command import bench
from specproof.certificate import Certificate
from specproof.certification import certify as run_certification
from specproof.law_command import law
from specproof.leaderboard.command import leaderboard
from specproof.output import STDOUT, check_destination, report_console, write_data
from specproof.properties.plan import EvidenceChoice
from specproof.properties.subject import Subject
from specproof.properties.verdict import Verdict, merged
from specproof.reference.names import nearest
from specproof.report import print_report
from specproof.subjects import UnknownSubject, __version__, catalogue, parse_options, resolve
from specproof.usage import UsageError

EXIT = {Verdict.HELD: 0, Verdict.FAILED: 1, Verdict.UNDECIDED: 2}
USAGE, CRASH = 64, 70


app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def front_door() -> None:
    """Certify that a speculative-decoding verifier keeps the target's law, or say how far it is off."""


app.command()(law)
app.command()(leaderboard)
app.add_typer(bench, name="bench")


@app.command()
def certify(
    subjects: Annotated[list[str], typer.Argument(metavar="SUBJECT...", help="See `specproof subjects`.")],
    evidence: Annotated[str, typer.Option(help=f"One of {', '.join(get_args(EvidenceChoice))}.")] = "quick",
    seconds: Annotated[float | None, typer.Option(help="Limit on sampling; what it cuts short is UNDECIDED.")] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    seed: Annotated[int, typer.Option(help="Seed of the run; recorded in the certificate.")] = 0,
    option: Annotated[list[str] | None, typer.Option(help="key=value, handed to the subject.")] = None,
    json: Annotated[str | None, typer.Option(help="Write the certificate here; - for stdout.")] = None,
) -> None:
    """Certify one or more subjects."""
    _check_arguments(evidence, seconds, device, json, len(subjects))
    try:
        options = parse_options(option or [])
        resolved = [resolve(subject, options) for subject in subjects]
    except UnknownSubject as error:
        raise UsageError(str(error)) from error
    # Two threads make calls on small tensors many times slower than one.
    torch.set_num_threads(1)
    report = report_console(json)
    verdicts = []
    for subject in resolved:
        certificate = _certify_one(subject, evidence, seed, seconds)
        verdicts.append(certificate.verdict)
        print_report(certificate, report)
        if json is not None:
            write_data(_destination(json, certificate, several=len(resolved) > 1), certificate.to_json())
    raise typer.Exit(EXIT[merged(verdicts)])


def _check_arguments(evidence: str, seconds: float | None, device: str, json: str | None, subjects: int) -> None:
    if evidence not in get_args(EvidenceChoice):
        raise UsageError(nearest("kind of evidence", evidence, get_args(EvidenceChoice)))
    if seconds is not None and not seconds > 0:
        raise UsageError(f"--seconds must be positive, got {seconds}")
    if device != "cpu":
        allowed = ["cpu", "cuda"]
        if device not in allowed:
            raise UsageError(nearest("device", device, allowed))
        if not torch.cuda.is_available():
            raise UsageError("--device cuda: this machine has no CUDA device")
        raise UsageError("--device cuda: no evidence runs on a CUDA device yet; use cpu")
    check_destination("--json", json)
    if json == STDOUT and subjects > 1:
        raise UsageError(f"--json - takes one subject, got {subjects}")


def _certify_one(subject: Subject, evidence: str, seed: int, seconds: float | None) -> Certificate:
    columns = (TextColumn("{task.fields[subject]}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("[dim]{task.description}"), console=Console(stderr=True)) as progress:
        task = progress.add_task("", subject=subject.name, total=None)

        def show(done: int, planned: int, check: str) -> None:
            progress.update(task, completed=done, total=planned, description=check.replace("[", "\\["))

        return run_certification(subject, evidence=evidence, seed=seed, seconds=seconds, on_event=show)  # type: ignore[arg-type]


def _destination(path: str, certificate: Certificate, *, several: bool) -> str:
    """Where a certificate goes; several go to files of their own beside the given name."""
    if not several:
        return path
    name = certificate.subject.name.replace(":", "-").replace("/", "-")
    given = Path(path)
    return str(given.with_name(f"{given.stem}-{name}{given.suffix or '.json'}"))


@app.command()
def subjects() -> None:
    """List everything that can be certified by name."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("subject", "version", "what it is"):
        table.add_column(column, overflow="fold")
    for row in catalogue():
        table.add_row(*row)
    Console(highlight=False).print(table)


@app.command()
def version() -> None:
    """Print the version."""
    print(__version__)


def main() -> None:
    """Run the command line and exit with one of the documented codes."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        code = app(standalone_mode=False)
    except UsageError as error:
        print(f"specproof: {error}", file=sys.stderr)
        sys.exit(USAGE)
    except (KeyboardInterrupt, typer.Abort):
        print("specproof: interrupted", file=sys.stderr)
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - the last resort: a crash has an exit code of its own
        # Some releases of typer bring a copy of click of their own, so its errors are known by what they can do.
        if hasattr(error, "format_message"):
            print(f"specproof: {error.format_message()}", file=sys.stderr)
            sys.exit(USAGE)
        traceback.print_exc()
        print("specproof: this is a fault of specproof, not of the subject; please report it", file=sys.stderr)
        sys.exit(CRASH)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
