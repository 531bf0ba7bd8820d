"""Verification rules by name, one file each: ``rule(name, **options)`` is the only way in.

``rule("block", selector="race", cells=2)`` puts a selector before a one-draft rule: the selected path and the model of its
law are handed over in place of the draft's (``specproof.reference.selectors``).
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.names import nearest
from specproof.reference.selectors import Select, selector, selector_options
from specproof.reference.step import Drafter, Step, Verify, independent_drafts
from specproof.reference.verifiers import (
    autoregressive,
    block,
    ensemble,
    greedy_block,
    k_seq,
    recursive,
    recursive_without_replacement,
    sample_match,
    spectr_gbv_published,
    staged_greedy,
    standard,
    transport,
    traversal,
    typical,
)


@dataclass(frozen=True)
class Rule:
    """A verification rule as the exact engine runs it. ``paths`` limits how many drafts it takes (None: any number)."""

    name: str
    verify: Verify
    paths: int | None = 1
    drafter: Drafter = independent_drafts


@dataclass(frozen=True)
class Entry:
    """A registered rule: as in ``Rule``, its options still open."""

    verify: Callable[..., Step]
    paths: int | None = 1
    drafter: Drafter = independent_drafts


_RULES: dict[str, Entry] = {
    "autoregressive": Entry(autoregressive.verify, None),
    "standard": Entry(standard.verify),
    "block": Entry(block.verify),
    "greedy_block": Entry(greedy_block.verify),
    "ensemble": Entry(ensemble.verify),
    "k_seq": Entry(k_seq.verify, None),
    "recursive": Entry(recursive.verify, None),
    "recursive_without_replacement": Entry(
        recursive_without_replacement.verify, None, recursive_without_replacement.distinct_drafts
    ),
    "transport": Entry(transport.verify, None),
    "staged_greedy": Entry(staged_greedy.verify, None),
    "traversal": Entry(traversal.verify, None),
    "sample_match": Entry(sample_match.verify, None),
    "typical": Entry(typical.verify, None),
    "spectr_gbv_published": Entry(spectr_gbv_published.verify, None),
}

# A one-draft rule and the selector in front of it, under a name of their own; these options are fixed.
_PAIRS: dict[str, tuple[str, dict[str, Any]]] = {
    "spectr_gbv": ("greedy_block", {"selector": "race", "table": "balanced"}),
    "greedy_multipath_block": ("block", {"selector": "best_ratio"}),
}


def rule_names() -> list[str]:
    """Names that ``rule`` takes."""
    return [*_RULES, *_PAIRS]


def rule(name: str, **options: Any) -> Rule:
    """Return the named rule with its options fixed. Raises ``ValueError`` for an unknown name or option."""
    if name not in rule_names():
        raise ValueError(nearest("verification rule", name, rule_names()))
    base, fixed = _PAIRS.get(name, (name, {}))
    entry, chosen = _RULES[base], {**options, **fixed}
    selecting = chosen.pop("selector", None) if entry.paths == 1 else None
    own = _keyword_only(entry.verify)
    of_selector = selector_options(selecting) if selecting is not None else []
    allowed = [*own, *of_selector, *(["selector"] if entry.paths == 1 else [])]
    for option, value in options.items():
        if option in fixed or option not in allowed:
            raise ValueError(nearest(f"option of {name}", option, [o for o in allowed if o not in fixed]))
        if own.get(option) is bool and not isinstance(value, bool):
            raise ValueError(f"option {option} of {name} is true or false, got {value!r}")
    verify = partial(entry.verify, **{option: chosen[option] for option in own if option in chosen})
    if selecting is None:
        return Rule(name, verify, entry.paths, entry.drafter)
    select = selector(selecting, **{option: chosen[option] for option in of_selector if option in chosen})
    return Rule(name, partial(_composed, select, verify), None, entry.drafter)


def _composed(
    select: Select, verify: Verify, chance: Chance, target: Model, draft: Model, drafts: tuple[Prefix, ...]
) -> Step:
    """Verify the selected path as one draft of known law."""
    path, selected = select(chance, target, draft, drafts)
    return verify(chance, target, selected, (path,))


def _keyword_only(function: Callable[..., object]) -> dict[str, Any]:
    """The options of a rule and their types."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.annotation for p in parameters if p.kind is p.KEYWORD_ONLY}
