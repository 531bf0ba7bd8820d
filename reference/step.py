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


def verification_law(
    verify: Verify, target: Model, draft: Model, *, drafts: int, length: int, drafter: Drafter = independent_drafts
) -> dict[Step, Fraction]:
    """The exact law of one step: every set of drafts once, and every run of the verifier on it."""

    def verified(paths: tuple[Prefix, ...]) -> dict[Step, Fraction]:
        return law(lambda chance: verify(chance, target, draft, paths))

    steps: dict[Step, Fraction] = {}
    for paths, mass in law(lambda chance: drafter(chance, draft, drafts, length)).items():
        for step, share in verified(paths).items():
            steps[step] = steps.get(step, Fraction(0)) + mass * share
    return steps


def emitted(progress: Progress, step: Step) -> Progress:
    """Where the loop stands after a step."""
    return Progress(progress.emitted + step.tokens, after(step.target, step.tokens))


def decode(
    chance: Chance, verify: Verify, target: Model, draft: Model, *, drafts: int, length: int, tokens: int,
    drafter: Drafter = independent_drafts,
) -> Prefix:  # fmt: skip
    """Emit ``tokens`` tokens by speculative decoding (a longer last block is cut)."""
    progress = Progress((), target)
    while len(progress.emitted) < tokens:
        here = after(draft, progress.emitted)
        progress = emitted(progress, verify(chance, progress.target, here, drafter(chance, here, drafts, length)))
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
        here = after(draft, progress.emitted)
        steps = verification_law(verify, progress.target, here, drafts=drafts, length=length, drafter=drafter)
        for step, share in steps.items():
            reached = emitted(progress, step)
            text = reached.emitted[:tokens]
            if len(text) == tokens:
                finished[text] = finished.get(text, Fraction(0)) + mass * share
            else:
                pending[reached] = pending.get(reached, Fraction(0)) + mass * share
    return finished
