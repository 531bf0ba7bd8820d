"""``specproof plan``, ``specproof selftest`` and ``specproof bench power``."""

import json
import sys
from typing import Any

import pytest
import typer

from specproof import selftest_command
from specproof.cli import main
from specproof.power_command import Comparison
from specproof.properties.calibration import Calibration
from specproof.properties.practice import Convictions, Row


def run(*arguments: str) -> int:
    """Run the command line and return its exit code."""
    sys.argv = ["specproof", *arguments]
    with pytest.raises(SystemExit) as exit_:
        main()
    return int(exit_.value.code or 0)


def planned(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, Any]]:
    """The plan by kind of evidence."""
    assert run("plan", *arguments, "--json", "-") == 0
    return {line["kind"]: line for line in json.loads(capsys.readouterr().out)["evidence"]}


def test_draws_for_one_percent_over_64_cells_are_the_published_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """Driven 6.9/TV, binomial (7.98 / 2 TV)^2, chi-square noncentrality / 4 TV^2: 691, 159k and 354k, within 1 %."""
    found = planned(capsys, "--tv", "0.01", "--cells", "64")
    assert found["exact"]["draws"] == 0
    assert found["driven"]["draws"] == 691
    assert found["binomial"]["draws"] == pytest.approx(159_000, rel=0.01)
    assert found["chi-square"]["draws"] == pytest.approx(354_000, rel=0.01)
    assert found["e-process"]["draws"] > found["chi-square"]["draws"]
    assert [kind for kind, line in found.items() if not line["decides"]] == ["chi-square"]


def test_detectable_size_is_the_inverse_of_the_draws(capsys: pytest.CaptureFixture[str]) -> None:
    """What a plan says of so many draws needs about as many draws."""
    seen = planned(capsys, "--draws", "131072", "--cells", "512")
    for kind in ("e-process", "McDiarmid", "binomial", "Kolmogorov-Smirnov", "chi-square"):
        back = planned(capsys, "--tv", str(seen[kind]["total_variation"]), "--cells", "512")
        assert back[kind]["draws"] == pytest.approx(131_072, rel=0.02)


def test_more_power_and_smaller_alpha_cost_draws(capsys: pytest.CaptureFixture[str]) -> None:
    """Both are options."""
    usual = planned(capsys, "--tv", "0.02")["e-process"]["draws"]
    assert planned(capsys, "--tv", "0.02", "--alpha", "1e-9")["e-process"]["draws"] > usual
    assert planned(capsys, "--tv", "0.02", "--power", "0.5")["e-process"]["draws"] < usual


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either --tv"),
        (["--tv", "0.01", "--draws", "10"], "give either --tv"),
        (["--tv", "2"], "lies above 0 and at most at 1, got 2"),
        (["--draws", "0"], "draws must be at least 1, got 0"),
        (["--draws", "10", "--cells", "1"], "at least 2 cells, got 1"),
        (["--tv", "0.1", "--alpha", "1"], "between 0 and 1"),
    ],
)
def test_usage_errors_exit_64(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What was given and what is allowed."""
    assert run("plan", *arguments) == 64
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("alarms", "matrix", "code"), [(0, 0, 0), (50, 0, 1), (0, 1, 1)])
def test_selftest_fails_with_the_calibration_or_with_the_matrix(
    alarms: int, matrix: int, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1 when either is off; both are always run."""
    ran: list[list[str]] = []

    def stub(names: list[str], json: None, jobs: int) -> None:
        ran.append(names)
        raise typer.Exit(matrix)

    monkeypatch.setattr(selftest_command, "mutants", stub)
    monkeypatch.setattr(selftest_command, "calibrated", lambda runs, _seed: [Calibration("c", "text", runs, alarms)])
    assert run("selftest", "--quick") == code
    assert len(ran) == 1
    assert "always_accept" in ran[0]
    assert "null calibration" in capsys.readouterr().out


def test_the_comparison_is_written_as_a_table_and_as_data() -> None:
    """Shares near 0 and 1 are words, the rest percentages; a size that is never found is said."""
    found = Comparison(
        10, 10, [Row("a test", 1000, 0.01, None, (0.02, 0.001))],
        [Convictions("a fault", {"a test": 0.0}, {20_000: 1.0}, 0.1)],
    )  # fmt: skip
    assert "| a test | 1,000 | 1.00% | nothing so surely | 2.00% of drafts, TV 0.001 |" in found.markdown()
    assert "| a fault | never | always | 0.1 |" in found.markdown()
    assert json.loads(found.to_json())["schema"] == "specproof-power/1"
