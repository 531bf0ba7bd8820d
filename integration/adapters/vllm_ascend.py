"""vllm-ascend: the PyTorch path of its rejection sampler, out of one file of its wheel; several releases side by side.

Block verification is certified for drafts of any length; the engine runs it from three tokens on (always in 0.13 and 0.18,
where it is switched on in 0.23).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from specproof.integration.adapters.flat import Flat, FlatVerifier
from specproof.integration.adapters.known import known
from specproof.integration.isolation import import_files
from specproof.integration.shelf import Located

MODULE = "vllm_ascend.sample.rejection_sampler"
VLLM = {"vllm.v1.sample.rejection_sampler": {"PLACEHOLDER_TOKEN_ID": -1, "GREEDY_TEMPERATURE": 0, "MAX_SPEC_LEN": 128}}
VERIFY = (
    "output_token_ids cu_num_draft_tokens draft_token_ids draft_probs target_probs bonus_token_ids recovered_token_ids"
    " uniform_probs is_greedy max_spec_len vocab_size"
)
RECOVER = "output_token_ids cu_num_draft_tokens draft_token_ids draft_probs target_probs q vocab_size"


class _Unpinned:
    """``torch`` without pinned memory, which a machine without an accelerator refuses."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(torch, name)
        if name not in ("tensor", "arange", "ones", "zeros", "full", "empty"):
            return found

        def factory(*given: Any, pin_memory: bool = False, **named: Any) -> Any:  # noqa: ARG001
            return found(*given, **named)

        return factory


def token(located: Located) -> FlatVerifier:
    """Token verification."""
    return FlatVerifier(_caller(located, "rejection_random_sample_pytorch"))


def block(located: Located) -> FlatVerifier:
    """Block verification; what it accepts is promised by no published rule."""
    return FlatVerifier(_caller(located, "rejection_random_sample_block_verify_pytorch"), rule=None)


def _module(located: Located) -> Any:
    path = located.file(f"{MODULE.replace('.', '/')}.py")
    module = import_files(MODULE, {MODULE: path}, stubs=("vllm", "torch_npu"), values=VLLM)
    module.torch = _Unpinned()
    return module


def _caller(located: Located, verifying: str) -> Callable[[Flat], Tensor]:
    module = _module(located)
    verify = known(module, verifying, VERIFY, located)
    recover = known(module, "sample_recovered_tokens_pytorch", RECOVER, located)

    def call(given: Flat) -> Tensor:
        batch = len(given.lengths)
        recovered = torch.empty_like(given.tokens)
        rows = (given.ends, given.tokens, given.draft, given.target)
        recover(recovered, *rows, given.exponentials, given.vocabulary)
        output = torch.full((batch, given.longest + 1), -1)
        greedy = torch.zeros(batch, dtype=torch.bool)
        verify(output, *rows, given.bonus, recovered, given.uniforms, greedy, given.longest, given.vocabulary)
        return output

    return call
