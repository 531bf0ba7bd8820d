"""Cells: found exactly, refined by their own counterexamples, refused where they do not exist."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from specproof.properties.evidence.probed import Settings, explore
from specproof.properties.evidence.script import Atom, Choice, Uniform
from specproof.properties.evidence.tapes import Run, Tape
from specproof.properties.verdict import Undecided


def probe(
    program: Callable[[Callable[[], float]], Any], settings: Settings | None = None, bits: int = 16
) -> dict[Any, float]:
    """The law of a program that asks for uniforms on a lattice."""

    def ask(tapes: Sequence[Tape]) -> list[Run]:
        runs = []
        for tape in tapes:
            atoms: list[Atom] = []

            def uniform(tape: Tape = tape, atoms: list[Atom] = atoms) -> float:
                atoms.append(Uniform(bits))
                return int(tape.quantiles(len(atoms))[-1] * 2**bits) / 2**bits

            result = program(uniform)
            runs.append(Run(tuple(atoms), result))
        return runs

    law: dict[Any, float] = defaultdict(float)
    for _, mass, result in explore(ask, 1, settings or Settings()):
        law[result] += mass
    return dict(law)


@pytest.mark.parametrize("arity", [1, 7])
def test_explore_finds_thresholds_to_the_lattice(arity: int) -> None:
    """P(u < .3) is ceil(.3 2^16) / 2^16, exactly."""
    law = probe(lambda uniform: uniform() < 0.3, Settings(arity=arity))
    assert law[True] == 19661 / 2**16
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)


def test_explore_finds_many_values_in_any_order() -> None:
    """Several thresholds on one number, tokens that come back."""
    edges = [0.1, 0.25, 0.5, 0.8, 1.0]

    def program(uniform: Callable[[], float]) -> int:
        drawn = uniform()
        return [3, 0, 2, 0, 1][next(i for i, edge in enumerate(edges) if drawn < edge)]

    law = probe(program)
    expected = {3: 0.1, 0: 0.15 + 0.3, 2: 0.25, 1: 0.2}
    assert law == pytest.approx(expected, abs=2**-14)


def test_explore_follows_draws_that_depend_on_draws() -> None:
    """How many numbers are drawn may depend on the first."""

    def program(uniform: Callable[[], float]) -> int:
        return 0 if uniform() < 0.5 else 1 + (uniform() < 0.25) + (uniform() < 0.5)

    assert probe(program) == pytest.approx({0: 0.5, 1: 0.1875, 2: 0.25, 3: 0.0625})


def test_explore_sees_the_longest_passing_position() -> None:
    """The first coin matters only when the second fails, as in block verification."""

    def program(uniform: Callable[[], float]) -> int:
        first, second = uniform() < 0.5, uniform() < 0.25
        return 2 if second else int(first)

    assert probe(program) == pytest.approx({0: 0.375, 1: 0.375, 2: 0.25})


def test_explore_learns_from_a_contradicted_spot_check() -> None:
    """A threshold that shows only in a window of a later draw is found by a random spot check and then cut."""

    def program(uniform: Callable[[], float]) -> int:
        first, second = uniform(), uniform()
        return int(first < 0.5 and 0.3 < second < 0.45)

    assert probe(program, Settings(grid=2, fills=2))[1] == pytest.approx(0.075, abs=2**-12)


def test_explore_refuses_a_sum_of_draws() -> None:
    """U + v < 1 has no cells along the axes."""
    with pytest.raises(Undecided, match=r"not a piecewise constant function|changes of behaviour"):
        probe(lambda uniform: uniform() + uniform() < 1, Settings(cells=16))


def test_explore_refuses_hidden_randomness() -> None:
    """A result that does not repeat for the same draws is not the draws' doing."""
    hidden = iter(range(10**9))
    with pytest.raises(Undecided, match="randomness"):
        probe(lambda uniform: (uniform() < 0.5, next(hidden) // 100))


def test_choices_are_followed_once_for_each_value() -> None:
    """A choice costs one run a value and no bisection."""
    asked = []

    def ask(tapes: Sequence[Tape]) -> list[Run]:
        asked.extend(tapes)
        weights = (0.125, 0.0, 0.875)
        return [Run((Choice(weights),), 0 if tape.quantiles(1)[0] < 0.125 else 2) for tape in tapes]

    assert explore(ask, 1, Settings(spot_checks=10)) == [(0, 0.125, 0), (0, 0.875, 2)]
    assert len(asked) < 25


def test_explore_looks_inside_rare_cells_where_it_is_asked_to() -> None:
    """A coin of .2 that matters inside an event of 2^-12: random points do not come by, points of that cell do."""

    def program(uniform: Callable[[], float]) -> int:
        ends, first, second = uniform() < 0.2, uniform() < 2.0**-13, uniform() < 2.0**-12
        return int(first or (second and not ends))

    first, ends, second = 2.0**-13, 13108 / 2**16, 2.0**-12
    right = first + (1 - first) * (1 - ends) * second
    assert probe(program, Settings(each_cell=64))[1] == pytest.approx(right, abs=1e-12)
    assert probe(program)[1] == pytest.approx(first + (1 - first) * second, abs=1e-12), "without it, it is not seen"
