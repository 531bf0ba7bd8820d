"""Exponential races: read exactly, whenever and however often they are drawn; what is no race stays undecided."""

from typing import Any

import pytest
import torch
from torch import Tensor

from specproof.fast.from_function import from_function
from specproof.properties.cases import Case, iterated_cases, one_step_cases
from specproof.properties.evidence.probing import observe_probed
from specproof.properties.subject import subject_of_verifier
from specproof.properties.verdict import Undecided
from specproof.reference.law import total_variation

CASES = [
    case for case in one_step_cases() if case.name in ("reversed", "impossible tokens", "context V3 L2", "zeros V4 L2")
]


def chain(tokens: Tensor, draft: Tensor, target: Tensor, coins: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """The standard rule; corrections and bonus win a race against ``noise`` [B, V] or [B, L+1, V]."""
    rows = torch.arange(len(tokens))
    length = tokens.shape[1]
    at = [row.gather(-1, tokens[..., None]).squeeze(-1) for row in (target[:, :-1], draft)]
    accepted = (coins * at[1] < at[0]).long().cumprod(-1).sum(-1)
    inside = accepted < length
    left = target[rows, accepted] - torch.where(inside[:, None], draft[rows, accepted.clamp(max=length - 1)], 0)
    won = (left.clamp(min=0) / (noise if noise.dim() == 2 else noise[rows, accepted])).argmax(-1)
    out = torch.cat([tokens, tokens[:, :1]], 1)
    out[rows, accepted] = won
    return out, accepted


def noise_last(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
    """Coins first, then one exponential a token."""
    coins = torch.rand(tokens.shape, generator=generator)
    noise = torch.empty(len(tokens), target.shape[-1]).exponential_(generator=generator)
    return chain(tokens, draft, target, coins, noise)


def noise_first(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
    """One vector of noise, drawn before it is known which position it will serve (as engines do)."""
    noise = torch.empty(len(tokens), target.shape[-1]).exponential_(generator=generator)
    return chain(tokens, draft, target, torch.rand(tokens.shape, generator=generator), noise)


def noise_everywhere(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
    """A race for every position, drawn at once."""
    noise = torch.empty(len(tokens), tokens.shape[1] + 1, target.shape[-1]).exponential_(generator=generator)
    return chain(tokens, draft, target, torch.rand(tokens.shape, generator=generator), noise)


def gumbel(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
    """A race in Gumbel's form: ``argmax(log weight - log(-log u))`` is a race against ``-log u``."""
    coins = torch.rand(tokens.shape, generator=generator)
    noise = -torch.rand(len(tokens), target.shape[-1], generator=generator).log()
    return chain(tokens, draft, target, coins, noise)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("function", [noise_last, noise_first, noise_everywhere, gumbel])
def test_race_has_the_law_of_its_weights(function: Any, case: Case) -> None:
    """Probed total variation at most 1e-6."""
    seen = observe_probed(subject_of_verifier(from_function(function), name="race"), case)
    assert total_variation(seen.text, case.target_law) <= 1e-6


@pytest.mark.parametrize("function", [noise_first, gumbel])
def test_race_is_read_one_request_at_a_time(function: Any) -> None:
    """Without batches too."""
    seen = observe_probed(subject_of_verifier(from_function(function, batch=False), name="race"), CASES[0])
    assert total_variation(seen.text, CASES[0].target_law) <= 1e-6


def test_race_over_iterations() -> None:
    """Races follow the text."""
    case = next(case for case in iterated_cases() if case.name == "iterations V3 L1")
    seen = observe_probed(subject_of_verifier(from_function(noise_first), name="race"), case)
    assert total_variation(seen.text, case.target_law) <= 1e-6


def test_bias_of_a_race_is_measured() -> None:
    """A race over the target instead of the residual: the total variation is that of resampling, to 1e-6."""

    def wrong(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
        out, accepted = noise_last(tokens, draft, target, generator)
        noise = torch.empty(len(tokens), target.shape[-1]).exponential_(generator=generator)
        rows = torch.arange(len(tokens))
        out[rows, accepted] = (target[rows, accepted] / noise).argmax(-1)
        return out, accepted

    case = next(case for case in one_step_cases() if case.name == "reversed")
    seen = observe_probed(subject_of_verifier(from_function(wrong), name="race"), case)
    assert float(total_variation(seen.text, case.target_law)) == pytest.approx(0.15, abs=1e-6)


def test_noise_that_is_no_race_is_undecided() -> None:
    """The sum of two exponentials decides here: neither cells nor a race."""

    def summed(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
        noise = torch.empty(len(tokens), 2).exponential_(generator=generator)
        coins = (-(noise.sum(-1, keepdim=True))).exp().expand(tokens.shape)
        return chain(tokens, draft, target, coins, torch.ones(len(tokens), target.shape[-1]))

    with pytest.raises(Undecided):
        observe_probed(subject_of_verifier(from_function(summed), name="sum"), CASES[0])
