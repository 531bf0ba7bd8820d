"""specproof: certify that a speculative-decoding verifier keeps the target's law, or say how far it is off.

>>> import specproof
>>> certificate = specproof.certify(specproof.from_function(my_function, rule="standard"))
>>> certificate.verdict

Names are imported when they are first used: importing the package alone, as pytest does for its plugin, costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specproof.certificate import Certificate
    from specproof.certification import certify
    from specproof.fast.batch import Drafting, Drafts, Outcome
    from specproof.fast.from_function import from_function
    from specproof.fast.from_tree import from_tree_function
    from specproof.parametrize import parametrize_with_checks
    from specproof.properties.verdict import Verdict
    from specproof.subjects import __version__

__all__ = [
    "Certificate",
    "Drafting",
    "Drafts",
    "Outcome",
    "Verdict",
    "__version__",
    "certify",
    "from_function",
    "from_tree_function",
    "parametrize_with_checks",
]

_HOMES = {
    "Certificate": "specproof.certificate",
    "Drafting": "specproof.fast.batch",
    "Drafts": "specproof.fast.batch",
    "Outcome": "specproof.fast.batch",
    "Verdict": "specproof.properties.verdict",
    "__version__": "specproof.subjects",
    "certify": "specproof.certification",
    "from_function": "specproof.fast.from_function",
    "from_tree_function": "specproof.fast.from_tree",
    "parametrize_with_checks": "specproof.parametrize",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'specproof' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
