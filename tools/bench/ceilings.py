"""What a block could emit, estimated from drafts and texts: the value SpecTr-GBV claims, and the level ceiling (MATH 4.3).

Both need only the ratio of the target's mass of a prefix to the draft's, over prefixes that either of them draws.
"""

import torch
from torch import Tensor

from specproof.bench.markov import Chains
from specproof.bench.tally import Mean

SAMPLES, CHUNK = 1 << 16, 1 << 12  # prefixes of each length, and how many are drawn at once


def ceilings(
    chains: Chains, length: int, drafts: int, generator: torch.Generator, *, samples: int = SAMPLES
) -> tuple[Mean, float]:
    """The claimed value and the level ceiling of a block behind token 0, one plus the accepted tokens."""
    models = len(chains.target)
    drafted, texts = (
        torch.cat([
            chains.log_ratios(below, below.new_zeros(min(CHUNK, samples), dtype=torch.int64), length, generator)
            for _ in range(0, samples, CHUNK)
        ])
        for below in (chains.draft_below, chains.target_below)
    )  # fmt: skip
    return claimed(drafted, drafts, models), level(drafted, texts, drafts, models)


def claimed(drafted: Tensor, drafts: int, models: int) -> Mean:
    """The sum of ``f(z) = t (1 - (1 - min(1, d/t))^K)`` over prefixes, as the mean of ``f/d`` over those that were drafted."""
    claim = -torch.expm1(drafts * torch.log1p(-(-drafted).exp().clamp(max=1))) * drafted.exp()
    return Mean.of(1 + claim.sum(-1), models)


def level(drafted: Tensor, texts: Tensor, drafts: int, models: int) -> float:
    """The sum over levels of ``min_S t(S) + 1 - d(S)^K``, S the prefixes with the smallest ratios ``t/d``.

    Masses are shares of what was drawn, and the smallest sum is taken for each pair of models: a little too low.
    """
    total = 1.0
    for model in range(models):
        for have, need in zip(drafted[model::models].unbind(1), texts[model::models].unbind(1), strict=True):
            at = torch.cat([have, have.new_tensor([-torch.inf])])
            inside, owed = (torch.searchsorted(some.sort().values, at, right=True) / len(some) for some in (have, need))
            total += float((owed + 1 - inside**drafts).min()) / models
    return total
