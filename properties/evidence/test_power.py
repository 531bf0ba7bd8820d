"""Planning figures: formulas against published figures and against simulation of the e-process itself."""

import numpy as np
import pytest
from scipy.optimize import brentq

from specproof.properties.evidence import power

# Smallest total variation found at alpha 1e-6 with power .999 over a Zipf(1) reference: published for this e-process.
DENSE = [
    (8, 10_000, 0.0484),
    (64, 10_000, 0.0637),
    (64, 100_000, 0.0196),
    (512, 10_000, 0.0945),
    (512, 100_000, 0.0294),
]
DIRECTED = [
    (8, 10**6, 0.0034, 8.0),
    (64, 10**6, 0.0037, 13.0),
    (512, 10_000, 0.0493, 22.0),
    (512, 100_000, 0.0138, 22.0),
]
MCDIARMID = [
    (8, 10_000, 0.0502),
    (64, 10_000, 0.0617),
    (64, 100_000, 0.0200),
    (512, 10_000, 0.0788),
    (512, 100_000, 0.0248),
]


def draft_of_spread(law: np.ndarray, spread: float) -> np.ndarray:
    """A draft between even and reversed whose bias has this chi-square distance over its squared total variation."""

    def mixed(weight: float) -> np.ndarray:
        return power.towards(law, (1 - weight) / len(law) + weight * law[::-1])

    return mixed(brentq(lambda weight: (mixed(weight) ** 2 / law).sum() - spread, 0, 1))


@pytest.mark.parametrize(("cells", "draws", "published"), DENSE)
def test_simulated_dense_bias_is_the_published_one(cells: int, draws: int, published: float) -> None:
    """2,000 runs, the .001 quantile against ln 1e6: within 15 % of the published total variation."""
    law = power.zipf(cells)
    assert power.simulated_total_variation(law, power.dense(law), draws) == pytest.approx(published, rel=0.15)


@pytest.mark.parametrize(("cells", "draws", "published", "spread"), DIRECTED)
def test_simulated_directed_bias_is_the_published_one(cells: int, draws: int, published: float, spread: float) -> None:
    """Mixing towards a draft as unlike the target as the published one (its chi-square figure): within 15 %."""
    law = power.zipf(cells)
    found = power.simulated_total_variation(law, draft_of_spread(law, spread), draws)
    assert found == pytest.approx(published, rel=0.15)


@pytest.mark.parametrize(("cells", "draws", "published"), DENSE)
def test_formula_of_the_e_process_is_the_published_figure(cells: int, draws: int, published: float) -> None:
    """The planning formula needs no simulation: within 5 %."""
    assert power.detectable_total_variation(cells, draws, 1e-6) == pytest.approx(published, rel=0.05)


@pytest.mark.parametrize(("cells", "draws", "published"), MCDIARMID)
def test_formula_of_mcdiarmid_is_the_published_figure(cells: int, draws: int, published: float) -> None:
    """Within 10 %."""
    assert power.mcdiarmid_total_variation(power.zipf(cells), draws, 1e-6) == pytest.approx(published, rel=0.1)


def test_formulas_without_cells_are_the_published_figures() -> None:
    """Binomial on half the mass: 159,000 draws for 1 %; KS: a gap of 4.55 / sqrt(N); driven: 6.9 / TV."""
    assert power.binomial_total_variation(159_000, 1e-6) == pytest.approx(0.01, rel=0.01)
    assert power.kolmogorov_total_variation(10_000, 1e-6) == pytest.approx(0.0455, rel=0.02)
    assert power.driven_draws(1e-3) == 6908


@pytest.mark.parametrize(("cells", "wanted"), [(8, 82), (64, 142), (512, 306)])
def test_noncentrality_agrees_with_the_published_planning_figures(cells: int, wanted: int) -> None:
    """The non-centralities of a dense bias at alpha 1e-6 and power .999, to 2 %."""
    assert power.noncentrality(cells, 1e-6, 0.999) == pytest.approx(wanted, rel=0.02)


def test_draws_needed_detect_what_they_were_planned_for() -> None:
    """The inverse of every formula: the planned draws find the bias, 3 % fewer do not."""
    planned = {needed.kind: needed.draws for needed in power.draws_needed(0.01, 64)}
    draws = planned["e-process"]
    assert draws is not None
    assert power.detectable_total_variation(64, draws, 1e-6) <= 0.01
    assert power.detectable_total_variation(64, int(0.97 * draws), 1e-6) > 0.01
    assert planned["exact"] == planned["probed"] == 0
    assert planned["driven"] == 691


def test_a_bias_below_single_precision_is_out_of_reach_of_probing() -> None:
    """No number of calls helps there; exact evidence still sees it."""
    planned = {needed.kind: needed.draws for needed in power.draws_needed(1e-7, 8)}
    assert planned["probed"] is None
    assert planned["exact"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"), [((0.0, 8), "total variation"), ((1.5, 8), "total variation"), ((0.1, 1), "2 cells")]
)
def test_impossible_plans_are_refused(arguments: tuple[float, int], message: str) -> None:
    """What cannot be planned for is said."""
    with pytest.raises(ValueError, match=message):
        power.draws_needed(*arguments)


def test_draws_to_refute_needs_a_difference() -> None:
    """A fault that a case cannot show has no planned sample size."""
    law = np.array([0.5, 0.25, 0.125, 0.125])
    with pytest.raises(ValueError, match="no number of draws tells them apart"):
        power.draws_to_refute(law, law + 1e-9, 1e-6)
