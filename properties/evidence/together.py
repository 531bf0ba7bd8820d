"""Two requests in one call, for subjects whose draws cannot be attributed to requests: the law of both answers, probed.

All draws of the call are scripted as one run, whoever they belong to. The joint law must be the product of the laws that
the requests have alone: that is independence and batch invariance at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from specproof.fast.batch import Drafts
from specproof.properties.evidence.attributed import ATOMS, ByRow, answers
from specproof.properties.evidence.calls import Returned
from specproof.properties.evidence.pool import pool, some
from specproof.properties.evidence.probed import Settings, explore
from specproof.properties.evidence.seeding import seeded
from specproof.properties.evidence.sources import answered
from specproof.properties.evidence.tapes import Run, Tape
from specproof.properties.subject import Subject
from specproof.reference.law import total_variation

LENGTH, VOCABULARY = 1, 3
PAIRS = ((0, 1), (2, 3))
Law = dict[tuple[Returned, ...], float]


@dataclass(frozen=True)
class Together:
    """How far the joint law of two requests in one call is from the product of their laws alone."""

    distance: float
    pair: tuple[int, int]
    calls: int


def observe_together(subject: Subject, seed: int) -> Together:
    """Probe the pairs; the worst is returned. Raises ``Undecided`` where a law cannot be read."""
    drafts = pool(subject.drafting, 4, length=LENGTH, vocabulary=VOCABULARY, seed=seed, plain=True)
    with seeded(0):
        answers(subject, some(drafts, [0]), torch.Generator().manual_seed(0))  # it can make what it keeps
        with answered(subject.verifier) as kept:
            way = ByRow(subject, kept)
            calls = 0
            found = []
            for pair in PAIRS:
                (joint, used), (first, one), (second, other) = (
                    _law(way, some(drafts, index)) for index in (pair, pair[:1], pair[1:])
                )
                product = {(*a, *b): p * q for a, p in first.items() for b, q in second.items()}
                found.append((float(total_variation(joint, product)), pair))
                calls += used + one + other
    return Together(*max(found), calls)


def _law(way: ByRow, drafts: Drafts) -> tuple[Law, int]:
    """The law of the answers to a batch whose draws are one run, and how many runs that took."""
    calls = 0

    def ask(tapes: Sequence[Tape]) -> list[Run]:
        nonlocal calls
        calls += len(tapes)
        runs: list[Any] = [way.scripted_call(drafts, tape.quantiles(ATOMS)[None]) for tape in tapes]
        return [Run(tuple(atoms), tuple(found)) for found, (atoms,) in runs]

    law: Law = {}
    for _, mass, returned in explore(ask, 1, Settings(spot_checks=100)):
        law[returned] = law.get(returned, 0.0) + mass
    return law, calls
