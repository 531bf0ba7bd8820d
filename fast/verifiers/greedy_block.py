"""Greedy block verification, batched (Sun et al., arXiv 2403.10444v1, algorithm 4): the reference's ``greedy_block``.

With joint probabilities along the path and ``S_i = sum (target(x^i c) - draft(x^i c))+`` prefix i passes with ``S_i / (S_i +
(draft - target)+)``, the whole path with ``min(1, target/draft)``; only the ratio of the two joints enters, as a log. What the
rest of the block owes is carried (``fast.layers``): hand ``Outcome.carry`` back with the next block of the same requests.
"""

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.layers import Layers, advanced, modified
from specproof.fast.randomness import coins
from specproof.fast.verifiers.chain import Chain, log_ratios, longest, only_draft

drafting = Drafting(drafts=1)
capabilities = frozenset({"batch", "ragged", "one_hot_draft", "takes_uniforms"})
rule = "greedy_block"


def verify(drafts: Drafts, generator: Randomness, carry: Layers | None = None) -> Outcome:
    """Verify one draft a request with L + 2 uniforms each. Raises ``ValueError`` for several drafts or rows without mass."""
    chain, trail = modified(only_draft("greedy_block", drafts), carry)
    last, flips = coins(generator, drafts, root=True)
    ratios = joint_ratios(chain)
    accepted, weights = longest(chain, flips[..., 0], ratios)
    final = weights.draw(last)
    owed = advanced(chain, trail, accepted, final, ratios)
    return Outcome.of(drafts, chain.path, accepted, final, owed.pruned())


def joint_ratios(chain: Chain) -> Tensor:
    """Log of target over draft mass of every prefix, [n, L+1]."""
    return torch.nn.functional.pad(log_ratios(chain).cumsum(-1), (1, 0))
