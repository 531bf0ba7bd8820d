"""``bench efficiency``: tokens an iteration on random Markov models, every rule on the same drafts, and in long runs.

One block starts at the same token for all requests of a model, so that ceilings can be told beside it. A long run goes on
from what was emitted, with what a greedy rule carries; its first iterations are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from rich.console import RenderableType

from specproof.bench.ceilings import ceilings
from specproof.bench.clock import Listener
from specproof.bench.machine import Machine
from specproof.bench.markov import CONCENTRATION, Chains
from specproof.bench.ours import SELECTORS
from specproof.bench.report import Part, grid
from specproof.bench.tally import Mean
from specproof.fast.batch import Drafts
from specproof.fast.verifiers import VERIFIERS
from specproof.fast.verifiers.composed import compose

SETTLING = 3  # iterations of a long run that are not counted
OURS = "block + race balanced"
ONE_DRAFT = ("standard", "block", "greedy_block")
PUBLISHED = (*ONE_DRAFT, "recursive", "k_seq", "traversal", "greedy_multipath_block", "spectr_gbv_published")
RULES = (
    *ONE_DRAFT, "recursive", "k_seq", "traversal", "staged_greedy", "greedy_multipath_block", "spectr_gbv_published",
    "block + scan", "greedy_block + scan", "greedy_block + kill_race", "greedy_block + race proportional",
    "spectr_gbv", OURS,
)  # fmt: skip
READING = (
    "Tokens an iteration, accepted ones and the one after them, with the standard error of the simulation in brackets. "
    "margin: long runs, block + race balanced less this rule. standard, block and greedy_block have one draft. * published; "
    "spectr_gbv_published does not keep the target's law. claim and level: the value SpecTr-GBV claims, the ceiling of any rule."
)


@dataclass(frozen=True)
class Setting:
    """One kind of model: how large, how many pairs, how many blocks and how many long runs are simulated.

    ``batch`` requests go at once; it and both counts are multiples of ``models``.
    """

    vocabulary: int
    length: int
    drafts: int
    models: int
    blocks: int
    runs: int
    batch: int
    iterations: int = 9

    def __str__(self) -> str:
        return f"V={self.vocabulary} L={self.length} K={self.drafts}"


QUICK = (Setting(20, 4, 4, models=8, blocks=512, runs=128, batch=512),)
FULL = (
    Setting(20, 4, 4, models=32, blocks=2048, runs=512, batch=512),
    Setting(20, 6, 4, models=32, blocks=2048, runs=512, batch=512),
    Setting(40, 8, 8, models=32, blocks=1024, runs=256, batch=256),
    Setting(1000, 8, 8, models=4, blocks=256, runs=128, batch=64),
)


@dataclass(frozen=True)
class Efficiency:
    """One setting: every rule on one block and in long runs."""

    setting: Setting
    block: dict[str, Mean]
    long: dict[str, Mean]
    claim: Mean
    level: float

    def margin(self, rule: str) -> Mean:
        """How much ``block`` behind the balanced race is ahead in long runs."""
        return self.long[OURS].minus(self.long[rule])

    def render(self, machine: Machine) -> RenderableType:  # noqa: ARG002 - other parts need it
        """A line for each rule, then the ceilings."""
        table = grid(f"{self.setting}: {self.setting.models} pairs of models", "one block", "long runs", "margin")
        for name in sorted(self.long, key=lambda name: self.long[name].value):
            star = "*" if name in PUBLISHED else ""
            margin = "" if name == OURS else str(self.margin(name))
            table.add_row(f"{name}{star}", str(self.block[name]), str(self.long[name]), margin)
        table.add_row("claim", str(self.claim), "", "")
        table.add_row("level", f"{self.level:.3f}", "", "")
        return table

    def json(self, machine: Machine) -> dict[str, Any]:  # noqa: ARG002 - other parts need it
        """Every number."""
        size = self.setting
        return {
            "kind": "efficiency", "size": {"V": size.vocabulary, "L": size.length, "K": size.drafts},
            "models": size.models, "concentration": CONCENTRATION, "blocks": size.blocks, "runs": size.runs,
            "iterations": size.iterations, "settling": SETTLING,
            "rules": [
                {
                    "name": name, "published": name in PUBLISHED, "one_block": self.block[name].json,
                    "long_run": self.long[name].json, "margin": self.margin(name).json,
                }
                for name in self.long
            ],
            "claim": self.claim.json, "level": round(self.level, 6),
        }  # fmt: skip


def efficiency(plan: Sequence[Setting], device: torch.device, listen: Listener) -> list[Part]:
    """Simulate every setting."""
    return [_simulate(setting, device, listen, seed) for seed, setting in enumerate(plan)]


def rule(name: str) -> Any:
    """A verifier by the name it has here."""
    verify, _, select = name.partition(" + ")
    if not select:
        return VERIFIERS[verify]
    options = dict(SELECTORS[select])
    return compose(options.pop("select"), verify, **options)


def _simulate(setting: Setting, device: torch.device, listen: Listener, seed: int) -> Efficiency:
    chains = Chains.random(setting.models, setting.vocabulary, device=device, seed=seed)
    block, claims, ceiling = _one_block(chains, setting, listen, seed)
    long = {}
    for name in RULES:
        listen(f"{setting}: long runs, {name}")
        parts = [
            _long_run(chains, setting, name, 1000 * seed + part)
            for part in range(setting.runs // min(setting.batch, setting.runs))
        ]
        long[name] = Mean.of(torch.cat(parts), setting.models)
    return Efficiency(setting, block, long, claims, ceiling)


def _one_block(chains: Chains, setting: Setting, listen: Listener, seed: int) -> tuple[dict[str, Mean], Mean, float]:
    generator = torch.Generator(chains.target.device).manual_seed(seed)
    start = torch.zeros(setting.blocks, dtype=torch.int64, device=chains.target.device)
    parts = [chains.drafts(one, setting.drafts, setting.length, generator) for one in torch.split(start, setting.batch)]
    means = {}
    for name in RULES:
        listen(f"{setting}: one block, {name}")
        accepted = [rule(name).verify(_for(name, part), generator).accepted for part in parts]
        means[name] = Mean.of(1 + torch.cat(accepted), setting.models)
    return means, *ceilings(chains, setting.length, setting.drafts, generator)


def _long_run(chains: Chains, setting: Setting, name: str, seed: int) -> torch.Tensor:
    """Mean tokens an iteration of each request of a batch."""
    generator = torch.Generator(chains.target.device).manual_seed(seed)
    rows = torch.arange(min(setting.batch, setting.runs), device=chains.target.device)
    last, carry, emitted = torch.zeros_like(rows), None, torch.zeros(len(rows), device=rows.device)
    found, paths = rule(name), 1 if name in ONE_DRAFT else setting.drafts
    for iteration in range(setting.iterations):
        outcome = found.verify(chains.drafts(last, paths, setting.length, generator), generator, carry)
        last, carry = outcome.tokens[rows, outcome.accepted], outcome.carry
        if iteration >= SETTLING:
            emitted += 1 + outcome.accepted
    return emitted / (setting.iterations - SETTLING)


def _for(name: str, drafts: Drafts) -> Drafts:
    """The first draft for rules that take one."""
    if name not in ONE_DRAFT:
        return drafts
    return Drafts(drafts.tokens[:, :1], drafts.draft_rows()[:, :1], drafts.target_probs[:, :1])
