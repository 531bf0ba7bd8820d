"""Accept what the target would have drawn anyway (sample matching; the rule of most production engines).

At every position draw a token from the target. It is accepted when some draft that shares the accepted prefix has it,
and ends the step otherwise. The emitted tokens are the target's own draws, so the rule is lossless whatever the drafts
are; one draft is accepted with probability ``sum target draft``, which is below the ``sum min(target, draft)`` of others.
"""

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.step import Step


def verify(chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]) -> Step:  # noqa: ARG001
    """Verify any number of paths of equal length, however they were drawn."""
    prefix: Prefix = ()
    while True:
        token = chance.choose(target.probabilities(prefix))
        if (*prefix, token) not in {path[: len(prefix) + 1] for path in drafts}:
            return Step(prefix, token, target)
        prefix = (*prefix, token)
