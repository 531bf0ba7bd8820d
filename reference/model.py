"""Language models with rational conditionals: what target and draft are to the exact engine.

A model answers ``probabilities(prefix)``, one row of ``vocabulary`` fractions. Prefixes count from where the model
starts; ``after(model, prefix)`` moves that start, so a verifier always sees the empty prefix at the start of its block.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

Prefix = tuple[int, ...]
Row = tuple[Fraction, ...]


class Model(Protocol):
    """Conditional next-token probabilities after a prefix."""

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        ...

    def probabilities(self, prefix: Prefix) -> Sequence[Fraction]:
        """Return the V conditional probabilities of the next token after ``prefix``."""
        ...

    def __hash__(self) -> int:
        """A model is part of a state and of a cache's key: equal models answer alike."""
        ...


class TableModel:
    """A model given by one row for every prefix up to some depth. Immutable; compared by identity."""

    def __init__(self, rows: Mapping[Prefix, Iterable[Fraction | int | str]]) -> None:
        """Check the table. Raises ``ValueError`` or ``TypeError`` naming the first bad row and what is allowed."""
        if () not in rows:
            raise ValueError("a table needs a row for the empty prefix")
        self._rows = {tuple(prefix): exact_row(row, f"prefix {prefix}") for prefix, row in rows.items()}
        self.vocabulary = len(self._rows[()])
        self.depth = max(map(len, self._rows))
        for prefix, row in self._rows.items():
            if len(row) != self.vocabulary:
                raise ValueError(f"row of prefix {prefix} has {len(row)} entries, the first row has {self.vocabulary}")
            if any(not 0 <= token < self.vocabulary for token in prefix):
                raise ValueError(f"prefix {prefix} has a token outside 0..{self.vocabulary - 1}")

    @classmethod
    def from_table(cls, table: Mapping[str, Iterable[Fraction | int | str]]) -> "TableModel":
        """Read a table keyed by comma-separated prefixes: ``{"": ["1/2", "1/2"], "0,1": [...]}``."""
        return cls({tuple(int(t) for t in key.split(",") if t.strip()): row for key, row in table.items()})

    def probabilities(self, prefix: Prefix) -> Row:
        """Return the row of ``prefix``; raises ``LookupError`` where the table has none."""
        try:
            return self._rows[prefix]
        except KeyError:
            raise LookupError(
                f"the table has no row for prefix {prefix}; its longest prefix has {self.depth} tokens"
            ) from None


@dataclass(frozen=True)
class Shifted:
    """A model read from a later starting point."""

    base: Model
    start: Prefix

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        return self.base.vocabulary

    def probabilities(self, prefix: Prefix) -> Sequence[Fraction]:
        """Return the base model's row after ``start + prefix``."""
        return self.base.probabilities(self.start + prefix)

    def after(self, prefix: Prefix) -> Model:
        """Move the start further, without nesting."""
        return after(self.base, self.start + prefix)


def after(model: Model, prefix: Prefix) -> Model:
    """Return the model that starts where ``prefix`` ends. A model may know better through its own ``after``."""
    if not prefix:
        return model
    own = getattr(model, "after", None)
    return own(prefix) if own else Shifted(model, prefix)


def joint(model: Model, prefix: Prefix, path: Prefix) -> Fraction:
    """Probability of ``path`` after ``prefix``: the product of conditionals, zero as soon as one is zero."""
    product = Fraction(1)
    for i, token in enumerate(path):
        product *= model.probabilities(prefix + path[:i])[token]
        if product == 0:  # a row after an impossible prefix may not exist
            break
    return product


@lru_cache(maxsize=1 << 16)  # every rule asks for the same few rows again in each of its runs
def children(model: Model, prefix: Prefix) -> Row:
    """Joint probabilities of the one-token extensions of ``prefix``; all zero where the prefix is impossible."""
    mass = children(model, prefix[:-1])[prefix[-1]] if prefix else Fraction(1)
    if mass == 0:  # a row after an impossible prefix may not exist
        return (Fraction(0),) * model.vocabulary
    return tuple(mass * share for share in model.probabilities(prefix))


def sequences(model: Model, length: int) -> dict[Prefix, Fraction]:
    """The law of the model's first ``length`` tokens; impossible sequences are left out."""
    result: dict[Prefix, Fraction] = {(): Fraction(1)}
    for _ in range(length):
        result = {
            (*path, token): mass * share
            for path, mass in result.items()
            for token, share in enumerate(model.probabilities(path))
            if share > 0
        }
    return result


def prefixes(vocabulary: int, depth: int) -> Iterator[Prefix]:
    """All prefixes of at most ``depth`` tokens, shortest first."""
    level: list[Prefix] = [()]
    for _ in range(depth + 1):
        yield from level
        level = [(*prefix, token) for prefix in level for token in range(vocabulary)]


def exact_row(row: Iterable[Fraction | int | str], where: str) -> Row:
    """Return the row as fractions. Raises ``TypeError`` for floats, ``ValueError`` unless it is a probability row."""
    values = []
    for entry in row:
        if isinstance(entry, float):
            if not math.isfinite(entry):
                raise ValueError(f"{where}: {entry!r} is not a probability")
            raise TypeError(f"{where}: {entry!r} is a float; give a fraction such as {str(Fraction(str(entry)))!r}")
        try:
            values.append(Fraction(entry))
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"{where}: {entry!r} is not a fraction such as '1/3' or '0.25'") from None
    if any(value < 0 for value in values):
        raise ValueError(f"{where}: negative probability in {[str(value) for value in values]}")
    if sum(values) != 1:
        raise ValueError(f"{where}: the probabilities {[str(v) for v in values]} sum to {sum(values)}, not to 1")
    return tuple(values)
