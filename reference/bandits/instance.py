"""What a policy is played on: drafters, what rounds and switches cost, what it is told, and changes of roles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from specproof.reference.bandits.block import Block, Number
from specproof.reference.bandits.drafters import Drafters, tokens_a_round
from specproof.reference.bandits.rewards import PER_COST, Reward, reward, tokens_per_cost


@dataclass(frozen=True)
class Instance:
    """Drafters with the cost of a round with each, the cost of changing the arm, and changes of roles.

    ``changes`` are pairs (tokens, order): from that many tokens on, arm ``a`` plays drafter ``order[a]``. The best arm
    has the most tokens for its cost. Raises ``ValueError`` for costs that are not positive or not as many as arms.
    """

    drafters: Drafters
    costs: tuple[Number, ...] = ()
    switch_cost: Number = 0
    changes: tuple[tuple[int, tuple[int, ...]], ...] = ()

    def __post_init__(self) -> None:
        arms = len(self.drafters.lengths)
        if self.costs and (len(self.costs) != arms or any(cost <= 0 for cost in self.costs)):
            raise ValueError(f"{arms} arms need as many positive costs, got {[str(cost) for cost in self.costs]}")
        if self.switch_cost < 0 or any(sorted(order) != list(range(arms)) for _, order in self.changes):
            raise ValueError(f"a switch costs 0 or more, and a change reorders {arms} arms; got {self}")

    @property
    def arms(self) -> int:
        """Number of drafters, K."""
        return len(self.drafters.lengths)

    @property
    def round_costs(self) -> tuple[Number, ...]:
        """Cost of a round with each drafter; 1 unless told."""
        return self.costs or (1,) * self.arms

    def tokens_a_round(self) -> list[Number]:
        """Mean emitted tokens of a round with each drafter, m."""
        return tokens_a_round(self.drafters)

    def losses(self) -> list[Number]:
        """Pseudo-regret of a round with each drafter, in units of cost: ``cost - tokens * (cost / tokens) of the best``."""
        pairs = list(zip(self.round_costs, self.tokens_a_round(), strict=True))
        cheapest = min(_ratio(cost, tokens) for cost, tokens in pairs)
        return [cost - tokens * cheapest for cost, tokens in pairs]

    @property
    def best(self) -> int:
        """The best arm before any change of roles; the lowest of several."""
        losses = self.losses()
        return losses.index(min(losses))

    def drafter(self, arm: int, emitted: int) -> int:
        """Which drafter the arm plays after so many tokens."""
        order: Sequence[int] = range(self.arms)
        for start, later in self.changes:
            if emitted >= start:
                order = later
        return order[arm]

    def telling(self, name: str) -> Callable[[int, Block], Number]:
        """What a policy is told, by the name of the reward. Raises ``ValueError`` for an unknown one, or as ``told``."""
        return self.told_per_cost() if name == PER_COST else self.told(reward(name))

    def told(self, earned: Reward) -> Callable[[int, Block], Number]:
        """The block reward, for every arm alike. Raises ``ValueError`` for arms of different length, where it misranks."""
        if len(set(self.drafters.lengths)) > 1:
            raise ValueError(
                f"drafters of lengths {list(self.drafters.lengths)}: shares of different lengths do not rank them; "
                "use tokens per cost"
            )
        return lambda _, block: earned(block)

    def told_per_cost(self) -> Callable[[int, Block], Number]:
        """Tokens per cost, the reward for arms of different cost or length."""
        return tokens_per_cost(self.round_costs, self.drafters.lengths)


def _ratio(cost: Number, tokens: Number) -> Any:
    return cost / tokens if isinstance(cost, float) or isinstance(tokens, float) else Fraction(cost) / tokens
