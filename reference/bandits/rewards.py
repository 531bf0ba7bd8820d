"""Rewards of a round by name: what a bandit is told about a block. All lie in [0, 1]; fractions in, fractions out.

``block_divergence`` and ``block_efficiency`` are MetaSD's (BD and BE). ``conditional_block_efficiency`` is the mean of
block efficiency given the drafted tokens and rows, ``truncated_block_divergence`` the compensator of the accepted count:
both have exactly the mean of block efficiency, whatever target and drafter do, and neither needs another model call.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from specproof.reference.bandits.block import Block, Number
from specproof.reference.names import nearest

Reward = Callable[[Block], Number]


def block_divergence(block: Block) -> Number:
    """BD: mean of ``1 - TV`` over all N positions, those after the first rejection included."""
    return _share(sum(block.agreement), block)


def block_efficiency(block: Block) -> Number:
    """BE: accepted tokens over N; the correction or bonus does not count."""
    return _share(block.accepted, block)


def conditional_block_efficiency(block: Block) -> Number:
    """CBE: ``1/N * sum_k (1 - TV_k) * prod_{j<k} min(1, target/draft of token j)``."""
    total, reached = Fraction(0), Fraction(1)
    for agreement, survival in zip(block.agreement, block.survival, strict=True):
        total += reached * agreement  # type: ignore[assignment]  # floats stay floats
        reached *= survival  # type: ignore[assignment]
    return _share(total, block)


def truncated_block_divergence(block: Block) -> Number:
    """TBD: sum of ``1 - TV`` over the positions up to and including the first rejection, over N."""
    return _share(sum(block.agreement[: block.accepted + 1]), block)


def _share(total: Number, block: Block) -> Number:
    if block.length == 0:
        raise ValueError(
            "a block of no positions has no block reward; rank an arm without speculation by tokens per cost"
        )
    return total / block.length if isinstance(total, float) else Fraction(total) / block.length


REWARDS: dict[str, Reward] = {
    "block_divergence": block_divergence,
    "block_efficiency": block_efficiency,
    "conditional_block_efficiency": conditional_block_efficiency,
    "truncated_block_divergence": truncated_block_divergence,
}
SHORT = {"BD": "block_divergence", "BE": "block_efficiency", "CBE": "conditional_block_efficiency",
         "tBD": "truncated_block_divergence"}  # fmt: skip


PER_COST = "tokens_per_cost"  # the reward that needs an instance's costs


def reward(name: str) -> Reward:
    """Return the named reward, by its full or its short name. Raises ``ValueError`` for an unknown one."""
    full = SHORT.get(name, name)
    if full not in REWARDS:
        raise ValueError(nearest("reward", name, [*REWARDS, *SHORT]))
    return REWARDS[full]


def tokens_per_cost(costs: Sequence[Number], lengths: Sequence[int]) -> Callable[[int, Block], Number]:
    """Reward ``(arm, block) -> emitted tokens per cost``, over the most that any arm can emit per cost.

    The reward to use when arms differ in cost or length, or one of them does not speculate: shares of different N do not
    rank drafters. Raises ``ValueError`` for costs that are not positive, or are not as many as lengths.
    """
    if len(costs) != len(lengths) or any(cost <= 0 for cost in costs):
        raise ValueError(f"{len(lengths)} arms need as many positive costs, got {[str(cost) for cost in costs]}")
    most = max(Fraction(length + 1) / Fraction(cost) for length, cost in zip(lengths, costs, strict=True))
    return lambda arm, block: Fraction(block.emitted) / Fraction(costs[arm]) / most
