"""Give every request of a batch random numbers of its own, so that its answer can be compared with the one it gets alone.

A way of doing so has ``numbers(key)``, what stands for a key, and ``answer(drafts, given)``, which verifies a batch with such
numbers for each request. ``Seeded`` hands over one seed a request and ``Handed`` its uniforms. ``ByRow`` scripts draws whose
leading dimension is the batch, ``InOrder`` draws made for one request after the other. Whether scripted numbers belong to
the request that they are meant for is tried out: those of half of the requests are exchanged, and the others must not move.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from specproof.fast.batch import Drafts, Randomness
from specproof.properties.evidence.calls import MalformedOutcome, Returned, Violation, call, read
from specproof.properties.evidence.intercept import Interception
from specproof.properties.evidence.pool import some
from specproof.properties.evidence.race import gathered
from specproof.properties.evidence.script import Atom, Floats, NotRowwise, Uniform
from specproof.properties.evidence.seeding import seeded
from specproof.properties.evidence.sources import answered, mark_all
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided

BITS = 24  # of a uniform that is handed over
ATOMS = 1024  # random numbers of one request
PROBE = 67  # requests of the batch on which attribution is tried: no dimension of a draw but the batch has this size


@dataclass(frozen=True)
class Answered:
    """What a request got, and the draws that were made for it (none are seen when it has a seed)."""

    returned: Returned
    atoms: tuple[Atom, ...] = ()


class Way(Protocol):
    """A way of giving requests random numbers of their own. ``scripted``: the numbers can be probed."""

    scripted: bool

    def numbers(self, key: int) -> Any:
        """What stands for a key."""
        ...

    def answer(self, drafts: Drafts, given: Sequence[Any]) -> list[Answered]:
        """Verify a batch, with the numbers of each request. Raises ``NotRowwise`` where they cannot be told apart."""
        ...


def answers(subject: Subject, drafts: Drafts, randomness: Randomness) -> list[Returned]:
    """Call the subject and read every row. Raises ``Undecided`` where it raises; a malformed answer is every row's."""
    try:
        return read(drafts, call(subject, drafts, randomness))
    except MalformedOutcome as error:
        return [Violation(str(error))] * drafts.batch


def quantiles(key: int) -> Floats:
    """Random numbers in [0, 1) that stand for a key."""
    return np.random.default_rng(key).random(ATOMS)


class Seeded:
    """One seed a request."""

    scripted = False

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    def numbers(self, key: int) -> int:
        """A key is a seed."""
        return key

    def answer(self, drafts: Drafts, given: Sequence[int]) -> list[Answered]:
        """Hand over the seeds."""
        return [Answered(returned) for returned in answers(self._subject, drafts, list(given))]


class ByRow:
    """Scripted draws, row b of each for request b; ``kept`` are generators of the subject's own."""

    scripted = True

    def __init__(self, subject: Subject, kept: Sequence[torch.Generator]) -> None:
        self._subject = subject
        self._kept = list(kept)

    def numbers(self, key: int) -> Floats:
        """A key is a row of quantiles."""
        return quantiles(key)

    def answer(self, drafts: Drafts, given: Sequence[Floats]) -> list[Answered]:
        """Answer the draws of each request with its own row."""
        found, atoms = self.scripted_call(drafts, np.stack(given))
        return [Answered(row, tuple(drawn)) for row, drawn in zip(found, atoms, strict=True)]

    def scripted_call(self, drafts: Drafts, rows: Floats) -> tuple[list[Returned], list[list[Atom]]]:
        """Verify a batch with its draws answered by rows of quantiles."""
        script = Interception(rows)
        mark_all(self._kept)
        with script:
            found = answers(self._subject, drafts, script.generator)
        return found, [gathered(drawn, drafts.vocabulary) for drawn in script.atoms]


class InOrder(ByRow):
    """Scripted draws, each request's after those that the one before it needs when it is alone."""

    def answer(self, drafts: Drafts, given: Sequence[Floats]) -> list[Answered]:
        """Answer the draws of one request after the other."""
        alone = [super(InOrder, self).answer(some(drafts, [b]), [own])[0] for b, own in enumerate(given)]
        if drafts.batch == 1:
            return alone
        counts = [len(answer.atoms) for answer in alone]
        used = [own[:count] for own, count in zip(given, counts, strict=True)]
        found, (atoms,) = self.scripted_call(drafts, np.concatenate([*used, given[-1]])[None])
        ends = np.cumsum([0, *counts])
        return [Answered(row, tuple(atoms[ends[b] : ends[b + 1]])) for b, row in enumerate(found)]


class Handed(ByRow):
    """The uniforms themselves, for a subject that takes them and no generator."""

    def answer(self, drafts: Drafts, given: Sequence[Floats]) -> list[Answered]:
        """Hand over as many uniforms as the subject declares (``uniforms``), or plenty, in single precision."""
        declared = getattr(self._subject.verifier, "uniforms", 2 * drafts.paths * (drafts.length + 1) + 2)
        count = int(declared(drafts) if callable(declared) else declared)
        rows = np.floor(np.stack(given)[:, :count] * 2.0**BITS) / 2.0**BITS
        found = answers(self._subject, drafts, torch.from_numpy(rows).float())
        return [Answered(row, (Uniform(BITS),) * count) for row in found]


def takes_seeds(subject: Subject, drafts: Drafts) -> bool:
    """Whether the subject takes one seed for every request: it declares that it takes uniforms, and a trial works."""
    if "takes_uniforms" not in subject.capabilities:
        return False
    try:
        Seeded(subject).answer(some(drafts, [0, 1]), [1, 2])
    except Undecided:
        return False
    return True


@contextmanager
def scripted(subject: Subject, drafts: Drafts) -> Iterator[Way]:
    """The way in which the subject's draws are attributed to its requests. Raises ``Undecided`` where they cannot be."""
    probe = some(drafts, range(PROBE))
    with seeded(0):
        try:
            answers(subject, some(drafts, [0]), torch.Generator().manual_seed(0))  # it can make what it keeps
        except Undecided:
            if "takes_uniforms" not in subject.capabilities:
                raise
        with answered(subject.verifier) as kept:
            for kind in (ByRow, InOrder, Handed):
                if _attributes(way := kind(subject, kept), probe):
                    yield way
                    return
        if _ignores_draws(subject, probe):  # then whoever they belong to, nothing depends on them
            with answered(subject.verifier) as kept:
                yield ByRow(subject, kept)
                return
    raise Undecided("the draws of a batch cannot be attributed to its requests")


def _ignores_draws(subject: Subject, drafts: Drafts) -> bool:
    """Whether the answers are the same for every one of eight seeds."""
    found = [answers(subject, drafts, torch.Generator().manual_seed(seed)) for seed in range(8)]
    return all(other == found[0] for other in found)


def _attributes(way: Way, drafts: Drafts) -> bool:
    """Whether exchanging the numbers of some requests changes answers among these and no others."""
    keys = list(range(drafts.batch))
    moved = 0
    try:
        before = way.answer(drafts, [way.numbers(key) for key in keys])
        for parity in (0, 1):
            after = way.answer(drafts, [way.numbers(key + 10_000 * (key % 2 == parity)) for key in keys])
            changed = [b for b in keys if before[b].returned != after[b].returned]
            if any(b % 2 != parity for b in changed):
                return False
            moved += len(changed)
    except (NotRowwise, Undecided):
        return False
    return moved > 0
