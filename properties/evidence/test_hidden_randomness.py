"""Subjects that draw in every possible way: read where their randomness was handed over, never HELD where it is hidden."""

# ruff: noqa: NPY002 - subjects draw as they like

import hashlib
import os
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from specproof.fast.batch import Drafts, Outcome
from specproof.fast.from_function import from_function
from specproof.fast.randomness import draw
from specproof.properties import lossless
from specproof.properties.cases import Case, iterated_cases, one_step_cases
from specproof.properties.check import Finding
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.subject import subject_of_verifier
from specproof.properties.verdict import Undecided, Verdict

CASES = {case.name: case for case in one_step_cases()}
MODULE_RNG = np.random.default_rng(7)
MODULE_TORCH = torch.Generator().manual_seed(7)


def standard(coins: Tensor, tokens: Tensor, draft: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Standard verification with ``coins`` [B, L+1]."""
    rows, length = torch.arange(len(tokens)), tokens.shape[1]
    at = [row.gather(-1, tokens[..., None]).squeeze(-1) for row in (target[:, :-1], draft)]
    accepted = (coins[:, :length] * at[1] < at[0]).long().cumprod(-1).sum(-1)
    left = target[rows, accepted] - torch.where(
        (accepted < length)[:, None], draft[rows, accepted.clamp(max=length - 1)], 0
    )
    out = torch.cat([tokens, tokens[:, :1]], 1)
    out[rows, accepted] = draw(left.clamp(min=0), coins[:, length])
    return out, accepted


def judged(coins: Callable[..., Any], case: Case = CASES["rows by context"], *, batch: bool = True) -> Finding:
    """Judge the standard rule with these coins: ``coins(shape, inputs, generator)``."""

    def verify(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
        drawn = coins((len(tokens), tokens.shape[1] + 1), (tokens, draft, target), generator)
        return standard(torch.as_tensor(drawn), tokens, draft, target)

    return lossless.text(observe_probed(subject_of_verifier(from_function(verify, batch=batch), name="own"), case))


class Keeps:
    """Keeps a generator in an attribute, made at the first call or before."""

    def __init__(self, make: Callable[[], Any], *, late: bool) -> None:
        self.make = make
        self.generator = None if late else make()

    def __call__(self, shape: tuple[int, int], _inputs: Any, _generator: Any) -> Any:
        """Draw."""
        if self.generator is None:
            self.generator = self.make()
        return (
            torch.rand(shape, generator=self.generator)
            if isinstance(self.generator, torch.Generator)
            else self.generator.random(shape)
        )


def of_argument(shape: tuple[int, int], _inputs: Any, _generator: Any, rng: Any = MODULE_RNG) -> Any:  # noqa: D103
    return rng.random(shape)


@pytest.mark.parametrize(
    "coins",
    [
        lambda shape, _, generator: torch.rand(shape, generator=generator),
        lambda shape, *_: MODULE_RNG.random(shape),
        lambda shape, *_: torch.rand(shape, generator=MODULE_TORCH),
        lambda shape, *_: np.random.default_rng().random(shape),
        lambda shape, *_: np.random.random(shape),
        lambda shape, *_: np.random.uniform(0, 1, shape).astype(np.float32),
        of_argument,
        Keeps(np.random.default_rng, late=False),
        Keeps(np.random.default_rng, late=True),
        Keeps(lambda: np.random.RandomState(3), late=False),
        Keeps(lambda: torch.Generator().manual_seed(3), late=False),
        Keeps(lambda: torch.Generator().manual_seed(3), late=True),
    ],
    ids=[
        "handed", "numpy of the module", "torch of the module", "numpy of the system", "numpy global", "numpy global float32",
        "default argument", "numpy kept", "numpy made late", "legacy kept", "torch kept", "torch made late",
    ],
)  # fmt: skip
def test_randomness_that_was_handed_over_is_read(coins: Callable[..., Any]) -> None:
    """Total variation at most 1e-6, in batches."""
    assert judged(coins).verdict is Verdict.HELD


def test_numbers_drawn_one_by_one_are_read() -> None:
    """Python's ``random``, one request at a time."""
    drawn = judged(lambda shape, *_: [[random.random() for _ in range(shape[1])]], batch=False)
    assert drawn.verdict is Verdict.HELD
    normal = judged(lambda shape, *_: torch.special.ndtr(torch.randn(shape, dtype=torch.float64)))
    assert normal.verdict is Verdict.HELD


def test_exponentials_drawn_one_by_one_are_a_race() -> None:
    """A race run in a Python loop has the law of its weights."""

    def verify(tokens: Tensor, draft: Tensor, target: Tensor, _generator: Any) -> tuple[Tensor, Tensor]:
        token = int(tokens[0, 0])
        accepted = int(random.random() * float(draft[0, 0, token]) < float(target[0, 0, token]))
        weights = target[0, 1] if accepted else (target[0, 0] - draft[0, 0]).clamp(min=0)
        noise = [random.expovariate(1.0) for _ in range(len(weights))]
        won = max(range(len(weights)), key=lambda c: float(weights[c]) / noise[c])
        return torch.tensor([[token, won] if accepted else [won, 0]]), torch.tensor([accepted])

    subject = subject_of_verifier(from_function(verify, batch=False), name="loop")
    assert lossless.text(observe_probed(subject, CASES["reversed"])).verdict is Verdict.HELD


def hashed(*inputs: Tensor) -> int:
    """A seed out of the inputs."""
    joined = b"".join(tensor.numpy().tobytes() for tensor in inputs)
    return int.from_bytes(hashlib.sha256(joined).digest()[:6], "big")


def reseeded_global(shape: tuple[int, int], inputs: Any, _generator: Any) -> Any:  # noqa: D103
    torch.manual_seed(hashed(*inputs))
    return torch.rand(shape)


def reseeded_numpy(shape: tuple[int, int], inputs: Any, _generator: Any) -> Any:  # noqa: D103
    np.random.seed(hashed(*inputs) % 2**32)
    return np.random.random(shape)


@pytest.mark.parametrize(
    "coins",
    [
        lambda shape, inputs, _: torch.rand(shape, generator=torch.Generator().manual_seed(hashed(*inputs))),
        lambda shape, *_: torch.rand(shape, generator=torch.Generator().manual_seed(1)),
        lambda shape, inputs, generator: torch.rand(shape, generator=generator.manual_seed(hashed(*inputs))),
        lambda shape, inputs, _: np.random.default_rng(hashed(*inputs)).random(shape),
        lambda shape, _, generator: np.random.default_rng(generator.initial_seed()).random(shape),
        reseeded_global,
        reseeded_numpy,
        lambda shape, inputs, _: [[random.Random(hashed(*inputs)).random()] * shape[1]],
        lambda shape, *_: torch.full(shape, 0.5),
    ],
    ids=[
        "hash of the inputs", "constant seed", "handed reseeded", "numpy hash", "seed of the handed", "global reseeded",
        "numpy global reseeded", "Python hash", "no randomness",
    ],
)  # fmt: skip
def test_randomness_that_depends_on_the_inputs_alone_is_refuted(coins: Callable[..., Any]) -> None:
    """Given the inputs such a subject is deterministic, and its law is a point."""
    assert judged(coins, batch=False).verdict is Verdict.FAILED


@pytest.mark.parametrize(
    "coins",
    [
        lambda shape, *_: np.frombuffer(os.urandom(8 * shape[0] * shape[1]), dtype=np.uint64).reshape(shape) / 2.0**64,
        lambda shape, *_: [[random.SystemRandom().random() for _ in range(shape[1])]],
        lambda shape, *_: torch.rand(shape, generator=torch.Generator().manual_seed(time.perf_counter_ns())),
        lambda shape, *_: np.random.Generator(np.random.PCG64()).random(shape),
        lambda shape, *_: np.random.default_rng(time.perf_counter_ns()).random(shape),
    ],
    ids=["os.urandom", "SystemRandom", "clock", "numpy bit generator", "numpy clock"],
)
def test_randomness_from_elsewhere_is_undecided(coins: Callable[..., Any]) -> None:
    """Its runs do not repeat, and that is said."""
    with pytest.raises(Undecided, match=r"randomness (that )?the probe cannot see"):
        judged(coins, batch=False)


def test_a_generator_of_its_own_is_undecided() -> None:
    """A counter that nothing can see, as in a C extension."""
    state = iter(range(1, 10**9))

    def own(shape: tuple[int, int], *_: Any) -> Any:
        return [[(next(state) * 0.6180339887498949) % 1 for _ in range(shape[1])]]

    with pytest.raises(Undecided, match=r"randomness (that )?the probe cannot see"):
        judged(own, batch=False)


def test_hidden_randomness_beside_handed_randomness_is_undecided() -> None:
    """Coins as they should be, and a correction that is drawn from elsewhere."""

    def mixed(shape: tuple[int, int], _inputs: Any, generator: Any) -> Any:
        coins = torch.rand(shape, generator=generator, dtype=torch.float64)
        coins[:, -1] = int.from_bytes(os.urandom(6), "big") / 2.0**48
        return coins

    with pytest.raises(Undecided, match="randomness"):
        judged(mixed)


@pytest.mark.nightly
def test_a_seed_drawn_from_the_handed_generator_is_undecided() -> None:
    """A generator seeded by a draw is a function of it with no cells; the draw is named."""

    def derived(shape: tuple[int, int], _inputs: Any, generator: Any) -> Any:
        seed = int(torch.randint(2**40, (1,), generator=generator))
        return torch.rand(shape, generator=torch.Generator().manual_seed(seed))

    with pytest.raises(Undecided, match=r"changes of behaviour.*aten::randint"):
        judged(derived, CASES["coin"], batch=False)


def test_uniforms_are_handed_to_who_takes_no_generator() -> None:
    """A subject for uniforms alone is probed by varying them, over one block and over several."""

    class Takes:
        capabilities = frozenset({"batch", "takes_uniforms"})

        @staticmethod
        def uniforms_wanted(drafts: Drafts) -> int:
            return drafts.length + 1

        @staticmethod
        def verify(drafts: Drafts, generator: Any, carry: Any = None) -> Outcome:  # noqa: ARG004
            coins = generator[:, : drafts.length + 1]
            tokens, accepted = standard(
                coins, drafts.tokens[:, 0], drafts.draft_rows()[:, 0], drafts.target_probs[:, 0]
            )
            return Outcome(torch.where(torch.arange(tokens.shape[1]) <= accepted[:, None], tokens, -1), accepted)

    class Undeclared(Takes):
        uniforms_wanted = None

    for takes in (Takes, Undeclared):
        for case in (CASES["coin"], iterated_cases()[0]):
            assert lossless.text(observe_probed(subject_of_verifier(takes, name="takes"), case)).verdict is Verdict.HELD


def test_generators_are_put_back() -> None:
    """What a subject keeps is its own again afterwards, and goes on where it was."""
    keeps = Keeps(lambda: np.random.default_rng(5), late=False)
    kept, state = keeps.generator, keeps.generator.bit_generator.state
    before = MODULE_TORCH.get_state()
    judged(keeps)
    judged(lambda shape, *_: torch.rand(shape, generator=MODULE_TORCH))
    assert keeps.generator is kept
    assert torch.equal(MODULE_TORCH.get_state(), before) or MODULE_TORCH.initial_seed() == 7
    assert kept.bit_generator.state["bit_generator"] == state["bit_generator"]
