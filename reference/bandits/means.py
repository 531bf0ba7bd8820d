"""Mean rewards of every arm: what an index policy ranks by once it has seen enough."""

from fractions import Fraction

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.drafters import Independent, block_law
from specproof.reference.bandits.instance import Instance
from specproof.reference.bandits.rewards import PER_COST, reward


def reward_means(instance: Instance, name: str) -> list[Number]:
    """Mean of the named reward for every drafter: closed forms for independent positions, else by enumeration.

    Raises ``ValueError`` for an unknown reward, and for block rewards of arms that differ in length.
    """
    told, drafters = instance.telling(name), instance.drafters
    if not isinstance(drafters, Independent):
        laws = [block_law(drafters, arm) for arm in range(instance.arms)]
        return [sum(mass * told(arm, block) for block, mass in found.items()) for arm, found in enumerate(laws)]
    emitted, costs = drafters.tokens_a_round(), instance.round_costs
    if name == PER_COST:
        most = max(Fraction(length + 1) / Fraction(cost) for length, cost in zip(drafters.lengths, costs, strict=True))
        return [each / cost / most for each, cost in zip(emitted, costs, strict=True)]
    if reward(name) is reward("block_divergence"):
        return list(drafters.acceptance)
    # The other three have the mean of block efficiency.
    return [(each - 1) / length for each, length in zip(emitted, drafters.lengths, strict=True)]
