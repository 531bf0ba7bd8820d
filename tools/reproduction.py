"""An instance as a command that runs it again: ``specproof replay SUBJECT --target ... --draft ...``."""

import shlex
from collections import Counter

from specproof.fast.sampling import Sampling
from specproof.properties.cases import Case
from specproof.properties.decoder_cases import DecoderCase
from specproof.properties.simplify import Instance, Rows
from specproof.properties.subject import Subject
from specproof.reference.model import Row


def line(subject: Subject, case: Case | DecoderCase) -> str | None:
    """The command that replays an instance, in one line; None for parameters of sampling that cannot be typed."""
    sampled: list[str] = []
    if isinstance(case, DecoderCase):
        if case.sampling.processors:
            return None
        sampled = [f"{key}={value}" for key, value in vars(case.sampling).items() if value != getattr(Sampling(), key)]
        case = case.case
    found = Instance.of(case)
    words = ["specproof", "replay", subject.name, "--target", written(found.target), "--draft", written(found.draft)]
    words += ["--length", str(case.length)]
    words += ["--drafts", str(case.drafts)] if case.drafts > 1 else []
    words += ["--tokens", str(case.tokens)] if case.iterated else []
    for given in sampled:
        words += ["--sampling", given]
    for key, value in subject.options.items():
        words += ["--option", f"{key}={value}"]
    return shlex.join(words)


def written(rows: Rows) -> str:
    """The rows as they are typed: the most frequent one for every prefix, and those that differ."""
    everywhere = Counter(rows.values()).most_common(1)[0][0]

    def row(entries: Row) -> str:
        return " ".join(map(str, entries))

    others = [f"{','.join(map(str, prefix))}: {row(rows[prefix])}" for prefix in rows if rows[prefix] != everywhere]
    return "; ".join([row(everywhere), *others])
