"""Where third-party packages lie on this machine, and which of them an adapter gets.

The shelf is a folder of the user's (``$SPECPROOF_HOME``, or the cache folder of the platform) with one folder for each
package and version. Nothing of it is ever on the import path for longer than one import (``isolation``).
"""

import os
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import platformdirs

from specproof.integration.packages import Package
from specproof.integration.unavailable import Unavailable

COMPLETE = ".complete"


@dataclass(frozen=True)
class Located:
    """A package that is here: its version, and the folder from which it is imported (or its environment)."""

    package: Package
    version: str
    root: Path

    def file(self, path: str) -> Path:
        """Return a file of the package. Raises ``Unavailable`` when this version has none of that name."""
        found = self.root / path
        if not found.is_file():
            raise Unavailable(f"{self.package.name} {self.version} has no file {path}")
        return found

    @property
    def python(self) -> Path:
        """The interpreter of an environment."""
        return self.root / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def home() -> Path:
    """The folder of everything that specproof keeps for this user."""
    given = os.environ.get("SPECPROOF_HOME")
    return Path(given) if given else Path(platformdirs.user_cache_dir("specproof"))


def place(package: Package, version: str) -> Path:
    """Where a version of a package lies, or will lie."""
    return home() / "packages" / f"{package.label}-{version}"


def on_shelf(package: Package, version: str) -> bool:
    """Whether that version was installed to its end."""
    return (place(package, version) / COMPLETE).exists()


def locate(package: Package, version: str | None = None) -> Located:
    """Find a package: the version asked for, else the one of this interpreter, else the newest pinned one on the shelf.

    Raises ``Unavailable`` that says how to get it.
    """
    if package.interpreter and version is None and _of_interpreter(package) is None:
        raise Unavailable(f"{package.name} is not installed; pip install 'specproof[{package.extras}]'")
    own = None if package.environment else _of_interpreter(package)
    if own is not None and version in (None, own.version):
        return own
    for pinned in reversed(package.versions):
        if version in (None, pinned) and on_shelf(package, pinned):
            return Located(package, pinned, place(package, pinned))
    if version is not None and version not in package.versions:
        raise Unavailable(f"{package.name} {version} is not installed here; pinned are {', '.join(package.versions)}")
    wanted = package.label if version is None else f"{package.label}=={version}"
    raise Unavailable(f"not installed; get it with: specproof install {wanted}")


def _of_interpreter(package: Package) -> Located | None:
    try:
        found = metadata.distribution(package.name)
    except metadata.PackageNotFoundError:
        return None
    return Located(package, found.version, Path(str(found.locate_file(""))))
