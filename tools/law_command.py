"""``specproof law``: the exact law of a rule on an instance that is typed in or read from a file."""

import inspect
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, get_args

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from specproof.behaviour import STAGES, Behaviour, behaviour
from specproof.output import check_destination, report_console, write_data
from specproof.properties.cases import Case
from specproof.reference.exact import check_instance
from specproof.reference.selectors import selector_names
from specproof.reference.selectors.tables import TABLES
from specproof.reference.step import independent_drafts
from specproof.reference.verifiers import Rule, rule, rule_names
from specproof.subjects import UnknownSubject, parse_options
from specproof.usage import UsageError, refuse
from specproof.written import Written, instance, read_case, written, written_table

# An instance, as typed or in a file.
_ROWS = "'1/2 1/2' at every prefix; '1/2 1/2; 0: 1/3 2/3; 0,1: 1 0' with other rows after 0 and after 0,1."
TargetRows = Annotated[str | None, typer.Option("--target", help=f"The target's rows: {_ROWS}")]
DraftRows = Annotated[str | None, typer.Option("--draft", help="The draft's rows, written alike.")]
Drafts = Annotated[int | None, typer.Option("--drafts", help="Number of drafts, K. Default 1, or the case's.")]
Length = Annotated[int | None, typer.Option("--length", help="Tokens in a draft, L. Default 1, or the case's.")]
Tokens = Annotated[int | None, typer.Option("--tokens", help="How far the text goes. Default one block, L+1.")]
CaseFile = Annotated[
    str | None, typer.Option("--case", help="JSON file with instances, in place of --target and --draft.")
]
CaseName = Annotated[str | None, typer.Option("--name", help="Which instance of the file.")]
Json = Annotated[str | None, typer.Option("--json", help="Write everything as JSON here; - for stdout.")]


def law(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"A rule: {', '.join(rule_names())}.")],
    target: TargetRows = None,
    draft: DraftRows = None,
    drafts: Drafts = None,
    length: Length = None,
    tokens: Tokens = None,
    selector: Annotated[str | None, typer.Option(help=f"One of {', '.join(selector_names())}.")] = None,
    table: Annotated[str | None, typer.Option(help=f"Table of the race: {', '.join(TABLES)}.")] = None,
    cells: Annotated[int | None, typer.Option(help="Score cells of the race.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="key=value, handed to the rule.")] = None,
    case: CaseFile = None,
    case_name: CaseName = None,
    json: Json = None,
) -> None:
    """Print the exact law of a verification rule on one instance: text, accepted length, and what is possible."""
    check_destination("--json", json)
    options = chosen_options(option or [], {"selector": selector, "table": table, "cells": cells})
    given = named_rule(name, options)
    typed = read_instance(target, draft, case, case_name, drafts=drafts, length=length, tokens=tokens)
    found = run(given, options, typed)
    report_console(json).print(found.render())
    if json is not None:
        write_data(json, found.to_json())


def chosen_options(pairs: list[str], named: dict[str, Any]) -> dict[str, Any]:
    """All options of the rule. Decimals stay text, which the rule reads exactly. Raises ``UsageError``."""
    try:
        options = parse_options(pairs)
    except UnknownSubject as error:
        raise UsageError(str(error)) from error
    texts = dict(pair.split("=", 1) for pair in pairs)
    options = {key: texts[key] if isinstance(value, float) else value for key, value in options.items()}
    for key, value in named.items():
        if value is not None and key in options:
            refuse(f"option {key!r} is given twice: --{key} {value} and --option {key}={texts[key]}")
        if value is not None:
            options[key] = value
    return options


def named_rule(name: str, options: dict[str, Any]) -> Rule:
    """Return the rule. Raises ``UsageError`` for an unknown name or option, or a value of the wrong kind."""
    try:
        given = rule(name, **options)
    except ValueError as error:
        raise UsageError(str(error)) from error
    for parameter in parameters(given.verify):
        if parameter.name in options:
            check_value(parameter, options[parameter.name])
    return given


def parameters(function: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    """The options of a rule, its selector's included."""
    if isinstance(function, partial):
        for part in (function.func, *function.args):
            yield from parameters(part)
        return
    yield from (p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY)


def check_value(parameter: inspect.Parameter, value: Any) -> None:
    """Raise ``UsageError`` when an option has a value that its rule cannot take."""
    kind, name = parameter.annotation, parameter.name
    if kind is bool and not isinstance(value, bool):
        refuse(f"option {name} takes true or false, got {value!r}")
    if kind is int and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        refuse(f"option {name} takes a whole number from 1 up, got {value!r}")
    if Fraction in get_args(kind) and not (value is None and type(None) in get_args(kind)):
        try:
            number = None if isinstance(value, bool) else Fraction(value)
        except (TypeError, ValueError, ZeroDivisionError):
            number = None
        if number is None or number < 0:
            refuse(f"option {name} takes a fraction such as 1/3 or a decimal such as 0.25, not below 0; got {value!r}")


def read_instance(
    target: str | None, draft: str | None, file: str | None, name: str | None, *,
    drafts: int | None, length: int | None, tokens: int | None,
) -> Case:  # fmt: skip
    """Return the instance that was typed or named. Raises ``UsageError``."""
    if file is None:
        if name is not None:
            refuse("--name chooses an instance of a file; give the file with --case")
        if target is None or draft is None:
            refuse("give --target and --draft, or --case FILE --name NAME")
        models = written("target", target), written("draft", draft)
        sizes = (1 if drafts is None else drafts), (1 if length is None else length)
        return instance("typed", *models, drafts=sizes[0], length=sizes[1], tokens=tokens)
    if target is not None or draft is not None:
        refuse("--case gives the rows of both models; leave out --target and --draft")
    found = read_case(file, name)
    return instance(
        found["name"], _of(found, "target"), _of(found, "draft"), tokens=tokens,
        drafts=found["drafts"] if drafts is None else drafts, length=found["length"] if length is None else length,
    )  # fmt: skip


def _of(found: dict[str, Any], model: str) -> Written:
    return written_table(model, found[model])


def run(given: Rule, options: dict[str, Any], case: Case) -> Behaviour:
    """Compute with progress on stderr. Raises ``UsageError`` when the rule refuses the instance or an option."""
    try:
        check_instance(given, case.target, case.draft, drafts=case.drafts, length=case.length)
    except ValueError as error:
        raise UsageError(str(error)) from error
    own_drafts = given.drafter is not independent_drafts
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(STAGES))

        def listen(stage: int, title: str) -> None:
            progress.update(task, completed=stage, description=title)

        try:
            return behaviour(given.name, options, case, own_drafts=own_drafts, listen=listen)
        except ValueError as error:
            if not options and not own_drafts:
                raise  # nothing that was typed is left to blame
            raise UsageError(f"{given.name}: {error}") from error
