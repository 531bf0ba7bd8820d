"""How every part of specproof says that a name is unknown: what was given, the nearest valid one, what is allowed."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(what: str, given: str, allowed: Iterable[str]) -> str:
    """Return the sentence of an error message for an unknown name."""
    names = sorted(allowed)
    close = get_close_matches(given, names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"Unknown {what} {given!r}.{hint} Available: {', '.join(names) or 'none'}."
