"""Building a family: text, tokenizer, target, drafters and head, each kept as soon as it is done, so that a killed run resumes."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from specproof.integration.zoo.corpora import corpora
from specproof.integration.zoo.head import train_head
from specproof.integration.zoo.recipe import Recipe
from specproof.integration.zoo.training import Ids, distil, loss_of, train_target, written

Listen = Callable[[str, int, int], None]
LEARNT = 600_000  # characters a domain from which the tokenizer learns
SPECIAL = ["<bos>", "<eos>", "<pad>"]
HEAD, CARD, HELD_OUT = "head.safetensors", "card.json", "held_out.json"


def default_cache() -> Path:
    """Where families live: ``SPECPROOF_HOME`` or the user's cache."""
    home = (
        os.environ.get("SPECPROOF_HOME") or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "specproof"
    )
    return Path(home) / "zoo"


def build(recipe: Recipe, cache: Path, listen: Listen, device: str = "cpu") -> Path:
    """Build what is missing of a family and return its folder. ``listen(stage, step, steps)`` tells how far it is.

    Deterministic for one release of torch on one kind of processor or device. Raises ``MissingText`` where a package cannot be had.
    """
    folder = cache / recipe.key
    if (folder / CARD).exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    from transformers.utils import logging

    logging.disable_progress_bar()  # ours says what is going on
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # deterministic products on a CUDA device need it
    torch.use_deterministic_algorithms(True)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        _build(recipe, cache, folder, listen, device)
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_num_threads(threads)
    return folder


def _build(recipe: Recipe, cache: Path, folder: Path, listen: Listen, device: str) -> None:
    listen("text and tokenizer", 0, 1)
    text = corpora(recipe.domains, cache / "downloads")
    tokenizer = _tokenizer(recipe, {name: corpus.train for name, corpus in text.items()}, folder)
    ids = {name: encoded(tokenizer, corpus.train) for name, corpus in text.items()}
    held = {name: [encoded(tokenizer, [document]) for document in corpus.held_out] for name, corpus in text.items()}
    (folder / HELD_OUT).write_text(
        json.dumps({name: [part.tolist() for part in parts] for name, parts in held.items()})
    )

    def during(stage: str) -> Callable[[int, int], None]:
        return lambda step, steps: listen(stage, step, steps)

    target = _kept(folder / "target", lambda: train_target(recipe, ids, during("target"), device)).to(device)
    missing = [name for name in recipe.students if not (folder / name / "config.json").exists()]
    if missing:
        pool = written(target, recipe, ids, during("texts of the target"))
        for name, network in distil(target, recipe, ids, pool, missing, during("drafters")).items():
            _save(network, folder / name)
    if not (folder / HEAD).exists():
        from safetensors.torch import save_file

        save_file(train_head(target, recipe, ids, during("head")).state_dict(), str(folder / HEAD))
    losses = {
        name: loss_of(target, [part[: 8 * recipe.window] for part in parts[:20]], recipe.window)
        for name, parts in held.items()
    }
    card = {
        "recipe": recipe.name,
        "key": recipe.key,
        "torch": torch.__version__,
        "device": device,
        "held_out_nats": losses,
    }
    (folder / CARD).write_text(json.dumps(card, indent=1))


def _kept(folder: Path, make: Callable[[], Any]) -> Any:
    """A model from its folder, made and saved there first if need be."""
    from transformers import AutoModelForCausalLM

    if not (folder / "config.json").exists():
        _save(make(), folder)
    return AutoModelForCausalLM.from_pretrained(folder).eval()


def _save(network: Any, folder: Path) -> None:
    """Save under another name first: a folder that is there is whole."""
    beside = folder.with_name(folder.name + ".part")
    network.save_pretrained(beside)
    beside.rename(folder)


def _tokenizer(recipe: Recipe, documents: dict[str, list[str]], folder: Path) -> Any:
    """A byte-level BPE over all domains."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    path = folder / "tokenizer.json"
    if not path.exists():
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=recipe.vocabulary, special_tokens=SPECIAL, show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )  # fmt: skip
        tokenizer.train_from_iterator([up_to(parts, LEARNT) for parts in documents.values()], trainer)
        tokenizer.save(str(path))
    return Tokenizer.from_file(str(path))


def up_to(documents: list[str], characters: int) -> str:
    """As many whole documents as fit."""
    parts, left = [], characters
    for document in documents:
        if left <= 0:
            break
        parts.append(document)
        left -= len(document)
    return "".join(parts)


def encoded(tokenizer: Any, documents: list[str]) -> Ids:
    """Documents in a row, each behind a <bos>."""
    start = tokenizer.token_to_id("<bos>")
    parts = [[start, *encoding.ids] for encoding in tokenizer.encode_batch(documents)]
    return np.array([token for part in parts for token in part], dtype=np.int64)
