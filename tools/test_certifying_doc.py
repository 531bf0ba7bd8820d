"""``docs/certifying.md`` is run: every block that names a file is written down under that name and certified."""

import re
import shlex
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

import specproof
from specproof.cli import app
from specproof.parametrize import parameters
from specproof.properties.plan import Plan
from specproof.properties.verdict import Verdict
from specproof.test_cli import run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "certifying.md"
if not PAGE.exists():
    pytest.skip("an installed copy has no documents", allow_module_level=True)
BLOCKS = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE.read_text(), re.DOTALL))
MODULES = [name.removesuffix(".py") for name in BLOCKS]


@pytest.fixture(autouse=True)
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the page, where the commands run."""
    for name, code in BLOCKS.items():
        (tmp_path / name).write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for module in MODULES:
        monkeypatch.delitem(sys.modules, module, raising=False)


def verdicts(subject: Any, *cases: str) -> set[Verdict]:
    """What the probed checks on some cases say."""
    found = set()
    for parameter in parameters(subject, Plan("probed"), {}):
        (call,) = parameter.values
        if call.check.case in cases:
            found.add(call.check.run(call.source).verdict)
    assert found
    return found - {Verdict.NOT_APPLICABLE}


@pytest.mark.parametrize(
    ("module", "subject", "cases"),
    [
        ("mine", "verify", ["reversed", "rows by context"]),
        ("test_mine", "subject", ["reversed"]),
        ("several", "subject", ["biased coin", "reversed"]),
        ("tree", "subject", ["biased coin", "reversed"]),
        ("adapter", "Adapter", ["reversed", "rows by context"]),
    ],
)
def test_subjects_of_the_page_hold(module: str, subject: str, cases: list[str]) -> None:
    """A chain, several drafts, a tree and a stranger's function: on the cases that show most faults."""
    found = getattr(import_module(module), subject)
    assert verdicts(found() if isinstance(found, type) else found, *cases) == {Verdict.HELD}


def test_a_strangers_adapter_is_short() -> None:
    """Logits, slots, padding and uniforms in at most thirty lines."""
    assert len([line for line in BLOCKS["adapter.py"].splitlines() if line.strip()]) <= 30


def test_the_test_file_of_the_page_is_one(written: None) -> None:
    """It names every check of its subject."""
    (mark,) = import_module("test_mine").test_verify.pytestmark
    assert len(mark.args[1]) > 100


@pytest.mark.nightly
@pytest.mark.parametrize("subject", ["mine:verify", "adapter:Adapter"])
def test_commands_of_the_page_certify(subject: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All evidence, as the page types it; the certificate follows from its evidence."""
    assert run("certify", subject, "--json", "certificate.json", "--html", "certificate.html") == 0
    assert run("judge", "certificate.json") == 0


@pytest.mark.nightly
def test_the_pipeline_of_the_page_holds() -> None:
    """A module with ``decode`` is a decoder."""
    assert specproof.certify(import_module("pipeline")).verdict is Verdict.HELD


def test_every_block_of_the_page_is_tried() -> None:
    """A new block needs a test."""
    assert set(MODULES) == {"mine", "test_mine", "several", "tree", "pipeline", "theirs", "adapter"}


def commands(path: Path) -> list[list[str]]:
    """The specproof commands of a workflow, in words."""
    (job,) = yaml.safe_load(path.read_text())["jobs"].values()
    typed = [
        shlex.split(step["run"].replace("${{ github.run_number }}", "7")) for step in job["steps"] if "run" in step
    ]
    return [words for words in typed if words[0].endswith("specproof")]


@pytest.mark.parametrize("name", ["certify.yml", "nightly-gpu.yml"])
def test_workflows_type_commands_that_exist(name: str) -> None:
    """Every command and option of the examples is one of the command line's."""
    known = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    found = commands(PAGE.parent / "workflows" / name)
    assert [words[1] for words in found][:2] == ["certify", "judge"]
    for _, command, *arguments in found:
        typed = known[command]
        if hasattr(typed, "commands"):
            typed = typed.commands[arguments.pop(0)]
        options = {option for parameter in typed.params for option in parameter.opts}
        assert {argument for argument in arguments if argument.startswith("-")} <= options
