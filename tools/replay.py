"""``specproof replay``: run a subject on one instance again and show the law that it should have and the law it has.

Laws are read as in a certification; what draws where no script reaches is counted.
"""

import json as json_module
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

import torch
import typer
from pydantic import TypeAdapter
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.text import Text

from specproof.exit_codes import EXIT
from specproof.fast.sampling import Sampling
from specproof.law_command import CaseFile, CaseName, DraftRows, Drafts, Json, Length, TargetRows, Tokens, read_instance
from specproof.output import check_destination, report_console, write_data
from specproof.properties.cases import Case
from specproof.properties.check import CLAIMS, CheckResult, Counterexample, counterexample
from specproof.properties.decoder_cases import DecoderCase
from specproof.properties.decoding import decoder_laws
from specproof.properties.evidence.observation import Observation
from specproof.properties.evidence.sampled import SamplePlan
from specproof.properties.plan import FAMILY_ALPHA, Check, Gathering
from specproof.properties.subject import Subject
from specproof.properties.suite import LAWS, counts_on, laws_on
from specproof.properties.verdict import Undecided, Verdict, merged
from specproof.reference.law import total_variation
from specproof.reference.names import nearest
from specproof.report import STYLE, counterexample_tables
from specproof.subjects import UnknownSubject, parse_options, resolve
from specproof.usage import UsageError, refuse

TYPED = ("temperature", "top_k", "top_p", "min_p", "stop")
DRAWS = 2**14  # of what can only be counted
COUNTED = SamplePlan(DRAWS, FAMILY_ALPHA * 0.8, FAMILY_ALPHA * 0.2, seed=0)


def replay(
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="See `specproof subjects`.")],
    target: TargetRows = None,
    draft: DraftRows = None,
    drafts: Drafts = None,
    length: Length = None,
    tokens: Tokens = None,
    sampling: Annotated[
        list[str] | None, typer.Option(help=f"key=value for a whole decoder; keys: {', '.join(TYPED)}.")
    ] = None,
    option: Annotated[list[str] | None, typer.Option(help="key=value, handed to the subject.")] = None,
    case: CaseFile = None,
    case_name: CaseName = None,
    json: Json = None,
) -> None:
    """Run a subject on one instance, such as a counterexample: exit code 1 when a claim still fails there."""
    check_destination("--json", json)
    try:
        resolved = resolve(subject, parse_options(option or []))
    except UnknownSubject as error:
        raise UsageError(str(error)) from error
    instance = read_instance(target, draft, case, case_name, drafts=drafts, length=length, tokens=tokens)
    torch.set_num_threads(1)
    found = replayed(resolved, instance, sampled(sampling or []))
    report_console(json).print(found.render())
    if json is not None:
        write_data(json, found.to_json())
    raise typer.Exit(EXIT[found.verdict])


@dataclass(frozen=True)
class Replayed:
    """What a subject does on one instance. ``shown`` holds both laws; None where they could not be found."""

    subject: Subject
    case: Case
    results: list[CheckResult]
    shown: Counterexample | None

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of a claim."""
        return merged([result.verdict for result in self.results if result.verdict is not Verdict.NOT_APPLICABLE])

    def render(self) -> RenderableType:
        """Lay it out for a terminal."""
        lines = [Text.assemble((f" {self.verdict} ", f"reverse {STYLE[self.verdict]}"), f" {self.subject.name}")]
        for result in self.results:
            lines.append(Text.assemble((f"{result.verdict:14}", STYLE[result.verdict]), f" {result.claim}: "))
            lines[-1].append(result.reason)
        laws = [] if self.shown is None else [counterexample_tables(self.shown, title="Instance")]
        return Group(*lines, *laws)

    def to_json(self) -> str:
        """Everything as JSON."""
        data: dict[str, Any] = {
            "schema": "specproof-replay/1",
            "subject": self.subject.name,
            "options": self.subject.options,
            "verdict": self.verdict,
            "checks": [TypeAdapter(CheckResult).dump_python(result, mode="json") for result in self.results],
            "laws": TypeAdapter(Counterexample | None).dump_python(self.shown, mode="json"),
        }
        return json_module.dumps(data, indent=1)


def sampled(pairs: list[str]) -> Sampling:
    """Parameters of sampling that were typed. Raises ``UsageError``."""
    try:
        given = parse_options(pairs)
        for key in given:
            if key not in TYPED:
                refuse(nearest("parameter of sampling", key, TYPED))
        return Sampling(**given)
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error


def replayed(subject: Subject, case: Case, sampling: Sampling | None = None) -> Replayed:
    """Judge a subject's laws on one instance. Raises ``UsageError`` for a subject without laws, or other drafts."""
    if subject.unavailable:
        refuse(f"{escape(subject.name)} cannot be run: {subject.unavailable}")
    if subject.kind not in (*LAWS, "decoder"):
        refuse(f"{subject.name} is a {subject.kind}; laws on an instance are of a rule, a verifier or a decoder")
    wanted = sampling or Sampling()
    if subject.kind != "decoder" and wanted != Sampling():
        refuse(f"{subject.name} is a {subject.kind}, which is given rows; only a decoder samples with parameters")
    if missing := sorted(wanted.needs - subject.capabilities) if subject.kind == "decoder" else []:
        refuse(f"{subject.name} does not declare {missing[0]}, which these parameters of sampling need")
    if subject.program is not None and subject.program.paths is None:
        subject = replace(subject, drafting=replace(subject.drafting, drafts=case.drafts))
    if subject.drafting.drafts != case.drafts:
        refuse(f"{subject.name} takes {subject.drafting.drafts} draft(s), the instance has {case.drafts}")
    checks = list(_checks(subject, case, wanted))
    results = sorted((check.run() for check in checks), key=lambda result: list(CLAIMS).index(result.claim))
    failed = [r.counterexample for r in results if r.verdict is Verdict.FAILED and r.counterexample is not None]
    gather = checks[0].gather
    assert isinstance(gather, Gathering)
    return Replayed(subject, case, results, next(iter(failed), None) or _laws(gather, case))


def _checks(subject: Subject, case: Case, sampling: Sampling) -> Iterator[Check]:
    if subject.kind == "decoder":
        return decoder_laws(subject, DecoderCase(case, sampling))
    if "hidden_randomness" in subject.capabilities:
        return counts_on(subject, case, replace(COUNTED, draws=subject.affordable(DRAWS)))
    return laws_on(subject, case)


def _laws(gather: Gathering, case: Case) -> Counterexample | None:
    """Both laws of the text, where no claim about them fails and they were read."""
    try:
        seen = gather()
    except Undecided:
        return None
    if not isinstance(seen, Observation):
        return None
    return counterexample(case, case.target_law, seen.text, float(total_variation(seen.text, case.target_law)))
