"""Which of a request's numbers serves which decision of a rule: the maps that driven evidence knows.

``specproof.fast.randomness.coins`` lays numbers out by position: coin k of position i at ``i each + k``, the one that draws
the token behind them. Most published code does the same, or uses numbers in the order in which it needs them.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from torch import Tensor

from specproof.properties.cases import Case
from specproof.properties.evidence.calls import Emitted, Request, requests_batch
from specproof.properties.program import HandedRows
from specproof.properties.verdict import Undecided
from specproof.reference.model import Prefix
from specproof.reference.verifiers import Rule

Coins = Generator[int, bool, None]  # yields the index of the next coin, is sent whether it passed
Order = Callable[[tuple[Prefix, ...]], tuple[Coins, int | None]]  # of the drafts: coins, and where choices start


class TooFew(Exception):
    """The subject drew fewer numbers than the map needs."""


@dataclass(frozen=True)
class Map:
    """A map by name. Without a place of their own, choices use whatever number is next."""

    name: str
    order: Order


def _in_turn(paths: tuple[Prefix, ...]) -> Coins:
    """Position after position, until one fails."""
    for position in range(len(paths[0])):  # noqa: UP028 - a range takes no answers
        yield position


def _from_the_end(paths: tuple[Prefix, ...]) -> Coins:
    """The longest prefix first, draft after draft; the root has coins too."""
    for draft in range(len(paths)):
        for position in range(len(paths[0]), -1, -1):
            yield position * len(paths) + draft


def _node_by_node(paths: tuple[Prefix, ...]) -> Coins:
    """The drafts through a node in their order, then those that share the accepted token."""
    through, position = list(range(len(paths))), 0
    while position < len(paths[0]):
        for draft in through:
            passed = yield position * len(paths) + draft
            if passed:
                through = [other for other in through if paths[other][position] == paths[draft][position]]
                break
        position += 1


def _by_use(_paths: tuple[Prefix, ...]) -> Coins:
    """The next number, whatever it is for."""
    for number in count():  # noqa: UP028
        yield number


def _placed(coins: Callable[[tuple[Prefix, ...]], Coins], *, root: bool = False) -> Order:
    """Coins by position, and behind them the number that draws the token."""
    return lambda paths: (coins(paths), (len(paths[0]) + root) * len(paths))


IN_USE = Map("in the order of use", lambda paths: (_by_use(paths), None))
_BY_POSITION: dict[str, Order] = {
    "standard": _placed(_in_turn),
    "ensemble": _placed(_in_turn),
    "block": _placed(_from_the_end, root=True),
    "greedy_block": _placed(_from_the_end, root=True),
    "staged_greedy": _placed(_from_the_end, root=True),
    "recursive": _placed(_node_by_node),
    "recursive_without_replacement": _placed(_node_by_node),
    "k_seq": _placed(_node_by_node),
}
_CHOICES_ONLY = ("autoregressive", "typical", "sample_match")
_ONE_DRAFT = ("standard", "ensemble", "block", "greedy_block")


def maps(rule: Rule, drafts: int) -> list[Map]:
    """The maps that are written for a rule; none behind a selector, whose numbers come first."""
    if rule.name in _CHOICES_ONLY:
        return [IN_USE]
    if rule.name not in _BY_POSITION or (rule.name in _ONE_DRAFT and drafts > 1):
        return []
    return [Map("by position, the last number for the token", _BY_POSITION[rule.name]), IN_USE]


class DrivenChance:
    """Answers a rule with given numbers, and keeps how close each decision came to going the other way."""

    def __init__(self, numbers: Sequence[float], given: Map, paths: tuple[Prefix, ...]) -> None:
        self._numbers = numbers
        self._coins, self._place = given.order(paths)
        self._passed: bool | None = None
        self.margin = 1.0
        self.thresholds: list[tuple[int, float]] = []

    def flip(self, probability: Any) -> bool:
        """Return whether the number lies below the probability. Raises ``TooFew`` where there is none."""
        index, number = self._take(self._next_coin())
        threshold = float(probability)
        self._decided(index, threshold, abs(number - threshold))
        self._passed = number < threshold
        return self._passed

    def choose(self, weights: Sequence[Any]) -> int:
        """Return the index in which the number lies when the weights are laid end to end; never one without weight."""
        index, number = self._take(self._next_coin() if self._place is None else self._place)
        row = np.array([float(weight) for weight in weights])
        ends, able = row.cumsum(), row.nonzero()[0]
        for end in ends[able[:-1]]:
            self._decided(index, float(end / ends[-1]), abs(float(number * ends[-1] - end)))
        return min(int(np.searchsorted(ends, number * ends[-1], side="right")), int(able[-1]))

    def _next_coin(self) -> int:
        try:
            index = next(self._coins) if self._passed is None else self._coins.send(self._passed)
        except StopIteration:
            raise TooFew from None
        self._passed = False if self._passed is None else self._passed
        return index

    def _take(self, index: int) -> tuple[int, float]:
        if index >= len(self._numbers):
            raise TooFew
        return index, self._numbers[index]

    def _decided(self, index: int, threshold: float, margin: float) -> None:
        self.margin = min(self.margin, margin)
        self.thresholds.append((index, threshold))


@dataclass
class Reference:
    """A rule in float64 on the rows of one case, as a subject gets them."""

    rule: Rule
    case: Case
    _rows: dict[tuple[Prefix, ...], tuple[HandedRows, HandedRows]] = field(default_factory=dict)

    def decide(self, request: Request, numbers: Sequence[float], given: Map) -> tuple[Emitted, DrivenChance]:
        """What the rule emits with these numbers, and its decisions.

        Raises ``TooFew`` where the map needs more numbers, ``Undecided`` where the rule itself raises.
        """
        target, draft = self._models(request)
        chance = DrivenChance(numbers, given, request.paths)
        try:
            step = self.rule.verify(chance, target, draft, request.paths)  # type: ignore[arg-type]
        except (ValueError, ZeroDivisionError, AssertionError) as error:
            raise Undecided(f"the declared rule raised {type(error).__name__}: {error}") from error
        return Emitted(len(step.accepted), step.tokens), chance

    def _models(self, request: Request) -> tuple[HandedRows, HandedRows]:
        """Target and draft along the drafts of a request."""
        if request.paths not in self._rows:
            drafts = requests_batch(self.case, [request])
            self._rows[request.paths] = (
                self._along(request, drafts.target_probs),
                self._along(request, drafts.draft_rows()),
            )
        return self._rows[request.paths]

    def _along(self, request: Request, probs: Tensor) -> HandedRows:
        rows = {
            path[:i]: row
            for path, along in zip(request.paths, probs[0].tolist(), strict=True)
            for i, row in enumerate(along)
        }
        return HandedRows(rows, self.case.vocabulary)
