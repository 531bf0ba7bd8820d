"""Turn a plain function that verifies trees into a verifier: drafts are laid out as the tree of the prefixes that they share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness

TreeFunction = Callable[..., tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Tree:
    """Drafts as trees of N = K L nodes each, position after position: node ``i K + k`` is token i of draft k.

    A node hangs under the first draft that agrees with its own so far, so that paths part where their tokens do. A token that
    was drawn twice at one place is a node each time; what follows it hangs under the first.
    """

    tokens: Tensor  # [B, N] int64
    parents: Tensor  # [B, N] int64, -1: the root
    draft_probs: Tensor  # [B, N, V], the law that a node and its siblings were drawn from
    target_probs: Tensor  # [B, N+1, V]: the root's row first, then that after each node

    @classmethod
    def of(cls, drafts: Drafts) -> "Tree":
        """Lay out independent drafts of one length. Raises ``ValueError`` for requests with lengths of their own."""
        if drafts.lengths is not None:
            raise ValueError("trees are laid out of drafts of one length")
        batch, paths, length = drafts.tokens.shape
        parents = drafts.tokens.new_full((batch, length, paths), -1)
        agree = torch.ones(batch, paths, paths, dtype=torch.bool, device=drafts.device)
        for i in range(1, length):
            before = drafts.tokens[:, :, i - 1]  # [B, K]
            agree &= before[:, :, None] == before[:, None, :]
            parents[:, i] = (i - 1) * paths + agree.int().argmax(-1)
        after = drafts.target_probs[:, :, 1:].transpose(1, 2).flatten(1, 2)
        return cls(
            drafts.tokens.transpose(1, 2).flatten(1),
            parents.flatten(1),
            drafts.draft_rows().transpose(1, 2).flatten(1, 2),
            torch.cat([drafts.target_probs[:, :1, 0], after], dim=1),
        )


@dataclass(frozen=True)
class TreeVerifier:
    """A verifier made of a function on trees; see ``from_tree_function``."""

    function: TreeFunction
    drafting: Drafting
    capabilities: frozenset[str]
    rule: str | None = None
    rule_options: dict[str, Any] = field(default_factory=dict)

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG002
        """Call the function on the batch of trees. Raises ``ValueError`` where it names no node of a tree."""
        tree = Tree.of(drafts.check())
        last, final = self.function(tree.tokens, tree.parents, tree.draft_probs, tree.target_probs, generator)
        count = tree.tokens.shape[1]
        if tuple(last.shape) != (drafts.batch,) or bool(((last < -1) | (last >= count)).any()):
            raise ValueError(f"the last accepted node of each tree must be between -1 (none) and {count - 1}")
        return Outcome.of(drafts, last.clamp(min=0) % drafts.paths, (last + drafts.paths) // drafts.paths, final)


def from_tree_function(
    function: TreeFunction, *, drafts: int, batch: bool = True,
    rule: str | None = None, capabilities: Iterable[str] = (), **rule_options: Any,
) -> TreeVerifier:  # fmt: skip
    """Wrap ``function(tokens, parents, draft_probs, target_probs, generator) -> (last, final)`` as a verifier of ``drafts`` paths.

    Shapes are those of ``Tree``; ``last`` [B] is the last accepted node (-1: none), ``final`` [B] the token after it, both
    int64. Siblings are independent draws from one law. ``batch=False`` means that it takes B = 1 only; ``rule`` (and its
    options) names the reference rule whose acceptance it promises.
    Raises ``TypeError`` for something that cannot be called, ``ValueError`` for fewer than one draft.
    """
    if not callable(function):
        raise TypeError(f"from_tree_function needs a function, got {type(function).__name__}")
    if drafts < 1:
        raise ValueError(f"drafts must be at least 1, got {drafts}")
    declared = frozenset(capabilities) | ({"batch"} if batch else set()) | ({"drafts"} if drafts > 1 else set())
    return TreeVerifier(function, Drafting(drafts), declared, rule, rule_options)
