"""Instances as a person writes them: rows on the command line, or a case of a JSON file; checked before anything runs.

``"1/2 1/2"`` is the row at every prefix, ``"1/2 1/2; 0: 1/3 2/3; 0,1: 1 0"`` gives some prefixes rows of their own. A row
written ``": 1/2 1/2"`` belongs to the empty prefix only. Fractions and decimals are read exactly, as they are written.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specproof.properties.cases import Case
from specproof.reference.model import Prefix, TableModel
from specproof.reference.names import nearest
from specproof.usage import UsageError, refuse

ENTRY = re.compile(r"[+-]?(\d+(/\d+)?|\d+\.\d*|\.\d+)")
PREFIX = re.compile(r"(\d+(\s*,\s*\d+)*)?")
SETS, PREFIXES = 10**6, 10**6  # the exact engine enumerates every set of drafts and every text
CASE_FIELDS = ("name", "length", "drafts", "target", "draft")


@dataclass(frozen=True)
class Written:
    """The rows of one model. ``everywhere`` is the row of every prefix that has none of its own."""

    what: str
    rows: Mapping[Prefix, tuple[str, ...]]
    everywhere: tuple[str, ...] | None = None

    def table(self, rows: Mapping[Prefix, Iterable[str]] | None = None) -> TableModel:
        """The rows as a model. Raises ``UsageError`` naming the model and the first bad row."""
        given = dict(self.rows if rows is None else rows)
        if self.everywhere is not None:
            given.setdefault((), self.everywhere)
        try:
            return TableModel(given)
        except (TypeError, ValueError) as error:
            refuse(f"{self.what}: {error}")

    def row(self, prefix: Prefix) -> tuple[str, ...] | None:
        """The row of a prefix, if it has one."""
        return self.rows.get(prefix, self.everywhere)


def written(what: str, text: str) -> Written:
    """Read rows from the command line. Raises ``UsageError`` for what is neither a row nor ``prefix: row``."""
    rows: dict[Prefix, tuple[str, ...]] = {}
    everywhere = None
    for part in text.split(";"):
        if not part.strip():
            refuse(f"{what}: there is no row in {part!r}; write numbers such as '1/2 1/2', rows apart by ';'")
        prefix, separator, numbers = part.rpartition(":")
        row = tuple(checked(what, entry) for entry in numbers.split())
        if separator:
            put(what, rows, prefix, row)
        elif everywhere is None:
            everywhere = row
        else:
            refuse(f"{what}: two rows without a prefix; write 'row; 0: row; 0,1: row' for more than one")
    return Written(what, rows, everywhere)


def put(what: str, rows: dict[Prefix, tuple[str, ...]], prefix: str, row: tuple[str, ...]) -> None:
    """Add the row of a prefix. Raises ``UsageError`` for something else than token numbers, or a second row."""
    if not PREFIX.fullmatch(prefix.strip()):
        refuse(f"{what}: {prefix.strip()!r} is no prefix; write token numbers such as '0,1'")
    tokens = tuple(int(token) for token in prefix.split(",") if token.strip())
    if tokens in rows:
        refuse(f"{what}: two rows for prefix {prefix.strip() or '(empty)'}")
    rows[tokens] = row


def checked(what: str, entry: Any) -> str:
    """Return a number as it is written. Raises ``UsageError`` for NaN, exponents and everything that is no number."""
    text = str(entry) if isinstance(entry, int) and not isinstance(entry, bool) else entry
    if not isinstance(text, str) or not ENTRY.fullmatch(text.strip()):
        refuse(f"{what}: {entry!r} is neither a fraction such as 1/3 nor a decimal such as 0.25")
    return text.strip()


def read_case(file: str, name: str | None) -> dict[str, Any]:
    """Return an instance of a JSON file shaped like ``oracles/step.json``. Raises ``UsageError``."""
    cases = read_cases(file)
    if name is None and len(cases) != 1:
        refuse(f"--case {file} holds {len(cases)} cases; say which with --name, one of: {'; '.join(sorted(cases))}")
    chosen = next(iter(cases)) if name is None else name
    if chosen not in cases:
        refuse(nearest(f"case of {file}", chosen, cases))
    missing = [field for field in CASE_FIELDS if field not in cases[chosen]]
    if missing:
        refuse(f"--case {file}: case {chosen!r} lacks {', '.join(missing)}; it needs {', '.join(CASE_FIELDS)}")
    return cases[chosen]


def read_cases(file: str) -> dict[str, dict[str, Any]]:
    """Return the instances of a JSON file by name."""
    try:
        # Decimals stay text, to be read exactly; a key that is given twice is a mistake, not an override.
        data = json.loads(
            Path(file).read_text(), parse_float=str, parse_constant=str, object_pairs_hook=_without_doubles
        )
    except OSError as error:
        raise UsageError(f"--case {file}: {error.strerror or error}") from error
    except UsageError as error:
        raise UsageError(f"--case {file}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--case {file} is not JSON: {error}") from error
    instances = data.get("instances") if isinstance(data, dict) else None
    if not isinstance(instances, list) or not instances:
        refuse(f"--case {file}: expected an object with a list 'instances', as in reference/oracles/step.json")
    if not all(isinstance(instance, dict) and isinstance(instance.get("name"), str) for instance in instances):
        refuse(f"--case {file}: every instance must be an object with a text 'name'")
    names = [instance["name"] for instance in instances]
    if len(set(names)) < len(names):
        refuse(f"--case {file}: two instances are named {next(name for name in names if names.count(name) > 1)!r}")
    return dict(zip(names, instances, strict=True))


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [key for key, _ in pairs]
        refuse(f"key {next(key for key in names if names.count(key) > 1)!r} is given twice")
    return result


def written_table(what: str, table: Any) -> Written:
    """Read rows keyed by comma-separated prefixes, as in a JSON file. Raises ``UsageError``."""
    if not isinstance(table, dict) or not all(isinstance(row, list) for row in table.values()):
        refuse(f"{what}: expected rows by prefix, such as {{'': ['1/2', '1/2'], '0': ['1/3', '2/3']}}")
    rows: dict[Prefix, tuple[str, ...]] = {}
    for prefix, row in table.items():
        put(what, rows, prefix, tuple(checked(what, entry) for entry in row))
    return Written(what, rows)


def instance(name: str, target: Written, draft: Written, *, drafts: int, length: int, tokens: int | None) -> Case:
    """Return the instance, with every row that its law can need. Raises ``UsageError`` when one is wrong or missing."""
    for what, value in (("drafts", drafts), ("length", length), ("tokens", 1 if tokens is None else tokens)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            refuse(f"{what} must be a whole number from 1 up, got {value!r}")
    sizes = [model.table().vocabulary for model in (target, draft)]
    if sizes[0] != sizes[1]:
        refuse(f"target has {sizes[0]} tokens, draft has {sizes[1]}; they must be equal")
    reach = length if tokens is None or tokens <= length + 1 else tokens - 1 + length
    check_size(sizes[0], drafts=drafts, length=length, reach=reach)
    models = (
        target.table(reached_rows(target, target, draft, reach)),
        draft.table(reached_rows(draft, target, draft, reach - 1)),
    )
    return Case(name, *models, length, "given by hand", drafts, tokens)


def check_size(vocabulary: int, *, drafts: int, length: int, reach: int) -> None:
    """Raise ``UsageError`` for an instance that would take the exact engine forever."""
    for what, count, most in (
        ("sets of drafts", vocabulary ** (length * drafts), SETS),
        ("prefixes", vocabulary**reach, PREFIXES),
    ):
        if count > most:
            refuse(
                f"{vocabulary} tokens, length {length} and {drafts} drafts make {count:,} {what}; "
                f"the exact engine goes through all of them and takes at most {most:,}. Give a smaller instance."
            )


def reached_rows(model: Written, target: Written, draft: Written, deepest: int) -> dict[Prefix, tuple[str, ...]]:
    """The rows of a model after every text of at most ``deepest`` tokens that either model can emit."""
    rows = dict(model.rows)
    reached: list[Prefix] = [()]
    for depth in range(deepest + 1):
        extended = []
        for prefix in reached:
            own = model.row(prefix)
            if own is None:
                refuse(
                    f"{model.what}: no row after prefix {','.join(map(str, prefix)) or '(empty)'}; "
                    f"this law needs its rows down to prefixes of length {deepest}"
                )
            rows[prefix] = own
            both = [row for row in (target.row(prefix), draft.row(prefix)) if row is not None]
            extended += [(*prefix, token) for token in range(len(own)) if any(possible(row[token]) for row in both)]
        reached = extended if depth < deepest else []
    return rows


def possible(entry: str) -> bool:
    """Whether a number as it is written is not zero."""
    return any(digit in "123456789" for digit in entry.partition("/")[0])
