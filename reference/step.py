"""One verification step, and the decoding loop, which is the same for every verifier.

A verifier is a program ``verify(chance, target, draft, drafts) -> Step``. It returns the model to go on with, because
greedy verifiers owe the rest of the block a modified target (MATH: a step emits ``accepted + (token,)``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.law import law
from specproof.reference.model import Model, Prefix, after


@dataclass(frozen=True)
class Step:
    """What one verification decided. Prefixes of ``target`` count from the start of the block."""

    accepted: Prefix
    token: int
    target: Model

    @property
    def tokens(self) -> Prefix:
        """The tokens that this step emits: the accepted ones and the correction or bonus."""
        return (*self.accepted, self.token)


Verify = Callable[[Chance, Model, Model, tuple[Prefix, ...]], Step]
Drafter = Callable[[Chance, Model, int, int], tuple[Prefix, ...]]


@dataclass(frozen=True)
class Progress:
    """A decoding loop between two steps: what it has emitted, and the target from there on."""

    emitted: Prefix
    target: Model


def sample(chance: Chance, model: Model, length: int) -> Prefix:
    """Draw ``length`` tokens from the model."""
    path: Prefix = ()
    for _ in range(length):
        path = (*path, chance.choose(model.probabilities(path)))
    return path


def independent_drafts(chance: Chance, draft: Model, drafts: int, length: int) -> tuple[Prefix, ...]:
    """Draw ``drafts`` independent paths of ``length`` tokens from the draft model."""
    return tuple(sample(chance, draft, length) for _ in range(drafts))


def advance(
    chance: Chance,
    verify: Verify,
    progress: Progress,
    draft: Model,
    *,
    drafts: int,
    length: int,
    drafter: Drafter = independent_drafts,
) -> Progress:
    """Run one iteration: draft, verify, emit."""
    here = after(draft, progress.emitted)
    step = verify(chance, progress.target, here, drafter(chance, here, drafts, length))
    return Progress(progress.emitted + step.tokens, after(step.target, step.tokens))


def decode(
    chance: Chance, verify: Verify, target: Model, draft: Model, *, drafts: int, length: int, tokens: int,
    drafter: Drafter = independent_drafts,
) -> Prefix:  # fmt: skip
    """Emit ``tokens`` tokens by speculative decoding (a longer last block is cut)."""
    progress = Progress((), target)
    while len(progress.emitted) < tokens:
        progress = advance(chance, verify, progress, draft, drafts=drafts, length=length, drafter=drafter)
    return progress.emitted[:tokens]


def decode_law(
    verify: Verify, target: Model, draft: Model, *, drafts: int, length: int, tokens: int,
    drafter: Drafter = independent_drafts,
) -> dict[Prefix, Fraction]:  # fmt: skip
    """The exact law of ``decode``: the same loop, its states merged after each iteration instead of enumerated apart."""
    finished: dict[Prefix, Fraction] = {}
    pending = {Progress((), target): Fraction(1)}
    while pending:
        progress = min(pending, key=lambda state: len(state.emitted))
        mass = pending.pop(progress)

        def iteration(chance: Chance, progress: Progress = progress) -> Progress:
            reached = advance(chance, verify, progress, draft, drafts=drafts, length=length, drafter=drafter)
            done = len(reached.emitted) >= tokens
            return Progress(reached.emitted[:tokens], target) if done else reached

        for reached, share in law(iteration).items():
            if len(reached.emitted) == tokens:
                finished[reached.emitted] = finished.get(reached.emitted, Fraction(0)) + mass * share
            else:
                pending[reached] = pending.get(reached, Fraction(0)) + mass * share
    return finished
