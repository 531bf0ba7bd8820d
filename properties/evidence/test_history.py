"""Histories: a bias below one night's reach is found by several; nothing is carried over a change of version."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from specproof.fast.batch import Drafts, Outcome
from specproof.fast.verifiers import standard
from specproof.properties import lossless
from specproof.properties.cases import one_step_cases
from specproof.properties.evidence.history import History
from specproof.properties.evidence.sampled import Sample, SamplePlan, observe_sampled
from specproof.properties.subject import Subject, subject_of_verifier
from specproof.properties.verdict import Verdict

CASE = next(case for case in one_step_cases() if case.name == "reversed")
RIGHT = subject_of_verifier(standard, name="fast:standard", version="1")


class Lenient:
    """Accepts a rejected block with probability 1/20: total variation about .015."""

    @staticmethod
    def verify(drafts: Drafts, generator: Any, carry: Any = None) -> Outcome:  # noqa: ARG004
        """Verify too leniently."""
        outcome = standard.verify(drafts, generator)
        lenient = torch.rand(drafts.batch, generator=generator) < 0.05
        path = drafts.tokens[:, 0]
        bonus = torch.zeros(drafts.batch, dtype=torch.int64)
        whole = torch.cat([path, bonus[:, None]], 1)
        change = lenient & (outcome.accepted == 0)
        return Outcome(
            torch.where(change[:, None], whole, outcome.tokens), torch.where(change, drafts.length, outcome.accepted)
        )


def night(subject: Subject, path: Path, *, draws: int = 3000, suite: str = "1") -> Sample:
    """One night: a fresh reading of the file, the plan's seed always the same."""
    return observe_sampled(subject, CASE, SamplePlan(draws, 1e-6, 1e-7, seed=1), history=History(path, suite))


def test_nights_add_up_and_never_repeat_a_seed(tmp_path: Path) -> None:
    """The file holds the sum of all nights, each with a seed of its own, though the plan always says the same."""
    samples = [night(RIGHT, tmp_path / "h.json") for _ in range(3)]
    (entry,) = json.loads((tmp_path / "h.json").read_text())["nights"]
    assert sum(entry["text"]) == sum(entry["accepted"]) == 9000
    assert len(set(entry["seeds"])) == 3
    assert [sample.plan.seed for sample in samples] == entry["seeds"]
    assert samples[2].counts.before is not None
    assert samples[2].counts.before.nights == 2
    assert samples[2].counts.draws == 3000


def test_a_bias_below_one_nights_reach_is_found_by_many(tmp_path: Path) -> None:
    """TV .015 needs about 15,000 draws at alpha 1e-6: 3,000 a night do not see it, at most twelve nights do.

    The reach of one night is .09 (``detectable``); the verdict names all draws.
    """
    subject = subject_of_verifier(Lenient, name="lenient", version="1")
    verdicts = []
    for _ in range(12):
        found = lossless.judge_counts(night(subject, tmp_path / "h.json"))
        verdicts.append(found.verdict)
        if found.verdict is Verdict.FAILED:
            break
    assert verdicts[0] is Verdict.HELD
    assert verdicts[-1] is Verdict.FAILED
    assert "e-process" in found.reason
    again = lossless.judge_counts(night(subject, tmp_path / "h.json"))
    assert again.verdict is Verdict.FAILED  # what was refuted stays refuted under this version


def test_other_versions_start_anew(tmp_path: Path) -> None:
    """Another version of the subject or the suite, another option, or another law of the case: nothing is carried."""
    path = tmp_path / "h.json"
    night(RIGHT, path)
    for subject, suite in (
        (replace(RIGHT, version="2"), "1"), (RIGHT, "2"), (replace(RIGHT, options={"drafts": 2}), "1"),
    ):  # fmt: skip
        carried = night(subject, path, suite=suite).counts.before
        assert carried is not None
        assert carried.nights == 0
        assert carried.text.sum() == 0
    assert len(json.loads(path.read_text())["nights"]) == 4
    other = replace(CASE, target=CASE.draft)
    assert History(path, "1").of(RIGHT, other).seeds == []


def test_a_used_seed_is_refused(tmp_path: Path) -> None:
    """The same draws would count twice."""
    history = History(tmp_path / "h.json", "1")
    sample = observe_sampled(RIGHT, CASE, SamplePlan(300, 1e-6, 1e-7, seed=1))
    history.add(RIGHT, CASE, 1, sample.counts.text, sample.counts.accepted)
    with pytest.raises(ValueError, match="seed 1 is in the history already"):
        history.add(RIGHT, CASE, 1, sample.counts.text, sample.counts.accepted)
    assert history.fresh_seed(RIGHT, CASE, 1) != 1


def test_right_subjects_pass_many_nights(tmp_path: Path) -> None:
    """Ten nights of 2,000 draws: held, each with tonight's bound."""
    found = [lossless.judge_counts(night(RIGHT, tmp_path / "h.json", draws=2000)) for _ in range(10)]
    assert {finding.verdict for finding in found} == {Verdict.HELD}
    assert found[-1].evidence.draws == 2000


ENTRY = {"subject": "x", "subject_version": "1", "suite_version": "1", "case": "c", "law": "f", "seeds": []}


def written(**counts: Any) -> str:
    """A history of one case with these counts."""
    return json.dumps({"schema": "specproof-history/1", "nights": [{**ENTRY, **counts}]})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no history of specproof"),
        ('{"schema": "other"}', "specproof-history/1"),
        (written(), "missing"),
        (written(text=[1, 2], accepted=[4]), "counts 3 texts and 4 lengths"),
        (written(text=[-1], accepted=[-1]), "no counts"),
    ],
)
def test_what_is_no_history_is_refused(tmp_path: Path, content: str, message: str) -> None:
    """A file that cannot be read is an error, not an empty history."""
    (tmp_path / "h.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        History(tmp_path / "h.json", "1")
