"""Selectors by name, one file each: several drafts become one path of known law, ``selector(name, **options)``.

A selector ``select(chance, target, draft, drafts) -> (path, selected)`` returns one of the drafts and the model of its
law: ``selected`` gives ``D(zc)/D(z)``, with D(z) the probability that the selected path starts with z. Lemma (MATH
4.2): any one-draft rule that verifies the path with ``selected`` in place of ``draft`` keeps the target's law.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from specproof.reference.chance import Chance
from specproof.reference.model import Model, Prefix
from specproof.reference.names import nearest
from specproof.reference.selectors import best_ratio, first, kill_race, race, scan
from specproof.reference.selectors.tables import table_of

Selection = tuple[Prefix, Model]
Select = Callable[[Chance, Model, Model, tuple[Prefix, ...]], Selection]

_SELECTORS: dict[str, Callable[..., Selection]] = {
    "first": first.select,
    "scan": scan.select,
    "race": race.select,
    "kill_race": kill_race.select,
    "best_ratio": best_ratio.select,
}


def selector_names() -> list[str]:
    """Names that ``selector`` takes."""
    return list(_SELECTORS)


def selector_options(name: str) -> list[str]:
    """Options of the named selector. Raises ``ValueError`` for an unknown name."""
    if name not in _SELECTORS:
        raise ValueError(nearest("selector", name, selector_names()))
    parameters = inspect.signature(_SELECTORS[name]).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


def selector(name: str, **options: Any) -> Select:
    """Return the named selector with its options fixed. Raises ``ValueError`` for an unknown name, option or table."""
    allowed = selector_options(name)
    for option in options:
        if option not in allowed:
            raise ValueError(nearest(f"option of selector {name}", option, allowed))
    if "table" in options:  # an unknown name fails here rather than in the first run
        options["table"] = table_of(options["table"])
    return partial(_SELECTORS[name], **options) if options else _SELECTORS[name]
