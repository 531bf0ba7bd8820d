"""K-SEQ: sequential selection with a fixed discount (SpecTr, Sun et al. 2023, arXiv 2310.15141, algorithm 2).

At a node with n drafts left, accept the first whose token passes ``min(1, target/(rho draft))``. With ``beta = sum min(draft,
target/rho)`` and ``gamma = (1 - (1 - beta)^n)/beta`` the residual is ``target - gamma min(draft, target/rho)``. Lossless for
every rho with ``1 - (1 - beta)^n <= rho beta``; the smallest such rho accepts most and is irrational in general, so it is
rounded up to a multiple of 2^-16.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix, Row
from specproof.reference.rows import residual, scaled
from specproof.reference.step import Step

STEPS = 1 << 16


def passed(target_row: Row, draft_row: Sequence[Fraction], rho: Fraction) -> Row:
    """Probability that one draft is each token and passes."""
    return tuple(min(d, t / rho) for t, d in zip(target_row, draft_row, strict=True))


def covers(target_row: Row, draft_row: Sequence[Fraction], drafts: int, rho: Fraction) -> bool:
    """Whether no token is accepted more often than the target allows."""
    beta = sum(passed(target_row, draft_row, rho), start=Fraction(0))
    return 1 - (1 - beta) ** drafts <= rho * beta


@lru_cache(maxsize=1 << 12)
def best_rho(target_row: Row, draft_row: Row, drafts: int) -> Fraction:
    """The smallest multiple of 2^-16 that covers; ``rho = drafts`` always does, and once covered, so is all above."""
    low, high = STEPS, drafts * STEPS
    while low < high:
        middle = (low + high) // 2
        if covers(target_row, draft_row, drafts, Fraction(middle, STEPS)):
            high = middle
        else:
            low = middle + 1
    return Fraction(high, STEPS)


def verify(
    chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...], *, rho: Fraction | int | str | None = None
) -> Step:
    """Verify any number of independent paths. Raises ``ValueError`` for a rho that some node does not allow."""
    surviving = drafts
    prefix: Prefix = ()
    while len(prefix) < len(drafts[0]):
        target_row, draft_row = tuple(target.probabilities(prefix)), tuple(draft.probabilities(prefix))
        discount = best_rho(target_row, draft_row, len(surviving)) if rho is None else Fraction(rho)
        if discount < 1 or not covers(target_row, draft_row, len(surviving), discount):
            raise ValueError(f"rho {discount} is too small for {len(surviving)} drafts after prefix {prefix}")
        once = passed(target_row, draft_row, discount)
        for path in surviving:
            token = path[len(prefix)]
            if chance.flip(once[token] / draft_row[token]):
                prefix = (*prefix, token)
                surviving = tuple(path for path in surviving if path[: len(prefix)] == prefix)
                break
        else:
            beta = sum(once, start=Fraction(0))
            gamma = (1 - (1 - beta) ** len(surviving)) / beta if beta else Fraction(0)
            return Step(prefix, chance.choose(residual(target_row, scaled(gamma, once))), target)
    return Step(prefix, chance.choose(target.probabilities(prefix)), target)
