"""Typical acceptance, batched (Medusa, arXiv 2401.10774), the reference's ``typical``: lossy by design.

A draft token is accepted when ``target(x) > min(epsilon, delta exp(-H))`` with H the entropy of the target's row (the
exponential rounded to multiples of 2^-20, as the reference does). The draft with the longest accepted prefix wins, the first
of equals; then the target's most likely token, or with ``greedy=False`` a draw. An entropy is only computed where the token lies
between ``delta / V`` and ``epsilon``, which is where it decides.
"""

from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import uniforms
from specproof.fast.rows import Nodes, both_rows, shaved

drafting = Drafting(drafts=1)
capabilities = frozenset({"batch", "ragged", "one_hot_draft", "drafts", "takes_uniforms", "lossy_by_design"})
rule = "typical"
STEPS = 1 << 20


def verify(
    drafts: Drafts, generator: Randomness, carry: Any = None, *, epsilon: float = 0.09, delta: float = 0.3,  # noqa: ARG001
    greedy: bool = True,
) -> Outcome:  # fmt: skip
    """Verify any number of drafts, with one uniform a request. Raises ``ValueError`` for a last row without mass."""
    drafts.check()
    coin = uniforms(generator, drafts.batch, 1, drafts.device)[:, 0]
    rows = torch.arange(drafts.batch, device=drafts.device)
    every = Nodes(
        rows[:, None, None],
        torch.arange(drafts.paths, device=drafts.device)[None, :, None],
        torch.arange(drafts.length, device=drafts.device)[None, None],
    )
    chance = every.target(drafts, drafts.tokens.clamp(0, drafts.vocabulary - 1))  # [B, K, L]
    passes = (chance > epsilon) | _above_entropy(drafts, chance, epsilon, delta)
    passes &= every.position < drafts.each_length()[:, None, None]
    runs = passes.long().cumprod(-1).sum(-1)  # [B, K]
    path = runs.argmax(1)
    accepted = runs.gather(1, path[:, None]).squeeze(1)
    last = shaved(drafts, Nodes(rows, path, accepted), torch.zeros_like(coin)).or_target()
    final = drafts.target_probs[rows, path, accepted].argmax(-1) if greedy else last.draw(coin)
    return Outcome.of(drafts, path, accepted, final)


def _above_entropy(drafts: Drafts, chance: Tensor, epsilon: float, delta: float) -> Tensor:
    """Where a token of probability ``chance`` [B, K, L] below epsilon exceeds ``delta exp(-H)``; False elsewhere."""
    open_ = (chance <= epsilon) & (chance > delta * (1 / drafts.vocabulary - 1 / STEPS))
    request, path, position = open_.nonzero().unbind(1)
    result = torch.zeros_like(open_)
    entropy = torch.zeros(len(request), dtype=torch.float64, device=drafts.device)
    for at, target, _ in both_rows(drafts, Nodes(request, path, position)):
        entropy[at] = torch.special.entr(target).sum(-1)
    level = delta * ((-entropy).exp() * STEPS).round() / STEPS
    result[request, path, position] = chance[request, path, position] > level
    return result
