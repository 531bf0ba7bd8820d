"""The contract between engines and verifiers: what a verifier is handed, what it returns, what it declares.

A verifier is any object (a module will do) with ``verify(drafts, generator, carry=None) -> Outcome``. What it declares
beside that method is read by name: ``drafting`` (a ``Drafting``), ``capabilities`` (names out of ``CAPABILITIES``),
``rule`` and ``rule_options`` (the reference rule whose acceptance it promises). Everything has a default.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

CAPABILITIES = {
    "batch": "takes several requests in one call",
    "ragged": "takes a length of its own for every request",
    "one_hot_draft": "takes drafts without probabilities",
    "tree": "takes drafts that share prefixes as a tree",
    "drafts": "takes several drafts for one request",
    "bonus_by_caller": "leaves the bonus token to the caller",
    "takes_uniforms": "takes its uniforms as an argument",
    "takes_logits": "takes logits instead of probabilities",
    "owns_drafting": "draws its own drafts",
    "global_rng": "draws from the global generator",
    "lossy_by_design": "does not promise the target's law",
}

Randomness = torch.Generator | Tensor | Sequence[int] | None
"""A generator, the uniforms themselves ([B, n], in [0, 1)), one seed for every request, or None: the global generator."""


@dataclass(frozen=True)
class Drafting:
    """How a verifier wants its drafts drawn: ``drafts`` paths each, with or without replacement, as a tree or not."""

    drafts: int = 1
    replacement: bool = True
    tree: bool = False


@dataclass(frozen=True)
class Drafts:
    """One batch of verification requests.

    ``draft_probs[b, k, i]`` is the law that ``tokens[b, k, i]`` was drawn from; ``target_probs[b, k, i]`` is the target's
    law after the first ``i`` tokens of draft ``k``. ``lengths`` limits each request to its first tokens.
    """

    tokens: Tensor  # [B, K, L] int64
    draft_probs: Tensor  # [B, K, L, V]
    target_probs: Tensor  # [B, K, L+1, V]
    lengths: Tensor | None = None  # [B] int64

    @property
    def batch(self) -> int:
        """Number of requests, B."""
        return self.tokens.shape[0]

    @property
    def paths(self) -> int:
        """Number of drafts for each request, K."""
        return self.tokens.shape[1]

    @property
    def length(self) -> int:
        """Tokens in a draft, L."""
        return self.tokens.shape[2]

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        return self.target_probs.shape[-1]

    def check(self) -> "Drafts":
        """Return self; raise ``ValueError`` or ``TypeError`` naming the first field that breaks the contract."""
        if self.tokens.dtype != torch.int64:
            raise TypeError(f"tokens must be int64, got {self.tokens.dtype}")
        if self.tokens.dim() != 3:
            raise ValueError(f"tokens must be [B, K, L], got {tuple(self.tokens.shape)}")
        wanted = (*self.tokens.shape, self.vocabulary)
        if tuple(self.draft_probs.shape) != wanted:
            raise ValueError(f"draft_probs must be [B, K, L, V] = {wanted}, got {tuple(self.draft_probs.shape)}")
        wanted = (self.batch, self.paths, self.length + 1, self.vocabulary)
        if tuple(self.target_probs.shape) != wanted:
            raise ValueError(f"target_probs must be [B, K, L+1, V] = {wanted}, got {tuple(self.target_probs.shape)}")
        return self


@dataclass(frozen=True)
class Outcome:
    """What a verifier decided for each request: ``accepted[b]`` tokens of draft ``path[b]``, then one more token.

    ``tokens[b]`` holds those ``accepted[b] + 1`` tokens and -1 after them. ``carry`` is whatever the verifier wants back
    with the next block of the same requests; None for verifiers that remember nothing.
    """

    tokens: Tensor  # [B, L+1] int64
    accepted: Tensor  # [B] int64
    path: Tensor | None = None  # [B] int64; None: the only draft
    carry: Any = None


class Verifier(Protocol):
    """Anything with this method."""

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:
        """Decide which tokens of each request to keep and what follows them."""
        ...
