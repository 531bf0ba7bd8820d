"""Tapes and runs: what the probe asks a subject, and what it hears."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count as naturals
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specproof.properties.evidence.script import Atom, Choice

OPEN = float("nan")  # an answer that is not fixed yet


@dataclass(frozen=True)
class Tape:
    """Quantiles for one run of root ``root``: ``fixed`` by position of the draw, ``fill`` wherever that is OPEN."""

    root: int
    fixed: tuple[float, ...]
    fill: tuple[float, ...]

    def quantiles(self, count: int) -> NDArray[np.float64]:
        """The first ``count`` quantiles."""
        row = np.resize(self.fill, count)
        given = np.array(self.fixed[:count])
        row[: len(given)] = np.where(np.isnan(given), row[: len(given)], given)
        return row


@dataclass(frozen=True)
class Run:
    """What a tape led to: the atoms in the order in which they were drawn, and the result."""

    atoms: tuple[Atom, ...]
    result: Any

    @cached_property
    def behaviour(self) -> tuple[Any, ...]:
        """The result and all draws; weights agree when they agree to 8 decimals: float noise is no change."""
        return (self.result, *(_rounded(atom) for atom in self.atoms))


def _rounded(atom: Atom) -> Atom:
    return Choice(tuple(round(weight, 8) for weight in atom.weights)) if isinstance(atom, Choice) else atom


Ask = Callable[[Sequence[Tape]], list[Run]]
Asking = Generator[list[Tape], list[Run], Any]


def fix(fixed: tuple[float, ...], answers: dict[int, float]) -> tuple[float, ...]:
    """The answers so far with further ones, by position."""
    length = max(len(fixed), max(answers) + 1)
    padded = (*fixed, *([OPEN] * (length - len(fixed))))
    return tuple(answers.get(i, old) for i, old in zip(naturals(), padded, strict=False))


def together(ask: Ask, workers: list[Asking]) -> None:
    """Run generators that ask for runs in lockstep, so that each round is one batch of questions."""
    waiting = [(worker, next(worker)) for worker in workers]
    while waiting:
        answers = iter(ask([tape for _, tapes in waiting for tape in tapes]))
        advanced = []
        for worker, tapes in waiting:
            try:
                advanced.append((worker, worker.send([next(answers) for _ in tapes])))
            except StopIteration:
                continue
        waiting = advanced
