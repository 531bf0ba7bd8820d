"""HiGHS with rounded potentials proves the same token optimum as the flow, also without merging tuples into sets."""

from fractions import Fraction
from itertools import product
from math import prod

import pytest

from specproof.reference.model import Row
from specproof.reference.transport import linear
from specproof.reference.transport.certificate import Problem
from specproof.reference.transport.test_token import SIZES, random_rows
from specproof.reference.transport.token import coupling

QUICK = 4096  # variables of the LP over tuples that HiGHS solves within tenths of a second


def tuple_problem(target: Row, draft: Row, drafts: int) -> Problem:
    """One row for every tuple of draft tokens: the problem as it is stated, with nothing merged."""
    tuples = list(product(range(len(draft)), repeat=drafts))
    return Problem(
        supply=tuple(prod((draft[token] for token in tokens), start=Fraction(1)) for tokens in tuples),
        demand=target,
        gain=tuple(tuple(int(token in tokens) for token in range(len(target))) for tokens in tuples),
    )


@pytest.mark.parametrize(("vocabulary", "drafts"), SIZES)
def test_sets(vocabulary: int, drafts: int) -> None:
    """Rounded potentials close on the value of the flow."""
    target, draft = random_rows(vocabulary, drafts)
    assert linear.solve(linear.token_problem(target, draft, drafts)).value == coupling(target, draft, drafts).value


@pytest.mark.parametrize(
    ("vocabulary", "drafts"),
    [
        pytest.param(vocabulary, drafts, marks=[pytest.mark.nightly] if vocabulary ** (drafts + 1) > QUICK else [])
        for vocabulary, drafts in SIZES
    ],
)
def test_tuples(vocabulary: int, drafts: int) -> None:
    """The unmerged problem has the same optimum."""
    target, draft = random_rows(vocabulary, drafts)
    assert linear.solve(tuple_problem(target, draft, drafts)).value == coupling(target, draft, drafts).value
