"""Bandits over drafters (MetaSD): rewards, policies, instances, and what they cost in rounds.

``policy(name, arms, best=..., **options)`` and ``reward(name)`` are the only ways in; one policy a file.
"""

import inspect
from collections.abc import Callable
from typing import Any

from specproof.reference.bandits.discounted_ucb import DiscountedUCB
from specproof.reference.bandits.epsilon_greedy import EpsilonGreedy
from specproof.reference.bandits.exp3 import Exp3
from specproof.reference.bandits.exp3_spec import Exp3Spec
from specproof.reference.bandits.fixed import Static, oracle
from specproof.reference.bandits.full_information import FullInformation
from specproof.reference.bandits.kl_ucb import KLUCB
from specproof.reference.bandits.policy import Bandit, Policy
from specproof.reference.bandits.rewards import REWARDS, reward
from specproof.reference.bandits.round_robin import RoundRobin
from specproof.reference.bandits.router import Router
from specproof.reference.bandits.sliding_window_ucb import SlidingWindowUCB
from specproof.reference.bandits.successive_halving import SuccessiveHalving
from specproof.reference.bandits.thompson import Thompson
from specproof.reference.bandits.ucb import MetaSDUCB
from specproof.reference.bandits.ucb_spec import UCBSpec
from specproof.reference.bandits.ucb_v import UCBV
from specproof.reference.bandits.uniform import Uniform
from specproof.reference.names import nearest

__all__ = ["REWARDS", "Bandit", "Policy", "policy", "policy_names", "policy_options", "reward"]

_POLICIES: dict[str, Callable[..., Policy]] = {
    "meta_sd_ucb": MetaSDUCB,
    "ucb_spec": UCBSpec,
    "ucb_v": UCBV,
    "kl_ucb": KLUCB,
    "exp3": Exp3,
    "exp3_spec": Exp3Spec,
    "successive_halving": SuccessiveHalving,
    "epsilon_greedy": EpsilonGreedy,
    "thompson": Thompson,
    "discounted_ucb": DiscountedUCB,
    "sliding_window_ucb": SlidingWindowUCB,
    "full_information": FullInformation,
    "static": Static,
    "router": Router,
    "round_robin": RoundRobin,
    "random": Uniform,
    "oracle": oracle,
}
_NOT_OPTIONS = ("arms", "best", "feedback")


def policy_names() -> list[str]:
    """Names that ``policy`` takes."""
    return list(_POLICIES)


def policy_options(name: str) -> list[str]:
    """Options of the named policy. Raises ``ValueError`` for an unknown name."""
    if name not in _POLICIES:
        raise ValueError(nearest("policy", name, policy_names()))
    return [option for option in inspect.signature(_POLICIES[name]).parameters if option not in _NOT_OPTIONS]


def policy(name: str, arms: int, *, best: int | None = None, **options: Any) -> Policy:
    """Return the named policy for so many arms.

    ``best`` is the best arm, for the policies that know it (``router``, ``oracle``). Raises ``ValueError`` for an unknown
    name or option, an option out of range, or when the best arm is needed and not given.
    """
    allowed = policy_options(name)
    for option in options:
        if option not in allowed:
            raise ValueError(nearest(f"option of {name}", option, allowed))
    known = {}
    if "best" in inspect.signature(_POLICIES[name]).parameters:
        if best is None:
            raise ValueError(f"policy {name} knows the best arm of the instance; give best=0..{arms - 1}")
        known["best"] = best
    return _POLICIES[name](arms, **known, **options)
