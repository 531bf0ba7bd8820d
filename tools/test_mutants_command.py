"""``specproof mutants``: the matrix on paper and as JSON, and its exit codes."""

import json
from dataclasses import replace

import pytest

from specproof.cli import main
from specproof.properties import matrix
from specproof.properties.mutants import MUTANTS

FEW = ("always_accept", "argmax_verification", "siblings_sorted", "sample_match")


def run(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Exit code of the command line."""
    monkeypatch.setattr("sys.argv", ["specproof", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_the_matrix_names_property_evidence_and_total_variation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every row as expected: exit code 0."""
    assert run("mutants", *FEW, "--jobs", "1", monkeypatch=monkeypatch) == 0
    printed = capsys.readouterr().out
    row = next(line for line in printed.splitlines() if line.startswith("always_accept")).split()
    assert row[:4] == ["always_accept", "C01", "support", "exact:"]
    assert "3/10" in row
    assert "3 mutants, 1 controls: all as expected" in printed


def test_json_is_one_document_on_stdout(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The table and the progress go to stderr; every field of an entry is there."""
    assert run("mutants", *FEW, "--jobs", "1", "--json", "-", monkeypatch=monkeypatch) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["schema"], data["as_expected"], data["mutants"], data["controls"]) == (
        "specproof-mutants/1",
        True,
        3,
        1,
    )
    entry = data["entries"][0]
    assert (entry["mutant"], entry["fault_id"], entry["verdict"]) == ("always_accept", ["C01"], "convicted")
    assert (entry["property"], entry["weakest_violated"], entry["total_variation"]) == ("support", "support", "3/10")


def test_two_processes_find_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The order is that of the names, whoever is ready first."""
    documents = []
    for jobs in ("1", "2"):
        assert run("mutants", *FEW, "--jobs", jobs, "--json", "-", monkeypatch=monkeypatch) == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert documents[0] == documents[1]


def test_what_is_not_as_expected_exits_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A convicted control is named with its reason."""
    monkeypatch.setitem(matrix.MUTANTS, "always_accept", replace(MUTANTS["always_accept"], control=True))
    assert run("mutants", "always_accept", monkeypatch=monkeypatch) == 1
    printed = capsys.readouterr().out
    assert "1 not as expected" in printed
    assert "always_accept: convicted, weakest support: total variation 3/10 from the target" in " ".join(
        printed.split()
    )


def test_unknown_names_are_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The nearest name is proposed."""
    assert run("mutants", "always_acept", monkeypatch=monkeypatch) == 64
    assert "always_accept" in capsys.readouterr().err
