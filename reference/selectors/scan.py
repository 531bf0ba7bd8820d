"""Select by scanning ratio groups, dropping what the target no longer needs (MATH 4.2, selector scan).

At a node the group with the best ratio ``target/draft`` is served first. Its hits are selected in the order of how many
drafts come later (few first: who drops them has little left), until the selected mass covers the target's mass of the
group. A draft set with nothing later must be selected; every other hit beyond the need is dropped.
"""

from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.selectors.groups import Hits, Walk, follow


def serve(hits: Hits, need: Fraction) -> Hits:
    """Return how much of each hit is selected: in increasing number of later drafts, ties with more hits first."""
    selected, left = {}, need
    for (hit, later), mass in sorted(hits.items(), key=lambda entry: (entry[0][1], -entry[0][0])):
        selected[hit, later] = mass if later == 0 else min(mass, max(left, Fraction(0)))
        left -= selected[hit, later]
    return selected


def select(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> tuple[Prefix, Model]:
    """Return the selected path and the model of its law."""
    walk = Walk(target, draft, len(drafts), serve)
    return follow(chance, walk, drafts), walk
