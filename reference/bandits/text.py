"""The exact law of the text when a policy chooses the drafter of every block: the target's, whatever the policy does.

A lossless rule keeps the target's law with any drafter, and the choice depends only on what was emitted and observed
before, so the conditional law of every block is right. Choosing after the block was looked at is another matter.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from specproof.reference.bandits.block import Block
from specproof.reference.bandits.drafters import along
from specproof.reference.bandits.policy import Policy
from specproof.reference.bandits.rewards import Reward
from specproof.reference.chance import Chance
from specproof.reference.law import law
from specproof.reference.model import Model, Prefix, after
from specproof.reference.step import Verify, sample
from specproof.reference.verifiers import standard

Place = tuple[Any, Prefix]  # the policy's state, the text so far


def text_law(
    policy: Policy, target: Model, drafts: Sequence[Model], *, length: int, tokens: int, reward: Reward,
    verify: Verify = standard.verify,
) -> dict[Prefix, Fraction]:  # fmt: skip
    """The law of the first ``tokens`` tokens in fractions.

    Each round the policy chooses one of ``drafts``, which drafts ``length`` tokens after the text so far; ``verify`` decides,
    and the policy is told ``reward`` of the block: with the rows along the whole draft and the number of accepted tokens.
    Raises ``ValueError`` for another number of drafters than the policy has arms, or one that wants to see all rewards.
    """
    if policy.arms != len(drafts) or policy.feedback != "chosen":
        raise ValueError(
            f"{len(drafts)} drafters, one verified a round; the policy has {policy.arms} arms, feedback: {policy.feedback}"
        )
    finished: dict[Prefix, Fraction] = {}
    pending: dict[Place, Fraction] = {(policy.start(), ()): Fraction(1)}
    while pending:
        place = min(pending, key=lambda found: len(found[1]))
        mass = pending.pop(place)
        state, text = place

        def one_round(chance: Chance, state: Any = state, text: Prefix = text) -> Place:
            arm = policy.choose(state, chance)
            wanted, draft = after(target, text), after(drafts[arm], text)
            path = sample(chance, draft, length)
            step = verify(chance, wanted, draft, (path,))
            agreement, survival = along(wanted, draft, path)
            block = Block(tuple(agreement), tuple(survival), len(step.accepted))
            return policy.update(state, arm, reward(block)), (text + step.tokens)[:tokens]

        for (reached, longer), share in law(one_round).items():
            if len(longer) == tokens:
                finished[longer] = finished.get(longer, Fraction(0)) + mass * share
            else:
                pending[reached, longer] = pending.get((reached, longer), Fraction(0)) + mass * share
    return finished
