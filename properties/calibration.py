"""Null calibration: how often the deciding counts alarm on a verifier that is right, at a rate where alarms can be seen.

Counts are drawn from the target's law, and accepted lengths from the declared rule's, and decided as in a certification, but at
a false-alarm rate of 1e-2. The e-process is also looked at while its counts grow.

LIMITS. Levels are proved, and this only catches an error in what was programmed: with N runs it sees a level that is off by
more than about ``5 sqrt(alpha / N)``.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from specproof.properties.cases import Case, sampled_cases
from specproof.properties.evidence.e_process import EProcess
from specproof.properties.evidence.sampled import Reference, SamplePlan, decided
from specproof.properties.evidence.sampling import Counts
from specproof.properties.subject import Subject
from specproof.reference.exact import step_law
from specproof.reference.law import mapped
from specproof.reference.verifiers import rule

ALPHA = 1e-2
DRAWS = 4096
LOOKS = 20
SURE = 1e-6  # a right check exceeds what is allowed with at most this probability
DECLARED = rule("standard")

Listener = Callable[[int], None]


@dataclass(frozen=True)
class Calibration:
    """One check on one case: alarms in so many runs of a right subject, and how many its level allows."""

    case: str
    check: str
    runs: int
    alarms: int

    @property
    def allowed(self) -> int:
        """Most alarms that are compatible with the level, up to chance of 1e-6."""
        return int(binom.isf(SURE, self.runs, ALPHA))

    @property
    def within(self) -> bool:
        """Whether the level holds."""
        return self.alarms <= self.allowed


def calibrate(runs: int, seed: int = 0, *, listen: Listener = lambda _: None) -> Iterator[Calibration]:
    """Calibrate the counts of every sampled case; ``listen`` is told every finished run."""
    for number, case in enumerate(sampled_cases()):
        yield from _calibrated(case, runs, np.random.default_rng([seed, number]), listen)


def _calibrated(case: Case, runs: int, rng: np.random.Generator, listen: Listener) -> Iterator[Calibration]:
    subject = Subject("null", "verifier", "1")
    reference = Reference.of(case)
    steps = step_law(DECLARED, case.target, case.draft, drafts=1, length=case.length)
    lengths = mapped(steps, lambda step: len(step.accepted))
    accepted = np.array([float(lengths.get(count, 0)) for count in range(case.length + 1)])
    accepted = accepted[accepted > 0]
    of_lengths, limit = EProcess(accepted / accepted.sum()), math.log(1 / ALPHA)
    alarms = {"text": 0, "accepted lengths": 0, f"e-process, {LOOKS} looks": 0}
    for run in range(runs):
        parts = rng.multinomial(DRAWS // LOOKS, reference.law / reference.law.sum(), size=LOOKS).cumsum(0)
        alarms[f"e-process, {LOOKS} looks"] += bool((reference.process.log_e(parts) >= limit).any())
        text = np.zeros(len(reference.possible), dtype=np.int64)
        text[reference.possible] = parts[-1]
        draws = int(text.sum())
        counts = Counts(text, np.zeros(case.length + 1, dtype=np.int64), draws=draws)
        found = decided(subject, case, SamplePlan(draws, ALPHA, ALPHA, run), counts, [], reference)
        alarms["text"] += bool(found.text.refutations)
        alarms["accepted lengths"] += bool(of_lengths.log_e(rng.multinomial(draws, accepted)) >= limit)
        listen(1)
    for check, count in alarms.items():
        if not (check == "accepted lengths" and case.iterated):
            yield Calibration(case.name, check, runs, count)
