"""Standard verification, batched (Leviathan et al. 2023, algorithm 1): the fast twin of the reference's ``standard``.

Token i is accepted while ``u_i draft < target``; the strict comparison keeps tokens that the target rules out from being
accepted at u = 0. One more uniform draws the correction from ``(target - draft)+`` or the bonus from the target's last
row. Only the row that the outcome needs is read. When rounding leaves a rejected row without residual (target and draft
equal up to the last bit), the target's own row is drawn from.
"""

from typing import Any

import torch

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import draw, uniforms

drafting = Drafting(drafts=1)
capabilities = frozenset({"batch", "ragged", "takes_uniforms"})
rule = "standard"


def verify(drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG001 - part of the contract
    """Verify one draft a request with L + 1 uniforms each. Raises ``ValueError`` for several drafts or rows without mass."""
    drafts.check()
    if drafts.paths != 1:
        raise ValueError(f"standard verifies 1 draft, got {drafts.paths}")
    tokens, draft, target = drafts.tokens[:, 0], drafts.draft_probs[:, 0], drafts.target_probs[:, 0]
    batch, length = tokens.shape
    coins = uniforms(generator, batch, length + 1, tokens.device)  # [B, L+1]
    lengths = drafts.lengths if drafts.lengths is not None else tokens.new_full((batch,), length)

    target_at = target[:, :length].gather(-1, tokens[..., None]).squeeze(-1).double()  # [B, L]
    draft_at = draft.gather(-1, tokens[..., None]).squeeze(-1).double()
    positions = torch.arange(length + 1, device=tokens.device)
    kept = (coins[:, :length] * draft_at < target_at) & (positions[:length] < lengths[:, None])
    accepted = kept.long().cumprod(-1).sum(-1)  # [B]

    rows = torch.arange(batch, device=tokens.device)
    target_row = target[rows, accepted].double()  # [B, V]
    draft_row = draft[rows, accepted.clamp(max=length - 1)].double()
    left = (target_row - draft_row).clamp(min=0)
    corrected = (accepted < lengths) & (left.sum(-1) > 0)
    weights = torch.where(corrected[:, None], left, target_row)
    mass = weights.sum(-1)
    if not bool((mass > 0).all()):
        bad = int((~(mass > 0)).nonzero()[0])
        raise ValueError(f"request {bad}: target row {int(accepted[bad])} has no mass or is NaN")

    final = draw(weights, coins[:, length])
    padded = torch.cat([tokens, final[:, None]], dim=-1)  # [B, L+1]
    padded = torch.where(positions < accepted[:, None], padded, -1)
    padded[rows, accepted] = final
    return Outcome(padded, accepted, torch.zeros_like(accepted))
