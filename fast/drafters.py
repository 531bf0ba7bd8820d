"""Where drafts come from: each drafter returns them with the law that they were drawn from.

A drafter opens a session for a batch of texts. ``propose`` drafts behind every text, ``settle`` tells it what became of that,
so that it can roll its cache back. Laws are those of ``sampling``, applied to the drafter's own logits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Outcome, Randomness
from specproof.fast.language_model import CachedTexts, LanguageModel, Scores
from specproof.fast.randomness import draw, uniforms
from specproof.fast.sampling import Sampling

Texts = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Proposal:
    """Drafts for B requests, and their law; ``draft_probs`` None: they are certain given the text."""

    tokens: Tensor  # [B, K, L]; behind a request's length some valid id
    draft_probs: Tensor | None  # [B, K, L, V]
    lengths: Tensor  # [B]

    def to(self, device: torch.device) -> "Proposal":
        """The same on a device: wherever it was drafted, it is scored where the target is."""
        law = None if self.draft_probs is None else self.draft_probs.to(device)
        return Proposal(self.tokens.to(device), law, self.lengths.to(device))


class DraftSession(Protocol):
    """What a drafter remembers of a batch."""

    def propose(self, texts: Texts, limits: Sequence[int], drafts: int, length: int, source: Randomness) -> Proposal:
        """Draft ``drafts`` times ``length`` tokens behind every text, no more than ``limits`` for each."""
        ...

    def settle(self, drafts: Drafts, outcome: Outcome, rows: Tensor) -> None:
        """The last proposal was verified as ``drafts``, with this outcome; of the requests only ``rows`` stay."""
        ...

    def observe(self, hidden: Sequence[Tensor]) -> None:
        """See the target's features [n, H] of the tokens that its cache has taken in since the last call, for each text."""
        ...


class Drafter(Protocol):
    """Opens sessions."""

    @property
    def name(self) -> str:
        """How it is called."""
        ...

    @property
    def vocabulary(self) -> int | None:
        """Number of tokens, V; None for one that only repeats tokens of the text."""
        ...

    def session(self, batch: int, sampling: Sampling) -> DraftSession:
        """Return a session without any text."""
        ...


@dataclass(frozen=True)
class ModelDrafter:
    """A smaller language model, with a cache of its own; K independent drafts at once."""

    model: LanguageModel
    name: str = "model"

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        return self.model.vocabulary

    def session(self, batch: int, sampling: Sampling) -> "ModelSession":
        """Return a session without any text."""
        return ModelSession(self.model, batch, sampling)


class ModelSession:
    """Drafts of a model behind B texts."""

    def __init__(self, model: LanguageModel, batch: int, sampling: Sampling) -> None:
        self._sampling = sampling
        self._cached = CachedTexts(model, batch)

    def propose(self, texts: Texts, limits: Sequence[int], drafts: int, length: int, source: Randomness) -> Proposal:
        """Feed what is missing of the texts, then draft."""
        known = self._cached.lengths.tolist()
        behind = self._cached.extend([text[n:] for text, n in zip(texts, known, strict=True)])
        return grown(self._cached, behind, texts, limits, drafts, length, source, self._sampling)

    def settle(self, drafts: Drafts, outcome: Outcome, rows: Tensor) -> None:
        """Keep the cache of the accepted tokens; the last drafted one was never fed."""
        hung = self._cached.hung // drafts.paths
        path = outcome.path if outcome.path is not None else torch.zeros_like(outcome.accepted)
        taken = torch.arange(hung, device=path.device) * drafts.paths + path[:, None]
        self._cached.settle(taken, outcome.accepted.clamp(max=hung), rows)

    def observe(self, hidden: Sequence[Tensor]) -> None:
        """A black box has no use for the target's features."""


def grown(
    cached: CachedTexts, behind: Scores, texts: Texts, limits: Sequence[int], drafts: int, length: int,
    source: Randomness, sampling: Sampling, *, guesses: bool = False,
) -> Proposal:  # fmt: skip
    """Draft from a model one token of every draft at a time; ``behind`` scores the last token of each text.

    Drafts that agree so far share the row of the first of them, bit by bit. With ``guesses`` the model is fed its own
    features beside the drafted tokens.
    """
    batch, device = len(texts), behind.logits.device
    lengths = torch.tensor([min(length, limit) for limit in limits], device=device)
    steps = int(lengths.max())
    coins = uniforms(source, batch, drafts * length, device).view(batch, length, drafts)
    logits, hidden = (part[:, -1:].expand(-1, drafts, -1) for part in (behind.logits, behind.hidden))  # [B, K, ..]
    tokens = torch.zeros(batch, drafts, 0, dtype=torch.int64, device=device)
    laws = [logits.new_zeros(batch, drafts, 0, logits.shape[-1])]
    for i in range(steps):
        rows = _laws(texts, tokens, logits, sampling)
        drawn = draw(rows.flatten(0, 1), coins[:, i].flatten()).view(batch, drafts)
        tokens = torch.cat([tokens, drawn[..., None]], dim=2)
        laws.append(rows[:, :, None])
        if i < steps - 1:
            sees = torch.eye(drafts, dtype=torch.bool, device=device).repeat(1, i + 1)
            depth = torch.full((drafts,), i, device=device)
            scores = cached.hang(drawn, depth, sees, hidden if guesses else None)
            logits, hidden = scores.logits, scores.hidden
    return Proposal(tokens, torch.cat(laws, dim=2), lengths)


def _laws(texts: Texts, tokens: Tensor, logits: Tensor, sampling: Sampling) -> Tensor:
    """Laws [B, K, V] of the next tokens of drafts [B, K, i]."""
    first = (tokens[:, :, None] == tokens[:, None]).all(-1).to(torch.int8).argmax(-1)
    logits = logits.gather(1, first[..., None].expand(-1, -1, logits.shape[-1]))
    whole = [[*text, *path] for text, paths in zip(texts, tokens.tolist(), strict=True) for path in paths]
    return sampling.rows(whole, logits.flatten(0, 1)).view(logits.shape)


@dataclass(frozen=True)
class PromptLookup:
    """Repeats what followed the last tokens of the text when they occurred before: one draft, certain, often none.

    The longest of the last ``longest`` to ``shortest`` tokens that occurs earlier decides, at its latest occurrence.
    """

    longest: int = 3
    shortest: int = 1
    name: str = "prompt lookup"
    vocabulary: None = None

    def session(self, batch: int, sampling: Sampling) -> "LookupSession":  # noqa: ARG002
        """Return a session; nothing is remembered."""
        return LookupSession(self)


@dataclass(frozen=True)
class LookupSession:
    """Stateless."""

    drafter: PromptLookup

    def propose(self, texts: Texts, limits: Sequence[int], drafts: int, length: int, source: Randomness) -> Proposal:  # noqa: ARG002
        """Copy what followed. Raises ``ValueError`` for several drafts: they would all be the same."""
        if drafts != 1:
            raise ValueError(f"prompt lookup makes 1 draft, got drafts={drafts}")
        found = [self.continuation(text)[: min(length, limit)] for text, limit in zip(texts, limits, strict=True)]
        steps = max(map(len, found))
        tokens = torch.tensor([[*path, *[0] * (steps - len(path))] for path in found], dtype=torch.int64)
        return Proposal(tokens.view(len(texts), 1, steps), None, torch.tensor([len(path) for path in found]))

    def continuation(self, text: Sequence[int]) -> Sequence[int]:
        """What followed the longest suffix that occurs earlier in the text."""
        for size in range(min(self.drafter.longest, len(text) - 1), self.drafter.shortest - 1, -1):
            suffix = list(text[-size:])
            for start in range(len(text) - size - 1, -1, -1):
                if list(text[start : start + size]) == suffix:
                    return text[start + size :]
        return ()

    def settle(self, drafts: Drafts, outcome: Outcome, rows: Tensor) -> None:
        """Nothing is remembered."""

    def observe(self, hidden: Sequence[Tensor]) -> None:
        """Nothing is looked at."""


@dataclass(frozen=True)
class NoDrafts:
    """Drafts nothing: the loop is then plain decoding, one token a pass of the target."""

    name: str = "no drafts"
    vocabulary: None = None

    def session(self, batch: int, sampling: Sampling) -> "NoDrafts":  # noqa: ARG002
        """Return itself; nothing is remembered."""
        return self

    def propose(self, texts: Texts, limits: Sequence[int], drafts: int, length: int, source: Randomness) -> Proposal:  # noqa: ARG002
        """No tokens."""
        nothing = torch.zeros(len(texts), 1, 0, dtype=torch.int64)
        return Proposal(nothing, None, torch.zeros(len(texts), dtype=torch.int64))

    def settle(self, drafts: Drafts, outcome: Outcome, rows: Tensor) -> None:
        """Nothing is remembered."""

    def observe(self, hidden: Sequence[Tensor]) -> None:
        """Nothing is looked at."""
