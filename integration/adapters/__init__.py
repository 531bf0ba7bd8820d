"""Third-party verifiers by name. Each module has ``load(**options)`` and ``version()``; none is imported before it is asked for."""

from importlib import import_module
from types import ModuleType

from specproof.reference.names import nearest

ADAPTERS = {"transformers": "speculative sampling of Hugging Face transformers' assisted generation"}


def adapter(name: str) -> ModuleType:
    """Return the module of a third-party name. Raises ``ValueError`` for an unknown one."""
    if name not in ADAPTERS:
        raise ValueError(nearest("adapter", name, ADAPTERS))
    return import_module(f"specproof.integration.adapters.{name}")
