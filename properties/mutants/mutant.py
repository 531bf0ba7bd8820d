"""What a mutant is: a fault, what it violates, and how the subject that has it is made.

A mutant is a program over ``Chance`` (enumerated exactly, or run as torch code), or anything else that ``make`` builds: an
object with ``verify``, a ``Rule``, an object with ``decode``, or a whole ``Subject``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from specproof.properties.program import ProgramVerifier, TorchChance
from specproof.properties.subject import Subject, subject_of_decoder, subject_of_rule, subject_of_verifier
from specproof.reference.step import Drafter, Verify, independent_drafts
from specproof.reference.verifiers import Rule


@dataclass(frozen=True)
class Mutant:
    """A fault in words and the weakest claim that it violates; ``property`` is the property that must convict it.

    It is a ``program`` (with its use of chance, its drafting and the rule that it ``declares``) or what ``make`` returns.
    ``fault_id`` names the entries of the catalogue that it stands for. A ``control`` looks wrong, is right, and must be
    acquitted by every check but those of properties that it ``gives_up``, which have nothing to do with the law. ``evidence`` is the cheapest kind that sees the fault where that is not the strongest.
    ``instance`` is the catalogue's smallest instance (a case) and ``distance`` its published total variation there.
    ``exact`` programs cannot be run as torch code: their fault is in the drafting.
    """

    fault: str
    violates: str
    program: Verify | None = None
    chance: type[TorchChance] = TorchChance
    drafter: Drafter = independent_drafts
    declares: str | None = None
    exact: bool = False
    drafts: int = 1
    make: Callable[[], Any] | None = None
    property: str = "lossless"
    fault_id: tuple[str, ...] = ()
    control: bool = False
    gives_up: tuple[str, ...] = ()
    evidence: str | None = None
    instance: Any = None
    distance: str | None = None

    def __post_init__(self) -> None:
        if (self.program is None) == (self.make is None):
            raise ValueError(f"{self.fault}: a mutant has either a program or a way to make it")

    def rule(self, name: str) -> Rule | None:
        """The mutant as a rule to enumerate; None where its fault is in the use of randomness or in what it declares."""
        honest = self.program is not None and self.chance is TorchChance and self.declares is None
        return Rule(name, self.program, self.drafts, self.drafter) if honest and self.program else None

    def subject(self, name: str) -> Subject:
        """The mutant as a subject, run as torch code wherever that is possible."""
        title = f"mutant:{name}"
        if self.make is not None:
            return described(self.make(), title)
        enumerated = self.rule(name)
        if self.exact and enumerated is not None:
            return subject_of_rule(enumerated, name=title, version="1", drafts=self.drafts)
        assert self.program is not None
        program = ProgramVerifier(self.program, drafts=self.drafts, chance=self.chance, declares=self.declares)
        return subject_of_verifier(program, name=title, version="1")


def described(found: Any, title: str) -> Subject:
    """A subject for whatever a factory made."""
    if isinstance(found, Subject):
        return found
    if isinstance(found, Rule):
        return subject_of_rule(found, name=title, version="1", drafts=found.paths or 1)
    if hasattr(found, "decode"):
        return subject_of_decoder(found, name=title, version="1")
    return subject_of_verifier(found, name=title, version="1")
