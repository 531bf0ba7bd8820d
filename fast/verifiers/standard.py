"""Standard verification, batched (Leviathan et al. 2023, algorithm 1): the fast twin of the reference's ``standard``.

Token i is accepted while ``u_i draft < target``; the strict comparison keeps tokens that the target rules out from being
accepted at u = 0. One more uniform draws the correction from ``(target - draft)+`` or the bonus from the target's last
row. Only the row that the outcome needs is read. When rounding leaves a rejected row without residual (target and draft
equal up to the last bit), the target's own row is drawn from.
"""

from typing import Any

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import coins
from specproof.fast.verifiers.chain import first_refusal, only_draft

drafting = Drafting(drafts=1)
capabilities = frozenset({"batch", "ragged", "one_hot_draft", "takes_uniforms"})
rule = "standard"


def verify(drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG001 - part of the contract
    """Verify one draft a request with L + 1 uniforms each. Raises ``ValueError`` for several drafts or rows without mass."""
    chain = only_draft("standard", drafts)
    last, flips = coins(generator, drafts)
    return first_refusal(chain, flips[..., 0] * chain.draft < chain.target, last)
