"""The layout that vLLM brought up and others took over: all drafted tokens of a batch behind each other, no padding."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.integration.adapters.known import drawn


@dataclass(frozen=True)
class Flat:
    """A batch in that layout; ``n`` is the number of all drafted tokens."""

    tokens: Tensor  # [n] int64
    ends: Tensor  # [B] int64, cumulated lengths
    lengths: list[int]
    longest: int
    draft: Tensor  # [n, V]
    target: Tensor  # [n, V]
    bonus: Tensor  # [B] int64, drawn by the caller
    uniforms: Tensor  # [n] float64
    exponentials: Tensor  # [B, V]

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        return self.target.shape[-1]


@dataclass(frozen=True)
class FlatVerifier:
    """A verifier made of a function from a ``Flat`` batch to emitted tokens [B, longest + 1], padded with -1.

    All noise is drawn here, as these engines' callers do, one row a request.
    """

    function: Callable[[Flat], Tensor]
    rule: str | None = "standard"
    drafting: Drafting = field(default_factory=Drafting)
    capabilities: frozenset[str] = frozenset({"batch", "ragged"})

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG002
        """Verify the batch."""
        drafts.check()
        batch, length = drafts.batch, drafts.length
        source: Any = generator
        lengths = drafts.each_length()
        after = drafts.target_probs[torch.arange(batch), 0, lengths]  # [B, V], the row of the bonus
        # Last what there is more of in a longer batch: a padded request then has the numbers that it has alone.
        exponentials = torch.empty(batch, drafts.vocabulary).exponential_(generator=source)
        bonus = drawn(after, source)
        uniforms = torch.rand(batch, length, dtype=torch.float64, generator=source)
        inside = torch.arange(length) < lengths[:, None]  # [B, L]
        output = self.function(
            Flat(
                drafts.tokens[:, 0][inside], lengths.cumsum(0), lengths.tolist(), int(lengths.max()),
                drafts.draft_rows()[:, 0][inside], drafts.target_probs[:, 0, :-1][inside],
                bonus, uniforms[inside], exponentials,
            )
        )  # fmt: skip
        tokens = torch.full((batch, length + 1), -1)
        tokens[:, : output.shape[1]] = output
        return Outcome(tokens, (tokens != -1).sum(-1) - 1)
