"""economize: its rejection verifier, on a chain in batches and on a tree of several drafts (recursive rejection sampling)."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.integration.adapters.known import known, laid_out
from specproof.integration.isolation import import_from
from specproof.integration.shelf import Located

DRAFTS = 2


class Selector:
    """What its verifiers ask of a token selector that samples at temperature one."""

    greedy = False

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def distributions(self, logits: Tensor) -> Tensor:
        """Probabilities of logits [..., V]."""
        return logits.softmax(-1)


@dataclass(frozen=True)
class Economize:
    """The verifier of one installed version. ``draft`` makes what it takes for drafts."""

    verifier: Any
    draft: Any
    drafting: Drafting = field(default_factory=Drafting)
    capabilities: frozenset[str] = frozenset({"batch", "ragged"})
    rule: str = "standard"

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG002
        """Verify a batch of chains."""
        drafts.check()
        rows = drafts.target_probs[:, 0].log()  # [B, L+1, V]
        given = self.draft(drafts.tokens[:, 0], drafts.each_length().tolist(), probs=drafts.draft_rows()[:, 0])
        accepted, final = self.verifier.verify_batch(rows, given, Selector(generator), None, ())
        tokens, accepted = laid_out(drafts.tokens[:, 0], accepted, final)
        return Outcome(tokens.where(torch.arange(drafts.length + 1) <= accepted[:, None], -1), accepted)


@dataclass(frozen=True)
class EconomizeTree(Economize):
    """The same with ``drafts`` paths, merged where they share a prefix; a token drawn twice is a node each time."""

    drafting: Drafting = field(default_factory=lambda: Drafting(DRAFTS))
    capabilities: frozenset[str] = frozenset({"batch", "drafts"})
    rule: str = "recursive"

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:  # noqa: ARG002
        """Verify a batch of trees."""
        drafts.check()
        parents, index = _nodes(drafts)
        flat = drafts.tokens.transpose(1, 2).flatten(1)  # [B, T], position after position
        count = flat.shape[1]
        # Row 0 is the root's; row 1 + t that after node t.
        after = drafts.target_probs[:, :, 1:].transpose(1, 2).flatten(1, 2)  # [B, T, V]
        rows = torch.cat([drafts.target_probs[:, :1, 0], after], dim=1).log()
        given = self.draft(
            flat, [count] * drafts.batch, parents=parents, probs=drafts.draft_rows().transpose(1, 2).flatten(1, 2)
        )
        paths, final = self.verifier.verify_tree(rows, given, Selector(generator))
        chosen = torch.tensor([int(index[path[-1]]) if path else 0 for path in paths])
        accepted = torch.tensor([len(path) for path in paths])
        return Outcome.of(drafts, chosen, accepted, torch.tensor(final))


def _nodes(drafts: Drafts) -> tuple[Tensor, Tensor]:
    """Parents [B, T] of the nodes, position after position, and which draft each node lies on [T].

    The parent is the first draft that agrees so far: it stands for those after it, which can no longer be accepted once it
    was rejected.
    """
    batch, paths, length = drafts.tokens.shape
    parents = torch.full((batch, length, paths), -1)
    agree = torch.ones(batch, paths, paths, dtype=torch.bool)
    for i in range(1, length):
        before = drafts.tokens[:, :, i - 1]  # [B, K]
        agree &= before[:, :, None] == before[:, None, :]
        parents[:, i] = (i - 1) * paths + agree.int().argmax(-1)
    return parents.flatten(1), torch.arange(paths).repeat(length)


def chain(located: Located) -> Economize:
    """Its batched path on chains."""
    return Economize(*_parts(located, "verify_batch", "logits draft selector seq ends"))


def tree(located: Located, drafts: int = DRAFTS) -> EconomizeTree:
    """Its path on trees, with this many drafts drawn independently."""
    if not isinstance(drafts, int) or drafts < 1:
        raise ValueError(f"drafts must be a whole number, at least 1, got {drafts!r}")
    return EconomizeTree(*_parts(located, "verify_tree", "logits draft selector"), Drafting(drafts))


def _parts(located: Located, method: str, takes: str) -> tuple[Any, Any]:
    verifiers = import_from(located.root, "economize.decoding.verifiers")
    kind: Any = known(verifiers, "RejectionVerifier", "config", located)
    verifier = object.__new__(kind)  # its settings are the selector's and unused here
    known(verifier, method, takes, located)
    return verifier, known(verifiers, "Draft", "tokens lengths parents probs", located)
