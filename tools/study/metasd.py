"""MetaSD's comparison in generation: bandits over drafters against every single one, on streams of one domain and of several."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specproof.fast.drafters import Drafter
from specproof.fast.generate import Seconds, Settings, generate, plain
from specproof.fast.language_model import LanguageModel
from specproof.fast.switching import Chooser, SwitchingDrafter
from specproof.fast.verifiers import standard
from specproof.reference.bandits import Bandit, policy, reward
from specproof.reference.chance import Dice
from specproof.regret.claims_published import SPEED_UPS
from specproof.study.measured import Estimate, Speed, long_run

SCHEMA = "specproof-study-metasd/1"
BETA = 0.2  # of UCB: queries are far shorter than the asymptotics of 1/sqrt(length)
ERROR = 0.1  # share of queries that the router sends to a wrong specialist
# name, policy, reward, options
BANDITS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("MetaSD-UCB, BD", "meta_sd_ucb", "block_divergence", {"beta": BETA}),
    ("MetaSD-UCB, BE", "meta_sd_ucb", "block_efficiency", {"beta": BETA}),
    ("MetaSD-UCB, CBE", "meta_sd_ucb", "conditional_block_efficiency", {"beta": BETA}),
    ("EXP3, BD", "exp3", "block_divergence", {}),
    ("successive halving, BD", "successive_halving", "block_divergence", {}),
    ("random", "random", "block_divergence", {}),
)
# Single drafters that bandits over specialists are not measured by.
OUTSIDE = {"large": "it has four times the arms' parameters", "head": "it reads the target's features"}
Query = tuple[str, list[int]]
Listen = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Row:
    """One contestant on one stream."""

    stream: str
    name: str
    efficiency: Estimate
    speed: Speed
    best_arm: float | None  # share of rounds that went to the domain's specialist
    switches: float | None  # a query
    caught_up: float | None  # tokens a round that the chosen drafter had to read first

    def json(self) -> dict[str, Any]:
        """For the report."""
        own = {"stream": self.stream, "name": self.name, "tokens_a_round": self.efficiency.json()}
        rest = {"best_arm": self.best_arm, "switches": self.switches, "caught_up": self.caught_up}
        return {**own, "speed": self.speed.json(), **rest}


@dataclass(frozen=True)
class Contest:
    """The models, and how each query is continued."""

    target: LanguageModel
    specialists: dict[str, Drafter]
    others: dict[str, Drafter]
    settings: Settings
    seed: int = 0

    @property
    def names(self) -> list[str]:
        """Every contestant."""
        return [*self.specialists, *self.others, "router", *(name for name, *_ in BANDITS)]

    def drafter(self, name: str, domain: str, index: int) -> Drafter:
        """Who drafts for a query of a domain."""
        single = {**self.specialists, **self.others}
        if name in single:
            return single[name]
        arms = list(self.specialists.values())
        if name == "router":
            return self._routed(domain, index)
        _, rule, rewarded, options = next(bandit for bandit in BANDITS if bandit[0] == name)

        def fresh() -> Chooser:
            return Bandit(policy(rule, len(arms), **options), Dice(self.seed + index))

        return SwitchingDrafter(arms, fresh, reward(rewarded))

    def _routed(self, domain: str, index: int) -> Drafter:
        """The specialist that a classifier with a known error rate picks."""
        dice = Dice(1000 + self.seed + index)
        names = list(self.specialists)
        wrong = [name for name in names if name != domain]
        picked = wrong[dice.choose([1] * len(wrong))] if wrong and dice.choose([1 - ERROR, ERROR]) else domain  # type: ignore[list-item]
        return self.specialists[picked]

    def run(self, stream: str, name: str, queries: Sequence[Query], baseline: tuple[Any, Seconds]) -> Row:
        """Continue the queries one after the other: bandits start anew with each."""
        spent, made, own, total, switches, caught = Seconds(), [], 0, 0, 0, 0
        for index, (domain, prompt) in enumerate(queries):
            drafter = self.drafter(name, domain, index)
            made += generate(
                self.target, drafter, standard, [prompt], self.settings, seeds=[self.seed + index], seconds=spent
            )
            if isinstance(drafter, SwitchingDrafter):
                (history,) = drafter.histories
                own += history.arms.count(list(self.specialists).index(domain))
                total += len(history.arms)
                switches += history.switches
                caught += sum(history.caught_up[1:])
        counted = (own / total, switches / len(queries), caught / total) if total else (None, None, None)
        return Row(stream, name, Estimate.of(long_run(made)), Speed.of(made, spent, *baseline), *counted)


def study(contest: Contest, streams: dict[str, list[Query]], listen: Listen) -> list[Row]:
    """Run every contestant on every stream. ``listen(what, done, of)`` is called before each."""
    rows = []
    every = [(stream, name) for stream in streams for name in contest.names]
    baseline: dict[str, tuple[Any, Seconds]] = {}
    for done, (stream, name) in enumerate(every):
        listen(f"{stream}: {name}", done, len(every))
        if stream not in baseline:
            spent, made = Seconds(), []
            for index, (_, prompt) in enumerate(streams[stream]):
                made += plain(contest.target, [prompt], contest.settings, seeds=[index], seconds=spent)
            baseline[stream] = (made, spent)
        rows.append(contest.run(stream, name, streams[stream], baseline[stream]))
    listen("", len(every), len(every))
    return rows


def render(rows: Sequence[Row], peers: Sequence[str]) -> RenderableType:
    """Tables for a terminal. ``peers`` are the single drafters of the arms' size, the arms themselves among them."""
    parts: list[RenderableType] = []
    for stream in dict.fromkeys(row.stream for row in rows):
        own = [row for row in rows if row.stream == stream]
        best = max((row.efficiency.value for row in own if row.name in peers), default=float("nan"))
        table = Table(title=stream, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="dim")
        for title in (
            "",
            "tokens a round",
            "of best peer",
            "best arm",
            "switches",
            "read a round",
            "speed",
            "models only",
        ):
            table.add_column(title, justify="left" if title == "" else "right", min_width=24 if title == "" else None)
        for row in own:
            counted = ["" if value is None else f"{value:.2f}" for value in (row.best_arm, row.switches, row.caught_up)]
            table.add_row(
                row.name, str(row.efficiency), f"{row.efficiency.value / best:.3f}", *counted,
                f"{row.speed.measured:.2f}", f"{row.speed.models_only:.2f}",
            )  # fmt: skip
        parts += [table, Text("")]
    outside = [name for name in dict.fromkeys(row.name for row in rows) if name in OUTSIDE]
    parts += [Text(f"{name} stands outside: {OUTSIDE[name]}", style="dim") for name in outside] + [Text("")]
    paper = Table(
        title="MetaSD's own speed-ups", title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="dim"
    )
    for title in ("", "best single", "one for all", "MetaSD-UCB", "of best single"):
        paper.add_column(title, justify="left" if title == "" else "right")
    for name, (single, one, ucb) in SPEED_UPS.items():
        paper.add_row(name, f"{single:.3f}", f"{one:.3f}", f"{ucb:.3f}", f"{ucb / single:.3f}")
    return Group(*parts, paper)
