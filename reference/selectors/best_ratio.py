"""Select the best draft by ratio, node by node (greedy multi-path selection, arXiv 2602.16961).

At every node follow the token with the highest ``target/draft`` among the surviving drafts, and keep the drafts that
share it. Without coins the law is an order statistic of the ratio groups: of n drafts the best hit lies in group B with
probability ``(1 - before)^n - (1 - before - draft(B))^n``. Tokens of equal ratio share a group; its first hit is taken.
"""

from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.selectors.groups import Hits, Walk, follow


def serve(hits: Hits, need: Fraction) -> Hits:  # noqa: ARG001
    """Every hit of the best group is selected, whatever the target needs."""
    return hits


def select(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> tuple[Prefix, Model]:
    """Return the selected path and the model of its law."""
    walk = Walk(target, draft, len(drafts), serve)
    return follow(chance, walk, drafts), walk
