"""The policies of ``specproof.reference.bandits`` as makers of bandits, certified like anybody's: ``bandit:meta_sd_ucb``."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from specproof.reference.bandits import Bandit, policy, policy_names, policy_options
from specproof.reference.bandits import reward as known_reward
from specproof.reference.bandits.play import from_seed
from specproof.reference.names import nearest

# Policies that are told what a bandit has to find out.
TOLD = {
    "router": "it is told the best arm",
    "oracle": "it is told the best arm",
    "full_information": "it is told the rewards of all arms",
}
DRAWING = ("exp3", "exp3_spec", "epsilon_greedy", "thompson", "random")


@dataclass(frozen=True)
class BuiltIn:
    """Makes fresh bandits of one policy, told one reward; see ``specproof.properties.bandit`` for what is declared how."""

    policy: str
    policy_options: Mapping[str, Any] = field(default_factory=dict)
    reward: str = "block_divergence"

    def __post_init__(self) -> None:
        if self.policy not in builtin_names():
            told = TOLD.get(self.policy)
            raise ValueError(
                f"policy {self.policy} cannot be certified: {told}"
                if told
                else nearest("bandit", self.policy, builtin_names())
            )
        known_reward(self.reward)
        policy(self.policy, 2, **self.policy_options)  # an option that is wrong is refused here

    @property
    def beta(self) -> float | None:
        """The bonus that was chosen by option."""
        return self.policy_options.get("beta")

    @property
    def draws(self) -> bool:
        """Whether its choices are random."""
        return self.policy in DRAWING or self.policy_options.get("ties") == "uniform"

    @property
    def __signature__(self) -> inspect.Signature:
        free = "beta" in policy_options(self.policy) and "beta" not in self.policy_options
        names = ["arms", *(["beta"] if free else []), *(["seed"] if self.draws else [])]
        return inspect.Signature([inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names])

    def __call__(self, *, arms: int, seed: int = 0, **settings: Any) -> Bandit:
        """Return a bandit that has seen nothing."""
        return Bandit(policy(self.policy, arms, **{**settings, **self.policy_options}), from_seed(seed))


def builtin_names() -> list[str]:
    """Policies that can be certified."""
    return [name for name in policy_names() if name not in TOLD]
