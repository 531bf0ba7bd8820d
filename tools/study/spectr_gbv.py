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
from specproof.study.measured import Estimate, Speed, first_block, gain, long_run

SCHEMA = "specproof-study-spectr-gbv/2"
OURS, DEFAULT = "SpecTr-GBV, corrected", "block + race"
# name, verifier, whether it takes several drafts
CONTESTANTS = (
    ("standard", "standard", False),
    ("block", "block", False),
    ("greedy block", "greedy_block", False),
    ("K-SEQ (SpecTr)", "k_seq", True),
    ("recursive", "recursive", True),
    (OURS, "spectr_gbv", True),
    (DEFAULT, "block+race", True),
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
    """One contestant in one setting: tokens a round of every prompt, in its first round and over all of them."""

    name: str
    drafts: int
    length: int
    temperature: float
    one_block: list[float]
    long_runs: list[float]
    speed: Speed

    @property
    def first(self) -> Estimate:
        """Mean of the first rounds."""
        return Estimate.of(self.one_block)

    @property
    def long(self) -> Estimate:
        """Mean over prompts of the mean over rounds."""
        return Estimate.of(self.long_runs)

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


def gains(rows: Sequence[Row], of: str, *, one_block: bool) -> dict[str, Estimate]:
    """Mean relative gain in block efficiency of a contestant over the others, over all settings with the most drafts."""
    most = max(row.drafts for row in rows)

    def values(row: Row) -> list[float]:
        return row.one_block if one_block else row.long_runs

    own = {(row.length, row.temperature): values(row) for row in rows if row.name == of and row.drafts == most}
    pairs: dict[str, list[tuple[list[float], list[float]]]] = {}
    for row in rows:
        if row.name != of and row.drafts in (1, most):
            pairs.setdefault(row.name, []).append((own[row.length, row.temperature], values(row)))
    return {name: gain(found) for name, found in pairs.items()}


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
    compared = [_compared(rows, title, one_block=title == "one block") for title in ("one block", "long runs")]
    note = (
        "Tokens a round, mean over prompts with its 95 % interval; gains compare each prompt with itself, with the most drafts. "
        "Speed relative to plain decoding, on this machine; models only: without verification."
    )
    return Group(table, Text(""), *compared, Text(note, style="dim"))


def _compared(rows: Sequence[Row], title: str, *, one_block: bool) -> Table:
    """What SpecTr-GBV and the default gain over each, beside the paper's figures."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in (f"gain, {title}, over", OURS, DEFAULT, "SpecTr-GBV in its paper"):
        table.add_column(name, justify="left" if "over" in name else "right", min_width=22)
    ours, default = gains(rows, OURS, one_block=one_block), gains(rows, DEFAULT, one_block=one_block)
    for name, _, _ in CONTESTANTS[:-2]:
        paper = f"{PAPER[name]:+.1%}" if name in PAPER else ""
        table.add_row(name, ours[name].percent(), default[name].percent(), paper)
    return table
