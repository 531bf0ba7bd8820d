"""Four ways to the same fraction: flow, cut, closed form and all token sets, for every size of small vocabularies."""

import random
from fractions import Fraction
from itertools import combinations, product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specproof.reference.ceilings import alpha_star
from specproof.reference.model import Row
from specproof.reference.testing import generated, rows
from specproof.reference.transport.token import Coupling, coupling, cut_value, support_law

SIZES = [(vocabulary, drafts) for vocabulary in range(2, 9) for drafts in range(1, 5)]


def random_rows(vocabulary: int, drafts: int) -> tuple[Row, Row]:
    """A target and a draft row with denominators of four digits and more."""
    dice = random.Random(100 * vocabulary + drafts)
    weights = [[dice.randrange(1, 2000) for _ in range(vocabulary)] for _ in range(2)]
    target, draft = (tuple(Fraction(weight, sum(row)) for weight in row) for row in weights)
    return target, draft


def check(found: Coupling, target: Row, draft: Row, drafts: int) -> None:
    """Raise unless the flow is a coupling's accepted part and the cut proves that no other accepts more."""
    accepted = [Fraction(0)] * len(target)
    used = dict.fromkeys(found.supports, Fraction(0))
    for (support, token), mass in found.flow.items():
        assert token in support
        assert mass > 0
        accepted[token] += mass
        used[support] += mass
    assert all(mass <= limit for mass, limit in zip(accepted, target, strict=True))
    assert all(mass <= found.supports[support] for support, mass in used.items())
    assert sum(accepted) == found.value == cut_value(target, draft, drafts, found.cut)


@pytest.mark.parametrize(("vocabulary", "drafts"), SIZES)
def test_coupling(vocabulary: int, drafts: int) -> None:
    """Flow, cut, closed form and the minimum over all token sets are the same fraction."""
    target, draft = random_rows(vocabulary, drafts)
    found = coupling(target, draft, drafts)
    check(found, target, draft, drafts)
    sets = (frozenset(chosen) for size in range(vocabulary + 1) for chosen in combinations(range(vocabulary), size))
    assert found.value == alpha_star(target, draft, drafts)
    assert found.value == min(cut_value(target, draft, drafts, chosen) for chosen in sets)


@given(st.integers(1, 5).flatmap(lambda size: st.tuples(rows(size), rows(size))), st.integers(1, 4))
@generated(150)
def test_coupling_with_zeros_and_ties(pair: tuple[Row, Row], drafts: int) -> None:
    """Supports that differ and ratios that tie change nothing."""
    target, draft = pair
    found = coupling(target, draft, drafts)
    check(found, target, draft, drafts)
    assert found.value == alpha_star(target, draft, drafts)


@given(st.integers(1, 4).flatmap(rows), st.integers(1, 4))
@generated(60)
def test_support_law(draft: Row, drafts: int) -> None:
    """Inclusion and exclusion gives what counting all tuples of tokens gives."""
    counted: dict[frozenset[int], Fraction] = {}
    for tokens in product(range(len(draft)), repeat=drafts):
        mass = prod((draft[token] for token in tokens), start=Fraction(1))
        if mass:
            counted[frozenset(tokens)] = counted.get(frozenset(tokens), Fraction(0)) + mass
    assert support_law(draft, drafts) == counted


@pytest.mark.parametrize(("vocabulary", "drafts"), [(20, 4), (128, 2)])
def test_large(vocabulary: int, drafts: int) -> None:
    """Thousands of supports: flow, cut and closed form still agree."""
    target, draft = random_rows(vocabulary, drafts)
    found = coupling(target, draft, drafts)
    check(found, target, draft, drafts)
    assert found.value == alpha_star(target, draft, drafts)


def test_result_is_shared_and_cannot_be_changed() -> None:
    """The same rows give the same object, whatever sequence they come in, so it must be read-only."""
    found = coupling(["1/2", "1/2"], [Fraction(3, 4), Fraction(1, 4)], 2)
    assert found is coupling((Fraction(1, 2), Fraction(1, 2)), (Fraction(3, 4), Fraction(1, 4)), 2)
    assert found.value == Fraction(15, 16)
    with pytest.raises(TypeError):
        found.flow[frozenset({0}), 0] = Fraction(1)  # type: ignore[index]


@pytest.mark.parametrize(
    ("target", "draft", "drafts", "message"),
    [
        (["1/2", "1/3"], [1, 0], 1, "target row: the probabilities"),
        ([1], [1, 0], 1, "target has 1 tokens, draft has 2"),
        ([1, 0], [1, 0], 0, "drafts must be at least 1, got 0"),
    ],
)
def test_bad_input(target: list[Fraction], draft: list[Fraction], drafts: int, message: str) -> None:
    """Each error says what was given."""
    with pytest.raises(ValueError, match=message):
        coupling(target, draft, drafts)
