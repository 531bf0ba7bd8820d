"""transformers above its kernel: ``generate`` with an assistant model, and what its candidate generators hand to the kernel.

The models that the harness provides are callables on texts. They stand behind a model class of transformers whose cache
holds the text itself (a token is its own key), so that the library's own handling of the cache is what is run.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from specproof.fast.decoder import Decoded, Model, Round
from specproof.fast.sampling import Sampling
from specproof.integration.adapters import transformers as kernel
from specproof.integration.shelf import Located
from specproof.integration.unavailable import Unavailable

LENGTH = 2


class Generate:
    """``target.generate(assistant_model=draft)`` with a constant number of drafted tokens."""

    capabilities = frozenset({"temperature", "greedy", "filters", "stop", "global_rng"})
    length = LENGTH

    def __init__(self, stand_in: Any) -> None:
        self._stand_in = stand_in

    def decode(
        self, target: Model, draft: Model, prefix: Tensor, tokens: int, generator: Any, sampling: Sampling  # noqa: ARG002
    ) -> Sequence[int]:  # fmt: skip
        """Write new tokens; randomness is the global generator's."""
        large, small = self._stand_in(target), self._stand_in(draft)
        small.generation_config.update(
            num_assistant_tokens=self.length,
            num_assistant_tokens_schedule="constant",
            assistant_confidence_threshold=0.0,
        )
        sampled: dict[str, Any] = {"do_sample": False}
        if sampling.temperature > 0:
            sampled = {
                "do_sample": True, "temperature": float(sampling.temperature), "top_k": sampling.top_k or 0,
                "top_p": 1.0 if sampling.top_p is None else sampling.top_p,
            }  # fmt: skip
        written = large.generate(
            prefix[None], attention_mask=torch.ones_like(prefix)[None], assistant_model=small, max_new_tokens=tokens,
            eos_token_id=sampling.stop, pad_token_id=0, **sampled,
        )  # fmt: skip
        return written[0, len(prefix) :].tolist()  # type: ignore[no-any-return]


class Candidates:
    """A round of assisted decoding with the single-position generator: its drafts and logits, verified by the kernel."""

    capabilities = frozenset({"global_rng"})
    length = LENGTH

    def __init__(self, made: Any, verify: Any) -> None:
        self._made = made
        self._verify = verify

    def decode(
        self, target: Model, draft: Model, prefix: Tensor, tokens: int, generator: Any, sampling: Sampling  # noqa: ARG002
    ) -> Decoded:  # fmt: skip
        """Write new tokens and tell its rounds."""
        text, rounds = prefix.tolist(), []
        while len(text) < len(prefix) + tokens:
            ids, logits = self._made(draft, text, self.length)
            count = ids.shape[1] - len(text)
            new_logits = target(ids[0])[len(text) - 1 :][None]  # [1, count + 1, V]
            valid, matches = self._verify(ids, logits, count, new_logits)
            rounds.append(
                Round(
                    tuple(text), ids[0, len(text) :].tolist(), logits[0].softmax(-1), new_logits[0].softmax(-1), int(matches)
                )
            )  # fmt: skip
            text += valid[0].tolist()
        return Decoded(text[len(prefix) :], rounds)


def generate(located: Located) -> Generate:
    """The assisted-generation pipeline."""
    try:
        return Generate(_stand_in())
    except (ImportError, AttributeError) as error:
        raise Unavailable(f"transformers {located.version} has other model classes: {error}") from error


def candidates(located: Located) -> Candidates:
    """The contract between ``SinglePositionMultiTokenCandidateGenerator`` and the kernel."""
    try:
        from transformers import GenerationConfig
        from transformers.generation import utils
        from transformers.generation.candidate_generator import SinglePositionMultiTokenCandidateGenerator
    except ImportError as error:
        raise Unavailable(f"transformers {located.version} has no such candidate generator: {error}") from error

    class Gemma4AssistantStandIn:  # the generator knows its assistants by the name of their class
        """Says the draft model's logits after the text and what was drafted so far; the embedding is the token."""

        def __init__(self, draft: Model, text: Sequence[int]) -> None:
            self.generation_config = GenerationConfig(num_assistant_tokens=LENGTH)
            self.device = torch.device("cpu")
            self._draft, self._text = draft, list(text[:-1])

        def __call__(self, inputs_embeds: Tensor, **_: Any) -> Any:
            self._text.append(int(inputs_embeds[0, 0, 0]))
            logits = self._draft(torch.tensor(self._text))[None, -1:]
            return SimpleNamespace(logits=logits, last_hidden_state=torch.zeros(1, 1, 1))

    def made(draft: Model, text: Sequence[int], length: int) -> tuple[Tensor, Tensor]:
        ids = torch.tensor([text])
        found = SinglePositionMultiTokenCandidateGenerator(
            Gemma4AssistantStandIn(draft, text), lambda token: token[..., None].float(),
            GenerationConfig(max_length=len(text) + length + 1),
        )  # fmt: skip
        outputs = SimpleNamespace(hidden_states=(torch.zeros(1, 1, 1),), shared_kv_states={})
        return found.get_candidates(  # type: ignore[no-any-return]
            ids, model_kwargs={}, model_outputs=outputs, is_first_iteration=False, n_last_matches=0
        )

    extra = kernel.load()._extra

    def verify(ids: Tensor, logits: Tensor, count: int, new_logits: Tensor) -> Any:
        return utils._speculative_sampling(
            candidate_input_ids=ids, candidate_logits=logits, candidate_length=count, new_logits=new_logits, **extra
        )

    return Candidates(made, verify)


def _stand_in() -> Any:
    """The class of models that keep the text in transformers' own cache."""
    from transformers import DynamicCache, GenerationMixin, PreTrainedConfig, PreTrainedModel
    from transformers.modeling_outputs import CausalLMOutputWithPast

    class Config(PreTrainedConfig):  # type: ignore[misc]
        """One layer of one head of one number."""

        model_type = "specproof-stand-in"

        def __init__(self, vocab_size: int = 2, **others: Any) -> None:
            super().__init__(**others)
            self.vocab_size = vocab_size
            self.num_hidden_layers = self.num_attention_heads = self.num_key_value_heads = self.hidden_size = 1

    class StandIn(PreTrainedModel, GenerationMixin):  # type: ignore[misc]
        """Asks the harness's model with the text that the cache holds and the new tokens."""

        config_class = Config

        def __init__(self, model: Model) -> None:
            super().__init__(Config(model.vocabulary))
            self.anchor = torch.nn.Parameter(torch.zeros(1))  # tells the device and the number format
            self._asked = model

        def forward(self, input_ids: Tensor, cache: Any = None, **_: Any) -> Any:
            """Logits of the given tokens after those of the cache."""
            cache = DynamicCache() if cache is None else cache
            states = input_ids[:, None, :, None].float()
            text, _ = cache.update(states, states, 0)
            logits = self._asked(text[0, 0, :, 0].long())[None, -input_ids.shape[1] :]
            return CausalLMOutputWithPast(logits=logits, cache=cache)

    return StandIn
