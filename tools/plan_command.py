"""``specproof plan``: how many draws a bias needs to be seen, by kind of evidence, or what so many draws can see."""

import json as json_module
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from specproof.output import check_destination, report_console, write_data
from specproof.properties.evidence import power as planning
from specproof.usage import refuse

CHI_SQUARE = "chi-square"  # reported and never deciding: its level is only asymptotic
PROBING = "hundreds of calls one by one, or thousands of rows in batches"


def plan(
    tv: Annotated[float | None, typer.Option("--tv", help="Total variation that must be seen.")] = None,
    draws: Annotated[int | None, typer.Option(help="Instead: draws, and what is seen with them.")] = None,
    cells: Annotated[int, typer.Option(help="Outcomes with a probability: V^(L+1) for the text of one block.")] = 64,
    alpha: Annotated[float, typer.Option(help="False-alarm rate of one check.")] = 1e-6,
    power: Annotated[float, typer.Option(help="Probability that a bias of that size is found.")] = planning.POWER,
    json: Annotated[str | None, typer.Option(help="Write the numbers as JSON here; - for stdout.")] = None,
) -> None:
    """Plan a certification: draws needed for a total variation (--tv), or the one found with so many draws (--draws)."""
    check_destination("--json", json)
    if (tv is None) == (draws is None):
        refuse("give either --tv, to know how many draws it needs, or --draws, to know what they find")
    try:
        found = needed(tv, cells, alpha, power) if tv is not None else detectable(draws or 0, cells, alpha, power)
    except ValueError as error:
        refuse(error)
    asked = f"total variation {tv:g}" if tv is not None else f"{draws:,} draws"
    title = f"{asked}; {cells} cells, alpha {alpha:g}, power {power:g}"
    report_console(json).print(Group(Text(title, style="bold"), _table(found)))
    if json is not None:
        given = {"total_variation": tv, "draws": draws, "cells": cells, "alpha": alpha, "power": power}
        data: dict[str, Any] = {"schema": "specproof-plan/1", **given, "evidence": found}
        write_data(json, json_module.dumps(data, indent=1))


def needed(tv: float, cells: int, alpha: float, power: float) -> list[dict[str, Any]]:
    """Draws of every kind of evidence. Raises ``ValueError`` as ``draws_needed`` does."""
    found = [
        {**asdict(requirement), "decides": True}
        for requirement in planning.draws_needed(tv, cells, alpha=alpha, power=power)
    ]
    chi_square = int(np.ceil(planning.noncentrality(cells, alpha, power) / (planning.DENSE * tv**2)))
    return [*found, {"kind": CHI_SQUARE, "draws": chi_square, "what": "reported only", "decides": False}]


def detectable(draws: int, cells: int, alpha: float, power: float) -> list[dict[str, Any]]:
    """The total variation that so many draws find. Raises ``ValueError`` for numbers that make no sense."""
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}")
    planning.draws_needed(0.5, cells, alpha=alpha, power=power)  # checks the other numbers
    even = np.full(cells, 1 / cells)
    seen = {
        "driven": np.log(1 / (1 - power)) / draws,
        "e-process": planning.detectable_total_variation(cells, draws, alpha, power),
        "McDiarmid": planning.mcdiarmid_total_variation(even, draws, alpha, power),
        "binomial": planning.binomial_total_variation(draws, alpha, power),
        "Kolmogorov-Smirnov": planning.kolmogorov_total_variation(draws, alpha, power),
        CHI_SQUARE: np.sqrt(planning.noncentrality(cells, alpha, power) / (planning.DENSE * draws)),
    }
    what: dict[str, str] = {requirement.kind: requirement.what for requirement in planning.draws_needed(0.5, cells)}
    return [
        {"kind": kind, "total_variation": min(float(tv), 1.0), "what": what.get(kind, "reported only"),
         "decides": kind != CHI_SQUARE}
        for kind, tv in seen.items()
    ]  # fmt: skip


def _table(found: list[dict[str, Any]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("evidence", "draws" if "draws" in found[0] else "finds", "what it sees"):
        table.add_column(title)
    for line in found:
        table.add_row(line["kind"], _number(line), line["what"])
    return table


def _number(line: dict[str, Any]) -> str:
    if "total_variation" in line:
        return f"TV {line['total_variation']:.2g}"
    if line["kind"] == "probed" and line["draws"] is not None:
        return PROBING
    return "out of reach" if line["draws"] is None else f"{line['draws']:,}"
