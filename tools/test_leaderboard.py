"""``specproof leaderboard``: the small suite, run once, and what must be true of it whatever the numbers are."""

import json
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from specproof.cli import USAGE, main
from specproof.leaderboard.chains import Chain, Decoding, Markov
from specproof.leaderboard.contestants import NAMED, contestants
from specproof.leaderboard.suite import suite
from specproof.reference.exact import exact, step_law
from specproof.reference.model import TableModel, after, prefixes
from specproof.reference.selectors import selector_names
from specproof.reference.verifiers import rule, rule_names

LOSSY = {"spectr_gbv_published", "spectr_gbv_published + carry", "ensemble 1/2", "typical"}


@dataclass(frozen=True)
class Ran:
    """What one run of the command left behind."""

    out: str
    data: dict[str, Any]
    picture: Path

    def entry(self, name: str) -> dict[str, Any]:
        """What the JSON says of a contestant."""
        return next(entry for entry in self.data["rules"] if entry["name"] == name)

    def optimum(self, run: dict[str, Any]) -> Fraction | None:
        """The block transport optimum of the instance that a run was on; longer texts have none."""
        value = self.data["instances"][run["instance"]]["ceilings"].get("optimum")
        return None if value is None else Fraction(value)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run the command on the small suite, with JSON and picture."""
    folder = tmp_path_factory.mktemp("leaderboard")
    files = folder / "new" / "board.json", folder / "board.svg"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["specproof", "leaderboard", "--json", str(files[0]), "--picture", str(files[1])])
        patch.setenv("COLUMNS", "160")
        with (folder / "out").open("w") as out:
            patch.setattr(sys, "stdout", out)
            with pytest.raises(SystemExit) as left:
                main()
    assert left.value.code == 0
    return Ran((folder / "out").read_text(), json.loads(files[0].read_text()), files[1])


def test_everyone_competes() -> None:
    """Every rule of the engine, and every selector in front of every one-draft rule that keeps the law."""
    entries = contestants()
    assert {entry.rule_name for entry in entries} == set(rule_names())
    composed = {(entry.rule_name, entry.options.get("selector")) for entry in entries}
    assert {(base, name) for base in ("standard", "block", "greedy_block") for name in selector_names()} <= composed | {
        ("greedy_block", "race"), ("block", "best_ratio"),
    }  # fmt: skip
    assert {"spectr_gbv", "greedy_multipath_block"} == set(NAMED.values()) <= {entry.name for entry in entries}
    assert {entry.name for entry in entries if entry.lossy} == LOSSY


def test_lossless_rules_keep_the_law_exactly(ran: Ran) -> None:
    """Total variation is the fraction zero on every instance, texts of several iterations included."""
    for entry in ran.data["rules"]:
        if entry["name"] not in LOSSY:
            assert {run["total_variation"] for run in entry["runs"]} == {"0"}, entry["name"]
            assert entry["lossless"]
    assert any(instance["tokens"] > instance["length"] + 1 for instance in ran.data["instances"])


@pytest.mark.parametrize("name", sorted(LOSSY))
def test_lossy_rules_are_convicted(ran: Ran, name: str) -> None:
    """The largest distance is reported with the smallest instance that shows one."""
    entry = ran.entry(name)
    assert not entry["lossless"]
    assert (
        Fraction(entry["largest_total_variation"]["value"]) >= Fraction(entry["smallest_lossy"]["total_variation"]) > 0
    )
    assert ran.data["instances"][entry["smallest_lossy"]["instance"]]["vocabulary"] == 2
    assert f"{name} loses the law: TV {entry['smallest_lossy']['total_variation']} on " in ran.out


def test_the_published_rule_on_the_smallest_counterexample(ran: Ran) -> None:
    """Total variation 19/350 at K = 2, and none at K = 1 on one token."""
    coin = [i for i, given in enumerate(ran.data["instances"]) if given["name"] == "coin 1/2 1/2 | 3/4 1/4"]
    found = {run["instance"]: run["total_variation"] for run in ran.entry("spectr_gbv_published")["runs"]}
    assert [found[i] for i in coin[:2]] == ["0", "19/350"]


def test_no_lossless_rule_beats_the_optimum(ran: Ran) -> None:
    """With independent drafts; and the optimum is at most the level ceiling, the claim too."""
    for entry in ran.data["rules"]:
        if entry["name"] in LOSSY or not entry["independent_drafts"]:
            continue
        for run in entry["runs"]:
            optimum = ran.optimum(run)
            assert optimum is None or Fraction(run["expected_accepted"]) <= optimum, (entry["name"], run)
    for instance in ran.data["instances"]:
        limits = {name: Fraction(value) for name, value in instance["ceilings"].items()}
        assert not limits or limits["claimed"] <= limits["optimum"] <= limits["level"], instance["name"]


def test_the_claim_is_below_the_optimum(ran: Ran) -> None:
    """The published rule claims less than the optimum; the corrected one accepts more than the claim on average."""
    found = [instance["ceilings"] for instance in ran.data["instances"] if instance["ceilings"]]
    assert any(Fraction(limits["claimed"]) < Fraction(limits["optimum"]) for limits in found)
    shares = ran.entry("spectr_gbv")["shares"]
    assert shares["claimed"]["mean"] > 1
    assert shares["optimum"]["mean"] > 0.99
    assert ran.entry("greedy_block + first")["shares"]["optimum"]["mean"] < 0.9


def test_shares_are_those_of_the_runs(ran: Ran) -> None:
    """Mean and worst share, computed again from the JSON's own fractions."""
    for entry in ran.data["rules"]:
        shares = [
            Fraction(run["expected_accepted"]) / optimum for run in entry["runs"] if (optimum := ran.optimum(run))
        ]
        assert Fraction(entry["shares"]["optimum"]["worst"]) == min(shares)
        assert entry["shares"]["optimum"]["mean"] == pytest.approx(float(sum(shares) / len(shares)), abs=1e-8)


def test_monotone_in_the_number_of_drafts(ran: Ran) -> None:
    """A draft more never hurts the token optimum or the proportional race, and does hurt the rules that are said to."""
    for name in ("transport", "greedy_block + race proportional", "recursive", "staged_greedy", "sample_match"):
        assert ran.entry(name)["monotone"], name
    for name in ("spectr_gbv", "spectr_gbv_published", "greedy_multipath_block", "greedy_block + scan"):
        drop = ran.entry(name)["smallest_drop"]
        assert Fraction(drop["after"]) < Fraction(drop["before"]), name
        assert f"{name} is not monotone" in ran.out


def test_one_draft_rules_do_not_change(ran: Ran) -> None:
    """``first`` looks at one draft only: the same E[tau] whatever K is."""
    found: dict[str, set[str]] = {}
    for run in ran.entry("greedy_block + first")["runs"]:
        if ran.optimum(run) is not None:
            found.setdefault(ran.data["instances"][run["instance"]]["name"], set()).add(run["expected_accepted"])
    assert {len(values) for values in found.values()} == {1}


def test_the_table_and_the_picture(ran: Ran) -> None:
    """Every rule has a row, the best lossless one for independent drafts stands near the top, the picture is drawn."""
    rows = [line.split("  ")[0].rstrip("*") for line in ran.out.splitlines()]
    assert [row for row in rows if row in {entry["name"] for entry in ran.data["rules"]}] == [
        entry["name"] for entry in ran.data["rules"]
    ]
    drawn = ran.picture.read_text()
    assert "number of drafts, K" in drawn or "<svg" in drawn
    assert ran.picture.stat().st_size > 10_000


def test_a_long_decode_is_the_decoding_loop() -> None:
    """Following states gives the tokens per iteration that enumerating two iterations gives, carry-over included."""
    rows = [(Fraction(1, 3), Fraction(2, 3))] * 2, [(Fraction(2, 3), Fraction(1, 3))] * 2
    chain = Chain("coins", Markov(rows[0]), Markov(rows[1]), 2, 2, 2)
    target, draft = (TableModel(dict.fromkeys(prefixes(2, 6), row[0])) for row in rows)
    given = rule("greedy_block", selector="scan")
    first = exact("greedy_block", target, draft, drafts=2, length=2, selector="scan")
    second = Fraction(0)
    for step, mass in first.steps.items():
        reached = step_law(given, after(step.target, step.tokens), after(draft, step.tokens), drafts=2, length=2)
        second += mass * sum(share * len(next_step.tokens) for next_step, share in reached.items())
    assert Decoding(given, chain).rate() == (first.expected_accepted + 1 + second) / 2


def test_rate_of_one_constant_pair_without_carry_over() -> None:
    """A stateless rule on the same row everywhere emits block efficiency tokens in every iteration."""
    rows = [(Fraction(1, 4), Fraction(3, 4))] * 2, [(Fraction(1, 2), Fraction(1, 2))] * 2
    chain = Chain("coins", Markov(rows[0]), Markov(rows[1]), 2, 1, 5)
    target, draft = (TableModel(dict.fromkeys(prefixes(2, 1), row[0])) for row in rows)
    expected = exact("transport", target, draft, drafts=2, length=1).expected_accepted + 1
    assert Decoding(rule("transport"), chain).rate() == expected


def test_suites_are_fixed() -> None:
    """The same instances in every run, names unique, and one to four drafts."""
    for name in ("small", "full"):
        first, second = suite(name), suite(name)
        names = [ladder.case.name for ladder in first.ladders]
        assert names == [ladder.case.name for ladder in second.ladders]
        assert len(set(names)) == len(names)
        assert [c.target.rows for c in first.chains] == [c.target.rows for c in second.chains]
        assert max(ladder.most for ladder in first.ladders) == 4
        for one, two in zip(first.ladders, second.ladders, strict=True):
            assert one.case.target_law == two.case.target_law


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--suite", "smal"), "Unknown suite 'smal'. Did you mean 'small'?"),
        (("--picture", "board.pdf"), "the file must end in .png or .svg"),
        (("--picture", "-"), "the file must end in .png or .svg"),
        (("--json", str(Path(__file__).parent)), "this is a folder, give a file"),
    ],
)
def test_bad_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    """Refused before anything runs, with exit code 64."""
    monkeypatch.setattr(sys, "argv", ["specproof", "leaderboard", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    captured = capsys.readouterr()
    assert (left.value.code, captured.out) == (USAGE, "")
    assert message in captured.err
