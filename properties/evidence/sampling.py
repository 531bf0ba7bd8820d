"""Draw texts with a subject and count them: drafts from the draft model, the subject's own randomness, nothing scripted.

Texts come in blocks. A block is drawn from a seed that its number alone decides, so that blocks can be drawn in any order
and anywhere: added up in the order of their numbers they are what one process draws.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.randomness import draw, splitmix
from specproof.properties.cases import Case
from specproof.properties.evidence.calls import MalformedOutcome, batch_of, call, violations
from specproof.properties.evidence.seeding import seeded
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided

CHUNK = 8192
BLOCK = 2**17  # texts from one seed: one block in a quick certification


@dataclass(frozen=True)
class Carried:
    """What earlier nights have counted, and how many nights."""

    text: NDArray[np.int64]
    accepted: NDArray[np.int64]
    nights: int


@dataclass
class Counts:
    """What was counted: texts by code (base V, first token first), first-step acceptances, and contract violations.

    ``before`` stands beside it and is counted in by what may be looked at any time.
    """

    text: NDArray[np.int64]
    accepted: NDArray[np.int64]
    violation: str | None = None
    draws: int = 0
    before: Carried | None = None


Draw = Callable[[Subject, Case, int, int], Iterator[Counts]]  # ``sample_texts``, or what draws the same elsewhere


def sample_texts(subject: Subject, case: Case, draws: int, seed: int) -> Iterator[Counts]:
    """Draw ``draws`` texts and yield the running counts after every chunk; stops at a contract violation.

    Raises ``Undecided`` where the subject raises. Global generators are seeded and put back.
    """
    numbers = range(blocks(draws))
    yield from added(case, chain.from_iterable(draw_block(subject, case, draws, seed, number) for number in numbers))


def blocks(draws: int) -> int:
    """How many blocks so many texts are drawn in."""
    return -(-draws // BLOCK)


def added(case: Case, chunks: Iterable[Counts]) -> Iterator[Counts]:
    """Running counts of chunks in their order, up to the first that breaks the contract."""
    total = _nothing(case)
    for chunk in chunks:
        total.text += chunk.text
        total.accepted += chunk.accepted
        total.draws += chunk.draws
        total.violation = chunk.violation
        yield total
        if total.violation is not None:
            return


def draw_block(subject: Subject, case: Case, draws: int, seed: int, number: int) -> Iterator[Counts]:
    """The chunks of block ``number`` of ``draws`` texts; see ``sample_texts``."""
    done, end = number * BLOCK, min(draws, (number + 1) * BLOCK)
    seed = seed if number == 0 else splitmix(splitmix(seed) + number) % 2**32  # torch reads no more bits
    own = torch.Generator().manual_seed(seed)
    theirs = torch.Generator().manual_seed(seed + 1)
    with seeded(seed + 2):
        while done < end:
            rows = min(CHUNK, max(256, done), end - done)  # small first: slow subjects report soon
            counts = _nothing(case)
            try:
                text, accepted = _chunk(subject, case, rows, own, theirs)
            except MalformedOutcome as error:
                counts.violation = str(error)
                yield counts
                return
            counts.text += np.bincount(text.numpy(), minlength=len(counts.text))
            counts.accepted += np.bincount(accepted.numpy(), minlength=len(counts.accepted))
            counts.draws = rows
            done += rows
            yield counts


def _nothing(case: Case) -> Counts:
    return Counts(np.zeros(case.vocabulary**case.horizon, dtype=np.int64), np.zeros(case.length + 1, dtype=np.int64))


def _chunk(
    subject: Subject, case: Case, rows: int, own: torch.Generator, theirs: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Codes of ``rows`` texts, and how many drafts the first step of each accepted."""
    text = torch.full((rows, case.horizon), -1)
    written = torch.zeros(rows, dtype=torch.int64)
    nodes = torch.zeros(rows, dtype=torch.int64)
    first: Tensor | None = None
    carry: Any = None
    while first is None or ((case.iterated or carry is not None) and bool((written < case.horizon).any())):
        # A subject that carries state keeps its rows; finished ones are fed the first text again and ignored.
        active = torch.arange(rows) if carry is not None else (written < case.horizon).nonzero().flatten()
        here = torch.where(written < case.horizon, nodes, 0)[active]
        drafts = batch_of(case, here, _drafts(case, here, own, replacement=subject.drafting.replacement))
        if first is not None and not case.iterated:  # what is carried over ends with the block, and so do the drafts
            drafts = _shortened(subject, drafts, (case.length - written).clamp(min=0))
        tokens, accepted, carry = _verify(subject, drafts, theirs, carry)
        first = accepted if first is None else first
        for i in range(case.length + 1):
            writing = (i <= accepted) & (written[active] < case.horizon)
            at = active[writing]
            text[at, written[at]] = tokens[writing, i]
            nodes[at] = case.vocabulary * nodes[at] + 1 + tokens[writing, i]
            written[at] += 1
    while bool((written < case.horizon).any()):  # one block: what it did not emit is completed with the target
        at = (written < case.horizon).nonzero().flatten()
        token = draw(case.tables[0][nodes[at]], _uniform(len(at), own))
        text[at, written[at]] = token
        nodes[at] = case.vocabulary * nodes[at] + 1 + token
        written[at] += 1
    weights = case.vocabulary ** torch.arange(case.horizon - 1, -1, -1)
    return (text * weights).sum(-1), first


def _uniform(count: int, generator: torch.Generator) -> Tensor:
    return torch.rand(count, dtype=torch.float64, generator=generator)


def _shortened(subject: Subject, drafts: Drafts, lengths: Tensor) -> Drafts:
    if "ragged" not in subject.capabilities:
        raise Undecided("the subject carries something over and takes no shorter drafts with which to end the block")
    return replace(drafts, lengths=lengths)


def _drafts(case: Case, nodes: Tensor, generator: torch.Generator, *, replacement: bool) -> Tensor:
    """Drafts [B, K, L] after the texts at ``nodes``: independent, or independent but for distinct first tokens."""
    table = case.tables[1]
    rows, first = table[nodes], []
    for _ in range(case.drafts):
        first.append(draw(rows, _uniform(len(nodes), generator)))
        rows = rows if replacement else rows.scatter(-1, first[-1][:, None], 0.0)
    columns = [torch.stack(first, dim=-1).flatten()]
    at = nodes.repeat_interleave(case.drafts)
    for _ in range(1, case.length):
        at = (case.vocabulary * at + 1 + columns[-1]).clamp(max=len(table) - 1)  # see ``batch_of``
        columns.append(draw(table[at], _uniform(len(at), generator)))
    return torch.stack(columns, dim=-1).reshape(len(nodes), case.drafts, case.length)


def _verify(subject: Subject, drafts: Drafts, generator: torch.Generator, carry: Any) -> tuple[Tensor, Tensor, Any]:
    """Call the subject on a batch, or row by row where it takes one request only."""
    if "batch" in subject.capabilities:
        outcome = call(subject, drafts, generator, carry)
        _check(drafts, outcome)
        return outcome.tokens, outcome.accepted, outcome.carry
    parts = []
    for b in range(drafts.batch):
        row = slice(b, b + 1)
        lengths = None if drafts.lengths is None else drafts.lengths[row]
        one = Drafts(drafts.tokens[row], drafts.draft_rows()[row], drafts.target_probs[row], lengths)
        outcome = call(subject, one, generator, None if carry is None else carry[b])
        _check(one, outcome)
        parts.append(outcome)
    carries = [outcome.carry for outcome in parts]
    return (
        torch.cat([outcome.tokens for outcome in parts]),
        torch.cat([outcome.accepted for outcome in parts]),
        None if all(kept is None for kept in carries) else carries,
    )


def _check(drafts: Drafts, outcome: Any) -> None:
    for mask, reason in violations(drafts, outcome):
        if bool(mask.any()):
            raise MalformedOutcome(reason)
