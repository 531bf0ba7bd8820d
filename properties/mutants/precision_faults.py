"""Faults of rounding, and of the number of drafts."""

from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import coins, draw
from specproof.fast.verifiers import block, k_seq
from specproof.fast.verifiers.chain import only_draft
from specproof.properties.mutants.faulty import fault, with_targets
from specproof.properties.mutants.mutant import Mutant

PRECISION = "precision"


def in_half_precision(drafts: Drafts) -> Drafts:
    """The target's rows are kept in bfloat16."""
    return with_targets(drafts, drafts.target_probs.bfloat16().to(drafts.target_probs.dtype))


def refuses_above_one(drafts: Drafts) -> Drafts:
    """A validity check throws out drafts of probability above one, and with them those that are one and a bit."""
    rows = drafts.draft_rows()
    refused = (rows > 1).any(-1, keepdim=True)
    return Drafts(drafts.tokens, torch.where(refused, 1e30, rows), drafts.target_probs, drafts.lengths)


class OneDraft:
    """Verification of one draft whose correction is drawn by ``correct(target, draft)`` from uniforms of its own."""

    capabilities = frozenset({"batch"})
    drafting = Drafting()
    rule = "standard"

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG002
        """Accept as the standard rule does."""
        chain = only_draft("standard", drafts)
        last, flips = coins(generator, drafts)
        passes = flips[..., 0] * chain.draft < chain.target
        accepted = passes.long().cumprod(-1).sum(-1)
        rows, position = torch.arange(drafts.batch), accepted.clamp(max=drafts.length - 1)
        target, draft = drafts.target_probs[rows, 0, position], drafts.draft_rows()[rows, 0, position]
        whole = (accepted == drafts.length)[:, None]
        weights = torch.where(whole, drafts.target_probs[rows, 0, accepted], self.correct(target, draft))
        weights = torch.where(weights.sum(-1, keepdim=True) > 0, weights, target)
        return Outcome.of(drafts, chain.path, accepted, self.drawn(weights, last, generator))

    def correct(self, target: Tensor, draft: Tensor) -> Tensor:
        """The residual."""
        return (target - draft).clamp(min=0)

    def drawn(self, weights: Tensor, uniform: Tensor, generator: Randomness) -> Tensor:  # noqa: ARG002
        """By inverse distribution function."""
        return draw(weights, uniform)


class LogResidual(OneDraft):
    """The residual is exp(log target + log(1 - ratio)) with the ratio in bfloat16: small ratios are lost."""

    def correct(self, target: Tensor, draft: Tensor) -> Tensor:
        """Subtract in the logarithm."""
        ratio = (draft / target.clamp(min=1e-30)).clamp(max=1)
        left = (1 - ratio.bfloat16()).log().float()
        return (target.log() + left).exp().nan_to_num(0.0).to(target.dtype)


class CoarseNoise(OneDraft):
    """The winner of a race against noise that single precision never lets fall below 2^-24."""

    def drawn(self, weights: Tensor, uniform: Tensor, generator: Randomness) -> Tensor:  # noqa: ARG002
        """Divide by exponentials made of single-precision uniforms."""
        assert generator is None or isinstance(generator, torch.Generator)
        noise = -torch.rand(weights.shape, generator=generator).log()
        return (weights / noise.clamp(min=2.0**-24)).argmax(-1)


class LinearProducts:
    """Block verification that keeps its products of ratios as single-precision numbers: they underflow."""

    capabilities = frozenset({"batch"})
    drafting = Drafting()
    rule = "block"

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG002
        """A path whose product ever vanishes is verified as if its last draft were impossible."""
        token = drafts.tokens[:, :, :, None]
        target = drafts.target_probs[:, :, :-1].gather(-1, token).squeeze(-1).float()
        draft = drafts.draft_rows().gather(-1, token).squeeze(-1).float()
        product = torch.ones(drafts.batch, drafts.paths)
        for i in range(drafts.length):
            product = (product * target[..., i] / draft[..., i]).clamp(max=1)
        rows = drafts.target_probs.clone()
        lost = ((product == 0) & (target > 0).all(-1))[:, 0]
        rows[lost, 0, -2] = rows[lost, 0, -2].scatter(-1, drafts.tokens[lost, 0, -1:], 0.0)
        return block.verify(with_targets(drafts, rows), generator)


def sums_in_their_own_dtype(drafts: Drafts) -> Drafts:
    """Rows in bfloat16 are laid end to end in bfloat16: beyond one half steps below 2^-9 are lost."""
    if drafts.target_probs.dtype != torch.bfloat16:
        return drafts
    ends = torch.zeros_like(drafts.target_probs)
    total = torch.zeros_like(ends[..., 0])
    for token in range(drafts.vocabulary):
        total = total + drafts.target_probs[..., token]
        ends[..., token] = total
    steps = ends.diff(dim=-1, prepend=torch.zeros_like(ends[..., :1]))
    return with_targets(drafts, steps)


class ClaimsMonotone:
    """K-SEQ, whose discount is rounded up, declared to gain from every draft."""

    monotone = True
    capabilities = k_seq.capabilities
    drafting = k_seq.drafting
    rule = "k_seq"
    verify = staticmethod(k_seq.verify)


MUTANTS: dict[str, Mutant] = {
    "log_residual": Mutant(
        "the residual's logarithm loses ratios below one step", PRECISION, make=LogResidual, property="precision",
        fault_id=("P01",), evidence="probed",
    ),
    "coarse_noise": Mutant(
        "noise in single precision: tokens of the tail cannot win", PRECISION, make=CoarseNoise, property="precision",
        fault_id=("P02",), evidence="probed",
    ),
    "refuses_above_one": fault(
        "a draft of probability one and a bit is refused", "degenerate rows", "degenerate", ("P04",), "driven",
        reads=refuses_above_one,
    ),
    "target_in_half_precision": fault(
        "the target's rows are kept in bfloat16", "first token", "lossless", ("P05",), "probed",
        reads=in_half_precision,
    ),
    "linear_products": Mutant(
        "products of ratios underflow in a long block", PRECISION, make=LinearProducts, property="precision",
        evidence="driven",
    ),
    "sums_in_their_own_dtype": fault(
        "rows in bfloat16 are summed in bfloat16", PRECISION, "precision", (), "driven", reads=sums_in_their_own_dtype
    ),
    "claims_monotone": Mutant(
        "declared to gain from every draft, loses one", "monotone", make=ClaimsMonotone, property="monotonicity",
        evidence="probed",
    ),
}  # fmt: skip
