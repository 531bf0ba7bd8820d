"""The best coupling of n independent draft tokens with one target token (SpecTr, Sun et al. 2023, arXiv 2310.15141).

Maximise the probability that the target's token is among the drafts. Only the set of drafted tokens matters, so this is
a flow from sets to their members, and the minimum cut proves it: ``alpha* = min over token sets H of
1 - draft(H)^n + target(H)``. The law of the set is ``P(set = S) = sum over T in S of (-1)^|S - T| draft(T)^n``.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from types import MappingProxyType

from specproof.reference.model import Row, exact_row
from specproof.reference.transport.flow import maximum_flow

Support = frozenset[int]


@dataclass(frozen=True)
class Coupling:
    """An optimal coupling: ``flow[S, c]`` is the probability that the drafts are the set S and c, in S, is accepted.

    ``supports`` is the law of S. ``value`` is alpha*, the sum of the flow, proved by the token set ``cut``.
    """

    value: Fraction
    flow: Mapping[tuple[Support, int], Fraction]
    cut: frozenset[int]
    supports: Mapping[Support, Fraction]


def support_law(draft_row: Sequence[Fraction], drafts: int) -> dict[Support, Fraction]:
    """Law of the set of tokens among ``drafts`` independent draws; impossible sets are left out."""
    common = math.lcm(*(Fraction(share).denominator for share in draft_row))
    units = {token: int(share * common) for token, share in enumerate(draft_row) if share > 0}
    inside: dict[tuple[int, ...], int] = {}
    result: dict[Support, Fraction] = {}
    for size in range(1, min(drafts, len(units)) + 1):
        for tokens in combinations(units, size):
            inside[tokens] = sum(units[token] for token in tokens) ** drafts
            exactly = sum(
                (-1) ** (size - part) * inside[subset]
                for part in range(1, size + 1)
                for subset in combinations(tokens, part)
            )
            result[frozenset(tokens)] = Fraction(exactly, common**drafts)
    return result


def coupling(target_row: Sequence[Fraction], draft_row: Sequence[Fraction], drafts: int) -> Coupling:
    """Return an optimal coupling of ``drafts`` independent draft tokens with the target's token.

    Raises ``ValueError`` for rows that are no laws or differ in length, and for fewer than one draft.
    """
    target, draft = exact_row(target_row, "target row"), exact_row(draft_row, "draft row")
    if len(target) != len(draft):
        raise ValueError(f"target has {len(target)} tokens, draft has {len(draft)}; they must be equal")
    if drafts < 1:
        raise ValueError(f"drafts must be at least 1, got {drafts}")
    return _coupling(target, draft, drafts)


@lru_cache(maxsize=4096)
def _coupling(target: Row, draft: Row, drafts: int) -> Coupling:
    supports = support_law(draft, drafts)
    scale = math.lcm(*(mass.denominator for mass in (*supports.values(), *target)))
    source, sink = len(target), len(target) + 1
    nodes = {support: sink + 1 + i for i, support in enumerate(supports)}
    members = [(support, token) for support in supports for token in sorted(support)]
    best = maximum_flow(
        sink + 1 + len(supports),
        [(nodes[support], token, int(supports[support] * scale)) for support, token in members]
        + [(source, nodes[support], int(mass * scale)) for support, mass in supports.items()]
        + [(token, sink, int(mass * scale)) for token, mass in enumerate(target)],
        source,
        sink,
    )
    value = Fraction(best.value, scale)
    cut = frozenset(token for token in range(len(target)) if token in best.source_side)
    if value != cut_value(target, draft, drafts, cut):
        raise AssertionError(f"flow {value} differs from its cut {cut_value(target, draft, drafts, cut)}")
    flow = {key: Fraction(units, scale) for key, units in zip(members, best.arcs, strict=False) if units}
    return Coupling(value, MappingProxyType(flow), cut, MappingProxyType(supports))


def cut_value(
    target_row: Sequence[Fraction], draft_row: Sequence[Fraction], drafts: int, cut: frozenset[int]
) -> Fraction:
    """Upper bound that a token set proves: some draft lies outside it, or the target's token lies in it."""
    inside = sum((draft_row[token] for token in cut), start=Fraction(0))
    return 1 - inside**drafts + sum((target_row[token] for token in cut), start=Fraction(0))
