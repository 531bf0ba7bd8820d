"""``specproof regret``: what is typed and refused, the numbers of a run, the picture, and the claims that need no simulation."""

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specproof.cli import USAGE, main
from specproof.reference.bandits.alone import rounds_alone
from specproof.regret.claims import Answer, Claim, Fact, Laboratory, equal, rounded, sampled
from specproof.regret.explain import CLAIMS, answers, chosen, to_json
from specproof.regret.instances import typed
from specproof.regret.simulate import checkpoints, contender, simulate

EXACT = {1: "false", 2: "conditional", 3: "conditional", 4: "conditional", 5: "conditional", 9: "true", 10: "true",
         14: "false", 17: "true", 19: "true", 20: "conditional", 21: "open"}  # fmt: skip
SIMULATED = {6: "conditional", 7: "true", 8: "conditional", 11: "conditional", 12: "conditional", 13: "open",
             15: "conditional", 16: "true", 18: "conditional"}  # fmt: skip


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command line; its exit code."""
    monkeypatch.setattr(sys, "argv", ["specproof", "regret", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert isinstance(left.value.code, int)
    return left.value.code


def plain(text: str = "mid", tokens: int = 1000, **given: Any) -> Any:
    """An instance as it is typed."""
    return typed(text, tokens, **{"length": None, "dispersion": None, "costs": None, "switch_cost": 0.0, **given})


def test_a_run_prints_writes_and_draws(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three policies, 1,000 tokens, 40 runs: UCB is near its curve, below its bound, and far from random."""
    files = tmp_path / "regret.json", tmp_path / "regret.png"
    policies = ["--policy", "meta_sd_ucb", "--policy", "random", "--policy", "meta_sd_ucb:beta=0.1,reward=BE"]
    code = run(
        monkeypatch, *policies, "--tokens", "1000", "--runs", "40", "--json", str(files[0]), "--picture", str(files[1])
    )
    assert code == 0
    shown = capsys.readouterr().out
    assert "meta_sd_ucb:beta=0.4472" in shown
    assert "noiseless" in shown
    data = json.loads(files[0].read_text())
    ucb, random, narrow = data["policies"]
    assert data["checkpoints"] == [250, 500, 1000]
    assert ucb["lost"][-1] == pytest.approx(ucb["noiseless"][-1], rel=0.15)
    assert ucb["lost"][-1] < ucb["bound"] < 1000
    assert random["lost"][-1] == pytest.approx(128, abs=5)
    assert random["noiseless"] is random["bound"] is narrow["bound"] is None
    assert ucb["quantiles"]["0.05"][-1] < ucb["quantiles"]["0.5"][-1] < ucb["quantiles"]["0.95"][-1]
    assert random["efficiency"] < ucb["efficiency"] < 1
    assert random["stuck"] == 1.0
    assert files[1].read_bytes().startswith(b"\x89PNG")


def test_arms_of_different_length_and_cost(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One does not speculate: tokens per cost is the reward unless told, and the oracle loses nothing."""
    file = tmp_path / "regret.json"
    where = ["--instance", "0.8,0.5,0.5", "--length", "5,3,0", "--cost", "1.5,1.2,1", "--switch-cost", "0.2"]
    policies = ["--policy", "oracle", "--policy", "round_robin"]
    assert run(monkeypatch, *where, *policies, "--tokens", "300", "--runs", "10", "--json", str(file)) == 0
    data = json.loads(file.read_text())
    oracle, in_turn = data["policies"]
    assert oracle["reward"] == "tokens_per_cost"
    assert oracle["lost"] == [0.0]
    assert oracle["efficiency"] == 1.0
    assert in_turn["lost"][-1] > 0.2 * in_turn["switches"][-1] > 20


def test_swapped_and_flipped_instances() -> None:
    """Roles change halfway; in the flip example block divergence prefers the worse drafter."""
    assert plain("swap").changes == ((500, (4, 1, 2, 3, 0)),)
    flip = plain("flip")
    runs = simulate(contender("meta_sd_ucb", "BD", flip), flip, [2000], runs=8, seed=0)
    assert runs.share.mean() < 0.1
    assert runs.mean[-1] == pytest.approx(454, abs=15)


def test_the_best_drafter_alone() -> None:
    """Renewal equation against the golden fraction, and against B / m for long texts."""
    alone = rounds_alone(plain("0.5,0.8", length="2", dispersion=1.0).drafters, 12)
    assert alone == pytest.approx([1839 / 256, 51205008 / 9765625])
    assert rounds_alone(plain().drafters, 20_000)[0] == pytest.approx(20_000 / 3.68928, rel=2e-4)


def test_checkpoints_double() -> None:
    """Down to about 250; a short text has its end only."""
    assert checkpoints(16_000) == [250, 500, 1000, 2000, 4000, 8000, 16_000]
    assert checkpoints(300) == [300]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "meta_sd_ubc"], "Did you mean 'meta_sd_ucb'"),
        (["--policy", "meta_sd_ucb:bta=1"], "Did you mean 'beta'"),
        (["--policy", "meta_sd_ucb:beta"], "key=value"),
        (["--policy", "meta_sd_ucb:beta=-1"], "beta must be 0 or more"),
        (["--policy", "meta_sd_ucb:reward=BDD"], "Did you mean 'BD'"),
        (["--reward", "block_divergense"], "Did you mean 'block_divergence'"),
        (["--instance", "md"], "Did you mean 'mid'"),
        (["--instance", "0.8,x"], "numbers apart by commas"),
        (["--instance", "1.2,0.5"], "[0, 1]"),
        (["--length", "2.5"], "whole numbers"),
        (["--length", "5,3"], "as many lengths"),
        (["--length", "5,3,2,1,0", "--reward", "BD"], "tokens per cost"),
        (["--instance", "flip", "--length", "3"], "its own length"),
        (["--cost", "1,0,1,1,1"], "positive costs"),
        (["--switch-cost", "-1"], "0 or more"),
        (["--tokens", "10"], "at least 50"),
        (["--runs", "1"], "at least 2"),
        (["--only", "3"], "add --explain or --tables"),
        (["--explain", "--tables"], "choose one"),
        (["--explain", "--picture", "a.png"], "leave --explain"),
        (["--explain", "--only", "22"], "Unknown claim '22'"),
        (["--tables", "--only", "9.9"], "Unknown table '9.9'"),
        (["--picture", "a.gif"], ".png or .svg"),
    ],
)
def test_mistakes_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    """Exit code 64, what was given, what is allowed."""
    assert run(monkeypatch, *arguments) == USAGE
    assert message in " ".join(capsys.readouterr().err.split())


def test_every_claim_is_there_once() -> None:
    """Twenty-one, each with words and a reading."""
    assert sorted(CLAIMS) == list(range(1, 22)) == sorted(EXACT | SIMULATED)
    assert all(claim.says and claim.reading for claim in CLAIMS.values())


def test_claims_without_simulation_come_out_as_expected() -> None:
    """Every measurement agrees, and the verdicts follow from the facts."""
    heard: list[int] = []
    found = answers(chosen(map(str, EXACT)), 0, lambda claim, _: heard.append(claim.number))
    assert {answer.claim.number: answer.verdict for answer in found} == EXACT
    assert [fact.what for answer in found for fact in answer.facts if not fact.agrees] == []
    assert set(heard) == set(EXACT)
    written = json.loads(to_json(found))["claims"]
    assert all(entry["as_expected"] for entry in written)


@pytest.mark.nightly
def test_claims_by_simulation_come_out_as_expected() -> None:
    """Means within three standard errors of the published ones: of some 50 numbers one may be off by chance at other seeds."""
    found = answers(chosen(map(str, SIMULATED)), 0, lambda *_: None)
    assert {answer.claim.number: answer.verdict for answer in found} == SIMULATED
    assert [fact.what for answer in found for fact in answer.facts if not fact.agrees] == []


def test_explain_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Expected beside measured, the verdict, JSON."""
    file = tmp_path / "claims.json"
    assert run(monkeypatch, "--explain", "--only", "5", "--only", "14", "--json", str(file)) == 0
    shown = capsys.readouterr().out
    assert "31/160" in shown
    assert "conditional" in shown
    assert "2 claims: 0 true, 1 false, 1 conditional, 0 open" in shown
    assert [claim["number"] for claim in json.loads(file.read_text())["claims"]] == [5, 14]


def test_a_number_that_is_not_as_expected_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, and the line is marked."""
    wrong = Claim(3, "says", lambda _: [equal("half", "1/2", Fraction(1, 3), True)], "reading")
    monkeypatch.setitem(CLAIMS, 3, wrong)
    assert run(monkeypatch, "--explain", "--only", "3") == 1
    assert "unexpected" in capsys.readouterr().out


def test_facts_agree_within_rounding_and_noise_only() -> None:
    """Half a unit of the last printed digit; three standard errors of the difference."""
    assert rounded("", "0.78", 0.7849).agrees
    assert not rounded("", "0.78", 0.7852).agrees
    values = np.random.default_rng(0).normal(5.0, 1.0, 400)
    assert sampled("", "5", values).agrees
    assert sampled("", "5.6", values, published=1).agrees  # one published run says little
    assert not sampled("", "5.6", values, published=400).agrees
    assert not sampled("", "5.6", values + 3).agrees


def test_verdicts_follow_from_facts() -> None:
    """True, false, conditional, open."""

    def verdict(*supports: bool | None) -> str:
        claim = Claim(1, "", lambda _: [], "")
        return Answer(claim, [Fact("", "", "", True, support) for support in supports]).verdict

    assert [verdict(True, None), verdict(False), verdict(True, False), verdict(None), verdict()] == [
        "true", "false", "conditional", "open", "open",
    ]  # fmt: skip


def test_simulations_are_made_once() -> None:
    """Claims share them."""
    laboratory, where = Laboratory(), plain("0.8,0.5", length="2")
    given = contender("round_robin", "BE", where)
    assert laboratory.runs(given, where, (100,), 4) is laboratory.runs(given, where, [100], 4)
