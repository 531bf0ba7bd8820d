"""Restricted models: the rows of the model they stand for, cut down; enumerated laws of texts."""

import itertools

import pytest
import torch

from specproof.fast.language_model import CachedTexts
from specproof.fast.sampling import Sampling
from specproof.integration.restricted import RestrictedModel, text_law
from specproof.integration.test_models import fresh, random_llama

TOKENS = [5, 2, 9, 1]  # the last is never written


def test_rows_are_the_models_own_over_the_tokens_that_are_written() -> None:
    """Softmax over three logits, nothing for what stands only in prompts."""
    model = random_llama(3)
    logits = CachedTexts(RestrictedModel(model, TOKENS, 3), 1).extend([[3, 0]]).logits[0, -1]
    own = fresh(model, [1, 5])[-1]
    torch.testing.assert_close(logits[:3], own[TOKENS[:3]], rtol=1e-4, atol=1e-4)
    assert logits[3] == -torch.inf


def test_the_law_of_texts_is_the_product_of_rows() -> None:
    """In the order of ``itertools.product``, at a temperature."""
    model, sampling = RestrictedModel(random_llama(3), TOKENS, 3), Sampling(temperature=0.7)
    law = text_law(model, [3], 2, sampling)
    expected = []
    for text in itertools.product(range(3), repeat=2):
        mass = 1.0
        for i, token in enumerate(text):
            row = fresh(model.model, [TOKENS[id_] for id_ in (3, *text[:i])])[-1][TOKENS[:3]]
            mass *= float((row / 0.7).softmax(-1)[token])
        expected.append(mass)
    torch.testing.assert_close(law, torch.tensor(expected, dtype=torch.float64), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("tokens", "writable", "message"),
    [([1, 1], 2, "distinct"), ([1, 2], 3, "writable"), ([1, 999], 2, "distinct ids in")],
)
def test_what_cannot_be_restricted_is_refused(tokens: list[int], writable: int, message: str) -> None:
    """Repeated or unknown ids, more to write than there is."""
    with pytest.raises(ValueError, match=message):
        RestrictedModel(random_llama(3), tokens, writable)
