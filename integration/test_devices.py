"""Generation on a CUDA device: models, caches, drafts and rows are there, and the text is the one that a CPU writes."""

import copy

import pytest
import torch

from specproof.fast.drafters import Drafter, ModelDrafter, PromptLookup
from specproof.fast.generate import Settings, generate, plain
from specproof.fast.sampling import LogitBias, Penalties, Sampling
from specproof.fast.switching import SwitchingDrafter
from specproof.fast.verifiers.by_name import verifier_of
from specproof.integration.models import TransformersModel
from specproof.integration.test_models import random_llama
from specproof.reference.bandits import Bandit, policy
from specproof.reference.chance import Dice

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device"),
]
PROMPTS = [[1, 3, 2, 1, 3], [4, 4]]
SAMPLING = Sampling(temperature=0.0, processors=(LogitBias({3: 0.5}), Penalties(presence=0.3)))


def on(device: str, seed: int) -> TransformersModel:
    """A random model, the same on every device."""
    return TransformersModel(copy.deepcopy(random_llama(seed, 12, 0.5).network).to(device))


def drafter(kind: str, device: str) -> Drafter:
    """A model, prompt lookup, or both behind a bandit."""
    model = ModelDrafter(on(device, 4))
    if kind == "model":
        return model
    if kind == "lookup":
        return PromptLookup()
    return SwitchingDrafter([model, PromptLookup()], lambda: Bandit(policy("round_robin", 2), Dice(1)))


@pytest.mark.parametrize(
    ("name", "drafts", "kind"),
    [
        ("standard", 1, "model"), ("standard", 1, "lookup"), ("standard", 1, "switching"), ("block", 1, "model"),
        ("greedy_block", 1, "model"), ("k_seq", 3, "model"), ("block+race", 3, "model"), ("traversal", 3, "model"),
    ],
)  # fmt: skip
def test_greedy_text_is_the_same_on_both_devices(name: str, drafts: int, kind: str) -> None:
    """Token by token at temperature 0, with processors, and equal to plain decoding on the device."""
    settings = Settings(16, drafts, 3, SAMPLING)
    written = [
        [one.tokens for one in generate(on(device, 3), drafter(kind, device), verifier_of(name, drafts), PROMPTS, settings)]
        for device in ("cpu", "cuda")
    ]  # fmt: skip
    assert written[0] == written[1]
    assert written[1] == [one.tokens for one in plain(on("cuda", 3), PROMPTS, settings)]
