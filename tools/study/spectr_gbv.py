"""SpecTr-GBV's comparison (block efficiency and speed by drafts, length, temperature) in generation, with its figures beside ours."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specproof.fast.drafters import Drafter
from specproof.fast.generate import Seconds, Settings, generate, plain
from specproof.fast.language_model import LanguageModel
from specproof.fast.sampling import Sampling
from specproof.fast.verifiers.by_name import verifier_of
from specproof.study.measured import Estimate, Speed, first_block, long_run

SCHEMA = "specproof-study-spectr-gbv/1"
# name, verifier, whether it takes several drafts
CONTESTANTS = (
    ("standard", "standard", False),
    ("block", "block", False),
    ("greedy block", "greedy_block", False),
    ("K-SEQ (SpecTr)", "k_seq", True),
    ("recursive", "recursive", True),
    ("SpecTr-GBV, corrected", "spectr_gbv", True),
    ("block + race", "block+race", True),
)
# What SpecTr-GBV (arXiv 2604.25925) reports for block efficiency, its gain over each.
PAPER = {"K-SEQ (SpecTr)": 0.023, "greedy block": 0.097, "standard": 0.124}
Listen = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Grid:
    """What is varied."""

    drafts: tuple[int, ...]
    lengths: tuple[int, ...]
    temperatures: tuple[float, ...]
    tokens: int


QUICK = Grid((2, 4), (4,), (0.7,), 32)
FULL = Grid((2, 4, 8), (4, 8), (0.1, 0.4, 0.7), 64)


@dataclass(frozen=True)
class Row:
    """One contestant in one setting."""

    name: str
    drafts: int
    length: int
    temperature: float
    first: Estimate
    long: Estimate
    speed: Speed

    def json(self) -> dict[str, Any]:
        """For the report."""
        own = {"name": self.name, "drafts": self.drafts, "length": self.length, "temperature": self.temperature}
        return {**own, "one_block": self.first.json(), "long_runs": self.long.json(), "speed": self.speed.json()}


def study(
    target: LanguageModel, drafter: Drafter, prompts: Sequence[Sequence[int]], grid: Grid, seed: int, listen: Listen
) -> list[Row]:
    """Run every contestant in every setting. ``listen(what, done, of)`` is called before each."""
    settings = [
        (name, verifier, drafts, length, temperature)
        for temperature in grid.temperatures
        for length in grid.lengths
        for name, verifier, several in CONTESTANTS
        for drafts in (grid.drafts if several else (1,))
    ]
    seeds = [seed + index for index in range(len(prompts))]
    baseline: dict[float, tuple[Any, Seconds]] = {}
    rows = []
    for done, (name, verifier, drafts, length, temperature) in enumerate(settings):
        listen(f"{name} K={drafts} L={length} T={temperature}", done, len(settings))
        given = Settings(grid.tokens, drafts, length, Sampling(temperature))
        if temperature not in baseline:
            spent = Seconds()
            baseline[temperature] = (plain(target, prompts, given, seeds=seeds, seconds=spent), spent)
        spent = Seconds()
        made = generate(target, drafter, verifier_of(verifier, drafts), prompts, given, seeds=seeds, seconds=spent)
        speed = Speed.of(made, spent, *baseline[temperature])
        rows.append(Row(name, drafts, length, temperature, first_block(made), long_run(made), speed))
    listen("", len(settings), len(settings))
    return rows


def gains(rows: Sequence[Row], of: str) -> dict[str, float]:
    """Mean relative gain in block efficiency of a contestant over the others, over all settings with the most drafts."""
    most = max(row.drafts for row in rows)
    own = {(row.length, row.temperature): row.long.value for row in rows if row.name == of and row.drafts == most}
    found: dict[str, list[float]] = {}
    for row in rows:
        if row.name != of and row.drafts in (1, most):
            found.setdefault(row.name, []).append(own[row.length, row.temperature] / row.long.value - 1)
    return {name: sum(values) / len(values) for name, values in found.items()}


def render(rows: Sequence[Row]) -> RenderableType:
    """Tables for a terminal."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("T", "L", "K", "", "one block", "long runs", "speed", "models only"):
        table.add_column(title, justify="left" if title == "" else "right")
    for row in rows:
        table.add_row(
            f"{row.temperature:g}", str(row.length), str(row.drafts), row.name, str(row.first), str(row.long),
            f"{row.speed.measured:.2f}", f"{row.speed.models_only:.2f}",
        )  # fmt: skip
    compared = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("gain in tokens a round over", "SpecTr-GBV, corrected", "block + race", "SpecTr-GBV in its paper"):
        compared.add_column(title, justify="left" if "over" in title else "right")
    ours, race = gains(rows, "SpecTr-GBV, corrected"), gains(rows, "block + race")
    for name in [name for name, _, _ in CONTESTANTS[:-2]]:
        paper = f"{PAPER[name]:+.1%}" if name in PAPER else ""
        compared.add_row(name, f"{ours[name]:+.1%}", f"{race[name]:+.1%}", paper)
    note = "Tokens a round, mean over prompts with its 95 % interval. Speed relative to plain decoding, on this machine; models only: without verification."
    return Group(table, Text(""), compared, Text(note, style="dim"))
