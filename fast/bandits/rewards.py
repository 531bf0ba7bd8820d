"""What a policy is told about a block, as in ``reference.bandits.rewards``, for many runs at once.

Rewards come as numerators over one scale. The division is left to where means are taken: sums of accepted counts then stay
whole numbers, and equal records have equal means.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from specproof.fast.bandits.blocks import Blocks
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.rewards import PER_COST, SHORT
from specproof.reference.names import nearest

Told = Callable[[Tensor, Blocks], Tensor]


def block_divergence(blocks: Blocks) -> Tensor:
    """Sum of ``1 - TV`` over all drafted positions."""
    return total(blocks.agreement)


def block_efficiency(blocks: Blocks) -> Tensor:
    """Accepted tokens."""
    return blocks.accepted.double()


def conditional_block_efficiency(blocks: Blocks) -> Tensor:
    """Mean of the accepted tokens given the drafted tokens and the rows: the coins are averaged out."""
    reached = torch.ones_like(blocks.survival[0])
    value = torch.zeros_like(reached)
    for agreement, survival in zip(blocks.agreement, blocks.survival, strict=True):
        value += reached * agreement
        reached = reached * survival
    return value


def truncated_block_divergence(blocks: Blocks) -> Tensor:
    """Sum of ``1 - TV`` up to and with the first rejected position."""
    return total(agreement * (blocks.accepted >= position) for position, agreement in enumerate(blocks.agreement))


REWARDS: dict[str, Callable[[Blocks], Tensor]] = {
    "block_divergence": block_divergence,
    "block_efficiency": block_efficiency,
    "conditional_block_efficiency": conditional_block_efficiency,
    "truncated_block_divergence": truncated_block_divergence,
}


def told(instance: Instance, name: str) -> tuple[Told, float]:
    """The reward ``(drafters [R], blocks) -> numerators [R]`` and its scale: one of ``REWARDS`` or ``tokens_per_cost``.

    Raises ``ValueError`` for an unknown name, and for a block reward where arms differ in length: it would misrank them.
    """
    full = SHORT.get(name, name)
    if full == PER_COST:
        prices = torch.tensor([float(cost) for cost in instance.round_costs], dtype=torch.float64)
        lengths = torch.tensor(instance.drafters.lengths)
        return lambda drafters, blocks: (blocks.accepted + 1) / prices[drafters], float(((lengths + 1) / prices).max())
    if full not in REWARDS:
        raise ValueError(nearest("reward", name, [*REWARDS, PER_COST, *SHORT]))
    instance.told(lambda block: block.accepted)  # refuses lengths that differ
    return lambda _, blocks: REWARDS[full](blocks), float(instance.drafters.lengths[0])


def total(rows: Tensor | Iterable[Tensor]) -> Tensor:
    """Sum over positions, first to last, as one run adds them."""
    first, *others = rows
    value = first.clone()
    for row in others:
        value += row
    return value
