"""Select the first draft: its law is the draft's own, and the one-draft rule comes back."""

from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.selectors.selection import Along, Selection, State, path_ratios


def coins(length: int) -> int:  # noqa: ARG001 - the same for every selector
    """How many uniforms a request takes."""
    return 0


def select(drafts: Drafts, uniform: Tensor) -> Selection:  # noqa: ARG001 - the same for every selector
    """Return the first draft of each request."""
    tokens, draft, target = (part[:, :1] for part in (drafts.tokens, drafts.draft_rows(), drafts.target_probs))
    path = torch.zeros(drafts.batch, dtype=torch.int64, device=tokens.device)
    return Selection(Drafts(tokens, draft, target, drafts.lengths), path)


def start(drafts: Drafts, **_: Any) -> State:
    """Where every block starts; nothing but the ratio is needed."""
    cells = torch.zeros(drafts.batch, 1, 0, dtype=torch.float64, device=drafts.device)
    return State(cells, torch.ones(drafts.batch, dtype=torch.float64, device=drafts.device))


def along(state: State, drafts: Drafts, left: Tensor, paths: int) -> Along:  # noqa: ARG001 - the same for every selector
    """The draft's own rows."""
    odds = path_ratios(drafts) * state.ratio[:, None, None]
    last = odds.gather(2, drafts.each_length()[:, None, None].expand(-1, drafts.paths, 1))
    ends = State(state.cells.repeat_interleave(drafts.paths, dim=0), last.flatten())
    return Along(drafts.draft_rows(), torch.cat([odds[..., :-1], last], dim=-1), ends)
