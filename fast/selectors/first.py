"""Select the first draft: its law is the draft's own, and the one-draft rule comes back."""

import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.selectors.selection import Selection


def coins(length: int) -> int:  # noqa: ARG001 - the same for every selector
    """How many uniforms a request takes."""
    return 0


def select(drafts: Drafts, uniform: Tensor) -> Selection:  # noqa: ARG001 - the same for every selector
    """Return the first draft of each request."""
    tokens, draft, target = (part[:, :1] for part in (drafts.tokens, drafts.draft_rows(), drafts.target_probs))
    path = torch.zeros(drafts.batch, dtype=torch.int64, device=tokens.device)
    return Selection(Drafts(tokens, draft, target, drafts.lengths), path)
