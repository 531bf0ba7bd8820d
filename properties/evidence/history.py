"""Counts carried from night to night, so that a bias too small for one night is found by many.

The counts of every case are kept by subject (with its options), subject version, suite version and law of the case; an
e-process goes on where the last night left it, and only within the same versions: under a correct law log E drifts down,
so a process carried over a change would be deaf to what the change broke. A seed is used once: the same draws again would
count twice. Ville's inequality holds over all nights together, so the false-alarm rate is spent once for all of them.

LIMITS. Nights are taken to be independent and the subject to be the same under one version. The command line tells versions
apart by their source too; what a subject calls elsewhere (a library, a device) must change its version, or start a new file.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specproof.properties.cases import Case
from specproof.properties.evidence.sampling import Carried
from specproof.properties.subject import Subject

SCHEMA = "specproof-history/1"
ANOTHER_NIGHT = 1_000_003  # further seeds of a case


@dataclass
class Nights:
    """What is known of one case: counts of all nights together, and the seeds that they were drawn with."""

    subject: str
    subject_version: str
    suite_version: str
    case: str
    law: str
    text: list[int]
    accepted: list[int]
    seeds: list[int] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, ...]:
        """Counts are added up within one key only."""
        return self.subject, self.subject_version, self.suite_version, self.case, self.law

    @property
    def carried(self) -> Carried:
        """The counts as they are added to tonight's."""
        return Carried(np.array(self.text), np.array(self.accepted), len(self.seeds))


class History:
    """The counts of earlier nights, read from a file and written back after every case."""

    def __init__(
        self, path: str | os.PathLike[str], suite_version: str, source: Callable[[Subject], str] = lambda _: ""
    ) -> None:
        """Read a file, which need not exist yet. Raises ``ValueError`` for one that is no history.

        ``source`` tells code apart that changes without changing its version.
        """
        self._source = source
        self._path = Path(path)
        self._suite = suite_version
        self._nights = {nights.key: nights for nights in _read(self._path)}
        self._changing = Lock()  # cases that are counted on a cluster end at any time

    def of(self, subject: Subject, case: Case) -> Nights:
        """What is known of a case: nothing, at first."""
        title = subject.name + "".join(f" {name}={value}" for name, value in sorted(subject.options.items()))
        empty = Nights(
            title, f"{subject.version} {self._source(subject)}".strip(), self._suite, case.name, fingerprint(case),
            [0] * case.vocabulary**case.horizon, [0] * (case.length + 1),
        )  # fmt: skip
        return self._nights.get(empty.key, empty)

    def fresh_seed(self, subject: Subject, case: Case, seed: int) -> int:
        """The first seed from the given one on that has not been used for this case."""
        used = self.of(subject, case).seeds
        while seed in used:
            seed += ANOTHER_NIGHT
        return seed

    def add(
        self, subject: Subject, case: Case, seed: int, text: NDArray[np.int64], accepted: NDArray[np.int64]
    ) -> None:
        """Add a night and write the file. Raises ``ValueError`` for a seed that was used before."""
        with self._changing:
            nights = self.of(subject, case)
            if seed in nights.seeds:
                raise ValueError(
                    f"{case.name}: seed {seed} is in the history already; the same draws would count twice"
                )
            nights.text = (np.array(nights.text) + text).tolist()
            nights.accepted = (np.array(nights.accepted) + accepted).tolist()
            nights.seeds.append(seed)
            self._nights[nights.key] = nights
            self._write()

    def _write(self) -> None:
        data = {"schema": SCHEMA, "nights": [asdict(nights) for nights in self._nights.values()]}
        part = self._path.with_name(self._path.name + ".part")
        part.write_text(json.dumps(data, indent=1), encoding="utf-8")
        part.replace(self._path)


def fingerprint(case: Case) -> str:
    """A short hash of the law that the counts of a case are compared with, and of its drafts' first row."""
    law = sorted((text, str(mass)) for text, mass in case.target_law.items())
    first = [str(share) for share in case.draft.probabilities(())]
    return hashlib.sha256(repr((case.drafts, case.length, law, first)).encode()).hexdigest()[:16]


def _read(path: Path) -> list[Nights]:
    if not path.exists():
        return []
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no history of specproof: {error}") from error
    if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
        raise ValueError(f"{path} is no history of specproof: it needs schema {SCHEMA!r}")
    return [_night(path, entry) for entry in data.get("nights", [])]


def _night(path: Path, entry: Any) -> Nights:
    try:
        nights = Nights(**entry)
    except TypeError as error:
        raise ValueError(f"{path}: {error}") from error
    counts = (nights.text, nights.accepted)
    if any(not isinstance(count, int) or count < 0 for row in counts for count in row):
        raise ValueError(f"{path}: {nights.case} has counts that are no counts")
    if sum(nights.text) != sum(nights.accepted):
        raise ValueError(f"{path}: {nights.case} counts {sum(nights.text)} texts and {sum(nights.accepted)} lengths")
    return nights
