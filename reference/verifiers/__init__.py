"""Verification rules by name, one file each: ``rule(name, **options)`` is the only way in."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from specproof.reference.names import nearest
from specproof.reference.step import Drafter, Step, Verify, independent_drafts
from specproof.reference.verifiers import autoregressive, block, ensemble, greedy_block, standard


@dataclass(frozen=True)
class Rule:
    """A verification rule as the exact engine runs it. ``paths`` limits how many drafts it takes (None: any number)."""

    name: str
    verify: Verify
    paths: int | None = 1
    drafter: Drafter = independent_drafts


_RULES: dict[str, tuple[Callable[..., Step], int | None]] = {
    "autoregressive": (autoregressive.verify, None),
    "standard": (standard.verify, 1),
    "block": (block.verify, 1),
    "greedy_block": (greedy_block.verify, 1),
    "ensemble": (ensemble.verify, 1),
}


def rule_names() -> list[str]:
    """Names that ``rule`` takes."""
    return list(_RULES)


def rule(name: str, **options: Any) -> Rule:
    """Return the named rule with its options fixed. Raises ``ValueError`` for an unknown name or option."""
    if name not in _RULES:
        raise ValueError(nearest("verification rule", name, rule_names()))
    verify, paths = _RULES[name]
    allowed = [p.name for p in inspect.signature(verify).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for option in options:
        if option not in allowed:
            raise ValueError(nearest(f"option of {name}", option, allowed))
    return Rule(name, partial(verify, **options) if options else verify, paths)
