"""The contract of whole decoding loops: what a decoder is handed, what it returns, what it declares.

A decoder is any object (a module will do) with ``decode(target, draft, prefix, tokens, generator, sampling)``. Faults that
no verifier can show sit in that loop: drafts that do not have the declared law, target rows that are processed differently
from those of plain decoding, stale rows, stops that depend on what was drafted.

**The harness provides** the two models as callables (``Model``) whose every call it records, and expects the decoder to

* ask them for all rows it uses. They keep nothing: every call is given a whole text, prefix first. An engine with a cache
  feeds whatever it likes to its cache and asks with the text; drafts are scored in one call, ``target(text + drafts)``;
* apply ``sampling`` to the target's rows, every position and every round alike, with the text *so far* as the history that
  processors see: accepted tokens count, rejected ones do not;
* draw its own drafts from the draft model, in any way whose law it can state, and give that law (``Round.draft_probs``);
* take all randomness from ``generator`` (or the global one, declared as ``global_rng``), by torch operations, so that it
  can be answered for; and keep nothing from one call to the next: every call is a request of its own;
* return new tokens only: ``tokens`` of them, or fewer when the last one is ``sampling.stop``. What stands behind the first
  ``tokens`` tokens, or behind the first stop, is cut off by the harness: loops emit whole blocks.

**Rounds.** A decoder that returns ``Decoded`` with its ``rounds`` can be examined row by row, without any sampling error.
One that returns the tokens alone is judged by the law of its text, and by its drafts where it declares their ``draft_law``:
they are seen as what the target scores behind the text that the draft model was first asked with in a round.

**Adaptive draft length.** A loop may draft and verify as many tokens as it likes in each round, also none. Whether position
i is verified may depend on the text, on the drafts before i and on every row at or before i, but not on the draft at i nor
on anything computed from it: else the positions that are verified are not a fair sample of the drafts. Tokens that were
drawn and are not verified still belong into ``Round.drafts``; ``verified`` says how many of them are.

**It declares**, by attributes that are read by name: ``capabilities`` (out of ``DECODER_CAPABILITIES``; a case that needs one
that is missing does not apply), ``length`` (tokens drafted in a round, 2 unless told; the harness sizes its instances by it) and
``row(sampling, text [T], logits [V]) -> probabilities [V]`` where the engine's own plain path differs from ``Sampling.row``, for
example in the order of its filters; speculation is then compared with that. ``draft_law(sampling, text, logits)`` says likewise what a draft is drawn from, given
the draft model's logits there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from specproof.fast.sampling import Sampling

DECODER_CAPABILITIES = {
    "temperature": "takes a temperature above 0",
    "greedy": "takes temperature 0: the first of the most likely tokens",
    "filters": "takes top-k and top-p",
    "processors": "takes processors of logits: bias, penalties, grammars",
    "stop": "takes a token that ends the text",
    "global_rng": "draws from the global generator",
    "lossy_by_design": "does not promise the target's law",
}


class Model(Protocol):
    """A language model whose calls are recorded. The text is never empty."""

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        ...

    def __call__(self, tokens: Tensor) -> Tensor:
        """Logits [T, V] float32 for a text [T] int64 (or [B, T, V] for [B, T]); row t is of the token after ``tokens[: t + 1]``."""
        ...


@dataclass(frozen=True)
class Round:
    """One round of a loop: drafts after a text, and what was verified against what.

    ``text`` is prefix and all tokens emitted before. ``draft_probs[i]`` is the law that ``drafts[i]`` is declared to be drawn
    from, the one that the verifier divides by; ``target_probs[i]`` the row that position i was verified with, row
    ``verified`` the one of the bonus token (it may be missing where there is none). Rows are read when ``decode`` returns.
    """

    text: Sequence[int]
    drafts: Sequence[int]
    draft_probs: Tensor  # [len(drafts), V]
    target_probs: Tensor  # [verified + 1, V]
    accepted: int
    verified: int | None = None  # None: all of them

    @property
    def positions(self) -> int:
        """How many drafts were verified."""
        return len(self.drafts) if self.verified is None else self.verified


@dataclass(frozen=True)
class Decoded:
    """New tokens, and how they came about."""

    tokens: Sequence[int] | Tensor
    rounds: Sequence[Round] = ()


class Decoder(Protocol):
    """Anything with this method."""

    def decode(
        self, target: Model, draft: Model, prefix: Tensor, tokens: int, generator: torch.Generator, sampling: Sampling
    ) -> Decoded | Sequence[int] | Tensor:
        """Return ``tokens`` new tokens after ``prefix`` [T], fewer only where the last is ``sampling.stop``."""
        ...
