"""A language model that may write a few tokens only: so few texts are possible that their law can be enumerated.

Everything else is the model's own: its cache, its passes over trees, its rows before they are cut down.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from specproof.fast.language_model import CachedTexts, LanguageModel, Scores, Session
from specproof.fast.sampling import Sampling


class RestrictedModel:
    """``model`` over a vocabulary of its own: token i stands for ``tokens[i]``, and only the first ``writable`` are written."""

    def __init__(self, model: LanguageModel, tokens: Sequence[int], writable: int) -> None:
        """Raises ``ValueError`` for repeated ids, ids outside the model's vocabulary, or too few to write."""
        if len(set(tokens)) < len(tokens) or not all(0 <= token < model.vocabulary for token in tokens):
            raise ValueError(f"tokens must be distinct ids in 0..{model.vocabulary - 1}, got {list(tokens)}")
        if not 2 <= writable <= len(tokens):
            raise ValueError(f"writable must be in 2..{len(tokens)}, got {writable}")
        self.model = model
        self.vocabulary, self.writable = len(tokens), writable
        self.context, self.device = model.context, model.device
        self.tokens = torch.tensor(tokens, device=model.device)

    def session(self, batch: int) -> "RestrictedSession":
        """Return an empty cache for a batch."""
        return RestrictedSession(self, self.model.session(batch))


class RestrictedSession:
    """The model's own session behind the smaller vocabulary."""

    def __init__(self, restricted: RestrictedModel, session: Session) -> None:
        self._restricted, self._session = restricted, session

    def feed(self, tokens: Tensor, positions: Tensor, sees: Tensor, features: Tensor | None = None) -> Scores:
        """Append tokens; see ``fast.language_model.Session``."""
        scores = self._session.feed(self._restricted.tokens[tokens], positions, sees, features)
        logits = scores.logits[..., self._restricted.tokens].clone()
        logits[..., self._restricted.writable :] = -torch.inf
        return Scores(logits, scores.hidden)

    def keep(self, rows: Tensor, slots: Tensor) -> None:
        """Keep some requests and slots."""
        self._session.keep(rows, slots)


def text_law(model: RestrictedModel, prompt: Sequence[int], tokens: int, sampling: Sampling) -> Tensor:
    """The law of the next ``tokens`` tokens under plain sampling, [writable ** tokens] float64, the first token varies slowest.

    Every prefix is scored whole in a pass of its own, without a cache from before.
    """
    law = torch.ones(1, dtype=torch.float64)
    for count in range(tokens):
        written = torch.cartesian_prod(*[torch.arange(model.writable)] * count).view(-1, count) if count else None
        texts = [[*prompt, *(written[i].tolist() if written is not None else [])] for i in range(len(law))]
        logits = CachedTexts(model, len(texts)).extend(texts).logits[:, -1]
        rows = sampling.rows(texts, logits)[:, : model.writable].double().cpu()
        law = (law[:, None] * rows / rows.sum(-1, keepdim=True)).flatten()
    return law
