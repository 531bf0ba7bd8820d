"""Our own contenders: verifiers and selectors of the fast engine on given inputs."""

from collections.abc import Callable
from typing import Any

import torch

from specproof.bench.clock import Contender
from specproof.bench.inputs import Inputs
from specproof.bench.traffic import chain_bytes, root_bytes, trie_bytes, walk_bytes
from specproof.fast import from_logits as logits
from specproof.fast.batch import Drafts, Outcome
from specproof.fast.selectors import selector
from specproof.fast.verifiers import VERIFIERS
from specproof.fast.verifiers.composed import compose

SELECTORS: dict[str, dict[str, Any]] = {
    "race balanced": {"select": "race", "table": "balanced"},
    "race proportional": {"select": "race", "table": "proportional"},
    "scan": {"select": "scan"},
    "best_ratio": {"select": "best_ratio"},
    "kill_race": {"select": "kill_race"},
}
Touches = Callable[[Drafts, Outcome], float]
ONE_PATH = ("scan", "best_ratio")
SELECTING = ("spectr_gbv", "greedy_multipath_block")
TOUCHES: dict[str, Touches] = {
    "recursive": walk_bytes, "k_seq": walk_bytes, **dict.fromkeys(SELECTING, lambda drafts, _: trie_bytes(drafts)),
}  # fmt: skip


def verifier(name: str, given: Inputs, *, title: str | None = None) -> Contender:
    """A verifier by name, from probabilities."""
    module, drafts = VERIFIERS[name], given.drafts
    touches = TOUCHES.get(name, chain_bytes)
    return Contender(
        title or name, lambda generator: module.verify(drafts, generator), lambda outcome: touches(drafts, outcome)
    )


def from_logits(name: str, given: Inputs) -> Contender:
    """A verifier of one draft that makes probabilities of the rows it needs; it needs those up to the first rejection."""
    rule = {"standard": logits.standard, "block": logits.block}[name]
    tokens, draft, target = given.tokens[:, 0], given.draft_logits[:, 0], given.target_logits[:, 0]
    return Contender(
        f"{name} from logits",
        lambda generator: rule(tokens, draft, target, generator),
        lambda outcome: walk_bytes(given.drafts, outcome),
    )


def softmax_first(name: str, given: Inputs) -> Contender:
    """A verifier of one draft with the softmax of all rows before it."""
    module = VERIFIERS[name]

    def call(generator: torch.Generator) -> Outcome:
        drafts = Drafts(given.tokens, given.draft_logits.softmax(-1), given.target_logits.softmax(-1))
        outcome: Outcome = module.verify(drafts, generator)
        return outcome

    return Contender(f"{name}, softmax first", call, lambda outcome: walk_bytes(given.drafts, outcome))


def composed(select: str, verify: str, given: Inputs) -> Contender:
    """A selector before a one-draft verifier."""
    options = dict(SELECTORS[select])
    found = compose(options.pop("select"), verify, drafts=given.size.drafts, **options)
    drafts, touched = given.drafts, selecting_bytes(select, given.drafts)
    after = chain_bytes if select in ONE_PATH else lambda *_: 0.0  # rows that the selector has not read already
    return Contender(
        f"{verify} + {select}",
        lambda generator: found.verify(drafts, generator),
        lambda outcome: touched + after(drafts, outcome),
    )


def selecting_bytes(select: str, drafts: Drafts) -> float:
    """Bytes that a selector cannot do without."""
    return root_bytes(drafts) if select in ONE_PATH else trie_bytes(drafts)


def selection(select: str, given: Inputs) -> Contender:
    """A selector alone: which draft, and the rows of its law."""
    options = dict(SELECTORS[select])
    chosen = selector(options.pop("select"), **options)
    drafts, touched, count = given.drafts, selecting_bytes(select, given.drafts), chosen.coins(given.size.length)

    def call(generator: torch.Generator) -> Any:
        uniform = torch.rand(
            given.size.batch, count, dtype=torch.float64, generator=generator, device=given.tokens.device
        )
        return chosen(drafts, uniform)

    return Contender(f"select {select}", call, lambda _: touched)
