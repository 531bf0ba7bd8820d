"""The batched standard rule."""

import pytest
import torch

from specproof.fast.batch import Drafts
from specproof.fast.verifiers import standard


def one(target: list[list[float]], draft: list[list[float]], tokens: list[int]) -> Drafts:
    """A batch of one request with one draft."""
    return Drafts(torch.tensor([[tokens]]), torch.tensor([[draft]]), torch.tensor([[target]]))


FLAT = one([[0.5, 0.5], [0.25, 0.75]], [[0.8, 0.2]], [0])


@pytest.mark.parametrize(
    ("coins", "tokens", "accepted"),
    [
        ([0.624, 0.2], [0, 0], 1),
        ([0.624, 0.3], [0, 1], 1),
        ([0.626, 0.0], [1, -1], 0),
    ],
)
def test_verify_accepts_below_the_ratio(coins: list[float], tokens: list[int], accepted: int) -> None:
    """The ratio is .5/.8 = .625; the bonus and the residual are drawn by inverse distribution function."""
    outcome = standard.verify(FLAT, torch.tensor([coins], dtype=torch.float64))
    assert outcome.tokens.tolist() == [tokens]
    assert outcome.accepted.tolist() == [accepted]


def test_verify_rejects_an_impossible_token_even_at_coin_zero() -> None:
    """A token with target probability 0 is not accepted when the uniform is exactly 0."""
    drafts = one([[0.0, 1.0], [0.5, 0.5]], [[0.5, 0.5]], [0])
    outcome = standard.verify(drafts, torch.zeros(1, 2, dtype=torch.float64))
    assert outcome.tokens.tolist() == [[1, -1]]


def test_verify_never_draws_a_token_without_weight() -> None:
    """The largest uniform below one still lands on the last token that has weight."""
    drafts = one([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]], [[0.5, 0.5, 0.0]], [0])
    outcome = standard.verify(drafts, torch.full((1, 2), 1 - 2.0**-53, dtype=torch.float64))
    assert outcome.tokens.tolist() == [[0, 1]]


def test_verify_honours_lengths() -> None:
    """A request of length 1 in a batch of length 2 gets its bonus after the first token."""
    rows = [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]
    both = one(rows, rows[:2], [0, 0])
    drafts = Drafts(
        both.tokens.repeat(2, 1, 1), both.draft_probs.repeat(2, 1, 1, 1), both.target_probs.repeat(2, 1, 1, 1),
        torch.tensor([1, 2]),
    )  # fmt: skip
    outcome = standard.verify(drafts, torch.full((2, 3), 0.5, dtype=torch.float64))
    assert outcome.tokens.tolist() == [[0, 0, -1], [0, 0, 1]]
    assert outcome.accepted.tolist() == [1, 2]


def test_verify_takes_one_seed_a_request() -> None:
    """A request's output depends on its seed, not on its neighbours."""
    many = Drafts(
        *(tensor.repeat(5, *[1] * (tensor.dim() - 1)) for tensor in (FLAT.tokens, FLAT.draft_probs, FLAT.target_probs))
    )
    together = standard.verify(many, [3, 1, 4, 1, 5]).tokens
    assert together[3].tolist() == together[1].tolist() == standard.verify(FLAT, [1]).tokens[0].tolist()


@pytest.mark.parametrize("row", [[float("nan"), float("nan")], [0.0, 0.0]])
def test_verify_names_the_request_whose_row_is_degenerate(row: list[float]) -> None:
    """NaN and all-zero target rows are refused, not turned into an id."""
    with pytest.raises(ValueError, match=r"request 0: target row 0 (is NaN|has no mass)"):
        standard.verify(one([row, [0.5, 0.5]], [[0.5, 0.5]], [0]), torch.full((1, 2), 0.9, dtype=torch.float64))


def test_verify_refuses_what_it_cannot_verify() -> None:
    """Several drafts, uniforms of the wrong shape and too few seeds are errors that say what was given."""
    two = Drafts(FLAT.tokens.repeat(1, 2, 1), FLAT.draft_probs.repeat(1, 2, 1, 1), FLAT.target_probs.repeat(1, 2, 1, 1))
    with pytest.raises(ValueError, match="1 draft, got 2"):
        standard.verify(two, None)
    with pytest.raises(ValueError, match=r"\(1, 2\), got \(1, 3\)"):
        standard.verify(FLAT, torch.zeros(1, 3))
    with pytest.raises(ValueError, match="1 requests, got 2 seeds"):
        standard.verify(FLAT, [1, 2])
    with pytest.raises(TypeError, match="int64"):
        standard.verify(Drafts(FLAT.tokens.int(), FLAT.draft_probs, FLAT.target_probs), None)
