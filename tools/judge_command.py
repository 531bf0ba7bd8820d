"""``specproof judge FILE``: judge a stored certificate again, without the subject.

The suite names the checks once more for what the certificate says of the subject, and judges the laws and counts that it
keeps. What comes out is compared with what it records, claim by claim. Checks whose evidence is not kept stand as recorded
and are counted as such; of decoders and bandits, whose checks depend on the object, the summary alone is judged.

LIMITS. This finds verdicts, numbers and claims that do not follow from the kept evidence. It cannot tell whether the
evidence itself was invented: for that, certify the subject again.
"""

import json as json_module
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape

from specproof.certificate import SCHEMA, Certificate, Conclusion, conclude, counted
from specproof.exit_codes import EXIT
from specproof.fast.batch import Drafting
from specproof.kept import KeptCase, NotKept, case_of, evidence_names
from specproof.output import check_destination, report_console, write_data
from specproof.progress import bars
from specproof.properties.cases import Case
from specproof.properties.check import CheckResult, Evidence
from specproof.properties.plan import Check, Gathering, Plan
from specproof.properties.subject import Subject
from specproof.properties.suite import checks
from specproof.properties.verdict import Undecided, Verdict, merged
from specproof.reference.verifiers import rule
from specproof.subjects import __version__
from specproof.usage import refuse

NAMED_AGAIN = ("rule", "verifier")  # kinds whose checks follow from what a certificate says of the subject
SHOWN = 12
JUDGEMENT = "specproof-judgement/1"
NUMBERS = ("total_variation", "upper_bound", "detectable", "log_e", "expected", "observed", "draws", "alpha")


@dataclass(frozen=True)
class Judgement:
    """What follows from a certificate's evidence, and where that is not what it says."""

    subject: str
    recorded: Verdict
    conclusion: Conclusion
    judged: int
    standing: list[str]  # checks whose evidence is not kept
    differences: list[str]
    notes: list[str]

    @property
    def verdict(self) -> Verdict:
        """The verdict. A certificate that contradicts its evidence is at best undecided."""
        found = self.conclusion.verdict
        return merged([found, Verdict.UNDECIDED]) if self.differences else found

    def to_json(self) -> str:
        """Everything, as JSON."""
        found = self.conclusion
        data = {
            "schema": JUDGEMENT, "subject": self.subject, "suite": __version__, "verdict": self.verdict,
            "recorded_verdict": self.recorded, "weakest_violated": found.weakest, "claims": found.claims,
            "judged_again": self.judged, "standing_as_recorded": self.standing, "differences": self.differences,
            "notes": self.notes,
        }  # fmt: skip
        return json_module.dumps(data, indent=1)


def read_certificate(path: str) -> Certificate:
    """Read a certificate. Raises ``ValueError`` that says what is wrong with the file."""
    try:
        data = json_module.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    found = data.get("schema") if isinstance(data, dict) else None
    if found != SCHEMA:
        raise ValueError(f"{path}: schema is {found!r}, this version reads {SCHEMA!r}")
    try:
        return Certificate.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{path} is not a certificate: {where}: {first['msg']}") from error


def judge_again(certificate: Certificate, *, listen: Any = None) -> Judgement:
    """Judge what the certificate keeps. ``listen(done, planned)`` is called before each check."""
    if certificate.subject.kind not in NAMED_AGAIN:
        return _summary_only(certificate)
    subject = _described(certificate)
    planned = list(checks(subject, _plan(certificate)))
    names = evidence_names(planned)
    sources, differences, notes = _sources(certificate, subject, planned, names)
    recorded = {result.id: result for result in certificate.checks}
    results, standing = [], []
    for done, (check, name) in enumerate(zip(planned, names, strict=True)):
        if listen is not None:
            listen(done, len(planned))
        old = recorded.get(check.id)
        if old is None:
            differences.append(f"{check.id}: planned, and without a result")
        elif name in sources:
            result = check.run(sources[name])
            results.append(result)
            differences += _compared(old, result)
        else:
            results.append(old)
            standing.append(check.id)
            if name not in certificate.kept:
                differences.append(f"{check.id}: its evidence {name!r} is missing")
    unplanned = [name for name in recorded if name not in {check.id for check in planned}]
    differences += [f"{name}: not a check of this subject and plan" for name in unplanned]
    found = conclude(len(planned), results)
    differences += _top(certificate, found, len(planned), results)
    if certificate.suite.version != __version__:
        notes.append(f"written by specproof {certificate.suite.version}, judged by {__version__}")
    if standing:
        notes.append(f"{len(standing)} checks rest on evidence that is not kept and stand as recorded")
    return Judgement(
        certificate.subject.name, certificate.verdict, found, len(results) - len(standing), standing, differences, notes
    )


def _summary_only(certificate: Certificate) -> Judgement:
    """Of a subject whose checks depend on the object itself, only the summary is judged."""
    results = certificate.checks
    found = conclude(certificate.counts.planned, results)
    differences = _top(certificate, found, certificate.counts.planned, results)
    note = f"the checks of a {certificate.subject.kind} cannot be named without it: only the summary was judged again"
    standing = [result.id for result in results]
    return Judgement(certificate.subject.name, certificate.verdict, found, 0, standing, differences, [note])


def _described(certificate: Certificate) -> Subject:
    """The subject as far as the certificate describes it: enough to name its checks and judge what was kept."""
    given = certificate.subject
    reason = next((result.reason for result in certificate.checks if result.id == "available"), None)
    return Subject(
        name=given.name, kind=given.kind, version=given.version, options=given.options,  # type: ignore[arg-type]
        drafting=Drafting(given.drafting.drafts, given.drafting.replacement, given.drafting.tree),
        capabilities=frozenset(given.capabilities), largest_deviation=given.largest_deviation, unavailable=reason,
        declared=rule(given.declared_rule, **given.declared_options) if given.declared_rule else None,
    )  # fmt: skip


def _plan(certificate: Certificate) -> Plan:
    return Plan(certificate.evidence, certificate.seeds["suite"], certificate.seconds, certificate.alpha.family)  # type: ignore[arg-type]


def _sources(
    certificate: Certificate, subject: Subject, planned: list[Check], names: list[str]
) -> tuple[dict[str, Gathering], list[str], list[str]]:
    """The kept evidence by name; kept cases that are not the suite's are a difference, or news of another version."""
    sources: dict[str, Gathering] = {}
    changed = []
    for check, name in zip(planned, names, strict=True):
        case, kept = case_of(check.gather), certificate.kept.get(name)
        if kept is None or isinstance(kept, NotKept) or case is None or name in sources:
            continue
        stored = certificate.cases.get(kept.case)
        if stored is not None and stored != KeptCase.of(case):
            changed.append(f"case {kept.case!r} is not the one of this suite")
            case = stored.restored()
        sources[name] = Gathering(_restored, kept, subject, case)
    same = certificate.suite.version == __version__
    return sources, sorted(set(changed)) if same else [], [] if same else sorted(set(changed))


def _restored(kept: Any, subject: Subject, case: Case) -> Any:
    try:
        return kept.restored(subject, case)
    except ValueError as error:
        raise Undecided(f"the kept evidence makes no sense: {error}") from error


def _compared(old: CheckResult, new: CheckResult) -> list[str]:
    """Where a recorded result is not what its evidence says."""
    if old.verdict is not new.verdict:
        return [f"{old.id}: recorded {old.verdict}, its evidence says {new.verdict} ({new.reason})"]
    return [
        f"{old.id}: {name} recorded as {getattr(old.evidence, name)}, its evidence says {getattr(new.evidence, name)}"
        for name in NUMBERS
        if not _close(old.evidence, new.evidence, name)
    ]


def _close(old: Evidence, new: Evidence, name: str) -> bool:
    first, second = getattr(old, name), getattr(new, name)
    if first is None or second is None:
        return all(value is None or math.isnan(value) for value in (first, second))
    return math.isclose(first, second, rel_tol=1e-6, abs_tol=1e-9)


def _top(certificate: Certificate, found: Conclusion, planned: int, results: list[CheckResult]) -> list[str]:
    """Where the certificate's summary is not what its checks add up to."""
    pairs = {
        "verdict": (certificate.verdict, found.verdict),
        "weakest violated claim": (certificate.weakest_violated, found.weakest),
        "also violated": (certificate.also_violated, found.also),
        "counts": (certificate.counts, counted(planned, results)),
    }
    pairs |= {f"claim {claim!r}": (certificate.claims.get(claim), verdict) for claim, verdict in found.claims.items()}
    return [f"{what}: recorded {old}, the checks say {new}" for what, (old, new) in pairs.items() if old != new]


def judge(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A certificate, written with certify --json.")],
    json: Annotated[str | None, typer.Option(help="Write the judgement here; - for stdout.")] = None,
) -> None:
    """Judge a stored certificate again, without the subject."""
    check_destination("--json", json)
    try:
        certificate = read_certificate(file)
        with bars(transient=True) as progress:
            task = progress.add_task(escape(certificate.subject.name), total=None)
            found = judge_again(
                certificate, listen=lambda done, planned: progress.update(task, completed=done, total=planned)
            )
    except ValueError as error:
        refuse(error)
    console = report_console(json)
    _print(found, console)
    if json is not None:
        write_data(json, found.to_json())
    raise typer.Exit(EXIT[found.verdict])


def _print(found: Judgement, console: Console) -> None:
    agrees = "does not follow from its evidence" if found.differences else "follows from its evidence"
    console.print(f"{found.verdict}  {escape(found.subject)}: recorded {found.recorded}; the certificate {agrees}")
    for line in found.differences[:SHOWN]:
        console.print(f"  differs  {escape(line)}")
    if len(found.differences) > SHOWN:
        console.print(f"  ... and {len(found.differences) - SHOWN} more")
    for note in found.notes:
        console.print(f"  note: {escape(note)}")
    console.print(f"  {found.judged} checks judged again, {len(found.standing)} standing as recorded")
