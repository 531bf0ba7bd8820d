"""Random inputs of any size, as logits: a target, a draft that is the target disturbed, and drafts drawn from it.

Drafts of a request that share a prefix have the same rows behind it, as they must. About two in three tokens of a single
draft are accepted by the standard rule, whatever the vocabulary.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from specproof.fast.batch import Drafts

PEAK, DISTURBANCE = 2.0, 0.8  # standard deviations of the target's logits and of what the draft adds to them


@dataclass(frozen=True)
class Size:
    """Requests B, drafts K, length L, vocabulary V."""

    batch: int = 1
    drafts: int = 1
    length: int = 4
    vocabulary: int = 32000

    def __str__(self) -> str:
        several = f" K={self.drafts}" if self.drafts > 1 else ""
        return f"B={self.batch}{several} L={self.length} V={self.vocabulary}"

    def with_(self, axis: str, value: int) -> "Size":
        """The same with another value on one axis, named V, L, K or B."""
        return replace(self, **{{"V": "vocabulary", "L": "length", "K": "drafts", "B": "batch"}[axis]: value})

    @property
    def json(self) -> dict[str, int]:
        """For the report."""
        return {"B": self.batch, "K": self.drafts, "L": self.length, "V": self.vocabulary}


@dataclass(frozen=True)
class Inputs:
    """What every contender is handed, in the form that it takes."""

    size: Size
    tokens: Tensor  # [B, K, L]
    draft_logits: Tensor  # [B, K, L, V]
    target_logits: Tensor  # [B, K, L+1, V]

    @cached_property
    def drafts(self) -> Drafts:
        """As probabilities."""
        return Drafts(self.tokens, self.draft_logits.softmax(-1), self.target_logits.softmax(-1))


def inputs(size: Size, *, device: torch.device, seed: int = 0) -> Inputs:
    """Draw inputs of a size."""
    generator = torch.Generator(device).manual_seed(seed)
    batch, paths, length, vocabulary = size.batch, size.drafts, size.length, size.vocabulary
    tokens = torch.zeros(batch, paths, length, dtype=torch.int64, device=device)
    draft = torch.empty(batch, paths, length, vocabulary, device=device)
    target = torch.empty(batch, paths, length + 1, vocabulary, device=device)
    requests = torch.arange(batch, device=device)[:, None]
    for i in range(length + 1):
        same = (tokens[:, :, None, :i] == tokens[:, None, :, :i]).all(-1)  # [B, K, K]
        lead = same.to(torch.int8).argmax(-1)  # the first draft with this prefix
        target[:, :, i] = PEAK * torch.randn(batch, paths, vocabulary, generator=generator, device=device)
        target[:, :, i] = target[requests, lead, i]
        if i < length:
            noise = torch.randn(batch, paths, vocabulary, generator=generator, device=device)
            draft[:, :, i] = target[:, :, i] + DISTURBANCE * noise
            draft[:, :, i] = draft[requests, lead, i]
            clocks = torch.empty_like(noise).exponential_(generator=generator)
            tokens[:, :, i] = (draft[:, :, i] - clocks.log_()).argmax(-1)
    return Inputs(size, tokens, draft, target)
