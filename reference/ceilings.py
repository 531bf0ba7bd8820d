"""How many draft tokens any lossless rule can accept in one block: the closed forms (MATH 4.3).

With z over all prefixes of one to ``length`` tokens, joint probabilities ``target(z)`` and ``draft(z)``, and K independent
drafts:

* ``union``: ``sum of min(target(z), 1 - (1 - draft(z))^K)``, as z can only be accepted when some draft contains it;
* ``level``: ``sum over i of alpha*`` of the laws of the first i tokens, as accepting i of them couples those laws;
* ``claimed``: ``sum of target(z) (1 - (1 - min(1, draft(z)/target(z)))^K)``, what SpecTr-GBV (arXiv 2604.25925) claims:
  no upper bound;
* ``single_draft``: ``sum of min(target(z), draft(z))``, the optimum for one draft, which greedy block verification attains.

``alpha_star`` is the largest probability that one token is accepted (SpecTr, Sun et al. 2023). The optimum itself, of
which ``union`` and ``level`` are upper bounds, is ``specproof.reference.transport.block``.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from specproof.reference.model import Model, Prefix

Pair = tuple[Fraction, Fraction]  # target and draft probability of the same prefix


def shared_levels(target: Model, draft: Model, length: int) -> Iterator[list[Pair]]:
    """Joint probabilities of the prefixes of 1, 2, ... ``length`` tokens; those impossible under either are left out."""
    masses: dict[Prefix, Pair] = {(): (Fraction(1), Fraction(1))}
    for _ in range(length):
        masses = {
            (*prefix, token): (target_mass * target_share, draft_mass * draft_share)
            for prefix, (target_mass, draft_mass) in masses.items()
            for token, (target_share, draft_share) in enumerate(
                zip(target.probabilities(prefix), draft.probabilities(prefix), strict=True)
            )
            if target_share and draft_share
        }
        yield list(masses.values())


def shared(target: Model, draft: Model, length: int) -> Iterator[Pair]:
    """Joint probabilities of all prefixes of 1 to ``length`` tokens that are possible under both models."""
    for pairs in shared_levels(target, draft, length):
        yield from pairs


def total(terms: Iterable[Fraction]) -> Fraction:
    """Sum of fractions, a fraction even when there are none."""
    return sum(terms, start=Fraction(0))


def alpha_star(target_row: Sequence[Fraction], draft_row: Sequence[Fraction], drafts: int) -> Fraction:
    """Largest probability that the target's token is among ``drafts`` independent draft tokens.

    The minimum of ``1 - (1 - draft(G))^n + target(not G)`` over the sets G of tokens with ``target/draft`` above a
    threshold: one sort and two cumulative sums.
    """
    pairs = zip(target_row, draft_row, strict=True)
    return coupled(
        [(target_mass, draft_mass) for target_mass, draft_mass in pairs if target_mass and draft_mass], drafts
    )


def coupled(pairs: Iterable[Pair], drafts: int) -> Fraction:
    """``alpha_star`` of two laws from the outcomes that both allow; others are never accepted and lower no bound.

    Every prefix of the sorted order is tried, also inside a tie: any set bounds the optimum from above.
    """
    pairs = sorted(pairs, key=lambda pair: pair[0] / pair[1], reverse=True)
    outside, inside = total(target_mass for target_mass, _ in pairs), Fraction(0)
    best = outside
    for target_mass, draft_mass in pairs:
        outside -= target_mass
        inside += draft_mass
        best = min(best, 1 - (1 - inside) ** drafts + outside)
    return best


def union(target: Model, draft: Model, *, drafts: int, length: int) -> Fraction:
    """Upper bound on E[tau]: every prefix as often as the target has it and some draft contains it."""
    return total(min(t, 1 - (1 - d) ** drafts) for t, d in shared(target, draft, length))


def level(target: Model, draft: Model, *, drafts: int, length: int) -> Fraction:
    """Upper bound on E[tau]: the best coupling of the first i tokens, for every i on its own."""
    return total(coupled(pairs, drafts) for pairs in shared_levels(target, draft, length))


def claimed(target: Model, draft: Model, *, drafts: int, length: int) -> Fraction:
    """E[tau] as SpecTr-GBV claims it. Attained with proportional tables, exceeded by others."""
    return total(t * (1 - (1 - min(Fraction(1), d / t)) ** drafts) for t, d in shared(target, draft, length))


def single_draft(target: Model, draft: Model, *, length: int) -> Fraction:
    """The largest E[tau] for one draft."""
    return total(min(t, d) for t, d in shared(target, draft, length))


def ceilings(target: Model, draft: Model, *, drafts: int, length: int) -> dict[str, Fraction]:
    """All of them by name. ``alpha_star`` is that of the first token; the others are in accepted tokens per block."""
    return {
        "single_draft": single_draft(target, draft, length=length),
        "claimed": claimed(target, draft, drafts=drafts, length=length),
        "union": union(target, draft, drafts=drafts, length=length),
        "level": level(target, draft, drafts=drafts, length=length),
        "alpha_star": alpha_star(target.probabilities(()), draft.probabilities(()), drafts),
    }
