"""``specproof study spectr_gbv|metasd``: the papers' tables on the family of small models, or on models from folders."""

import json as json_module
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from specproof.fast.generate import Settings
from specproof.fast.sampling import Sampling
from specproof.integration.zoo.build import default_cache
from specproof.integration.zoo.family import Family
from specproof.output import check_destination, report_console, write_data
from specproof.study import metasd as bandits
from specproof.study import spectr_gbv as verifiers
from specproof.study.picture import drafts_picture, streams_picture
from specproof.study.prompts import BENCHMARKS, of_benchmark, of_file, streams
from specproof.usage import refuse
from specproof.zoo_command import open_family

study = typer.Typer(no_args_is_help=True, help="The papers' comparisons in real generation.")
FamilyName = Annotated[str, typer.Option("--family", help="Which family; see `specproof zoo show`.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer settings and prompts.")]
Json = Annotated[str | None, typer.Option(help="Write the numbers here; - for stdout.")]
Picture = Annotated[Path | None, typer.Option(help="Write a picture here (.png or .svg).")]


@study.command("spectr_gbv")
def spectr_gbv(
    family: FamilyName = "full",
    drafter: Annotated[str, typer.Option(help="Which of the family's drafters.")] = "general",
    domain: Annotated[str | None, typer.Option(help="Held-out prompts of one domain; all of them unless told.")] = None,
    benchmark: Annotated[str | None, typer.Option(help=f"Prompts of {', '.join(BENCHMARKS)} instead.")] = None,
    prompts: Annotated[Path | None, typer.Option(help="Prompts of a JSON-lines file instead.")] = None,
    count: Annotated[int | None, typer.Option(help="How many prompts.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first prompt.")] = 0,
    quick: Quick = False,
    json: Json = None,
    picture: Picture = None,
) -> None:
    """Tokens a round of every verifier, by drafts, length and temperature."""
    check_destination("--json", json)
    check_destination("--picture", str(picture) if picture else None, (".png", ".svg"))
    opened = open_family(family)
    many = count or (8 if quick else 32)
    try:
        chosen = _prompts(opened, domain, benchmark, prompts, many)
        with _progress() as listen:
            rows = verifiers.study(
                opened.target,
                opened.drafter(drafter),
                chosen,
                verifiers.QUICK if quick else verifiers.FULL,
                seed,
                listen,
            )
    except ValueError as error:
        refuse(error)
    report_console(json).print(verifiers.render(rows))
    if picture is not None:
        drafts_picture(rows, picture)
    _write(json, verifiers.SCHEMA, {"family": opened.card, "drafter": drafter, "rows": [row.json() for row in rows]})


@study.command("metasd")
def metasd(
    family: FamilyName = "full",
    temperature: Annotated[float, typer.Option(help="Of target and drafters.")] = 0.7,
    tokens: Annotated[int, typer.Option(help="New tokens a query.")] = 256,
    length: Annotated[int, typer.Option(help="Tokens a draft, L.")] = 5,
    count: Annotated[int | None, typer.Option(help="Queries a stream.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first query.")] = 0,
    quick: Quick = False,
    json: Json = None,
    picture: Picture = None,
) -> None:
    """Bandits over drafters against every single one: in a domain, mixed, and on perturbed prompts."""
    check_destination("--json", json)
    check_destination("--picture", str(picture) if picture else None, (".png", ".svg"))
    opened = open_family(family)
    try:
        given = Settings(tokens if not quick else min(tokens, 96), 1, length, Sampling(temperature))
        others = [name for name in ("general", "large", "head") if name in opened.drafters]
        contest = bandits.Contest(
            opened.target, {domain: opened.drafter(domain) for domain in opened.domains},
            {name: opened.drafter(name) for name in others}, given, seed,
        )  # fmt: skip
        with _progress() as listen:
            rows = bandits.study(contest, streams(opened, count or (4 if quick else 16), 64), listen)
    except ValueError as error:
        refuse(error)
    report_console(json).print(bandits.render(rows, [*opened.domains, *others]))
    if picture is not None:
        streams_picture(rows, picture)
    _write(json, bandits.SCHEMA, {"family": opened.card, "rows": [row.json() for row in rows]})


def _prompts(
    family: Family, domain: str | None, benchmark: str | None, path: Path | None, count: int
) -> list[list[int]]:
    def encode(text: str) -> list[int]:
        return [0, *family.tokenizer.encode(text).ids]

    if sum(given is not None for given in (domain, benchmark, path)) > 1:
        raise ValueError("prompts come from one place: give one of --domain, --benchmark, --prompts")
    if path is not None:
        return of_file(path, count, encode, 64)
    if benchmark is not None:
        return of_benchmark(benchmark, default_cache() / "downloads", count, encode, 64)
    domains = [domain] if domain is not None else family.domains
    return [prompt for name in domains for prompt in family.prompts(name, max(1, count // len(domains)))]


@contextmanager
def _progress() -> Iterator[Any]:
    """A progress bar on stderr, one thread while it is shown."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("")

        def listen(what: str, done: int, of: int) -> None:
            progress.update(task, description=what, completed=done, total=of)

        try:
            yield listen
        finally:
            torch.set_num_threads(threads)


def _write(destination: str | None, schema: str, data: dict[str, Any]) -> None:
    if destination is not None:
        write_data(destination, json_module.dumps({"schema": schema, **data}, indent=1))
