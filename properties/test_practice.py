"""Today's tests of verifiers beside ours: laws of faults, and what each test can see."""

import numpy as np
import pytest

from specproof.properties import practice
from specproof.properties.cases import sampled_cases
from specproof.properties.evidence.exact import observe_exactly
from specproof.properties.naming import named_subject
from specproof.properties.practice import (
    FAULTS,
    RIGHT,
    TODAY,
    block_law,
    counted,
    decided,
    share_of_alarms,
    total_variation,
)

COLUMNS = [
    "always accept", "accept iff target >= draft", "resample from the target", "subtract drafted only",
    "zero drafted only", "softmax residual", "match or coin", "argmax draft", "accept coin reused", "draft squared",
]  # fmt: skip
# Total variation of the first token, published with the catalogue of faults.
FIXTURES = {
    ((0.5, 0.3, 0.2), (0.2, 0.3, 0.5)): (0.300, 0.200, 0.150, 0.112, 0.112, 0.179, 0.060, 0.300, 0.000, 0.063),
    ((0.2, 0.4, 0.4), (0.6, 0.2, 0.2)): (0.400, 0.200, 0.080, 0.000, 0.000, 0.116, 0.080, 0.133, 0.100, 0.073),
    ((0.5, 0.5), (0.8, 0.2)): (0.300, 0.500, 0.150, 0.000, 0.000, 0.128, 0.150, 0.125, 0.000, 0.088),
}


@pytest.mark.parametrize("rows", FIXTURES)
@pytest.mark.parametrize("fault", COLUMNS)
def test_faults_have_their_published_total_variation(fault: str, rows: tuple[tuple[float, ...], ...]) -> None:
    """On the published fixtures, to three decimals."""
    target, draft = (np.array(row) for row in rows)
    seen = FAULTS[fault].decide(target, draft, draft).emitted
    assert total_variation(seen, target) == pytest.approx(FIXTURES[rows][COLUMNS.index(fault)], abs=1e-3)  # type: ignore[index]


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ("lenient by 5 %", "lenient"),
        ("subtract drafted only", "subtract_drafted_only"),
        ("draft squared", "sharpened_draft"),
    ],
)
def test_the_law_of_a_block_is_that_of_the_mutant(fault: str, name: str) -> None:
    """Two positions, rows by context, bonus and completion: equal to the enumerated rule to 1e-9."""
    case = next(case for case in sampled_cases() if case.name == practice.BATTERY_CASE)
    subject = named_subject(name)
    assert subject is not None
    exact = observe_exactly(subject, case).text
    law, wanted, _ = block_law(FAULTS[fault])
    assert law == pytest.approx([float(exact.get(text, 0)) for text in np.ndindex(4, 4, 4)], abs=1e-9)
    assert wanted == pytest.approx([float(case.target_law[text]) for text in np.ndindex(4, 4, 4)], abs=1e-12)


@pytest.mark.parametrize("test", TODAY, ids=lambda test: test.name)
def test_a_right_verifier_passes_and_an_unseen_draft_does_not(test: practice.Criterion) -> None:
    """At most 2 of 100 runs alarm on the standard rule (fixed seed); all do on drafts that are never looked at."""
    assert share_of_alarms(test.alarms, test.rows, RIGHT, runs=100, draws_of_rows=2) <= 0.02
    assert share_of_alarms(test.alarms, test.rows, FAULTS["always accept"], runs=100, draws_of_rows=2) == 1


def test_dropped_bonuses_and_equal_rows_hide_faults() -> None:
    """No test of today alarms on a bonus drawn from the draft, or on a stale row where all rows are equal."""
    for fault in ("bonus from the draft", "residual with a stale row"):
        for test in TODAY:
            assert share_of_alarms(test.alarms, test.rows, FAULTS[fault], runs=50, draws_of_rows=1) <= 0.02


@pytest.mark.parametrize("fault", FAULTS)
def test_counting_convicts_every_fault_at_the_quick_size(fault: str) -> None:
    """131,072 texts, the e-process at 5e-8 and the binomial at 2.5e-8: all of 20 runs (fixed seed; smallest total variation 1.7 %)."""
    law, wanted, drafted = block_law(FAULTS[fault])
    assert counted(law, wanted, drafted, 131_072, 20, np.random.default_rng(1)).all()


def test_counting_does_not_convict_what_is_right() -> None:
    """None of 200 runs at a false-alarm rate below 1e-7 (fixed seed)."""
    _, wanted, drafted = block_law(RIGHT)
    assert drafted.sum() == pytest.approx(1)
    assert not counted(wanted, wanted, drafted, 131_072, 200, np.random.default_rng(1)).any()


def test_the_smallest_contamination_is_found_and_half_of_it_is_not() -> None:
    """Power .999 at the share that is reported (200 runs, fixed seed), far from it at half the share."""
    sigma = TODAY[1]
    found = practice.smallest_contamination(sigma.alarms, sigma.rows, runs=200)
    assert found is not None
    share, distance = found
    assert 0 < distance < share < 1
    assert share_of_alarms(sigma.alarms, sigma.rows, practice.contaminated(share), runs=200) >= 0.99
    assert share_of_alarms(sigma.alarms, sigma.rows, practice.contaminated(share / 2), runs=200) < 0.9


def test_contamination_mixes_the_draft_into_the_first_token() -> None:
    """A share of unseen drafts gives exactly the mixed law."""
    target, draft = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    seen = practice.contaminated(0.25).decide(target, draft, draft).emitted
    assert seen == pytest.approx(0.75 * target + 0.25 * draft)
    assert decided(target, draft, draft).emitted == pytest.approx(target)
