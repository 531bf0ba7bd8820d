"""flashspec: its rejection step (one chain, q from a model or one-hot) and the older function that leaves the bonus out."""

from typing import Any

from torch import Tensor

from specproof.fast.from_function import FunctionVerifier, from_function
from specproof.integration.adapters.known import drawn, known, laid_out
from specproof.integration.isolation import import_from
from specproof.integration.shelf import Located

MODULE = "flashspec.sampling.rejection"


def step(located: Located) -> FunctionVerifier:
    """The function that its engine calls: log-probabilities in, accepted length and next token out."""
    function = known(
        import_from(located.root, MODULE), "rejection_step",
        "draft_token_ids draft_logprobs target_logprobs generator", located,
    )  # fmt: skip

    def verify(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
        accepted, final = function(tokens, draft.log(), target.log(), generator=generator).unbind(-1)
        return laid_out(tokens, accepted, final)

    return from_function(verify, rule="standard")


def sample(located: Located) -> FunctionVerifier:
    """The function with the same rule that returns at most L tokens; the bonus is drawn here, as its callers do.

    It draws corrections only when some request of the batch was rejected, so how many numbers one request uses depends on
    its neighbours: it is handed one request at a time.
    """
    function = known(
        import_from(located.root, MODULE), "rejection_sample",
        "input_ids draft_logprobs target_logprobs draft_token_ids gamma generator", located,
    )  # fmt: skip

    def verify(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
        length = tokens.shape[1]
        bonus = drawn(target[:, -1], generator)
        emitted, accepted, _ = function(
            tokens, draft.log(), target[:, :-1].log(), tokens, length, generator=generator
        )  # [B, L] padded with -1
        last = accepted.long().clamp(max=length - 1)[:, None]
        final = emitted.gather(1, last)[:, 0].where(accepted < length, bonus)
        return laid_out(tokens, accepted, final)

    return from_function(verify, rule="standard", batch=False)


def onehot(located: Located) -> FunctionVerifier:
    """The step for deterministic drafters: the drafted token is taken for certain, whatever it was drawn from."""
    function = known(
        import_from(located.root, MODULE), "rejection_step_onehot",
        "draft_token_ids target_logprobs draft_len generator", located,
    )  # fmt: skip

    def verify(tokens: Tensor, _: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
        accepted, final = function(tokens, target.log(), generator=generator).unbind(-1)
        return laid_out(tokens, accepted, final)

    return from_function(verify, rule="sample_match", capabilities={"one_hot_draft"})
