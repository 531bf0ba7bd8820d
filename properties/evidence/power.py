"""What evidence can see, computed before anything runs: the draws that a bias needs, and the bias that draws can see.

Two shapes of bias are planned for. ``dense``: every cell is off by the same share of itself, up or down, which is hardest
to see (chi-square distance 4 TV^2). ``directed``: the law is mixed with another one, such as the draft's; half of the mass
is then a fair bet on where the excess lies. Sampled formulas are asymptotic planning figures, so a simulation of the
e-process itself stands beside them; exact, probed and driven evidence need no approximation.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2, norm

from specproof.properties.evidence.bounds import fluctuation, mean_total_variation
from specproof.properties.evidence.e_process import EProcess

Floats = NDArray[np.float64]
Kind = Literal["exact", "probed", "driven", "e-process", "McDiarmid", "binomial", "Kolmogorov-Smirnov"]

POWER = 0.999
DENSE = 4.0  # chi-square distance over the squared total variation when all cells are off by the same share
DISTINCT = 1e-12  # below it two laws differ by rounding only
PROBED_TOLERANCE = 1e-6
# The mixture over concentrations costs 6 to 8 % in total variation against chi-square at 8 to 512 cells (simulated).
E_PRICE = 1.08
KS_SPREAD = 0.6  # standard deviations of the empirical distribution function at its largest gap, times sqrt(N)


@dataclass(frozen=True)
class Requirement:
    """What one kind of evidence needs to see a bias. ``draws`` None: not to be had by drawing more."""

    kind: Kind
    draws: int | None
    what: str


def noncentrality(cells: int, alpha: float, power: float) -> float:
    """Non-centrality at which a chi-square test on ``cells`` cells at level ``alpha`` has the given power."""
    degrees = cells - 1
    critical = chi2.isf(alpha, degrees)
    return float(brentq(lambda value: ncx2.sf(critical, degrees, value) - power, 1e-6, 1e5))


def detectable_total_variation(
    cells: int, draws: int, alpha: float, power: float = POWER, *, spread: float = DENSE
) -> float:
    """TV that the e-process finds with the given power: chi-square's ``sqrt(noncentrality / (spread N))``, and its price.

    ``spread`` is the chi-square distance of the bias over its squared total variation.
    """
    return E_PRICE * math.sqrt(noncentrality(cells, alpha, power) / (spread * draws))


def draws_to_refute(law: Floats, wrong: Floats, alpha: float, power: float = POWER) -> int:
    """Draws that the e-process needs to refute a subject whose law is ``wrong``, with a reserve.

    The chi-square distance from the reference gives the count for chi-square; twice that covers the e-process on laws
    that are not spread evenly. Raises ``ValueError`` for laws that no number of draws tells apart.
    """
    distance = float(((wrong - law) ** 2 / law).sum())
    if distance < DISTINCT:
        raise ValueError(
            f"the laws differ by {distance:.1e} in chi-square distance: no number of draws tells them apart"
        )
    return math.ceil(2 * noncentrality(len(law), alpha, power) / distance)


def driven_draws(total_variation: float, power: float = POWER) -> int:
    """Calls with the same uniforms until one decides differently: a bias needs a mismatch at least as often as its TV."""
    return math.ceil(math.log(1 / (1 - power)) / total_variation)


def mcdiarmid_total_variation(law: Floats, draws: int, alpha: float, power: float = POWER) -> float:
    """Dense TV at which the plug-in distance exceeds its null mean by McDiarmid's allowance, with the given power."""
    scale = np.sqrt(law * (1 - law) / draws)
    limit = mean_total_variation(law, draws) + fluctuation(draws, alpha) + norm.isf(1 - power) / (2 * math.sqrt(draws))

    def excess(total_variation: float) -> float:
        gap = 2 * total_variation * law
        mean: Floats = scale * math.sqrt(2 / math.pi) * np.exp(-((gap / scale) ** 2) / 2) + gap * (
            1 - 2 * norm.sf(gap / scale)
        )
        return float(mean.sum() / 2 - limit)

    return float(brentq(excess, 0.0, 1.0)) if excess(1.0) > 0 else 1.0


def binomial_total_variation(draws: int, alpha: float, power: float = POWER) -> float:
    """TV that an exact binomial on a known set of half the mass finds (the largest variance, so the worst set)."""
    return float((norm.isf(alpha / 2) + norm.isf(1 - power)) / (2 * math.sqrt(draws)))


def kolmogorov_total_variation(draws: int, alpha: float, power: float = POWER) -> float:
    """TV that shows as one gap of the distribution function, as when cells are ordered by draft over target."""
    return float((math.sqrt(math.log(2 / alpha) / 2) + KS_SPREAD * norm.isf(1 - power)) / math.sqrt(draws))


def draws_needed(total_variation: float, cells: int, *, alpha: float = 1e-6, power: float = POWER) -> list[Requirement]:
    """What each kind of evidence needs to see a bias of this size on ``cells`` equally likely cells.

    ``alpha`` is the false-alarm rate of one check. Raises ``ValueError`` for a total variation outside (0, 1], fewer than
    two cells, or rates outside (0, 1).
    """
    if not 0 < total_variation <= 1:
        raise ValueError(f"a total variation lies above 0 and at most at 1, got {total_variation}")
    if cells < 2:
        raise ValueError(f"a law has at least 2 cells, got {cells}")
    if not (0 < alpha < 1 and 0 < power < 1):
        raise ValueError(f"alpha and power lie between 0 and 1, got {alpha} and {power}")
    even = np.full(cells, 1 / cells)
    found: list[tuple[Kind, Callable[[int], float], str]] = [
        ("e-process", lambda n: detectable_total_variation(cells, n, alpha, power), "any bias, looked at any time"),
        ("McDiarmid", lambda n: mcdiarmid_total_variation(even, n, alpha, power), "bias spread over many cells"),
        ("binomial", lambda n: binomial_total_variation(n, alpha, power), "bias towards the draft"),
        (
            "Kolmogorov-Smirnov",
            lambda n: kolmogorov_total_variation(n, alpha, power),
            "bias along an order of the cells",
        ),
    ]
    seen_by_probing = 0 if total_variation > PROBED_TOLERANCE else None
    return [
        Requirement("exact", 0, "enumeration in fractions: any bias"),
        Requirement("probed", seen_by_probing, f"thresholds by bisection: above {PROBED_TOLERANCE:g}, no sampling error"),
        Requirement("driven", driven_draws(total_variation, power), "calls on the same uniforms, no false alarm"),
        *(Requirement(kind, _smallest(detects, total_variation), what) for kind, detects, what in found),
    ]  # fmt: skip


def _smallest(detects: Callable[[int], float], total_variation: float) -> int:
    """Fewest draws with which no more than this total variation is needed, to 1 %."""
    low, high = 1, 1 << 60
    while high > 1.01 * low + 1:
        middle = math.isqrt(low * high)
        low, high = (low, middle) if detects(middle) <= total_variation else (middle, high)
    return high


def zipf(cells: int) -> Floats:
    """The law proportional to ``1/rank``: the reference shape of the planning tables."""
    weights = 1 / np.arange(1, cells + 1)
    return np.asarray(weights / weights.sum())


def dense(law: Floats) -> Floats:
    """Direction of total variation one along which all cells move by the same share of themselves, balanced greedily."""
    signs, balance = np.ones(len(law)), 0.0
    for cell in np.argsort(-law):
        signs[cell] = -1.0 if balance > 0 else 1.0
        balance += signs[cell] * law[cell]
    return towards(law, law * (1 + signs - balance))


def towards(law: Floats, other: Floats) -> Floats:
    """Direction of total variation one from a law to another."""
    step = other - law
    return np.asarray(2 * step / np.abs(step).sum())


def simulated_total_variation(
    law: Floats, direction: Floats, draws: int, *, alpha: float = 1e-6, power: float = POWER,
    runs: int = 2000, seed: int = 0,
) -> float:  # fmt: skip
    """TV along ``direction`` that the e-process finds with the given power, by bisection over simulated runs (to 2 %)."""
    process, limit = EProcess(law), math.log(1 / alpha)

    def convicted(total_variation: float) -> bool:
        wrong = np.maximum(law + total_variation * direction, 0.0)
        counts = np.random.default_rng(seed).multinomial(draws, wrong / wrong.sum(), size=runs)
        logs = np.concatenate([process.log_e(counts[start : start + 256]) for start in range(0, runs, 256)])
        return float(np.quantile(logs, 1 - power)) >= limit

    guess = detectable_total_variation(len(law), draws, alpha, power, spread=float((direction**2 / law).sum()))
    low, high = guess / 2, guess * 2
    while high > 1.02 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if convicted(middle) else (middle, high)
    return math.sqrt(low * high)
