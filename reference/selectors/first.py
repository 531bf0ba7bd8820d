"""Select the first draft: its law is the draft model's own, and the one-draft rule comes back."""

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix


def select(
    chance: Chance,  # noqa: ARG001
    target: Model,  # noqa: ARG001
    draft: Model,
    drafts: tuple[Prefix, ...],
) -> tuple[Prefix, Model]:
    """Return the first path and the draft model."""
    return drafts[0], draft
