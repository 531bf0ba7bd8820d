"""litgpt: its speculative decoding with two models, as whole loops that draw their own drafts.

Its models keep a cache by position; here a cache holds the text, and the models that the harness provides are asked with it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from specproof.fast.decoder import Model
from specproof.fast.sampling import Sampling
from specproof.integration.adapters.known import known
from specproof.integration.isolation import import_files
from specproof.integration.shelf import Located

MODULE = "litgpt.generate.speculative_decoding"
FILES = (MODULE, "litgpt.generate.base")
ROUND = "draft_model target_model token input_pos input_pos_maxp1 speculative_k sample_kwargs"
GENERATE = "draft_model target_model prompt max_returned_tokens temperature top_k top_p include_prompt speculative_k"
LENGTH = 2


class Cached:
    """A model with a cache by position: tokens that are written at a position replace what stood there."""

    max_seq_length = 2**31

    def __init__(self, model: Model) -> None:
        self._model = model
        self._text: list[int] = []

    def __call__(self, idx: Tensor, input_pos: Tensor, input_pos_maxp1: int | None = None) -> Tensor:  # noqa: ARG002
        """Logits [1, T, V] of tokens [1, T] at positions [T]."""
        positions = input_pos.tolist()
        self._text += [0] * (max(positions) + 1 - len(self._text))
        for position, token in zip(positions, idx[0].tolist(), strict=True):
            self._text[position] = token
        return self._model(torch.tensor(self._text[: max(positions) + 1]))[input_pos][None]

    def modules(self) -> list[Any]:
        """Itself: nothing of it is compiled."""
        return [self]

    def prefill(self, prefix: Tensor) -> "Cached":
        """Put a text into the cache without asking for what follows it."""
        self._text = prefix.tolist()
        return self


def parameters(sampling: Sampling) -> dict[str, Any]:
    """Sampling parameters as litgpt names them."""
    top_p = 1.0 if sampling.top_p is None else sampling.top_p
    return {"temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": top_p}


@dataclass(frozen=True)
class Rounds:
    """The function behind its loop, round after round."""

    function: Callable[..., Tensor]
    sample: Callable[..., tuple[Tensor, Tensor]]
    capabilities: frozenset[str]
    length: int = LENGTH

    def decode(
        self, target: Model, draft: Model, prefix: Tensor, tokens: int, generator: Any, sampling: Sampling  # noqa: ARG002
    ) -> list[int]:  # fmt: skip
        """Write new tokens; randomness is the global generator's."""
        small, large = Cached(draft).prefill(prefix), Cached(target).prefill(prefix)
        text = prefix.tolist()
        while len(text) < len(prefix) + tokens:
            new = self.function(
                draft_model=small, target_model=large, token=torch.tensor(text[-1:]), input_pos=torch.tensor([len(text) - 1]),
                input_pos_maxp1=len(text), speculative_k=self.length, **parameters(sampling),
            )  # fmt: skip
            text += new.tolist()
        return text[len(prefix) :]

    def row(self, sampling: Sampling, text: Tensor, logits: Tensor) -> Tensor:
        """The row of its own plain path; at temperature 0 that takes the most likely token."""
        if sampling.temperature == 0:
            return sampling.row(text, logits)
        return self.sample(logits[None, None], **parameters(sampling))[1]


@dataclass(frozen=True)
class Generate:
    """The whole ``generate``, prefill included."""

    function: Callable[..., tuple[Tensor, float]]
    capabilities: frozenset[str] = field(default_factory=lambda: frozenset({"global_rng"}))
    length: int = LENGTH

    def decode(
        self, target: Model, draft: Model, prefix: Tensor, tokens: int, generator: Any, sampling: Sampling  # noqa: ARG002
    ) -> list[int]:  # fmt: skip
        """Write what it returns for a text of that length."""
        written, _ = self.function(
            Cached(draft), Cached(target), prefix, len(prefix) + tokens, include_prompt=False, speculative_k=self.length,
            **parameters(sampling),
        )  # fmt: skip
        return written.tolist()


def _module(located: Located) -> Any:
    files = {name: located.file(f"{name.replace('.', '/')}.py") for name in FILES}
    return import_files(MODULE, files, stubs=("lightning",))


def rounds(located: Located) -> Rounds:
    """Sampling at temperatures above zero."""
    return _rounds(located)


def greedy(located: Located) -> Rounds:
    """The same with temperature 0 among the parameters, which should write what plain greedy decoding writes."""
    return _rounds(located, "greedy")


def filters(located: Located) -> Rounds:
    """The same with top-k and top-p among the parameters."""
    return _rounds(located, "filters")


def _rounds(located: Located, *also: str) -> Rounds:
    module = _module(located)
    return Rounds(
        known(module, "speculative_decoding", ROUND, located), known(module, "sample", "logits temperature top_k top_p apply_softmax", located),
        frozenset({"temperature", "global_rng", *also}),
    )  # fmt: skip


def generate(located: Located) -> Generate:
    """The function that its command line calls."""
    module = _module(located)
    return Generate(known(module, "generate", GENERATE, located))
