"""Fast verifiers by name; each is a module that honours ``specproof.fast.batch``."""

from types import ModuleType

from specproof.fast.verifiers import standard

VERIFIERS: dict[str, ModuleType] = {"standard": standard}
