"""What a parameter of somebody's function is given, told from its name: ``candidate_logits`` are rows of the draft, and so on."""

import inspect
import re
from dataclasses import dataclass
from typing import Any

LOGITS = {"logits", "logit", "scores"}
ROWS = {"probs", "prob", "probabilities", "p", "q", "distribution", "distributions", "law", "laws", "rows"}
DRAFT = {"draft", "drafts", "drafter", "candidate", "candidates", "assistant", "proposal", "proposed", "small", "q"}
TARGET = {"target", "verifier", "main", "large", "base", "new", "teacher", "p"}
TOKENS = {"tokens", "token", "ids", "id", "input"}
COUNTS = {"cu", "num"}  # offsets and counts of ragged batches: how they are laid out, only their owner knows
MODELS = {"model", "models", "lm", "llm", "logits_fn", "forward"}
WORDS = {
    "parents": {"parents", "parent", "tree"},
    "uniforms": {"uniforms", "uniform", "u", "coins", "rand", "randoms"},
    "generator": {"generator", "gen", "rng"},
    "lengths": {"lengths", "length", "lens", "len"},
    "temperature": {"temperature", "temp"},
    "prefix": {"prefix", "prompt", "context"},
    "count": {"max", "steps", "n"},
}


@dataclass(frozen=True)
class Signature:
    """Parameters with their roles; ``unknown`` ones must be given and say nothing about what."""

    roles: dict[str, str]
    unknown: list[str]

    @property
    def decodes(self) -> bool:
        """Whether it is handed models and a prefix, and so runs the whole loop."""
        found = set(self.roles.values())
        return "prefix" in found and {"target model", "draft model"} <= found

    @property
    def tree(self) -> bool:
        """Whether its drafts are a tree."""
        return "parents" in self.roles.values()


def read_signature(function: Any) -> Signature:
    """Read a function's parameters. Raises ``ValueError`` for one that has no signature."""
    parameters = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    models = any(words(parameter.name) & (MODELS | WORDS["prefix"]) for parameter in parameters)
    given = {parameter.name: role(parameter.name, models=models) for parameter in parameters}
    needed = {parameter.name for parameter in parameters if parameter.default is parameter.empty}
    # A default stays, except for a source of randomness: what is given can be accounted for.
    needed |= {name for name, found in given.items() if found == "generator"}
    if "generator" not in given.values():
        needed |= {name for name, found in given.items() if found == "uniforms"}
    roles = {name: found for name, found in given.items() if found is not None and name in needed}
    return Signature(roles, [name for name, found in given.items() if found is None and name in needed])


def words(name: str) -> set[str]:
    """The words of a name: ``draftTokenIds`` and ``draft_token_ids`` alike."""
    return set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_"))


def role(name: str, *, models: bool) -> str | None:
    """What a parameter of this name is given; None where the name does not tell."""
    said = words(name)
    for found in ("parents", "uniforms", "generator", "lengths", "temperature"):
        if said & WORDS[found] and not (found == "parents" and said & TOKENS):
            return found
    whose = "draft" if said & DRAFT else "target"
    return _of_models(said, whose) if models else _of_rows(said, whose)


def _of_models(said: set[str], whose: str) -> str | None:
    """In a function that is handed models."""
    if said & WORDS["prefix"]:
        return "prefix"
    if said & WORDS["count"] or said >= {"num", "tokens"}:
        return "count"
    return f"{whose} model" if said & (MODELS | DRAFT | TARGET) and not said & TOKENS else None


def _of_rows(said: set[str], whose: str) -> str | None:
    """In a function that is handed tensors."""
    if said & COUNTS:
        return None
    if said & LOGITS:
        return f"{whose} logits"
    if said & TOKENS:
        return "tokens"
    if said & ROWS or (said & TARGET and not said & DRAFT):
        return f"{whose} rows"
    return "tokens" if said & DRAFT else None
