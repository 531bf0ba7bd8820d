"""How small a bias probed evidence finds: a total variation of 1e-5, ten times its tolerance, in under 10,000 calls."""

from typing import Any

import pytest
import torch

from specproof.fast.batch import Drafts, Outcome
from specproof.fast.randomness import coins
from specproof.fast.verifiers import standard
from specproof.fast.verifiers.chain import first_refusal, only_draft
from specproof.properties import lossless
from specproof.properties.cases import one_step_cases
from specproof.properties.evidence.probing import TOLERANCE, observe_probed
from specproof.properties.subject import subject_of_verifier
from specproof.properties.verdict import Verdict

LENIENT = 1.00002  # times .5/.8, of a token drafted with probability .8: a total variation of 1e-5
COIN = next(case for case in one_step_cases() if case.name == "coin")


class Biased:
    """``fast:standard`` with its acceptance multiplied."""

    capabilities = standard.capabilities
    factor = LENIENT

    @classmethod
    def verify(cls, drafts: Drafts, generator: Any, carry: Any = None) -> Outcome:  # noqa: ARG003
        """Verify as ``fast:standard`` does, too leniently."""
        chain = only_draft("biased", drafts)
        last, flips = coins(generator, drafts)
        return first_refusal(chain, flips[..., 0] * chain.draft < chain.target * cls.factor, last)


class BiasedRace:
    """The same rule as a race: exponentials decide who replaces what a coin has rejected too rarely."""

    factor = LENIENT

    @classmethod
    def verify(cls, drafts: Drafts, generator: Any, carry: Any = None) -> Outcome:  # noqa: ARG003
        """Verify blocks of one token."""
        token, rows = drafts.tokens[:, 0, 0], torch.arange(drafts.batch)
        target, draft = drafts.target_probs[:, 0].double(), drafts.draft_rows()[:, 0, 0].double()
        coin = torch.rand(drafts.batch, 1, generator=generator, dtype=torch.float64)[:, 0]
        noise = torch.empty(drafts.batch, drafts.vocabulary, dtype=torch.float64).exponential_(generator=generator)
        kept = coin * draft[rows, token] < target[rows, 0, token] * cls.factor
        weights = torch.where(kept[:, None], target[:, 1], (target[:, 0] - draft).clamp(min=0))
        won = (weights / noise).argmax(-1)
        tokens = torch.stack([torch.where(kept, token, won), torch.where(kept, won, -1)], dim=-1)
        return Outcome(tokens, kept.long())


@pytest.mark.parametrize("biased", [Biased, BiasedRace])
def test_a_bias_of_one_in_a_hundred_thousand_is_found(biased: type) -> None:
    """FAILED with the planted total variation to 2 %, in under 10,000 calls; the tolerance stays at 1e-6."""
    seen = observe_probed(subject_of_verifier(biased, name="biased"), COIN)
    found = lossless.text(seen)
    assert found.verdict is Verdict.FAILED
    assert found.evidence.total_variation == pytest.approx(1e-5, rel=0.02)
    assert seen.calls < 10_000
    assert TOLERANCE == 1e-6


@pytest.mark.parametrize("biased", [Biased, BiasedRace])
def test_the_same_code_without_the_bias_is_acquitted(biased: type) -> None:
    """What is convicted is the factor."""
    right = type("Right", (biased,), {"factor": 1.0})
    assert lossless.text(observe_probed(subject_of_verifier(right, name="right"), COIN)).verdict is Verdict.HELD
