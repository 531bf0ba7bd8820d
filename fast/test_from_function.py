"""Plain functions as verifiers."""

from typing import Any

import pytest
import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts
from specproof.fast.from_function import from_function

DRAFTS = Drafts(torch.tensor([[[1, 0]]]), torch.full((1, 1, 2, 2), 0.5), torch.full((1, 1, 3, 2), 0.5))


def keep_all(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
    """Accept everything but leave garbage behind the first token."""
    assert tokens.shape == (1, 2)
    assert draft.shape == (1, 2, 2)
    assert target.shape == (1, 3, 2)
    return torch.tensor([[1, 7, 7]]), torch.tensor([0])


def test_from_function_drops_the_k_axis_and_pads() -> None:
    """With one draft the function sees no K axis; what stands behind the emitted tokens becomes -1."""
    verifier = from_function(keep_all)
    assert verifier.verify(DRAFTS, None).tokens.tolist() == [[1, -1, -1]]
    assert verifier.drafting == Drafting(1)
    assert verifier.capabilities == {"batch"}


def test_from_function_keeps_the_k_axis_for_several_drafts() -> None:
    """With ``drafts=2`` the inputs are [B, K, ...]."""
    seen = []

    def spy(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
        seen.append(tokens.shape)
        return torch.tensor([[1, 0, 0]]), torch.tensor([0])

    two = Drafts(DRAFTS.tokens.repeat(1, 2, 1), DRAFTS.draft_probs, DRAFTS.target_probs)
    from_function(spy, drafts=2).verify(two, None)
    assert seen == [(1, 2, 2)]


def test_from_function_refuses_what_is_no_function() -> None:
    """Errors say what was given."""
    with pytest.raises(TypeError, match="needs a function, got int"):
        from_function(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 1, got 0"):
        from_function(keep_all, drafts=0)
    with pytest.raises(TypeError, match=r"must return \(tokens, accepted\), got int"):
        from_function(lambda *_: 3).verify(DRAFTS, None)  # type: ignore[arg-type,return-value]
