"""K-SEQ: the discount rho."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specproof.reference import TableModel, exact
from specproof.reference.model import Row
from specproof.reference.testing import Instance, generated, instances, rows
from specproof.reference.verifiers.k_seq import STEPS, best_rho, covers, passed


@generated(60)
@given(rows(3), rows(3), st.integers(1, 4))
def test_best_rho_is_the_smallest_multiple_that_covers(target_row: Row, draft_row: Row, drafts: int) -> None:
    """It lies in [1, K], covers, and one step of 2^-16 less does not, unless it is 1."""
    rho = best_rho(target_row, draft_row, drafts)
    assert 1 <= rho <= drafts
    assert covers(target_row, draft_row, drafts, rho)
    assert rho == 1 or not covers(target_row, draft_row, drafts, rho - Fraction(1, STEPS))


@generated(30)
@given(instances())
def test_any_covering_rho_is_lossless(instance: Instance) -> None:
    """``rho = K`` covers everywhere; it keeps the law and accepts no more than the best rho, but for rounding."""
    plain, wide = (
        exact("k_seq", instance.target, instance.draft, drafts=instance.drafts, length=1, rho=rho)
        for rho in (None, instance.drafts)
    )
    assert wide.total_variation == 0
    assert wide.expected_accepted <= plain.expected_accepted + Fraction(1, STEPS)


def test_one_token_is_accepted_by_the_formula() -> None:
    """The chance of accepting among n drafts is ``1 - (1 - beta)^n``."""
    target, draft = TableModel({(): ["1/2", "3/10", "1/5"]}), TableModel({(): ["1/5", "3/10", "1/2"]})
    target = TableModel({prefix: ["1/2", "3/10", "1/5"] for prefix in [(), (0,), (1,), (2,)]})
    target_row, draft_row = target.probabilities(()), draft.probabilities(())
    beta = sum(passed(target_row, draft_row, best_rho(target_row, draft_row, 3)))
    assert exact("k_seq", target, draft, drafts=3, length=1).expected_accepted == 1 - (1 - beta) ** 3


def test_too_small_rho_is_refused() -> None:
    """A rho below the root would accept some token more often than the target has it."""
    target, draft = TableModel({(): ["1/2", "1/2"]}), TableModel({(): ["3/4", "1/4"]})
    with pytest.raises(ValueError, match="rho 1 is too small for 2 drafts"):
        exact("k_seq", target, draft, drafts=2, length=1, rho=1)
