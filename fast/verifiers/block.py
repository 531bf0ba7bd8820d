"""Block verification, batched (Sun et al., ICLR 2025, arXiv 2403.10444v3, algorithm 2): the reference's ``block``.

With ``p_i = min(1, p_{i-1} target/draft)`` along the path and ``R_i = sum (p_i target - draft)+`` at its i-th prefix, prefix i
passes its own coin with ``R_i / (R_i + 1 - p_i)``, the whole path with ``p_L``; the longest that passes is accepted. The
products are kept as logs. The scan starts at the end and reads a row only where the coin could pass.
"""

from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import coins
from specproof.fast.verifiers.chain import Chain, log_ratios, longest, only_draft

drafting = Drafting(drafts=1)
capabilities = frozenset({"batch", "ragged", "one_hot_draft", "takes_uniforms"})
rule = "block"


def verify(drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG001 - part of the contract
    """Verify one draft a request with L + 2 uniforms each. Raises ``ValueError`` for several drafts or rows without mass."""
    chain = only_draft("block", drafts)
    last, flips = coins(generator, drafts, root=True)
    accepted, weights = longest(chain, flips[..., 0], capped(chain))
    return Outcome.of(drafts, chain.path, accepted, weights.draw(last))


def capped(chain: Chain) -> Tensor:
    """Log of ``p_i`` at every prefix, [n, L+1]."""
    ratios = log_ratios(chain)
    kept = [torch.zeros_like(chain.mass[:, 0])]
    for i in range(ratios.shape[1]):
        kept.append((kept[i] + ratios[:, i]).clamp(max=0))
    return torch.stack(kept, dim=1)
