"""What caller, worker and child say to each other. Nothing heavy is imported: a worker only hands on."""

from dataclasses import dataclass
from typing import Any


class Differs(Exception):
    """A worker does not have what the caller has; the message says in what they differ."""


class Ended(Exception):
    """The processes that gathered a piece ended, one after the other; the message says how many."""


@dataclass(frozen=True)
class Certification:
    """One certification in words.

    ``folder`` is where it was asked for: the caller's own modules and processes are looked for there. ``ends`` is the moment
    (``time.time``) at which the plan's seconds are over. ``state`` is what the worker must have in common with the caller.
    """

    subject: str
    options: dict[str, Any]
    evidence: str
    seed: int
    alpha: float
    ends: float | None
    folder: str
    state: dict[str, str]
