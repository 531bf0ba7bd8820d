"""A certificate is what its numbers prove: open where the potentials are poor, refused where a number is wrong."""

from dataclasses import replace
from fractions import Fraction

import pytest

from specproof.reference.transport.certificate import Problem, certify, check

HALF = Fraction(1, 2)
SWAP = Problem(supply=(HALF, HALF), demand=(HALF, HALF), gain=((1, 2), (0, 2)))  # best: 1/2 * 1 + 1/2 * 2


def test_good_potentials_close() -> None:
    """With the right potentials both bounds are the optimum."""
    found = certify(SWAP, [0, 1])
    assert found.closed
    assert found.value == Fraction(3, 2)
    assert found.plan == {(0, 0): HALF, (1, 1): HALF}


def test_poor_potentials_leave_an_interval() -> None:
    """Bounds from any potentials hold, but they need not meet, and then no value is given."""
    found = certify(SWAP, [5, 0])
    assert found.lower <= Fraction(3, 2) < found.upper
    with pytest.raises(ArithmeticError, match="the optimum is only known to lie in"):
        _ = found.value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": (0, 0)}, "potentials .* are below the gain 2 of pair"),
        ({"upper": Fraction(4, 3)}, "the certificate says"),
        ({"lower": Fraction(2)}, "the certificate says"),
        ({"plan": {(0, 0): HALF}}, "the plan does not move the supply"),
        ({"plan": {(0, 0): Fraction(1), (0, 1): -HALF, (1, 0): -HALF, (1, 1): Fraction(1)}}, "the plan does not"),
    ],
)
def test_check_refuses_wrong_numbers(change: dict[str, object], message: str) -> None:
    """Every part of the certificate is checked against the problem alone."""
    good = certify(SWAP, [0, 1])
    check(SWAP, good)
    with pytest.raises(AssertionError, match=message):
        check(SWAP, replace(good, **change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("supply", "demand", "gain", "message"),
    [
        ((HALF,), (Fraction(1),), ((0,),), "supply is 1/2, demand 1; they must be equal"),
        ((HALF, HALF), (Fraction(1),), ((0,),), "gains must have 2 rows of 1 entries"),
        ((Fraction(1),), (Fraction(1),), ((-1,),), "must not be negative"),
    ],
)
def test_bad_problem(
    supply: tuple[Fraction, ...], demand: tuple[Fraction, ...], gain: tuple[tuple[int, ...], ...], message: str
) -> None:
    """Each error says what was given."""
    with pytest.raises(ValueError, match=message):
        Problem(supply, demand, gain)
