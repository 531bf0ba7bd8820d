"""The published simulations: rows are read as printed, numbers are judged with their noise, and the bench counts rounds."""

import math
from typing import Any

import pytest
import torch

from specproof.bench.bandits import bandits
from specproof.reference.bandits import policy, reward
from specproof.reference.bandits.alone import rounds_alone
from specproof.reference.bandits.exact import expected
from specproof.reference.bandits.instance import Instance
from specproof.regret_published import BD, TABLES, A, Row, drafters
from specproof.regret_tables import Cell, tables


def test_every_published_row_can_be_played() -> None:
    """5 tables, 330 numbers; policies, options and rewards exist; every row says something."""
    numbers = 0
    for _, rows in TABLES.values():
        names = []
        for row in rows():
            policy(row.policy, row.instance.arms, best=row.instance.best, **row.options)
            row.instance.told(reward(row.reward))
            assert row.published
            assert all(math.isfinite(float(text)) for text in row.published.values())
            numbers += len(row.published)
            names.append(row.name)
        assert len(set(names)) == len(names)
    assert 320 < numbers < 420


@pytest.mark.parametrize(
    ("value", "published", "agrees"),
    [(87.9, "88", True), (88.49, "88", True), (84.0, "88", False), (0.9985, "1", True), (32_400.0, "32000", True)],
)
def test_numbers_are_judged_with_noise_and_rounding(value: float, published: str, agrees: bool) -> None:
    """No noise: half a unit of the last printed digit; with noise, 3.8 standard errors more."""
    slack = 500.0 if published == "32000" else 0.5
    assert Cell("lost@1", value, 0.0, published, 0.0, slack).agrees is agrees
    assert Cell("lost@1", value, 1.0, published, 1.0, slack).agrees is True
    assert Cell("lost@1", value, 0.0, published, 0.0, slack, differs="played otherwise").agrees is True


def test_rounds_of_one_drafter_are_the_exact_ones() -> None:
    """The renewal equation on floats gives the rounds that enumeration gives."""
    instance: Instance = drafters((0.8, 0.5), length=2)
    row = Row("", "static", BD, {}, instance=instance)
    for arm, rounds in enumerate(rounds_alone(row.instance.drafters, 12)):
        enumerable = Instance(type(instance.drafters)((0.8, 0.5), 2))  # type: ignore[call-arg]  # dispersion does not matter
        fixed = policy("static", 2, arm=arm)
        exact = expected(fixed, enumerable, 12, enumerable.told(reward("block_efficiency"))).rounds
        assert rounds == pytest.approx(float(exact), rel=1e-12)


def test_a_table_is_played_judged_and_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A right number agrees, a wrong one is marked, quick leaves long texts out, and progress reaches the end."""
    rows = [
        Row("right", "round_robin", BD, {"lost@1000": "128", "share@1000": ".20"}, runs=64),
        Row("wrong", "random", BD, {"lost@1000": "100", "lost@64000": "8222"}, runs=64),
        Row("another", "random", BD, {"lost@1000": "100"}, runs=64, differs="it is another policy"),
    ]
    monkeypatch.setitem(TABLES, "4.1", ("A title", lambda: rows))
    heard: list[float] = []
    (found,) = tables(["4.1"], quick=True, listen=lambda _, share: heard.append(share))
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert [cell.agrees for cell in found.cells] == [True, True, False, True]
    assert found.columns == ["lost@1000", "share@1000"]
    text = found.markdown()
    assert "| right | 12" in text
    assert "✗" in text
    assert "* it is another policy." in text
    assert "2 of 3 numbers agree" in text
    assert found.rich().row_count == 3


def test_unknown_table_is_refused() -> None:
    """With the nearest one."""
    with pytest.raises(ValueError, match=r"4\.1"):
        tables(["4.11"], quick=True)


def test_standard_instance_is_the_published_one() -> None:
    """Tokens a round 3.689, 2.941, 2.383, 1.969, 1.536."""
    assert [round(float(each), 3) for each in A.tokens_a_round()] == [3.689, 2.941, 2.383, 1.969, 1.536]


def test_bench_counts_rounds() -> None:
    """Every contender has a speed; many runs at once are faster than one after the other."""
    (part,) = bandits((64, 100), 0.0, torch.device("cpu"), lambda _: None)
    machine: Any = None
    lines = {line["name"]: line["rounds_per_second"] for line in part.json(machine)["lines"]}
    assert lines["meta_sd_ucb"] > lines["meta_sd_ucb, one run of the reference"] > 0


@pytest.mark.nightly
def test_a_million_rounds_a_second() -> None:
    """UCB with five arms on one core, in CPU time; measured 2 to 5 million."""
    (part,) = bandits((4096, 1000), 0.0, torch.device("cpu"), lambda _: None)
    machine: Any = None
    lines = {line["name"]: line["rounds_per_second"] for line in part.json(machine)["lines"]}
    assert lines["meta_sd_ucb"] > 1e6
