"""The instances that a subject is tried on: small, context-dependent, and together blind to no fault of the catalogue.

A case is a pair of tables. Rows differ at every position and every prefix, so a shifted or stale row shows; probabilities
are small fractions, so a counterexample can be read. ``tokens`` above one block makes it a case over several iterations.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import torch
from torch import Tensor

from specproof.reference.model import Model, Prefix, TableModel, prefixes, sequences


@dataclass(frozen=True)
class Case:
    """One instance. ``purpose`` says what it is there to catch."""

    name: str
    target: TableModel
    draft: TableModel
    length: int
    purpose: str
    drafts: int = 1
    tokens: int | None = None

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        return self.target.vocabulary

    @property
    def horizon(self) -> int:
        """How many tokens of text are compared: one block of ``length + 1`` unless ``tokens`` says more."""
        return self.length + 1 if self.tokens is None else self.tokens

    @property
    def iterated(self) -> bool:
        """Whether the text takes several iterations."""
        return self.horizon > self.length + 1

    @property
    def size(self) -> tuple[int, ...]:
        """How much a reader must look at; counterexamples are reported smallest first."""
        return (self.vocabulary, self.length * self.drafts, self.horizon)

    @property
    def allows_distinct_drafts(self) -> bool:
        """Whether the drafts can start with distinct tokens, wherever a step may start."""
        starts = prefixes(self.vocabulary, self.horizon - 1 if self.iterated else 0)
        return all(sum(share > 0 for share in self.draft.probabilities(start)) >= self.drafts for start in starts)

    @cached_property
    def target_law(self) -> dict[Prefix, Fraction]:
        """The law that a lossless subject's text must have."""
        return sequences(self.target, self.horizon)

    @cached_property
    def tables(self) -> tuple[Tensor, Tensor]:
        """Target and draft rows of every prefix as float32 [nodes, V]; the children of node n are V n + 1 + token."""
        depth = self.horizon - 1 + self.length if self.iterated else self.length
        return self._table(self.target, depth), self._table(self.draft, depth)

    def _table(self, model: Model, depth: int) -> Tensor:
        blank = [0.0] * self.vocabulary  # never read: beyond the deepest row a draft needs
        rows = []
        for prefix in prefixes(self.vocabulary, depth):
            try:
                rows.append([float(share) for share in model.probabilities(prefix)])
            except LookupError:
                rows.append(blank)
        return torch.tensor(rows, dtype=torch.float32)

    def node(self, prefix: Iterable[int]) -> int:
        """Index of a prefix in ``tables``."""
        index = 0
        for token in prefix:
            index = self.vocabulary * index + 1 + token
        return index


def table(vocabulary: int, depth: int, draw_row: "RowMaker") -> TableModel:
    """A model with a row for every prefix of at most ``depth`` tokens, different from its parent's and its siblings'."""
    rows: dict[Prefix, list[Fraction]] = {}
    for prefix in prefixes(vocabulary, depth):
        family = {prefix[:-1], *((*prefix[:-1], token) for token in range(vocabulary))} if prefix else set()
        near = [rows[relative] for relative in family if relative in rows]
        rows[prefix] = next((row for row in (draw_row() for _ in range(50)) if row not in near), draw_row())
    return TableModel(rows)


class RowMaker:
    """Random rows of small fractions: integer weights from 1 to ``most``, some zero with probability ``zeros``.

    Without ``ties`` the weights of a row are distinct: which of two equal tokens a filter keeps is nobody's fault.
    """

    def __init__(self, seed: int, vocabulary: int, most: int = 6, zeros: float = 0.0, *, ties: bool = True) -> None:
        self._random = random.Random(seed)
        self._vocabulary = vocabulary
        self._most = most
        self._zeros = zeros
        self._ties = ties

    def __call__(self) -> list[Fraction]:
        """Return the next row."""
        if not self._ties:
            distinct = self._random.sample(range(1, self._most + 1), self._vocabulary)
            return [Fraction(weight, sum(distinct)) for weight in distinct]
        weights = [
            0 if self._random.random() < self._zeros else self._random.randint(1, self._most)
            for _ in range(self._vocabulary)
        ]
        if not any(weights):
            weights[self._random.randrange(self._vocabulary)] = 1
        return [Fraction(weight, sum(weights)) for weight in weights]


def by_hand(name: str, target: dict[str, str], draft: dict[str, str], length: int, purpose: str) -> Case:
    """A case written out: rows as ``"1/2 3/10 1/5"``, keyed by prefix; a missing row repeats the row of ``""``."""
    vocabulary = len(target[""].split())

    def model(rows: dict[str, str], depth: int) -> TableModel:
        keys = {prefix: ",".join(map(str, prefix)) for prefix in prefixes(vocabulary, depth)}
        return TableModel({prefix: rows.get(key, rows[""]).split() for prefix, key in keys.items()})

    return Case(name, model(target, length), model(draft, length), length, purpose)


def generated(
    name: str, vocabulary: int, length: int, purpose: str, *,
    seed: int, zeros: float = 0.0, most: int = 6, tokens: int | None = None, drafts: int = 1, same: bool = False,
    ties: bool = True,
) -> Case:  # fmt: skip
    """A case with random rows at every prefix. ``same`` makes the draft equal to the target."""
    depth = length if tokens is None else tokens - 1 + length
    target = table(vocabulary, depth, RowMaker(2 * seed, vocabulary, most, zeros, ties=ties))
    draft = target if same else table(vocabulary, depth, RowMaker(2 * seed + 1, vocabulary, most, zeros, ties=ties))
    return Case(name, target, draft, length, purpose, drafts, tokens)


def one_step_cases(drafts: int = 1) -> list[Case]:
    """Cases over one block, from the smallest and most readable up."""
    return _one_draft_cases() if drafts == 1 else _several_draft_cases(drafts)


def _one_draft_cases() -> list[Case]:
    return [
        by_hand("coin", {"": "1/2 1/2"}, {"": "4/5 1/5"}, 1, "smallest instance; stop decided by the drafted token"),
        by_hand("reversed", {"": "1/2 3/10 1/5"}, {"": "1/5 3/10 1/2"}, 1, "shape of the residual"),
        by_hand("two-way residual", {"": "1/5 2/5 2/5"}, {"": "3/5 1/5 1/5"}, 1, "accept coin reused for the residual"),
        by_hand(
            "shared noise", {"": "1/10 3/5 3/10"}, {"": "3/5 3/10 1/10"}, 1, "draft noise reused for the correction"
        ),
        by_hand(
            "uniform target", {"": "1/3 1/3 1/3"}, {"": "2/3 1/6 1/6"}, 1, "temperature of the draft, squared draft"
        ),
        by_hand("certain draft", {"": "1/2 3/10 1/5"}, {"": "0 1 0"}, 1, "one-hot draft"),
        by_hand(
            "rare token",
            {"": "97/100 1/100 1/50"},
            {"": "1/100 97/100 1/50"},
            1,
            "extreme ratios on either side",
        ),
        by_hand(
            "rows by context",
            {"": "1/2 1/2", "0": "1/10 9/10", "1": "4/5 1/5", "0,0": "2/3 1/3", "0,1": "1/4 3/4"},
            {"": "2/3 1/3", "0": "1/2 1/2", "1": "1/5 4/5"},
            2,
            "rows shifted by one position, bonus from the wrong row, one coin for all positions",
        ),
        by_hand(
            "leaky row",
            {"": "1/2 1/2", "0": "9/10 1/10", "1": "1/10 9/10"},
            {"": "9/10 1/10", "0": "1/2 1/2", "1": "1/2 1/2"},
            2,
            "replacement taken from the row after the rejected token",
        ),
        by_hand(
            "impossible tokens",
            {"": "0 1/2 1/2", "0": "1/3 1/3 1/3", "1": "1/2 0 1/2", "2": "1 0 0", "1,2": "0 1 0"},
            {"": "1/3 0 2/3", "2": "1/2 1/2 0", "0": "0 0 1"},
            2,
            "zeros on either side",
        ),
        by_hand("disjoint", {"": "1/2 1/2 0 0"}, {"": "0 0 1/3 2/3"}, 2, "disjoint supports: nothing can be accepted"),
        by_hand("certain target", {"": "0 1 0", "1": "1 0 0", "1,0": "0 0 1"}, {"": "1/2 1/4 1/4"}, 2, "temperature 0"),
        generated("equal models", 3, 2, "draft equals target: everything is accepted", seed=11, same=True),
        generated("context V3 L2", 3, 2, "rows by context at every position", seed=1),
        generated("context V2 L3", 2, 3, "long block", seed=2),
        generated("context V4 L2", 4, 2, "wider vocabulary", seed=3),
        generated("zeros V4 L2", 4, 2, "random zeros on either side", seed=8, zeros=0.25),
        generated("context V5 L1", 5, 1, "wider vocabulary, one token", seed=5),
        generated("context V8 L1", 8, 1, "widest vocabulary", seed=6, most=9),
        generated("zeros V8 L1", 8, 1, "widest vocabulary with zeros", seed=7, zeros=0.3),
    ]


def _several_draft_cases(drafts: int) -> list[Case]:
    """The number of draft sets grows as V^(L K): smaller instances, the same purposes."""
    simple = [
        by_hand(
            "biased coin", {"": "1/2 1/2"}, {"": "3/4 1/4"}, 1, "smallest counterexample to the published GBV rule"
        ),
        by_hand("reversed", {"": "1/2 3/10 1/5"}, {"": "1/5 3/10 1/2"}, 1, "residual after the first draft"),
        by_hand("disjoint", {"": "1 0"}, {"": "0 1"}, 2, "disjoint supports: nothing can be accepted"),
    ]
    return [replace(case, drafts=drafts) for case in simple] + [
        generated("equal models", 2, 2, "draft equals target", seed=41, same=True, drafts=drafts),
        generated("context V2 L2", 2, 2, "rows by context at every position", seed=42, drafts=drafts),
        generated("context V4 L1", 4, 1, "wider vocabulary", seed=43, drafts=drafts),
        generated("zeros V4 L1", 4, 1, "random zeros on either side", seed=44, zeros=0.25, drafts=drafts),
    ]


def iterated_cases(drafts: int = 1) -> list[Case]:
    """Cases over several iterations: what the first block leaves behind must not show in the next."""
    cases = [generated("iterations V2 L1", 2, 1, "many short blocks", seed=22, tokens=4, drafts=drafts)]
    if drafts > 1:
        return cases
    return [
        *cases,
        generated("iterations V2 L2", 2, 2, "carried modification, stale rows", seed=21, tokens=4),
        generated("iterations V3 L1", 3, 1, "three tokens", seed=23, tokens=3),
    ]


def sampled_cases(drafts: int = 1) -> list[Case]:
    """Cases for counting: at most 512 cells, so that the stated number of draws resolves them."""
    one_hot = by_hand(
        "one-hot drafts L2",
        {"": "1/5 3/5 1/5", "1": "1/2 1/4 1/4", "1,0": "1/6 1/3 1/2"},
        {"": "0 1 0", "1": "1 0 0"},
        2,
        "drafts without probabilities, several in a row",
    )
    return [
        *([one_hot] if drafts == 1 else []),
        generated("counts V4 L2", 4, 2, "64 cells", seed=31, drafts=drafts),
        generated("counts V8 L2", 8, 2, "512 cells", seed=32, most=9, drafts=drafts),
        generated("counts V3 L2 iterations", 3, 2, "81 cells over several blocks", seed=33, tokens=4, drafts=drafts),
    ]
