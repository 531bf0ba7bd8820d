"""Expected failures: read, checked against the plan, and what they make of a run."""

import json
from pathlib import Path

import pytest

import specproof
from specproof.expected import check_expected, expectations, read_expected
from specproof.properties.verdict import Verdict
from specproof.subjects import resolve
from specproof.test_cli import run
from specproof.testing import exact


def failing(certificate: specproof.Certificate) -> dict[str, str]:
    """Every failure of a certificate, as expected failures."""
    return {check.id: "known" for check in certificate.checks if check.verdict is Verdict.FAILED}


def test_exactly_the_known_failures_is_a_good_outcome() -> None:
    """The verdict stays what it is; the outcome says that nothing is new."""
    found = expectations(failing(exact()), exact().checks)
    assert found.outcome is Verdict.HELD
    assert found.failed
    assert (found.passed, found.unexpected) == ([], [])


def test_a_new_failure_and_an_unexpected_pass_are_bad_outcomes() -> None:
    """One known failure fewer on the list, or one check more on it that holds."""
    known = failing(exact())
    missing = dict(list(known.items())[1:])
    found = expectations(missing, exact().checks)
    assert found.outcome is Verdict.FAILED
    assert found.unexpected == [next(iter(known))]
    passing = next(check.id for check in exact().checks if check.verdict is Verdict.HELD)
    found = expectations({**known, passing: "thought so"}, exact().checks)
    assert found.outcome is Verdict.FAILED
    assert found.passed == [passing]


def test_a_known_failure_that_does_not_apply_is_undecided() -> None:
    """What was not looked at did not fail."""
    idle = next(check.id for check in exact().checks if check.verdict is Verdict.NOT_APPLICABLE)
    assert expectations({**failing(exact()), idle: "x"}, exact().checks).outcome is Verdict.UNDECIDED


def test_unknown_ids_and_empty_reasons_are_errors() -> None:
    """The nearest id is named; a listed failure without a reason says nothing."""
    planned = [check.id for check in exact().checks]
    with pytest.raises(ValueError, match=r"Did you mean 'lossless.block\[exact:coin\]'"):
        check_expected({"lossless.block[exact:coins]": "why"}, planned)
    with pytest.raises(ValueError, match="needs a reason"):
        check_expected({"lossless.block[exact:coin]": " "}, planned)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.json", "{", "e.json: "),
        ("e.json", '["a"]', "a table"),
        ("e.toml", '"a" = 3', "a table"),
        ("missing.json", None, "No such file"),
    ],
)
def test_files_that_are_no_table_are_errors(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    """JSON or TOML, by the file's ending; what is wrong is said."""
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        read_expected(str(tmp_path / name))


def test_certify_takes_expected_failures() -> None:
    """In Python: the certificate's verdict is FAILED, its outcome HELD, and an unknown id is refused before anything runs."""
    subject = resolve("reference:greedy_block", {"carry": False})
    certificate = specproof.certify(subject, expected_failures=failing(exact()))
    assert certificate.verdict is Verdict.FAILED
    assert certificate.outcome is Verdict.HELD
    with pytest.raises(ValueError, match="Unknown check in the expected failures 'nosuch'"):
        specproof.certify(subject, expected_failures={"nosuch": "x"})


def test_command_line_takes_a_file_of_expected_failures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--expect``: exit code 0 when exactly those fail, 1 when one of them passes, 64 for an unknown id."""
    path = tmp_path / "expected.json"
    path.write_text(json.dumps(failing(exact())))
    rule = ["certify", "reference:greedy_block", "--option", "carry=false", "--expect", str(path)]
    assert run(*rule) == 0
    assert "expected failures: " in capsys.readouterr().out
    assert run("certify", "reference:greedy_block", "--expect", str(path)) == 1
    assert "expected to fail and passed: lossless.block" in capsys.readouterr().out
    path.write_text('{"lossless.blok": "typo"}')
    assert run(*rule) == 64
