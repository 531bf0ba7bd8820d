"""Batched standard verification with one thing wrong: what it reads, the randomness it uses, or what it answers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.verifiers import standard
from specproof.properties.mutants.mutant import Mutant


def _as_handed(drafts: Drafts) -> Drafts:
    return drafts


def _as_given(_drafts: Drafts, given: Any) -> Any:
    return given


@dataclass
class Faulty:
    """The standard rule with a fault in one of three places; ``module`` is what it verifies with."""

    reads: Callable[[Drafts], Drafts] = _as_handed
    draws: Callable[[Drafts, Randomness], Randomness] = _as_given
    answers: Callable[[Drafts, Outcome], Outcome] = _as_given
    module: Any = standard
    capabilities: frozenset[str] = standard.capabilities
    rule: str | None = "standard"
    drafting: Drafting = field(default_factory=Drafting)

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG002
        """Read, draw, verify and answer, with whatever is wrong in one of them."""
        read = self.reads(drafts)
        return self.answers(drafts, self.module.verify(read, self.draws(drafts, generator)))


def fault(told: str, violates: str, shown_by: str, ids: tuple[str, ...], evidence: str, **parts: Any) -> Mutant:
    """A mutant of batched standard verification."""
    return Mutant(told, violates, make=lambda: Faulty(**parts), property=shown_by, fault_id=ids, evidence=evidence)


def with_targets(drafts: Drafts, target: Tensor) -> Drafts:
    """The same requests with other target rows."""
    return Drafts(drafts.tokens, drafts.draft_probs, target, drafts.lengths)


def with_drafts(drafts: Drafts, draft: Tensor) -> Drafts:
    """The same requests with other draft rows."""
    return Drafts(drafts.tokens, draft, drafts.target_probs, drafts.lengths)


def certain(rows: Tensor) -> Tensor:
    """Rows with all their mass on the most likely token."""
    return torch.zeros_like(rows).scatter_(-1, rows.argmax(-1, keepdim=True), 1.0)
