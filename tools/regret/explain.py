"""``specproof regret --explain``: every claim, its test run now, expected beside measured, and what follows."""

import json
from collections.abc import Callable, Iterable
from functools import partial

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from specproof.reference.names import nearest
from specproof.regret import claims_exact, claims_published, claims_rewards, claims_simulated
from specproof.regret.claims import Answer, Claim, Laboratory

CLAIMS: dict[int, Claim] = {
    claim.number: claim
    for claim in sorted(
        [*claims_rewards.CLAIMS, *claims_exact.CLAIMS, *claims_simulated.CLAIMS, *claims_published.CLAIMS],
        key=lambda claim: claim.number,
    )
}
STYLES = {"true": "green", "false": "red", "conditional": "yellow", "open": "dim"}
SCHEMA = "specproof-claims/1"


def chosen(numbers: Iterable[str]) -> list[Claim]:
    """The claims with these numbers, all without any. Raises ``ValueError`` for a number that none has."""
    wanted = list(numbers)
    for number in wanted:
        if number not in map(str, CLAIMS):
            raise ValueError(nearest("claim", number, map(str, CLAIMS)))
    return [CLAIMS[int(number)] for number in wanted] or list(CLAIMS.values())


def answers(claims: list[Claim], seed: int, listen: Callable[[Claim, float], None]) -> list[Answer]:
    """Test the claims in turn. ``listen(claim, share)`` hears what is being tested and how far its simulation is."""
    laboratory = Laboratory(seed)
    found = []
    for claim in claims:
        listen(claim, 0.0)
        laboratory.listen = partial(listen, claim)
        found.append(Answer(claim, claim.test(laboratory)))
    return found


def render(found: list[Answer]) -> RenderableType:
    """For a terminal: one block a claim."""
    parts: list[RenderableType] = []
    for answer in found:
        claim = answer.claim
        parts.append(
            Text.assemble(
                (f"{claim.number}. ", "bold"), (claim.says, "bold"), "  ", (answer.verdict, STYLES[answer.verdict])
            )
        )
        table = Table(box=None, padding=(0, 2, 0, 2), header_style="dim", show_header=bool(answer.facts))
        for column in ("", "expected", "measured", ""):
            table.add_column(column, overflow="fold")
        for fact in answer.facts:
            mark = "[green]✓[/]" if fact.agrees else "[red]✗ unexpected[/]"
            table.add_row(escape(fact.what), fact.expected, escape(fact.measured), mark)
        if answer.facts:
            parts.append(table)
        parts += [Text(f"   {claim.reading}", "italic"), Text("")]
    return Group(*parts, summary(found))


def summary(found: list[Answer]) -> Text:
    """One line."""
    counts = ", ".join(f"{sum(a.verdict == verdict for a in found)} {verdict}" for verdict in STYLES)
    facts = [fact for answer in found for fact in answer.facts]
    wrong = sum(not fact.agrees for fact in facts)
    return Text(
        f"{len(found)} claims: {counts}. {len(facts) - wrong} of {len(facts)} measurements as expected.", "bold"
    )


def to_json(found: list[Answer]) -> str:
    """Everything as JSON."""
    data = [
        {
            "number": answer.claim.number, "claim": answer.claim.says, "verdict": answer.verdict,
            "as_expected": answer.agrees, "reading": answer.claim.reading, "facts": [vars(fact) for fact in answer.facts],
        }
        for answer in found
    ]  # fmt: skip
    return json.dumps({"schema": SCHEMA, "claims": data}, indent=1)
