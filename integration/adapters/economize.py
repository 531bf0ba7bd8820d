"""economize: its rejection verifier, on a chain in batches and on a tree of several drafts (recursive rejection sampling)."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.from_tree import TreeVerifier, from_tree_function
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


def chain(located: Located) -> Economize:
    """Its batched path on chains."""
    return Economize(*_parts(located, "verify_batch", "logits draft selector seq ends"))


def tree(located: Located, drafts: int = DRAFTS) -> TreeVerifier:
    """Its path on trees, of this many drafts drawn independently."""
    if not isinstance(drafts, int):
        raise TypeError(f"drafts must be a whole number, got {drafts!r}")
    verifier, draft = _parts(located, "verify_tree", "logits draft selector")

    def verify(tokens: Tensor, parents: Tensor, rows: Tensor, target: Tensor, generator: Any) -> tuple[Tensor, Tensor]:
        given = draft(tokens, [tokens.shape[1]] * len(tokens), parents=parents, probs=rows)
        paths, final = verifier.verify_tree(target.log(), given, Selector(generator))
        return torch.tensor([path[-1] if path else -1 for path in paths]), torch.tensor(final)

    return from_tree_function(verify, drafts=drafts, rule="recursive")


def _parts(located: Located, method: str, takes: str) -> tuple[Any, Any]:
    verifiers = import_from(located.root, "economize.decoding.verifiers")
    kind: Any = known(verifiers, "RejectionVerifier", "config", located)
    verifier = object.__new__(kind)  # its settings are the selector's and unused here
    known(verifier, method, takes, located)
    return verifier, known(verifiers, "Draft", "tokens lengths parents probs", located)
