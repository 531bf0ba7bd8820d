"""Our own generation loop as a ``Decoder``: the models are asked with whole texts, the rest is what ``generate`` does."""

from dataclasses import dataclass

import torch
from torch import Tensor

from specproof.fast.batch import Verifier
from specproof.fast.callable_model import CallableModel
from specproof.fast.decoder import Decoded, Model, Round
from specproof.fast.drafters import ModelDrafter
from specproof.fast.generate import Settings, Watched, generate
from specproof.fast.sampling import Sampling


@dataclass(frozen=True)
class LoopDecoder:
    """``generate`` with some verifier, ``drafts`` paths of ``length`` tokens a round. Rounds of one draft are reported."""

    verifier: Verifier
    drafts: int = 1
    length: int = 2
    capabilities: frozenset[str] = frozenset({"temperature", "greedy", "filters", "processors", "stop"})

    def decode(
        self, target: Model, draft: Model, prefix: Tensor, tokens: int, generator: torch.Generator, sampling: Sampling
    ) -> Decoded:
        """Continue one prefix; see ``fast.decoder.Decoder``."""
        models = [CallableModel(model, model.vocabulary) for model in (target, draft)]
        rounds: list[Round] = []

        def watch(seen: Watched) -> None:
            one, count = seen.drafts, int(seen.drafts.each_length()[0])
            assert one.draft_probs is not None
            rounds.append(
                Round(
                    seen.texts[0], one.tokens[0, 0, :count].tolist(), one.draft_probs[0, 0, :count],
                    one.target_probs[0, 0, : count + 1], int(seen.outcome.accepted[0]),
                )
            )  # fmt: skip

        settings = Settings(tokens, self.drafts, self.length, sampling)
        (made,) = generate(
            models[0], ModelDrafter(models[1]), self.verifier, [prefix.tolist()], settings, source=generator,
            on_round=watch if self.drafts == 1 else None,
        )  # fmt: skip
        return Decoded(made.tokens, rounds)
