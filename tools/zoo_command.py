"""``specproof zoo``: build the family of small models that generation, studies and tests run on, and show what is there."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from specproof.devices import Device, check_device
from specproof.integration.zoo.build import build as build_family
from specproof.integration.zoo.build import default_cache
from specproof.integration.zoo.corpora import MissingText
from specproof.integration.zoo.family import Family
from specproof.integration.zoo.recipe import RECIPES, Recipe
from specproof.reference.names import nearest
from specproof.usage import UsageError

zoo = typer.Typer(no_args_is_help=True, help="A family of small language models, built on this machine.")
Cache = Annotated[Path | None, typer.Option(help="Where families are kept; SPECPROOF_HOME or the user's cache.")]


@zoo.command()
def build(
    family: Annotated[str, typer.Option(help=f"One of {', '.join(RECIPES)}.")] = "full",
    cache: Cache = None,
    device: Device = "cpu",
) -> None:
    """Train a target, its drafters and a head (full: about ten minutes of one core; tiny: half a minute)."""
    check_device(device)
    recipe = recipe_of(family)
    columns = (
        TextColumn("{task.description:22}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        stages: dict[str, object] = {}

        def listen(stage: str, step: int, steps: int) -> None:
            if stage not in stages:
                for done in stages.values():
                    progress.update(done, completed=1, total=1)  # type: ignore[arg-type]
                stages[stage] = progress.add_task(stage, total=steps)
            progress.update(stages[stage], completed=step, total=steps)  # type: ignore[arg-type]

        try:
            folder = build_family(recipe, cache or default_cache(), listen, device)
        except MissingText as reason:
            raise UsageError(str(reason)) from reason
    print(folder)


@zoo.command()
def show(cache: Cache = None) -> None:
    """List the families that are built: their drafters, and the target's cross-entropy on held-out text."""
    root = cache or default_cache()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("family", "folder", "drafters", "nats a token"):
        table.add_column(column, overflow="fold")
    for name, recipe in RECIPES.items():
        folder = root / recipe.key
        try:
            family = Family(folder)
        except FileNotFoundError:
            table.add_row(name, "not built", ", ".join(recipe.students), f"specproof zoo build --family {name}")
            continue
        nats = ", ".join(f"{domain} {value:.2f}" for domain, value in family.card["held_out_nats"].items())
        table.add_row(name, str(folder), ", ".join(family.drafters), nats)
    Console(highlight=False).print(table)


def recipe_of(name: str) -> Recipe:
    """The named recipe. Raises ``UsageError`` for an unknown one."""
    if name not in RECIPES:
        raise UsageError(nearest("family", name, RECIPES))
    return RECIPES[name]


def open_family(name: str, cache: Path | None = None, *, device: str = "cpu") -> Family:
    """A built family, its models on ``device``. Raises ``UsageError`` for one that is not built, or not known."""
    folder = (cache or default_cache()) / recipe_of(name).key
    try:
        return Family(folder, device)
    except FileNotFoundError as reason:
        raise UsageError(
            f"the family {name} is not built; build it with: specproof zoo build --family {name}"
        ) from reason
