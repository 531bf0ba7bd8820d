"""Faults in the use of randomness: shared, repeated, ignored, or taken from where it should not come."""

from collections.abc import Sequence
from typing import Any

import torch

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import draw
from specproof.fast.verifiers import standard
from specproof.properties.mutants.faulty import Faulty, fault
from specproof.properties.mutants.mutant import Mutant

INDEPENDENT = "independent requests"
GENERATOR_ONLY = frozenset({"batch", "ragged", "one_hot_draft"})


def _seeds(source: Randomness) -> Sequence[int] | None:
    return None if source is None or isinstance(source, torch.Generator | torch.Tensor) else source


def like_a_drafter(seed: int) -> torch.Generator:
    """A generator straight from a seed, as a drafter would make it; bits that torch does not read are folded in."""
    return torch.Generator().manual_seed(seed ^ (seed >> 32) * 0x9E3779B1)


def own_noise(seed: int, count: int) -> torch.Tensor:
    """Uniforms as a drafter would draw them from the seed."""
    return torch.rand(count, dtype=torch.float64, generator=like_a_drafter(seed))


def seeded_like_the_drafter(drafts: Drafts, source: Randomness) -> Randomness:
    """The generator of the coins starts where the drafter's started."""
    seeds = _seeds(source)
    return source if seeds is None else torch.stack([own_noise(seed, drafts.length + 1) for seed in seeds])


class SharedNoise:
    """The correction is the winner of the race that drew the draft: one vector of exponentials for both."""

    capabilities = frozenset({"batch", "takes_uniforms"})
    drafting = Drafting()
    rule = "standard"

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG002
        """Flip coins of its own, correct by the noise that a drafter would have drawn from the seed."""
        outcome = standard.verify(drafts, generator)
        seeds = _seeds(generator)
        if seeds is None:
            return outcome
        noise = torch.stack(
            [torch.empty(1, drafts.vocabulary).exponential_(generator=like_a_drafter(s)) for s in seeds]
        )[:, 0]  # [B, V]
        rows = torch.arange(drafts.batch)
        position = outcome.accepted.clamp(max=drafts.length - 1)
        left = (drafts.target_probs[rows, 0, position] - drafts.draft_rows()[rows, 0, position]).clamp(min=0)
        refused = outcome.accepted < drafts.length
        tokens = outcome.tokens.clone()
        tokens[refused, outcome.accepted[refused]] = (left / noise)[refused].argmax(-1)
        return Outcome(tokens, outcome.accepted)


def one_coin_for_all(drafts: Drafts, source: Randomness) -> Randomness:
    """One row of uniforms decides every request of the batch."""
    generator = source if isinstance(source, torch.Generator) else None
    row = torch.rand(drafts.length + 1, dtype=torch.float64, generator=generator)
    return row.expand(drafts.batch, -1).contiguous()


def engine_seed(drafts: Drafts, _source: Randomness) -> Randomness:
    """Numbers depend on the engine's seed and the row alone: a later request in that row gets them again."""
    return torch.rand(
        drafts.batch, drafts.length + 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1234)
    )


def counter_not_advanced(drafts: Drafts, source: Randomness) -> Randomness:
    """Every call starts at the generator's first number."""
    start = source.initial_seed() if isinstance(source, torch.Generator) else 0
    return torch.rand(
        drafts.batch, drafts.length + 1, dtype=torch.float64, generator=torch.Generator().manual_seed(start)
    )


def seed_of_the_slot(_drafts: Drafts, source: Randomness) -> Randomness:
    """Seeds looked up at half the index: two requests inherit one."""
    seeds = _seeds(source)
    return source if seeds is None else [seeds[b // 2] for b in range(len(seeds))]


def seed_and_batch(drafts: Drafts, source: Randomness) -> Randomness:
    """A request's numbers depend on how many requests run beside it."""
    seeds = _seeds(source)
    return source if seeds is None else [seed + 7919 * drafts.batch for seed in seeds]


def global_numbers(_drafts: Drafts, _source: Randomness) -> Randomness:
    """Seeds are taken and the global generator is used."""
    return None


class OfThisRank:
    """Coins of a generator that every rank keeps for itself."""

    def __init__(self) -> None:
        self._own = torch.Generator().manual_seed(5)

    def __call__(self, _drafts: Drafts, _source: Randomness) -> Randomness:
        """Hand over the rank's own generator."""
        return self._own


def neighbouring_seeds(_drafts: Drafts, source: Randomness) -> Randomness:
    """Seeds lose their lowest bit."""
    seeds = _seeds(source)
    return source if seeds is None else [seed // 2 for seed in seeds]


def narrow_seeds(_drafts: Drafts, source: Randomness) -> Randomness:
    """Seeds lose all bits above the thirty-second."""
    seeds = _seeds(source)
    return source if seeds is None else [seed % 2**32 for seed in seeds]


def fails_on_shared_seeds(drafts: Drafts, source: Randomness) -> Randomness:
    """Of two requests with one seed the second gets coins of zero."""
    seeds = _seeds(source)
    if seeds is None:
        return source
    noise = torch.stack([own_noise(seed, drafts.length + 1) for seed in seeds])
    again = torch.tensor([seed in seeds[:b] for b, seed in enumerate(seeds)])
    return torch.where(again[:, None], 0.0, noise)


def coin_below_or_equal(dtype: torch.dtype) -> type:
    """A verifier that accepts while coin <= ratio with coins of few bits: zero, which they often are, accepts anything."""

    class BelowOrEqual:
        capabilities = GENERATOR_ONLY - {"ragged", "one_hot_draft"}
        drafting = Drafting()
        rule = "standard"

        def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG002
            """Verify one draft a request."""
            assert generator is None or isinstance(generator, torch.Generator)
            token = drafts.tokens[:, 0, :, None]
            target = drafts.target_probs[:, 0, :-1].gather(-1, token).squeeze(-1).double()
            draft = drafts.draft_rows()[:, 0].gather(-1, token).squeeze(-1).double()
            coin = torch.rand(target.shape, dtype=dtype, generator=generator).double()
            accepted = (coin <= target / draft).long().cumprod(-1).sum(-1)
            last = torch.rand(drafts.batch, dtype=torch.float64, generator=generator)
            rows, position = torch.arange(drafts.batch), accepted.clamp(max=drafts.length - 1)
            left = (
                (drafts.target_probs[rows, 0, position] - drafts.draft_rows()[rows, 0, position]).double().clamp(min=0)
            )
            whole = (accepted == drafts.length) | (left.sum(-1) == 0)
            weights = torch.where(whole[:, None], drafts.target_probs[rows, 0, accepted].double(), left)
            return Outcome.of(drafts, torch.zeros_like(rows), accepted, draw(weights, last))

    return BelowOrEqual


MUTANTS: dict[str, Mutant] = {
    "shared_noise": Mutant(
        "draft and correction use the same exponentials", INDEPENDENT, make=SharedNoise, property="randomness",
        fault_id=("E01", "E02", "E03"), evidence="sampled",
    ),
    "seeded_like_the_drafter": fault(
        "the coins start at the drafter's seed", INDEPENDENT, "randomness", ("E05",), "sampled",
        draws=seeded_like_the_drafter,
    ),
    "one_coin_for_all": fault(
        "one row of uniforms for the whole batch", INDEPENDENT, "randomness", ("E07",), "sampled",
        draws=one_coin_for_all, capabilities=GENERATOR_ONLY,
    ),
    "engine_seed": fault(
        "numbers from the engine's seed and the row: serial requests get the same", INDEPENDENT, "randomness",
        ("E08",), "sampled", draws=engine_seed, capabilities=GENERATOR_ONLY,
    ),
    "counter_not_advanced": fault(
        "consecutive steps start at the same number", INDEPENDENT, "randomness", (), "sampled",
        draws=counter_not_advanced, capabilities=GENERATOR_ONLY,
    ),
    "seed_of_the_slot": fault(
        "seeds read with the wrong index", INDEPENDENT, "batching", ("E09",), "driven", draws=seed_of_the_slot
    ),
    "seed_and_batch": fault(
        "a request's numbers depend on its batch", INDEPENDENT, "batching", ("E13",), "driven", draws=seed_and_batch
    ),
    "coins_of_the_rank": Mutant(
        "every rank flips coins of its own", INDEPENDENT, make=lambda: Faulty(draws=OfThisRank()),
        property="randomness", fault_id=("E11",), evidence="driven",
    ),
    "global_numbers": fault(
        "seeds are ignored, the global generator is used", INDEPENDENT, "randomness", ("E12",), "driven",
        draws=global_numbers,
    ),
    "neighbouring_seeds": fault(
        "neighbouring seeds give the same numbers", INDEPENDENT, "randomness", (), "sampled", draws=neighbouring_seeds
    ),
    "narrow_seeds": fault(
        "seeds are cut to 32 bits", INDEPENDENT, "randomness", (), "sampled", draws=narrow_seeds
    ),
    "fails_on_shared_seeds": fault(
        "two requests with one seed: the second always keeps its drafts", INDEPENDENT, "batching", (), "driven",
        draws=fails_on_shared_seeds,
    ),
    "zero_coin_of_eleven_bits": Mutant(
        "coin <= ratio with uniforms in half precision", "support", make=coin_below_or_equal(torch.float16),
        property="support", fault_id=("C10",), evidence="probed",
    ),
    "zero_coin_of_eight_bits": Mutant(
        "uniforms of few bits are exactly zero too often", "support", make=coin_below_or_equal(torch.bfloat16),
        property="support", fault_id=("C11",), evidence="probed",
    ),
}  # fmt: skip
