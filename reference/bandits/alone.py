"""One drafter alone: the expected rounds that it needs, which every policy is measured against."""

from functools import lru_cache

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.drafters import AfterRejection, Drafters, Independent, block_law
from specproof.reference.law import mapped


def emitted_law(drafters: Drafters, arm: int) -> dict[int, Number]:
    """The law of the tokens that a round emits, exact for fractions."""
    if isinstance(drafters, Independent | AfterRejection):
        share = (drafters.acceptance if isinstance(drafters, Independent) else drafters.before)[arm]
        length = drafters.lengths[arm]
        return {k + 1: share**k * (1 - share if k < length else 1) for k in range(length + 1)}
    return mapped(block_law(drafters, arm), lambda block: block.emitted)


@lru_cache(maxsize=256)
def alone(drafters: Drafters, arm: int, tokens: int) -> float:
    """Expected rounds of one drafter alone until so many tokens are emitted, by the renewal equation."""
    law = {more: float(mass) for more, mass in emitted_law(drafters, arm).items()}
    rounds = [0.0] * (tokens + 1)
    for left in range(1, tokens + 1):
        rounds[left] = 1 + sum(mass * rounds[max(0, left - more)] for more, mass in law.items())
    return rounds[tokens]


def rounds_alone(drafters: Drafters, tokens: int) -> list[float]:
    """That of every drafter."""
    return [alone(drafters, arm, tokens) for arm in range(len(drafters.lengths))]
