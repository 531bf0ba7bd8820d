"""dflash: the rejection sampling of its decoding loop, one request at a time, from dense or from sparse draft rows."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from specproof.fast.from_function import FunctionVerifier, from_function
from specproof.integration.adapters.known import known, one_request_each
from specproof.integration.isolation import import_from
from specproof.integration.shelf import Located

TAKES = "draft_tokens target_probs draft_probs draft_indices"


def dense(located: Located) -> FunctionVerifier:
    """Draft rows over the whole vocabulary."""
    return _verifier(located, lambda row: (row, None))


def sparse(located: Located) -> FunctionVerifier:
    """Draft rows as (probability, token) pairs, most probable first, as its drafters with a short list hand them over."""

    def shortened(row: Tensor) -> tuple[Tensor, Tensor]:
        probabilities, tokens = row.sort(-1, descending=True)
        support = int((probabilities > 0).sum(-1).max())
        return probabilities[..., :support].contiguous(), tokens[..., :support].contiguous()

    return _verifier(located, shortened)


def _verifier(located: Located, rows: Callable[[Tensor], tuple[Tensor, Tensor | None]]) -> FunctionVerifier:
    function = known(import_from(located.root, "dflash.model"), "_rejection_sample", TAKES, located)

    def verify(tokens: Tensor, draft: Tensor, target: Tensor, _: Any) -> tuple[Tensor, Tensor]:
        answers = []
        for b in range(len(tokens)):
            one = slice(b, b + 1)
            accepted, final = function(tokens[one], target[one], *rows(draft[one]))
            answers.append((int(accepted), int(final)))
        return one_request_each(answers, tokens)

    return from_function(verify, rule="standard", capabilities={"global_rng"})
