"""A language model that is only a function of a text, for loops that want a cache: it remembers tokens and asks anew.

Slow, and exact: nothing is cached but the ids, so what a loop does to its caches is seen in the texts that it asks about.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from specproof.fast.language_model import Scores


class CallableModel:
    """``logits(tokens [T]) -> [T, V]`` as a ``LanguageModel``."""

    def __init__(self, logits: Callable[[Tensor], Tensor], vocabulary: int, context: int = 1 << 30) -> None:
        self.logits, self.vocabulary, self.context = logits, vocabulary, context
        self.device = torch.device("cpu")

    def session(self, batch: int) -> "CallableSession":
        """Return an empty cache for a batch."""
        return CallableSession(self, batch)


class CallableSession:
    """The tokens in the slots of every request, and where in its text each stands."""

    def __init__(self, model: CallableModel, batch: int) -> None:
        self._model = model
        self._tokens = torch.zeros(batch, 0, dtype=torch.int64)
        self._positions = torch.zeros(batch, 0, dtype=torch.int64)

    def feed(self, tokens: Tensor, positions: Tensor, sees: Tensor, features: Tensor | None = None) -> Scores:  # noqa: ARG002
        """Append tokens; see ``fast.language_model.Session``. There are no features to speak of: one zero each."""
        self._tokens = torch.cat([self._tokens, tokens], dim=1)
        self._positions = torch.cat([self._positions, positions], dim=1)
        logits = torch.zeros(*tokens.shape, self._model.vocabulary)
        for b in range(tokens.shape[0]):
            for q in range(tokens.shape[1]):
                seen = sees[b, q].nonzero().flatten()
                text = self._tokens[b, seen[self._positions[b, seen].argsort(stable=True)]]
                logits[b, q] = self._model.logits(text)[-1]
        return Scores(logits, torch.zeros(*tokens.shape, 1))

    def keep(self, rows: Tensor, slots: Tensor) -> None:
        """Keep some requests and slots; see ``fast.language_model.Session``."""
        self._tokens = self._tokens[rows].gather(1, slots)
        self._positions = self._positions[rows].gather(1, slots)
