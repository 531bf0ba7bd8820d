"""The lattice of claims: what falls with a violated claim, and which violated claim is the weakest.

``IMPLIED`` holds consequences that need no further assumption: a text that the target rules out has no mass in any law of the
target; the first token is a marginal of the block, and the block of the text; a subject that decides as its declared rule on
the same uniforms has that rule's laws. ``PREMISES`` are claims that a proof of others starts from: drafts that are not
distributed as declared usually spoil the law, but a rule that never uses the declared law keeps it. What falls that way falls
unless evidence of its own says that it holds.

A mean above the acceptance ceiling proves that the law is lost as well. It has no edge: both are read off one law, so the
block fails with it, and is what a reader should see first.
"""

from collections.abc import Iterable, Mapping

from specproof.properties.check import CLAIMS
from specproof.properties.verdict import Verdict

IMPLIED: dict[str, tuple[str, ...]] = {
    "contract": ("support", "first token", "stop time", "declared law", "declared acceptance"),
    "support": ("block",),
    "first token": ("block",),
    "block": ("iterations",),
    "stop time": ("iterations",),
    "independent requests": ("driven",),
    "precision": ("driven",),
    "declared law": ("driven",),
    "declared acceptance": ("driven",),
}
PREMISES: dict[str, tuple[str, ...]] = {
    "drafts": ("first token",),
    "target rows": ("first token",),
    "verified length": ("first token",),
    "iterations": ("driven",),  # where the declared rule is lossless
}


def falls_with(claim: str, verdicts: Mapping[str, Verdict] | None = None) -> list[str]:
    """Every claim that falls with a violated one, weakest first; with ``verdicts``, of those that the subject was asked for."""
    known = dict.fromkeys(CLAIMS, Verdict.UNDECIDED) if verdicts is None else verdicts
    fallen: set[str] = set()
    pending = [claim]
    while pending:
        here = pending.pop()
        doubted = [there for there in PREMISES.get(here, ()) if known.get(there) is not Verdict.HELD]
        pending += [there for there in (*IMPLIED.get(here, ()), *doubted) if there not in fallen]
        fallen.update(IMPLIED.get(here, ()), doubted)
    asked = {there for there, verdict in known.items() if verdict is not Verdict.NOT_APPLICABLE}
    return [there for there in CLAIMS if there in fallen & asked]


def weakest(verdicts: Mapping[str, Verdict]) -> str | None:
    """The first minimal violated claim: one that falls with no other violated claim. None where nothing is violated."""
    violated = [claim for claim in CLAIMS if verdicts.get(claim) is Verdict.FAILED]
    below = {claim: {other for other in violated if claim in falls_with(other, verdicts)} for claim in violated}
    return next((claim for claim in violated if not below[claim]), None)


def also_violated(first: str, verdicts: Mapping[str, Verdict]) -> list[str]:
    """What falls with the weakest violated claim, then every other claim that was found violated."""
    fallen = falls_with(first, verdicts)
    return [*fallen, *others(first, verdicts, fallen)]


def others(first: str, verdicts: Mapping[str, Verdict], fallen: Iterable[str]) -> list[str]:
    """Claims that were found violated and do not fall with the weakest one."""
    apart = set(fallen) | {first}
    return [claim for claim in CLAIMS if verdicts.get(claim) is Verdict.FAILED and claim not in apart]
