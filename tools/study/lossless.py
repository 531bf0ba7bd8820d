"""Generation with real models, certified: the joint law of the first tokens, enumerated, against counts of generated texts.

Both models are restricted to a few tokens (``integration.restricted``), so that every text has its probability. Texts are
longer than a round can emit, so caches are rolled back and what is carried over is used. The e-process decides.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specproof.fast.drafters import ModelDrafter
from specproof.fast.generate import Settings, generate
from specproof.fast.language_model import CachedTexts, LanguageModel
from specproof.fast.verifiers.by_name import verifier_of
from specproof.integration.restricted import RestrictedModel, text_law
from specproof.properties.evidence.bounds import empirical_total_variation, total_variation_bound
from specproof.properties.evidence.e_process import EProcess
from specproof.properties.evidence.power import detectable_total_variation
from specproof.properties.verdict import Verdict

SCHEMA = "specproof-study-lossless/1"
ONE_DRAFT = ("standard", "block", "greedy_block", "sample_match")
SEVERAL = (
    "k_seq", "recursive", "staged_greedy", "traversal", "greedy_multipath_block", "spectr_gbv", "block+scan", "block+race",
)  # fmt: skip
ALPHA = 1e-6
WRITABLE = 3
BATCH = 2048
Listen = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Row:
    """One verifier: what was counted, and what follows."""

    verifier: str
    drafts: int
    draws: int
    total_variation: float  # of the counts themselves, sampling noise included
    bound: float
    log_e: float
    efficiency: float

    @property
    def verdict(self) -> Verdict:
        """FAILED where the e-process reaches 1/alpha."""
        return Verdict.FAILED if self.log_e >= math.log(1 / ALPHA) else Verdict.HELD

    def json(self) -> dict[str, Any]:
        """For the report."""
        return {**vars(self), "verdict": self.verdict}


@dataclass(frozen=True)
class Stage:
    """A prompt, the models restricted to what may follow it, and the law of the target's texts."""

    target: RestrictedModel
    draft: RestrictedModel
    prompt: list[int]
    settings: Settings
    law: NDArray[np.float64]

    @classmethod
    def of(cls, target: LanguageModel, draft: LanguageModel, prompt: Sequence[int], settings: Settings) -> "Stage":
        """Let the tokens be written that either model finds likeliest after the prompt."""
        said = [CachedTexts(model, 1).extend([prompt]).logits[0, -1].softmax(-1) for model in (target, draft)]
        likeliest = sum(said).topk(WRITABLE).indices.tolist()  # type: ignore[union-attr]
        tokens = list(dict.fromkeys([*likeliest, *prompt]))
        models = [RestrictedModel(model, tokens, WRITABLE) for model in (target, draft)]
        own = [tokens.index(token) for token in prompt]
        law = text_law(models[0], own, settings.tokens, settings.sampling)
        return cls(models[0], models[1], own, settings, law.numpy())

    def count(self, name: str, draws: int, seed: int) -> Row:
        """Generate so many texts with a verifier and judge their counts."""
        drafts = 1 if name in ONE_DRAFT else self.settings.drafts
        settings = Settings(self.settings.tokens, drafts, self.settings.length, self.settings.sampling)
        place = WRITABLE ** torch.arange(settings.tokens - 1, -1, -1)
        counts = np.zeros(len(self.law), dtype=np.int64)
        emitted = rounds = 0
        for first in range(0, draws, BATCH):
            seeds = range(seed + first, seed + min(first + BATCH, draws))
            made = generate(
                self.target, ModelDrafter(self.draft), verifier_of(name, drafts), [self.prompt] * len(seeds), settings,
                seeds=seeds,
            )  # fmt: skip
            texts = torch.tensor([one.tokens for one in made])
            counts += np.bincount((texts * place).sum(-1).numpy(), minlength=len(counts))
            emitted += sum(len(one.tokens) for one in made)
            rounds += sum(len(one.rounds) for one in made)
        return Row(
            name, drafts, draws, empirical_total_variation(counts, self.law),
            total_variation_bound(counts, self.law, ALPHA), float(EProcess(self.law).log_e(counts)), emitted / rounds,
        )  # fmt: skip


def study(stage: Stage, verifiers: Sequence[str], draws: int, seed: int, listen: Listen) -> list[Row]:
    """Count for every verifier. ``listen(what, done, of)`` is called before each."""
    rows = []
    for done, name in enumerate(verifiers):
        listen(name, done, len(verifiers))
        rows.append(stage.count(name, draws, seed))
    listen("", len(verifiers), len(verifiers))
    return rows


def render(stage: Stage, rows: Sequence[Row]) -> RenderableType:
    """The table for a terminal."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("", "K", "verdict", "TV of the counts", "TV at most", "log10 e", "tokens a round"):
        table.add_column(title, justify="left" if title in ("", "verdict") else "right")
    for row in rows:
        table.add_row(
            row.verifier, str(row.drafts), str(row.verdict), f"{row.total_variation:.4f}", f"{row.bound:.4f}",
            f"{row.log_e / math.log(10):.1f}", f"{row.efficiency:.3f}",
        )  # fmt: skip
    settings, cells = stage.settings, len(stage.law)
    seen = detectable_total_variation(cells, rows[0].draws, ALPHA)
    note = (
        f"{settings.tokens} tokens of {WRITABLE} ({cells} texts), L={settings.length}, temperature "
        f"{settings.sampling.temperature:g}, {rows[0].draws:,} texts a verifier. Refuted at log10 e >= 6 (a false alarm in a million); "
        f"a bias that is spread over all texts is found from TV {seen:.3f} on with power .999."
    )
    return Group(table, Text(note, style="dim"))
