"""Select by scanning ratio groups, dropping what the target no longer needs, batched (MATH 4.2, selector scan).

The group with the best ratio ``target/draft`` is served first. Its hits are selected in the order of how many drafts come
later, until the selected mass covers the target's mass of the group. A draft set with nothing later must be selected;
every other hit beyond the need is dropped, and its later drafts pass on.
"""

import torch
from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.selectors.ordered import Stages, coins, start, walk, walk_along
from specproof.fast.selectors.selection import Along, Selection, State

__all__ = ["along", "coins", "select", "start"]


def serve(state: Tensor, stages: Stages) -> tuple[Tensor, Tensor]:
    """Serve group after group; what is dropped in one arrives at the next."""
    hits = stages.hits
    number, forced = hits.now + hits.later - 1, hits.later == 0
    dropped_to = torch.nn.functional.one_hot(hits.later, hits.drafts).to(state)[:, 1:]  # [S, K - 1]: k = 1 .. K - 1
    alone = (1 - stages.hit)[..., None] ** torch.arange(1, hits.drafts + 1, device=state.device)  # [B, G, K]
    occurs, served = torch.zeros_like(stages.chances), torch.zeros_like(stages.chances)
    for g in (stages.hit > 0).any(0).nonzero().flatten().tolist():
        hit = state[:, number] * stages.chances[:, g]  # [B, S]
        left = stages.need[:, g, None] - (hit.cumsum(-1) - hit)
        kept = torch.where(forced, hit, torch.minimum(hit, left.clamp(min=0)))
        occurs[:, g], served[:, g] = hit, kept
        state = state * alone[:, g]
        state[:, :-1] += (hit - kept) @ dropped_to
    return occurs, served


def select(drafts: Drafts, uniform: Tensor, *, bins: int | None = 4) -> Selection:
    """Return the selected draft of each request and its law; ``uniform`` is [B, L], ``bins`` ratio groups an octave."""
    return walk(drafts, uniform, serve, bins)


def along(state: State, drafts: Drafts, left: Tensor, paths: int, *, bins: int | None = 4) -> Along:  # noqa: ARG001
    """The law along other drafts; it does not depend on how much of the block is ``left``."""
    return walk_along(state, drafts, paths, serve, bins)
