"""The instances that a decoder is tried on: two models, sampling parameters, a prefix, and how many tokens to write.

Rows depend on everything written before. Every sampling parameter appears alone and all of them together, so that a row
that is processed differently somewhere (other positions, later rounds, the bonus) differs from that of the plain path.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from specproof.fast.sampling import Grammar, LogitBias, Penalties, Sampling
from specproof.properties.cases import Case, by_hand, generated
from specproof.reference.model import Prefix, TableModel

PlainRow = Callable[[Sampling, Tensor, Tensor], Tensor]  # sampling, text [T], logits [V] to probabilities [V]
PREFIX = (0,)  # models need something to start from; its tokens count for penalties


class RecordedModel:
    """A table as a language model (see ``fast.decoder.Model``): logits of every position, and what was asked."""

    def __init__(self, table: TableModel, prefix: Prefix, calls: list[tuple["RecordedModel", Prefix]]) -> None:
        self.vocabulary = table.vocabulary
        self._table = table
        self._prefix = prefix
        self._calls = calls
        self._known: dict[Prefix, Tensor] = {}

    def __call__(self, tokens: Tensor) -> Tensor:
        """Return logits [T, V] for a text [T], [B, T, V] for [B, T]."""
        if tokens.dim() == 2:
            return torch.stack([self(row) for row in tokens])
        text = tuple(tokens.tolist())
        self._calls.append((self, text))
        if text not in self._known:  # probing asks for the same texts thousands of times
            self._known[text] = torch.stack([self.logits(text[: t + 1]) for t in range(len(text))])
        return self._known[text].clone()

    def logits(self, text: Prefix) -> Tensor:
        """Logits [V] after a text; all alike where the table ends and inside the prefix."""
        written = text[len(self._prefix) :]
        try:
            row = self._table.probabilities(written) if len(text) >= len(self._prefix) else None
        except LookupError:
            row = None
        shares = row if row is not None else [1 / self.vocabulary] * self.vocabulary
        return torch.tensor([float(share) for share in shares]).log()


@dataclass(frozen=True)
class DecoderCase:
    """A case whose models are sampled with parameters. Texts have ``case.horizon`` tokens, or end with the stop."""

    case: Case
    sampling: Sampling = field(default_factory=Sampling)
    prefix: Prefix = PREFIX

    @property
    def name(self) -> str:
        """What checks call it."""
        return self.case.name

    @property
    def tokens(self) -> int:
        """How many tokens are written."""
        return self.case.horizon

    @cached_property
    def target(self) -> RecordedModel:
        """The target for computing expected rows; its calls go nowhere."""
        return RecordedModel(self.case.target, self.prefix, [])

    @cached_property
    def draft(self) -> RecordedModel:
        """The draft model for computing expected rows."""
        return RecordedModel(self.case.draft, self.prefix, [])

    def plain(self, row: PlainRow, text: Prefix) -> Tensor:
        """The target's row [V] after a whole text (prefix first), as plain decoding samples from it."""
        return row(self.sampling, torch.tensor(text), self.target.logits(text))

    def cut(self, written: Prefix) -> Prefix:
        """The tokens that count: up to the stop, at most as many as asked for."""
        stop = self.sampling.stop
        end = written.index(stop) + 1 if stop in written else len(written)
        return written[: min(end, self.tokens)]

    def complete(self, written: Prefix) -> bool:
        """Whether a text is as long as it must be."""
        return len(written) == self.tokens or (bool(written) and written[-1] == self.sampling.stop)

    def target_law(self, row: PlainRow) -> dict[Prefix, float]:
        """The law of the text under plain decoding."""
        finished: dict[Prefix, float] = {}
        pending: list[tuple[Prefix, float]] = [((), 1.0)]
        while pending:
            written, mass = pending.pop()
            if self.complete(written):
                finished[written] = mass
                continue
            shares = self.plain(row, (*self.prefix, *written)).tolist()
            pending += [((*written, token), mass * share) for token, share in enumerate(shares) if share > 0]
        return finished


def decoder_cases(length: int) -> list[DecoderCase]:
    """The cases for a decoder that drafts ``length`` tokens in a round, from the smallest up."""
    block = min(length, 2) + 1

    def made(name: str, vocabulary: int, tokens: int, seed: int, purpose: str, **rows: Any) -> Case:
        return generated(name, vocabulary, min(length, 2), purpose, seed=seed, tokens=tokens, **rows)

    log_two = math.log(2)
    return [
        DecoderCase(
            replace(
                by_hand("reversed", {"": "1/2 3/10 1/5"}, {"": "1/5 3/10 1/2"}, 1, "shape of the residual"), tokens=1
            )
        ),
        DecoderCase(made("end of text", 3, 1, 61, "fewer tokens are left than a round drafts")),
        DecoderCase(made("plain V2", 2, block + 1, 62, "rows by context over several rounds")),
        DecoderCase(made("plain V3", 3, 2, 63, "three tokens; the first is a whole residual")),
        DecoderCase(made("zeros V3", 3, 2, 64, "impossible tokens on either side", zeros=0.3)),
        DecoderCase(made("cold", 3, 2, 65, "temperature below 1"), Sampling(temperature=0.5)),
        DecoderCase(made("hot", 2, 3, 66, "temperature above 1"), Sampling(temperature=2.0)),
        DecoderCase(made("greedy", 3, 3, 67, "temperature 0", ties=False), Sampling(temperature=0.0)),
        DecoderCase(made("nucleus", 4, 2, 68, "top-p alone", ties=False), Sampling(top_p=0.78)),
        DecoderCase(
            made("filters", 4, 2, 71, "top-k, then top-p on what is left", ties=False), Sampling(top_k=3, top_p=0.78)
        ),
        DecoderCase(made("bias", 3, 2, 70, "a bias on one token"), Sampling(processors=(LogitBias({2: 2 * log_two}),))),
        DecoderCase(
            made("penalties", 2, 3, 71, "a target that depends on what was written, over rejections"),
            Sampling(processors=(Penalties(presence=log_two / 2, frequency=log_two),)),
        ),
        DecoderCase(
            made("grammar", 3, 3, 72, "a mask that depends on the last token, on bonus rows too"),
            Sampling(processors=(Grammar({0: (0, 1), 1: (1, 2), 2: (0, 2)}),)),
        ),
        DecoderCase(made("stop", 3, 3, 73, "when the text ends"), Sampling(stop=2)),
        DecoderCase(
            made("everything", 3, 2, 75, "all parameters together", ties=False),
            Sampling(0.7, None, 0.9, (Penalties(frequency=math.log(2.3)),), stop=2),
        ),
    ]
