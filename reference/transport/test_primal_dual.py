"""The integer method and HiGHS with rounded potentials, which share nothing but the certificate, agree exactly."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from specproof.reference.testing import generated, rows
from specproof.reference.transport import linear, primal_dual
from specproof.reference.transport.certificate import Problem


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Transportation problems of up to 5 rows and 4 columns with gains of 0 to 3; masses may be zero."""
    height, width = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    gain = draw(st.lists(st.tuples(*[st.integers(0, 3)] * width), min_size=height, max_size=height))
    return Problem(draw(rows(height)), draw(rows(width)), tuple(gain))


@given(problems())
@generated(150)
def test_agrees_with_highs(problem: Problem) -> None:
    """Both close, on the same fraction."""
    found = primal_dual.solve(problem)
    assert found.closed
    assert found.value == linear.solve(problem).value


@given(problems(), st.lists(st.integers(-5, 5), min_size=4, max_size=4))
@generated(100)
def test_any_start(problem: Problem, start: list[int]) -> None:
    """Potentials to start from change the way, not the optimum."""
    width = len(problem.demand)
    assert primal_dual.solve(problem, start[:width]).value == primal_dual.solve(problem).value


def test_masses_below_float_tolerance() -> None:
    """Masses that a float solver takes for zero count in full; HiGHS may leave bounds apart, but never wrong ones."""
    tiny = Fraction(1, 10**12)
    problem = Problem((1 - tiny, tiny), (1 - 2 * tiny, 2 * tiny), ((1, 2), (0, 3)))
    exact = primal_dual.solve(problem).value
    assert exact == (1 - 2 * tiny) + 2 * tiny + 3 * tiny
    rounded = linear.solve(problem)
    assert rounded.lower <= exact <= rounded.upper
