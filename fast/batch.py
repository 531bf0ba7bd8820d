"""The contract between engines and verifiers: what a verifier is handed, what it returns, what it declares.

A verifier is any object (a module will do) with ``verify(drafts, generator, carry=None) -> Outcome``. What it declares
beside that method is read by name: ``drafting`` (a ``Drafting``), ``capabilities`` (names out of ``CAPABILITIES``),
``rule`` and ``rule_options`` (the reference rule whose acceptance it promises). Everything has a default.

A verifier that remembers something returns it as ``Outcome.carry`` and gets it back with the next block of the same
requests. In a batch the carry must be a ``Carry``, so that requests can come, go and be regrouped between blocks.
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
    "hidden_randomness": "draws where no script reaches, as in another process: it can only be counted",
    "slow": "takes milliseconds a request: fewer random checks and counted texts, as the certificate states",
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
    law after the first ``i`` tokens of draft ``k``. ``draft_probs=None`` means one-hot drafts: every drafted token had
    probability one. ``lengths`` limits each request to its first tokens; what lies behind them is never read.
    """

    tokens: Tensor  # [B, K, L] int64
    draft_probs: Tensor | None  # [B, K, L, V]
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

    @property
    def device(self) -> torch.device:
        """Where the tensors live."""
        return self.tokens.device

    def draft_rows(self) -> Tensor:
        """Return ``draft_probs``, written out as one-hot rows where there are none."""
        if self.draft_probs is not None:
            return self.draft_probs
        rows = self.target_probs.new_zeros((*self.tokens.shape, self.vocabulary))
        return rows.scatter_(-1, self.tokens.clamp(0, self.vocabulary - 1)[..., None], 1.0)

    def each_length(self) -> Tensor:
        """Return the drafted tokens of every request, [B]."""
        return self.lengths if self.lengths is not None else self.tokens.new_full((self.batch,), self.length)

    def check(self) -> "Drafts":
        """Return self; raise ``ValueError`` or ``TypeError`` naming the first field that breaks the contract."""
        if self.tokens.dtype != torch.int64:
            raise TypeError(f"tokens must be int64, got {self.tokens.dtype}")
        if self.tokens.dim() != 3:
            raise ValueError(f"tokens must be [B, K, L], got {tuple(self.tokens.shape)}")
        wanted = (*self.tokens.shape, self.vocabulary)
        if self.draft_probs is not None and tuple(self.draft_probs.shape) != wanted:
            raise ValueError(f"draft_probs must be [B, K, L, V] = {wanted}, got {tuple(self.draft_probs.shape)}")
        wanted = (self.batch, self.paths, self.length + 1, self.vocabulary)
        if tuple(self.target_probs.shape) != wanted:
            raise ValueError(f"target_probs must be [B, K, L+1, V] = {wanted}, got {tuple(self.target_probs.shape)}")
        self._check_lengths_and_ids()
        return self

    def _check_lengths_and_ids(self) -> None:
        outside = (self.tokens < 0) | (self.tokens >= self.vocabulary)  # [B, K, L]
        if self.lengths is not None:
            if tuple(self.lengths.shape) != (self.batch,) or self.lengths.is_floating_point():
                raise ValueError(f"lengths must be {self.batch} integers, got {tuple(self.lengths.shape)}")
            wrong = ((self.lengths < 0) | (self.lengths > self.length)).nonzero()
            if len(wrong):
                b = int(wrong[0])
                raise ValueError(f"request {b}: length {int(self.lengths[b])} is not between 0 and {self.length}")
            outside &= torch.arange(self.length, device=self.device) < self.lengths[:, None, None]
        if bool(outside.any()):
            b, k, i = outside.nonzero()[0].tolist()
            found = int(self.tokens[b, k, i])
            raise ValueError(f"request {b}: token {i} of draft {k} is {found}, outside 0..{self.vocabulary - 1}")


class Carry(Protocol):
    """What a verifier remembers of a batch of requests; None stands for requests of which there is nothing to remember."""

    def select(self, rows: Tensor) -> "Carry | None":
        """Return what belongs to some requests, in that order."""
        ...

    @staticmethod
    def joined(parts: "Sequence[Any | None]", sizes: Sequence[int]) -> "Carry | None":
        """Return the carry of several batches put together; ``sizes`` says how many requests each has."""
        ...


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

    @classmethod
    def of(cls, drafts: Drafts, path: Tensor, accepted: Tensor, final: Tensor, carry: Any = None) -> "Outcome":
        """Lay out ``accepted[b]`` tokens of draft ``path[b]`` and the token ``final[b]`` behind them; all [B]."""
        rows = torch.arange(drafts.batch, device=drafts.device)
        positions = torch.arange(drafts.length + 1, device=drafts.device)
        tokens = torch.cat([drafts.tokens[rows, path], final[:, None]], dim=-1)  # [B, L+1]
        tokens = torch.where(positions < accepted[:, None], tokens, -1)
        tokens[rows, accepted] = final
        return cls(tokens, accepted, path, carry)


class Verifier(Protocol):
    """Anything with this method."""

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:
        """Decide which tokens of each request to keep and what follows them."""
        ...
