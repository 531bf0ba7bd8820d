"""The list of packages, the folders, and the two ways in which a module can be imported."""

import sys
import tomllib
from pathlib import Path

import pytest

import specproof
from specproof.reference.law import law

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("tools", "reference", "fast", "properties", "integration")


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="an installed copy has no project file")
def test_packages_listed_are_the_folders_with_an_init_file() -> None:
    """Setuptools finds no package by itself here, so a folder that is not listed would be missing from the wheel."""
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = set()
    for folder in FOLDERS:
        for init in (ROOT / folder).rglob("__init__.py"):
            inside = init.parent.relative_to(ROOT).parts
            found.add(".".join(["specproof", *(inside[1:] if folder == "tools" else inside)]))
    assert listed == found


def test_modules_are_imported_once() -> None:
    """Pytest imports test files as ``reference.test_x``; nothing else may exist under the bare folder names."""
    assert law.__module__ == "specproof.reference.law"
    doubled = [
        name
        for name, module in sys.modules.items()
        if name.split(".")[0] in FOLDERS
        and getattr(module, "__file__", None)
        and not Path(str(module.__file__)).name.startswith(("test_", "__init__", "conftest"))
    ]
    assert doubled == []


def test_version_is_the_packages() -> None:
    """``specproof.__version__`` is what the metadata says."""
    assert specproof.__version__.count(".") == 2
