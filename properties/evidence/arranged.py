"""The same requests in many batches: what each gets must be what it gets alone, with the same random numbers.

A difference is not believed at once. Answers to seeds must differ again with other seeds: rounding that depends on the size
of a batch moves a threshold by 1e-7, and does not recur. Scripted draws may be used in another order in a batch, so the law
of the one request is probed inside its batch, all others held fixed, and compared with its law alone.

LIMITS. A fault that needs a batch or a request that is not among the arrangements is missed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from specproof.fast.batch import Drafts
from specproof.properties.evidence.attributed import ATOMS, Answered, Seeded, Way, scripted, takes_seeds
from specproof.properties.evidence.calls import Emitted, Returned, Violation
from specproof.properties.evidence.pool import pool, ragged, some, unpadded, with_certain_rows, without_rows
from specproof.properties.evidence.probed import Settings, explore
from specproof.properties.evidence.script import NotRowwise
from specproof.properties.evidence.tapes import Run, Tape
from specproof.properties.subject import Subject
from specproof.reference.law import total_variation

SIZES = (1, 2, 3, 65, 257)
REQUESTS = 67  # that are compared with themselves alone, in batches of every size
LENGTH, VOCABULARY = 4, 6
AGAIN = 64  # other seeds with which a difference is tried again
OTHER_KEYS = 100_000
PAIRS, FEW = 32, 30  # requests of the smaller arrangements
LOOKED_INTO = 8
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Arrangement:
    """A batch made of a pool's requests: which ones, and the key of each one's random numbers.

    ``single`` returns a request as a batch of one; ``pool`` names where it comes from. ``reorders``: a subject may
    process such a batch in another order, so that scripted numbers can go to another request than the one meant.
    """

    name: str
    pool: str
    batch: Drafts
    index: list[int]
    keys: list[int]
    single: Callable[[int], Drafts]
    reorders: bool = False


@dataclass(frozen=True)
class Difference:
    """A request that gets another answer in a batch than alone."""

    where: str
    request: int
    size: int
    alone: str
    together: str
    distance: float | None = None

    def __str__(self) -> str:
        law = "" if self.distance is None else f"; total variation of the two laws {self.distance:.3g}"
        return f"{self.where}: request {self.request} of {self.size} gets {self.together}, alone {self.alone}{law}"


@dataclass(frozen=True)
class Arranged:
    """What was compared: a difference that stands, and what did not count as one.

    ``rounded``: answers that differed and whose law does not; ``unattributed``: batches in which numbers went elsewhere.
    """

    compared: int
    calls: int
    difference: Difference | None
    rounded: int
    unattributed: list[str]


def compare_with_seeds(subject: Subject, requests: int, seed: int) -> Arranged | None:
    """Compare with one seed a request; None for a subject that takes none."""
    drafts = _pool(subject, requests, seed)
    return _compare(subject, Seeded(subject), drafts) if takes_seeds(subject, drafts) else None


def compare_scripted(subject: Subject, requests: int, seed: int) -> Arranged:
    """Compare with scripted draws. Raises ``Undecided`` where draws cannot be attributed to requests."""
    drafts = _pool(subject, requests, seed)
    with scripted(subject, drafts) as way:
        return _compare(subject, way, drafts)


def _pool(subject: Subject, requests: int, seed: int) -> Drafts:
    return pool(subject.drafting, requests, length=LENGTH, vocabulary=VOCABULARY, seed=seed)


def _compare(subject: Subject, way: Way, drafts: Drafts) -> Arranged:
    comparer = Comparer(way)
    difference = None
    sizes = [*SIZES, drafts.batch] if drafts.batch > max(SIZES) else SIZES
    for arranged in arrangements(subject, drafts, sizes=sizes, shared=not way.scripted):
        try:
            difference = comparer.compare(arranged)
        except NotRowwise:
            comparer.unattributed.append(arranged.name)
        if difference is not None:
            break
    return Arranged(comparer.compared, comparer.calls, difference, comparer.rounded, comparer.unattributed)


def arrangements(subject: Subject, drafts: Drafts, *, sizes: Sequence[int], shared: bool) -> list[Arrangement]:
    """Batches of every kind that the subject takes, smallest first. ``shared``: requests with one seed are among them.

    Batches that are larger than the pool repeat its requests, each with the numbers that it has everywhere.
    """
    largest = [b % drafts.batch for b in range(max(sizes))]
    shuffled = torch.randperm(len(largest), generator=torch.Generator().manual_seed(len(largest))).tolist()
    pairs = [b // 2 for b in range(PAIRS)]

    def of(name: str, index: list[int], keys: list[int]) -> Arrangement:
        return Arrangement(name, "plain", some(drafts, index), index, keys, lambda b: some(drafts, [b]))

    made = [of(f"{size} together", largest[:size], largest[:size]) for size in sizes]
    made += [
        of("the same batch again", largest, largest),
        of("in another order", [largest[b] for b in shuffled], [largest[b] for b in shuffled]),
        of("every request twice", pairs, [OTHER_KEYS - 1 - b for b in range(PAIRS)]),
    ]
    if shared:
        made.append(of("two requests with one seed", largest, [b // 2 % drafts.batch for b in range(len(largest))]))
    few = some(drafts, range(min(drafts.batch, FEW)))
    order = list(range(few.batch))
    if "ragged" in subject.capabilities:
        padded = ragged(few)
        alone = partial(unpadded, padded)
        made.append(Arrangement("padded to one length", "ragged", padded, order, order, alone, reorders=True))
    if "one_hot_draft" in subject.capabilities:
        certain = with_certain_rows(few)
        made.append(
            Arrangement("drafts without rows", "certain", without_rows(few), order, order, lambda b: some(certain, [b]))
        )
    return made


class Comparer:
    """Compares arrangements with the answers of their requests alone."""

    def __init__(self, way: Way) -> None:
        self.way = way
        self.calls = 0
        self.compared = 0
        self.rounded = 0
        self.unattributed: list[str] = []
        self._alone: dict[tuple[str, int, int], Answered] = {}

    def answers(self, drafts: Drafts, keys: Sequence[int]) -> list[Answered]:
        """Verify a batch."""
        self.calls += 1
        return self.way.answer(drafts, [self.way.numbers(key) for key in keys])

    def alone(self, arranged: Arrangement, request: int, key: int) -> Answered:
        """The answer of one request by itself; asked for once."""
        known = (arranged.pool, request, key)
        if known not in self._alone:
            self._alone[known] = self.answers(arranged.single(request), [key])[0]
        return self._alone[known]

    def compare(self, arranged: Arrangement) -> Difference | None:
        """The first difference of one arrangement that stands; at most ``LOOKED_INTO`` are looked into."""
        together = self.answers(arranged.batch, arranged.keys)
        alone = [self.alone(arranged, *who) for who in zip(arranged.index, arranged.keys, strict=True)]
        self.compared += len(together)
        differing = [b for b in range(len(together)) if alone[b].returned != together[b].returned]
        confirm = self._law_differs if self.way.scripted else self._recurs
        for b in differing[:LOOKED_INTO]:
            seen = together[b].returned
            first = Difference(arranged.name, b, arranged.batch.batch, described(alone[b].returned), described(seen))
            stands = first if isinstance(seen, Violation) else confirm(arranged, b, first)
            if stands is not None:
                return stands
        if len(differing) > LOOKED_INTO:
            self.unattributed.append(arranged.name)
        return None

    def _recurs(self, arranged: Arrangement, b: int, first: Difference) -> Difference | None:
        """Whether the request differs again with other seeds, shared among the requests as before."""
        one = arranged.single(arranged.index[b])
        for again in range(1, AGAIN + 1):
            keys = [key + OTHER_KEYS * again for key in arranged.keys]
            if self.answers(one, [keys[b]])[0].returned != self.answers(arranged.batch, keys)[b].returned:
                return first
        self.rounded += 1
        return None

    def _law_differs(self, arranged: Arrangement, b: int, first: Difference) -> Difference | None:
        """Whether the request's law in the batch, the numbers of all others held fixed, is not its law alone."""
        keys = arranged.keys
        moved = [key if i == b else key + OTHER_KEYS for i, key in enumerate(keys)]
        if self.answers(arranged.batch, moved)[b].returned != self.answers(arranged.batch, keys)[b].returned:
            if arranged.reorders:
                self.unattributed.append(arranged.name)
                return None
            return replace(first, together=f"{first.together}, which depends on the draws of others")
        alone = self._law(arranged.single(arranged.index[b]), [keys[b]], 0)
        distance = float(total_variation(self._law(arranged.batch, keys, b), alone))
        if distance > TOLERANCE:
            return replace(first, distance=distance)
        self.rounded += 1
        return None

    def _law(self, drafts: Drafts, keys: Sequence[int], b: int) -> dict[Returned, float]:
        """The law of request ``b``, its own numbers probed and all others held fixed."""
        given = [self.way.numbers(key) for key in keys]

        def ask(tapes: Sequence[Tape]) -> list[Run]:
            runs = []
            for tape in tapes:
                self.calls += 1
                quantiles = [*given[:b], tape.quantiles(ATOMS), *given[b + 1 :]]
                answer = self.way.answer(drafts, quantiles)[b]
                runs.append(Run(answer.atoms, answer.returned))
            return runs

        law: dict[Returned, float] = {}
        for _, mass, returned in explore(ask, 1, Settings(spot_checks=100)):
            law[returned] = law.get(returned, 0.0) + mass
        return law


def described(returned: Returned) -> str:
    """An answer in words."""
    if isinstance(returned, Emitted):
        return f"{returned.tokens} ({returned.accepted} accepted)"
    return f"an answer that breaks the contract ({returned.reason})"
