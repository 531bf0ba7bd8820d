"""Select the best draft by ratio, node by node (greedy multi-path selection, arXiv 2602.16961), batched.

At every node follow the token with the highest ``target/draft`` among the surviving drafts, and keep the drafts that share
it. Nothing is dropped, so n drafts reach a group with probability ``left^n``, left the draft mass not before it.
"""

from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.selectors.ordered import Rule, coins, start, walk, walk_along
from specproof.fast.selectors.selection import Along, Selection, State

__all__ = ["along", "coins", "select", "start"]


def select(drafts: Drafts, uniform: Tensor, *, bins: int | None = 10) -> Selection:
    """Return the selected draft of each request and its law; ``uniform`` is [B, L], ``bins`` ratio groups an octave."""
    return walk(drafts, uniform, Rule(endless=True, bins=bins))


def along(state: State, drafts: Drafts, left: Tensor, paths: int, *, bins: int | None = 10) -> Along:  # noqa: ARG001
    """The law along other drafts; it does not depend on how much of the block is ``left``."""
    return walk_along(state, drafts, Rule(endless=True, bins=bins))
