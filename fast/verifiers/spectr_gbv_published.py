"""SpecTr-GBV as published, batched (arXiv 2604.25925 and its public code): the specimen, not lossless for K >= 2 (MATH 4.1).

With ``f(z) = target(z) (1 - (1 - min(1, draft(z)/target(z)))^K)`` and ``C(z) = 1 - (1 - draft(z))^K`` the drafts are tried in order and
prefix z passes with ``(f(z) - sum f(zc)) / (C(z) - sum f(zc))``, a whole draft with ``f/C``. All of it is divided by target(z), so only
the ratio of the joints and a vanishing draft mass enter. Kept as it was published, with the reference's default faults; it
reads every row and is not meant to be fast.
"""

from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import coins, draw
from specproof.fast.rows import Nodes, both_rows, refuse
from specproof.fast.verifiers.chain import along, log_ratios
from specproof.fast.verifiers.nodes import first_sharing, needs_rows

drafting = Drafting(drafts=2)
capabilities = frozenset({"batch", "drafts", "takes_uniforms"})
rule = "spectr_gbv_published"
NOTHING = 2.0**-24  # a difference that the rows' own rounding explains


def verify(drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG001 - part of the contract
    """Verify any number of drafts of equal length with K L + 1 uniforms a request. Raises ``ValueError`` for lengths."""
    if drafts.lengths is not None:
        raise ValueError("spectr_gbv_published takes drafts of one length, got lengths")
    batch, paths, length = needs_rows("spectr_gbv_published", drafts).tokens.shape
    last, flips = coins(generator, drafts, each=drafts.paths)
    ratio, mass = joints(drafts)
    passing = passing_probabilities(drafts, ratio, mass)
    lead = first_sharing(drafts.tokens)
    rows = torch.arange(batch, device=drafts.device)
    path, accepted = torch.zeros_like(rows), torch.zeros_like(rows)
    rejected = torch.zeros(batch, paths, length, dtype=torch.bool, device=drafts.device)
    for k in range(paths):
        start = accepted
        for i in range(length):  # the prefix of i + 1 tokens
            again = rejected[rows, lead[:, k, i], i] & (i + 1 < length)  # a whole draft is tested again
            tried = (i + 1 > start) & ~again
            passes = tried & (flips[:, i, k] < passing[:, k, i])
            path, accepted = torch.where(passes, k, path), torch.where(passes, i + 1, accepted)
            rejected[rows, lead[:, k, i], i] |= tried & ~passes
    final = correction(drafts, Nodes(rows, path, accepted), ratio[rows, path, accepted], last)
    return Outcome.of(drafts, path, accepted, final)


def joints(drafts: Drafts) -> tuple[Tensor, Tensor]:
    """Draft over target mass and draft mass of every prefix, both [B, K, L+1]; the ratio is inf where the target has none."""
    batch, paths, length = drafts.tokens.shape
    request = torch.arange(batch, device=drafts.device).repeat_interleave(paths)
    chain = along(drafts, request, torch.arange(paths, device=drafts.device).repeat(batch))
    ratio, mass = (
        torch.nn.functional.pad(logs.cumsum(-1), (1, 0)).view(batch, paths, length + 1).exp()
        for logs in (-log_ratios(chain), chain.draft.log())
    )
    return ratio, mass


def claim(ratio: Tensor, drafts: int) -> Tensor:
    """The published f over the target's mass."""
    return -torch.expm1(drafts * torch.log1p(-ratio.clamp(max=1)))


def passing_probabilities(drafts: Drafts, ratio: Tensor, mass: Tensor) -> Tensor:
    """The published probability that each prefix of one token or more passes, [B, K, L]."""
    batch, paths, length = drafts.tokens.shape
    below = torch.zeros(batch, paths, length + 1, dtype=torch.float64, device=drafts.device)
    inner = torch.ones_like(below, dtype=torch.bool)
    inner[:, :, 0] = inner[:, :, -1] = False
    places = inner.nonzero().unbind(1)
    for at, target, draft in both_rows(drafts, Nodes(*places)):
        request, path, position = (index[at] for index in places)
        child = ratio[request, path, position][:, None] * draft / target.clamp(min=1e-320)
        below[request, path, position] = (target * claim(child.nan_to_num(0.0), paths)).sum(-1)
    own = claim(ratio, paths)
    contained = -torch.expm1(paths * torch.log1p(-mass)) / mass.clamp(min=1e-320) * ratio  # C over the target's mass
    spare = contained - below
    passing = torch.where(spare > NOTHING * contained, (own - below) / spare, 0.0)
    return torch.where(ratio.isfinite(), passing, 0.0)[..., 1:]


def correction(drafts: Drafts, nodes: Nodes, ratio: Tensor, uniform: Tensor) -> Tensor:
    """Draw from ``target (1 - min(1, draft/target)^K)``, or from the target behind a whole draft or where that is empty."""
    final = torch.zeros_like(nodes.request)
    for at, target, draft in both_rows(drafts, nodes):
        child = (ratio[at, None] * draft / target.clamp(min=1e-320)).nan_to_num(0.0).clamp(max=1)
        left = target * (1 - child**drafts.paths)
        whole = (nodes.position[at] == drafts.length) | (left.sum(-1) <= 0)
        weights = torch.where(whole[:, None], target, left)
        refuse(nodes[at], ~(weights.sum(-1) > 0), "has no mass")
        final[at] = draw(weights, uniform[at])
    return final
