"""SpecTr-GBV as published (arXiv 2604.25925 and its public code): the specimen, not lossless for K >= 2 (MATH 4.1).

With ``f(z) = target(z) (1 - (1 - min(1, draft(z)/target(z)))^K)`` and ``C(z) = 1 - (1 - draft(z))^K`` the drafts are tried in
order and prefix z passes with ``(f(z) - sum f(zc)) / (C(z) - sum f(zc))``, a whole draft with ``f/C``; the longest that passes
is accepted. Its four faults, each a switch whose other value repairs it:

* ``claimed``: f is taken for the law of acceptance, though drafts compete and less is accepted than C promises
  (repaired: the residual subtracts what the coins really accept, found by enumeration);
* ``swapped``: the residual is ``target (1 - min(1, draft/target)^K)``, with the power inside, and not ``target - f``;
* ``strays``: drafts that do not share the accepted prefix are tested on, and a whole draft is tested again after failing;
* ``carry=False``: the rest of the block forgets that its target is modified.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from specproof.reference.chance import Chance
from specproof.reference.law import law
from specproof.reference.model import Model, Prefix, Row, Shifted, after, children, joint
from specproof.reference.rows import normalised, residual
from specproof.reference.step import Step, independent_drafts


@dataclass(frozen=True)
class PublishedLayer:
    """The target of the rest of the block: proportional to the residual at every prefix."""

    target: Model
    draft: Model
    drafts: int
    length: int
    claimed: bool
    swapped: bool

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        return self.target.vocabulary

    def residual(self, prefix: Prefix) -> Row:
        """What is left of the target after ``prefix``, in joint probabilities."""
        target_row, draft_row = children(self.target, prefix), children(self.draft, prefix)
        pairs = list(zip(target_row, draft_row, strict=True))
        if self.swapped:
            return tuple(t * (1 - min(Fraction(1), d / t) ** self.drafts) if t else t for t, d in pairs)
        if self.claimed:
            return residual(target_row, tuple(claim(t, d, self.drafts) for t, d in pairs))
        accepted = accepted_law(self.target, self.draft, self.drafts, self.length)
        return residual(target_row, tuple(accepted.get((*prefix, c), Fraction(0)) for c in range(self.vocabulary)))

    def probabilities(self, prefix: Prefix) -> Row:
        """Return the modified row, or the target's own beyond the block and where no emitted text can arrive."""
        left = self.residual(prefix) if len(prefix) < self.length else ()
        return normalised(left) if any(left) else tuple(self.target.probabilities(prefix))

    def after(self, prefix: Prefix) -> Model:
        """The layer dies once the block's ``length`` tokens are used up."""
        return Shifted(self, prefix) if len(prefix) < self.length else after(self.target, prefix)


def claim(target: Fraction, draft: Fraction, drafts: int) -> Fraction:
    """The published f of a prefix with these joint probabilities."""
    return target * (1 - (1 - min(Fraction(1), draft / target)) ** drafts) if target else target


def passing(target: Model, draft: Model, drafts: int, prefix: Prefix, *, whole: bool) -> Fraction:
    """The published probability that a prefix passes."""
    draft_mass = joint(draft, (), prefix)
    own, contained = claim(joint(target, (), prefix), draft_mass, drafts), 1 - (1 - draft_mass) ** drafts
    pairs = () if whole else zip(children(target, prefix), children(draft, prefix), strict=True)
    below = sum((claim(t, d, drafts) for t, d in pairs), start=Fraction(0))
    return (own - below) / (contained - below) if contained > below else Fraction(0)


def accept(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...], *, strays: bool) -> Prefix:
    """Return the accepted prefix."""
    accepted: Prefix = ()
    rejected: set[Prefix] = set()
    for path in drafts:
        for i in range(len(accepted) + 1, len(path) + 1):
            prefix, whole = path[:i], i == len(path)
            if not strays and prefix[: len(accepted)] != accepted:
                break
            if prefix in rejected and not (whole and strays):
                continue
            if chance.flip(passing(target, draft, len(drafts), prefix, whole=whole)):
                accepted = prefix
            else:
                rejected.add(prefix)
    return accepted


@lru_cache(maxsize=256)
def accepted_law(target: Model, draft: Model, drafts: int, length: int) -> dict[Prefix, Fraction]:
    """Probability that the accepted prefix starts with z, for every z, when drafts do not stray."""
    result: dict[Prefix, Fraction] = {}
    runs = law(lambda c: accept(c, target, draft, independent_drafts(c, draft, drafts, length), strays=False))
    for accepted, mass in runs.items():
        for i in range(len(accepted) + 1):
            result[accepted[:i]] = result.get(accepted[:i], Fraction(0)) + mass
    return result


def verify(
    chance: Chance,
    target: Model,
    draft: Model,
    drafts: tuple[Prefix, ...],
    *,
    claimed: bool = True,
    swapped: bool = True,
    strays: bool = True,
    carry: bool = False,
) -> Step:
    """Verify any number of independent paths of equal length drawn from ``draft``."""
    layer = PublishedLayer(target, draft, len(drafts), len(drafts[0]), claimed, swapped)
    accepted = accept(chance, target, draft, drafts, strays=strays)
    left = layer.residual(accepted) if len(accepted) < len(drafts[0]) else ()
    row = left if any(left) else target.probabilities(accepted)  # the claim may leave nothing to draw from
    return Step(accepted, chance.choose(row), layer if carry else target)
