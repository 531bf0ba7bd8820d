"""A transportation problem solved exactly in integers, without a linear program (Ford and Fulkerson 1957).

Move what the tight pairs allow. If some supply remains, the rows and columns in its reach give a better dual: raise those
columns by the smallest slack ``u_r + v_c - gain_rc`` between a reached row and another column, and let the rows follow.
The dual falls by at least one unit of the common denominator each time, so it ends, and only at the optimum.
"""

from collections.abc import Iterable

from specproof.reference.transport.certificate import Certificate, Problem, certify, row_potentials, tight_flow


def solve(problem: Problem, columns: Iterable[int] | None = None) -> Certificate:
    """Return the optimum, proved. Any potentials to start from are right; good ones are faster."""
    height, width = len(problem.supply), len(problem.demand)
    columns = [0] * width if columns is None else list(columns)
    total = sum(problem.supply) * problem.scale
    while True:
        rows = row_potentials(problem, columns)
        _, flow = tight_flow(problem, rows, columns)
        if flow.value == total:
            return certify(problem, columns)
        reached = {c for c in range(width) if height + c in flow.source_side}
        slack = min(
            rows[r] + columns[c] - problem.gain[r][c]
            for r in range(height)
            if r in flow.source_side
            for c in range(width)
            if c not in reached
        )
        for c in reached:
            columns[c] += slack
