"""A decoding loop out of exchangeable parts; as it stands it is right. Faults of whole loops are one wrong part of it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from specproof.fast.decoder import Decoded, Model, Round
from specproof.fast.sampling import Sampling
from specproof.properties.mutants.chain import Chain
from specproof.properties.program import HandedRows, TorchChance
from specproof.reference.model import Prefix


class Coins(TorchChance):
    """Coins as Bernoulli draws, whose probability the probe reads instead of searching for it."""

    def flip(self, probability: Any) -> bool:
        """Return True with the given probability."""
        row = torch.tensor(float(probability), dtype=torch.float64)
        return bool(torch.bernoulli(row, generator=self._generator))


Draw = Callable[[Tensor, torch.Generator], int]


@dataclass(frozen=True)
class At:
    """Where a row is used: the text so far and the round's drafts, of which ``position`` stand before the row."""

    text: Prefix
    drafts: Prefix
    position: int
    prefix: int  # tokens of the text that were given
    rejected: Prefix = ()  # drafts of earlier rounds that did not get into the text

    @property
    def whole(self) -> Tensor:
        """The text that the row follows."""
        return as_tensor((*self.text, *self.drafts[: self.position]))


def as_tensor(text: Prefix) -> Tensor:
    """A text as the models want it; by way of numpy, because a scripted run pays for every torch operation."""
    return torch.from_numpy(np.array(text, dtype=np.int64))


def drawn(row: Tensor, generator: torch.Generator) -> int:
    """Draw a token from a row [V]."""
    return int(torch.multinomial(row, 1, generator=generator))


def processed(sampling: Sampling, at: At, logits: Tensor) -> Tensor:
    """The row [V] of the plain path."""
    return sampling.row(at.whole, logits)


def declared_as_drawn(row: Tensor, logits: Tensor) -> Tensor:  # noqa: ARG001
    """The row that a draft is drawn from is the one that it is declared to have."""
    return row


def all_of_them(drafts: Prefix, rows: list[Tensor]) -> int:  # noqa: ARG001
    """Verify every draft."""
    return len(drafts)


@dataclass(frozen=True)
class Loop:
    """Draft ``length`` tokens, verify them, emit; until there are as many tokens as asked for, or a stop.

    ``draft_row`` and ``target_row`` make rows of logits, ``pick`` draws a draft from its row, ``declare`` says what law it is
    given out to have, ``verified`` how many drafts are verified, and ``verify`` decides about them. ``stops`` says whether a
    round ends the text by itself; ``drops`` ends the drafting before a token. ``known`` are rows by model and place.
    """

    length: int = 2
    draft_row: Callable[[Sampling, At, Tensor], Tensor] = processed
    target_row: Callable[[Sampling, At, Tensor], Tensor] = processed
    pick: Draw = drawn
    declare: Callable[[Tensor, Tensor], Tensor] = declared_as_drawn
    verified: Callable[[Prefix, list[Tensor]], int] = all_of_them
    drops: Callable[[int, Tensor], bool] = lambda token, row: False  # noqa: ARG005
    verify: Chain = Chain()  # noqa: RUF009 - it is frozen
    stops: Callable[[Prefix, Sampling], bool] = lambda drafts, sampling: False  # noqa: ARG005
    chance: Callable[[torch.Generator], TorchChance] = Coins
    capabilities: frozenset[str] = frozenset({"temperature", "greedy", "filters", "processors", "stop"})
    known: WeakKeyDictionary[Any, dict[Any, Tensor]] = field(default_factory=WeakKeyDictionary, compare=False)

    def decode(
        self, target: Model, draft: Model, prefix: Tensor, tokens: int, generator: torch.Generator, sampling: Sampling
    ) -> Decoded:
        """Decode round after round."""
        text: Prefix = tuple(prefix.tolist())
        start, rounds = len(text), []
        rejected: Prefix = ()
        chance = self.chance(generator)
        while len(text) - start < tokens and sampling.stop not in text[start:]:
            drafts, rows = self._drafts(draft, text, start, generator, sampling)
            count = self.verified(drafts, rows)
            declared = torch.stack(rows) if rows else torch.zeros(0, draft.vocabulary)
            if self.stops(drafts, sampling):
                rounds.append(Round(text, drafts, declared, declared[:0], 0, 0))
                text = (*text, *drafts)
                break
            scored = self._scored(target, At(text, drafts, 0, start, rejected), sampling, count)
            along: list[Any] = [_along(drafts, scored), _along(drafts, declared)]  # rows of floats, not of fractions
            step = self.verify(chance, along[0], along[1], (drafts[:count],))
            rounds.append(Round(text, drafts, declared, scored, len(step.accepted), count))
            rejected = (*rejected, *drafts[len(step.accepted) :])
            text = (*text, *step.tokens)
        return Decoded(text[start:], rounds)

    def _drafts(
        self, draft: Model, text: Prefix, start: int, generator: torch.Generator, sampling: Sampling
    ) -> tuple[Prefix, list[Tensor]]:
        drafts: Prefix = ()
        rows: list[Tensor] = []
        for i in range(self.length):
            at = At(text, drafts, i, start)
            row, logits = self._drafted(draft, at, sampling)
            token = self.pick(row, generator)
            if self.drops(token, row):
                break
            drafts, rows = (*drafts, token), [*rows, self.declare(row, logits)]
        return drafts, rows

    def _drafted(self, draft: Model, at: At, sampling: Sampling) -> tuple[Tensor, Tensor]:
        """The row to draw a draft from, and the logits that it is made of."""
        known = self.known.setdefault(draft, {})
        if (at, id(sampling)) not in known:
            logits = draft(at.whole)[-1]
            known[at, id(sampling)] = torch.stack([self.draft_row(sampling, at, logits), logits])
        row, logits = known[at, id(sampling)].clone()
        return row, logits

    def _scored(self, target: Model, at: At, sampling: Sampling, count: int) -> Tensor:
        """The rows [count + 1, V] of the target along the drafts that are verified."""
        known = self.known.setdefault(target, {})
        if (at, id(sampling), count) not in known:
            logits = target(as_tensor((*at.text, *at.drafts[:count])))[len(at.text) - 1 :]
            rows = [self.target_row(sampling, replace(at, position=i), logits[i]) for i in range(count + 1)]
            known[at, id(sampling), count] = torch.stack(rows)
        return known[at, id(sampling), count]


def _along(drafts: Prefix, rows: Tensor) -> HandedRows:
    return HandedRows({drafts[:i]: row for i, row in enumerate(rows.tolist())}, rows.shape[-1])
