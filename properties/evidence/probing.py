"""From cells to laws: probe a subject on every draft of a case, weigh the drafts exactly, complete the text.

The subject is called in batches where it takes them and its draws can be attributed to their rows, otherwise one request
at a time. Cases over several iterations probe the step from every text that can be reached.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import torch

from specproof.properties.cases import Case
from specproof.properties.evidence.calls import (
    Emitted,
    MalformedOutcome,
    Request,
    Returned,
    Violation,
    call,
    read,
    requests_batch,
)  # fmt: skip
from specproof.properties.evidence.intercept import Interception, NotRowwise
from specproof.properties.evidence.observation import Observation
from specproof.properties.evidence.probed import Settings, explore
from specproof.properties.evidence.tapes import Run, Tape
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided
from specproof.reference.law import law
from specproof.reference.model import Prefix, after, joint, sequences
from specproof.reference.verifiers.recursive_without_replacement import distinct_drafts

TOLERANCE = 1e-6  # single precision: rows are handed over in float32
ATOMS = 256
BATCH = 2048
LEAST_BATCH = 67
SINGLE, BATCHED = Settings(spot_checks=300), Settings(spot_checks=4000, arity=7)


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
    """Runs a subject on scripted draws and counts the runs."""

    def __init__(self, subject: Subject, case: Case) -> None:
        self.subject = subject
        self.case = case
        self.calls = 0
        self.spot_checks = 0
        self.batched = "batch" in subject.capabilities

    def laws(self, requests: Sequence[Request]) -> list[tuple[int, float, Observed]]:
        """Return ``(index of the request, mass, what it returned)`` for every cell of every request."""
        if self.batched and all(request.carry is None or hasattr(request.carry, "select") for request in requests):
            try:
                return self._explore(requests, BATCHED)
            except NotRowwise:
                self.batched = False
        return self._explore(requests, SINGLE)

    def _explore(self, requests: Sequence[Request], settings: Settings) -> list[tuple[int, float, Observed]]:
        carry = _joined([request.carry for request in requests]) if settings.arity > 1 else None

        def ask(tapes: Sequence[Tape]) -> list[Run]:
            size = BATCH if settings.arity > 1 else 1
            return [
                run for i in range(0, len(tapes), size) for run in self._run(requests, tapes[i : i + size], size, carry)
            ]

        settings = replace(settings, spot_checks=max(settings.spot_checks, 4 * len(requests)))
        found = explore(ask, len(requests), settings)
        self.spot_checks += settings.spot_checks
        return found

    def _run(self, requests: Sequence[Request], tapes: Sequence[Tape], size: int, carries: Any) -> list[Run]:
        self.calls += len(tapes)
        # In a batch of few rows a draw of [L] or [V] numbers could be taken for one number a row.
        filler = [tapes[-1]] * (LEAST_BATCH - len(tapes)) if size > 1 else []
        asked = [requests[tape.root] for tape in [*tapes, *filler]]
        drafts = requests_batch(self.case, asked)
        script = Interception(np.array([tape.quantiles(ATOMS) for tape in [*tapes, *filler]]))
        generator = torch.Generator().manual_seed(0)
        given = asked[0].carry
        if carries is not None:
            given = carries.select(torch.tensor([tape.root for tape in [*tapes, *filler]]))
        carry: Any = None
        try:
            with script:
                outcome = call(self.subject, drafts, generator, given)
            returned, carry = read(drafts, outcome), outcome.carry
            if size > 1 and carry is not None and not hasattr(carry, "select"):
                raise NotRowwise("what is carried over cannot be told apart by request")
        except MalformedOutcome as error:
            returned = [Violation(str(error))] * len(asked)
        rows = list(zip(script.atoms, returned, strict=True))[: len(tapes)]
        return [Run(tuple(atoms), Observed(row, carry, b)) for b, (atoms, row) in enumerate(rows)]


def _joined(carries: Sequence[Any]) -> Any:
    """The carries of single requests as the carry of their batch."""
    some = next((carry for carry in carries if carry is not None), None)
    return None if some is None else some.joined(carries, [1] * len(carries))


def observe_probed(subject: Subject, case: Case) -> Observation:
    """Probe the subject on the case. Raises ``Undecided`` with the reason where its law cannot be read."""
    prober = Prober(subject, case)
    text: dict[Prefix, float] = {}
    steps: dict[Returned, float] = {}
    if case.iterated:
        _iterate(prober, [_State((), None, 1.0)], text, steps)
    else:
        _iterate(prober, _step(prober, text, steps), text, steps)
    return Observation(case, "probed", steps, text, TOLERANCE, prober.calls, prober.spot_checks)


def weighted_requests(
    case: Case, prefix: Prefix, carry: Any = None, *, length: int | None = None, replacement: bool = True
) -> list[tuple[Request, float]]:
    """All sets of drafts that can be drawn after a text, with their probabilities."""
    model, size = after(case.draft, prefix), case.length if length is None else length
    if replacement:
        paths = list(sequences(model, size).items())
        drawn = [
            (tuple(path for path, _ in chosen), float(np.prod([float(mass) for _, mass in chosen])))
            for chosen in product(paths, repeat=case.drafts)
        ]
    else:
        distinct = law(lambda chance: distinct_drafts(chance, model, case.drafts, size))
        drawn = [(chosen, float(mass)) for chosen, mass in distinct.items()]
    return [(Request(prefix, chosen, carry), mass) for chosen, mass in drawn]


@dataclass
class _State:
    """A text reached with some mass, and what the subject carried there (never merged with another text's)."""

    text: Prefix
    carry: Any
    mass: float


def _step(prober: Prober, text: dict[Prefix, float], steps: dict[Returned, float]) -> list[_State]:
    """Add the law of one step, and its texts completed with the target; return where the subject owes more than that."""
    owing = []
    weighted = weighted_requests(prober.case, (), replacement=prober.subject.drafting.replacement)
    for index, share, seen in prober.laws([request for request, _ in weighted]):
        mass = weighted[index][1] * share
        steps[seen.returned] = steps.get(seen.returned, 0.0) + mass
        if isinstance(seen.returned, Emitted):
            reached = _State(seen.returned.tokens[: prober.case.horizon], seen.carry, mass)
            if reached.carry is not None and len(reached.text) < prober.case.horizon:
                owing.append(reached)
            else:
                _complete(prober.case, reached, text)
    return owing


def _complete(case: Case, state: _State, text: dict[Prefix, float]) -> None:
    """Add a text completed with the target."""
    possible = joint(case.target, (), state.text) > 0
    tails = sequences(after(case.target, state.text), case.horizon - len(state.text)) if possible else {(): 1}
    for tail, share in tails.items():
        text[state.text + tail] = text.get(state.text + tail, 0.0) + state.mass * float(share)


def _iterate(
    prober: Prober, pending: list[_State], finished: dict[Prefix, float], broken: dict[Returned, float]
) -> None:
    """Add the law of the text, and the mass lost to contract violations, from the given states on.

    Over one block only what is carried over goes on, with drafts that end where the block does.
    """
    case, subject = prober.case, prober.subject
    if pending and not case.iterated and "ragged" not in subject.capabilities:
        raise Undecided("the subject carries something over and takes no shorter drafts with which to end the block")
    while pending:
        shortest = min(len(state.text) for state in pending)
        now = [state for state in pending if len(state.text) == shortest]
        pending = [state for state in pending if len(state.text) > shortest]
        length = case.length if case.iterated else case.length - shortest
        weighted = [
            (state, *pair)
            for state in now
            for pair in weighted_requests(
                case, state.text, state.carry, length=length, replacement=subject.drafting.replacement
            )
        ]
        merged: dict[Prefix, _State] = {state.text: state for state in pending if state.carry is None}
        for index, mass, seen in prober.laws([request for _, request, _ in weighted]):
            state, _, share = weighted[index]
            reached = state.mass * share * mass
            if isinstance(seen.returned, Violation):
                broken[seen.returned] = broken.get(seen.returned, 0.0) + reached
                continue
            new = _State((state.text + seen.returned.tokens)[: case.horizon], seen.carry, reached)
            if len(new.text) == case.horizon or (not case.iterated and new.carry is None):
                _complete(case, new, finished)
            elif new.carry is None and new.text in merged:
                merged[new.text].mass += reached
            else:
                pending.append(new)
                if new.carry is None:
                    merged[new.text] = new
