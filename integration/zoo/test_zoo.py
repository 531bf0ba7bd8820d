"""The tiny family is built from nothing, opens, and behaves as its recipe says."""

import json
import random
import shutil
from pathlib import Path

import pytest

from specproof.fast.drafters import Drafter
from specproof.fast.generate import Settings, generate
from specproof.fast.sampling import Sampling
from specproof.fast.verifiers import standard
from specproof.integration.zoo.build import CARD, build
from specproof.integration.zoo.corpora import TEMPLATES, corpora, messages, problem, split
from specproof.integration.zoo.family import Family
from specproof.integration.zoo.recipe import FULL, TINY

pytest.importorskip("transformers")


def ignore(stage: str, step: int, steps: int) -> None:
    """Nobody listens."""


@pytest.fixture(scope="module")
def family(tiny_zoo: Path) -> Family:
    """The tiny family."""
    return Family(tiny_zoo / TINY.key)


def efficiency(family: Family, drafter: Drafter, domain: str) -> float:
    """Mean tokens a round over twelve held-out prompts."""
    settings = Settings(32, 1, 4, Sampling(temperature=0.7))
    made = generate(family.target, drafter, standard, family.prompts(domain, 12, 24), settings, seeds=range(12))
    return sum(one.block_efficiency for one in made) / 12


def test_the_target_has_learnt_both_domains(family: Family) -> None:
    """Held-out nats a token, where an untrained model has 5.8; mathematics is from templates and easy."""
    nats = family.card["held_out_nats"]
    assert nats["code"] < 4.2
    assert nats["mathematics"] < 1.6


def test_specialists_win_at_home_and_lose_elsewhere(family: Family) -> None:
    """Something for a bandit to learn."""
    for domain in family.domains:
        own, *others = (
            efficiency(family, family.drafter(name), domain) for name in (domain, *set(family.domains) - {domain})
        )
        assert own > max(others) + 0.5


def test_every_drafter_drafts(family: Family) -> None:
    """Models, the head on the target's features, and prompt lookup."""
    for name in family.drafters:
        assert efficiency(family, family.drafter(name), "mathematics") >= 1


def test_a_family_is_built_once_and_resumes(tiny_zoo: Path, tmp_path: Path) -> None:
    """Building again changes nothing; what is missing of a family is built, the rest is kept."""
    folder = tmp_path / TINY.key
    shutil.copytree(tiny_zoo / TINY.key, folder)
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    build(TINY, tmp_path, ignore)
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    (folder / CARD).unlink()
    stages: list[str] = []
    build(TINY, tmp_path, lambda stage, *_: stages.append(stage))
    assert set(stages) == {"text and tokenizer"}
    assert json.loads((folder / CARD).read_text())["held_out_nats"] == Family(tiny_zoo / TINY.key).card["held_out_nats"]


def test_what_is_not_there_is_named(family: Family, tmp_path: Path) -> None:
    """A folder without a family, an unknown drafter or domain, and more prompts than there are."""
    with pytest.raises(FileNotFoundError, match="specproof zoo build"):
        Family(tmp_path)
    with pytest.raises(ValueError, match="code"):
        family.drafter("coed")
    with pytest.raises(ValueError, match="mathematics"):
        family.prompts("mathematic", 1)
    with pytest.raises(ValueError, match="held-out prompts"):
        family.prompts("code", 10**7)


def test_recipes_have_keys_of_their_own() -> None:
    """A change of recipe is another family."""
    assert TINY.key != FULL.key
    assert TINY.key.startswith("tiny-")


def test_documents_are_held_out_whole(tmp_path: Path) -> None:
    """One in twenty, and in no other part."""
    found = split([f"document {i}" for i in range(100)], seed=1)
    assert len(found.held_out) == 5
    assert not set(found.held_out) & set(found.train)
    assert corpora(["mathematics"], tmp_path)["mathematics"].held_out


def test_problems_are_worked_correctly() -> None:
    """Every calculation that is written down is right, and the last number is the answer."""
    source = random.Random(3)
    for _ in range(20 * len(TEMPLATES)):
        text = problem(source)
        for sum_, result in [part.split(">>")[0].split("=") for part in text.split("<<")[1:]]:
            assert eval(sum_) == int(result)  # noqa: S307 - digits and signs of our own making
        assert text.rsplit("#### ", 1)[1].isdigit()


def test_catalogues_give_finished_one_line_messages() -> None:
    """Fuzzy, obsolete, empty and short ones are left out; plural forms give the first."""
    catalogue = """
msgid "A message that is long enough"
msgstr "Eine Nachricht, die lang genug ist"

#, fuzzy
msgid "Another message, not finished"
msgstr "Noch eine"

#~ msgid "An obsolete message here"
#~ msgstr "Veraltet"

msgid "short"
msgstr "kurz"

msgid "%(count)d thing in the list"
msgid_plural "%(count)d things in the list"
msgstr[0] "%(count)d Ding in der Liste"
msgstr[1] "%(count)d Dinge in der Liste"

msgid ""
"In two "
"parts, both kept"
msgstr "In zwei "
"Teilen"
"""
    assert messages(catalogue) == [
        ("A message that is long enough", "Eine Nachricht, die lang genug ist"),
        ("%(count)d thing in the list", "%(count)d Ding in der Liste"),
        ("In two parts, both kept", "In zwei Teilen"),
    ]
