"""The leaderboard as a table to read and as JSON. Sorted by the mean share of the optimum, lossless rules first."""

import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specproof.leaderboard.contestants import Contestant
from specproof.leaderboard.measure import CEILINGS, Board
from specproof.properties.cases import Case
from specproof.properties.check import reached_rows

SCHEMA = "specproof-leaderboard/1"
DIGITS = 25
READING = (
    "Shares are E[tau] of one block over the block transport optimum, the value SpecTr-GBV claims and the level ceiling: "
    "mean over the instances, and the worst one. tokens/iteration: long decode, what greedy rules carry over included. "
    "* draws distinct drafts: the ceilings, for independent ones, do not bind, and where there are fewer tokens than drafts it "
    "cannot run. Lossy rules may exceed any ceiling."
)


def ranked(board: Board) -> list[Contestant]:
    """The contestants, best first; those that lose the law come last."""
    lost = {entry.name: bool(board.largest_distance(entry)[0]) for entry in board.contestants}
    return sorted(board.contestants, key=lambda entry: (lost[entry.name], -board.shares(entry, "optimum").mean))


def written(case: Case) -> str:
    """An instance in one line."""
    return f"{case.name}, V={case.vocabulary} L={case.length} K={case.drafts}"


def number(value: Fraction) -> str:
    """A fraction while it can be read, otherwise a decimal."""
    return str(value) if len(str(value)) <= DIGITS else f"{float(value):.6f}"


def render(board: Board) -> RenderableType:
    """The table, and below it where a rule fails."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("rule", no_wrap=True)
    for title in ("of optimum", "worst", "of claim", "worst", "of level", "worst", "tokens/\niteration"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("lossless", no_wrap=True)
    table.add_column("monotone\nin K", no_wrap=True)
    failures: list[Text] = []
    for entry in ranked(board):
        shares = [board.shares(entry, ceiling) for ceiling in CEILINGS]
        numbers = [text for share in shares for text in (f"{share.mean:.4f}", f"{float(share.worst):.4f}")]
        distance, _ = board.largest_distance(entry)
        drop, lossy = board.drop(entry), board.smallest_lossy(entry)
        table.add_row(
            entry.name + ("*" if entry.own_drafts else ""), *numbers, f"{board.rate(entry):.4f}",
            Text("yes", "green") if not distance else Text(f"TV {float(distance):.4f}", "red"),
            Text("no", "red") if drop else Text("yes", "green"),
        )  # fmt: skip
        if lossy is not None:
            failures.append(Text(f"{entry.name} loses the law: TV {number(lossy[0])} on {written(lossy[1])}"))
        if drop is not None:
            change = f"E[tau] falls from {number(drop.before)} to {number(drop.after)}"
            failures.append(Text(f"{entry.name} is not monotone: {change} on {written(drop.case)}"))
    size = f"{len(board.ceilings)} instances, {len(board.suite.texts)} longer texts, {len(board.suite.chains)} chains"
    return Group(table, Text(""), *failures, Text(""), Text(f"{board.suite.name} suite: {size}. {READING}", "dim"))


def to_json(board: Board) -> str:
    """Everything measured: fractions as text, means as rounded numbers."""
    numbered = {case: index for index, case in enumerate(_cases(board))}
    data = {
        "schema": SCHEMA,
        "suite": board.suite.name,
        "instances": [_instance(board, case) for case in numbered],
        "chains": [
            {"name": c.name, "vocabulary": c.target.vocabulary, "length": c.length, "drafts": c.drafts,
             "iterations": c.iterations, "target": _rows(c.target.rows), "draft": _rows(c.draft.rows)}
            for c in board.suite.chains
        ],
        "rules": [_rule(board, entry, numbered) for entry in ranked(board)],
    }  # fmt: skip
    return json.dumps(data, indent=1)


def _cases(board: Board) -> list[Case]:
    return [*board.ceilings, *board.suite.texts]


def _rows(rows: Iterable[Iterable[Fraction]]) -> list[list[str]]:
    return [[str(share) for share in row] for row in rows]


def _instance(board: Board, case: Case) -> dict[str, Any]:
    depth = case.length if not case.iterated else case.horizon - 1 + case.length
    return {
        "name": case.name, "vocabulary": case.vocabulary, "length": case.length, "drafts": case.drafts,
        "tokens": case.horizon, "target": reached_rows(case.target, depth + 1), "draft": reached_rows(case.draft, depth),
        "ceilings": {name: str(value) for name, value in board.ceilings.get(case, {}).items()},
    }  # fmt: skip


def _rule(board: Board, entry: Contestant, numbered: dict[Case, int]) -> dict[str, Any]:
    shares = {ceiling: board.shares(entry, ceiling) for ceiling in CEILINGS}
    distance, where = board.largest_distance(entry)
    lossy, drop = board.smallest_lossy(entry), board.drop(entry)
    return {
        "name": entry.name,
        "rule": entry.rule_name,
        "options": dict(entry.options),
        "independent_drafts": not entry.own_drafts,
        "shares": {
            ceiling: {"mean": round(share.mean, 9), "worst": str(share.worst), "worst_instance": numbered[share.where]}
            for ceiling, share in shares.items()
        },
        "tokens_per_iteration": {
            "mean": round(board.rate(entry), 9),
            **{chain: round(float(rate), 9) for chain, rate in board.rates[entry.name].items()},
        },
        "lossless": not distance,
        "largest_total_variation": {"value": str(distance), "instance": numbered[where]},
        "smallest_lossy": lossy and {"total_variation": str(lossy[0]), "instance": numbered[lossy[1]]},
        "monotone": drop is None,
        "smallest_drop": drop
        and {"instance": numbered[drop.case], "before": str(drop.before), "after": str(drop.after)},
        "runs": [
            {
                "instance": numbered[case],
                "expected_accepted": str(run.expected_accepted),
                "total_variation": str(run.total_variation),
            }
            for case, run in board.runs[entry.name].items()
        ],
    }
