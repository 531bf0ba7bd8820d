"""Importing a third party's code without its requirements, and without leaving anything of it behind.

Some targets are one file of a package whose other modules need hardware or a gigabyte of requirements. While such a file is
imported, the modules it asks for are stood in for by stubs; afterwards neither they nor the package stay in ``sys.modules``,
so that several versions of one package can be certified side by side.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

Values = Mapping[str, Mapping[str, Any]]  # of a stub module, by its dotted name: the names in it that are real


class Placeholder:
    """Stands for anything of a stubbed module: a base class, a decorator, a function that is never called."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __init_subclass__(cls, **_: Any) -> None:
        super().__init_subclass__()

    def __class_getitem__(cls, _: Any) -> type["Placeholder"]:
        return cls

    def __call__(self, *given: Any, **_: Any) -> Any:
        """As a decorator: the function itself."""
        return given[0] if given else self


class Stub(ModuleType):
    """A module whose every name is a placeholder, but for those that were given."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Placeholder,), {})


class _Finder(MetaPathFinder, Loader):
    """Answers every import below ``tops``: from a file where there is one, with a stub everywhere else."""

    def __init__(self, tops: Sequence[str], files: Mapping[str, Path], values: Values) -> None:
        self._tops = tops
        self._files = files
        self._values = values

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        """See ``MetaPathFinder``."""
        if fullname in self._files:
            return importlib.util.spec_from_file_location(fullname, self._files[fullname])
        if fullname.partition(".")[0] in self._tops:
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """See ``Loader``."""
        module = Stub(spec.name)
        vars(module).update(self._values.get(spec.name, {}))
        return module

    def exec_module(self, module: ModuleType) -> None:
        """See ``Loader``: there is nothing to run."""


@contextmanager
def _only_for_now(tops: Sequence[str]) -> Iterator[None]:
    """Put ``sys.modules`` back to what it was, as far as these packages go."""

    def theirs() -> list[str]:
        return [name for name in sys.modules if name.partition(".")[0] in tops]

    before = {name: sys.modules.pop(name) for name in theirs()}
    try:
        yield
    finally:
        for name in theirs():
            del sys.modules[name]
        sys.modules.update(before)


def import_files(
    name: str, files: Mapping[str, Path], *, stubs: Sequence[str] = (), values: Values | None = None
) -> Any:
    """Import module ``name`` out of ``files`` (dotted name to path); whatever else it asks of ``stubs`` is stubbed.

    ``values`` are the names that a stub must really have. The packages that the files belong to are stubbed too.
    """
    tops = sorted({*stubs, *(dotted.partition(".")[0] for dotted in files)})
    finder = _Finder(tops, files, values or {})
    with _only_for_now(tops):
        sys.meta_path.insert(0, finder)
        try:
            return importlib.import_module(name)
        finally:
            sys.meta_path.remove(finder)


def import_from(root: Path, name: str, *, stubs: Sequence[str] = ()) -> Any:
    """Import module ``name`` of a package that lies in the folder ``root``; packages named in ``stubs`` are stubbed."""
    finder = _Finder(stubs, {}, {})
    with _only_for_now([name.partition(".")[0], *stubs]):
        sys.meta_path.insert(0, finder)
        sys.path.insert(0, str(root))
        try:
            importlib.invalidate_caches()
            return importlib.import_module(name)
        finally:
            sys.path.remove(str(root))
            sys.meta_path.remove(finder)
