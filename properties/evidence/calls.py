"""Calling a subject on rows of a case, and reading what it returns against the contract of ``fast.batch``.

A returned row either is ``Emitted`` or a ``Violation`` that says which clause it breaks; neither is ever repaired.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Outcome, Randomness
from specproof.properties.cases import Case
from specproof.properties.evidence.script import NotRowwise
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided
from specproof.reference.model import Prefix


@dataclass(frozen=True)
class Emitted:
    """One step of one request: how many draft tokens were kept, and the ``accepted + 1`` tokens it emits."""

    accepted: int
    tokens: Prefix


@dataclass(frozen=True)
class Violation:
    """A returned row or batch that breaks the contract."""

    reason: str


Returned = Emitted | Violation
INPUTS = ("tokens", "draft_probs", "target_probs")


@dataclass(frozen=True)
class Request:
    """One row to verify: where the text stands, the drafts, and what the subject carried over from the last block.

    Drafts may be shorter than the case's length, for subjects that take a length of its own for every request.
    """

    prefix: Prefix
    paths: tuple[Prefix, ...]
    carry: Any = None


class MalformedOutcome(Exception):
    """The whole answer of a call breaks the contract (type, shape, dtype, changed inputs)."""


def batch_of(case: Case, nodes: Tensor, tokens: Tensor) -> Drafts:
    """Lay out requests as a batch: ``nodes`` [B] index the texts so far in ``case.tables``, ``tokens`` is [B, K, L]."""
    target_table, draft_table = case.tables
    along = [nodes[:, None].expand(tokens.shape[:2])]  # nodes along each draft
    for i in range(case.length):
        along.append(case.vocabulary * along[-1] + 1 + tokens[:, :, i])
    # Rows behind a shortened draft may lie beyond the tables; nothing may read them.
    visited = torch.stack(along, dim=-1).clamp(max=len(target_table) - 1)  # [B, K, L+1]
    return Drafts(tokens, draft_table[visited[..., :-1]], target_table[visited])


def call(subject: Subject, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:
    """Call the subject. Raises ``Undecided`` where it raises, ``MalformedOutcome`` where its answer is no outcome."""
    assert subject.verifier is not None
    before = {name: given.clone() for name in INPUTS if (given := getattr(drafts, name)) is not None}
    try:
        outcome = subject.verifier.verify(drafts, generator, carry)
    except (Undecided, NotRowwise):  # raised by the script that answers its draws
        raise
    except Exception as error:
        raise Undecided(f"the subject raised {type(error).__name__}: {error}") from error
    check_shape(drafts, outcome)
    for name, kept in before.items():
        if not _same(getattr(drafts, name), kept):
            raise MalformedOutcome(f"the call changed its input {name}")
    return outcome


def _same(now: Tensor, before: Tensor) -> bool:
    """Whether a tensor is as it was; NaN is as it was where it was NaN."""
    if torch.equal(now, before):
        return True
    return now.is_floating_point() and bool(((now == before) | (now.isnan() & before.isnan())).all())


def check_shape(drafts: Drafts, outcome: Any) -> None:
    """Raise ``MalformedOutcome`` naming the first field whose type, shape or dtype is not the contract's."""
    wanted = {"tokens": (drafts.batch, drafts.length + 1), "accepted": (drafts.batch,)}
    if getattr(outcome, "path", None) is not None:
        wanted["path"] = (drafts.batch,)
    for field, shape in wanted.items():
        value = getattr(outcome, field, None)
        if not isinstance(value, Tensor):
            raise MalformedOutcome(f"{field} must be a tensor {_dims(shape)}, got {type(value).__name__}")
        if value.is_floating_point():
            detail = " holding NaN" if bool(value.isnan().any()) else ""
            raise MalformedOutcome(f"{field} must hold integers, got {value.dtype}{detail}")
        if tuple(value.shape) != shape:
            got = _dims(tuple(value.shape)) if value.shape[:1] == shape[:1] else list(value.shape)
            raise MalformedOutcome(f"{field} must have shape {_dims(shape)}, got {got}")


def _dims(shape: tuple[int, ...]) -> str:
    """A shape whose first dimension is the batch, the same in every call."""
    return f"[{', '.join(['B', *map(str, shape[1:])])}]"


def violations(drafts: Drafts, outcome: Outcome) -> list[tuple[Tensor, str]]:
    """Which rows break which clause, first clause first: pairs of a mask [B] and the reason."""
    positions = torch.arange(drafts.length + 1)
    accepted = outcome.accepted
    lengths = drafts.lengths if drafts.lengths is not None else torch.full_like(accepted, drafts.length)
    inside = positions <= accepted[:, None]
    in_vocabulary = (outcome.tokens >= 0) & (outcome.tokens < drafts.vocabulary)
    agrees = (drafts.tokens == outcome.tokens[:, None, :-1]) | (positions[:-1] >= accepted[:, None])[:, None]
    follows = agrees.all(-1)  # [B, K]
    if outcome.path is not None:
        follows = follows.gather(1, outcome.path.clamp(0, drafts.paths - 1)[:, None])
    return [
        ((accepted < 0) | (accepted > lengths), "accepted must lie between 0 and the draft length"),
        ((inside & ~in_vocabulary).any(-1), "an emitted id lies outside the vocabulary"),
        ((~inside & (outcome.tokens != -1)).any(-1), "tokens after the last emitted one must be -1"),
        (~follows.any(-1), "the accepted tokens are not those of a draft"),
    ]


def read(drafts: Drafts, outcome: Outcome) -> list[Returned]:
    """Read every row of an outcome."""
    reasons: list[str | None] = [None] * drafts.batch
    for mask, reason in reversed(violations(drafts, outcome)):
        for row in mask.nonzero().flatten().tolist():
            reasons[row] = reason
    counts, rows = outcome.accepted.tolist(), outcome.tokens.tolist()
    return [
        Violation(reason) if reason else Emitted(count, tuple(row[: count + 1]))
        for reason, count, row in zip(reasons, counts, rows, strict=True)
    ]


def requests_batch(case: Case, requests: Sequence[Request]) -> Drafts:
    """Lay out requests as a batch."""
    nodes = torch.tensor([case.node(request.prefix) for request in requests])
    lengths = [len(request.paths[0]) for request in requests]
    whole = [[(*path, *[0] * (case.length - len(path))) for path in request.paths] for request in requests]
    drafts = batch_of(case, nodes, torch.tensor(whole, dtype=torch.int64))
    return drafts if min(lengths) == case.length else replace(drafts, lengths=torch.tensor(lengths))
