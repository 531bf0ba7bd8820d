"""vLLM: the compiled kernels of its build for CPUs, its Python rejection sampler, and its Triton kernels.

The kernels come out of the wheel without importing vLLM. They read raw pointers: another signature must not be called.
"""

import importlib.util
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from specproof.integration.adapters.flat import Flat, FlatVerifier
from specproof.integration.adapters.known import guest, interpreted
from specproof.integration.process.verifier import ProcessVerifier
from specproof.integration.shelf import Located
from specproof.integration.unavailable import Unavailable

SCHEMAS = {
    "rejection_random_sample_kernel_impl": (
        "output_token_ids cu_num_draft_tokens draft_token_ids draft_probs target_probs bonus_token_ids recovered_token_ids"
        " uniform_probs is_greedy max_spec_len vocab_size no_draft_probs"
    ),
    "sample_recovered_tokens_kernel_impl": (
        "output_token_ids cu_num_draft_tokens draft_token_ids draft_probs target_probs inv_q vocab_size no_draft_probs"
    ),
}


def compiled(located: Located) -> tuple[Any, Any]:
    """The two kernels, verifying and recovering. Raises ``Unavailable`` where the library lacks them as they are known."""
    space: Any = torch.ops._C
    if not hasattr(space, "rejection_random_sample_kernel_impl"):
        capability = torch.backends.cpu.get_cpu_capability()
        library = located.file(f"vllm/_C_{'AVX512' if capability == 'AVX512' else 'AVX2'}.abi3.so")
        load: Any = torch.ops.load_library
        try:
            load(str(library))
        except OSError as error:
            raise Unavailable(f"{located.package.name} {located.version}: {error}") from None
    return registered(f"{located.package.name} {located.version}")


def registered(where: str) -> tuple[Any, Any]:
    """The kernels of a library that is loaded. Raises ``Unavailable``, naming ``where``, unless their signatures are as known.

    They read raw pointers, so another signature must not be called.
    """
    space: Any = torch.ops._C
    found = []
    for name, arguments in SCHEMAS.items():
        if not hasattr(space, name):
            raise Unavailable(f"{where} has no kernel {name}")
        schema = getattr(space, name).default._schema
        if [argument.name for argument in schema.arguments] != arguments.split():
            raise Unavailable(f"{where}: {name} has another signature: {schema}")
        found.append(getattr(space, name))
    return found[0], found[1]


def kernels(located: Located) -> FlatVerifier:
    """The compiled kernels, with the noise that vLLM's sampler draws for them."""
    verify, recover = compiled(located)
    return FlatVerifier(_caller(verify, recover))


def onehot(located: Located) -> FlatVerifier:
    """The same without draft probabilities, as for lookup drafters: the drafted token is taken for certain."""
    verify, recover = compiled(located)
    capabilities = frozenset({"batch", "ragged", "one_hot_draft"})
    return FlatVerifier(_caller(verify, recover, without_rows=True), rule="sample_match", capabilities=capabilities)


def sampler(located: Located) -> ProcessVerifier:
    """The Python function, in its environment."""
    return guest(located, "vllm_sampler.py:Function")


def forward(located: Located) -> ProcessVerifier:
    """The whole forward pass at temperature 1."""
    return guest(located, "vllm_sampler.py:Forward")


def forward_cold(located: Located) -> ProcessVerifier:
    """The whole forward pass at temperature 0.7."""
    return guest(located, "vllm_sampler.py:Cold")


def forward_top_k(located: Located) -> ProcessVerifier:
    """The same with top-k."""
    return guest(located, "vllm_sampler.py:TopK")


def forward_top_p(located: Located) -> ProcessVerifier:
    """The same with top-p."""
    return guest(located, "vllm_sampler.py:TopP")


def forward_mended(located: Located) -> ProcessVerifier:
    """With either, and with the one function replaced that is at fault on a CPU."""
    return guest(located, "vllm_sampler.py:Mended")


def triton(located: Located) -> ProcessVerifier:
    """The Triton kernels of the first runner, interpreted."""
    return _interpreted(located, "First")


def triton_onehot(located: Located) -> ProcessVerifier:
    """The same without draft probabilities."""
    return _interpreted(located, "FirstOnehot")


def triton_v2(located: Located) -> ProcessVerifier:
    """The Triton kernels of the second runner, interpreted."""
    return _interpreted(located, "Second")


def triton_v2_onehot(located: Located) -> ProcessVerifier:
    """The same without draft logits."""
    return _interpreted(located, "SecondOnehot")


def triton_v2_block(located: Located) -> ProcessVerifier:
    """The same with block verification."""
    return _interpreted(located, "SecondBlock")


def triton_v2_seeded(located: Located) -> ProcessVerifier:
    """The kernels of the second runner with the hash that makes their noise."""
    return _interpreted(located, "SecondSeeded")


def _interpreted(located: Located, guest: str) -> ProcessVerifier:
    if importlib.util.find_spec("triton") is None:
        raise Unavailable(f"vllm {located.version} needs triton: pip install 'specproof[kernels]'")
    return interpreted(f"specproof.integration.adapters.vllm_interpreted:{guest}", located)


def _caller(verify: Any, recover: Any, *, without_rows: bool = False) -> Callable[[Flat], Tensor]:
    def call(given: Flat) -> Tensor:
        batch = len(given.lengths)
        draft = None if without_rows else given.draft.contiguous()
        target, uniforms = given.target.contiguous(), given.uniforms.float()
        recovered = torch.empty_like(given.tokens)
        recover(
            recovered,
            given.ends,
            given.tokens,
            draft,
            target,
            given.exponentials.reciprocal(),
            given.vocabulary,
            without_rows,
        )
        output = torch.full((batch, given.longest + 1), -1)
        verify(
            output, given.ends, given.tokens, draft, target, given.bonus[:, None].contiguous(), recovered, uniforms, None,
            given.longest, given.vocabulary, without_rows,
        )  # fmt: skip
        return output

    return call
