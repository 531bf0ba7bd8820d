"""``specproof install`` at the command line, without a network: what is listed, refused, and said when pip fails."""

import sys
from pathlib import Path

import pytest

from specproof.cli import main
from specproof.integration.packages import PACKAGES
from specproof.integration.shelf import COMPLETE, on_shelf, place


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty shelf, and a pip that reaches no index."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("SPECPROOF_HOME", str(tmp_path / "home"))
    for setting, value in (("NO_INDEX", "1"), ("FIND_LINKS", str(wheels)), ("EXTRA_INDEX_URL", "")):
        monkeypatch.setenv(f"PIP_{setting}", value)
    return tmp_path / "home"


def run(*arguments: str) -> int:
    """Run the command and return its exit code."""
    sys.argv = ["specproof", "install", *arguments]
    with pytest.raises(SystemExit) as exit_:
        main()
    return int(exit_.value.code or 0)


def test_without_a_name_everything_is_listed(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every package with its group and pinned versions, what is here marked, and where the shelf is."""
    folder = place(PACKAGES["vllm-ascend"], "0.18.0")
    folder.mkdir(parents=True)
    (folder / COMPLETE).touch()
    assert run() == 0
    said = capsys.readouterr()
    lines = {line.split()[0]: line for line in said.out.splitlines()}
    for label, package in PACKAGES.items():
        assert package.group in lines[label]
        assert all(version in lines[label] for version in package.versions)
    assert "0.13.0, 0.18.0 (here), 0.23.0" in lines["vllm-ascend"]
    assert lines["shelf:"] == f"shelf: {shelf}"
    assert not said.err


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("vllm-asend", "Did you mean 'vllm-ascend'?"),
        ("lite", "Did you mean 'litgpt'?"),
        ("vllm-ascend==0.14.0", "vllm-ascend 0.14.0 is not pinned; choose 0.13.0 or 0.18.0 or 0.23.0"),
        ("transformers", "used from this interpreter: pip install 'specproof[transformers]'"),
    ],
)
def test_what_cannot_be_installed_is_refused(
    name: str, reason: str, shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 64 before anything is downloaded: an unknown name with the nearest, a version that nobody pinned."""
    assert run("flashspec", name) == 64
    said = capsys.readouterr()
    assert reason in " ".join(said.err.split())
    assert not said.out
    assert not shelf.exists()


def test_failure_of_pip_is_told_and_leaves_nothing(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A package that the index does not have in its pinned version: exit code 2, pip's own words, the others are still tried."""
    there = place(PACKAGES["dflash"], "0.1.0")
    there.mkdir(parents=True)
    (there / COMPLETE).touch()
    assert run("economize", "dflash") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "economize 0.3.2: pip download" in said
    assert "No matching distribution found for economize==0.3.2" in said
    assert "dflash 0.1.0: already there" in said
    assert not on_shelf(PACKAGES["economize"], "0.3.2")
