"""Bad rows are found and named."""

from dataclasses import replace

import pytest
import torch

from specproof.fast.batch import Drafts
from specproof.fast.validate import check_values

GOOD = Drafts(torch.tensor([[[0, 1]]] * 2), torch.full((2, 1, 2, 2), 0.5), torch.full((2, 1, 3, 2), 0.5))


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ([float("nan"), 0.5], "holds NaN or infinity"),
        ([float("inf"), 0.5], "holds NaN or infinity"),
        ([-0.5, 1.5], "has a negative entry"),
        ([0.0, 0.0], "is all zero"),
        ([0.5, 0.6], "does not sum to one"),
    ],
)
def test_check_values_names_the_first_bad_row(row: list[float], what: str) -> None:
    """Target and draft rows alike; rows behind a request's length are not looked at."""
    for field in ("target_probs", "draft_probs"):
        rows = getattr(GOOD, field).clone()
        rows[1, 0, 1] = torch.tensor(row)
        bad = replace(GOOD, **{field: rows})
        with pytest.raises(ValueError, match=f"request 1, draft 0: {field.split('_')[0]} row 1 {what}"):
            check_values(bad)
        check_values(replace(bad, lengths=torch.tensor([2, 0])))


def test_check_values_names_a_draft_that_could_not_be_drawn() -> None:
    """A drafted token must have probability."""
    rows = torch.tensor([[[[0.5, 0.5], [1.0, 0.0]]]] * 2)
    with pytest.raises(ValueError, match="request 0, draft 0: token 1 is 1, which its draft row rules out"):
        check_values(replace(GOOD, draft_probs=rows))
    assert check_values(replace(GOOD, draft_probs=None)).draft_probs is None


def test_check_refuses_lengths_that_do_not_fit() -> None:
    """A length for every request, between 0 and L."""
    with pytest.raises(ValueError, match="request 1: length 3 is not between 0 and 2"):
        replace(GOOD, lengths=torch.tensor([2, 3])).check()
    with pytest.raises(ValueError, match="lengths must be 2 integers"):
        replace(GOOD, lengths=torch.tensor([2])).check()
