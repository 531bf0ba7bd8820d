"""Running a subject on scripted draws: one request at a time, or in batches where its draws can be attributed to rows.

Randomness reaches the subject as a generator whose draws are answered, or, for one that takes its uniforms as an argument
and no generator, as those uniforms in float32. How many it wants is what it declares as ``uniforms_wanted`` (a number, or a
function of the batch), or what it draws from a generator, and plenty otherwise.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import torch

from specproof.fast.batch import Randomness
from specproof.properties.cases import Case
from specproof.properties.evidence.calls import (
    MalformedOutcome,
    Request,
    Returned,
    Violation,
    call,
    read,
    requests_batch,
)
from specproof.properties.evidence.intercept import Interception
from specproof.properties.evidence.probed import Settings, explore
from specproof.properties.evidence.race import gathered
from specproof.properties.evidence.script import Atom, Floats, NotRowwise, Uniform
from specproof.properties.evidence.seeding import seeded
from specproof.properties.evidence.sources import answered, mark_all
from specproof.properties.evidence.tapes import Run, Tape
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided

ATOMS = 256
BATCH = 2048
MOST_CALLS = 250_000  # on one case: a threshold that moves with another draw would be cut finer and finer
LEAST_BATCH = 67
HANDED_BITS = 24
SINGLE, BATCHED = Settings(spot_checks=300), Settings(spot_checks=4000, arity=7)
SLOW = Settings(spot_checks=500, arity=2)


@dataclass(frozen=True)
class Observed:
    """A returned row with what the subject carried for its batch; runs are compared by the row alone."""

    returned: Returned
    batch_carry: Any = field(compare=False, default=None)
    row: int = field(compare=False, default=0)

    @property
    def carry(self) -> Any:
        """What the subject carried for this row."""
        if not hasattr(self.batch_carry, "select"):
            return self.batch_carry
        return self.batch_carry.select(torch.tensor([self.row]))


class Prober:
    """Runs a subject on scripted draws and counts the runs. Use as ``with Prober(...).ready() as prober``."""

    def __init__(
        self, subject: Subject, case: Case, spot_checks: int | None = None, *, each_cell: int = 0, hand: bool = False
    ) -> None:
        """Check ``spot_checks`` runs at random, and so many in each cell; ``hand`` uniforms to who takes both."""
        self.subject = subject
        self.case = case
        self.few = spot_checks
        self.each_cell = each_cell
        self.calls = 0
        self.spot_checks = 0
        self.batched = "batch" in subject.capabilities
        self.handed = False  # whether the subject is given uniforms in place of a generator, and how many a request
        self.uniforms = 0
        self._hand = hand
        self._kept: list[torch.Generator] = []
        self._drawn: dict[str, None] = {}

    @contextmanager
    def ready(self, request: Request) -> Iterator[Self]:
        """Call the subject once unscripted, so that it can make what it keeps, and then have the script answer that too."""
        with seeded(0):
            takes_generator = self._takes_generator(request)
            self.handed = "takes_uniforms" in self.subject.capabilities and (self._hand or not takes_generator)
            if self.handed:
                self.uniforms = self._wanted(request, takes_generator=takes_generator)
            with answered(self.subject.verifier) as self._kept:
                yield self

    def laws(self, requests: Sequence[Request]) -> list[tuple[int, float, Observed]]:
        """Return ``(index of the request, mass, what it returned)`` for every cell of every request."""
        try:
            if self.batched and all(request.carry is None or hasattr(request.carry, "select") for request in requests):
                try:
                    return self._explore(requests, SLOW if "slow" in self.subject.capabilities else BATCHED)
                except NotRowwise:
                    self.batched = False
            return self._explore(requests, SINGLE)
        except Undecided as reason:
            drawn = [name for name in self._drawn if name not in str(reason)]
            raise Undecided(f"{reason} (it draws with {', '.join(drawn)})" if drawn else str(reason)) from reason

    def run(
        self, requests: Sequence[Request], quantiles: Floats, carry: Any = None
    ) -> list[tuple[list[Atom], Observed]]:
        """Call the subject on requests, one row of quantiles each; return what each drew and what it returned."""
        drafts = requests_batch(self.case, requests)
        source: Randomness = None
        before: list[Atom] = []
        if self.handed:
            values = np.floor(quantiles[:, : self.uniforms] * 2.0**HANDED_BITS) / 2.0**HANDED_BITS
            source, before = torch.from_numpy(values).float(), [Uniform(HANDED_BITS)] * self.uniforms
            quantiles = quantiles[:, self.uniforms :]
        script = Interception(quantiles)
        mark_all(self._kept)
        kept: Any = None
        try:
            with script:
                outcome = call(self.subject, drafts, script.generator if source is None else source, carry)
            returned, kept = read(drafts, outcome), outcome.carry
            if len(requests) > 1 and kept is not None and not hasattr(kept, "select"):
                raise NotRowwise("what is carried over cannot be told apart by request")
        except MalformedOutcome as error:
            returned = [Violation(str(error))] * len(requests)
        finally:
            self._drawn |= script.script.drawn
        atoms = [gathered([*before, *drawn], self.case.vocabulary) for drawn in script.atoms]
        return [(drawn, Observed(row, kept, b)) for b, (drawn, row) in enumerate(zip(atoms, returned, strict=True))]

    def _explore(self, requests: Sequence[Request], settings: Settings) -> list[tuple[int, float, Observed]]:
        carry = _joined([request.carry for request in requests]) if settings.arity > 1 else None

        def ask(tapes: Sequence[Tape]) -> list[Run]:
            size = BATCH if settings.arity > 1 else 1
            return [
                run
                for i in range(0, len(tapes), size)
                for run in self._runs(requests, tapes[i : i + size], size, carry)
            ]

        checks = max(settings.spot_checks, 4 * len(requests)) if self.few is None else self.few
        settings = replace(settings, spot_checks=checks, each_cell=self.each_cell)
        found = explore(ask, len(requests), settings)
        self.spot_checks += settings.spot_checks
        return found

    def _runs(self, requests: Sequence[Request], tapes: Sequence[Tape], size: int, carries: Any) -> list[Run]:
        self.calls += len(tapes)
        if self.calls > MOST_CALLS:
            raise Undecided(f"{MOST_CALLS:,} calls on one case do not settle its law: thresholds depend on other draws")
        # In a batch of few rows a draw of [L] or [V] numbers could be taken for one number a row; ``rowwise`` says it is not.
        fill = size > 1 and not getattr(self.subject.verifier, "rowwise", False)
        filler = [tapes[-1]] * (LEAST_BATCH - len(tapes)) if fill else []
        asked = [requests[tape.root] for tape in [*tapes, *filler]]
        carry = asked[0].carry
        if carries is not None:
            carry = carries.select(torch.tensor([tape.root for tape in [*tapes, *filler]]))
        quantiles = np.array([tape.quantiles(ATOMS) for tape in [*tapes, *filler]])
        return [Run(tuple(atoms), seen) for atoms, seen in self.run(asked, quantiles, carry)[: len(tapes)]]

    def _wanted(self, request: Request, *, takes_generator: bool) -> int:
        """How many uniforms a request is handed: as declared, or as many as are drawn from a generator, or plenty."""
        drafts = requests_batch(self.case, [request])
        declared = getattr(self.subject.verifier, "uniforms_wanted", None)
        if declared is not None:
            return int(declared(drafts)) if callable(declared) else int(declared)
        if not takes_generator:
            return 2 * drafts.paths * (drafts.length + 1) + 2
        with Interception(np.full((1, ATOMS), 0.5)) as script:
            call(self.subject, drafts, script.generator, request.carry)
        return len(script.atoms[0])

    def _takes_generator(self, request: Request) -> bool:
        """Whether a call with a generator succeeds."""
        drafts = requests_batch(self.case, [request])
        try:
            call(self.subject, drafts, torch.Generator().manual_seed(0), request.carry)
        except Undecided:
            return False
        except MalformedOutcome:
            return True
        return True


def _joined(carries: Sequence[Any]) -> Any:
    """The carries of single requests as the carry of their batch."""
    some = next((carry for carry in carries if carry is not None), None)
    return None if some is None else some.joined(carries, [1] * len(carries))
