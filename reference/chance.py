"""The one source of randomness of the exact engine.

A program asks ``chance.flip(p)`` and ``chance.choose(weights)`` and never learns who answers: ``Dice`` samples, and
``specproof.reference.law.law`` answers every question in every possible way. An algorithm is written once.
"""

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Protocol


class Chance(Protocol):
    """Answers a program's random questions."""

    def flip(self, probability: Fraction) -> bool:
        """Return True with the given probability."""
        ...

    def choose(self, weights: Sequence[Fraction]) -> int:
        """Return an index with probability proportional to its weight (the weights need not sum to one)."""
        ...


def checked_probability(probability: Fraction) -> Fraction:
    """Return the probability as given; raise ``ValueError`` outside [0, 1]."""
    if not 0 <= probability <= 1:
        raise ValueError(f"a coin needs a probability in [0, 1], got {probability}")
    return probability


def checked_total(weights: Sequence[Fraction]) -> Fraction:
    """Return the sum of the weights; raise ``ValueError`` when one is negative or all are zero."""
    if any(weight < 0 for weight in weights):
        raise ValueError(f"weights must not be negative, got {[str(weight) for weight in weights]}")
    total = sum(weights, start=Fraction(0))
    if total == 0:
        raise ValueError(f"at least one of {len(weights)} weights must be positive, all are zero")
    return total


class Dice:
    """Samples with exact probabilities: integers below a common denominator, never floats."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def flip(self, probability: Fraction) -> bool:
        """Return True with the given probability. Raises ``ValueError`` outside [0, 1]."""
        probability = Fraction(checked_probability(probability))
        return self._random.randrange(probability.denominator) < probability.numerator

    def choose(self, weights: Sequence[Fraction]) -> int:
        """Return an index with probability proportional to its weight. Raises ``ValueError`` on bad weights."""
        checked_total(weights)
        exact = [Fraction(weight) for weight in weights]
        common = math.lcm(*(weight.denominator for weight in exact))
        units = [int(weight * common) for weight in exact]
        drawn = self._random.randrange(sum(units))
        return next(index for index, end in enumerate(accumulate(units)) if drawn < end)
