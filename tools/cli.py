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
from rich.markup import escape
from rich.progress import TextColumn
from rich.table import Table

from specproof.bench.command import bench
from specproof.certificate import Certificate
from specproof.certification import Ahead, planned_checks
from specproof.certification import certify as run_certification
from specproof.cluster.campaign import cluster
from specproof.devices import Device, check_device
from specproof.exit_codes import CRASH, EXIT, USAGE
from specproof.expected import Expectations, check_expected, read_expected
from specproof.generate_command import command as generate
from specproof.install_command import install_packages
from specproof.journal import Journal, identity, opened, suite_digest
from specproof.judge_command import judge
from specproof.law_command import law
from specproof.leaderboard.command import leaderboard
from specproof.ledger.command import ledger
from specproof.mutants_command import mutants
from specproof.output import STDOUT, check_destination, report_console, write_data
from specproof.page import page
from specproof.plan_command import plan
from specproof.power_command import power
from specproof.progress import bars
from specproof.properties.evidence.history import History
from specproof.properties.plan import EvidenceChoice, Plan
from specproof.properties.subject import Subject
from specproof.properties.verdict import merged
from specproof.reference.names import nearest
from specproof.regret.command import regret
from specproof.replay import replay
from specproof.report import print_report
from specproof.selftest_command import selftest
from specproof.study.command import study
from specproof.subjects import UnknownSubject, __version__, catalogue, parse_options, resolve
from specproof.usage import UsageError, refuse
from specproof.write_command import write
from specproof.zoo_command import zoo

COUNTING = ("quick", "nightly", "large-vocabulary", "sampled")


app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def front_door() -> None:
    """Certify that a speculative-decoding verifier keeps the target's law, or say how far it is off."""


app.command()(law)
app.command()(leaderboard)
app.command()(regret)
app.command()(replay)
app.command()(selftest)
app.command()(plan)
bench.command()(power)
app.command()(mutants)
app.command()(judge)
app.command()(write)
app.command()(ledger)
app.command("install")(install_packages)
app.add_typer(bench, name="bench")
app.add_typer(zoo, name="zoo")
app.command("generate")(generate)
app.add_typer(study, name="study")


@app.command()
def certify(
    subjects: Annotated[list[str], typer.Argument(metavar="SUBJECT...", help="See `specproof subjects`.")],
    evidence: Annotated[str, typer.Option(help=f"One of {', '.join(get_args(EvidenceChoice))}.")] = "quick",
    seconds: Annotated[float | None, typer.Option(help="Limit on sampling; what it cuts short is UNDECIDED.")] = None,
    device: Device = "cpu",
    seed: Annotated[int, typer.Option(help="Seed of the run; recorded in the certificate.")] = 0,
    option: Annotated[list[str] | None, typer.Option(help="key=value, handed to the subject.")] = None,
    json: Annotated[str | None, typer.Option(help="Write the certificate here; - for stdout.")] = None,
    html: Annotated[str | None, typer.Option(help="Write the certificate as a page here.")] = None,
    expect: Annotated[str | None, typer.Option(help="Expected failures: {check: reason}, JSON or TOML.")] = None,
    history: Annotated[
        str | None, typer.Option(help="Counts of earlier nights, in a file that this one is added to.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do not go on from a run that was stopped.")] = False,
    scheduler: Annotated[
        str | None, typer.Option(help="Run on the workers of this Dask scheduler, tcp://host:port.")
    ] = None,
) -> None:
    """Certify one or more subjects. A run that is stopped goes on where it was when it is started again."""
    _check_arguments(evidence, seconds, device, json, len(subjects))
    check_destination("--html", html, (".html", ".htm"))
    try:
        options = parse_options(option or [])
        resolved = [resolve(subject, options) for subject in subjects]
    except UnknownSubject as error:
        raise UsageError(str(error)) from error
    plan = Plan(evidence, seed, seconds, history=_history(history, evidence))  # type: ignore[arg-type]
    known = _expected(expect, resolved, plan)
    # Two threads make calls on small tensors many times slower than one.
    torch.set_num_threads(1)
    ahead = cluster(scheduler)
    report = report_console(json)
    verdicts = []
    for subject in resolved:
        with opened(subject, plan, fresh=fresh) as journal:
            certificate = _certify_one(subject, plan, known, journal, ahead)
            verdicts.append(certificate.outcome)
            print_report(certificate, report)
            _print_circumstances(certificate, report)
            for place, write_out in ((json, Certificate.to_json), (html, page)):
                if place is not None:
                    write_data(_destination(place, certificate, several=len(resolved) > 1), write_out(certificate))
    raise typer.Exit(EXIT[merged(verdicts)])


def _check_arguments(evidence: str, seconds: float | None, device: str, json: str | None, subjects: int) -> None:
    if evidence not in get_args(EvidenceChoice):
        raise UsageError(nearest("kind of evidence", evidence, get_args(EvidenceChoice)))
    if seconds is not None and not seconds > 0:
        raise UsageError(f"--seconds must be positive, got {seconds}")
    check_device(device)
    if device != "cpu":
        raise UsageError("--device cuda: no evidence runs on a CUDA device yet; use cpu")
    check_destination("--json", json)
    if json == STDOUT and subjects > 1:
        raise UsageError(f"--json - takes one subject, got {subjects}")


def _history(path: str | None, evidence: str) -> History | None:
    """The counts of earlier nights under this version of the suite."""
    if path is None:
        return None
    if evidence not in COUNTING:
        raise UsageError(f"--history keeps counts: it takes --evidence {', '.join(COUNTING)}, got {evidence}")
    check_destination("--history", path)
    try:
        return History(
            path, f"{__version__} {suite_digest()}", source=lambda subject: identity(subject, Plan())["source"]
        )
    except ValueError as error:
        refuse(error)


def _expected(path: str | None, subjects: list[Subject], plan: Plan) -> dict[str, str]:
    """The expected failures, each a check of every subject."""
    try:
        known = read_expected(path) if path is not None else {}
        for subject in subjects:
            check_expected(known, planned_checks(subject, plan))
    except ValueError as error:
        refuse(error)
    return known


def _print_circumstances(certificate: Certificate, console: Console) -> None:
    """Say what was taken over from a stopped run, and how the expected failures came out."""
    if certificate.resumed is not None:
        console.print(f"resumed: {certificate.resumed.checks} checks from a run begun {certificate.resumed.begun}")
    found = certificate.expectations
    if found is not None:
        console.print(_expectations(found))


def _expectations(found: Expectations) -> str:
    lines = [f"expected failures: {len(found.failed)} of {len(found.expected)} failed; outcome {found.outcome}"]
    lines += [f"  expected to fail and passed: {escape(name)}" for name in found.passed]
    lines += [f"  failed and was not expected: {escape(name)}" for name in found.unexpected]
    return "\n".join(lines)


def _certify_one(
    subject: Subject, plan: Plan, expected: dict[str, str], journal: Journal, ahead: Ahead | None
) -> Certificate:
    with bars(TextColumn("{task.fields[subject]}")) as progress:
        task = progress.add_task("", subject=subject.name, total=None)

        def show(done: int, planned: int, check: str) -> None:
            progress.update(task, completed=done, total=planned, description=check.replace("[", "\\["))

        return run_certification(
            subject, evidence=plan.evidence, seed=plan.seed, seconds=plan.seconds, expected_failures=expected,
            on_event=show, journal=journal, history=plan.history, ahead=ahead,
        )  # fmt: skip


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
