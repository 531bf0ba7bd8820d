"""Whether answers that must be independent are: exact tests on pairs of them, whatever law the answers have.

Two answers of a pair are independent and the pairs are, so given the first members and the second ones as sets every way
of pairing them is equally likely. Fisher's exact test uses that for one flag (the first draft token was kept), and a sign
test for equality: of two pairs, either the pairs as they are agree more often or those with exchanged partners, and
each is as likely. Both hold at every sample size.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, fisher_exact, norm

Codes = NDArray[np.int64]
TESTS = 2  # per pairing
POWER = 0.999


@dataclass(frozen=True)
class Answers:
    """What one request got in call t and slot b of a batch: a code for the answer, and whether the first token was kept."""

    codes: Codes  # [T, B]
    kept: NDArray[np.bool_]  # [T, B]


@dataclass(frozen=True)
class Pairing:
    """Disjoint pairs of answers and the p-values of both tests."""

    name: str
    pairs: int
    correlation: float
    equal: float
    kept_p: float
    equal_p: float

    @property
    def p_value(self) -> float:
        """The smaller one; the tests share the pairing's part of the false-alarm rate."""
        return min(self.kept_p, self.equal_p)


def pairing(name: str, answers: Answers, first: Codes, second: Codes) -> Pairing:
    """Test pairs of answers; ``first`` and ``second`` index the flattened answers, [pairs]."""
    kept, codes = answers.kept.ravel(), answers.codes.ravel()
    a, b = kept[first], kept[second]
    table = [[int((a & b).sum()), int((a & ~b).sum())], [int((~a & b).sum()), int((~a & ~b).sum())]]
    spread = a.std() * b.std()
    correlation = float(((a & b).mean() - a.mean() * b.mean()) / spread) if spread else 0.0
    x, y = codes[first], codes[second]
    return Pairing(
        name, len(first), correlation, float((x == y).mean()),
        float(fisher_exact(table).pvalue), equality_p_value(x, y),
    )  # fmt: skip


def equality_p_value(x: Codes, y: Codes) -> float:
    """Two-sided sign test: do pairs agree more or less often than pairs with exchanged partners?"""
    half = len(x) // 2
    x1, y1, x2, y2 = x[:half], y[:half], x[half : 2 * half], y[half : 2 * half]
    gain = (x1 == y1).astype(int) + (x2 == y2) - (x1 == y2) - (x2 == y1)
    decided = int((gain != 0).sum())
    return float(binomtest(int((gain > 0).sum()), decided).pvalue) if decided else 1.0


def at_distance(rows: int, columns: int, lag: int) -> tuple[Codes, Codes]:
    """Disjoint pairs of slots ``lag`` apart in the same call: indices into flattened [rows, columns]."""
    slots = np.arange(columns)
    first = slots[(slots % (2 * lag) < lag) & (slots + lag < columns)]
    where = np.arange(rows)[:, None] * columns + first
    return where.ravel(), where.ravel() + lag


def in_consecutive_calls(rows: int, columns: int) -> tuple[Codes, Codes]:
    """Disjoint pairs of calls t and t + 1 in the same slot."""
    first = (np.arange(0, rows - 1, 2)[:, None] * columns + np.arange(columns)).ravel()
    return first, first + columns


def detectable_correlation(pairs: int, alpha: float) -> float:
    """Correlation of the flags that Fisher's test finds with power ``POWER`` (normal approximation, for planning)."""
    return float((norm.isf(alpha / 2) + norm.ppf(POWER)) / math.sqrt(pairs))
