"""What S runs of a bandit say about its regret: five tests on the harness's own log, each with its error rates.

Pseudo-regret is counted from the arms that the harness saw, never from the bandit's counters. Error rates were measured
with independent certificates of correct policies on the standard instances, S = 32 runs of 16,000 tokens (see
``test_bandit_battery``); they are rates of one certificate, both instances together.

* ``fluid``: two-sided, mean regret against the noiseless curve of the same index at every checkpoint from 1,000 tokens.
  False alarms: 0 of 700 certificates (UCB on block divergence), 2 of 700 (on block efficiency, whose regret is skewed and
  7 % above the curve at 1,000 tokens). Finds regret that is off by 15 % (BD) or 25 % (BE) at 16,000 tokens, either way.
* ``doubling``: the increment over the last two doublings against twice that of two doublings four earlier. Logarithmic
  growth has a ratio below 2, a square root 4, linear growth 16. No false alarm in 1,400. Finds linear parts of
  about one lost round in two hundred.
* ``model``: which of ln, ln^2, sqrt and linear fits the mean regret best. 1 false alarm in 1,400.
* ``lock_in``: no run gives the best arm less than half the rounds of the last octave. Sees what a mean over few runs hides:
  a run in ten that is stuck is seen with probability 0.97.
* ``bound``: mean regret minus three standard errors below the theorem's bound. Rigorous and weak: the bound is about five
  times the regret, and a random policy passes it at short lengths.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specproof.properties.check import Evidence, Finding
from specproof.properties.verdict import Verdict

Floats = NDArray[np.float64]
SETTLED = 1000  # tokens before which the noiseless curve is not compared
SLACK = 0.06  # how far the noiseless curve itself is off, as a share
ERRORS = 3  # standard errors
GROWTH: dict[str, Callable[[Floats], Floats]] = {
    "ln": np.log,
    "ln^2": lambda tokens: np.log(tokens) ** 2,
    "sqrt": np.sqrt,
    "linear": lambda tokens: tokens,
}
LOGARITHMIC = ("ln", "ln^2")


@dataclass(frozen=True)
class Runs:
    """S runs on one instance: ``regret`` [G, S] at ``checkpoints`` [G], each twice the one before.

    ``late_share`` [S] is the best arm's share of the rounds between the last two checkpoints.
    """

    instance: str
    checkpoints: tuple[int, ...]
    regret: Floats
    late_share: Floats

    @property
    def seeds(self) -> int:
        """How many runs."""
        return int(self.regret.shape[1])

    @property
    def mean(self) -> Floats:
        """Mean regret at every checkpoint."""
        mean: Floats = self.regret.mean(1)
        return mean

    @property
    def error(self) -> Floats:
        """Its standard error."""
        error: Floats = self.regret.std(1, ddof=1) / np.sqrt(self.seeds)
        return error

    def at(self, tokens: int) -> Floats:
        """Regret of every run at a checkpoint."""
        row: Floats = self.regret[self.checkpoints.index(tokens)]
        return row


def fluid(runs: Runs, curve: Sequence[float]) -> Finding:
    """Two-sided comparison with the noiseless ``curve`` [G] of the index that is declared."""
    settled = np.array(runs.checkpoints) >= SETTLED
    wanted = np.array(curve)[settled]
    ratio = runs.mean[settled] / wanted
    allowed = SLACK + ERRORS * runs.error[settled] / wanted
    excess = np.abs(ratio - 1) - allowed
    worst = int(excess.argmax())
    tokens = [count for count in runs.checkpoints if count >= SETTLED][worst]
    evidence = Evidence(
        "sampled", expected=float(wanted[worst]), observed=float(ratio[worst] * wanted[worst]),
        tolerance=float(allowed[worst] * wanted[worst]), draws=runs.seeds, detectable=float(2 * allowed[-1]),
    )  # fmt: skip
    reason = (
        f"{evidence.observed:.1f} rounds lost at {tokens:,} tokens, the noiseless curve of the declared index says "
        f"{evidence.expected:.1f} +- {evidence.tolerance:.1f}"
    )
    return Finding(Verdict.FAILED if excess[worst] > 0 else Verdict.HELD, reason, evidence)


def doubling(runs: Runs) -> Finding:
    """Late increments against early ones, run by run."""
    last = runs.checkpoints[-1]
    late = runs.at(last) - runs.at(last // 4)
    early = runs.at(last // 16) - runs.at(last // 64)
    surplus = late - 2 * early
    mean, error = float(surplus.mean()), float(surplus.std(ddof=1) / np.sqrt(runs.seeds))
    evidence = Evidence(
        "sampled", expected=float(2 * early.mean()), observed=float(late.mean()), tolerance=ERRORS * error,
        draws=runs.seeds, detectable=2 * ERRORS * error,
    )  # fmt: skip
    reason = (
        f"the last two doublings cost {late.mean():.1f} rounds, two earlier ones {early.mean():.1f}: "
        f"logarithmic growth allows {2 * early.mean():.1f} + {ERRORS * error:.1f}"
    )
    return Finding(Verdict.FAILED if mean > ERRORS * error else Verdict.HELD, reason, evidence)


def fits(runs: Runs) -> dict[str, float]:
    """Weighted squared error of ``a + b f(tokens)`` for each law of growth f; all have two parameters, so AIC ranks alike."""
    settled = np.array(runs.checkpoints) >= SETTLED
    tokens = np.array(runs.checkpoints, dtype=float)[settled]
    mean, error = runs.mean[settled], np.maximum(runs.error[settled], 1e-9)
    misfit = {}
    for name, law in GROWTH.items():
        design = np.stack([np.ones_like(tokens), law(tokens)], axis=1) / error[:, None]
        solution = np.linalg.lstsq(design, mean / error, rcond=None)[0]
        misfit[name] = float(((design @ solution - mean / error) ** 2).sum())
    return misfit


def model(runs: Runs) -> Finding:
    """Which law of growth fits best."""
    misfit = fits(runs)
    best = min(misfit, key=misfit.__getitem__)
    logarithmic = min(misfit[name] for name in LOGARITHMIC)
    other = min(misfit[name] for name in misfit if name not in LOGARITHMIC)
    evidence = Evidence("sampled", observed=logarithmic, expected=other, draws=runs.seeds)
    reason = f"{best} fits best (AIC better by {abs(other - logarithmic):.1f} than the nearest of the other kind)"
    return Finding(Verdict.HELD if best in LOGARITHMIC else Verdict.FAILED, reason, evidence)


def lock_in(runs: Runs) -> Finding:
    """Whether every run has found the best arm at the end."""
    stuck = int((runs.late_share < 1 / 2).sum())
    evidence = Evidence(
        "sampled", observed=float(runs.late_share.min()), expected=0.5, draws=runs.seeds,
        detectable=1 - 0.03 ** (1 / runs.seeds),
    )  # fmt: skip
    reason = (
        f"the best arm has {runs.late_share.min():.0%} to {runs.late_share.max():.0%} of the last octave's rounds"
        if not stuck
        else f"{stuck} of {runs.seeds} runs give the best arm less than half the rounds of the last octave"
    )
    return Finding(Verdict.FAILED if stuck else Verdict.HELD, reason, evidence)


def bound(runs: Runs, limits: Sequence[float]) -> Finding:
    """Mean regret against the theorem's bound [G]."""
    lower = runs.mean - ERRORS * runs.error
    worst = int((lower / np.array(limits)).argmax())
    evidence = Evidence(
        "sampled", expected=float(limits[worst]), observed=float(runs.mean[worst]),
        tolerance=float(ERRORS * runs.error[worst]), draws=runs.seeds,
    )  # fmt: skip
    reason = f"{runs.mean[-1]:.1f} rounds lost, the bound is {limits[-1]:.1f}: {runs.mean[-1] / limits[-1]:.2f} of it"
    return Finding(Verdict.FAILED if lower[worst] > limits[worst] else Verdict.HELD, reason, evidence)
