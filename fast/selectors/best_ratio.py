"""Select the best draft by ratio, node by node (greedy multi-path selection, arXiv 2602.16961), batched.

At every node follow the token with the highest ``target/draft`` among the surviving drafts, and keep the drafts that share
it. Nothing is dropped, so n drafts reach a group with probability ``left^n``, left the draft mass not before it.
"""

from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.selectors.ordered import Stages, coins, start, walk, walk_along
from specproof.fast.selectors.selection import Along, Selection, State

__all__ = ["along", "coins", "select", "start"]


def serve(state: Tensor, stages: Stages) -> tuple[Tensor, Tensor]:
    """Every hit of the best group is selected, whatever the target needs."""
    number = (stages.hits.now + stages.hits.later)[None, None]  # [1, 1, S]
    missed = (1 - stages.hit).cumprod(-1)
    left = missed.roll(1, -1)
    left[:, 0] = 1
    occurs = state[:, number[0, 0] - 1][:, None] * left[..., None] ** number * stages.chances
    return occurs, occurs


def select(drafts: Drafts, uniform: Tensor, *, bins: int | None = 10) -> Selection:
    """Return the selected draft of each request and its law; ``uniform`` is [B, L], ``bins`` ratio groups an octave."""
    return walk(drafts, uniform, serve, bins)


def along(state: State, drafts: Drafts, left: Tensor, paths: int, *, bins: int | None = 10) -> Along:  # noqa: ARG001
    """The law along other drafts; it does not depend on how much of the block is ``left``."""
    return walk_along(state, drafts, paths, serve, bins)
