"""Turn a plain function into a verifier: the shortest way to have somebody's code certified."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness

VerifyFunction = Callable[..., tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class FunctionVerifier:
    """A verifier made of a function; see ``from_function``."""

    function: VerifyFunction
    drafting: Drafting
    capabilities: frozenset[str]
    rule: str | None = None
    rule_options: dict[str, Any] = field(default_factory=dict)

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG002
        """Call the function on the batch and lay its answer out as an ``Outcome``."""
        single = self.drafting.drafts == 1
        given = (drafts.tokens, drafts.draft_rows(), drafts.target_probs)
        answer = self.function(*((tensor[:, 0] for tensor in given) if single else given), generator)
        try:
            tokens, accepted = answer
        except (TypeError, ValueError):
            raise TypeError(f"the function must return (tokens, accepted), got {type(answer).__name__}") from None
        return Outcome(padded(tokens, accepted), accepted)


def padded(tokens: Tensor, accepted: Tensor) -> Tensor:
    """Write -1 behind the ``accepted + 1`` tokens of each row; anything malformed is passed on for the harness to see."""
    fits = isinstance(tokens, Tensor) and isinstance(accepted, Tensor)
    if not fits or tokens.dim() != 2 or accepted.shape != tokens.shape[:1] or tokens.is_floating_point():
        return tokens
    return torch.where(torch.arange(tokens.shape[1], device=tokens.device) <= accepted[:, None], tokens, -1)


def from_function(
    function: VerifyFunction, *, drafts: int = 1, replacement: bool = True, batch: bool = True,
    rule: str | None = None, capabilities: Iterable[str] = (), **rule_options: Any,
) -> FunctionVerifier:  # fmt: skip
    """Wrap ``function(draft_tokens, draft_probs, target_probs, generator) -> (tokens, accepted)`` as a verifier.

    Shapes are [B, L], [B, L, V], [B, L+1, V] in and [B, L+1], [B] out; with ``drafts=K`` above one the inputs carry a K
    axis after B. What stands behind the ``accepted + 1`` tokens of a row is ignored. ``batch=False`` means that it takes
    B = 1 only; ``rule`` (and its options) names the reference rule whose acceptance the function promises.
    Raises ``TypeError`` for something that cannot be called, ``ValueError`` for fewer than one draft.
    """
    if not callable(function):
        raise TypeError(f"from_function needs a function, got {type(function).__name__}")
    if drafts < 1:
        raise ValueError(f"drafts must be at least 1, got {drafts}")
    declared = frozenset(capabilities) | ({"batch"} if batch else set()) | ({"drafts"} if drafts > 1 else set())
    return FunctionVerifier(function, Drafting(drafts, replacement), declared, rule, rule_options)
