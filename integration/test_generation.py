"""Generation on real models keeps the target's law, and a verifier that does not is convicted.

The joint law of the first three tokens comes from fresh passes of the target over every continuation (64 cells); 12,000
generated texts are counted. The e-process decides at 1e-6 a verifier: a false alarm in a hundred runs of this file has
probability 1e-3 at most; a directed bias of .034 is found with power .999.
"""

import itertools
import math

import numpy as np
import pytest
import torch

from specproof.fast.batch import Verifier
from specproof.fast.drafters import ModelDrafter
from specproof.fast.generate import Settings, generate, plain
from specproof.fast.sampling import Penalties, Sampling
from specproof.fast.verifiers import spectr_gbv_published
from specproof.fast.verifiers.by_name import verifier_of
from specproof.integration.models import TransformersModel
from specproof.integration.test_models import fresh, random_llama
from specproof.properties.evidence.e_process import EProcess

V, TOKENS, RUNS, BATCH = 4, 3, 12_000, 2_000
THRESHOLD = math.log(1e6)
SAMPLING = Sampling(temperature=0.8)
PROMPT = [1, 3, 2]


@pytest.fixture(scope="module")
def models() -> tuple[TransformersModel, TransformersModel]:
    """A target and a drafter that agree in part."""
    return random_llama(3, V, 0.5), random_llama(4, V, 0.5)


def joint_law(target: TransformersModel, sampling: Sampling) -> np.ndarray:
    """Exact law of the texts in the order of ``itertools.product``."""
    law = []
    for text in itertools.product(range(V), repeat=TOKENS):
        mass = 1.0
        for i in range(TOKENS):
            before = PROMPT + list(text[:i])
            mass *= float(sampling.row(torch.tensor(before), fresh(target, before)[-1])[text[i]])
        law.append(mass)
    return np.array(law) / sum(law)


def counts_of(
    models: tuple[TransformersModel, TransformersModel], verifier: Verifier, drafts: int, sampling: Sampling
) -> np.ndarray:
    """How often each text is generated."""
    counts = np.zeros(V**TOKENS, dtype=np.int64)
    settings = Settings(TOKENS, drafts, 2, sampling)
    for first in range(0, RUNS, BATCH):
        made = generate(
            models[0], ModelDrafter(models[1]), verifier, [PROMPT] * BATCH, settings, seeds=range(first, first + BATCH)
        )
        np.add.at(counts, [int("".join(map(str, one.tokens)), V) for one in made], 1)
    return counts


@pytest.mark.parametrize(
    ("name", "drafts"),
    [("standard", 1), ("block", 1), ("greedy_block", 1), ("k_seq", 2), ("spectr_gbv", 2), ("block+race", 3)],
)
def test_generated_texts_have_the_targets_joint_law(
    models: tuple[TransformersModel, TransformersModel], name: str, drafts: int
) -> None:
    """Over several rounds, with both caches rolled back in between."""
    log_e = EProcess(joint_law(models[0], SAMPLING)).log_e(
        counts_of(models, verifier_of(name, drafts), drafts, SAMPLING)
    )
    assert log_e < THRESHOLD


def test_history_dependent_targets_keep_their_law(models: tuple[TransformersModel, TransformersModel]) -> None:
    """Penalties count accepted tokens and not rejected ones."""
    sampling = Sampling(temperature=0.8, processors=(Penalties(presence=0.7, frequency=0.4),))
    counts = counts_of(models, verifier_of("block", 1), 1, sampling)
    assert EProcess(joint_law(models[0], sampling)).log_e(counts) < THRESHOLD


def test_the_published_spectr_gbv_is_convicted_in_generation(
    models: tuple[TransformersModel, TransformersModel],
) -> None:
    """Its texts do not have the target's law; the distance is seen."""
    law = joint_law(models[0], SAMPLING)
    counts = counts_of(models, spectr_gbv_published, 2, SAMPLING)
    assert EProcess(law).log_e(counts) >= THRESHOLD
    assert np.abs(counts / RUNS - law).sum() / 2 > 0.03


@pytest.mark.parametrize(("name", "drafts"), [("standard", 1), ("k_seq", 3), ("block+race", 4), ("spectr_gbv", 2)])
def test_temperature_zero_is_the_models_own_greedy_text(name: str, drafts: int) -> None:
    """Token by token against ``generate`` of transformers; a difference must be a tie of the two best logits."""
    target, draft = random_llama(7), random_llama(8)
    prompts = [[1, 2, 3], [9], [4, 4]]
    made = generate(
        target,
        ModelDrafter(draft),
        verifier_of(name, drafts),
        prompts,
        Settings(40, drafts, 4, Sampling(temperature=0)),
    )
    for one, prompt in zip(made, prompts, strict=True):
        ids = torch.tensor([prompt])
        own = target.network.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=40,
            pad_token_id=0,
            eos_token_id=None,
        )[0].tolist()
        differing = [i for i, (a, b) in enumerate(zip(one.text, own, strict=True)) if a != b]
        if differing:
            best = fresh(target, own[: differing[0]])[-1].topk(2).values
            assert float(best[0] - best[1]) < 1e-4


def test_plain_decoding_is_the_loop_without_drafts() -> None:
    """One token a round, and at temperature 0 the same text as with drafts."""
    target, draft = random_llama(7), random_llama(8)
    settings = Settings(30, 1, 4, Sampling(temperature=0))
    (slow,) = plain(target, [[1, 2, 3]], settings)
    (fast,) = generate(target, ModelDrafter(draft), verifier_of("block", 1), [[1, 2, 3]], settings)
    assert slow.tokens == fast.tokens
    assert slow.block_efficiency == 1
