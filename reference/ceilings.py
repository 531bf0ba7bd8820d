"""How many draft tokens any lossless rule can accept in one block: the closed forms.

``union``: no rule exceeds ``sum over z of min(target(z), 1 - (1 - draft(z))^K)``, as z can only be accepted when some
draft contains it. For one draft it is ``sum min(target(z), draft(z))``, which greedy block verification attains.
"""

from fractions import Fraction

from specproof.reference.model import Model, joint, prefixes


def union(target: Model, draft: Model, *, drafts: int, length: int) -> Fraction:
    """Upper bound on E[tau] for ``drafts`` independent drafts of ``length`` tokens (Sun et al. 2024; MATH 4.3)."""
    total = Fraction(0)
    for prefix in prefixes(target.vocabulary, length):
        if prefix:
            total += min(joint(target, (), prefix), 1 - (1 - joint(draft, (), prefix)) ** drafts)
    return total
