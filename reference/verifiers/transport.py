"""The optimal token-level rule: an optimal coupling at every node (OTM; SpecTr, Sun et al. 2023, arXiv 2310.15141).

With n drafts left at a node, let S be the set of their next tokens and F(S, c) the optimal coupling's probability of S
and target token c in S. Accept c with ``F(S, c)/P(S)``; when none is accepted draw from ``target(c) - sum over S of F(S, c)``.
No rule that looks at one position at a time accepts its token more often.
"""

from fractions import Fraction

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix, Row
from specproof.reference.rows import residual
from specproof.reference.step import Step
from specproof.reference.transport.token import Coupling, coupling


def accepted_masses(best: Coupling, vocabulary: int) -> Row:
    """Probability that the coupling accepts each token."""
    masses = [Fraction(0)] * vocabulary
    for (_, token), mass in best.flow.items():
        masses[token] += mass
    return tuple(masses)


def verify(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:
    """Verify any number of independent paths of equal length drawn from ``draft``."""
    surviving = drafts
    prefix: Prefix = ()
    while len(prefix) < len(drafts[0]):
        target_row, draft_row = target.probabilities(prefix), draft.probabilities(prefix)
        best = coupling(target_row, draft_row, len(surviving))
        drawn = frozenset(path[len(prefix)] for path in surviving)
        weights = [best.flow.get((drawn, token), Fraction(0)) for token in range(target.vocabulary)]
        answer = chance.choose([*weights, best.supports[drawn] - sum(weights)])
        if answer == target.vocabulary:
            return Step(prefix, chance.choose(residual(target_row, accepted_masses(best, target.vocabulary))), target)
        prefix = (*prefix, answer)
        surviving = tuple(path for path in surviving if path[: len(prefix)] == prefix)
    return Step(prefix, chance.choose(target.probabilities(prefix)), target)
