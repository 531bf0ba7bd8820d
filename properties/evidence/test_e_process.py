"""The e-process: its level on correct samplers, its power on wrong ones, and the names it gives."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from specproof.properties.cases import one_step_cases
from specproof.properties.evidence.e_process import EProcess
from specproof.properties.evidence.portfolio import fault_laws
from specproof.properties.evidence.power import draws_to_refute
from specproof.properties.evidence.sampled import as_array, texts

CASE = next(case for case in one_step_cases() if case.name == "rows by context")
CELLS = texts(CASE)
LAW = as_array(dict(CASE.target_law), CELLS)
FAULTS = {name: as_array(dict(law), CELLS) for name, law in fault_laws(CASE).items()}


def test_log_e_of_no_counts_is_zero() -> None:
    """The process starts at one."""
    assert EProcess(LAW, FAULTS).log_e(np.zeros(len(LAW), dtype=np.int64)) == pytest.approx(0, abs=1e-9)


def test_e_is_a_martingale_after_one_draw() -> None:
    """The mean of E over the next draw is one, up to the cancellation of log-gamma at concentration 4^12 (4e-9)."""
    one_draw = np.eye(len(LAW), dtype=np.int64)
    for faults in ({}, FAULTS):
        assert float(LAW @ np.exp(EProcess(LAW, faults).log_e(one_draw))) == pytest.approx(1, abs=1e-7)


def test_e_process_null_runs_alarm_within_the_bound() -> None:
    """10,000 null runs, 40 looks each up to 100,000 draws, alpha 1e-2: at most 1 % alarm.

    This test's own false-alarm rate is 1e-6 (binomial quantile at the bound); the process is five to ten times
    below its bound, so a process whose level is three times too high fails it.
    """
    runs, alpha = 10_000, 1e-2
    rng = np.random.default_rng(20_260)
    process = EProcess(LAW, FAULTS)
    looks = np.diff(np.unique(np.geomspace(10, 100_000, 40).astype(int)), prepend=0)
    counts = np.zeros((runs, len(LAW)), dtype=np.int64)
    highest = np.full(runs, -np.inf)
    for step in looks:
        counts += rng.multinomial(step, LAW, size=runs)
        highest = np.maximum(highest, process.log_e(counts))
    alarms = int((highest >= math.log(1 / alpha)).sum())
    assert alarms <= binom.isf(1e-6, runs, alpha)


@pytest.mark.parametrize("name", FAULTS)
def test_e_process_convicts_at_the_planned_sample_size(name: str) -> None:
    """Alpha 1e-6, planned for power .999: every named fault of the case is convicted within its planned draws."""
    alpha = 1e-6
    planned = draws_to_refute(LAW, FAULTS[name], alpha)
    counts = np.random.default_rng(7).multinomial(planned, FAULTS[name] / FAULTS[name].sum())
    for faults in ({}, FAULTS):  # the mixture alone must do it too: no fault is convicted only because it is named
        assert EProcess(LAW, faults).log_e(counts) >= math.log(1 / alpha)


def test_best_explanation_names_the_fault() -> None:
    """Counts drawn from a fault's law are explained by that fault."""
    wrong = FAULTS["correction drawn from the target"]
    counts = np.random.default_rng(3).multinomial(5000, wrong / wrong.sum())
    assert EProcess(LAW, FAULTS).best_explanation(counts) == "correction drawn from the target"


def test_best_explanation_is_silent_on_correct_counts() -> None:
    """A correct sampler is not accused."""
    counts = np.random.default_rng(3).multinomial(5000, LAW)
    assert EProcess(LAW, FAULTS).best_explanation(counts) is None


def test_e_process_refuses_impossible_cells() -> None:
    """Cells without mass are the business of the support check."""
    with pytest.raises(ValueError, match="drop impossible cells"):
        EProcess(np.array([0.5, 0.5, 0.0]))
