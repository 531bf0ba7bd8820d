"""Every number of ``oracles/step.json``, found by independent exact enumeration, as an equal fraction."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from specproof.reference import TableModel, exact

INSTANCES = json.loads((Path(__file__).parent / "oracles" / "step.json").read_text())["instances"]
RESULTS = [(instance, result) for instance in INSTANCES for result in instance["results"]]


def name(part: dict[str, Any]) -> str:
    """Name a test after its instance, or its rule with the options."""
    if "verifier" not in part:
        return part["name"]
    return " ".join([part["verifier"], *(f"{key}={value}" for key, value in part["options"].items())])


@pytest.mark.parametrize(("instance", "result"), RESULTS, ids=name)
def test_oracle(instance: dict[str, Any], result: dict[str, Any]) -> None:
    """E[tau], the law of tau, the total variation and, where it is given, the law of the text are the oracle's."""
    target, draft = TableModel.from_table(instance["target"]), TableModel.from_table(instance["draft"])
    found = exact(
        result["verifier"], target, draft, drafts=result["drafts"], length=instance["length"], **result["options"]
    )
    assert found.expected_accepted == Fraction(result["expected_accepted"])
    law = [found.accepted_law.get(count, Fraction(0)) for count in range(instance["length"] + 1)]
    assert law == [Fraction(mass) for mass in result["accepted_law"]]
    assert found.total_variation == Fraction(result["tv"])
    if "law" in result:
        text = {tuple(map(int, key.split(","))): Fraction(mass) for key, mass in result["law"].items()}
        assert {key: mass for key, mass in found.law.items() if mass} == {
            key: mass for key, mass in text.items() if mass
        }


def test_every_result_is_compared() -> None:
    """The file holds 12 instances or more, each with results for one-draft rules, selectors and the published rule."""
    assert len(INSTANCES) >= 12
    assert {result["verifier"] for _, result in RESULTS} == {
        "standard", "block", "greedy_block", "recursive", "staged_greedy", "spectr_gbv_published"
    }  # fmt: skip
