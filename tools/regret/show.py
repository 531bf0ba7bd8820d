"""What runs lost, as a table and as JSON."""

import json
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specproof.reference.bandits.alone import alone
from specproof.reference.bandits.instance import Instance
from specproof.regret.simulate import QUANTILES, Runs, standard_error
from specproof.regret_tables import Result

SCHEMA, TABLES_SCHEMA = "specproof-regret/1", "specproof-regret-tables/1"
COLUMNS = (
    "policy", "reward", "lost", "5 %", "median", "95 %", "noiseless", "bound", "efficiency", "best arm", "switches", "stuck",
)  # fmt: skip
NOTE = (
    "lost: pseudo-regret in rounds of the best drafter (units of cost where rounds cost something), mean ± standard error; "
    "noiseless: the curve without noise; efficiency: rounds of the best drafter alone over rounds; "
    "stuck: runs that give it less than half of the last octave."
)


def render(found: Sequence[Runs]) -> RenderableType:
    """A line for every policy at the last checkpoint, and regret by checkpoint."""
    first = found[0]
    return Group(
        about(first.instance, first.checkpoints[-1], first.lost.shape[1]), Text(""), last(found), Text(""), growth(found),
        Text(NOTE, "dim"),
    )  # fmt: skip


def about(instance: Instance, tokens: int, runs: int) -> Text:
    """What was played on."""
    emitted = ", ".join(f"{float(each):.3f}" for each in instance.tokens_a_round())
    lines = [
        f"{instance.arms} drafters of length {_once(instance.drafters.lengths)}, tokens a round {emitted}",
        f"{runs} runs of {tokens:,} tokens; the best drafter alone needs {alone(instance.drafters, instance.best, tokens):,.1f} rounds",
    ]
    if instance.costs or instance.switch_cost:
        lines.append(f"cost of a round {_once(instance.round_costs)}, of a switch {instance.switch_cost:g}")
    lines += [f"from {start:,} tokens on the arms play drafters {order}" for start, order in instance.changes]
    return Text("\n".join(lines))


def _once(values: Sequence[object]) -> str:
    return str(values[0]) if len(set(values)) == 1 else ", ".join(map(str, values))


def last(found: Sequence[Runs]) -> Table:
    """Everything at the last checkpoint."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column in ("policy", "reward") else "right", overflow="fold")
    for runs in found:
        curve, limit, stuck = runs.curve(), runs.limit(), runs.stuck()
        table.add_row(
            runs.contender.name, runs.contender.told, f"{runs.mean[-1]:,.1f} ± {runs.error[-1]:.2g}",
            *(f"{value:,.1f}" for value in runs.quantiles()[:, -1]),
            f"{curve[-1]:,.1f}" if curve else "", f"{limit:,.0f}" if limit else "",
            f"{runs.efficiency().mean():.3f}", f"{runs.share[-1].mean():.3f}", f"{runs.switches[-1].mean():,.0f}",
            "" if stuck is None else f"{stuck:.1%}",
        )  # fmt: skip
    return table


def growth(found: Sequence[Runs]) -> Table:
    """Mean regret at every checkpoint."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("lost until", no_wrap=True)
    for tokens in found[0].checkpoints:
        table.add_column(f"{tokens:,}", justify="right", no_wrap=True)
    for runs in found:
        table.add_row(f"{runs.contender.name} {runs.contender.told}", *(f"{value:,.1f}" for value in runs.mean))
    return table


def to_json(found: Sequence[Runs], seed: int) -> str:
    """Every number."""
    instance = found[0].instance
    data = {
        "schema": SCHEMA,
        "seed": seed,
        "runs": found[0].lost.shape[1],
        "instance": {
            "drafters": repr(instance.drafters), "tokens_a_round": list(map(float, instance.tokens_a_round())),
            "costs": list(map(float, instance.round_costs)), "switch_cost": float(instance.switch_cost),
            "changes": instance.changes, "best": instance.best,
        },
        "checkpoints": found[0].checkpoints,
        "policies": [_record(runs) for runs in found],
    }  # fmt: skip
    return json.dumps(data, indent=1)


def _record(runs: Runs) -> dict[str, object]:
    quantiles = runs.quantiles()
    return {
        "policy": runs.contender.policy, "options": runs.contender.options, "reward": runs.contender.reward,
        "lost": runs.mean.tolist(), "standard_error": runs.error.tolist(),
        "quantiles": {str(share): quantiles[index].tolist() for index, share in enumerate(QUANTILES)},
        "noiseless": runs.curve(), "bound": runs.limit(),
        "rounds": runs.rounds.mean(1).tolist(),
        "efficiency": float(runs.efficiency().mean()),
        "efficiency_error": float(standard_error(runs.efficiency())),
        "best_arm_share": runs.share.mean(1).tolist(), "switches": runs.switches.mean(1).tolist(), "stuck": runs.stuck(),
    }  # fmt: skip


def tables_json(found: Sequence[Result], seed: int) -> str:
    """Every simulated number beside the published one."""
    data = [
        {
            "table": result.name, "title": result.title,
            "rows": {
                name: {
                    cell.column: {
                        "simulated": cell.value, "standard_error": cell.error, "published": cell.published,
                        "allowed": cell.allowed, "agrees": cell.agrees, "differs": cell.differs,
                    }
                    for cell in cells
                }
                for name, cells in result.rows.items()
            },
        }
        for result in found
    ]  # fmt: skip
    return json.dumps({"schema": TABLES_SCHEMA, "seed": seed, "tables": data}, indent=1)
