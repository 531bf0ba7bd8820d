"""Requests with rows that are no laws, or laws at the edge of one, and what a subject makes of them.

Every instance is verified alone and between two healthy requests, a number of times with its own randomness, and with
scripted draws at the two ends of their range (a scan that falls short shows there).
"""

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Outcome, Randomness
from specproof.properties.evidence.attributed import ATOMS
from specproof.properties.evidence.calls import MalformedOutcome, call
from specproof.properties.evidence.intercept import Interception
from specproof.properties.evidence.probed import LAST
from specproof.properties.evidence.seeding import seeded
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided

REPEATS = 64
LENGTH, VOCABULARY = 2, 4
HEALTHY_TARGET, HEALTHY_DRAFT = (0.0, 0.7, 0.2, 0.1), (0.4, 0.3, 0.2, 0.1)  # a healthy target that rules out id 0


@dataclass(frozen=True)
class Spoiled:
    """An instance: rows of one request, [V] each or as a tensor of their own, and the drafted id.

    ``healthy``: all target rows are laws, so no id that they rule out may come out. ``promised`` is false where nobody
    promises that (negative draft probabilities come out of no softmax): it is a note then. ``sure``: every draft token is
    certain under both models, so a rule that accepts by the ratio accepts all of them.
    """

    name: str
    target: tuple[float, ...] = HEALTHY_TARGET
    draft: tuple[float, ...] = HEALTHY_DRAFT
    drafted: int = 0
    healthy: bool = True
    promised: bool = True
    sure: bool = False
    lengths: int | None = None
    capability: str | None = None


NAN, INF = float("nan"), float("inf")
ULP = 2.0**-23
ONE, OTHER = (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0)
INSTANCES = (
    Spoiled("equal one-hot rows", ONE, ONE, 1, sure=True),
    Spoiled("draft probability one and a bit", ONE, (0.0, 1.0 + ULP, 0.0, 0.0), 1, sure=True),
    Spoiled("one-hot target, another draft", OTHER, ONE, 1),
    Spoiled("one-hot draft", draft=ONE, drafted=1),
    Spoiled(
        "rows that sum to one and a bit", (0.0, 0.7 * (1 + 4 * ULP), 0.2, 0.1), (0.4 * (1 - 4 * ULP), 0.3, 0.2, 0.1)
    ),
    Spoiled("NaN draft row", draft=(NAN,) * 4),
    Spoiled("all-zero draft row", draft=(0.0,) * 4),
    Spoiled("infinite draft row", draft=(INF, 0.3, 0.2, 0.1)),
    Spoiled("negative draft row", draft=(-0.4, 0.3, 0.2, 0.1), promised=False),
    Spoiled("draft probability two", draft=(2.0, 0.3, 0.2, 0.1)),
    Spoiled("drafted id -1", drafted=-1),
    Spoiled("NaN target row", (NAN,) * 4, healthy=False),
    Spoiled("all-zero target row", (0.0,) * 4, healthy=False),
    Spoiled("infinite target row", (0.0, INF, 0.2, 0.1), healthy=False),
    Spoiled("negative target row", (0.0, -0.7, 0.2, 0.1), healthy=False),
    Spoiled("NaN at one target entry", (0.0, NAN, 0.2, 0.1), healthy=False),
    Spoiled("nothing drafted, ids -1, rows of zero", lengths=0, drafted=-1, capability="ragged"),
)


@dataclass
class Reaction:
    """What a subject does: the errors it raises, the answers that break the rules, how many draft tokens it kept."""

    instance: Spoiled
    calls: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    wrong: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)


def applicable(subject: Subject) -> list[Spoiled]:
    """The instances that the subject can be handed: distinct drafts need several tokens, lengths must be taken."""
    return [
        one
        for one in INSTANCES
        if (one.capability is None or one.capability in subject.capabilities)
        and (subject.drafting.replacement or not (one.drafted > 0))
    ]


def react(subject: Subject, instance: Spoiled, seed: int) -> Reaction:
    """Verify the instance in every way."""
    reaction = Reaction(instance)
    alone = _request(subject, instance)
    among = _among_healthy(alone, subject) if "batch" in subject.capabilities else None
    with seeded(seed):
        for repeat in range(REPEATS):
            _look(subject, reaction, alone, torch.Generator().manual_seed(seed + repeat), 0)
        if among is not None:
            for repeat in range(REPEATS // 4):
                _look(subject, reaction, among, torch.Generator().manual_seed(seed + repeat), 1)
        for edge in (0.0, LAST):
            script = Interception(np.full((1, ATOMS), edge))
            with script:
                _look(subject, reaction, alone, script.generator, 0, edge=edge)
    return reaction


def _look(
    subject: Subject, reaction: Reaction, drafts: Drafts, source: Randomness, row: int, *, edge: float | None = None
) -> None:
    """One call: take note of an error, or of every row that breaks the rules."""
    reaction.calls += 1
    try:
        outcome = call(subject, drafts, source)
    except Undecided as error:
        reaction.errors[str(error)] = reaction.errors.get(str(error), 0) + 1
        return
    except MalformedOutcome as error:
        reaction.wrong.append(str(error))
        return
    instance = reaction.instance
    for b in range(drafts.batch):
        spoiled = b == row
        if spoiled and int(outcome.accepted[b]) == 0 and bool((outcome.tokens[b] == -1).all()):
            reaction.refused += 1  # marked as not verified
            continue
        outside, ruled_out = _broken(drafts, outcome, b, healthy=instance.healthy or not spoiled)
        where = "" if spoiled else "a healthy neighbour: "
        if outside:
            reaction.wrong.append(where + outside)
        if ruled_out:
            # A draw of exactly zero lets an impossible token pass in single precision: reported as a note (``support``).
            excused = edge == 0.0 or not (instance.promised or not spoiled)
            (reaction.noted if excused else reaction.wrong).append(where + ruled_out)
    if edge is None:  # at the last number below one a draft of probability 1 + 2^-23 is refused, rightly
        reaction.accepted.append(int(outcome.accepted[row]))


def _broken(drafts: Drafts, outcome: Outcome, b: int, *, healthy: bool) -> tuple[str, str]:
    """Why a row is no answer, or emits what its healthy target rules out."""
    accepted, limit = int(outcome.accepted[b]), int(drafts.each_length()[b])
    if not 0 <= accepted <= limit:
        return f"{accepted} tokens accepted of {limit}", ""
    emitted = outcome.tokens[b, : accepted + 1].tolist()
    if any(not 0 <= token < drafts.vocabulary for token in emitted):
        return f"emitted {emitted}, with an id outside 0..{drafts.vocabulary - 1}", ""
    possible = drafts.target_probs[b, 0]
    if healthy and any(not float(possible[i, token]) > 0 for i, token in enumerate(emitted)):
        return "", f"emitted {emitted}, with an id of target probability zero"
    return "", ""


def _request(subject: Subject, instance: Spoiled) -> Drafts:
    """The instance as a batch of one; all drafts of the request are as spoiled as the first."""
    drafts = subject.drafting.drafts
    vocabulary = max(VOCABULARY, drafts + 1)
    target = _wide(instance.target, vocabulary).expand(1, drafts, LENGTH + 1, -1).contiguous()
    draft = _wide(instance.draft, vocabulary).expand(1, drafts, LENGTH, -1).contiguous()
    tokens = torch.full((1, drafts, LENGTH), instance.drafted)
    if not subject.drafting.replacement:
        tokens[0, 1:, 0] = torch.arange(1, drafts)
    lengths = None if instance.lengths is None else torch.tensor([instance.lengths])
    return Drafts(tokens, draft, target, lengths)


def _wide(row: tuple[float, ...], vocabulary: int) -> Tensor:
    """A row over the vocabulary: what is added has probability zero, and is as spoiled as a row that is so throughout."""
    fill = row[-1] if len(set(map(str, row))) == 1 else 0.0
    return torch.tensor([*row, *[fill] * (vocabulary - len(row))])


def _among_healthy(spoiled: Drafts, subject: Subject) -> Drafts:
    """The request between two healthy ones."""
    healthy = replace(_request(subject, Spoiled("healthy")), lengths=None)
    parts = (healthy, spoiled, healthy)
    lengths = None if spoiled.lengths is None else torch.cat([part.each_length() for part in parts])
    return Drafts(
        torch.cat([part.tokens for part in parts]),
        torch.cat([part.draft_rows() for part in parts]),
        torch.cat([part.target_probs for part in parts]),
        lengths,
    )
