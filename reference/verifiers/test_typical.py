"""Typical acceptance: lossy by design, and by how much."""

from fractions import Fraction

from specproof.reference import TableModel, exact
from specproof.reference.model import prefixes
from specproof.reference.verifiers.typical import STEPS, threshold

UNEVEN = TableModel({prefix: ["1/2", "3/10", "1/5"] for prefix in prefixes(3, 2)})
EVEN = TableModel({prefix: ["1/3", "1/3", "1/3"] for prefix in prefixes(3, 2)})


def test_threshold_of_an_even_row() -> None:
    """With V equal probabilities ``exp(-H) = 1/V``, rounded to a multiple of 2^-20."""
    row = EVEN.probabilities(())
    assert threshold(row, Fraction(1), Fraction(1)) == Fraction(round(STEPS / 3), STEPS)
    assert threshold(row, Fraction(9, 100), Fraction(3, 10)) == Fraction(9, 100)


def test_every_typical_token_is_accepted() -> None:
    """All probabilities exceed the threshold of 0.09, so the draft's law comes out: its distance is the loss."""
    found = exact("typical", UNEVEN, EVEN, drafts=1, length=1, greedy=False)
    assert found.accepted_law == {1: 1}
    assert found.total_variation == Fraction(1, 6)


def test_refused_tokens_give_way_to_the_most_likely() -> None:
    """With a threshold of 1/4 token 2 is refused and the target's argmax emitted instead, or a draw of the target."""
    options = {"epsilon": "1/4", "delta": 1}
    greedy = exact("typical", UNEVEN, EVEN, drafts=1, length=1, tokens=1, **options)
    assert greedy.law == {(0,): Fraction(2, 3), (1,): Fraction(1, 3)}
    drawn = exact("typical", UNEVEN, EVEN, drafts=1, length=1, tokens=1, greedy=False, **options)
    assert drawn.law == {(0,): Fraction(1, 2), (1,): Fraction(13, 30), (2,): Fraction(1, 15)}


def test_the_longest_of_several_drafts_wins() -> None:
    """With the same threshold two drafts fail only when both start with token 2."""
    found = exact("typical", UNEVEN, EVEN, drafts=2, length=1, epsilon="1/4", delta=1)
    assert found.accepted_law == {0: Fraction(1, 9), 1: Fraction(8, 9)}
