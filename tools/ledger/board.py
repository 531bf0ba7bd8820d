"""The ledger as text, as JSON and as a page that stands alone."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specproof.ledger.entry import Entry
from specproof.ledger.run import Skipped
from specproof.report import STYLE

COLUMNS = ("subject", "version", "verdict", "weakest violated", "TV", "E[tau]", "of the optimum", "us a row")
READING = (
    "TV: largest total variation from the target of a law that was read without sampling error, or (counted) the distance of "
    "the counts of a refuted subject; where it is '<=', the bound that counts leave open. E[tau]: accepted tokens a block on "
    "case 'context V3 L2' (several drafts: 'context V2 L2'), beside what no lossless rule exceeds there. us a row: least time "
    "of a row in a batch of 4,096 (one request where it takes no batch), V = 3, L = 2, one thread."
)


def cells(entry: Entry) -> list[str]:
    """One row of the table."""
    return [
        entry.name.partition("@")[0],
        entry.version,
        str(entry.verdict),
        entry.weakest or "",
        distance(entry),
        "" if entry.accepted is None else f"{entry.accepted:.4f}",
        "" if entry.share is None else f"{entry.share:.4f}",
        "" if entry.microseconds is None else f"{entry.microseconds:.3g}",
    ]


def distance(entry: Entry) -> str:
    """The total variation, as sharp as it is known."""
    if entry.total_variation is None:
        return ""
    if not entry.counted:
        return f"{entry.total_variation:.2g}"
    if entry.weakest is None and entry.bound is not None:
        return f"<= {entry.bound:.2g}"
    return f"{entry.total_variation:.2g} (counted)"


def render(entries: Sequence[Entry], skipped: Sequence[Skipped], evidence: str, seconds: float) -> RenderableType:
    """Lay the ledger out for a terminal."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in COLUMNS:
        table.add_column(column, overflow="fold", justify="right" if column in COLUMNS[5:] else "left")
    for entry in entries:
        row: list[Text | str] = list(cells(entry))
        row[2] = Text(str(entry.verdict), style=STYLE[entry.verdict])
        table.add_row(*row)
    parts: list[RenderableType] = [table, Text(f"\n{READING}", style="dim")]
    for entry in entries:
        if entry.reason:
            parts.append(Text(f"{entry.name} {entry.verdict}: {entry.reason}"))
        if entry.counterexample:
            parts.append(Text(f"    counterexample: {entry.counterexample}", style="dim"))
        if entry.replay:
            parts.append(Text(f"    replay: {entry.replay}", style="dim"))
    parts += [Text(f"{missing.name} skipped: {missing.reason}", style="dim") for missing in skipped]
    certifying = sum(entry.seconds for entry in entries)
    footer = f"{len(entries)} subjects, {len(skipped)} skipped; evidence {evidence}; {seconds:.0f} s ({certifying:.0f} s of certifying)"
    return Group(*parts, Text(footer, style="dim"))


def to_json(entries: Sequence[Entry], skipped: Sequence[Skipped], evidence: str, seconds: float) -> str:
    """Every number as JSON."""
    found: dict[str, Any] = {
        "schema": "specproof-ledger/1",
        "suite": metadata.version("specproof"),
        "evidence": evidence,
        "elapsed_seconds": round(seconds, 1),
        "entries": [entry.model_dump(mode="json") for entry in entries],
        "skipped": [asdict(missing) for missing in skipped],
    }
    return json.dumps(found, indent=1)


def to_html(entries: Sequence[Entry], skipped: Sequence[Skipped], evidence: str, seconds: float) -> str:
    """Write the page: one file without scripts or requests, everything escaped."""
    here = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader([here, here.parent / "page"]), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    verdicts = [str(entry.verdict) for entry in entries]
    return environment.get_template("ledger.html.jinja").render(
        entries=[(entry, cells(entry)) for entry in entries], skipped=skipped, columns=COLUMNS, reading=READING,
        tally={verdict: verdicts.count(verdict) for verdict in ("HELD", "FAILED", "UNDECIDED")},
        evidence=evidence, seconds=f"{seconds:.0f}", suite=metadata.version("specproof"),
    )  # fmt: skip
