"""A claim of the paper and what is found when it is tested: facts with the expected value beside the measured one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from specproof.reference.bandits.instance import Instance
from specproof.regret.simulate import Contender, Listener, Runs, simulate, standard_error

Outcome = Literal["true", "false", "conditional", "open"]
ERRORS = 3  # standard errors of the difference that noise may explain: right numbers miss that once in 370
PUBLISHED_RUNS = 200  # behind a published mean unless told


@dataclass(frozen=True)
class Fact:
    """One measurement. ``agrees`` with what was expected; ``supports`` the claim, speaks against it, or neither (None)."""

    what: str
    expected: str
    measured: str
    agrees: bool
    supports: bool | None = None


class Laboratory:
    """Where claims are tested: simulations are made once and shared by the claims that look at them."""

    def __init__(self, seed: int = 0, listen: Listener = lambda _: None) -> None:
        self.seed = seed
        self.listen = listen
        self._done: dict[str, Runs] = {}

    def runs(self, given: Contender, instance: Instance, at: Sequence[int], count: int) -> Runs:
        """``count`` runs with what happened until every number of tokens in ``at``."""
        key = repr((given, instance, tuple(at), count))
        if key not in self._done:
            self._done[key] = simulate(given, instance, list(at), runs=count, seed=self.seed, listen=self.listen)
        return self._done[key]


Test = Callable[[Laboratory], list[Fact]]


@dataclass(frozen=True)
class Claim:
    """What the paper (or the description of it) says, how that is tested, and how the facts are to be read."""

    number: int
    says: str
    test: Test
    reading: str


@dataclass(frozen=True)
class Answer:
    """A claim with its facts."""

    claim: Claim
    facts: list[Fact]

    @property
    def verdict(self) -> Outcome:
        """All facts that bear on the claim support it, none does, it depends; open where no fact bears on it."""
        bearing = {fact.supports for fact in self.facts} - {None}
        if not bearing:
            return "open"
        if len(bearing) == 2:
            return "conditional"
        return "true" if bearing == {True} else "false"

    @property
    def agrees(self) -> bool:
        """Whether everything came out as expected."""
        return all(fact.agrees for fact in self.facts)


def equal(what: str, expected: str, measured: Fraction, supports: bool | None = None) -> Fact:
    """An exact value: equal as fractions, or it does not agree."""
    return Fact(what, expected, str(measured), Fraction(expected) == measured, supports)


def rounded(what: str, expected: str, measured: float, supports: bool | None = None) -> Fact:
    """A number without noise, expected as it was printed: it agrees within half a unit of the last digit (and rounding)."""
    digits = len(expected.partition(".")[2])
    allowed = 0.5001 * 10.0**-digits
    return Fact(what, expected, f"{measured:.{digits + 1}f}", abs(measured - float(expected)) <= allowed, supports)


def sampled(
    what: str, expected: str, values: NDArray[np.float64], supports: Callable[[float], bool] | bool | None = None, *,
    published: int = PUBLISHED_RUNS,
) -> Fact:  # fmt: skip
    """A mean over runs, against one that was published over ``published`` runs."""
    mean, error = float(values.mean()), float(standard_error(values))
    digits = len(expected.partition(".")[2])
    allowed = ERRORS * error * (1 + len(values) / published) ** 0.5 + 0.5001 * 10.0**-digits
    shown = f"{mean:.{digits + 1}f} ± {error:.2g}"
    agrees = abs(mean - float(expected)) <= allowed
    return Fact(what, expected, shown, agrees, supports(mean) if callable(supports) else supports)


def holds(what: str, expected: bool, measured: bool, shown: str, supports: bool | None = None) -> Fact:
    """A statement that is true or false, and what was seen."""
    return Fact(what, "yes" if expected else "no", shown, expected == measured, supports)
