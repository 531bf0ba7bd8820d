"""``specproof law``: known fractions, what is read from files, and every way to be wrong is refused with exit code 64."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from specproof.cli import USAGE, main

COIN = ("--target", "1/2 1/2", "--draft", "3/4 1/4", "--drafts", "2", "--length", "1")
ONE = ("--target", "1/2 1/2", "--draft", "3/4 1/4")
ORACLES = str(Path(__file__).resolve().parent.parent / "reference" / "oracles" / "step.json")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command line and return exit code, stdout and stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["specproof", "law", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return int(left.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def found(command: Any) -> Any:
    """Run the command line and return its JSON."""

    def run(*arguments: str) -> dict[str, Any]:
        code, out, _ = command(*arguments, "--json", "-")
        assert code == 0
        return json.loads(out)

    return run


def test_scan_reaches_the_optimum(found: Any) -> None:
    """E[tau] is 15/16 on the smallest counterexample to the published rule, and no rule accepts more."""
    data = found("greedy_block", *COIN, "--selector", "scan")
    assert data["expected_accepted"] == data["ceilings"]["block_transport"] == "15/16"
    assert data["block_efficiency"] == "31/16"
    assert data["accepted_law"] == {"0": "1/16", "1": "15/16"}
    assert data["total_variation"] == "0"
    assert data["lossless"]
    assert data["ceilings"]["claimed"] == "7/8"


def test_race(found: Any) -> None:
    """The balanced race with four cells comes within a hair, whether it is put together or named."""
    data = found("greedy_block", *COIN, "--selector", "race", "--table", "balanced", "--cells", "4")
    assert data["expected_accepted"] == "61479/65584"
    assert found("spectr_gbv", *COIN, "--option", "cells=4")["expected_accepted"] == "61479/65584"


def test_the_published_rule_is_lossy(command: Any, found: Any) -> None:
    """Total variation 19/350, in the JSON and in the text."""
    data = found("spectr_gbv_published", *COIN)
    assert data["total_variation"] == "19/350"
    assert not data["lossless"]
    assert data["observed"] == {"0,0": "97/350", "0,1": "97/350", "1,0": "39/175", "1,1": "39/175"}
    _, out, _ = command("spectr_gbv_published", *COIN)
    assert "total variation 19/350 = 0.054286: lossy" in out
    assert "E[tau]" in out


def test_rows_by_prefix(found: Any) -> None:
    """A row with a prefix holds there, the row without one everywhere else; decimals are read exactly."""
    data = found("block", "--target", "0.1 .9; 0: 1/3 2/3", "--draft", "1/2 1/2; 1: 1 0", "--length", "2")
    assert data["instance"]["target"][""] == ["1/10", "9/10"]
    assert data["instance"]["target"]["0"] == ["1/3", "2/3"]
    assert data["instance"]["target"]["1,0"] == ["1/10", "9/10"]
    assert data["instance"]["draft"]["1"] == ["1", "0"]
    assert data["total_variation"] == "0"


def test_several_iterations(found: Any) -> None:
    """``--tokens`` beyond one block follows the decoding loop: forgetting what is owed shows there."""
    text = ("--target", "1/3 2/3", "--draft", "2/3 1/3", "--length", "2", "--tokens", "4")
    assert found("greedy_block", *text)["total_variation"] == "0"
    assert found("greedy_block", *text, "--option", "carry=false")["total_variation"] != "0"


@pytest.mark.parametrize("name", ["smallest counterexample to the published rule", "random V=3 L=1 K=2"])
def test_every_result_of_a_case(found: Any, name: str) -> None:
    """An instance of the oracles, read from its file, gives the oracles' numbers."""
    instance = next(i for i in json.loads(Path(ORACLES).read_text())["instances"] if i["name"] == name)
    for result in instance["results"]:
        options = [f"--option={key}={str(value).lower()}" for key, value in result["options"].items()]
        data = found(result["verifier"], "--case", ORACLES, "--name", name, "--drafts", str(result["drafts"]), *options)
        assert data["expected_accepted"] == result["expected_accepted"], result
        assert data["total_variation"] == result["tv"], result


def test_the_json_goes_to_a_file(command: Any, tmp_path: Path) -> None:
    """With a file the report stays on stdout, and the file holds all of it."""
    code, out, _ = command("standard", *ONE, "--json", str(tmp_path / "new" / "law.json"))
    data = json.loads((tmp_path / "new" / "law.json").read_text())
    assert (code, data["expected_accepted"]) == (0, "3/4")
    assert "block efficiency" in out
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["law.json"]


def test_distinct_drafts_may_pass_the_ceilings(command: Any, found: Any) -> None:
    """The ceilings are for independent drafts, and the report says so."""
    distinct = ("recursive_without_replacement", *COIN)
    assert not found(*distinct)["ceilings_bind"]
    assert "This rule draws distinct drafts" in command(*distinct)[1]


BAD: list[tuple[tuple[str, ...], str]] = [
    (
        ("greedy_block", *COIN),
        "greedy_block verifies 1 draft, got 2: nothing says which one to verify. Give a selector",
    ),
    (("greedy_block", *COIN), "one of first, scan, race, kill_race, best_ratio"),
    (("blok", *ONE), "Unknown verification rule 'blok'. Did you mean 'block'?"),
    (("block", *COIN, "--selector", "scam"), "Unknown selector 'scam'. Did you mean 'scan'?"),
    (("block", *COIN, "--selector", "race", "--table", "balancd"), "Unknown table 'balancd'. Did you mean 'balanced'?"),
    (("block", *ONE, "--table", "balanced"), "Unknown option of block 'table'"),
    (("block", *COIN, "--selector", "race", "--option", "cels=3"), "Did you mean 'cells'?"),
    (("block", *COIN, "--selector", "race", "--cells", "0"), "option cells takes a whole number from 1 up, got 0"),
    (("block", *COIN, "--selector", "scan", "--option", "selector=race"), "option 'selector' is given twice"),
    (("block", *ONE, "--option", "carry"), "an option is written key=value, got 'carry'"),
    (("greedy_block", *ONE, "--option", "carry=perhaps"), "true or false, got 'perhaps'"),
    (("ensemble", *ONE, "--option", "weight=nan"), "option weight takes a fraction"),
    (("ensemble", *ONE, "--option", "weight=x"), "option weight takes a fraction"),
    (("k_seq", *COIN, "--option", "rho=1"), "rho 1 is too small for 2 drafts"),
    (("recursive_without_replacement", *ONE, "--drafts", "3"), "3 drafts without replacement need 3 possible"),
    (
        ("standard", "--target", "1/2 1/3", "--draft", "1/2 1/2"),
        "target: prefix (): the probabilities ['1/2', '1/3'] sum",
    ),
    (("standard", "--target", "1/2 1/2", "--draft", "0.333 0.333 0.333"), "draft: prefix (): the probabilities"),
    (("standard", "--target", "-1/2 3/2", "--draft", "1/2 1/2"), "target: prefix (): negative probability"),
    (("standard", "--target", "nan 1", "--draft", "1/2 1/2"), "target: 'nan' is neither a fraction such as 1/3 nor"),
    (("standard", "--target", "inf 1", "--draft", "1/2 1/2"), "target: 'inf' is neither a fraction such as 1/3 nor"),
    (("standard", "--target", "1e-1 9e-1", "--draft", "1/2 1/2"), "target: '1e-1' is neither a fraction"),
    (("standard", "--target", "1/0 1", "--draft", "1/2 1/2"), "target: prefix (): '1/0' is not a fraction"),
    (("standard", "--target", "", "--draft", "1/2 1/2"), "target: there is no row in ''"),
    (("standard", "--target", "1 0; 1 0", "--draft", "1/2 1/2"), "target: two rows without a prefix"),
    (("standard", "--target", "1 0; 0: 1 0; 0: 0 1", "--draft", "1/2 1/2"), "target: two rows for prefix 0"),
    (("standard", "--target", "1 0; a: 1 0", "--draft", "1/2 1/2"), "target: 'a' is no prefix"),
    (("standard", "--target", "1 0; 2: 1 0", "--draft", "1/2 1/2"), "target: prefix (2,) has a token outside 0..1"),
    (("standard", "--target", "1 0; 1: 1", "--draft", "1/2 1/2"), "target: row of prefix (1,) has 1 entries"),
    (("standard", "--target", "0: 1 0", "--draft", "1/2 1/2"), "target: a table needs a row for the empty prefix"),
    (
        ("standard", "--target", "1/2 1/2", "--draft", "1/3 1/3 1/3"),
        "target has 2 tokens, draft has 3; they must be equal",
    ),
    (
        ("standard", "--target", "1/2 1/2", "--draft", ": 1/2 1/2", "--length", "2"),
        "draft: no row after prefix 0; this law",
    ),
    (("standard", "--target", "1/2 1/2"), "give --target and --draft, or --case FILE --name NAME"),
    (("standard", *ONE, "--name", "x"), "--name chooses an instance of a file"),
    (("standard", *ONE, "--case", ORACLES), "--case gives the rows of both models"),
    (("standard", "--case", ORACLES), "say which with --name, one of: "),
    (("standard", "--case", ORACLES, "--name", "one-hot targe"), "Did you mean 'one-hot target'?"),
    (("standard", "--case", "nowhere.json"), "--case nowhere.json: No such file"),
    (("standard", "--case", __file__), "is not JSON"),
    (("standard", "--case", ORACLES, "--name", "one-hot target", "--tokens", "9"), "no row after prefix"),
    (("standard", *ONE, "--drafts", "0"), "drafts must be a whole number from 1 up, got 0"),
    (("standard", *ONE, "--length", "0"), "length must be a whole number from 1 up, got 0"),
    (("standard", *ONE, "--tokens", "0"), "tokens must be a whole number from 1 up, got 0"),
    (("standard", *ONE, "--length", "two"), "Invalid value for '--length'"),
    (
        ("recursive", *ONE, "--length", "9", "--drafts", "9"),
        "sets of drafts; the exact engine goes through all of them",
    ),
    (("standard", *ONE, "--tokens", "30"), "prefixes; the exact engine goes through all of them"),
    (("standard", *ONE, "--json", str(Path(__file__).parent)), "this is a folder, give a file"),
    (("standard", *ONE, "--json", f"{__file__}/law.json"), "is a file, not a folder"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_input(command: Any, arguments: tuple[str, ...], message: str) -> None:
    """It is refused before anything is computed."""
    code, out, err = command(*arguments)
    assert code == USAGE
    assert message in err
    assert out == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": {"": [0.5, 0.25]}}, "sum to 3/4, not to 1"),
        ({"target": {"": [float("nan"), 1]}}, "target: 'NaN' is neither a fraction"),
        ({"target": {"": [True, False]}}, "target: True is neither a fraction"),
        ({"target": {"": "1/2 1/2"}}, "target: expected rows by prefix"),
        ({"draft": {"": [1, 0, 0]}}, "target has 2 tokens, draft has 3"),
        ({"length": 2}, "target: no row after prefix 0,0"),
        ({"drafts": "2"}, "drafts must be a whole number from 1 up, got '2'"),
        ({"draft": None}, "draft: expected rows by prefix"),
    ],
)
def test_bad_case(command: Any, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """What is wrong in a file is named. JSON's decimals are read as they are written."""
    rows = {key: ["1/2", "1/2"] for key in ("", "0", "1")}
    good = {"name": "good", "length": 1, "drafts": 1, "target": rows, "draft": {"": [0.1, "0.9"]}}
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"instances": [good | change]}))
    code, _, err = command("standard", "--case", str(path))
    assert (code, message in err) == (USAGE, True), err
    path.write_text(json.dumps({"instances": [good]}))
    assert command("standard", "--case", str(path))[0] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "expected an object with a list 'instances'"),
        ('{"instances": [{"length": 1}]}', "every instance must be an object with a text 'name'"),
        ('{"instances": [{"name": "a"}]}', "case 'a' lacks length, drafts, target, draft"),
        ('{"instances": [{"name": "a", "name": "b"}]}', "key 'name' is given twice"),
        ('{"instances": [{"name": "a"}, {"name": "a"}]}', "two instances are named 'a'"),
    ],
)
def test_bad_file(command: Any, tmp_path: Path, text: str, message: str) -> None:
    """The shape of the file is checked first."""
    path = tmp_path / "cases.json"
    path.write_text(text)
    code, _, err = command("standard", "--case", str(path))
    assert (code, message in err) == (USAGE, True), err
