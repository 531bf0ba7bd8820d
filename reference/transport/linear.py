"""A transportation problem as a linear program: HiGHS finds potentials in floats, integers prove them.

The dual solution of a basis is integral once one potential is shifted to zero, so rounding undoes the float error; what
the rounded potentials prove is then computed in fractions. Where rounding went wrong the two bounds stay apart, and no
float is ever part of either.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import identity, kron, vstack

from specproof.reference.transport.certificate import Certificate, Problem, certify
from specproof.reference.transport.token import support_law


def float_potentials(problem: Problem) -> list[float]:
    """Column potentials of the LP in floats, the first one zero. Raises ``ArithmeticError`` when HiGHS fails."""
    height, width = len(problem.supply), len(problem.demand)
    sums = vstack([kron(identity(height), np.ones((1, width))), kron(np.ones((1, height)), identity(width))]).tocsr()
    kept = [
        *range(height),
        *range(height + 1, height + width),
    ]  # one sum follows from the others, in floats never quite
    answer = linprog(
        -np.array(problem.gain, dtype=float).ravel(),
        A_eq=sums[kept],
        b_eq=np.array([float(mass) for mass in (*problem.supply, *problem.demand[1:])]),
        method="highs-ds",
    )
    if answer.status != 0:
        raise ArithmeticError(f"HiGHS found no optimum: {answer.message}")
    return [0.0, *(-float(value) for value in answer.eqlin.marginals[height:])]


def solve(problem: Problem) -> Certificate:
    """Return the bounds that the rounded dual solution proves."""
    return certify(problem, map(round, float_potentials(problem)))


def token_problem(target_row: Sequence[Fraction], draft_row: Sequence[Fraction], drafts: int) -> Problem:
    """The optimal token coupling as a transportation problem: a set of draft tokens gains 1 at each of its members."""
    supports = support_law(draft_row, drafts)
    return Problem(
        supply=tuple(supports.values()),
        demand=tuple(target_row),
        gain=tuple(tuple(int(token in support) for token in range(len(target_row))) for support in supports),
    )
