"""Verdicts, merged worst first: a crash, a NaN, an empty run or too few samples is UNDECIDED and never a pass."""

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """What a check, a property or a whole certificate says."""

    HELD = "HELD"
    FAILED = "FAILED"
    UNDECIDED = "UNDECIDED"
    NOT_APPLICABLE = "NOT_APPLICABLE"


_WORST_FIRST = (Verdict.FAILED, Verdict.UNDECIDED, Verdict.HELD)


def merged(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst verdict. Nothing that applies is UNDECIDED: an empty run proves nothing."""
    present = set(verdicts)
    return next((verdict for verdict in _WORST_FIRST if verdict in present), Verdict.UNDECIDED)


class Undecided(Exception):
    """Evidence could not be gathered; the message says why. It becomes the verdict UNDECIDED with that reason."""
