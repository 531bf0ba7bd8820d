"""Fast verifiers by name; each is a module that honours ``specproof.fast.batch``."""

from types import ModuleType

from specproof.fast.verifiers import block, ensemble, standard

VERIFIERS: dict[str, ModuleType] = {"standard": standard, "block": block, "ensemble": ensemble}
