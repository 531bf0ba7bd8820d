"""Staged greedy verification, batched (MATH 4.2): the reference's ``staged_greedy``.

Draft k of K is verified by greedy block verification against the share ``1 / (K - k + 1)`` of the target, with a coin at the root
too; requests that pass nothing go on to their next draft. The layer that is carried over is that of the draft that ended.
"""

import math

import torch

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.layers import Layers, advanced, modified
from specproof.fast.randomness import coins
from specproof.fast.verifiers.chain import along, longest
from specproof.fast.verifiers.greedy_block import joint_ratios
from specproof.fast.verifiers.nodes import needs_rows

drafting = Drafting(drafts=2)
capabilities = frozenset({"batch", "ragged", "drafts", "takes_uniforms"})
rule = "staged_greedy"


def verify(drafts: Drafts, generator: Randomness, carry: Layers | None = None) -> Outcome:
    """Verify any number of independent drafts with K (L + 1) + 1 uniforms a request.

    Raises ``ValueError`` for rows without mass.
    """
    batch, paths, _ = needs_rows("staged_greedy", drafts).tokens.shape
    last, flips = coins(generator, drafts, root=True, each=drafts.paths)
    waiting = torch.arange(batch, device=drafts.device)
    path, accepted, final = torch.zeros_like(waiting), torch.zeros_like(waiting), torch.zeros_like(waiting)
    ended: list[torch.Tensor] = []
    owed: list[Layers | None] = []
    for k in range(paths):
        chain = along(drafts, waiting, torch.full_like(waiting, k))
        chain, trail = modified(chain, None if carry is None else carry.select(waiting))
        ratios = joint_ratios(chain) - math.log(paths - k)
        taken, weights = longest(chain, flips[waiting, :, k], ratios)
        done = (taken >= 0).nonzero().flatten()
        rows = waiting[done]
        path[rows], accepted[rows], final[rows] = k, taken[done], weights.draw(last[rows])
        ended.append(rows)
        owed.append(advanced(chain, trail, taken.clamp(min=0), final[waiting], ratios).select(done))
        waiting = waiting[taken < 0]
    layers = Layers.joined(owed, [len(rows) for rows in ended])
    return Outcome.of(drafts, path, accepted, final, layers.select(torch.cat(ended).argsort()) if layers else None)
