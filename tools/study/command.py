"""``specproof study spectr_gbv|metasd|lossless``: the papers' tables on the family of small models, or on models from folders."""

import json as json_module
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from specproof.devices import Device, check_device
from specproof.exit_codes import EXIT
from specproof.fast.drafters import Drafter, ModelDrafter
from specproof.fast.generate import Settings
from specproof.fast.language_model import LanguageModel
from specproof.fast.sampling import Sampling
from specproof.fast.verifiers.by_name import verifier_of
from specproof.generate_command import Models, models_of
from specproof.integration.zoo.build import default_cache
from specproof.output import check_destination, report_console, write_data
from specproof.progress import bars
from specproof.properties.verdict import merged
from specproof.study import lossless as checked
from specproof.study import metasd as bandits
from specproof.study import spectr_gbv as verifiers
from specproof.study.picture import drafts_picture, streams_picture
from specproof.study.prompts import BENCHMARKS, of_benchmark, of_file, streams
from specproof.usage import UsageError, refuse
from specproof.zoo_command import open_family

study = typer.Typer(no_args_is_help=True, help="The papers' comparisons in real generation.")
FamilyName = Annotated[str, typer.Option("--family", help="Which family; see `specproof zoo show`.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer settings and prompts.")]
Json = Annotated[str | None, typer.Option(help="Write the numbers here; - for stdout.")]
Picture = Annotated[Path | None, typer.Option(help="Write a picture here (.png or .svg).")]


@study.command("spectr_gbv")
def spectr_gbv(
    family: FamilyName = "full",
    target: Annotated[
        str | None, typer.Option(help="Folder of another target; its prompts come from elsewhere.")
    ] = None,
    draft: Annotated[str | None, typer.Option(help="Folder of the drafter, or one of the family's by name.")] = None,
    domain: Annotated[str | None, typer.Option(help="Held-out prompts of one domain; all of them unless told.")] = None,
    benchmark: Annotated[str | None, typer.Option(help=f"Prompts of {', '.join(BENCHMARKS)} instead.")] = None,
    prompts: Annotated[Path | None, typer.Option(help="Prompts of a JSON-lines file instead.")] = None,
    count: Annotated[int | None, typer.Option(help="How many prompts.")] = None,
    drafts: Annotated[list[int] | None, typer.Option(help="Drafts a round, K; may be repeated.")] = None,
    length: Annotated[list[int] | None, typer.Option(help="Tokens a draft, L; may be repeated.")] = None,
    temperature: Annotated[list[float] | None, typer.Option(help="Of both models; may be repeated.")] = None,
    tokens: Annotated[int | None, typer.Option(help="New tokens a prompt.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first prompt.")] = 0,
    device: Device = "cpu",
    quick: Quick = False,
    json: Json = None,
    picture: Picture = None,
) -> None:
    """Tokens a round of every verifier, by drafts, length and temperature."""
    check_destination("--json", json)
    check_destination("--picture", str(picture) if picture else None, (".png", ".svg"))
    if target is not None and benchmark is None and prompts is None:
        raise UsageError("a target of your own has no held-out text here: give --benchmark or --prompts")
    usual = verifiers.QUICK if quick else verifiers.FULL
    grid = verifiers.Grid(
        tuple(drafts or usual.drafts), tuple(length or usual.lengths), tuple(temperature or usual.temperatures),
        tokens or usual.tokens,
    )  # fmt: skip
    try:
        models = models_of(family, target, draft, device)
        chosen = _prompts(models, family, domain, benchmark, prompts, count or (8 if quick else 32))
        with _progress() as listen:
            rows = verifiers.study(models.target, models.drafter, chosen, grid, seed, listen)
    except (ValueError, FileNotFoundError) as error:
        refuse(error)
    report_console(json).print(verifiers.render(rows))
    if picture is not None:
        drafts_picture(rows, picture)
    given = {"target": target or family, "drafter": models.drafter.name, "prompts": len(chosen), "tokens": grid.tokens}
    _write(json, verifiers.SCHEMA, {**given, "rows": [row.json() for row in rows]})


@study.command("metasd")
def metasd(
    family: FamilyName = "full",
    temperature: Annotated[float, typer.Option(help="Of target and drafters.")] = 0.7,
    tokens: Annotated[int, typer.Option(help="New tokens a query.")] = 256,
    length: Annotated[int, typer.Option(help="Tokens a draft, L.")] = 5,
    count: Annotated[int | None, typer.Option(help="Queries a stream.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first query.")] = 0,
    device: Device = "cpu",
    quick: Quick = False,
    json: Json = None,
    picture: Picture = None,
) -> None:
    """Bandits over drafters against every single one: in a domain, mixed, and on perturbed prompts."""
    check_destination("--json", json)
    check_destination("--picture", str(picture) if picture else None, (".png", ".svg"))
    check_device(device)
    opened = open_family(family, device=device)
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
    report_console(json).print(bandits.render(rows, [*opened.domains, "general"]))
    if picture is not None:
        streams_picture(rows, picture)
    _write(json, bandits.SCHEMA, {"family": opened.card, "rows": [row.json() for row in rows]})


@study.command("lossless")
def lossless(
    family: FamilyName = "full",
    target: Annotated[str | None, typer.Option(help="Folder of another target.")] = None,
    draft: Annotated[str | None, typer.Option(help="Folder of the drafter, or one of the family's by name.")] = None,
    prompt: Annotated[str, typer.Option(help="Text that is continued.")] = "def read(self, size",
    verifier: Annotated[
        list[str] | None, typer.Option(help="A verifier, or VERIFIER+SELECTOR; may be repeated.")
    ] = None,
    drafts: Annotated[int, typer.Option(help="Drafts a round, K.")] = 4,
    length: Annotated[int, typer.Option(help="Tokens a draft, L.")] = 4,
    temperature: Annotated[float, typer.Option(help="Of both models.")] = 0.7,
    tokens: Annotated[int, typer.Option(help="Tokens of a text.")] = 5,
    draws: Annotated[int, typer.Option(help="Texts a verifier.")] = 16_384,
    seed: Annotated[int, typer.Option(help="Seed of the first text.")] = 0,
    device: Device = "cpu",
    json: Json = None,
) -> None:
    """Whether generation keeps the target's law: texts counted against their enumerated probabilities. Exit code 1 if not."""
    check_destination("--json", json)
    names = verifier or [*checked.ONE_DRAFT, *checked.SEVERAL]
    try:
        for name in names:
            verifier_of(name, 1 if name in checked.ONE_DRAFT else drafts)
        models = models_of(family, target, draft, device)
        given = Settings(tokens, drafts, length, Sampling(temperature))
        stage = checked.Stage.of(models.target, _model_of(models.drafter), models.encode(prompt), given)
        with _progress() as listen:
            rows = checked.study(stage, names, draws, seed, listen)
    except (ValueError, FileNotFoundError) as error:
        refuse(error)
    report_console(json).print(checked.render(stage, rows))
    models_given = {"target": target or family, "drafter": models.drafter.name, "prompt": prompt}
    _write(json, checked.SCHEMA, {**models_given, "rows": [row.json() for row in rows]})
    raise typer.Exit(EXIT[merged([row.verdict for row in rows])])


def _model_of(drafter: Drafter) -> LanguageModel:
    if not isinstance(drafter, ModelDrafter):
        raise UsageError(f"--draft must be a language model of its own, got {drafter.name}")
    return drafter.model


def _prompts(
    models: Models, family: str, domain: str | None, benchmark: str | None, path: Path | None, count: int
) -> list[list[int]]:
    if sum(given is not None for given in (domain, benchmark, path)) > 1:
        raise ValueError("prompts come from one place: give one of --domain, --benchmark, --prompts")
    if path is not None:
        return of_file(path, count, models.encode, 64)
    if benchmark is not None:
        return of_benchmark(benchmark, default_cache() / "downloads", count, models.encode, 64)
    opened = open_family(family)
    domains = [domain] if domain is not None else opened.domains
    return [prompt for name in domains for prompt in opened.prompts(name, max(1, count // len(domains)))]


@contextmanager
def _progress() -> Iterator[Any]:
    """A progress bar on stderr, one thread while it is shown."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with bars() as progress:
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
