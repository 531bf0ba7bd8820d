"""SGLang: the block-parallel rejection of its torch path, and its Triton kernel for chains, out of two files of its wheel."""

import importlib.util
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from specproof.fast.from_function import FunctionVerifier, from_function
from specproof.fast.randomness import uniforms
from specproof.integration.adapters.known import interpreted, known, laid_out
from specproof.integration.isolation import import_files
from specproof.integration.packages import package
from specproof.integration.process.verifier import ProcessVerifier
from specproof.integration.shelf import Located, locate
from specproof.integration.unavailable import Unavailable

OPS = "sglang.kernels.ops.speculative"
BLOCKWISE = f"{OPS}.dspark.blockwise_rejection"
CHAIN = f"{OPS}.reject_sampling"
TAKES_BLOCKWISE = "candidates target_logits draft_logits target_temperatures draft_temperatures noise"
TAKES_CHAIN = (
    "predicts accept_index accept_token_num candidates retrive_index retrive_next_token retrive_next_sibling uniform_samples"
    " uniform_samples_for_final_sampling target_probs draft_probs threshold_single threshold_acc deterministic"
    " block_verification"
)


def blockwise(located: Located) -> FunctionVerifier:
    """The torch path, which is also what production falls back to; its numbers follow from a key and a counter of calls."""
    module = _module(located, BLOCKWISE, stubs=("msgspec",))
    function = known(module, "blockwise_rejection_torch", TAKES_BLOCKWISE, located)
    noise = SimpleNamespace(key=1, counter=torch.zeros(1, dtype=torch.int64))

    def verify(tokens: Tensor, draft: Tensor, target: Tensor, _: Any) -> tuple[Tensor, Tensor]:
        batch = len(tokens)
        one = torch.ones(batch)
        candidates = torch.cat([tokens[:, :1], tokens], dim=-1)  # slot 0 is the root
        accepted, final, _ = function(
            candidates=candidates, target_logits=target.log().flatten(0, 1), draft_logits=draft.log(),
            target_temperatures=one, draft_temperatures=one, noise=noise,
        )  # fmt: skip
        return laid_out(tokens, accepted, final)

    return from_function(verify, rule="standard", capabilities={"hidden_randomness"})


def chain(located: Located, *, block: bool = False) -> FunctionVerifier:
    """The Triton kernel in the interpreter (``TRITON_INTERPRET=1`` before Triton is imported): uniforms in, tokens out."""
    module = _module(located, CHAIN)
    function = known(module, "chain_speculative_sampling_triton", TAKES_CHAIN, located)

    def verify(tokens: Tensor, draft: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
        batch, length = tokens.shape
        slots = torch.arange(batch * (length + 1)).view(batch, length + 1)
        # Singles just below one, not one: what was drawn in double precision is cut to their lattice.
        drawn = (uniforms(generator, batch, length + 1, tokens.device) * 2**24).floor().float() / 2**24
        predicts = torch.full((batch * (length + 1),), -1, dtype=torch.int32)
        count = torch.zeros(batch, dtype=torch.int32)
        nothing = torch.full_like(slots, -1)
        function(
            predicts, torch.full_like(slots, -1, dtype=torch.int32), count, torch.cat([tokens[:, :1], tokens], dim=-1), slots,
            nothing, nothing, drawn[:, :-1].contiguous(), drawn[:, -1].contiguous(), target.contiguous(), draft.contiguous(),
            1.0, 1.0, True, block_verification=block,
        )  # fmt: skip
        accepted = count.long()
        final = predicts.view(batch, -1).gather(1, accepted[:, None])[:, 0]
        return laid_out(tokens, accepted, final)

    return from_function(verify, rule="block" if block else "standard")


class Served:
    """The kernel as a process serves it where the interpreter is on: uniforms come with the request."""

    process_uniforms = {"token": 1, "request": 1}
    capabilities = frozenset({"batch", "slow"})
    block = False

    def __init__(self) -> None:
        from specproof.integration.adapters.triton_interpreter import quicken

        quicken()
        made = chain(locate(package("sglang")), block=self.block)
        self.verify, self.rule = made.verify, made.rule


class ServedBlock(Served):
    """The same with block verification."""

    block = True


def interpreted_chain(located: Located) -> ProcessVerifier:
    """The kernel in the interpreter, in a process of its own."""
    return interpreted(f"{__name__}:Served", located)


def interpreted_block(located: Located) -> ProcessVerifier:
    """The kernel with block verification."""
    return interpreted(f"{__name__}:ServedBlock", located)


def _module(located: Located, name: str, stubs: tuple[str, ...] = ()) -> Any:
    if importlib.util.find_spec("triton") is None:
        raise Unavailable(f"sglang {located.version} needs triton: pip install 'specproof[kernels]'")
    return import_files(name, {name: located.file(f"{name.replace('.', '/')}.py")}, stubs=stubs)
