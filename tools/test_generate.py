"""``specproof generate``, ``zoo`` and ``study`` on the tiny family; what does not fit is refused before anything runs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from specproof.cli import app
from specproof.integration.models import load
from specproof.integration.zoo.recipe import TINY
from specproof.usage import UsageError

pytest.importorskip("transformers")
Run = Callable[..., str]


@pytest.fixture
def home(tiny_zoo: Path) -> Path:
    """A cache with the tiny family in it."""
    return tiny_zoo.parent


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command and return its stdout; a refusal is raised."""
    monkeypatch.setenv("SPECPROOF_HOME", str(home))

    def ran(*arguments: str) -> str:
        result = CliRunner().invoke(app, list(arguments))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.stdout

    return ran


def measured(run: Run, *arguments: str) -> dict[str, Any]:
    """What ``generate`` writes as JSON."""
    found: dict[str, Any] = json.loads(
        run("generate", "Question: Anna has 3 apples", "--family", "tiny", "--tokens", "24", "--json", "-", *arguments)
    )
    return found


def test_generate_says_what_it_gained(run: Run) -> None:
    """Text, block efficiency, acceptance by position, speed beside plain decoding."""
    record = measured(run, "--drafts", "2", "--draft", "mathematics")
    assert record["verifier"] == "block+race"
    assert record["tokens"] == 24
    assert len(record["acceptance"]) == 4
    assert record["block_efficiency"] > 1.2
    assert record["tokens_per_second"] > 0 < record["plain_tokens_per_second"]
    shown = run("generate", "Question:", "--family", "tiny", "--tokens", "8", "--verifier", "standard", "--drafts", "1")
    assert shown.startswith("Question:")
    assert "acceptance by position" in shown


def test_the_same_seed_gives_the_same_text(run: Run) -> None:
    """And at temperature 0 the verifier does not matter."""
    assert measured(run, "--seed", "3")["text"] == measured(run, "--seed", "3")["text"]
    texts = [
        measured(run, "--temperature", "0", "--verifier", name, "--drafts", drafts)["text"]
        for name, drafts in (("standard", "1"), ("k_seq", "3"), ("block+race", "2"))
    ]
    assert len(set(texts)) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--verifier", "blok"], "block"),
        (["--verifier", "block", "--drafts", "3"], r"block\+race"),
        (["--draft", "maths"], "mathematics"),
        (["--tokens", "1000"], "ask for at most"),
        (["--device", "cuda"], "no CUDA device"),
        (["--target", "nowhere"], "--target needs --draft"),
        (["--target", "nowhere", "--draft", "nowhere"], r"there is no config\.json"),
        (["--temperature", "-1"], "temperature must be 0 or more"),
        (["--family", "huge"], "full"),
        (["--family", "full"], "specproof zoo build --family full"),
    ],
)
def test_what_does_not_fit_is_refused(run: Run, arguments: list[str], message: str) -> None:
    """Before any model runs."""
    with pytest.raises(UsageError, match=message):
        run("generate", "Hello", "--family", "tiny", "--drafts", "1", *arguments)


def test_vocabularies_are_compared(run: Run, home: Path, tmp_path: Path) -> None:
    """A drafter from a folder with another vocabulary is refused."""
    network = load(home / "zoo" / TINY.key / "general").network
    network.resize_token_embeddings(300)
    network.save_pretrained(tmp_path / "other")
    with pytest.raises(UsageError, match="has 300 tokens and the target 320"):
        run("generate", "Hello", "--family", "tiny", "--draft", str(tmp_path / "other"))


def test_zoo_shows_what_is_built(run: Run) -> None:
    """The tiny family is there, the full one is not."""
    shown = run("zoo", "show")
    assert TINY.key in shown.replace("\n", "").replace(" ", "") or "tiny" in shown
    assert "not built" in shown


def test_study_of_verifiers_prints_every_contestant(run: Run, tmp_path: Path) -> None:
    """With intervals, gains, the paper's figures, a picture and the numbers."""
    picture, numbers = tmp_path / "drafts.png", tmp_path / "study.json"
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"question": "Anna has 3 apples and Ben gives her 4"}\n"def main(argument):"\n')
    shown = run(
        "study", "spectr_gbv", "--family", "tiny", "--quick", "--prompts", str(prompts), "--count", "2",
        "--drafts", "3", "--length", "2", "--tokens", "8", "--picture", str(picture), "--json", str(numbers),
    )  # fmt: skip
    assert "+12.4%" in shown
    assert picture.stat().st_size > 10_000
    rows = json.loads(numbers.read_text())["rows"]
    assert {row["drafts"] for row in rows} == {1, 3}
    assert {row["length"] for row in rows} == {2}
    assert {row["name"] for row in rows} >= {"standard", "block", "K-SEQ (SpecTr)", "SpecTr-GBV, corrected"}


def test_study_of_own_models_asks_for_prompts(run: Run, home: Path) -> None:
    """A target from a folder has no held-out text."""
    folder = home / "zoo" / TINY.key
    with pytest.raises(UsageError, match="--benchmark or --prompts"):
        run("study", "spectr_gbv", "--target", str(folder / "target"), "--draft", str(folder / "general"))


def test_study_of_laws_acquits_and_convicts(run: Run, tmp_path: Path) -> None:
    """At a level of 1e-6 a verifier; 2,048 texts of 27 tell the published SpecTr-GBV (its expected log10 e is above 15)."""
    numbers = tmp_path / "laws.json"
    given = (
        "--family",
        "tiny",
        "--tokens",
        "3",
        "--length",
        "2",
        "--drafts",
        "3",
        "--draws",
        "2048",
        "--json",
        str(numbers),
    )
    run(
        "study",
        "lossless",
        *given,
        "--verifier",
        "standard",
        "--verifier",
        "block+race",
        "--verifier",
        "spectr_gbv_published",
    )
    verdicts = {row["verifier"]: row["verdict"] for row in json.loads(numbers.read_text())["rows"]}
    assert verdicts == {"standard": "HELD", "block+race": "HELD", "spectr_gbv_published": "FAILED"}
    with pytest.raises(UsageError, match="language model of its own"):
        run("study", "lossless", "--family", "tiny", "--draft", "lookup")


@pytest.mark.nightly
def test_study_of_bandits_prints_every_stream(run: Run, tmp_path: Path) -> None:
    """Every domain, mixed, perturbed."""
    shown = run("study", "metasd", "--family", "tiny", "--quick", "--count", "2", "--picture", str(tmp_path / "m.png"))
    for stream in ("code", "mathematics", "mixed", "perturbed"):
        assert stream in shown
    assert (tmp_path / "m.png").stat().st_size > 10_000
