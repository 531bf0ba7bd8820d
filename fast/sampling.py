"""The sampling parameters of a request, and the row that they make of a model's logits: the plain path, defined once.

The order is the usual one: processors in turn (bias, penalties, grammar), then temperature, then top-k, top-p and min-p, each
on what is left. Speculation must not change it: the row that a verifier uses equals the one that plain decoding samples from.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Processor = Callable[[Tensor, Tensor], Tensor]
"""``(text [T] int64, logits [V]) -> logits [V]``: what follows a text, which starts with the prefix. It changes neither."""


@dataclass(frozen=True)
class LogitBias:
    """Adds to the logits of some tokens."""

    bias: Mapping[int, float]

    def __call__(self, text: Tensor, logits: Tensor) -> Tensor:  # noqa: ARG002
        """Return the biased logits [V]."""
        added = torch.zeros_like(logits)
        added[list(self.bias)] = torch.tensor(list(self.bias.values()), dtype=logits.dtype, device=logits.device)
        return logits + added


@dataclass(frozen=True)
class Penalties:
    """Subtracts from the logit of a token ``presence`` once and ``frequency`` for each time that it is in the text."""

    presence: float = 0.0
    frequency: float = 0.0

    def __call__(self, text: Tensor, logits: Tensor) -> Tensor:
        """Return the penalised logits [V]."""
        counts = torch.bincount(text, minlength=logits.shape[-1]).to(logits)
        return logits - self.frequency * counts - self.presence * (counts > 0)


@dataclass(frozen=True)
class Grammar:
    """Lets only the tokens through that may follow the last token of the text."""

    after: Mapping[int, tuple[int, ...]]

    def __call__(self, text: Tensor, logits: Tensor) -> Tensor:
        """Return logits [V] that are -inf for all other tokens; a last token without an entry allows everything."""
        allowed = self.after.get(int(text[-1]))
        if allowed is None:
            return logits
        masked = torch.full_like(logits, -torch.inf)
        masked[list(allowed)] = logits[list(allowed)]
        return masked


@dataclass(frozen=True)
class Sampling:
    """How tokens of a request are to be sampled. ``temperature`` 0 is the first of the most likely tokens.

    ``stop`` ends the text, with that token as its last. Raises ``ValueError`` for parameters outside their range.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    processors: tuple[Processor, ...] = ()
    stop: int | None = None
    min_p: float | None = None

    def __post_init__(self) -> None:
        if not self.temperature >= 0:
            raise ValueError(f"temperature must be 0 or more, got {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k must be at least 1, got {self.top_k}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, got {self.top_p}")
        if self.min_p is not None and not 0 < self.min_p <= 1:
            raise ValueError(f"min_p must be above 0 and at most 1, got {self.min_p}")

    @property
    def needs(self) -> frozenset[str]:
        """Capabilities of a decoder that these parameters ask for."""
        asked = {
            "temperature": self.temperature not in (0, 1),
            "greedy": self.temperature == 0,
            "filters": any(limit is not None for limit in (self.top_k, self.top_p, self.min_p)),
            "processors": bool(self.processors),
            "stop": self.stop is not None,
        }
        return frozenset(name for name, needed in asked.items() if needed)

    def row(self, text: Tensor, logits: Tensor) -> Tensor:
        """Probabilities [V] of the token after ``text`` [T], from the model's logits [V] there."""
        for process in self.processors:
            logits = process(text, logits)
        return self._law(logits)

    def rows(self, texts: Sequence[Sequence[int]], logits: Tensor) -> Tensor:
        """Probabilities [n, V] after n texts, from the model's logits [n, V]: as ``row``, at once where no text is looked at."""
        if not self.processors:
            return self._law(logits)
        pairs = zip(texts, logits, strict=True)
        return torch.stack([self.row(torch.tensor(text, device=logits.device), row) for text, row in pairs])

    def _law(self, logits: Tensor) -> Tensor:
        """The probabilities [.., V] that temperature and filters make of processed logits."""
        if self.temperature == 0:
            return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)
        row = (logits / self.temperature).softmax(-1)
        if self.top_k is not None:
            row = filtered(row, torch.arange(row.shape[-1], device=row.device) < self.top_k)
        if self.top_p is not None:
            sorted_row = row.sort(descending=True, stable=True).values
            before = sorted_row.cumsum(-1) - sorted_row
            # Single precision sums .5 + .3 to more than .8: a token starts inside the nucleus or it does not.
            row = filtered(row, before < self.top_p - 1e-6)
        if self.min_p is not None:
            ranked = row.sort(descending=True, stable=True).values
            row = filtered(row, ranked >= self.min_p * ranked[..., :1])
        return row


def filtered(row: Tensor, kept: Tensor) -> Tensor:
    """The rows [.., V] with only those of their tokens that ``kept`` [.., V] names by rank (most likely first), normalised."""
    order = row.sort(descending=True, stable=True).indices
    left = torch.where(kept, row.gather(-1, order), 0.0)
    return torch.zeros_like(row).scatter_(-1, order, left / left.sum(-1, keepdim=True))
