"""Causal language models of ``transformers`` behind the contract of ``fast.language_model``.

Everything that moved between releases of ``transformers`` is here: the name of the cache's argument and its layers.
"""

import inspect
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from specproof.fast.language_model import Scores


class TransformersModel:
    """A causal language model, in evaluation mode."""

    def __init__(self, model: Any, name: str = "model") -> None:
        self.name = name
        self.network = model.eval()
        self.vocabulary = int(model.config.vocab_size)
        self.context = int(getattr(model.config, "max_position_embeddings", 1 << 30))
        self.device: torch.device = model.device
        self.dtype: torch.dtype = model.dtype

    def session(self, batch: int) -> "TransformersSession":
        """Return an empty cache for a batch."""
        return TransformersSession(self, batch)

    def run(self, tokens: Tensor, features: Tensor | None, **given: Any) -> Scores:
        """Score tokens [B, Q], with positions, mask and cache as ``given``."""
        assert features is None, "only heads take features"
        said = self.network(input_ids=tokens, output_hidden_states=True, **with_cache(self.network, given))
        return Scores(said.logits.float(), said.hidden_states[-1])


def with_cache(network: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call with the cache under the name that this release gives it."""
    name = "cache" if "cache" in inspect.signature(network.forward).parameters else "past_key_values"
    return {name: given.pop("cache"), "use_cache": True, **given}


class Runnable(Protocol):
    """What a session needs of a model."""

    context: int
    dtype: torch.dtype

    def run(self, tokens: Tensor, features: Tensor | None, **given: Any) -> Scores:
        """Score tokens [B, Q]."""
        ...


class TransformersSession:
    """The cache of a batch."""

    def __init__(self, model: Runnable, batch: int) -> None:
        from transformers import DynamicCache

        self._model, self._batch = model, batch
        self._cache = DynamicCache()

    @torch.inference_mode()
    def feed(self, tokens: Tensor, positions: Tensor, sees: Tensor, features: Tensor | None = None) -> Scores:
        """Append tokens; see ``fast.language_model.Session``."""
        mask = torch.zeros(sees.shape, dtype=self._model.dtype, device=tokens.device)
        mask.masked_fill_(~sees, torch.finfo(mask.dtype).min)
        at = positions.clamp(max=self._model.context - 1)  # padding may lie beyond it
        return self._model.run(tokens, features, position_ids=at, attention_mask=mask[:, None], cache=self._cache)

    @torch.inference_mode()
    def keep(self, rows: Tensor, slots: Tensor) -> None:
        """Keep some requests and slots; see ``fast.language_model.Session``."""
        for layer in self._cache.layers:
            at = slots[:, None, :, None]
            for name in ("keys", "values"):
                held = getattr(layer, name)[rows]  # [b, heads, slots, width]
                setattr(layer, name, held.gather(2, at.expand(-1, held.shape[1], -1, held.shape[3])))


def load(path: str | Path, device: str = "cpu") -> TransformersModel:
    """Load a causal language model from a folder. Raises ``FileNotFoundError`` where there is none."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()  # it would write into the output of whoever loads a model
    if not (Path(path) / "config.json").exists():
        raise FileNotFoundError(f"{path} holds no model: there is no config.json in it")
    return TransformersModel(AutoModelForCausalLM.from_pretrained(path).to(device), Path(path).name)
