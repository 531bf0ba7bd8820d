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
from specproof.properties.evidence.probed import Run, Settings, Tape, explore
from specproof.properties.subject import Subject
from specproof.reference.model import Prefix, after, joint, sequences

TOLERANCE = 1e-6  # single precision: rows are handed over in float32
ATOMS = 256
BATCH = 2048
LEAST_BATCH = 67
SINGLE, BATCHED = Settings(spot_checks=300), Settings(spot_checks=4000, arity=7)


@dataclass(frozen=True)
class Observed:
    """A returned row with what the subject carried; runs are compared by the row alone."""

    returned: Returned
    carry: Any = field(compare=False, default=None)


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
        if self.batched and all(request.carry is None for request in requests):
            try:
                return self._explore(requests, BATCHED)
            except NotRowwise:
                self.batched = False
        return self._explore(requests, SINGLE)

    def _explore(self, requests: Sequence[Request], settings: Settings) -> list[tuple[int, float, Observed]]:
        def ask(tapes: Sequence[Tape]) -> list[Run]:
            size = BATCH if settings.arity > 1 else 1
            return [run for i in range(0, len(tapes), size) for run in self._run(requests, tapes[i : i + size], size)]

        settings = replace(settings, spot_checks=max(settings.spot_checks, 4 * len(requests)))
        found = explore(ask, len(requests), settings)
        self.spot_checks += settings.spot_checks
        return found

    def _run(self, requests: Sequence[Request], tapes: Sequence[Tape], size: int) -> list[Run]:
        self.calls += len(tapes)
        # In a batch of few rows a draw of [L] or [V] numbers could be taken for one number a row.
        filler = [tapes[-1]] * (LEAST_BATCH - len(tapes)) if size > 1 else []
        asked = [requests[tape.root] for tape in [*tapes, *filler]]
        drafts = requests_batch(self.case, asked)
        script = Interception(np.array([tape.quantiles(ATOMS) for tape in [*tapes, *filler]]))
        generator = torch.Generator().manual_seed(0)
        carry: Any = None
        try:
            with script:
                outcome = call(self.subject, drafts, generator, asked[0].carry)
            returned, carry = read(drafts, outcome), outcome.carry
        except MalformedOutcome as error:
            returned = [Violation(str(error))] * len(asked)
        rows = list(zip(script.atoms, returned, strict=True))[: len(tapes)]
        return [Run(tuple(atoms), Observed(row, carry)) for atoms, row in rows]


def observe_probed(subject: Subject, case: Case) -> Observation:
    """Probe the subject on the case. Raises ``Undecided`` with the reason where its law cannot be read."""
    prober = Prober(subject, case)
    steps: dict[Returned, float]
    if case.iterated:
        text, steps = _iterate(prober)
    else:
        steps = _step(prober)
        text = _complete(case, steps)
    return Observation(case, "probed", steps, text, TOLERANCE, prober.calls, prober.spot_checks)


def weighted_requests(case: Case, prefix: Prefix, carry: Any = None) -> list[tuple[Request, float]]:
    """All sets of drafts that can be drawn after a text, with their probabilities."""
    paths = list(sequences(after(case.draft, prefix), case.length).items())
    return [
        (Request(prefix, tuple(path for path, _ in chosen), carry), float(np.prod([float(mass) for _, mass in chosen])))
        for chosen in product(paths, repeat=case.drafts)
    ]


def _step(prober: Prober) -> dict[Returned, float]:
    weighted = weighted_requests(prober.case, ())
    law: dict[Returned, float] = {}
    for index, mass, seen in prober.laws([request for request, _ in weighted]):
        law[seen.returned] = law.get(seen.returned, 0.0) + weighted[index][1] * mass
    return law


def _complete(case: Case, steps: dict[Returned, float]) -> dict[Prefix, float]:
    """Complete each emitted text with the target. Stateful subjects owe more than this: see the iterated cases."""
    text: dict[Prefix, float] = {}
    for returned, mass in steps.items():
        if isinstance(returned, Emitted):
            head = returned.tokens[: case.horizon]
            possible = joint(case.target, (), head) > 0
            tails = sequences(after(case.target, head), case.horizon - len(head)) if possible else {(): 1}
            for tail, share in tails.items():
                text[head + tail] = text.get(head + tail, 0.0) + mass * float(share)
    return text


@dataclass
class _State:
    """A text reached with some mass, and what the subject carried there (never merged with another text's)."""

    text: Prefix
    carry: Any
    mass: float


def _iterate(prober: Prober) -> tuple[dict[Prefix, float], dict[Returned, float]]:
    """The law of the text, and the mass lost to contract violations."""
    case = prober.case
    finished: dict[Prefix, float] = {}
    broken: dict[Returned, float] = {}
    pending: list[_State] = [_State((), None, 1.0)]
    while pending:
        shortest = min(len(state.text) for state in pending)
        now = [state for state in pending if len(state.text) == shortest]
        pending = [state for state in pending if len(state.text) > shortest]
        weighted = [(state, *pair) for state in now for pair in weighted_requests(case, state.text, state.carry)]
        merged: dict[Prefix, _State] = {state.text: state for state in pending if state.carry is None}
        for index, mass, seen in prober.laws([request for _, request, _ in weighted]):
            state, _, share = weighted[index]
            reached = state.mass * share * mass
            if isinstance(seen.returned, Violation):
                broken[seen.returned] = broken.get(seen.returned, 0.0) + reached
                continue
            text = (state.text + seen.returned.tokens)[: case.horizon]
            if len(text) == case.horizon:
                finished[text] = finished.get(text, 0.0) + reached
            elif seen.carry is None and text in merged:
                merged[text].mass += reached
            else:
                pending.append(_State(text, seen.carry, reached))
                if seen.carry is None:
                    merged[text] = pending[-1]
    return finished, broken
