"""Accept what the target would have drawn anyway, batched: the reference's ``sample_match``.

At every position a token is drawn from the target, with a uniform of its own; it is accepted when some draft that agrees with
what is accepted has it, and ends the step otherwise. The draft's probabilities are never looked at, so drafts may come from
anywhere. A request reads one row a position that it reaches.
"""

from typing import Any

import torch

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import uniforms
from specproof.fast.rows import Nodes, shaved

drafting = Drafting(drafts=2)
capabilities = frozenset({"batch", "ragged", "one_hot_draft", "drafts", "takes_uniforms"})
rule = "sample_match"


def verify(drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG001 - part of the contract
    """Verify any number of drafts with L + 1 uniforms a request. Raises ``ValueError`` for rows without mass."""
    lengths = drafts.check().each_length()
    coins = uniforms(generator, drafts.batch, drafts.length + 1, drafts.device)
    accepted, path, final = torch.zeros_like(lengths), torch.zeros_like(lengths), torch.zeros_like(lengths)
    agreeing = torch.ones(drafts.batch, drafts.paths, dtype=torch.bool, device=drafts.device)
    here = torch.arange(drafts.batch, device=drafts.device)  # requests that have accepted everything so far
    for i in range(drafts.length + 1):
        nodes = Nodes(here, path[here], torch.full_like(here, i))
        row = shaved(drafts, nodes, torch.zeros_like(coins[here, i])).or_target()
        final[here] = row.draw(coins[here, i])
        here = here[lengths[here] > i]
        if not len(here):
            break
        agreeing[here] &= drafts.tokens[here, :, i] == final[here, None]
        here = here[agreeing[here].any(1)]
        accepted[here] += 1
        path[here] = agreeing[here].long().argmax(1)
    return Outcome.of(drafts, path, accepted, final)
