"""The exact law of a program, by running it once for every way that chance can answer.

``law(program)`` returns ``{outcome: probability}`` in fractions. Each run replays a script of earlier answers and takes
the first possible answer afterwards; the alternatives it passes by are queued as further scripts.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from specproof.reference.chance import Chance, checked_probability, checked_total

Outcome = TypeVar("Outcome", bound=Hashable)
Image = TypeVar("Image", bound=Hashable)
Law = dict[Outcome, Fraction]


class _Replay:
    """Answers from a script, then takes first possibilities and remembers the scripts it did not follow."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self._script = script
        self._asked = 0
        self._answers: list[int] = list(script)
        self.probability = Fraction(1)
        self.alternatives: list[tuple[int, ...]] = []

    def flip(self, probability: Fraction) -> bool:
        checked_probability(probability)
        return self._answer((Fraction(probability), 1 - Fraction(probability)), Fraction(1)) == 0

    def choose(self, weights: Sequence[Fraction]) -> int:
        return self._answer(weights, checked_total(weights))

    def _answer(self, weights: Sequence[Fraction], total: Fraction) -> int:
        if self._asked < len(self._script):
            answer = self._script[self._asked]
        else:
            answer, *others = (index for index, weight in enumerate(weights) if weight > 0)
            self.alternatives += [(*self._answers, other) for other in others]
            self._answers.append(answer)
        self._asked += 1
        self.probability *= Fraction(weights[answer]) / total
        return answer


def law(program: Callable[[Chance], Outcome]) -> dict[Outcome, Fraction]:
    """Return the exact law of ``program(chance)``.

    The program must be deterministic given the answers of ``chance`` and return something hashable.
    """
    result: dict[Outcome, Fraction] = {}
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        replay = _Replay(scripts.pop())
        outcome = program(replay)
        result[outcome] = result.get(outcome, Fraction(0)) + replay.probability
        scripts += replay.alternatives
    return result


def total_variation(first: Mapping[Outcome, Any], second: Mapping[Outcome, Any]) -> Any:
    """Half the sum of absolute differences of two laws (floats are accepted and give a float)."""
    zero = Fraction(0)
    return sum((abs(first.get(o, zero) - second.get(o, zero)) for o in first.keys() | second.keys()), start=zero) / 2


def mapped(given: Mapping[Outcome, Any], image: Callable[[Outcome], Image]) -> dict[Image, Any]:
    """The law of ``image(outcome)``: a marginal, or any other function of the outcome."""
    result: dict[Image, Any] = {}
    for outcome, probability in given.items():
        key = image(outcome)
        result[key] = result.get(key, Fraction(0)) + probability
    return result
