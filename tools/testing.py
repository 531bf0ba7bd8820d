"""Certificates that several test files look at, made once for each process."""

from functools import cache
from typing import Any

import torch
from torch import Tensor

from specproof.certificate import Certificate
from specproof.certification import certify
from specproof.subjects import resolve


@cache
def certificate_of(name: str, evidence: Any = "quick", **options: Any) -> Certificate:
    """The certificate of a named subject."""
    return certify(resolve(name, options), evidence=evidence)


def plain(draft_tokens: Tensor, _draft_probs: Tensor, target_probs: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
    """A verifier that rejects everything and draws from the target: right and wasteful."""
    return _only(torch.multinomial(target_probs[:, 0], 1, generator=generator), draft_tokens)


def guess(draft_tokens: Tensor, _draft_probs: Tensor, target_probs: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
    """A verifier that looks at nothing: it rejects, and guesses a token."""
    return _only(torch.randint(target_probs.shape[-1], (len(draft_tokens), 1), generator=generator), draft_tokens)


def _only(token: Tensor, draft_tokens: Tensor) -> tuple[Tensor, Tensor]:
    return torch.cat([token, torch.full_like(draft_tokens, -1)], dim=-1), torch.zeros(len(token), dtype=torch.int64)


@cache
def held() -> Certificate:
    """Of ``plain``, by counting: 131,072 draws a case at family alpha 1e-6."""
    return certify(plain, evidence="sampled")


@cache
def refuted() -> Certificate:
    """Of ``guess``, by counting: found after some hundred draws."""
    return certify(guess, evidence="sampled")


def exact() -> Certificate:
    """An exact rule that is refuted in its block law."""
    return certificate_of("reference:greedy_block", carry=False)
