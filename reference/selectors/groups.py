"""Selecting by ratio groups: what ``scan`` and ``best_ratio`` share (MATH 4.2, selector scan).

At a node the tokens are grouped by ``target/draft``, the best ratio first. The drafts that pass through it are looked at
group by group: m of them hit the group, the others come later. A coin says whether to stop at the group (the first hit
is selected and the drafts that share its token go on) or to drop the hits. ``weights(walk, z)[n - 1]`` is the probability
that the selected path starts with z while n drafts still pass through it, so their sum is D(z).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix, Row, children
from specproof.reference.rows import normalised

Group = tuple[int, ...]
Hits = dict[tuple[int, int], Fraction]  # (hits m, later drafts k) -> probability
Serve = Callable[[Hits, Fraction], Hits]  # the hits and the target's mass of their group -> what is selected of each


@dataclass(frozen=True)
class Walk:
    """The law of the path that a group selector takes from ``drafts`` independent drafts; ``serve`` sets its coins."""

    target: Model
    draft: Model
    drafts: int
    serve: Serve

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        return self.target.vocabulary

    def probabilities(self, prefix: Prefix) -> Row:
        """Return the row ``D(zc)/D(z)``; the draft's own where the selected path never arrives."""
        row = tuple(sum(weights(self, (*prefix, token)), start=Fraction(0)) for token in range(self.vocabulary))
        return normalised(row) if any(row) else tuple(self.draft.probabilities(prefix))


@dataclass(frozen=True)
class Stage:
    """One group at one node: where its draft mass is, which hits occur and which of them are selected."""

    group: Group
    mass: Fraction
    hits: Hits
    selected: Hits

    def coin(self, hits: int, later: int) -> Fraction:
        """Probability of stopping here with that many hits and later drafts."""
        return self.selected[hits, later] / self.hits[hits, later]


def ratio_groups(target_row: Row, draft_row: Sequence[Fraction]) -> list[Group]:
    """The draft's possible tokens, equal ratios ``target/draft`` together, the highest ratio first."""
    ratios = {token: target_row[token] / share for token, share in enumerate(draft_row) if share > 0}
    return [
        tuple(token for token, ratio in ratios.items() if ratio == level)
        for level in sorted(set(ratios.values()), reverse=True)
    ]


def binomial(trials: int, share: Fraction, count: int) -> Fraction:
    """Probability of ``count`` successes in ``trials``."""
    return comb(trials, count) * share**count * (1 - share) ** (trials - count)


@lru_cache(maxsize=1 << 14)
def stages(walk: Walk, prefix: Prefix) -> tuple[Stage, ...]:
    """What happens at a node that the selected path reaches, group by group."""
    arriving, remaining = dict(enumerate(weights(walk, prefix), start=1)), Fraction(1)
    needs, draft_row = children(walk.target, prefix), walk.draft.probabilities(prefix)
    result = []
    for group in ratio_groups(needs, draft_row):
        mass = sum((draft_row[token] for token in group), start=Fraction(0))
        hits: Hits = {}
        passing = dict.fromkeys(range(1, walk.drafts + 1), Fraction(0))
        for count, weight in arriving.items():
            passing[count] += weight * binomial(count, mass / remaining, 0)
            for hit in range(1, count + 1):
                hits[hit, count - hit] = weight * binomial(count, mass / remaining, hit)
        selected = walk.serve(hits, sum((needs[token] for token in group), start=Fraction(0)))
        for (hit, later), weight in hits.items():
            if later:
                passing[later] += weight - selected[hit, later]
        result.append(Stage(group, mass, hits, selected))
        arriving, remaining = passing, remaining - mass
    return tuple(result)


@lru_cache(maxsize=1 << 16)
def weights(walk: Walk, prefix: Prefix) -> Row:
    """Probability that the selected path starts with ``prefix`` while n = 1..K drafts still pass through it."""
    if not prefix:
        return (*(Fraction(0),) * (walk.drafts - 1), Fraction(1))
    if not any(weights(walk, prefix[:-1])):
        return (Fraction(0),) * walk.drafts
    row, token = [Fraction(0)] * walk.drafts, prefix[-1]
    for stage in stages(walk, prefix[:-1]):
        if token in stage.group:
            share = walk.draft.probabilities(prefix[:-1])[token] / stage.mass
            for (hit, _), weight in stage.selected.items():
                for others in range(hit):
                    row[others] += weight * share * binomial(hit - 1, share, others)
    return tuple(row)


def follow(chance: Chance, walk: Walk, drafts: tuple[Prefix, ...]) -> Prefix:
    """Run the selection on drawn drafts and return the selected path."""
    surviving = drafts
    for i in range(len(drafts[0])):
        for stage in stages(walk, surviving[0][:i]):
            hits = [path for path in surviving if path[i] in stage.group]
            later = len(surviving) - len(hits)
            if hits and chance.flip(stage.coin(len(hits), later)):
                surviving = tuple(path for path in hits if path[i] == hits[0][i])
                break
            surviving = tuple(path for path in surviving if path[i] not in stage.group)
    return surviving[0]
