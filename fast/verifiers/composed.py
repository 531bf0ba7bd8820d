"""A selector before a one-draft verifier: ``compose("race", "block", drafts=8)`` verifies eight drafts (MATH 4.2, lemma).

The selected path is handed on with the rows of its law in place of the draft's, so whatever verifies one draft without
loss verifies several. The selector takes its uniforms first, then the verifier its own. Before ``greedy_block`` the target
owed to the rest of the block is carried (``specproof.fast.selectors.carried``); the others remember nothing. With seeds a
request's draws do not depend on its neighbours; in uniforms that are passed in, the verifier's own begin behind those that the
selector takes for the batch's longest draft.
"""

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.fast.randomness import uniforms
from specproof.fast.selectors import SELECTORS, Selector, selector
from specproof.fast.selectors.carried import Carried, advanced, owed
from specproof.fast.verifiers import block, greedy_block, standard
from specproof.reference.names import nearest

ONE_DRAFT: dict[str, ModuleType] = {"standard": standard, "block": block, "greedy_block": greedy_block}


@dataclass(frozen=True)
class Composed:
    """A verifier for several drafts; see ``compose``."""

    selector: Selector
    verifier: ModuleType
    drafting: Drafting
    rule: str | None
    rule_options: dict[str, Any] = field(default_factory=dict)
    capabilities: frozenset[str] = frozenset({"batch", "ragged", "drafts", "takes_uniforms"})

    def verify(self, drafts: Drafts, generator: Randomness, carry: Carried | None = None) -> Outcome:
        """Select one draft of each request and verify it. Raises ``ValueError`` for drafts without probabilities."""
        if drafts.check().draft_probs is None:
            raise ValueError("a selector needs the draft's probabilities; one-hot drafts of one request are all equal")
        layers = carry.layers if carry is not None else ()
        drafts, under = owed(self.selector, drafts, layers)
        own, rest = split(generator, drafts.batch, self.selector.coins(drafts.length), drafts.device)
        selection = self.selector(drafts, own)
        outcome: Outcome = self.verifier.verify(selection.drafts, rest)
        next_carry = None
        if self.verifier is greedy_block:
            next_carry = advanced(self.selector, drafts, under, layers, selection, outcome)
        return Outcome(outcome.tokens, outcome.accepted, selection.path, next_carry)


def split(source: Randomness, batch: int, count: int, device: torch.device) -> tuple[Tensor, Randomness]:
    """Take ``count`` uniforms for each request; the rest of the source is independent of them."""
    if isinstance(source, Tensor):
        return uniforms(source[:, :count], batch, count, device), source[:, count:]
    if source is None or isinstance(source, torch.Generator):
        return uniforms(source, batch, count, device), source
    drawn = uniforms(source, batch, count + 1, device)
    return drawn[:, 1:], (drawn[:, 0] * 2**53).long().tolist()  # a request's seed draws the seed of what follows


def compose(select: str, verify: str, *, drafts: int = 2, **options: Any) -> Composed:
    """Put the named selector, with its options, before the named one-draft verifier.

    ``drafts`` is how many it is certified with; ``verify`` takes any number. Raises ``ValueError`` for an unknown name or
    option, or fewer than one draft.
    """
    if verify not in ONE_DRAFT:
        raise ValueError(nearest("one-draft verifier", verify, ONE_DRAFT))
    if drafts < 1:
        raise ValueError(f"drafts must be at least 1, got {drafts}")
    chosen = selector(select, **options)
    twin = chosen.twin
    rule = None if twin is None else verify
    return Composed(
        chosen, ONE_DRAFT[verify], Drafting(drafts), rule, {"selector": select, **twin} if twin is not None else {}
    )


# A one-draft verifier and the selector in front of it, under a name of their own: what is fixed, and what is usual.
PAIRS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "spectr_gbv": ("greedy_block", {"selector": "race", "table": "balanced"}, {}),
    "greedy_multipath_block": ("block", {"selector": "best_ratio"}, {"bins": None}),
}


def composed(name: str, **options: Any) -> Composed:
    """Return a named pair, or a one-draft verifier behind the ``selector`` that the options name.

    Raises ``ValueError`` for an unknown name or option, or one that the pair fixes.
    """
    verify, fixed, usual = PAIRS.get(name, (name, {}, {}))
    for option in options:
        if option in fixed:
            raise ValueError(f"{name} is {verify} with {option}={fixed[option]}; that option is fixed")
    chosen = {**usual, **options, **fixed}
    if "selector" not in chosen:
        raise ValueError(f"{name} needs a selector, one of {', '.join(SELECTORS)}")
    return compose(chosen.pop("selector"), verify, **chosen)
