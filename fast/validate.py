"""Look at every number of a batch before it is verified: slow, for tests and for finding who hands over a bad row.

Verifiers themselves check shapes, ids and lengths, and the rows that they sum. A bad row that an outcome does not need goes
unseen by them; here it is found.
"""

import torch
from torch import Tensor

from specproof.fast.batch import Drafts


def check_values(drafts: Drafts, *, tolerance: float = 1e-2) -> Drafts:
    """Return the batch; raise ``ValueError`` naming the first request, draft and row that is no probability row.

    A row must hold no NaN, infinity or negative entry and sum to one within ``tolerance`` (bfloat16 rows are that far off),
    and a drafted token must have been possible. Rows behind a request's length are not looked at.
    """
    drafts.check()
    lengths = drafts.each_length()[:, None, None]
    positions = torch.arange(drafts.length + 1, device=drafts.device)
    _check_rows("target", drafts.target_probs, positions <= lengths, tolerance)
    if drafts.draft_probs is None:
        return drafts
    inside = positions[:-1] < lengths
    _check_rows("draft", drafts.draft_probs, inside, tolerance)
    ids = drafts.tokens.clamp(0, drafts.vocabulary - 1)[..., None]
    impossible = (drafts.draft_probs.gather(-1, ids).squeeze(-1) <= 0) & inside
    if bool(impossible.any()):
        b, k, i = impossible.nonzero()[0].tolist()
        token = int(drafts.tokens[b, k, i])
        raise ValueError(f"request {b}, draft {k}: token {i} is {token}, which its draft row rules out")
    return drafts


def _check_rows(name: str, rows: Tensor, inside: Tensor, tolerance: float) -> None:
    """``rows`` [B, K, n, V], of which those ``inside`` [B, 1 or K, n] count."""
    total = rows.sum(-1, dtype=torch.float64)  # [B, K, n]
    least = rows.amin(-1)
    for bad, what in (
        (~total.isfinite(), "holds NaN or infinity"),
        (least < 0, "has a negative entry"),
        (total == 0, "is all zero"),
        ((total - 1).abs() > tolerance, "does not sum to one"),
    ):
        if bool((bad & inside).any()):
            b, k, i = (bad & inside).nonzero()[0].tolist()
            raise ValueError(f"request {b}, draft {k}: {name} row {i} {what} (its sum is {float(total[b, k, i]):g})")
