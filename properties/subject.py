"""What is being certified, whatever its origin, in the one form that the evidence understands."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from specproof.fast.batch import CAPABILITIES, Drafting, Verifier
from specproof.fast.decoder import DECODER_CAPABILITIES, Decoder
from specproof.properties.bandit import BanditMaker, bandit_maker
from specproof.reference.names import nearest
from specproof.reference.verifiers import Rule, rule
from specproof.reference.verifiers.recursive_without_replacement import distinct_drafts

# Declared needs that no evidence serves yet: such a subject stays undecided and is never run on the wrong terms.
UNSUPPORTED = {
    "tree": "drafts are handed over as paths; specproof.from_tree_function lays them out as a tree",
    "owns_drafting": "subjects that draw their own drafts are not run yet",
    "bonus_by_caller": "the bonus token is left to the subject; wrap the function so that it draws it",
}

SLOW_SHARE = 2**5  # as many fewer texts are counted of a subject that takes milliseconds a request


@dataclass(frozen=True)
class Subject:
    """A named verifier or decoder (any torch code behind ``fast.batch`` or ``fast.decoder``), a rule over ``Chance``, or a bandit.

    ``declared`` is the reference rule whose acceptance the subject promises; ``largest_deviation`` the total variation from the
    target that one which is lossy by design declares; ``unavailable`` says why it cannot be run.
    """

    name: str
    kind: Literal["verifier", "rule", "decoder", "bandit"]
    version: str
    verifier: Verifier | None = None
    program: Rule | None = None
    decoder: Decoder | None = None
    bandit: BanditMaker | None = None
    drafting: Drafting = field(default_factory=Drafting)
    capabilities: frozenset[str] = frozenset({"batch"})
    declared: Rule | None = None
    largest_deviation: float | None = None
    unavailable: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def affordable(self, draws: int) -> int:
        """How many of so many texts are counted."""
        return draws // SLOW_SHARE if "slow" in self.capabilities else draws


def subject_of_verifier(
    verifier: Any, *, name: str, version: str = "unversioned", options: dict[str, Any] | None = None
) -> Subject:
    """Describe an object with a ``verify`` method by what it declares.

    Raises ``TypeError`` without that method, ``ValueError`` for an unknown capability or declared rule.
    """
    if not callable(getattr(verifier, "verify", None)):
        raise TypeError(
            f"{name} has no verify(drafts, generator, carry=None) method; "
            "wrap a plain function with specproof.from_function(function)"
        )
    capabilities = _known("capability", getattr(verifier, "capabilities", {"batch"}), CAPABILITIES)
    declared = getattr(verifier, "rule", None)
    beyond = sorted(capabilities & UNSUPPORTED.keys())
    return Subject(
        name=name,
        kind="verifier",
        version=version,
        verifier=verifier,
        drafting=getattr(verifier, "drafting", Drafting()),
        capabilities=capabilities,
        declared=rule(declared, **getattr(verifier, "rule_options", {})) if declared else None,
        largest_deviation=_deviation(name, getattr(verifier, "largest_deviation", None)),
        unavailable=f"{beyond[0]}: {UNSUPPORTED[beyond[0]]}" if beyond else None,
        options=options or {},
    )


def _known(what: str, given: Iterable[str], allowed: Iterable[str]) -> frozenset[str]:
    """The capabilities, each one that there is."""
    for capability in given:
        if capability not in allowed:
            raise ValueError(nearest(what, capability, allowed))
    return frozenset(given)


def _deviation(name: str, given: Any) -> float | None:
    if given is None:
        return None
    if 0 <= given <= 1:
        return float(given)
    raise ValueError(f"largest_deviation of {name} is a total variation between 0 and 1, got {given!r}")


def subject_of_rule(
    given: Rule, *, name: str, version: str, drafts: int = 1, options: dict[str, Any] | None = None
) -> Subject:
    """Describe a reference rule, to be enumerated exactly with its own drafter."""
    drafting = Drafting(drafts, replacement=given.drafter is not distinct_drafts)
    capabilities = frozenset({"batch", "drafts"} if given.paths is None else {"batch"})
    return Subject(
        name=name, kind="rule", version=version, program=given, drafting=drafting, capabilities=capabilities,
        options=options or {},
    )  # fmt: skip


def subject_of_decoder(
    decoder: Any, *, name: str, version: str = "unversioned", options: dict[str, Any] | None = None
) -> Subject:
    """Describe an object with a ``decode`` method by what it declares (see ``fast.decoder``).

    Raises ``TypeError`` without that method, ``ValueError`` for an unknown capability.
    """
    if not callable(getattr(decoder, "decode", None)):
        raise TypeError(f"{name} has no decode(target, draft, prefix, tokens, generator, sampling) method")
    capabilities = _known("capability of a decoder", getattr(decoder, "capabilities", ()), DECODER_CAPABILITIES)
    return Subject(
        name=name,
        kind="decoder",
        version=version,
        decoder=decoder,
        capabilities=capabilities,
        largest_deviation=_deviation(name, getattr(decoder, "largest_deviation", None)),
        options=options or {},
    )


def subject_of_bandit(
    found: Any, *, name: str, version: str = "unversioned", options: dict[str, Any] | None = None
) -> Subject:
    """Describe a bandit, or what makes one, by what it declares (see ``specproof.properties.bandit``).

    Raises ``TypeError`` where none can be made, ``ValueError`` for an unknown reward.
    """
    bandit = bandit_maker(found, name=name)
    capabilities = frozenset({"randomised"}) if bandit.randomised else frozenset()
    return Subject(
        name=name, kind="bandit", version=version, bandit=bandit, capabilities=capabilities, options=options or {}
    )
