"""Recursive rejection for drafts without replacement (Sequoia, arXiv 2402.12374; EAGLE; MCSD).

The K drafts start with distinct tokens, drawn without replacement, and go on as chains. At the root, after a rejection
the target becomes the normalised ``(target - draft)+`` and the rejected token leaves the draft row, which is normalised
again: this is the law that the next draft's first token was drawn from. After the first token one draft is left.
"""

from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix, Row, after
from specproof.reference.rows import normalised, residual
from specproof.reference.step import Step, sample
from specproof.reference.verifiers import standard


def without(row: Row, token: int) -> Row:
    """The row with a token removed; not normalised."""
    return tuple(Fraction(0) if c == token else share for c, share in enumerate(row))


def distinct_drafts(chance: Chance, draft: Model, drafts: int, length: int) -> tuple[Prefix, ...]:
    """Draw paths whose first tokens differ. Raises ``ValueError`` when the draft model has fewer possible tokens."""
    row = tuple(draft.probabilities(()))
    possible = sum(share > 0 for share in row)
    if drafts > possible:
        raise ValueError(
            f"{drafts} drafts without replacement need {drafts} possible first tokens, there are {possible}"
        )
    paths: list[Prefix] = []
    for _ in range(drafts):
        token = chance.choose(row)
        paths.append((token, *sample(chance, after(draft, (token,)), length - 1)))
        row = without(row, token)
    return tuple(paths)


def verify(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:
    """Verify paths from ``distinct_drafts``. Raises ``ValueError`` when two of them start with the same token."""
    if len({path[0] for path in drafts}) < len(drafts):
        raise ValueError(f"drafts without replacement start with distinct tokens, got {[path[0] for path in drafts]}")
    owed, draft_row = tuple(target.probabilities(())), tuple(draft.probabilities(()))
    for first, *rest in drafts:
        if chance.flip(min(Fraction(1), owed[first] / draft_row[first])):
            step = standard.verify(chance, after(target, (first,)), after(draft, (first,)), (tuple(rest),))
            return Step((first, *step.accepted), step.token, target)
        owed = normalised(residual(owed, draft_row))
        if any(remaining := without(draft_row, first)):
            draft_row = normalised(remaining)
    return Step((), chance.choose(owed), target)
