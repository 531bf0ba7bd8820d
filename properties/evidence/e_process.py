"""The e-process that decides sampled evidence: valid at every number of draws, so it may be looked at any time.

Under the reference law ``p`` the process E is a non-negative martingale that starts at one, so ``P(E >= 1/alpha, ever) <=
alpha`` (Ville). Half of it is a Dirichlet mixture around p, averaged over the concentrations 4^1 .. 4^12, which sees any
bias; half is a portfolio of the laws of named faults, each mixed into p at three strengths, which finds those sooner and
names them.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

CONCENTRATIONS = 4.0 ** np.arange(1, 13)
STRENGTHS = (0.999, 0.1, 0.01)

Floats = NDArray[np.float64]


class EProcess:
    """An e-process for counts over the cells of ``law`` (all positive), with the laws of named faults as alternatives."""

    def __init__(self, law: Floats, faults: Mapping[str, Floats] | None = None) -> None:
        """Raises ``ValueError`` unless the law is positive and sums to one."""
        if (law <= 0).any() or not math.isclose(law.sum(), 1, abs_tol=1e-9):
            raise ValueError("the law of an e-process must be positive and sum to one; drop impossible cells first")
        self._law = law
        self._scaled = CONCENTRATIONS[:, None] * law  # [concentrations, cells]
        self._names = list(faults or {})
        # A fault may leave the cells (impossible texts): what stays is a sub-law, which only lowers E.
        ratios = [np.log1p(h * (fault / law - 1)) for fault in (faults or {}).values() for h in STRENGTHS]
        self._log_ratios = np.array(ratios).reshape(len(ratios), len(law))

    def log_e(self, counts: NDArray[np.int64]) -> Floats:
        """Natural logarithm of E for counts [..., cells]."""
        parts = [self._mixture(counts)]
        if self._names:
            parts.append(logsumexp(self._portfolio(counts), axis=-1) - math.log(len(self._log_ratios)))
        averaged: Floats = logsumexp(np.stack(parts, axis=-1), axis=-1) - math.log(len(parts))
        return averaged

    def best_explanation(self, counts: NDArray[np.int64]) -> str | None:
        """Name of the fault whose full-strength law explains the counts best, better than the mixture and any dilution."""
        if not self._names:
            return None
        likelihood = self._portfolio(counts)
        best = int(likelihood.argmax())
        full_strength = best % len(STRENGTHS) == 0
        return (
            self._names[best // len(STRENGTHS)] if full_strength and likelihood[best] > self._mixture(counts) else None
        )

    def _mixture(self, counts: NDArray[np.int64]) -> Floats:
        total = counts.sum(-1)[..., None]  # [..., 1]
        cells = gammaln(self._scaled + counts[..., None, :]) - gammaln(self._scaled)  # [..., concentrations, cells]
        whole = gammaln(CONCENTRATIONS) - gammaln(CONCENTRATIONS + total)
        null = (counts * np.log(self._law)).sum(-1)[..., None]
        mixed: Floats = logsumexp(whole + cells.sum(-1) - null, axis=-1) - math.log(len(CONCENTRATIONS))
        return mixed

    def _portfolio(self, counts: NDArray[np.int64]) -> Floats:
        likelihood: Floats = counts @ self._log_ratios.T  # [..., faults x strengths]
        return likelihood
