"""A verifier with its options fixed: another number of drafts, or keywords of its ``verify``."""

import inspect
from dataclasses import dataclass, replace
from fractions import Fraction
from types import ModuleType
from typing import Any

from specproof.fast.batch import Drafting, Drafts, Outcome, Randomness
from specproof.reference.names import nearest


@dataclass(frozen=True)
class Configured:
    """What a verifier's module offers, its options fixed; see ``configured``."""

    module: ModuleType
    options: dict[str, Any]
    drafting: Drafting
    capabilities: frozenset[str]
    rule: str
    rule_options: dict[str, Any]

    def verify(self, drafts: Drafts, generator: Randomness, carry: Any = None) -> Outcome:
        """Verify as the module does, with the options."""
        outcome: Outcome = self.module.verify(drafts, generator, carry, **self.options)
        return outcome


def configured(name: str, module: ModuleType, options: dict[str, Any]) -> Configured:
    """Fix options of a verifier: keywords of its ``verify``, and ``drafts`` for one that takes any number of them.

    Raises ``ValueError`` for an unknown option or fewer than one draft.
    """
    several = "drafts" in module.capabilities
    parameters = inspect.signature(module.verify).parameters.values()
    allowed = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    for option in options:
        if option not in [*allowed, *(["drafts"] if several else [])]:
            raise ValueError(nearest(f"option of {name}", option, [*allowed, *(["drafts"] if several else [])]))
    own = dict(options)
    drafts = own.pop("drafts", module.drafting.drafts)
    if not isinstance(drafts, int) or drafts < 1:
        raise ValueError(f"drafts must be an integer of at least 1, got {drafts!r}")
    exact = {key: Fraction(str(value)) if isinstance(value, float) else value for key, value in own.items()}
    return Configured(
        module, own, replace(module.drafting, drafts=drafts), module.capabilities, module.rule,
        {**getattr(module, "rule_options", {}), **exact},
    )  # fmt: skip
