"""Score laws: what ``race`` and ``kill_race`` share (MATH 4.2, selector race).

Every draft carries a score, uniform on [0, 1] over random drafts, and the smallest score wins. The profile of a prefix z
lists cells ``(a, b, mass)``: the probability that a draft starts with z and its score lies in (a, b], spread uniformly
there. As (draft, score) pairs are independent and ``P(score > u) = 1 - u``, the winner's law needs only the profile of z:
``D(z) = sum of rate(a, b) mass`` with ``rate(a, b) = ((1 - a)^K - (1 - b)^K) / (b - a)``.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from specproof.reference.chance import Chance
from specproof.reference.law import law
from specproof.reference.model import Row

Cell = tuple[Fraction, Fraction, Fraction]
Profile = tuple[Cell, ...]


def rate(low: Fraction, high: Fraction, drafts: int) -> Fraction:
    """Probability of winning per unit of probability that a score lies in the cell, over all drafts."""
    return ((1 - low) ** drafts - (1 - high) ** drafts) / (high - low)


def winning(profile: Profile, drafts: int) -> Fraction:
    """D(z): probability that the winner starts with the prefix of this profile."""
    return sum((mass * rate(low, high, drafts) for low, high, mass in profile), start=Fraction(0))


def uniform_edges(cells: int) -> tuple[Fraction, ...]:
    """Edges of equal cells. Raises ``ValueError`` for fewer than one cell."""
    if cells < 1:
        raise ValueError(f"cells must be at least 1, got {cells}")
    return tuple(Fraction(i, cells) for i in range(cells + 1))


def held(profile: Profile, low: Fraction, high: Fraction) -> Fraction:
    """Probability of the prefix with a score between two edges."""
    inside = Fraction(0)
    for start, end, mass in profile:
        if start < high and end > low:
            inside += mass * (min(high, end) - max(low, start)) / (end - start)
    return inside


def refined(profiles: tuple[Profile, ...]) -> tuple[Row, ...]:
    """The profiles on the common refinement of their cells."""
    edges = sorted({edge for profile in profiles for low, high, _ in profile for edge in (low, high)})
    return tuple(tuple(held(profile, low, high) for low, high in pairwise(edges)) for profile in profiles)


def lowest(chance: Chance, profiles: tuple[Row, ...]) -> int:
    """Draw a score for each refined profile and return the index of the smallest.

    Inside a cell all scores are uniform, so drafts that share the lowest occupied cell are equally likely to win.
    """
    drawn = [chance.choose(profile) for profile in profiles]
    tied = [index for index, cell in enumerate(drawn) if cell == min(drawn)]
    return tied[chance.choose([Fraction(1)] * len(tied))]


@lru_cache(maxsize=1 << 12)
def win_shares(profiles: tuple[Profile, ...]) -> Row:
    """Probability that each draft has the smallest score: ``lowest`` enumerated once instead of in every run."""
    cells = refined(profiles)
    shares = law(lambda chance: lowest(chance, cells))
    return tuple(shares.get(index, Fraction(0)) for index in range(len(profiles)))


def thin(cells: Iterable[Cell]) -> Profile:
    """The cells that hold anything."""
    return tuple(cell for cell in cells if cell[2] > 0)
