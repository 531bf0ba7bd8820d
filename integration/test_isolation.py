"""Imports that leave nothing behind."""

import sys
from pathlib import Path

import pytest

from specproof.integration.isolation import import_files, import_from


def written(root: Path, files: dict[str, str]) -> Path:
    """Write a package to disk."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_two_versions_of_a_package_live_side_by_side(tmp_path: Path) -> None:
    """Each import gets its own copy, and none stays in ``sys.modules`` or on the path."""
    path = list(sys.path)
    for version in ("1", "2"):
        written(tmp_path / version, {"engine_x/__init__.py": "", "engine_x/core.py": f"from engine_x import part\nV = {version}",
                                     "engine_x/part.py": ""})  # fmt: skip
    first, second = (import_from(tmp_path / version, "engine_x.core") for version in ("1", "2"))
    assert (first.V, second.V) == (1, 2)
    assert not [name for name in sys.modules if name.startswith("engine_x")]
    assert sys.path == path


def test_missing_requirements_are_stubbed_and_values_are_real(tmp_path: Path) -> None:
    """Base classes, decorators and constants of what is not here are stood in for; the file's own code runs."""
    source = """
from absent_base.layers import Base, decorate
from absent_base.values import LIMIT
from engine_y.other import anything
import absent_base.deep.down as down

@decorate(1, key=2)
def answer(x):
    return x + LIMIT

class Impl(Base[int], option=True):
    def forward(self, x):
        return answer(x)
"""
    root = written(tmp_path, {"engine_y/kernels.py": source})
    module = import_files(
        "engine_y.kernels", {"engine_y.kernels": root / "engine_y/kernels.py"},
        stubs=("absent_base",), values={"absent_base.values": {"LIMIT": 40}},
    )  # fmt: skip
    assert module.Impl().forward(2) == 42
    assert not [name for name in sys.modules if name.startswith(("engine_y", "absent_base"))]


def test_what_was_imported_before_is_put_back(tmp_path: Path) -> None:
    """A package that the caller has already imported is the same object afterwards, also when the import fails."""
    root = written(tmp_path, {"json/__init__.py": "raise ImportError('not the one you know')"})
    import json

    with pytest.raises(ImportError, match="not the one"):
        import_from(root, "json")
    assert sys.modules["json"] is json
    assert str(root) not in sys.path
