"""Large vocabularies with small laws: a case over a few tokens, each of which stands for a group of ids of a wide row.

The mass lies on awkward ids (first, last, beside the edges of tiles), so that kernels see rows as wide as in use while the
law keeps few cells and counting keeps its power. A group of many ids is a tail of rare tokens, merged. One group more has
no mass at all: whatever lands there is impossible.

LIMITS. Within a group all ids are alike: a fault that favours one rare id over another is not seen. Rows have few different
values, so sums are easier on rounding than real ones; precision has a property of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Outcome, Randomness
from specproof.properties.cases import Case, RowMaker, table
from specproof.properties.subject import Subject
from specproof.reference.model import TableModel, prefixes

ROWS = 1 << 23  # entries of target rows in one call: 32 MiB in single precision


@dataclass(frozen=True)
class WideCase:
    """A case whose token j stands for the ids ``groups[j]`` out of ``vocabulary``, evenly; the last token for all others.

    ``tail`` names the token that stands for many rare ids.
    """

    case: Case
    vocabulary: int
    groups: tuple[tuple[int, ...], ...]
    tail: int | None = None

    @cached_property
    def group_of(self) -> Tensor:
        """The token that each id belongs to, [vocabulary]."""
        found = torch.full((self.vocabulary,), len(self.groups))
        for token, ids in enumerate(self.groups):
            found[torch.tensor(ids)] = token
        return found

    @cached_property
    def members(self) -> list[Tensor]:
        """The ids of every token."""
        return [(self.group_of == token).nonzero().flatten() for token in range(len(self.groups) + 1)]

    def rows(self, small: Tensor) -> Tensor:
        """Rows over the wide vocabulary: [..., tokens] gives [..., vocabulary]."""
        sizes = torch.tensor([max(len(ids), 1) for ids in self.members], dtype=small.dtype)
        return (small / sizes)[..., self.group_of]

    def ids(self, tokens: Tensor, generator: torch.Generator) -> Tensor:
        """An id for every token, drawn evenly from its group."""
        drawn = torch.rand(tokens.shape, generator=generator, dtype=torch.float64)
        found = tokens.clone()
        for token, ids in enumerate(self.members):
            at = tokens == token
            found[at] = ids[(drawn[at] * len(ids)).long()] if len(ids) else -1
        return found


class Widened:
    """A verifier of wide rows as one of the small case: what it is handed is widened, what it returns is merged."""

    def __init__(self, verifier: Any, wide: WideCase) -> None:
        self._verifier = verifier
        self._wide = wide
        self._ids = torch.Generator().manual_seed(0)

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:
        """Verify a part of the batch at a time: wide rows are large."""
        size = max(1, ROWS // (self._wide.vocabulary * drafts.paths * (drafts.length + 1)))
        starts = range(0, drafts.batch, size)
        carries = [None] * len(starts) if carry is None else carry
        parts = [
            self._part(drafts, slice(start, start + size), generator, own)
            for start, own in zip(starts, carries, strict=True)
        ]
        kept = [part.carry for part in parts]
        paths = [part.path for part in parts]
        return Outcome(
            torch.cat([part.tokens for part in parts]), torch.cat([part.accepted for part in parts]),
            None if any(path is None for path in paths) else torch.cat(paths),  # type: ignore[arg-type]
            None if all(own is None for own in kept) else kept,
        )  # fmt: skip

    def _part(self, drafts: Drafts, rows: slice, generator: Randomness, carry: Any) -> Outcome:
        ids = self._wide.ids(drafts.tokens[rows], self._ids)
        wide = Drafts(
            ids, self._wide.rows(drafts.draft_rows()[rows]), self._wide.rows(drafts.target_probs[rows]),
            None if drafts.lengths is None else drafts.lengths[rows],
        )  # fmt: skip
        outcome: Outcome = self._verifier.verify(wide, generator, carry)
        tokens = outcome.tokens
        known = (tokens >= 0) & (tokens < self._wide.vocabulary)
        # Ids that do not exist stay outside: -1 as it is, others behind the last token.
        merged = torch.where(known, self._wide.group_of[tokens.clamp(0, self._wide.vocabulary - 1)], tokens)
        merged = torch.where(tokens >= self._wide.vocabulary, len(self._wide.groups) + 1, merged)
        return replace(outcome, tokens=self._accepted_as_drafted(drafts.tokens[rows], ids, outcome, merged))

    @staticmethod
    def _accepted_as_drafted(small: Tensor, ids: Tensor, outcome: Outcome, merged: Tensor) -> Tensor:
        """An accepted id must be the drafted one, not another of its group: else it is no token of the draft."""
        inside = torch.arange(small.shape[-1]) < outcome.accepted[:, None]  # [B, L]
        follows = ((ids == outcome.tokens[:, None, :-1]) | ~inside[:, None]).all(-1).any(-1)
        return torch.where(follows[:, None], merged, -2)


def widened(subject: Subject, wide: WideCase) -> Subject:
    """The subject as one that verifies the small case, on wide rows."""
    return replace(subject, verifier=Widened(subject.verifier, wide))


def awkward(vocabulary: int, count: int) -> tuple[int, ...]:
    """Ids where kernels go wrong: first, last, and on either side of the edges of tiles."""
    edges = [0, vocabulary - 1]
    for power in (1024, 4096, 128, 16384, 256, 32768, 512):
        edges += [near for near in (power - 1, power, power + 1) if near < vocabulary - 1]
    return tuple(sorted(dict.fromkeys(edges[:count])))


class _WithoutLast(RowMaker):
    """Random rows with one token more, which has no mass."""

    def __call__(self) -> list[Fraction]:
        """Return the next row."""
        return [*super().__call__(), Fraction(0)]


def on_awkward_ids(vocabulary: int, count: int, length: int, *, drafts: int = 1, seed: int = 51) -> WideCase:
    """All mass on ``count`` awkward ids; rows differ by context."""
    tokens = count + 1  # the last one has no mass

    def model(own: int) -> TableModel:
        return table(tokens, length, _WithoutLast(own, count))

    name = f"awkward ids V{vocabulary} L{length}"
    case = Case(name, model(2 * seed), model(2 * seed + 1), length, "wide rows, mass at the edges of tiles", drafts)
    return WideCase(case, vocabulary, tuple((index,) for index in awkward(vocabulary, count)))


def with_rare_tail(vocabulary: int, tail: Fraction = Fraction(1, 1000), *, drafts: int = 1) -> WideCase:
    """One likely id, one less so, and a tail: all others together have a probability of ``tail``."""
    ids = (5, 0)
    others = tuple(index for index in range(vocabulary) if index not in (*ids, vocabulary - 1))
    target = [Fraction(9, 10) - tail, Fraction(1, 10), tail, Fraction(0)]
    draft = [Fraction(3, 5), Fraction(2, 5), Fraction(0), Fraction(0)]
    rows = list(prefixes(4, 1))
    case = Case(
        f"rare tail V{vocabulary}", TableModel(dict.fromkeys(rows, target)), TableModel(dict.fromkeys(rows, draft)), 1,
        "tokens many nats below the best must still be drawn", drafts,
    )  # fmt: skip
    return WideCase(case, vocabulary, ((ids[0],), (ids[1],), others), tail=2)


def wide_cases(drafts: int = 1) -> Sequence[WideCase]:
    """The large-vocabulary battery: a power of two, a published size that is none, two positions, and a rare tail."""
    return [
        on_awkward_ids(32768, 8, 1, drafts=drafts),
        on_awkward_ids(50257, 8, 1, drafts=drafts, seed=52),
        on_awkward_ids(32768, 4, 2, drafts=drafts, seed=53),
        with_rare_tail(32768, drafts=drafts),
    ]
