"""Calls that show how a subject uses its randomness: the same request over and over, from a generator or from seeds."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Randomness
from specproof.fast.randomness import draw
from specproof.properties.evidence.attributed import answers, takes_seeds
from specproof.properties.evidence.calls import Emitted, MalformedOutcome, Returned, call, violations
from specproof.properties.evidence.independence import Answers
from specproof.properties.evidence.pool import pool, some
from specproof.properties.evidence.seeding import seeded
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided

BATCH = 256
HIGH = 2**32  # seeds that differ by this much agree in all bits that a 32-bit generator reads
REPEATED = 64  # requests that are verified twice with the same randomness


def repeated_request(subject: Subject, copies: int, length: int = 2) -> Drafts:
    """One request with even chances, ``copies`` times: every draft may be kept, many tokens may correct it."""
    drafts = subject.drafting.drafts
    vocabulary = max(6, drafts + 2)
    weights = torch.arange(1, vocabulary + 1, dtype=torch.float64)
    target, draft = (weights / weights.sum()).float(), (weights.flip(0) / weights.sum()).float()
    first = (torch.arange(drafts) + 1) % vocabulary  # [K], distinct
    tokens = torch.cat([first[:, None], torch.ones(drafts, length - 1, dtype=torch.int64)], dim=1)
    return Drafts(
        tokens.expand(copies, -1, -1).contiguous(),
        draft.expand(copies, drafts, length, -1).contiguous(),
        target.expand(copies, drafts, length + 1, -1).contiguous(),
    )


def from_generator(subject: Subject, outcomes: int, seed: int) -> Answers:
    """Answers to the same request from one generator that is handed on from call to call."""
    batch = BATCH if "batch" in subject.capabilities else 1
    source = torch.Generator().manual_seed(seed)
    return _answers(subject, batch, outcomes, lambda _: source, seed)


def from_seeds(subject: Subject, outcomes: int, seed: int) -> Answers:
    """Answers to the same request from consecutive seeds; the second half of each batch adds ``HIGH`` to those of the first."""
    start = 1_000_000 * (seed + 1)

    def seeds(t: int) -> Sequence[int]:
        low = list(range(start + t * BATCH, start + t * BATCH + BATCH // 2))
        return [*low, *(one + HIGH for one in low)]

    return _answers(subject, BATCH, outcomes, seeds, seed)


def _answers(subject: Subject, batch: int, outcomes: int, source: Callable[[int], Randomness], seed: int) -> Answers:
    drafts = repeated_request(subject, batch)
    known: dict[Returned, int] = {}
    codes, kept = [], []
    with seeded(seed):
        for t in range(max(2, outcomes // batch)):
            found = answers(subject, drafts, source(t))
            codes.append([known.setdefault(answer, len(known)) for answer in found])
            kept.append([isinstance(answer, Emitted) and answer.accepted > 0 for answer in found])
    return Answers(np.array(codes), np.array(kept))


@dataclass(frozen=True)
class Repeated:
    """Requests verified twice with the same randomness, the global generators in another state the second time.

    ``explicit``: the randomness was seeds, not a generator. ``different`` requests got another answer; ``consumed``
    says whether the global torch generator was drawn from.
    """

    explicit: bool
    requests: int
    different: int
    consumed: bool


def repeat(subject: Subject, seed: int) -> Repeated:
    """Verify some requests twice. Raises ``Undecided`` where the subject raises."""
    drafts = pool(subject.drafting, REPEATED, length=3, vocabulary=6, seed=seed)
    explicit = takes_seeds(subject, drafts)
    both, consumed = [], False
    for state in (seed + 1, seed + 2):
        found: list[Returned] = []
        with seeded(state):
            before = torch.random.get_rng_state()
            if "batch" in subject.capabilities:
                source = list(range(REPEATED)) if explicit else torch.Generator().manual_seed(seed)
                found = answers(subject, drafts, source)
            else:
                for b in range(REPEATED):
                    own = [b] if explicit else torch.Generator().manual_seed(b)
                    found += answers(subject, some(drafts, [b]), own)
            consumed |= not torch.equal(before, torch.random.get_rng_state())
        both.append(found)
    different = sum(one != other for one, other in zip(*both, strict=True))
    return Repeated(explicit, REPEATED, different, consumed)


def _by_uniform(dtype: torch.dtype) -> Callable[[torch.Generator, Tensor, int], Tensor]:
    def drafter(generator: torch.Generator, row: Tensor, drafts: int) -> Tensor:
        return draw(row.expand(drafts, -1), torch.rand(drafts, dtype=dtype, generator=generator).double())

    return drafter


def _by_race(generator: torch.Generator, row: Tensor, drafts: int) -> Tensor:
    noise = torch.empty(drafts, len(row)).exponential_(generator=generator)
    return (row / noise).argmax(-1)


# How engines draw a draft token from a request's seed.
DRAFTERS: dict[str, Callable[[torch.Generator, Tensor, int], Tensor]] = {
    "a double uniform": _by_uniform(torch.float64),
    "a single uniform": _by_uniform(torch.float32),
    "an exponential race": _by_race,
}
SHARED_TARGET, SHARED_DRAFT = (0.1, 0.6, 0.3), (0.6, 0.3, 0.1)


def drafted_with_its_seed(subject: Subject, drafter: str, requests: int, seed: int) -> Iterator[np.ndarray]:
    """Yield counts of first tokens when each request is drafted and verified from one seed, chunk after chunk.

    Raises ``Undecided`` where the subject raises or its answer is no outcome.
    """
    draft, drafts = torch.tensor(SHARED_DRAFT), subject.drafting.drafts
    rows = draft.expand(BATCH, drafts, 1, -1).contiguous()
    target = torch.tensor(SHARED_TARGET).expand(BATCH, drafts, 2, -1).contiguous()
    counts = np.zeros(len(SHARED_TARGET), dtype=np.int64)
    for start in range(0, requests, BATCH):
        seeds = [1_000_000 * (seed + 2) + start + b for b in range(BATCH)]
        tokens = torch.stack([DRAFTERS[drafter](torch.Generator().manual_seed(one), draft, drafts) for one in seeds])
        given = Drafts(tokens[..., None], rows, target)
        try:
            outcome = call(subject, given, seeds)
        except MalformedOutcome as error:
            raise Undecided(str(error)) from error
        if any(bool(mask.any()) for mask, _ in violations(given, outcome)):
            raise Undecided("the contract is broken")
        counts += np.bincount(outcome.tokens[:, 0].numpy(), minlength=len(counts))
        yield counts
