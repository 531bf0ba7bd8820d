"""What a certified bandit is: an object with ``choose() -> arm`` and ``update(arm, reward)``, and how fresh ones are made.

It is given as a class or function that makes one. That is called with those of ``arms`` (K), ``length`` (N), ``beta`` (the
width of the exploration bonus) and ``seed`` that it takes by name. A bandit that takes no ``seed`` must be deterministic:
the same rewards lead to the same arms. An object in place of a maker is copied; it must say how many ``arms`` it has.

What it promises, it says in attributes of the maker or the object:

* ``policy``: name of the reference policy whose choices it makes (``specproof.reference.bandits``); without it, only what
  every policy with logarithmic regret must show is judged.
* ``reward``: what ``update`` is to be handed, by name, or a function of a ``reference.bandits.block.Block`` of its own; in
  that case ``declared_reward`` names what the function computes. Block divergence unless said otherwise.
* ``beta``: its bonus when the maker takes none.

``reset()``, where there is one, is called between queries.
"""

import copy
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from specproof.reference.bandits.rewards import Reward, reward
from specproof.reference.names import nearest

SETTINGS = ("arms", "length", "beta", "seed")


@dataclass(frozen=True)
class BanditMaker:
    """Makes fresh bandits of one kind. ``takes`` are the settings its maker accepts; ``arms`` is fixed for a copied object."""

    make: Callable[..., Any]
    takes: frozenset[str]
    declared_reward: str = "block_divergence"
    own_reward: Reward | None = None
    policy: str | None = None
    policy_options: Mapping[str, Any] = field(default_factory=dict)
    beta: float | None = None
    arms: int | None = None

    @property
    def randomised(self) -> bool:
        """Whether its choices may differ on the same rewards."""
        return "seed" in self.takes

    @property
    def reward(self) -> Reward:
        """What its ``update`` is handed for a block."""
        return self.own_reward or reward(self.declared_reward)

    def beta_at(self, wanted: float) -> float:
        """The width of its bonus when ``wanted`` is asked for."""
        return wanted if "beta" in self.takes or self.beta is None else self.beta

    def fresh(self, *, arms: int, length: int, beta: float, seed: int = 0) -> Any:
        """Return a bandit that has seen nothing."""
        settings = {"arms": arms, "length": length, "beta": beta, "seed": seed}
        return self.make(**{name: settings[name] for name in SETTINGS if name in self.takes})


def is_bandit(found: Any) -> bool:
    """Whether an object, or what a class makes, has the two methods of a bandit."""
    return callable(getattr(found, "choose", None)) and callable(getattr(found, "update", None))


def bandit_maker(found: Any, *, name: str) -> BanditMaker:
    """Describe a bandit by what it declares.

    Raises ``TypeError`` where a bandit cannot be made from ``found``, ``ValueError`` for an unknown reward.
    """
    declared = getattr(found, "reward", "block_divergence")
    own = declared if callable(declared) else None
    claimed = str(getattr(found, "declared_reward", "block_divergence") if own else declared)
    reward(claimed)
    policy, options = getattr(found, "policy", None), dict(getattr(found, "policy_options", {}))
    beta = getattr(found, "beta", None)
    beta = float(beta) if isinstance(beta, int | float) and math.isfinite(beta) else None
    promises: dict[str, Any] = {
        "declared_reward": claimed, "own_reward": own, "policy": policy if isinstance(policy, str) else None,
        "policy_options": options, "beta": beta,
    }  # fmt: skip
    if is_bandit(found) and not inspect.isclass(found):
        arms = getattr(found, "arms", None)
        if isinstance(arms, bool) or not isinstance(arms, int) or arms < 2:
            raise TypeError(
                f"{name} is a bandit without a number of arms: give it an attribute arms (at least 2), "
                "or give the class or function that makes it"
            )
        return BanditMaker(partial(copy.deepcopy, found), frozenset(), arms=arms, **promises)
    parameters = inspect.signature(found).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    for missing in needed:
        if missing not in SETTINGS:
            raise TypeError(nearest(f"setting of {name}", missing, SETTINGS))
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    takes = frozenset(SETTINGS if anything else (p.name for p in parameters if p.name in SETTINGS))
    return BanditMaker(found, takes, **promises)
