"""What one certification runs, and the form of a named check: what every property family is written in.

A family is a function ``(subject, plan) -> Iterator[Check]``: it names its checks before anything runs, so that what did
not run can be told from what passed. Evidence that several checks share is a ``Gathering``.
"""

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar

from specproof.properties.cases import Case
from specproof.properties.check import CheckResult, Evidence, Finding, Judge
from specproof.properties.evidence.history import History
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided, Verdict

T = TypeVar("T")
EvidenceChoice = Literal["quick", "nightly", "large-vocabulary", "exact", "probed", "driven", "sampled"]
FAMILY_ALPHA = 1e-6
# What each family of deciding counts may spend of a run's false-alarm rate; one that does not run leaves its part unspent.
ALPHA_SHARES = {"counts": 0.5, "large vocabulary": 0.2, "independence": 0.3}


@dataclass(frozen=True)
class Plan:
    """What one certification runs. ``seconds`` limits the sampled evidence, which then ends UNDECIDED.

    ``history`` holds the counts of earlier nights, and takes those of this one.

    ``deadline`` is the moment (``time.monotonic``) at which those seconds are over.
    """

    evidence: EvidenceChoice = "quick"
    seed: int = 0
    seconds: float | None = None
    alpha: float = FAMILY_ALPHA
    history: History | None = field(default=None, repr=False, compare=False)
    deadline: float = field(init=False, repr=False, default=float("inf"))

    def __post_init__(self) -> None:
        if self.seconds is not None:
            object.__setattr__(self, "deadline", time.monotonic() + self.seconds)

    def alpha_of(self, family: str) -> float:
        """The part of the run's false-alarm rate that a family of counts may spend, all of its checks together."""
        return self.alpha * ALPHA_SHARES[family]

    def asks_for(self, kind: str) -> bool:
        """Whether evidence of this kind is wanted: by itself, or as part of a battery."""
        return self.evidence in ("quick", "nightly", kind)


@dataclass(frozen=True)
class Check:
    """A named check that has not run yet: what it looks at, and what it makes of that."""

    id: str
    property: str
    claim: str
    case: str
    kind: str
    gather: Callable[[], Any] = field(repr=False)
    judge: Judge = field(repr=False)

    def run(self, evidence: Callable[[], Any] | None = None) -> CheckResult:
        """Judge what the subject shows, or what ``evidence`` returns in its place; ``Undecided`` is caught."""
        try:
            found = self.judge((evidence or self.gather)())
        except Undecided as reason:
            found = Finding(Verdict.UNDECIDED, str(reason), Evidence(self.kind))
        return CheckResult(
            self.id, self.property, self.claim, self.case, found.verdict, found.reason, found.evidence,
            found.counterexample, found.notes,
        )  # fmt: skip


class Gathering:
    """Evidence on one case, gathered when first asked for and kept, also when it failed."""

    def __init__(self, gather: Callable[..., Any], *arguments: Any) -> None:
        self._gather = gather
        self._arguments = arguments
        self._known = False
        self._found: Any = None
        self._reason: Undecided | None = None

    @property
    def subject(self) -> Subject | None:
        """The subject that it looks at, in the form in which it does."""
        return self.argument(Subject)

    @property
    def case(self) -> Case | None:
        """The case that it looks at; None for evidence on no case."""
        return self.argument(Case)

    def argument(self, kind: type[T]) -> T | None:
        """Return what of this kind it looks at; None where it looks at none."""
        return next((given for given in self._arguments if isinstance(given, kind)), None)

    def takes(self, keyword: str) -> bool:
        """Whether what gathers it can be told this keyword."""
        return keyword in inspect.signature(self._gather).parameters

    def told(self, **keywords: Any) -> "Gathering":
        """The same evidence, not gathered yet, with keywords for what gathers it."""
        return Gathering(partial(self._gather, **keywords), *self._arguments)

    def on(self, subject: Subject, case: Case, **keywords: Any) -> "Gathering":
        """The same kind of evidence on another case (or another form of the subject), not gathered yet.

        ``keywords`` are handed on where the evidence takes them.
        """
        swapped = {Subject: subject, Case: case}
        arguments = [next((new for kind, new in swapped.items() if isinstance(a, kind)), a) for a in self._arguments]
        return Gathering(self._gather, *arguments).told(**{k: v for k, v in keywords.items() if self.takes(k)})

    def __call__(self) -> Any:
        """Return the evidence; raises ``Undecided`` with the same reason every time it could not be gathered."""
        if not self._known:
            try:
                self._found = self._gather(*self._arguments)
            except Undecided as reason:
                self._reason = reason
            self._known = True
        if self._reason is not None:
            raise self._reason
        return self._found


def named(name: str, claim: str, case: Case | str, kind: str, gather: Callable[[], Any], judge: Judge) -> Check:
    """A check of property ``name``: ``judge`` makes a finding of what ``gather`` returns."""
    title = case if isinstance(case, str) else case.name
    identity = f"{name}.{claim.replace(' ', '_')}[{kind}:{title.replace(' ', '_')}]"
    return Check(identity, name, claim, title, kind, gather, judge)


def cases(make: Callable[[int], list[Case]], subject: Subject) -> list[Case]:
    """The cases of a kind for as many drafts as the subject takes, drawn in the way it wants them."""
    made = make(subject.drafting.drafts)
    return made if subject.drafting.replacement else [case for case in made if case.allows_distinct_drafts]
