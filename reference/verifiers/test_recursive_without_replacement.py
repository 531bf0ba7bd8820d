"""Recursive rejection without replacement: its own drafter, and what a mix-up with the other kind costs."""

from fractions import Fraction

import pytest

from specproof.reference import TableModel, exact, rule
from specproof.reference.exact import completed
from specproof.reference.law import law, total_variation
from specproof.reference.model import prefixes, sequences
from specproof.reference.step import Drafter, Verify, independent_drafts, verification_law

TARGET = TableModel({prefix: ["1/5", "2/5", "2/5"] for prefix in prefixes(3, 2)})
DRAFT = TableModel({prefix: ["3/5", "3/10", "1/10"] for prefix in prefixes(3, 2)})
WITH, WITHOUT = rule("recursive"), rule("recursive_without_replacement")


def distance(verify: Verify, drafter: Drafter) -> Fraction:
    """Total variation of one block of one token when a verifier gets the drafts of a drafter."""
    steps = verification_law(verify, TARGET, DRAFT, drafts=2, length=1, drafter=drafter)
    return total_variation(completed(steps, 2), sequences(TARGET, 2))


def test_first_tokens_are_drawn_without_replacement() -> None:
    """Two drafts have distinct first tokens with the law of sequential draws; a later token may repeat."""
    drawn = law(lambda chance: WITHOUT.drafter(chance, DRAFT, 2, 2))
    assert all(first[0] != second[0] for first, second in drawn)
    pair = sum(mass for (first, second), mass in drawn.items() if (first[0], second[0]) == (0, 2))
    assert pair == Fraction(3, 5) * Fraction(1, 10) / (1 - Fraction(3, 5))
    assert any(first[1] == second[1] for first, second in drawn)


def test_matching_drafter_and_verifier_keep_the_law() -> None:
    """Each verifier is lossless with its own drafter."""
    assert distance(WITH.verify, independent_drafts) == 0
    assert distance(WITHOUT.verify, WITHOUT.drafter) == 0


def test_mixing_the_two_kinds_up_is_a_fault() -> None:
    """Distinct drafts under the rule for independent ones lose the law; the other way round is refused."""
    assert distance(WITH.verify, WITHOUT.drafter) == Fraction(3, 20)
    with pytest.raises(ValueError, match="start with distinct tokens"):
        distance(WITHOUT.verify, independent_drafts)


def test_all_tokens_drafted_accepts_always() -> None:
    """When the drafts are all possible tokens, one of them is accepted."""
    assert exact("recursive_without_replacement", TARGET, DRAFT, drafts=3, length=1).accepted_law == {1: 1}


def test_more_drafts_than_tokens_are_refused() -> None:
    """K distinct first tokens need K tokens of positive probability."""
    narrow = TableModel({prefix: ["1/2", "1/2", 0] for prefix in prefixes(3, 1)})
    with pytest.raises(ValueError, match="3 drafts without replacement need 3 possible first tokens, there are 2"):
        exact("recursive_without_replacement", narrow, narrow, drafts=3, length=1)
