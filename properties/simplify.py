"""Simpler instances: how much a reader must look at in a case, and the moves that leave less of it.

A case is held as the rows that can matter: those after texts that either model can emit. A move takes away a token, a
position, a draft or an iteration, or replaces rows by simpler ones: those of the start, or smaller denominators.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

from specproof.properties.cases import Case
from specproof.reference.model import Prefix, Row, TableModel

Rows = dict[Prefix, Row]
DENOMINATORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 32, 50, 100)
NEAREST = 4  # rows of one denominator that are tried
LISTED = 300  # of more rows than these only the rounded one is tried


@dataclass(frozen=True)
class Instance:
    """A case by its rows. ``changed`` keeps it free of rows that cannot matter."""

    case: Case
    target: Rows
    draft: Rows

    @classmethod
    def of(cls, case: Case) -> "Instance":
        """Read a case. Raises ``LookupError`` where a model lacks a row that can matter."""
        target: Rows = {}
        draft: Rows = {}
        reached: list[Prefix] = [()]
        deepest = case.horizon - 1 + case.length if case.iterated else case.length
        for depth in range(deepest + 1):
            target |= {prefix: tuple(case.target.probabilities(prefix)) for prefix in reached}
            if depth < deepest:
                draft |= {prefix: tuple(case.draft.probabilities(prefix)) for prefix in reached}
            reached = [
                (*prefix, token)
                for prefix in reached
                for token in range(case.vocabulary)
                if target[prefix][token] or draft.get(prefix, target[prefix])[token]
            ]
        trimmed = replace(case, target=TableModel(target), draft=TableModel(draft))
        return cls(trimmed, target, draft)

    def changed(self, target: Rows | None = None, draft: Rows | None = None, **sizes: Any) -> "Instance":
        """The instance with other rows or sizes; a row that becomes possible and is missing is the start's."""
        models = _Rows(self.target if target is None else target), _Rows(self.draft if draft is None else draft)
        return Instance.of(replace(self.case, target=models[0], draft=models[1], **sizes))  # type: ignore[arg-type]

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for equal instances."""
        rows = tuple(sorted(self.target.items())), tuple(sorted(self.draft.items()))
        return (*self.cost[:3], self.case.length, *rows)

    @property
    def cost(self) -> tuple[int, ...]:
        """How much there is to read, most important first: sizes, different rows, rows unlike the start's, denominators."""
        different = sum(1 + denominator(row) for rows in (self.target, self.draft) for row in set(rows.values()))
        exceptions = sum(row != rows[()] for rows in (self.target, self.draft) for row in rows.values())
        everything = sum(denominator(row) for rows in (self.target, self.draft) for row in rows.values())
        return (*self.case.size, different, exceptions, everything)


class _Rows:
    """A model that answers with the row of the start where it has none of its own."""

    def __init__(self, rows: Mapping[Prefix, Row]) -> None:
        self._rows = rows
        self.vocabulary = len(rows[()])

    def probabilities(self, prefix: Prefix) -> Row:
        return self._rows.get(prefix, self._rows[()])


def denominator(row: Row) -> int:
    """The smallest common denominator of a row."""
    return math.lcm(*(share.denominator for share in row))


def sizes(found: Instance, *, fewer_drafts: bool) -> Iterator[Instance]:
    """The instance with fewer iterations, positions, drafts or tokens."""
    case = found.case
    if case.iterated and case.horizon - 1 > case.length + 1:
        yield found.changed(tokens=case.horizon - 1)
    if case.length > 1:
        yield found.changed(length=case.length - 1)
        if not case.iterated:
            yield from (_started(found, token) for token in range(case.vocabulary) if (token,) in found.draft)
    if case.drafts > 1 and fewer_drafts:
        yield found.changed(drafts=case.drafts - 1)
    if case.vocabulary > 2:
        for gone in reversed(range(case.vocabulary)):
            yield _without(found, gone, None)
            yield from (_without(found, gone, into) for into in range(case.vocabulary) if into != gone)


def rows(found: Instance) -> Iterator[Instance]:
    """The instance with simpler rows: repeated from the start, then of smaller denominators, then one by one."""
    constant = [dict.fromkeys(table, table[()]) for table in (found.target, found.draft)]
    yield found.changed(*constant)
    yield found.changed(constant[0])
    yield found.changed(None, constant[1])
    for name, table in (("target", found.target), ("draft", found.draft)):
        for prefix in sorted(table, key=lambda prefix: (-len(prefix), prefix)):
            if table[prefix] != table[()]:
                yield found.changed(**{name: {**table, prefix: table[()]}})
    for name, table in (("target", found.target), ("draft", found.draft)):
        for value in sorted(set(table.values()), key=lambda row: (-denominator(row), row)):
            for simple in simpler(value):
                yield found.changed(**{name: {p: simple if row == value else row for p, row in table.items()}})
    for name, table in (("target", found.target), ("draft", found.draft)):
        for prefix in sorted(table, key=lambda prefix: (-len(prefix), prefix)):
            others = sorted(set(table.values()) - {table[prefix]}, key=lambda row: (denominator(row), row))
            for simple in dict.fromkeys([*others, *simpler(table[prefix])]):
                yield found.changed(**{name: {**table, prefix: simple}})


def _started(found: Instance, token: int) -> Instance:
    """The instance as it goes on after a first token, one position shorter."""
    later = [
        {prefix[1:]: row for prefix, row in table.items() if prefix[:1] == (token,)}
        for table in (found.target, found.draft)
    ]
    return found.changed(*later, length=found.case.length - 1)


def _without(found: Instance, gone: int, into: int | None) -> Instance:
    """The instance without a token: its mass goes to another one, or to all others in proportion."""
    kept = [token for token in range(found.case.vocabulary) if token != gone]

    def short(row: Row) -> Row:
        if into is not None:
            return tuple(row[token] + (row[gone] if token == into else 0) for token in kept)
        left = 1 - row[gone]
        return tuple(row[token] / left for token in kept) if left else (Fraction(1), *[Fraction(0)] * (len(kept) - 1))

    new = [
        {
            tuple(kept.index(token) for token in prefix): short(row)
            for prefix, row in table.items()
            if gone not in prefix
        }
        for table in (found.target, found.draft)
    ]
    return found.changed(*new)


@cache
def simpler(row: Row) -> tuple[Row, ...]:
    """Rows of smaller denominators, the smallest first and the nearest first among those."""
    result: list[Row] = []
    for size in DENOMINATORS:
        if size >= denominator(row):
            break
        if math.comb(size + len(row) - 1, len(row) - 1) > LISTED:
            candidates = [_rounded(row, size)]
        else:
            candidates = [tuple(Fraction(part, size) for part in parts) for parts in _compositions(size, len(row))]
        exact = [candidate for candidate in candidates if denominator(candidate) == size]
        exact.sort(key=lambda candidate: (_distance(candidate, row), candidate))
        result += exact[:NEAREST]
    return tuple(result)


def _distance(first: Row, second: Row) -> Fraction:
    return sum((abs(a - b) for a, b in zip(first, second, strict=True)), start=Fraction(0))


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write ``total`` as a sum of so many numbers from zero up."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in _compositions(total - first, parts - 1))


def _rounded(row: Row, size: int) -> Row:
    """The row in units of ``1 / size``: rounded down, the largest remainders up."""
    units = [math.floor(share * size) for share in row]
    order = sorted(range(len(row)), key=lambda token: (units[token] - row[token] * size, token))
    for token in order[: size - sum(units)]:
        units[token] += 1
    return tuple(Fraction(unit, size) for unit in units)
