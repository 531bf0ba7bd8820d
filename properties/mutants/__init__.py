"""Subjects that are wrong on purpose, one for each fault of the catalogue, and controls that only look wrong.

Every module of this package that has a table ``MUTANTS`` (name -> ``Mutant``) is part of the registry; names are unique.
Modules here must not import ``specproof.properties.evidence``, which looks for the laws of these faults.
"""

import importlib
import pkgutil

from specproof.properties.mutants.mutant import Mutant
from specproof.properties.subject import Subject
from specproof.reference.names import nearest
from specproof.reference.verifiers import Rule


def _registered() -> dict[str, Mutant]:
    """The tables of all modules, in one. Raises ``ValueError`` for a name that is given twice."""
    found: dict[str, Mutant] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("test_")):
        table = getattr(importlib.import_module(f"{__name__}.{module}"), "MUTANTS", {})
        twice = found.keys() & table.keys()
        if twice:
            raise ValueError(f"two mutants are called {min(twice)}, the second one in {module}")
        found |= table
    return found


MUTANTS = _registered()


def mutant_rule(name: str) -> Rule | None:
    """The mutant as a rule to enumerate; None where it is none. Raises ``ValueError`` for an unknown name."""
    return _known(name).rule(name)


def mutant(name: str) -> Subject:
    """Return the named mutant as a subject. Raises ``ValueError`` for an unknown name."""
    return _known(name).subject(name)


def _known(name: str) -> Mutant:
    if name not in MUTANTS:
        raise ValueError(nearest("mutant", name, MUTANTS))
    return MUTANTS[name]
