"""Bandits over drafters, thousands of runs at once: the policies of ``reference.bandits`` on the same instances.

``batched(policy)`` takes a policy of the reference, with its options; ``play`` runs it. On the same uniforms both choose
the same arms.
"""

from typing import Any

from specproof.fast.bandits.policy import Policy
from specproof.fast.bandits.randomised import Anything, Believing, Epsilon, Exponential
from specproof.fast.bandits.scheduled import Halving, InTurn, Leader, One, Routed
from specproof.fast.bandits.ucb import UCB, Discounted, Divergence, SlidingWindow, Spec, Variance
from specproof.reference.bandits.discounted_ucb import DiscountedUCB
from specproof.reference.bandits.epsilon_greedy import EpsilonGreedy
from specproof.reference.bandits.exp3 import Exp3
from specproof.reference.bandits.exp3_spec import Exp3Spec
from specproof.reference.bandits.fixed import Static
from specproof.reference.bandits.full_information import FullInformation
from specproof.reference.bandits.kl_ucb import KLUCB
from specproof.reference.bandits.policy import Policy as Reference
from specproof.reference.bandits.round_robin import RoundRobin
from specproof.reference.bandits.router import Router
from specproof.reference.bandits.sliding_window_ucb import SlidingWindowUCB
from specproof.reference.bandits.successive_halving import SuccessiveHalving
from specproof.reference.bandits.thompson import Thompson
from specproof.reference.bandits.ucb import MetaSDUCB
from specproof.reference.bandits.ucb_spec import UCBSpec
from specproof.reference.bandits.ucb_v import UCBV
from specproof.reference.bandits.uniform import Uniform

_BATCHED: dict[type, Any] = {
    MetaSDUCB: UCB,
    UCBSpec: Spec,
    UCBV: Variance,
    KLUCB: Divergence,
    Exp3: Exponential,
    Exp3Spec: Exponential,
    SuccessiveHalving: Halving,
    EpsilonGreedy: Epsilon,
    Thompson: Believing,
    DiscountedUCB: Discounted,
    SlidingWindowUCB: SlidingWindow,
    FullInformation: Leader,
    Static: One,
    Router: Routed,
    RoundRobin: InTurn,
    Uniform: Anything,
}


def batched(policy: Reference) -> Policy:
    """The same policy for many runs at once. Raises ``TypeError`` for one that is not of the reference."""
    if type(policy) not in _BATCHED:
        raise TypeError(f"no batched form of {policy!r}; there is one of every policy of reference.bandits")
    made: Policy = _BATCHED[type(policy)](policy)
    return made
