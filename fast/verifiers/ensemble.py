"""Standard verification against a mixture of both models (DIVERSE, arXiv 2604.07622), batched: lossy by design.

Token i is accepted while ``u_i draft < (1 - weight) draft + weight target``; the rest is standard verification, and where
the residual is empty the target itself is drawn from. Weight 1 is standard verification; 1/2 unless told otherwise.
"""

from typing import Any

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import coins
from specproof.fast.verifiers.chain import first_refusal, only_draft

drafting = Drafting(drafts=1)
capabilities = frozenset({"batch", "ragged", "one_hot_draft", "takes_uniforms", "lossy_by_design"})
rule = "ensemble"
rule_options = {"weight": "1/2"}


def verify(drafts: Drafts, generator: Randomness, carry: Any = None, *, weight: float = 0.5) -> Outcome:  # noqa: ARG001
    """Verify one draft a request with L + 1 uniforms each; ``weight`` is the target's share of the mixture."""
    chain = only_draft("ensemble", drafts)
    last, flips = coins(generator, drafts)
    mixture = (1 - weight) * chain.draft + weight * chain.target
    return first_refusal(chain, flips[..., 0] * chain.draft < mixture, last)
