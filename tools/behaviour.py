"""What a rule does on one instance, as a report to read and as JSON: laws and ceilings in fractions."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from specproof.properties.cases import Case
from specproof.properties.check import name_of, reached_rows
from specproof.reference.ceilings import ceilings
from specproof.reference.exact import Exact, exact
from specproof.reference.transport.block import block_coupling

SCHEMA = "specproof-law/1"
SHOWN, DIGITS = 32, 25
LONG = "(in the JSON)"  # in place of a fraction that is too long to read
LIMITS = {
    "single_draft": "best rule for one draft",
    "claimed": "claimed by SpecTr-GBV",
    "block_transport": "optimum for one block",
    "level": "level ceiling",
    "union": "union ceiling",
    "alpha_star": "alpha*, best first token",
}
STAGES = ("law of the text", "ceilings", "optimal transport")
Listener = Callable[[int, str], None]


@dataclass(frozen=True)
class Behaviour:
    """A rule, an instance, and what was found. ``own_drafts``: the ceilings for independent drafts do not bind."""

    name: str
    options: Mapping[str, Any]
    case: Case
    found: Exact
    limits: Mapping[str, Fraction]
    own_drafts: bool = False

    def to_json(self) -> str:
        """Everything, fractions as text."""
        case, found = self.case, self.found
        texts = sorted(found.law.keys() | found.target_law.keys())
        depth = case.length if not case.iterated else case.horizon - 1 + case.length
        data = {
            "schema": SCHEMA,
            "rule": self.name,
            "options": {key: value if isinstance(value, bool | int) else str(value) for key, value in self.options.items()},
            "instance": {
                "name": case.name, "vocabulary": case.vocabulary, "length": case.length, "drafts": case.drafts,
                "tokens": case.horizon, "target": reached_rows(case.target, depth + 1),
                "draft": reached_rows(case.draft, depth),
            },
            "expected": {name_of(text): str(found.target_law.get(text, Fraction(0))) for text in texts},
            "observed": {name_of(text): str(found.law.get(text, Fraction(0))) for text in texts},
            "total_variation": str(found.total_variation),
            "lossless": not found.total_variation,
            "accepted_law": {str(count): str(mass) for count, mass in found.accepted_law.items()},
            "expected_accepted": str(found.expected_accepted),
            "block_efficiency": str(found.expected_accepted + 1),
            "ceilings": {name: str(self.limits[name]) for name in LIMITS},
            "ceilings_bind": not self.own_drafts,
        }  # fmt: skip
        return json.dumps(data, indent=1)

    def render(self) -> RenderableType:
        """Lay it out for a terminal."""
        return Group(
            self._headline(), self._models(), Text(""), self._texts(), self._distance(), Text(""), self._lengths(),
            Text(""), self._ceilings(), *self._notes(),
        )  # fmt: skip

    def _headline(self) -> Text:
        case = self.case
        options = "".join(f" {key}={value}" for key, value in self.options.items())
        size = f"V={case.vocabulary} L={case.length} K={case.drafts}, {case.horizon} tokens of text"
        return Text.assemble((self.name + options, "bold"), f"   {size}")

    def _models(self) -> Table:
        table = columns("after", "target", "draft")
        target, draft = (
            reached_rows(self.case.target, self.case.length + 1),
            reached_rows(self.case.draft, self.case.length),
        )
        for prefix in list(target)[: SHOWN // 4]:
            table.add_row(prefix or "(start)", "  ".join(target[prefix]), "  ".join(draft.get(prefix, ["-"])))
        if len(target) > SHOWN // 4:
            table.add_row("...", f"{len(target) - SHOWN // 4} more rows in the JSON", "")
        return table

    def _texts(self) -> Table:
        table = columns("text", "should be", "", "is", "")
        law, target = self.found.law, self.found.target_law
        texts = sorted(law.keys() | target.keys())
        for text in texts[:SHOWN]:
            should, given = target.get(text, Fraction(0)), law.get(text, Fraction(0))
            style = "red" if should != given else None
            table.add_row(name_of(text), *both(should), *both(given), style=style)
        if len(texts) > SHOWN:
            table.add_row("...", f"{len(texts) - SHOWN} more in the JSON", "", "", "")
        return table

    def _distance(self) -> Text:
        distance = self.found.total_variation
        if not distance:
            return Text("total variation 0: the law of this text is the target's", style="green")
        fraction, decimal = both(distance)
        return Text(f"total variation {decimal if fraction == LONG else f'{fraction} = {decimal}'}: lossy", "bold red")

    def _lengths(self) -> Table:
        table = columns("accepted tokens", "probability", "")
        for count, mass in self.found.accepted_law.items():
            table.add_row(str(count), *both(mass))
        table.add_row(escape("E[tau]"), *both(self.found.expected_accepted), style="bold")
        table.add_row("block efficiency", *both(self.found.expected_accepted + 1), style="bold")
        return table

    def _ceilings(self) -> Table:
        table = columns(escape("E[tau] is compared with"), "", "", "share reached")
        for name, title in LIMITS.items():
            reached = self.found.expected_accepted / self.limits[name] if self.limits[name] else None
            share = "" if name == "alpha_star" or reached is None else f"{float(reached):.4f}"
            table.add_row(title, *both(self.limits[name]), share)
        return table

    def _notes(self) -> list[Text]:
        if not self.own_drafts:
            return []
        return [Text("This rule draws distinct drafts; the ceilings are for independent ones.", "dim")]


def columns(*titles: str) -> Table:
    """An empty table without lines."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in titles:
        table.add_column(title, no_wrap=True)
    return table


def both(value: Fraction) -> tuple[str, str]:
    """A fraction while it can be read, and its decimal."""
    text = str(value)
    return (text if len(text) <= DIGITS else LONG), f"{float(value):.6f}"


def behaviour(name: str, options: Mapping[str, Any], case: Case, *, own_drafts: bool, listen: Listener) -> Behaviour:
    """Compute it. ``listen(stage, title)`` is called before each stage."""
    size = {"drafts": case.drafts, "length": case.length}
    listen(0, STAGES[0])
    found = exact(name, case.target, case.draft, **size, tokens=case.horizon, **options)
    listen(1, STAGES[1])
    limits = ceilings(case.target, case.draft, **size)
    listen(2, STAGES[2])
    limits["block_transport"] = block_coupling(case.target, case.draft, **size).value
    return Behaviour(name, options, case, found, limits, own_drafts)
