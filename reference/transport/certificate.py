"""Proof in integers that a transport plan is optimal, or rational bounds on the optimum.

Move ``supply`` to ``demand`` for the largest total ``gain`` (integers). Any integer column potentials v prove an upper
bound: with ``u_r = max_c (gain_rc - v_c)`` every plan gains at most ``sum supply u + sum demand v``. A plan that uses only
tight pairs, ``u + v = gain``, attains it. The constraint matrix is totally unimodular, so integer potentials suffice.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from specproof.reference.transport.flow import Flow, maximum_flow

Pair = tuple[int, int]


@dataclass(frozen=True)
class Problem:
    """A transportation problem: ``gain[r][c]`` for every unit moved from row r to column c. No gain is negative."""

    supply: tuple[Fraction, ...]
    demand: tuple[Fraction, ...]
    gain: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if sum(self.supply) != sum(self.demand):
            raise ValueError(f"supply is {sum(self.supply)}, demand {sum(self.demand)}; they must be equal")
        if len(self.gain) != len(self.supply) or any(len(row) != len(self.demand) for row in self.gain):
            raise ValueError(f"gains must have {len(self.supply)} rows of {len(self.demand)} entries")
        if any(mass < 0 for mass in (*self.supply, *self.demand)) or any(
            entry < 0 for row in self.gain for entry in row
        ):
            raise ValueError("supply, demand and gains must not be negative")

    @property
    def scale(self) -> int:
        """Common denominator of all masses."""
        return math.lcm(*(mass.denominator for mass in (*self.supply, *self.demand)))


@dataclass(frozen=True)
class Certificate:
    """A plan that gains ``lower`` and integer potentials that prove ``upper``. Equal bounds are the exact optimum."""

    lower: Fraction
    upper: Fraction
    plan: Mapping[Pair, Fraction]
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def closed(self) -> bool:
        """Whether the bounds meet."""
        return self.lower == self.upper

    @property
    def value(self) -> Fraction:
        """The exact optimum. Raises ``ArithmeticError`` while the bounds differ."""
        if not self.closed:
            raise ArithmeticError(f"the optimum is only known to lie in [{self.lower}, {self.upper}]")
        return self.upper


def row_potentials(problem: Problem, columns: Sequence[int]) -> tuple[int, ...]:
    """Smallest potentials of the rows that cover every gain, given those of the columns."""
    return tuple(max(gain - v for gain, v in zip(gains, columns, strict=True)) for gains in problem.gain)


def tight_flow(problem: Problem, rows: Sequence[int], columns: Sequence[int]) -> tuple[list[Pair], Flow]:
    """As much as can be moved along tight pairs, in units of ``1 / scale``. Node r is row r, then come the columns."""
    pairs = [(r, c) for r, u in enumerate(rows) for c, v in enumerate(columns) if u + v == problem.gain[r][c]]
    height, scale = len(rows), problem.scale
    source = height + len(columns)
    supply, demand = ([int(mass * scale) for mass in masses] for masses in (problem.supply, problem.demand))
    arcs = [(r, height + c, supply[r]) for r, c in pairs]  # no limit of its own: a reached row reaches its columns
    arcs += [(source, r, mass) for r, mass in enumerate(supply)]
    arcs += [(height + c, source + 1, mass) for c, mass in enumerate(demand)]
    return pairs, maximum_flow(source + 2, arcs, source, source + 1)


def certify(problem: Problem, columns: Iterable[int]) -> Certificate:
    """Return what the given column potentials prove, with the best plan their tight pairs suggest."""
    columns = tuple(columns)
    rows = row_potentials(problem, columns)
    pairs, flow = tight_flow(problem, rows, columns)
    plan = {pair: Fraction(units, problem.scale) for pair, units in zip(pairs, flow.arcs, strict=False) if units}
    complete(plan, problem)
    found = Certificate(
        lower=gained(plan, problem),
        upper=weighted(problem.supply, rows) + weighted(problem.demand, columns),
        plan=MappingProxyType(plan),
        rows=rows,
        columns=columns,
    )
    check(problem, found)
    return found


def complete(plan: dict[Pair, Fraction], problem: Problem) -> None:
    """Add what the plan leaves over, row by row, whatever it gains: a plan must move everything."""
    supply, demand = left_over(plan, problem)
    r, c = 0, 0
    while r < len(supply) and c < len(demand):
        moved = min(supply[r], demand[c])
        if moved:
            plan[r, c] = plan.get((r, c), Fraction(0)) + moved
            supply[r] -= moved
            demand[c] -= moved
        if supply[r]:
            c += 1
        else:
            r += 1


def check(problem: Problem, certificate: Certificate) -> None:
    """Check bounds from nothing but the problem. Raises ``AssertionError`` naming what does not hold."""
    for r, u in enumerate(certificate.rows):
        for c, v in enumerate(certificate.columns):
            if u + v < problem.gain[r][c]:
                raise AssertionError(f"potentials {u} + {v} are below the gain {problem.gain[r][c]} of pair {(r, c)}")
    if any(mass <= 0 for mass in certificate.plan.values()) or any(map(any, left_over(certificate.plan, problem))):
        raise AssertionError("the plan does not move the supply to the demand")
    bounds = (
        gained(certificate.plan, problem),
        weighted(problem.supply, certificate.rows) + weighted(problem.demand, certificate.columns),
    )
    if (certificate.lower, certificate.upper) != bounds:
        raise AssertionError(f"bounds are {bounds}, the certificate says {(certificate.lower, certificate.upper)}")


def left_over(plan: Mapping[Pair, Fraction], problem: Problem) -> tuple[list[Fraction], list[Fraction]]:
    """Supply and demand that the plan does not serve; negative where it serves too much."""
    supply, demand = list(problem.supply), list(problem.demand)
    for (r, c), mass in plan.items():
        supply[r] -= mass
        demand[c] -= mass
    return supply, demand


def gained(plan: Mapping[Pair, Fraction], problem: Problem) -> Fraction:
    """Total gain of a plan."""
    return sum((mass * problem.gain[r][c] for (r, c), mass in plan.items()), start=Fraction(0))


def weighted(masses: Sequence[Fraction], potentials: Sequence[int]) -> Fraction:
    """Sum of masses times potentials."""
    return sum((mass * potential for mass, potential in zip(masses, potentials, strict=True)), start=Fraction(0))
