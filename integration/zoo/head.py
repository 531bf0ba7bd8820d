"""A white-box drafter: one decoder layer on the target's own features (EAGLE, arXiv 2401.15077; training-time test, 2503.01840).

Beside each token it takes the target's feature of the token before, and answers with its guess of the feature at the token,
which the target's own output layer turns into a law. While it drafts, it goes on from its guesses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from specproof.fast.batch import Drafts, Outcome, Randomness
from specproof.fast.drafters import Proposal, Texts, grown
from specproof.fast.language_model import CachedTexts, Scores
from specproof.fast.sampling import Sampling
from specproof.integration.models import TransformersModel, TransformersSession, with_cache
from specproof.integration.zoo.recipe import Recipe
from specproof.integration.zoo.training import Ids, Listen, Optimiser, Windows

ROUNDS = (1.0, 0.7, 0.49)  # weights of the rounds in which it meets its own guesses


class HeadNetwork(nn.Module):
    """The trained part."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        from transformers import LlamaModel

        self.join = nn.Linear(2 * config.hidden_size, config.hidden_size, bias=False)
        self.body = LlamaModel(config)
        del self.body.embed_tokens  # it is given embeddings
        self.config = config

    def forward(self, embedded: Tensor, features: Tensor, **given: Any) -> Tensor:
        """Guess features [B, Q, H] from embedded tokens and the features before them."""
        joined = self.join(torch.cat([embedded, features], dim=-1))
        guessed: Tensor = self.body(inputs_embeds=joined, **given).last_hidden_state
        return guessed


def head_network(target: Any) -> HeadNetwork:
    """A fresh head for a target."""
    from transformers import LlamaConfig

    config = LlamaConfig.from_dict({**target.config.to_dict(), "num_hidden_layers": 1})
    return HeadNetwork(config)


def train_head(target: Any, recipe: Recipe, ids: dict[str, Ids], listen: Listen) -> HeadNetwork:
    """Follow the target's laws and features; in later rounds from its own guesses instead of true features."""
    torch.manual_seed(recipe.seed + 4)
    network = head_network(target).to(target.device)
    optimiser = Optimiser(network, recipe.head_steps, muon=0.0, adam=2e-3)
    windows, source = Windows(ids, recipe.window, target.device), np.random.default_rng(recipe.seed + 5)
    shares = np.array(list(recipe.share.values()))
    embed, output = target.get_input_embeddings(), target.get_output_embeddings()
    for step in range(recipe.head_steps):
        listen(step, recipe.head_steps)
        chosen = source.choice(len(shares), recipe.target_rows, p=shares / shares.sum())
        batch = torch.cat([windows.draw(source, recipe.domains[index], 1) for index in chosen])
        with torch.no_grad():
            said = target(input_ids=batch, output_hidden_states=True)
            true, wanted, embedded = said.hidden_states[-1], said.logits.log_softmax(-1), embed(batch)
        features, loss = true, torch.zeros(())
        for weight in ROUNDS:
            guessed = network(embedded, nn.functional.pad(features[:, :-1], (0, 0, 1, 0)))
            law = nn.functional.linear(guessed, output.weight.detach()).log_softmax(-1)
            divergence = nn.functional.kl_div(law, wanted, log_target=True, reduction="none").sum(-1).mean()
            loss = loss + weight * (divergence + 0.2 * nn.functional.smooth_l1_loss(guessed, true))
            features = guessed.detach()
        optimiser.step(loss)
    return network.eval()


class HeadModel:
    """A head with the target whose features it reads, as a model that runs in sessions."""

    def __init__(self, network: HeadNetwork, target: TransformersModel) -> None:
        self.network, self.target = network.eval(), target
        self.vocabulary, self.context, self.device = target.vocabulary, target.context, target.device
        self.dtype = target.dtype
        self.width = int(target.network.config.hidden_size)

    def session(self, batch: int) -> TransformersSession:
        """Return an empty cache for a batch."""
        return TransformersSession(self, batch)

    def run(self, tokens: Tensor, features: Tensor | None, **given: Any) -> Scores:
        """Score tokens [B, Q] beside the features [B, Q, H] of the tokens before them."""
        assert features is not None
        embedded = self.target.network.get_input_embeddings()(tokens)
        guessed = self.network(embedded, features, **with_cache(self.network.body, given))
        logits = self.target.network.get_output_embeddings()(guessed)
        return Scores(logits.float(), guessed)


@dataclass(frozen=True)
class HeadDrafter:
    """K independent drafts of a head. It sees the target's features, so it fits no other target."""

    model: HeadModel
    name: str = "head"

    @property
    def vocabulary(self) -> int:
        """Number of tokens, V."""
        return self.model.vocabulary

    def session(self, batch: int, sampling: Sampling) -> "HeadSession":
        """Return a session without any text."""
        return HeadSession(self.model, batch, sampling)


class HeadSession:
    """Drafts behind B texts. Guessed features are never kept: accepted tokens are fed again beside the true ones."""

    def __init__(self, model: HeadModel, batch: int, sampling: Sampling) -> None:
        self._sampling = sampling
        self._cached = CachedTexts(model, batch)
        start = torch.zeros(1, model.width, dtype=model.dtype, device=model.device)  # before the first token
        self._features = [start] * batch  # of the tokens from the last cached one on

    def propose(self, texts: Texts, limits: Sequence[int], drafts: int, length: int, source: Randomness) -> Proposal:
        """Feed what is missing beside its features, then one token of every draft at a time beside the guesses."""
        known = self._cached.lengths.tolist()
        missing = [list(text[n:]) for text, n in zip(texts, known, strict=True)]
        behind = self._cached.extend(missing, self._features)
        self._features = [part[:0] for part in self._features]
        return grown(self._cached, behind, texts, limits, drafts, length, source, self._sampling, guesses=True)

    def settle(self, drafts: Drafts, outcome: Outcome, rows: Tensor) -> None:
        """Drop all drafts; true features come with the next text."""
        nothing = torch.zeros(drafts.batch, 0, dtype=torch.int64, device=drafts.device)
        self._cached.settle(nothing, torch.zeros_like(outcome.accepted), rows)
        self._features = [self._features[index] for index in rows.tolist()]

    def observe(self, hidden: Sequence[Tensor]) -> None:
        """Take the target's features of the tokens that it has taken in."""
        self._features = [torch.cat(pair) for pair in zip(self._features, hidden, strict=True)]
