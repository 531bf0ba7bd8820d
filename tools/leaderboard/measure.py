"""Run the contestants over a suite: E[tau] and the distance from the target's law on every instance, in fractions."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from specproof.leaderboard.chains import Decoding
from specproof.leaderboard.contestants import Contestant
from specproof.leaderboard.suite import Ladder, Suite
from specproof.properties.cases import Case
from specproof.reference.ceilings import ceilings
from specproof.reference.exact import exact
from specproof.reference.transport.block import block_coupling

Listener = Callable[[str], None]
CEILINGS = ("optimum", "claimed", "level")


@dataclass(frozen=True)
class Run:
    """One contestant on one instance."""

    expected_accepted: Fraction
    total_variation: Fraction


@dataclass(frozen=True)
class Drop:
    """One more draft, and fewer tokens are accepted."""

    case: Case
    before: Fraction
    after: Fraction


@dataclass(frozen=True)
class Share:
    """Share of a ceiling: the mean over all instances, the worst one and where it is."""

    mean: float
    worst: Fraction
    where: Case


@dataclass(frozen=True)
class Board:
    """Everything measured. Instances are known by their case, chains by their name."""

    suite: Suite
    contestants: tuple[Contestant, ...]
    ceilings: dict[Case, dict[str, Fraction]]
    runs: dict[str, dict[Case, Run]]
    rates: dict[str, dict[str, Fraction]]

    def shares(self, contestant: Contestant, ceiling: str) -> Share:
        """How much of a ceiling a contestant reaches, over the instances where there is anything to accept."""
        found = {
            case: run.expected_accepted / self.ceilings[case][ceiling]
            for case, run in self.runs[contestant.name].items()
            if case in self.ceilings and self.ceilings[case][ceiling]
        }
        where = min(found, key=lambda case: (found[case], case.size))
        return Share(sum(map(float, found.values())) / len(found), found[where], where)

    def rate(self, contestant: Contestant) -> float:
        """Mean number of tokens per iteration over the chains."""
        found = self.rates[contestant.name].values()
        return sum(map(float, found)) / len(found)

    def largest_distance(self, contestant: Contestant) -> tuple[Fraction, Case]:
        """The largest total variation and where it is; the smallest instance when all are zero."""
        runs = self.runs[contestant.name]
        where = max(runs, key=lambda case: (runs[case].total_variation, [-part for part in case.size]))
        return runs[where].total_variation, where

    def smallest_lossy(self, contestant: Contestant) -> tuple[Fraction, Case] | None:
        """The smallest instance on which the law is lost, the one that loses most among equals."""
        runs = self.runs[contestant.name]
        lossy = [case for case, run in runs.items() if run.total_variation]
        if not lossy:
            return None
        where = min(lossy, key=lambda case: (case.size, -runs[case].total_variation))
        return runs[where].total_variation, where

    def drop(self, contestant: Contestant) -> Drop | None:
        """The smallest instance on which a draft more lowers E[tau], the deepest fall among equals."""
        drops = []
        for ladder in self.suite.ladders:
            climbed = [(case, self.runs[contestant.name].get(case)) for case in ladder.rungs()]
            for (_, fewer), (case, more) in pairwise(climbed):
                if fewer and more and more.expected_accepted < fewer.expected_accepted:
                    drops.append(Drop(case, fewer.expected_accepted, more.expected_accepted))
        return min(drops, key=lambda drop: (drop.case.size, drop.after - drop.before), default=None)


def units(suite: Suite, contestants: Iterable[Contestant]) -> int:
    """How many times ``measure`` reports."""
    each = sum(ladder.most for ladder in suite.ladders) + len(suite.texts) + len(suite.chains)
    return each * len(list(contestants))


def measure(suite: Suite, contestants: Iterable[Contestant], listen: Listener = lambda where: None) -> Board:  # noqa: ARG005
    """Run everyone on everything. ``listen`` hears the instance before each run."""
    board = Board(suite, tuple(contestants), {}, {}, {})
    for contestant in board.contestants:
        board.runs[contestant.name], board.rates[contestant.name] = {}, {}
    for ladder in suite.ladders:
        _climb(board, ladder, listen)
    for case in suite.texts:
        _run_all(board, case, listen)
    for chain in suite.chains:
        for contestant in board.contestants:
            listen(chain.name)
            if contestant.takes(chain.draft, chain.drafts):
                board.rates[contestant.name][chain.name] = Decoding(contestant.rule, chain).rate()
    return board


def _climb(board: Board, ladder: Ladder, listen: Listener) -> None:
    for case in ladder.rungs():
        size = {"drafts": case.drafts, "length": case.length}
        closed = ceilings(case.target, case.draft, **size)
        optimum = block_coupling(case.target, case.draft, **size).value
        board.ceilings[case] = {"optimum": optimum, **{name: closed[name] for name in CEILINGS[1:]}}
        _run_all(board, case, listen)


def _run_all(board: Board, case: Case, listen: Listener) -> None:
    for contestant in board.contestants:
        listen(f"{case.name} K={case.drafts}")
        if contestant.takes(case.draft, case.drafts):
            found = exact(
                contestant.rule_name, case.target, case.draft, drafts=case.drafts, length=case.length,
                tokens=case.horizon, **contestant.options,
            )  # fmt: skip
            board.runs[contestant.name][case] = Run(found.expected_accepted, found.total_variation)
