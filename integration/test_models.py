"""A cached model says what a fresh pass over the text says, after any rollback."""

import pytest
import torch
from torch import Tensor

from specproof.fast.language_model import CachedTexts
from specproof.integration.models import TransformersModel, load

transformers = pytest.importorskip("transformers")
TEXTS = [[1, 2, 3, 4], [5, 6], [7, 8, 9]]


def random_llama(seed: int = 0, vocabulary: int = 50, spread: float = 0.2) -> TransformersModel:
    """A small untrained Llama."""
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=vocabulary, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=128, initializer_range=spread,
    )  # fmt: skip
    return TransformersModel(transformers.LlamaForCausalLM(config))


def random_gpt2(seed: int = 0) -> TransformersModel:
    """A small untrained model with learned positions."""
    torch.manual_seed(seed)
    config = transformers.GPT2Config(vocab_size=50, n_embd=32, n_layer=2, n_head=4, n_positions=128)
    return TransformersModel(transformers.GPT2LMHeadModel(config))


def fresh(model: TransformersModel, text: list[int]) -> Tensor:
    """Logits [T, V] of one pass without a cache."""
    with torch.inference_mode():
        logits: Tensor = model.network(input_ids=torch.tensor([text])).logits[0]
    return logits


@pytest.mark.parametrize("make", [random_llama, random_gpt2])
def test_rolled_back_caches_equal_fresh_passes(make: type) -> None:
    """Ragged texts, a tree of two drafts, different paths kept, one request let go: logits as if nothing had been tried."""
    model = make()
    cached = CachedTexts(model, 3)
    said = cached.extend(TEXTS).logits
    for b, text in enumerate(TEXTS):
        torch.testing.assert_close(said[b, -len(text) :], fresh(model, text), atol=1e-5, rtol=1e-4)
    tokens = torch.tensor([[10, 11, 12, 13, 14], [20, 21, 22, 23, 24], [30, 31, 32, 33, 34]])
    depth = torch.tensor([0, 1, 2, 1, 2])
    sees = torch.tensor(
        [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 0, 0, 1, 0], [1, 0, 0, 1, 1]], dtype=torch.bool
    )
    said = cached.hang(tokens, depth, sees).logits
    for b, text in enumerate(TEXTS):
        for path in ([0, 1, 2], [0, 3, 4]):
            wanted = fresh(model, text + tokens[b, path].tolist())[-3:]
            torch.testing.assert_close(said[b, path], wanted, atol=1e-5, rtol=1e-4)
    cached.settle(torch.tensor([[0, 1, 2], [0, 3, 4], [0, 3, 4]]), torch.tensor([1, 3, 2]), torch.tensor([0, 2]))
    assert cached.lengths.tolist() == [5, 5]
    said = cached.extend([[40], [41, 42]]).logits
    for b, text in enumerate([[1, 2, 3, 4, 10, 40], [7, 8, 9, 30, 33, 41, 42]]):
        torch.testing.assert_close(said[b, -1], fresh(model, text)[-1], atol=1e-5, rtol=1e-4)


def test_a_folder_without_a_model_is_refused() -> None:
    """Before anything is loaded."""
    with pytest.raises(FileNotFoundError, match=r"nowhere holds no model: there is no config\.json"):
        load("nowhere")
