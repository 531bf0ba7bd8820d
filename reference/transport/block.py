"""The most tokens that any lossless rule can accept in one block, by optimal transport.

Maximise ``E[max_k LCP(X_k, Y)]``, the longest common prefix of the target's text with a draft, over all couplings of K
independent draft paths with ``Y ~ target``. Drafts enter as the set of distinct paths, as nothing else changes the gain.
An optimum of a transportation problem with integer gains: solved and proved in integers (MATH 4.3).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from specproof.reference.model import Model, Prefix, sequences
from specproof.reference.transport import primal_dual
from specproof.reference.transport.certificate import Certificate, Problem
from specproof.reference.transport.token import support_law


@dataclass(frozen=True)
class BlockCoupling:
    """An optimal coupling: ``flow[S, y]`` is the probability that S is the set of drafts and the target's text is y.

    ``certificate`` holds the plan and the potentials that prove ``value`` = E[tau] of the best rule for one block.
    """

    value: Fraction
    flow: Mapping[tuple[frozenset[Prefix], Prefix], Fraction]
    problem: Problem
    certificate: Certificate


def common_prefix(first: Prefix, second: Prefix) -> int:
    """Number of leading tokens that two paths share."""
    return next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def block_problem(
    target: Model, draft: Model, *, drafts: int, length: int
) -> tuple[Problem, list[frozenset[Prefix]], list[Prefix]]:
    """The block coupling as a transportation problem, with the set of drafts of each row and the text of each column."""
    if drafts < 1 or length < 1:
        raise ValueError(f"drafts and length must be at least 1, got {drafts} and {length}")
    texts, paths = sequences(target, length), sequences(draft, length)
    names = list(paths)
    shared = {(path, text): common_prefix(path, text) for path in paths for text in texts}
    supports = {
        frozenset(names[i] for i in support): mass
        for support, mass in support_law(list(paths.values()), drafts).items()
    }
    problem = Problem(
        supply=tuple(supports.values()),
        demand=tuple(texts.values()),
        gain=tuple(tuple(max(shared[path, text] for path in support) for text in texts) for support in supports),
    )
    return problem, list(supports), list(texts)


def block_coupling(target: Model, draft: Model, *, drafts: int, length: int) -> BlockCoupling:
    """Return an optimal coupling of ``drafts`` paths of ``length`` tokens with the target's text, and its proof."""
    problem, supports, texts = block_problem(target, draft, drafts=drafts, length=length)
    certificate = primal_dual.solve(problem)
    flow = {(supports[r], texts[c]): mass for (r, c), mass in certificate.plan.items()}
    return BlockCoupling(certificate.value, MappingProxyType(flow), problem, certificate)
