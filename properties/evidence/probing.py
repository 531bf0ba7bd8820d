"""From cells to laws: probe a subject on every draft of a case, weigh the drafts exactly, complete the text.

Cases over several iterations probe the step from every text that can be reached.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from specproof.properties.cases import Case
from specproof.properties.evidence.calls import Emitted, Request, Returned, Violation
from specproof.properties.evidence.observation import Observation
from specproof.properties.evidence.prober import Prober
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided
from specproof.reference.law import law
from specproof.reference.model import Prefix, after, joint, sequences
from specproof.reference.verifiers.recursive_without_replacement import distinct_drafts

TOLERANCE = 1e-6  # single precision: rows are handed over in float32


def observe_probed(subject: Subject, case: Case, *, spot_checks: int | None = None) -> Observation:
    """Probe the subject on the case. Raises ``Undecided`` with the reason where its law cannot be read.

    ``spot_checks`` in place of the usual number is for searches that look again at what they find.
    """
    text: dict[Prefix, float] = {}
    steps: dict[Returned, float] = {}
    (first, _), *_ = weighted_requests(case, (), replacement=subject.drafting.replacement)
    with Prober(subject, case, spot_checks).ready(first) as prober:
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
