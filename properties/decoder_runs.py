"""Running a decoder on a case: once with given randomness, on every answer to its draws (probed), or often (sampled).

Models record what they are asked in a run, so that drafts are seen also where the decoder does not
report its rounds: what is scored by the target behind the text that the draft model was first asked with.

LIMITS. Rows are only seen of decoders that report rounds. Inferred rounds need the draft model asked before the target.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from specproof.fast.decoder import Decoded, Decoder
from specproof.properties.check import Evidence
from specproof.properties.decoder_cases import DecoderCase, PlainRow, RecordedModel
from specproof.properties.evidence.intercept import Interception
from specproof.properties.evidence.probed import Settings, explore
from specproof.properties.evidence.race import gathered
from specproof.properties.evidence.seeding import seeded
from specproof.properties.evidence.sources import answered, mark_all
from specproof.properties.evidence.tapes import Run, Tape
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided
from specproof.reference.model import Prefix

ATOMS = 256
SPOT_CHECKS = 100


@dataclass(frozen=True)
class SeenRound:
    """A round as the harness saw it. Rows are None where the decoder does not report them; they do not tell rounds apart."""

    text: Prefix
    drafts: Prefix
    verified: int
    accepted: int | None
    draft_rows: Tensor | None = field(compare=False)  # [len(drafts), V]
    target_rows: Tensor | None = field(compare=False)  # [verified + 1, V]


@dataclass(frozen=True)
class Ran:
    """What one run wrote, how, and which clause of the contract it broke."""

    written: Prefix
    rounds: tuple[SeenRound, ...]
    violation: str | None = None


@dataclass(frozen=True)
class Runs:
    """The law of the runs of a case (probed), or the runs that were drawn, each with its share."""

    case: DecoderCase
    kind: str
    law: list[tuple[float, Ran]]
    calls: int
    spot_checks: int = 0
    planned: int | None = None

    @property
    def text(self) -> dict[Prefix, float]:
        """Law of the text; broken answers are missing."""
        found: dict[Prefix, float] = {}
        for mass, ran in self.law:
            if ran.violation is None:
                found[ran.written] = found.get(ran.written, 0.0) + mass
        return found

    def evidence(self, **numbers: Any) -> Evidence:
        """What a verdict on these runs rests on."""
        if self.kind == "probed":
            return Evidence(self.kind, calls=self.calls, spot_checks=self.spot_checks, **numbers)
        return Evidence(self.kind, draws=self.calls, planned_draws=self.planned, **numbers)


def row_of(subject: Subject) -> PlainRow:
    """The plain path that speculation is compared with: the decoder's own, or the usual one."""
    own = getattr(subject.decoder, "row", None)
    return own if own is not None else lambda sampling, text, logits: sampling.row(text, logits)


@dataclass(frozen=True)
class Models:
    """Target and draft model of a case, and the calls of the present run in order."""

    target: RecordedModel
    draft: RecordedModel
    calls: list[tuple[RecordedModel, Prefix]]

    @classmethod
    def of(cls, case: DecoderCase) -> "Models":
        """Models that nobody has asked yet."""
        calls: list[tuple[RecordedModel, Prefix]] = []
        target, draft = (RecordedModel(table, case.prefix, calls) for table in (case.case.target, case.case.draft))
        return cls(target, draft, calls)


def run(decoder: Decoder, case: DecoderCase, models: Models, generator: torch.Generator) -> Ran:
    """Decode once. Raises ``Undecided`` where the decoder raises."""
    models.calls.clear()
    prefix = torch.tensor(case.prefix)
    try:
        answer = decoder.decode(models.target, models.draft, prefix, case.tokens, generator, case.sampling)
    except Undecided:
        raise
    except Exception as error:
        raise Undecided(f"the decoder raised {type(error).__name__}: {error}") from error
    decoded = answer if isinstance(answer, Decoded) else Decoded(answer)
    if tuple(prefix.tolist()) != case.prefix:
        return Ran((), (), "the call changed its prefix")
    tokens = decoded.tokens.tolist() if isinstance(decoded.tokens, Tensor) else list(decoded.tokens)
    if not all(isinstance(token, int) for token in tokens):
        return Ran((), (), f"new tokens must be one row of integers, got {tokens}")
    written = case.cut(tuple(tokens))
    if any(not 0 <= token < case.case.vocabulary for token in written):
        return Ran(written, (), "an id outside the vocabulary")
    if not case.complete(written):
        return Ran(written, (), "fewer tokens than asked for, and the last is no stop")
    rounds = _reported(decoded) if decoded.rounds else _inferred(models)
    return Ran(written, rounds, _broken(case, written, rounds))


def _reported(decoded: Decoded) -> tuple[SeenRound, ...]:
    return tuple(
        SeenRound(
            tuple(map(int, given.text)), tuple(map(int, given.drafts)), given.positions, int(given.accepted),
            given.draft_probs.detach().clone(), given.target_probs.detach().clone(),
        )
        for given in decoded.rounds
    )  # fmt: skip


def _inferred(models: Models) -> tuple[SeenRound, ...]:
    """Rounds from the order of calls: drafts are what the target scores behind the draft model's first question."""
    rounds: list[SeenRound] = []
    start: Prefix | None = None
    for model, text in models.calls:
        if model is not models.target:
            start = text if start is None else start
        else:
            if start is not None and text[: len(start)] == start:
                drafts = text[len(start) :]
                rounds.append(SeenRound(start, drafts, len(drafts), None, None, None))
            start = None
    return tuple(rounds)


def _broken(case: DecoderCase, written: Prefix, rounds: Sequence[SeenRound]) -> str | None:
    """Which clause about rounds is broken: they must tell the text that was written."""
    whole = (*case.prefix, *written)
    for seen in rounds:
        if seen.accepted is None:
            continue
        assert seen.draft_rows is not None
        assert seen.target_rows is not None
        if seen.text != whole[: len(seen.text)]:
            return f"a round starts from {seen.text}, which was not written"
        if not 0 <= seen.accepted <= seen.verified <= len(seen.drafts):
            return f"accepted {seen.accepted} of {seen.verified} verified of {len(seen.drafts)} drafts"
        if len(seen.draft_rows) != len(seen.drafts) or len(seen.target_rows) not in (seen.verified, seen.verified + 1):
            return "a round needs a draft row for each draft and a target row for each verified one and the bonus"
        kept = case.cut((*seen.text, *seen.drafts[: seen.accepted])[len(case.prefix) :])
        if kept != written[: len(kept)]:
            return "accepted drafts are not in the text"
    return None


def probe(subject: Subject, case: DecoderCase) -> Runs:
    """The law of the runs, to rounding. Raises ``Undecided`` where it cannot be read."""
    decoder = subject.decoder
    assert decoder is not None
    count, models = 0, Models.of(case)
    # Unscripted once, so that it can make what it keeps; then the script answers for that too.
    with seeded(0):
        run(decoder, case, models, torch.Generator().manual_seed(0))
        with answered(decoder) as kept:

            def ask(tapes: Sequence[Tape]) -> list[Run]:
                nonlocal count
                count += len(tapes)
                return [_scripted(decoder, case, models, tape, kept) for tape in tapes]

            cells = explore(ask, 1, Settings(spot_checks=SPOT_CHECKS, idle_choices=True))
    return Runs(case, "probed", [(mass, ran) for _, mass, ran in cells], count, SPOT_CHECKS)


def _scripted(decoder: Decoder, case: DecoderCase, models: Models, tape: Tape, kept: list[torch.Generator]) -> Run:
    script = Interception(np.array([tape.quantiles(ATOMS)]))
    mark_all(kept)
    with script:
        ran = run(decoder, case, models, script.generator)
    return Run(tuple(gathered(script.atoms[0], case.case.vocabulary)), ran)


def sample(
    subject: Subject, case: DecoderCase, draws: int, seed: int, deadline: float = math.inf
) -> Iterator[list[Ran]]:
    """Draw runs with the decoder's own randomness, in chunks; global generators are seeded and put back."""
    decoder: Any = subject.decoder
    generator = torch.Generator().manual_seed(seed)
    left, models = draws, Models.of(case)
    with seeded(seed + 1):
        while left and time.monotonic() <= deadline:
            size = min(left, max(64, draws - left))
            left -= size
            yield [run(decoder, case, models, generator) for _ in range(size)]


def drawn(case: DecoderCase, rans: Sequence[Ran], planned: int, kind: str = "sampled") -> Runs:
    """Drawn runs, each with the same share."""
    return Runs(case, kind, [(1 / len(rans), ran) for ran in rans], len(rans), planned=planned)
