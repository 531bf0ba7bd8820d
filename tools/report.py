"""The certificate as text: the verdict and the weakest violated claim first, then the evidence, then the counterexample."""

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from specproof.certificate import Certificate
from specproof.properties.check import CLAIMS, CheckResult, Counterexample
from specproof.properties.lattice import falls_with
from specproof.properties.verdict import Verdict

STYLE = {
    Verdict.HELD: "bold green",
    Verdict.FAILED: "bold red",
    Verdict.UNDECIDED: "bold yellow",
    Verdict.NOT_APPLICABLE: "dim",
}
SHOWN = 8


def render(certificate: Certificate) -> RenderableType:
    """Lay the certificate out for a terminal."""
    parts: list[RenderableType] = [_headline(certificate), _claims(certificate)]
    troubled = [c for c in certificate.checks if c.verdict in (Verdict.FAILED, Verdict.UNDECIDED)]
    if troubled:
        parts.append(_troubled(troubled))
    if certificate.counterexample is not None:
        parts.append(_counterexample(certificate.counterexample))
    parts += [Text(f"note: {note}", style="dim") for note in certificate.notes[:3]]
    parts.append(_footer(certificate))
    return Group(*parts)


def _headline(certificate: Certificate) -> Text:
    subject = certificate.subject
    options = "".join(f" {key}={value}" for key, value in subject.options.items())
    line = Text.assemble(
        (f" {certificate.verdict} ", f"reverse {STYLE[certificate.verdict]}"),
        f" {subject.name} {subject.version}{options}\n",
    )
    if certificate.weakest_violated:
        line.append(f"Weakest claim violated: {certificate.weakest_violated}", style="red")
        line.append(f" ({CLAIMS[certificate.weakest_violated]} -- it does not)")
        fallen = falls_with(certificate.weakest_violated, certificate.claims)
        apart = [claim for claim in certificate.also_violated if claim not in fallen]
        if fallen:
            line.append(f"; with it fall: {', '.join(fallen)}")
        if apart:
            line.append(f"; violated beside it: {', '.join(apart)}")
        line.append("\n")
    return line


def _claims(certificate: Certificate) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("claim", "verdict", "checks", "evidence"):
        table.add_column(title, overflow="fold")
    for claim, verdict in certificate.claims.items():
        own = [check for check in certificate.checks if check.claim == claim]
        table.add_row(claim, Text(verdict, style=STYLE[verdict]), str(len(own)), _summary(own))
    return table


def _summary(checks: Iterable[CheckResult]) -> str:
    """The sharpest thing that can be said of a claim in one line."""
    parts = []
    for kind in ("exact", "probed", "sampled"):
        own = [c.evidence for c in checks if c.evidence.kind == kind and c.verdict in (Verdict.HELD, Verdict.FAILED)]
        distances = [e.total_variation for e in own if e.total_variation is not None]
        bounds = [e.upper_bound for e in own if e.upper_bound is not None]
        if kind != "sampled" and distances:
            parts.append(f"{kind}: largest TV {max(distances):.2g}")
        elif kind == "sampled" and bounds:
            confidence = min(e.confidence for e in own if e.confidence is not None)
            parts.append(f"sampled: TV <= {max(bounds):.3f} with confidence 1 - {1 - confidence:.0e}")
        elif own:
            parts.append(kind)
    return "; ".join(parts)


def _troubled(checks: list[CheckResult]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    together: dict[tuple[Verdict, str], list[str]] = {}
    for check in checks:
        together.setdefault((check.verdict, check.reason), []).append(check.id)
    for (verdict, reason), ids in list(together.items())[:SHOWN]:
        others = f" (and {len(ids) - 1} more checks)" if len(ids) > 1 else ""
        table.add_row(Text(verdict, style=STYLE[verdict]), f"{escape(ids[0])}{others}: {escape(reason)}")
    if len(together) > SHOWN:
        table.add_row("", f"... and {len(together) - SHOWN} more, all in the JSON certificate")
    return table


def _counterexample(found: Counterexample) -> RenderableType:
    """The counterexample with the name of its fault and the command that shows it again."""
    lines = []
    if found.fault is not None:
        lines.append(Text.assemble(("Law of the fault: ", "bold"), found.fault))
    if found.replay is not None:  # not wrapped, so that it can be copied
        lines.append(Text.assemble(("Replay: ", "bold"), found.replay, no_wrap=True, overflow="ignore"))
    return Group(counterexample_tables(found), *lines, Text("") if lines else "")


def counterexample_tables(found: Counterexample, *, title: str = "Smallest counterexample") -> RenderableType:
    """The models of an instance and both laws."""
    title = (
        f"{title} ({found.case}: V={found.vocabulary}, L={found.length}, K={found.drafts}), "
        f"total variation {found.total_variation}"
    )
    models = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("after", "target", "draft"):
        models.add_column(column)
    rows = list(found.target)
    for prefix in rows[:SHOWN]:
        models.add_row(prefix or "(start)", "  ".join(found.target[prefix]), "  ".join(found.draft.get(prefix, ["-"])))
    if len(rows) > SHOWN:
        models.add_row("...", f"{len(rows) - SHOWN} more rows in the JSON certificate", "")
    law = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in (found.of, "should be", "is"):
        law.add_column(column)
    for text in list(found.expected)[:SHOWN]:
        law.add_row(text, found.expected[text], found.observed.get(text, "0"))
    if len(found.expected) > SHOWN:
        law.add_row("...", f"{len(found.expected) - SHOWN} more", "")
    return Group(Text(f"\n{title}", style="bold"), models, Text(""), law, Text(""))


def _footer(certificate: Certificate) -> Text:
    counts, calls, draws = certificate.counts, 0, 0
    seen = set()
    for check in certificate.checks:
        if (check.evidence.kind, check.case) not in seen:
            calls += check.evidence.calls or 0
        draws += check.evidence.draws or 0 if check.claim in ("block", "iterations") else 0
        seen.add((check.evidence.kind, check.case))
    return Text(
        f"planned {counts.planned} = run {counts.run} + not applicable {counts.skipped}; undecided {counts.undecided}; "
        f"{calls:,} probing calls, {draws:,} texts; alpha {certificate.alpha.family:g}; {certificate.elapsed_seconds:.1f} s",
        style="dim",
    )


def print_report(certificate: Certificate, console: Console) -> None:
    """Print the report."""
    console.print(render(certificate))
