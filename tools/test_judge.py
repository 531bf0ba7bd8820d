"""A stored certificate is judged again without its subject, and a changed one is found out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specproof.certificate import Certificate
from specproof.judge_command import judge_again
from specproof.kept import KeptCounts, keep
from specproof.properties.cases import one_step_cases
from specproof.properties.evidence.history import History
from specproof.properties.evidence.sampled import SamplePlan, observe_sampled
from specproof.properties.plan import Gathering, named
from specproof.properties.verdict import Verdict
from specproof.subjects import resolve
from specproof.test_cli import run
from specproof.testing import certificate_of, exact, held, refuted

Data = dict[str, Any]


def several() -> Certificate:
    """A rule for any number of drafts: some of its cases are of the same name, with another number of drafts."""
    return certificate_of("reference:k_seq", "exact", drafts=2)


@pytest.mark.parametrize("make", [held, refuted, exact, several])
def test_certificates_follow_from_their_evidence(make: Callable[[], Certificate]) -> None:
    """Laws in fractions and counts: nothing differs; only comparisons of calls, which are not kept, stand as recorded."""
    found = judge_again(make())
    assert found.differences == []
    assert {name.split(".")[0] for name in found.standing} <= {"batching", "randomness", "monotonicity"}
    assert found.judged + len(found.standing) == make().counts.planned
    assert found.verdict is make().verdict
    assert found.conclusion.weakest == make().weakest_violated


@pytest.mark.nightly
def test_probed_laws_are_judged_again() -> None:
    """Floats come back to the last bit: two drafts, probed."""
    certificate = certificate_of("fast:k_seq", "probed", drafts=2)
    found = judge_again(certificate)
    assert found.differences == []
    assert found.verdict is certificate.verdict


def verdict(data: Data) -> None:
    """The summary alone."""
    data["verdict"], data["weakest_violated"], data["also_violated"] = "HELD", None, []


def every_verdict(data: Data) -> None:
    """Every word FAILED."""
    verdict(data)
    data["claims"] = dict.fromkeys(data["claims"], "HELD")
    for check in data["checks"]:
        check["verdict"] = "HELD" if check["verdict"] == "FAILED" else check["verdict"]


def drop_failures(data: Data) -> None:
    """Leave the failed checks out."""
    verdict(data)
    data["checks"] = [check for check in data["checks"] if check["verdict"] != "FAILED"]
    data["counts"]["planned"] = data["counts"]["run"] = len(data["checks"])


def total_variation(data: Data) -> None:
    """A smaller number than was measured."""
    next(check for check in data["checks"] if check["evidence"]["total_variation"])["evidence"]["total_variation"] = (
        1e-4
    )


def case(data: Data) -> None:
    """An easier instance."""
    kept = data["cases"]["reversed"]
    kept["draft"] = kept["target"]


def no_evidence(data: Data) -> None:
    """Evidence left out."""
    data["kept"] = {}


@pytest.mark.parametrize("tamper", [verdict, every_verdict, drop_failures, total_variation, case, no_evidence])
def test_changed_certificates_are_found(tamper: Callable[[Data], None]) -> None:
    """Whatever is changed differs from what the evidence says, and a refuted subject is never certified by it."""
    data = json.loads(exact().to_json())
    tamper(data)
    found = judge_again(Certificate.model_validate(data))
    assert found.differences
    assert found.verdict is not Verdict.HELD


def test_counts_that_do_not_add_up_are_undecided() -> None:
    """One count more than was drawn: a held certificate that contradicts itself is at best undecided."""
    data = json.loads(held().to_json())
    data["kept"]["sampled:counts V4 L2"]["text"][3] += 1
    found = judge_again(Certificate.model_validate(data))
    assert any("the counts do not add up to 131072 draws" in line for line in found.differences)
    assert found.verdict is Verdict.UNDECIDED


def test_counts_of_earlier_nights_are_judged_with_tonights(tmp_path: Path) -> None:
    """Decided again as they were: log E over both nights."""
    subject, (case, *_) = resolve("fast:standard"), one_step_cases()
    history = History(tmp_path / "nights.json", "suite")
    first, second = (observe_sampled(subject, case, SamplePlan(256, 1e-7, 1e-7, 3), history=history) for _ in range(2))
    check = named("lossless", "block", case, "sampled", Gathering(observe_sampled, subject, case), str)
    kept = keep(second, check)
    assert isinstance(kept, KeptCounts)
    again = KeptCounts.model_validate_json(kept.model_dump_json()).restored(subject, case)
    assert again.text.log_e == second.text.log_e
    assert again.counts.before is not None
    assert again.counts.before.text.sum() == first.counts.draws
    assert kept.model_copy(update={"before": None}).restored(subject, case).text.log_e != second.text.log_e


def test_of_other_kinds_the_summary_is_judged() -> None:
    """The checks of a decoder depend on the decoder: they stand, and must add up."""
    data = json.loads(exact().to_json())
    data["subject"]["kind"] = "decoder"
    found = judge_again(Certificate.model_validate(data))
    assert (found.judged, found.differences) == (0, [])
    assert found.verdict is Verdict.FAILED
    data["verdict"] = "HELD"
    assert judge_again(Certificate.model_validate(data)).differences


def test_command_line_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 for a certificate that holds, 1 for a refuted one, 2 for one that contradicts itself."""
    path = tmp_path / "c.json"
    for certificate, code in ((certificate_of("reference:standard"), 0), (exact(), 1)):
        path.write_text(certificate.to_json())
        assert run("judge", str(path)) == code
        assert "the certificate follows from its evidence" in " ".join(capsys.readouterr().out.split())
    data = json.loads(certificate_of("reference:standard").to_json())
    data["checks"][0]["verdict"] = "UNDECIDED"
    path.write_text(json.dumps(data))
    assert run("judge", str(path), "--json", "-") == 2
    printed = capsys.readouterr()
    assert json.loads(printed.out)["differences"]
    assert "does not follow" in printed.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file"),
        ("{", "is not JSON"),
        ("[]", "schema is None"),
        ('{"schema": "specproof-certificate/1"}', "this version reads 'specproof-certificate/2'"),
        ('{"schema": "specproof-certificate/2"}', "is not a certificate: subject"),
    ],
)
def test_files_that_are_no_certificate_exit_64(
    tmp_path: Path, text: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong with the file is said."""
    path = tmp_path / "c.json"
    if text is not None:
        path.write_text(text)
    assert run("judge", str(path)) == 64
    assert message in capsys.readouterr().err
