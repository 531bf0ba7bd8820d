"""``specproof bench``: tiny sizes; what a report says, who is skipped, mistakes. Never how long anything takes."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from specproof.bench import clock, command, efficiency, layers, rivals, select, verify
from specproof.bench.inputs import Size
from specproof.cli import USAGE, main
from specproof.integration.adapters import vllm

RIVALS = {"vLLM C++ kernels", "flashspec", "transformers"}
TINY = {
    "verify": ((verify, "QUICK", [Size(3, 1, 2, 40), Size(1, 1, 3, 40), Size(2, 3, 2, 40)]),),
    "select": ((select, "QUICK", Size(2, 3, 2, 40)), (select, "QUICK_VOCABULARIES", (40, 80))),
    "layers": ((layers, "QUICK", (Size(4, 1, 4, 40), Size(2, 2, 3, 40))), (layers, "ITERATIONS", 3)),
    "efficiency": (
        (efficiency, "QUICK", (efficiency.Setting(8, 3, 3, models=2, blocks=64, runs=16, batch=32, iterations=4),)),
    ),
}


def run(*arguments: str) -> int:
    """Run the command line and return its exit code."""
    sys.argv = ["specproof", "bench", *arguments]
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smallest sizes, fewest rounds."""
    for changes in TINY.values():
        for module, name, value in changes:
            monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(command, "SECONDS", {True: 0.0})
    monkeypatch.setattr(command, "COPIED", 1 << 22)
    monkeypatch.setenv("COLUMNS", "120")


def report(name: str, tmp_path: Path) -> dict[str, Any]:
    """Run a subcommand and read what it wrote."""
    destination = tmp_path / "new" / "report.json"
    assert run(name, "--quick", "--json", str(destination)) == 0
    found: dict[str, Any] = json.loads(destination.read_text())
    assert found["schema"] == "specproof-bench/1"
    assert (found["command"], found["quick"], found["machine"]["threads"]) == (name, True, 1)
    assert found["machine"]["copy_bytes_per_second"] > 0
    return found


def check_timings(section: dict[str, Any]) -> None:
    """The first line is what the others are compared with; quartiles are in order."""
    assert section["lines"][0]["ratio"] == {"median": 1.0, "low": 1.0, "high": 1.0}
    for line in section["lines"]:
        assert line["rounds"] >= clock.LEAST
        for spread in (line["milliseconds"], line["ratio"]):
            assert 0 < spread["low"] <= spread["median"] <= spread["high"]


@pytest.mark.usefixtures("tiny")
def test_verify_compares_or_skips_every_rival(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever is not installed is named with the reason; an outcome touches at least one row a request."""
    sections = report("verify", tmp_path)["sections"]
    assert [section["title"].split(",")[0] for section in sections] == ["one draft"] * 3 + ["several drafts"]
    seen = set()
    for section in sections:
        check_timings(section)
        size = section["size"]
        for line in section["lines"]:
            assert line["bytes"] >= 4 * size["B"] * size["V"]
            assert line["floor_milliseconds"] > 0
        for skipped in section["skipped"]:
            assert skipped["reason"]
        ran = {line["name"] for line in section["lines"]} & RIVALS
        assert not ran & {skipped["name"] for skipped in section["skipped"]}
        seen |= ran | {skipped["name"] for skipped in section["skipped"]}
    assert seen == RIVALS
    shown = capsys.readouterr().out
    for section in sections:
        assert all(f"skipped {one['name']}" in shown for one in section["skipped"])


def test_growth_has_the_exponent_of_its_times() -> None:
    """A growth along an axis, in the shape of the report."""
    parts = verify.verify([], {"V": (40, 80), "K": (2, 3)}, 0.0, torch.device("cpu"), lambda _: None)
    assert [part.axis for part in parts if isinstance(part, verify.Growth)] == ["V", "K"]
    cubic = verify.Growth("V", Size(), (10, 20, 40), {"cubic": [1.0, 8.0, 64.0]})
    assert cubic.exponent("cubic") == pytest.approx(3)
    assert cubic.last("cubic") == pytest.approx(3)


@pytest.mark.usefixtures("tiny")
def test_select_has_every_selector_beside_k_seq(tmp_path: Path) -> None:
    """Whole verification, selection alone, and growth with V."""
    whole, alone, growth = report("select", tmp_path)["sections"]
    for section in (whole, alone):
        check_timings(section)
        assert section["lines"][0]["name"] == "k_seq"
    assert {line["name"] for line in growth["lines"]} == {line["name"] for line in alone["lines"]}
    assert {"kill_race", "scan", "best_ratio"} <= {line["name"].removeprefix("select ") for line in alone["lines"]}
    assert all(isinstance(line["exponent"], float) for line in growth["lines"])


@pytest.mark.usefixtures("tiny")
def test_layers_follows_a_generation(tmp_path: Path) -> None:
    """The first iteration carries nothing, some later one does."""
    for section in report("layers", tmp_path)["sections"]:
        check_timings(section)
        names = [line["name"] for line in section["lines"]]
        assert len(names) == 3
        assert names[0] == "iteration 1, 0 layers"
        assert any(" 0 layers" not in name for name in names[1:]) or section["size"]["K"] > 1


@pytest.mark.usefixtures("tiny")
def test_efficiency_simulates_every_rule(tmp_path: Path) -> None:
    """Everyone emits between one token and L + 1; standard errors and ceilings are there."""
    (section,) = report("efficiency", tmp_path)["sections"]
    assert {rule["name"] for rule in section["rules"]} == set(efficiency.RULES)
    for rule in section["rules"]:
        for run_ in ("one_block", "long_run"):
            assert 1 <= rule[run_]["value"] <= 4
            assert 0 <= rule[run_]["standard_error"] < 1
    assert 1 < section["claim"]["value"] <= 4
    assert 1 < section["level"] <= 4


@pytest.mark.usefixtures("tiny")
def test_json_on_stdout_is_alone_there(capsys: pytest.CaptureFixture[str]) -> None:
    """The tables go to stderr then."""
    assert run("layers", "--quick", "--json", "-") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["command"] == "layers"
    assert "iteration 1" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "--device", "gpu"], "device"),
        (["verify", "--json", "."], "this is a folder"),
        (["nosuch"], "nosuch"),
        (["select", "--slow"], "--slow"),
    ],
)
def test_mistakes_are_usage_errors(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 64, a message, and nothing computed."""
    assert run(*arguments) == USAGE
    out, err = capsys.readouterr()
    assert message in err
    assert not out


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_gpu_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Said before anything runs."""
    assert run("verify", "--device", "cuda") == USAGE
    assert "no CUDA device" in capsys.readouterr().err


def test_a_changed_kernel_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release whose kernels take other arguments must not be called."""
    monkeypatch.setattr(vllm, "SCHEMAS", {"rejection_random_sample_kernel_impl": "something else"})
    given = verify.inputs(Size(1, 1, 2, 40), device=torch.device("cpu"))
    found, skipped = rivals.rivals(given, {"vLLM C++ kernels": rivals.vllm_from_probabilities})
    assert not found
    assert "vLLM" in skipped[0].reason or "not installed" in skipped[0].reason
