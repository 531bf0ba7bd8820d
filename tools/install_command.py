"""``specproof install``: bring pinned third-party packages to the shelf."""

from typing import Annotated, get_args

import typer
from rich.console import Console
from rich.markup import escape

from specproof.integration.installing import NotInstalled, install
from specproof.integration.packages import PACKAGES, Group, Package, package
from specproof.integration.shelf import home, on_shelf
from specproof.progress import bars
from specproof.usage import refuse

FAILED = 2


def install_packages(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help=f"Packages, with ==VERSION for one; or {' or '.join(get_args(Group))} for a group.",
        ),
    ] = None,
) -> None:
    """Install third-party packages to certify, outside of this interpreter; without a name, list them."""
    if not names:
        for found in PACKAGES.values():
            there = [f"{version}{' (here)' if on_shelf(found, version) else ''}" for version in found.versions]
            print(f"{found.label:17} {found.group:6} {', '.join(there)}")
        print(f"shelf: {home()}")
        return
    wanted = [pair for name in names for pair in _wanted(name)]
    console = Console(stderr=True, highlight=False)
    failures = []
    with bars(console=console) as progress:
        task = progress.add_task("", total=len(wanted))
        for found, version in wanted:
            try:
                new = install(found, version, lambda said: progress.update(task, description=escape(said)))
                progress.console.print(f"{found.label} {version}: {'installed' if new else 'already there'}")
            except NotInstalled as error:
                failures.append(str(error))
                progress.console.print(escape(f"{found.label} {version}: {error}"), style="red")
            progress.update(task, advance=1, description="")
    if failures:
        raise typer.Exit(FAILED)


def _wanted(name: str) -> list[tuple[Package, str]]:
    """The packages and versions that an argument stands for."""
    if name in get_args(Group):
        chosen = [p for p in PACKAGES.values() if not p.interpreter and name in ("full", p.group)]
        return [(found, version) for found in chosen for version in found.versions]
    base, _, version = name.partition("==")
    try:
        found = package(base)
    except ValueError as error:
        refuse(error)
    if found.interpreter:
        refuse(f"{base} is used from this interpreter: pip install 'specproof[{found.extras}]'")
    if version and version not in found.versions:
        refuse(f"{base} {version} is not pinned; choose {' or '.join(found.versions)}")
    return [(found, version)] if version else [(found, pinned) for pinned in found.versions]
