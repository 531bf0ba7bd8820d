"""Plain decoding, batched: ignore the drafts, draw one token from the target. The reference's ``autoregressive``."""

from typing import Any

import torch

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import uniforms
from specproof.fast.rows import Nodes, shaved

drafting = Drafting(drafts=1)
capabilities = frozenset({"batch", "ragged", "one_hot_draft", "drafts", "takes_uniforms"})
rule = "autoregressive"


def verify(drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG001 - part of the contract
    """Accept nothing, with one uniform a request. Raises ``ValueError`` for a first row without mass."""
    drafts.check()
    coin = uniforms(generator, drafts.batch, 1, drafts.device)[:, 0]
    rows = torch.arange(drafts.batch, device=drafts.device)
    none = torch.zeros_like(rows)
    first = shaved(drafts, Nodes(rows, none, none), torch.zeros_like(coin)).or_target()
    return Outcome.of(drafts, none, none, first.draw(coin))
