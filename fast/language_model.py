"""Language models with a cache, and the texts in it: what a generation loop needs to know of a model.

A cache is a row of slots for every request. A slot holds one fed token; which slots a token sees is said when it is fed, so
that several drafts hang off one text like a tree and are scored in one pass. Afterwards the slots of the accepted path
become text and the others are dropped: that is the rollback.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


@dataclass(frozen=True)
class Scores:
    """What a model says behind each of Q fed tokens."""

    logits: Tensor  # [B, Q, V] float32
    hidden: Tensor  # [B, Q, H] the features that the logits were made of


class Session(Protocol):
    """The cache of B requests, as slots that only grow at the end."""

    def feed(self, tokens: Tensor, positions: Tensor, sees: Tensor, features: Tensor | None = None) -> Scores:
        """Append tokens [B, Q] at ``positions`` [B, Q]; token q attends to the slots where ``sees`` [B, Q, slots + Q].

        ``features`` [B, Q, H] go with the tokens into models that take them (heads on another model's features).
        """
        ...

    def keep(self, rows: Tensor, slots: Tensor) -> None:
        """Keep requests ``rows`` [b] only, and of each the slots ``slots`` [b, n], in that order."""
        ...


class LanguageModel(Protocol):
    """A causal language model."""

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        ...

    @property
    def context(self) -> int:
        """The longest text it can attend to, in tokens."""
        ...

    @property
    def device(self) -> torch.device:
        """Where it runs."""
        ...

    def session(self, batch: int) -> Session:
        """Return an empty cache for a batch."""
        ...


class CachedTexts:
    """The texts of B requests in a model's cache, with drafts that hang off their ends until ``settle``."""

    def __init__(self, model: LanguageModel, batch: int) -> None:
        self._session = model.session(batch)
        self._device = model.device
        self._text = torch.zeros(batch, 0, dtype=torch.bool, device=model.device)  # [B, slots] whether a slot is text
        self.hung = 0  # slots behind the text that are drafts

    @property
    def lengths(self) -> Tensor:
        """How many tokens of each text are cached, [B]."""
        return self._text.sum(1)

    def extend(self, tokens: Sequence[Sequence[int]], features: Sequence[Tensor] | None = None) -> Scores:
        """Append tokens to every text; some may be empty. Scores are [B, n], right-aligned: the last entry is the last token's.

        ``features`` [n, H] of every text go with its tokens.
        """
        assert not self.hung, "settle first"
        batch, width = len(tokens), max(map(len, tokens))
        given = torch.zeros(batch, width, dtype=torch.int64, device=self._device)
        real = torch.zeros(batch, width, dtype=torch.bool, device=self._device)
        for row, new in enumerate(tokens):
            if len(new):
                given[row, width - len(new) :] = torch.tensor(new, device=self._device)
                real[row, width - len(new) :] = True
        positions = (self.lengths[:, None] + real.cumsum(1) - 1).clamp(min=0)
        causal = torch.ones(width, width, dtype=torch.bool, device=self._device).tril()
        own = causal & real[:, None] | torch.eye(width, dtype=torch.bool, device=self._device)
        beside = None
        if features is not None:
            beside = torch.stack([torch.nn.functional.pad(part, (0, 0, width - len(part), 0)) for part in features])
        scores = self._feed(given, positions, own, beside)
        self._text = torch.cat([self._text, real], dim=1)
        return scores

    def hang(self, tokens: Tensor, depth: Tensor, sees: Tensor, features: Tensor | None = None) -> Scores:
        """Feed drafted tokens [B, Q], ``depth`` [Q] tokens beyond the text's end.

        Besides the text each sees those of the tokens hung so far, and of these, that ``sees`` [Q, hung + Q] says.
        """
        positions = self.lengths[:, None] + depth
        scores = self._feed(tokens, positions, sees.expand(len(tokens), -1, -1), features)
        self._text = torch.cat([self._text, torch.zeros_like(tokens, dtype=torch.bool)], dim=1)
        self.hung += tokens.shape[1]
        return scores

    def settle(self, taken: Tensor, counts: Tensor, rows: Tensor) -> None:
        """Make hung tokens text: of request b the first ``counts[b]`` of ``taken`` [B, n], numbered as they were hung.

        Whatever else hangs is dropped, and of all requests only ``rows`` stay.
        """
        first = self._text.shape[1] - self.hung
        index = torch.arange(taken.shape[1], device=self._device)
        chosen = torch.cat([self._text[:, :first], index < counts[:, None]], dim=1)
        slots = torch.cat([torch.arange(first, device=self._device).expand(len(taken), -1), first + taken], dim=1)
        chosen, slots = chosen[rows], slots[rows]
        # Left-aligned and in order, so that no request drags another's gaps along.
        order = (~chosen).to(torch.int8).argsort(dim=1, stable=True)
        width = int(chosen.sum(1).max()) if len(rows) else 0
        order = order[:, :width]
        self._text = chosen.gather(1, order)
        self._session.keep(rows, slots.gather(1, order))
        self.hung = 0

    def _feed(self, tokens: Tensor, positions: Tensor, own: Tensor, features: Tensor | None) -> Scores:
        """Feed tokens that see the text and, among what hangs and themselves, ``own`` [B, Q, hung + Q]."""
        text = self._text[:, : self._text.shape[1] - self.hung]
        sees = torch.cat([text[:, None].expand(-1, tokens.shape[1], -1), own], dim=2)
        return self._session.feed(tokens, positions, sees, features)
