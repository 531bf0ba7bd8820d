"""Select by scanning ratio groups, dropping what the target no longer needs, batched (MATH 4.2, selector scan).

The group with the best ratio ``target/draft`` is served first. Its hits are selected in the order of how many drafts come
later, until the selected mass covers the target's mass of the group. A draft set with nothing later must be selected;
every other hit beyond the need is dropped, and its later drafts pass on.
"""

from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.selectors.ordered import Rule, coins, start, walk, walk_along
from specproof.fast.selectors.selection import Along, Selection, State

__all__ = ["along", "coins", "select", "start"]


def select(drafts: Drafts, uniform: Tensor, *, bins: int | None = 4) -> Selection:
    """Return the selected draft of each request and its law; ``uniform`` is [B, L], ``bins`` ratio groups an octave."""
    return walk(drafts, uniform, Rule(endless=False, bins=bins))


def along(state: State, drafts: Drafts, left: Tensor, paths: int, *, bins: int | None = 4) -> Along:  # noqa: ARG001
    """The law along other drafts; it does not depend on how much of the block is ``left``."""
    return walk_along(state, drafts, Rule(endless=False, bins=bins))
