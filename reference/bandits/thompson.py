"""Thompson sampling: play the drafter whose mean is highest in a draw from what is believed about it.

The draw is continuous, so chance must offer ``uniform()``; the exact engine, which enumerates, refuses this policy.
"""

import math
from dataclasses import dataclass
from typing import Literal

from scipy.special import betaincinv, ndtri

from specproof.reference.bandits.block import Number
from specproof.reference.bandits.policy import Record, best, check_arms, empty
from specproof.reference.bandits.uniforms import uniform
from specproof.reference.chance import Chance
from specproof.reference.names import nearest


@dataclass(frozen=True)
class Thompson:
    """``belief``: ``beta`` is Beta(1 + sum, 1 + n - sum) for rewards in [0, 1]; ``gauss`` is Normal(mean, sd / sqrt(n)).

    One uniform is asked for each arm, in order, and turned into the draw by the inverse distribution function.
    """

    arms: int
    belief: Literal["beta", "gauss"] = "beta"
    sd: float = 0.4
    feedback: Literal["chosen"] = "chosen"

    def __post_init__(self) -> None:
        check_arms(self.arms)
        if self.belief not in ("beta", "gauss"):
            raise ValueError(nearest("belief", self.belief, ["beta", "gauss"]))
        if not self.sd > 0:
            raise ValueError(f"sd must be positive, got {self.sd}")

    def start(self) -> Record:
        """No rounds."""
        return empty(self.arms)

    def choose(self, state: Record, chance: Chance) -> int:
        """The highest draw; a Gaussian belief starts with every arm once."""
        if self.belief == "gauss" and 0 in state.pulls:
            return state.pulls.index(0)
        levels = [uniform(chance, "Thompson sampling") for _ in range(self.arms)]
        return best([self.draw(state, arm, level) for arm, level in enumerate(levels)], "lowest", chance)

    def draw(self, state: Record, arm: int, level: float) -> float:
        """The quantile of what is believed about an arm."""
        if self.belief == "gauss":
            return state.mean(arm) + self.sd / math.sqrt(state.pulls[arm]) * float(ndtri(level))
        total, pulls = float(state.sums[arm]), state.pulls[arm]
        return float(betaincinv(1 + total, 1 + max(0.0, pulls - total), level))

    def update(self, state: Record, arm: int, reward: Number) -> Record:
        """One more round with the arm."""
        return state.after(arm, reward)
