"""Estimates over prompts: gains compare each prompt with itself."""

from random import Random

import pytest

from specproof.study.measured import Estimate, gain


def test_a_constant_factor_is_a_gain_without_width() -> None:
    """However much prompts differ, each is 10 % better."""
    other = [1.0, 2.0, 5.0, 3.0]
    found = gain([([1.1 * value for value in other], other)])
    assert found.value == pytest.approx(0.1)
    assert found.half == pytest.approx(0, abs=1e-12)


def test_gain_averages_settings_and_covers_its_value() -> None:
    """Of 400 intervals at 95 %, between 362 and 395 cover the true gain of 20 % (each bound fails once in 1,000)."""
    source = Random(7)
    covered = 0
    for _ in range(400):
        prompts = [source.uniform(1, 4) for _ in range(40)]
        pairs = [
            (
                [1.2 * value + source.gauss(0, 0.5) for value in prompts],
                [value + source.gauss(0, 0.5) for value in prompts],
            )
            for _ in range(2)
        ]
        found = gain(pairs)
        covered += abs(found.value - 0.2) <= found.half
    assert 362 <= covered <= 395


def test_percent_shows_sign_and_width() -> None:
    """As tables print it."""
    assert Estimate(0.023, 0.011).percent() == "+2.3% ±1.1%"
