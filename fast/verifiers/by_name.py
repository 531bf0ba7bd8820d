"""A verifier for a number of drafts, by name: ``block``, ``k_seq``, or with a selector in front, ``block+race``."""

from typing import Any

from specproof.fast.batch import Verifier
from specproof.fast.verifiers import VERIFIERS
from specproof.fast.verifiers.composed import PAIRS, composed
from specproof.reference.names import nearest


def verifier_of(name: str, drafts: int) -> Verifier:
    """Return the named verifier for ``drafts`` independent drafts.

    Raises ``ValueError`` for an unknown name, several drafts where one is verified, or a rule that needs distinct drafts.
    """
    first, separator, select = name.partition("+")
    if not separator and name not in VERIFIERS:
        raise ValueError(nearest("verifier", name, [*VERIFIERS, "block+race"]))
    if separator:
        return composed(first, selector=select, drafts=drafts)
    if name in PAIRS:
        return composed(name, drafts=drafts)
    found: Any = VERIFIERS[name]
    if found.drafting.drafts == 1 and drafts > 1 and "drafts" not in found.capabilities:
        raise ValueError(f"{name} verifies 1 draft, got drafts={drafts}; put a selector before it: {name}+race")
    if not found.drafting.replacement:
        raise ValueError(f"{name} needs distinct drafts; models draw independent ones")
    return found  # type: ignore[no-any-return]
