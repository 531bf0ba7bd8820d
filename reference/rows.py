"""Arithmetic on rows of weights that every verification rule shares."""

from collections.abc import Sequence
from fractions import Fraction

from specproof.reference.model import Row


def residual(target: Sequence[Fraction], draft: Sequence[Fraction]) -> Row:
    """Positive part of ``target - draft``, entry by entry, not normalised."""
    return tuple(max(t - d, Fraction(0)) for t, d in zip(target, draft, strict=True))


def scaled(factor: Fraction, row: Sequence[Fraction]) -> Row:
    """The row times a number."""
    return tuple(factor * entry for entry in row)


def normalised(row: Sequence[Fraction]) -> Row:
    """The row divided by its sum. Raises ``ZeroDivisionError`` for a row without mass."""
    return scaled(1 / sum(row, start=Fraction(0)), row)
