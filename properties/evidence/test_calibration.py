"""False alarms of everything that decides on counts: null runs at alpha 1e-2 stay within the binomial bound.

Counts are drawn from the exact law of a right subject and decided by the functions that certify. A test here errs with
probability 1e-6 if the level is exactly kept; of a check that alarms twice as often as it says, 10,000 runs convict it
with certainty, the 1,000 runs of a day with probability .6. The e-process over 40 looks has a test of its own.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, binomtest

from specproof.properties.cases import one_step_cases
from specproof.properties.evidence import bounds
from specproof.properties.evidence.classical import randomised_ks
from specproof.properties.evidence.e_process import EProcess
from specproof.properties.evidence.portfolio import fault_laws
from specproof.properties.evidence.sampled import _decide, as_array, draft_preference, reference_law, texts
from specproof.properties.evidence.wide import with_rare_tail
from specproof.reference.exact import step_law
from specproof.reference.law import mapped
from specproof.reference.verifiers import rule

ALPHA = 1e-2
DRAWS = 2000
CASE = next(case for case in one_step_cases() if case.name == "rows by context")
LAW, POSSIBLE = reference_law(CASE)
CELLS = [cell for cell, kept in zip(texts(CASE), POSSIBLE, strict=True) if kept]
PREFERRED = draft_preference(CASE, CELLS)
PROCESS = EProcess(LAW, {name: as_array(dict(law), CELLS) for name, law in fault_laws(CASE).items()})
ACCEPTED = mapped(
    step_law(rule("block"), CASE.target, CASE.draft, drafts=1, length=CASE.length), lambda step: len(step.accepted)
)
LENGTHS = np.array([float(ACCEPTED[count]) for count in sorted(ACCEPTED)])
TAIL = with_rare_tail(1000).case

Counts = NDArray[np.int64]


def everything_on_texts(counts: Counts) -> bool:
    """The e-process, McDiarmid and the binomial, each with its share."""
    return bool(_decide(PROCESS, LAW, counts, 0, ALPHA, PREFERRED > 1, final=True, so_far=counts).refutations)


def everything_on_lengths(counts: Counts) -> bool:
    """Accepted lengths against the declared rule."""
    return bool(_decide(EProcess(LENGTHS), LENGTHS, counts, 0, ALPHA, None, final=True, so_far=counts).refutations)


def mcdiarmid(counts: Counts) -> bool:
    """The plug-in distance."""
    return bounds.total_variation_exceeded(counts, LAW, ALPHA)


def binomial(counts: Counts) -> bool:
    """Texts that the draft prefers."""
    chosen = PREFERRED > 1
    return bool(binomtest(int(counts[chosen].sum()), DRAWS, float(LAW[chosen].sum())).pvalue <= ALPHA)


def by_preference(counts: Counts) -> bool:
    """KS along draft over target; its own randomness is fresh in every run."""
    return randomised_ks(counts, LAW, PREFERRED, RANDOM) <= ALPHA


def by_id(counts: Counts) -> bool:
    """KS along the ids."""
    return randomised_ks(counts, LAW, np.arange(len(LAW), dtype=float), RANDOM) <= ALPHA


def rare_tokens(counts: Counts) -> bool:
    """The number of texts with a rare token."""
    return bool(binomtest(int(counts[RARE].sum()), DRAWS, float(TAIL_LAW[RARE].sum())).pvalue <= ALPHA)


RANDOM = np.random.default_rng(99)
TAIL_LAW, _TAIL_POSSIBLE = reference_law(TAIL)
RARE = np.array([2 in cell for cell, kept in zip(texts(TAIL), _TAIL_POSSIBLE, strict=True) if kept])
CHECKS: list[tuple[Callable[[Counts], bool], NDArray[np.float64]]] = [
    (everything_on_texts, LAW),
    (everything_on_lengths, LENGTHS),
    (mcdiarmid, LAW),
    (binomial, LAW),
    (by_preference, LAW),
    (by_id, LAW),
    (rare_tokens, TAIL_LAW),
]


@pytest.mark.parametrize("runs", [1000, pytest.param(10_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("check", "law"), CHECKS, ids=[check.__name__ for check, _ in CHECKS])
def test_null_runs_alarm_within_the_bound(check: Callable[[Counts], bool], law: NDArray[np.float64], runs: int) -> None:
    """Runs of 2,000 draws from the right law, decided at alpha 1e-2: no more alarms than the binomial bound allows."""
    counts = np.random.default_rng(runs).multinomial(DRAWS, law / law.sum(), size=runs)
    alarms = sum(check(row) for row in counts)
    assert alarms <= binom.isf(1e-6, runs, ALPHA)


@pytest.mark.parametrize("check", [by_preference, by_id])
def test_the_transform_makes_the_level_exact(check: Callable[[Counts], bool]) -> None:
    """KS after the randomised transform alarms about as often as it says, not less: 1,000 runs, at least 2 alarms."""
    counts = np.random.default_rng(5).multinomial(DRAWS, LAW, size=1000)
    assert sum(check(row) for row in counts) >= binom.isf(1 - 1e-3, 1000, ALPHA)


def test_nights_together_alarm_within_the_bound() -> None:
    """10,000 histories of ten nights of 500 draws, looked at after every night: at most 1 % ever alarm."""
    nights = np.random.default_rng(11).multinomial(500, LAW, size=(10, 10_000)).cumsum(0)
    highest = np.max([PROCESS.log_e(counts) for counts in nights], axis=0)
    assert int((highest >= math.log(1 / ALPHA)).sum()) <= binom.isf(1e-6, 10_000, ALPHA)


def test_a_check_with_twice_the_level_would_be_convicted() -> None:
    """What this file asks can fail: the binomial at twice its level, 10,000 runs."""
    counts = np.random.default_rng(10_000).multinomial(DRAWS, LAW, size=10_000)
    chosen = PREFERRED > 1
    inside, chance = counts[:, chosen].sum(-1), float(LAW[chosen].sum())
    levels = {int(n): binomtest(int(n), DRAWS, chance).pvalue for n in np.unique(inside)}
    alarms = sum(levels[int(n)] <= 2.5 * ALPHA for n in inside)
    assert alarms > binom.isf(1e-6, 10_000, ALPHA)
