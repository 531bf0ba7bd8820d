"""Recursive rejection for drafts without replacement, batched: the reference's ``recursive_without_replacement``.

Sequoia (arXiv 2402.12374), EAGLE, MCSD. Drafts at a node have distinct tokens. A refused token leaves the draft row, which is
normalised again, so the next refusal subtracts ``mass / left`` of the draft with ``left`` below one; a token that was refused has
``target <= cut draft`` from then on, so it needs no mask. The rest is ``recursive``.
"""

from typing import Any

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.verifiers.recursive import rejected_in_turn

drafting = Drafting(drafts=2, replacement=False)
capabilities = frozenset({"batch", "ragged", "drafts", "takes_uniforms"})
rule = "recursive_without_replacement"


def verify(drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG001 - part of the contract
    """Verify drafts that start with distinct tokens, with L K + 1 uniforms a request.

    Raises ``ValueError`` naming the request whose drafts do not, or whose rows have no mass.
    """
    first = drafts.tokens[:, :, :1].squeeze(-1).sort(1).values  # [B, K]
    doubled = (first.diff(dim=1) == 0).any(1) & (drafts.each_length() > 0)
    if bool(doubled.any()):
        at = int(doubled.nonzero()[0])
        raise ValueError(
            f"request {at}: drafts without replacement start with distinct tokens, got {first[at].tolist()}"
        )
    return rejected_in_turn("recursive_without_replacement", drafts, generator, replacement=False)
