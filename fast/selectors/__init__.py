"""Selectors by name, one file each: several drafts become one path of known law, ``selector(name, **options)``.

A selector ``select(drafts, uniform) -> Selection`` returns one of the drafts of each request with rows of its law in place
of the draft's (``selection``); ``uniform`` is [B, coins(L)]. Same names as the reference's. Every option that the
reference lacks (``bins``, the default grid) changes which law is selected, never that it is known. ``start`` and ``along``
follow that law off the drafts, for what greedy verification carries over (``carried``).
"""

import inspect
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from torch import Tensor

from specproof.fast.batch import Drafts
from specproof.fast.selectors import best_ratio, first, kill_race, race, scan
from specproof.fast.selectors.selection import Along, Selection, State
from specproof.fast.selectors.tables import checked
from specproof.reference.names import nearest

SELECTORS: dict[str, ModuleType] = {
    "first": first,
    "scan": scan,
    "race": race,
    "kill_race": kill_race,
    "best_ratio": best_ratio,
}


@dataclass(frozen=True)
class Selector:
    """A selector with its options fixed."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, drafts: Drafts, uniform: Tensor) -> Selection:
        """Select one draft of each request."""
        found: Selection = SELECTORS[self.name].select(drafts, uniform, **self.options)
        return found

    def coins(self, length: int) -> int:
        """How many uniforms a request takes."""
        return int(SELECTORS[self.name].coins(length))

    def start(self, drafts: Drafts) -> State:
        """Where the law of a selection among these drafts starts."""
        found: State = SELECTORS[self.name].start(drafts, **self.options)
        return found

    def along(self, state: State, drafts: Drafts, left: Tensor, paths: int) -> Along:
        """The law of a selection among ``paths`` drafts, from where it stands along others."""
        found: Along = SELECTORS[self.name].along(state, drafts, left, paths, **self.options)
        return found

    @property
    def twin(self) -> dict[str, Any] | None:
        """Options with which the reference's selector has the same law; None when it has not."""
        allowed = selector_options(self.name)
        if "bins" in allowed and self.options.get("bins", 0) is not None:
            return None
        if "cells" in allowed and self.options.get("cells") is None:
            return None
        return {option: value for option, value in self.options.items() if option != "bins"}


def selector_options(name: str) -> list[str]:
    """Options of the named selector. Raises ``ValueError`` for an unknown name."""
    if name not in SELECTORS:
        raise ValueError(nearest("selector", name, SELECTORS))
    parameters = inspect.signature(SELECTORS[name].select).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


def selector(name: str, **options: Any) -> Selector:
    """Return the named selector with its options fixed. Raises ``ValueError`` for an unknown name, option or table."""
    allowed = selector_options(name)
    for option in options:
        if option not in allowed:
            raise ValueError(nearest(f"option of selector {name}", option, allowed))
    if "table" in options:  # an unknown name fails here rather than in the first run
        checked(options["table"])
    return Selector(name, options)
