"""Training on a CPU in minutes: Muon for the matrices, AdamW for the rest, and distillation for the drafters.

Everything is seeded and runs on one thread, so that a family is the same wherever the arithmetic is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from specproof.integration.zoo.recipe import Recipe, Shape

Listen = Callable[[int, int], None]
Ids = NDArray[np.int64]
TEMPERATURES = (0.2, 0.5, 0.8, 1.0)
PROMPT = 32  # tokens from which the target writes on


def llama(shape: Shape, recipe: Recipe, seed: int) -> Any:
    """A fresh causal language model."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=recipe.vocabulary, hidden_size=shape.width, intermediate_size=shape.inner,
        num_hidden_layers=shape.layers, num_attention_heads=shape.heads, num_key_value_heads=shape.heads,
        max_position_embeddings=recipe.context, tie_word_embeddings=True, bos_token_id=0, eos_token_id=1, pad_token_id=2,
    )  # fmt: skip
    return LlamaForCausalLM(config)


class Optimiser:
    """Muon and AdamW together, with a schedule: warm up over 5 % of the steps, decay over the last 30 %."""

    def __init__(self, network: nn.Module, steps: int, *, muon: float = 0.02, adam: float) -> None:
        if not hasattr(torch.optim, "Muon"):
            raise RuntimeError(
                f"building a family needs torch.optim.Muon, torch 2.9 or newer; this is {torch.__version__}"
            )
        named = [(name, weight) for name, weight in network.named_parameters() if weight.requires_grad]
        matrices = [weight for name, weight in named if weight.dim() == 2 and "embed" not in name]
        others = [weight for name, weight in named if not (weight.dim() == 2 and "embed" not in name)]
        self._weights = [weight for _, weight in named]
        self._parts: list[torch.optim.Optimizer] = []
        if muon and matrices:
            self._parts.append(
                torch.optim.Muon(matrices, lr=muon, momentum=0.95, weight_decay=0.01, adjust_lr_fn="original")
            )
        else:
            others = matrices + others
        self._parts.append(torch.optim.AdamW(others, lr=adam, betas=(0.9, 0.98), weight_decay=0.0))
        self._schedules = [
            torch.optim.lr_scheduler.LambdaLR(part, lambda step: ramp(step, steps)) for part in self._parts
        ]

    def step(self, loss: Tensor) -> None:
        """One step down the gradient of ``loss``, clipped to norm 1."""
        for part in self._parts:
            part.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._weights, 1.0)
        for part, schedule in zip(self._parts, self._schedules, strict=True):
            part.step()
            schedule.step()


def ramp(step: int, steps: int) -> float:
    """The share of the learning rate at a step."""
    return min(1.0, (step + 1) / (0.05 * steps), max(0.0, (steps - step) / (0.3 * steps)))


@dataclass(frozen=True)
class Windows:
    """Random windows of encoded documents, one domain a row."""

    ids: dict[str, Ids]
    width: int
    device: str | torch.device

    def draw(self, source: np.random.Generator, domain: str, rows: int) -> Tensor:
        """``rows`` windows of a domain, [rows, width]."""
        text = self.ids[domain]
        starts = source.integers(0, len(text) - self.width, rows)
        return torch.from_numpy(np.stack([text[start : start + self.width] for start in starts])).to(self.device)


def train_target(recipe: Recipe, ids: dict[str, Ids], listen: Listen, device: str = "cpu") -> Any:
    """Train the target on a mixture of all domains."""
    network = llama(recipe.target, recipe, recipe.seed).to(device)
    optimiser = Optimiser(network, recipe.target_steps, adam=4e-3)
    windows, source = Windows(ids, recipe.window + 1, device), np.random.default_rng(recipe.seed)
    names, shares = recipe.domains, np.array(list(recipe.share.values()))
    for step in range(recipe.target_steps):
        listen(step, recipe.target_steps)
        chosen = source.choice(len(names), recipe.target_rows, p=shares / shares.sum())
        batch = torch.cat([windows.draw(source, names[index], 1) for index in chosen])
        logits = network(input_ids=batch[:, :-1]).logits
        optimiser.step(nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten()))
    return network.eval()


@torch.inference_mode()
def written(target: Any, recipe: Recipe, ids: dict[str, Ids], listen: Listen) -> dict[str, Tensor]:
    """Texts that the target writes from prompts of each domain, [pool, window + 1]: what its drafters will meet."""
    windows, source = Windows(ids, PROMPT, target.device), np.random.default_rng(recipe.seed + 1)
    torch.manual_seed(recipe.seed + 1)
    pool = {}
    each = recipe.pool // len(TEMPERATURES)
    for index, domain in enumerate(recipe.domains):
        parts = []
        for turn, temperature in enumerate(TEMPERATURES):
            listen(index * len(TEMPERATURES) + turn, len(recipe.domains) * len(TEMPERATURES))
            prompts = windows.draw(source, domain, each)
            parts.append(
                target.generate(
                    prompts, attention_mask=torch.ones_like(prompts), do_sample=True, temperature=temperature, top_k=0,
                    min_new_tokens=recipe.window + 1 - PROMPT, max_new_tokens=recipe.window + 1 - PROMPT,
                    eos_token_id=None, pad_token_id=2,
                )
            )  # fmt: skip
        pool[domain] = torch.cat(parts)
    return pool


def distil(
    target: Any, recipe: Recipe, ids: dict[str, Ids], pool: dict[str, Tensor], names: Sequence[str], listen: Listen
) -> dict[str, Any]:
    """Train drafters to follow the target: forward divergence at temperature 1, half on corpus text, half on its own.

    One pass of the target over rows of every domain serves all of them.
    """
    students = {name: llama(recipe.students[name].shape, recipe, recipe.seed + 2).to(target.device) for name in names}
    optimisers = {
        name: Optimiser(network, recipe.student_steps, adam=6e-3 * recipe.students[name].rate)
        for name, network in students.items()
    }
    windows, source = Windows(ids, recipe.window, target.device), np.random.default_rng(recipe.seed + 3)
    rows, domains = recipe.student_rows, recipe.domains
    for step in range(recipe.student_steps):
        listen(step, recipe.student_steps)
        parts = []
        for domain in domains:
            own = pool[domain][source.integers(0, len(pool[domain]), rows // 2), : recipe.window]
            parts.append(torch.cat([windows.draw(source, domain, rows - rows // 2), own]))
        batch = torch.cat(parts)  # [domains rows, window]
        with torch.inference_mode():
            wanted = target(input_ids=batch).logits.log_softmax(-1)
        wanted = wanted.clone()  # an inference tensor cannot meet a gradient
        for name, network in students.items():
            at = torch.tensor(_own_rows(recipe.students[name].domain, domains, rows, step))
            said = network(input_ids=batch[at]).logits.log_softmax(-1)
            loss = nn.functional.kl_div(said, wanted[at], log_target=True, reduction="none").sum(-1).mean()
            optimisers[name].step(loss)
    return {name: network.eval() for name, network in students.items()}


def _own_rows(domain: str | None, domains: Sequence[str], rows: int, step: int) -> list[int]:
    """Which rows of a batch a drafter learns from: those of its domain, or an equal part of each, another every step."""
    if domain is not None:
        first = domains.index(domain) * rows
        return list(range(first, first + rows))
    part = max(1, rows // len(domains))
    return [index * rows + (step * part + offset) % rows for index in range(len(domains)) for offset in range(part)]


@torch.inference_mode()
def loss_of(network: Any, texts: Iterable[Ids], window: int) -> float:
    """Mean cross-entropy in nats a token over consecutive windows of held-out text."""
    total, count = 0.0, 0
    for text in texts:
        for start in range(0, len(text) - window - 1, window):
            batch = torch.from_numpy(text[start : start + window + 1])[None].to(network.device)
            logits = network(input_ids=batch[:, :-1]).logits[0]
            total += float(nn.functional.cross_entropy(logits, batch[0, 1:], reduction="sum"))
            count += window
    return total / max(count, 1)
