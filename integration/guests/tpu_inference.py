"""tpu-inference: its JAX rejection sampler, out of one file; the package's other modules want TPUs and are not imported."""

import importlib.util
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np

MODULE = "tpu_inference.layers.jax.sample.rejection_sampler"
UNUSED = {  # what the file asks for above the functions that are used
    "tpu_inference.layers.common.binary_search": ("topk_mask", "topp_mask"),
    "tpu_inference.layers.common.sharding": ("ShardingAxisName",),
    "tpu_inference.layers.jax.sample.sampling_metadata": ("TPUSupportedSamplingMetadata",),
}


def loaded() -> Any:
    """The module, with stand-ins for what it does not use here."""
    for name, unused in UNUSED.items():
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            sys.modules.setdefault(".".join(parts[:end]), ModuleType(parts[end - 1]))
        for attribute in unused:
            setattr(sys.modules[name], attribute, None)
    path = Path(str(metadata.distribution("tpu-inference").locate_file(f"{MODULE.replace('.', '/')}.py")))
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Guest:
    """The sampled path; its caller draws the bonus token."""

    hello = {
        "name": "tpu-inference", "version": metadata.version("tpu-inference"), "rule": "standard",
        "capabilities": ["global_rng"],
    }  # fmt: skip

    def __init__(self) -> None:
        self.verify = jax.jit(loaded().rejection_sample, static_argnums=5)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Verify one batch. It is compiled for every shape, so batches are filled up to powers of two."""
        tokens = np.array(request["tokens"], dtype=np.int32)[:, 0]  # [B, L]
        draft, target = (np.array(request[key], dtype=np.float32)[:, 0] for key in ("draft_probs", "target_probs"))
        batch, length = tokens.shape
        rows = np.arange(1 << (batch - 1).bit_length()) % batch
        dice = np.random.default_rng(request["seed"])
        after = target[rows, -1].cumsum(-1)
        bonus = (after < dice.random((len(rows), 1)) * after[:, -1:]).sum(-1)
        output = self.verify(
            tokens[rows].ravel(), np.full(len(rows), length), draft[rows].reshape(-1, draft.shape[-1]),
            target[rows, :-1].reshape(-1, target.shape[-1]), bonus.astype(np.int32), True, jax.random.key(request["seed"]),
        )  # fmt: skip
        main, last = np.split(np.asarray(output), [len(rows) * length])
        whole = np.concatenate([main.reshape(-1, length), last[:, None]], axis=-1)[:batch]
        return {"tokens": whole.tolist(), "accepted": ((whole != -1).sum(-1) - 1).tolist()}
