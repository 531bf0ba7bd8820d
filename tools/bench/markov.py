"""Random pairs of Markov models, many requests at a time: both rows of every last token are independent Dirichlet draws.

With independent entries of concentration 6 a draft and its target overlap by about four fifths whatever V is. Requests
are dealt out to several pairs of models in turn.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from specproof.fast.batch import Drafts

CONCENTRATION = 6.0


@dataclass(frozen=True)
class Chains:
    """Transition tables of M targets and M drafts, [M, V, V]."""

    target: Tensor
    draft: Tensor

    @classmethod
    def random(cls, models: int, vocabulary: int, *, device: torch.device, seed: int) -> "Chains":
        """Draw the tables."""
        generator = torch.Generator().manual_seed(seed)
        shape = torch.full((2, models, vocabulary, vocabulary), CONCENTRATION)
        weights = torch._standard_gamma(shape, generator=generator).to(device)
        return cls(*(weights / weights.sum(-1, keepdim=True)).unbind())

    @cached_property
    def draft_below(self) -> Tensor:
        """Distribution functions of the drafts' rows."""
        return self.draft.cumsum(-1)

    @cached_property
    def target_below(self) -> Tensor:
        """Distribution functions of the targets' rows."""
        return self.target.cumsum(-1)

    def models(self, requests: int) -> Tensor:
        """Which pair each request belongs to."""
        return torch.arange(requests, device=self.target.device) % len(self.target)

    def drafts(self, last: Tensor, paths: int, length: int, generator: torch.Generator) -> Drafts:
        """Draw independent drafts behind the tokens ``last`` [B], with the rows of both models."""
        model, at = self.models(len(last))[:, None], last[:, None].expand(-1, paths)
        tokens, draft, target = [], [], []
        for _ in range(length):
            draft.append(self.draft[model, at])
            target.append(self.target[model, at])
            at = _next(self.draft_below[model, at], generator)
            tokens.append(at)
        target.append(self.target[model, at])
        return Drafts(torch.stack(tokens, 2), torch.stack(draft, 2), torch.stack(target, 2))

    def log_ratios(self, drawn_by: Tensor, last: Tensor, length: int, generator: torch.Generator) -> Tensor:
        """Log of target over draft mass [B, L] of prefixes that the rows with functions ``drawn_by`` draw behind ``last``."""
        model, at, steps = self.models(len(last)), last, []
        for _ in range(length):
            token = _next(drawn_by[model, at], generator)
            steps.append(self.target[model, at, token].double().log() - self.draft[model, at, token].double().log())
            at = token
        return torch.stack(steps, 1).cumsum(-1)


def _next(below: Tensor, generator: torch.Generator) -> Tensor:
    uniform = torch.rand((*below.shape[:-1], 1), generator=generator, device=below.device) * below[..., -1:]
    found: Tensor = torch.searchsorted(below, uniform, right=True).squeeze(-1)
    return found.clamp(max=below.shape[-1] - 1)
