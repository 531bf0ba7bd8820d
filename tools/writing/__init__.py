"""Write a test file, and an adapter where one is needed, for somebody's object: source that the user then owns.

What a function is given is told from its parameters' names. How it lays drafts out and what its answer means is found by
trying: adapters are written for every convention, run on random requests, and the first whose every answer keeps the
contract is printed. So what is printed has run.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from specproof.fast.batch import Drafts
from specproof.properties.evidence.calls import MalformedOutcome, check_shape, violations
from specproof.writing.roles import Signature, read_signature

TRIED, VOCABULARY, LENGTH, SEVERAL = 64, 4, 2, 2
DIRECT = ("tokens", "draft rows", "target rows", "generator")  # what ``from_function`` hands over, in this order
ANSWERS = ("tokens, accepted", "accepted, tokens", "tokens, emitted", "tokens")
UNIFORMS = ("drafts.length + 1", "drafts.length", "2 * drafts.length + 2")


@dataclass(frozen=True)
class Convention:
    """How a function takes its drafts and answers. ``layout``: chain, bare (one request, no batch axis), drafts or tree."""

    layout: str
    batch: bool
    paths: int
    answer: str
    uniforms: str


@dataclass(frozen=True)
class Written:
    """The text of a test file, and what was found out: a sentence for the person who reads it."""

    text: str
    found: str


def write_test_file(module: str, path: str, found: Any) -> Written:
    """Write the test file of ``module:path``. Raises ``TypeError`` for an object that nothing can be written for."""
    if callable(getattr(found, "verify", None)) or callable(getattr(found, "decode", None)):
        subject = f"{module}.{path}()" if inspect.isclass(found) else f"{module}.{path}"
        return Written(
            _file(module, path, subject), f"{path} has the method that specproof calls: no adapter is needed"
        )
    if not callable(found):
        raise TypeError(
            f"{module}:{path} is neither a function nor an object with verify or decode: {type(found).__name__}"
        )
    signature = read_signature(found)
    if signature.decodes:
        adapter = _render(
            "decoder.py.jinja", module=module, path=path, signature=signature, arguments=_handed_over(signature)
        )
        return Written(_file(module, path, "Adapter()", adapter), f"{path} is handed models: written as a decoder")
    if tuple(signature.roles.values()) == DIRECT and not signature.unknown:
        for text, several in (
            (f"specproof.from_function({module}.{path})", 1),
            (f"specproof.from_function({module}.{path}, drafts=2)", 2),
        ):
            if _keeps_contract(f"import specproof\nimport {module}\nsubject = {text}", several):
                return Written(
                    _file(module, path, text),
                    f"{path} is what from_function takes; tried on {TRIED} requests",
                )
    for convention in _conventions(signature):
        adapter = _render(
            "adapter.py.jinja", module=module, path=path, signature=signature, convention=convention,
            arguments=_arguments(signature, convention),
        )  # fmt: skip
        source = f"import specproof\nimport torch\nimport {module}\n{adapter}\nsubject = Adapter()"
        if signature.unknown or _keeps_contract(source, convention.paths):
            return Written(_file(module, path, "Adapter()", adapter), _said(path, signature, convention))
    raise TypeError(
        f"{module}:{path}: no convention was found in which its answers keep the contract; its parameters were read as "
        f"{', '.join(f'{name} = {role}' for name, role in signature.roles.items())}"
    )


def _said(path: str, signature: Signature, convention: Convention) -> str:
    if signature.unknown:
        return f"{path}: say in the adapter what is given to {', '.join(signature.unknown)}; nothing was tried"
    form = {
        "chain": "one draft",
        "bare": "one request without batch axis",
        "drafts": "several drafts",
        "tree": "a tree",
    }
    return f"{path} takes {form[convention.layout]} and returns {convention.answer}; tried on {TRIED} requests"


def _file(module: str, path: str, subject: str, adapter: str | None = None) -> str:
    name = path.replace(".", "_").lower()
    return _render(
        "test_file.py.jinja", module=module, path=path, subject=subject, adapter=adapter,
        name=name, file=f"test_{name}_specproof.py",
    )  # fmt: skip


def _render(template: str, **given: Any) -> str:
    environment = Environment(  # source code, not a page: nothing is escaped
        loader=FileSystemLoader(Path(__file__).parent), autoescape=False, undefined=StrictUndefined, trim_blocks=True,  # noqa: S701
        lstrip_blocks=True, keep_trailing_newline=template.startswith("test_file"),
    )  # fmt: skip
    return environment.get_template(template).render(**given)


def _conventions(signature: Signature) -> Iterator[Convention]:
    """Every convention, the most usual first."""
    layouts = [
        ("chain", True, 1),
        ("drafts", True, SEVERAL),
        ("chain", False, 1),
        ("drafts", False, SEVERAL),
        ("bare", False, 1),
    ]
    if signature.tree:
        layouts = [("tree", True, SEVERAL), ("tree", False, SEVERAL)]
    sizes = UNIFORMS if "uniforms" in signature.roles.values() else UNIFORMS[:1]
    for (layout, batch, paths), answer, uniforms in product(layouts, ANSWERS, sizes):
        yield Convention(layout, batch, paths, answer, uniforms)


def _arguments(signature: Signature, convention: Convention) -> list[tuple[str, str]]:
    """What each parameter is given, as source."""
    if convention.layout == "tree":
        tokens, draft, target = "drafts.tokens.flatten(1, 2)", "drafts.draft_rows().flatten(1, 2)", "rows"
    else:
        axis = {"chain": "[:, 0]", "bare": "[0, 0]", "drafts": ""}[convention.layout]
        tokens, draft, target = f"drafts.tokens{axis}", f"drafts.draft_rows(){axis}", f"drafts.target_probs{axis}"
    uniforms = f"torch.rand(drafts.batch, {convention.uniforms}, generator=generator)"
    texts = {
        "tokens": tokens, "draft rows": draft, "target rows": target, "draft logits": f"{draft}.log()",
        "target logits": f"{target}.log()", "generator": "generator", "parents": "parents", "temperature": "1.0",
        "lengths": "drafts.each_length()" if convention.batch else "drafts.length",
        "uniforms": f"{uniforms}[0]" if convention.layout == "bare" else uniforms,
    }  # fmt: skip
    return [(name, texts[role]) for name, role in signature.roles.items()]


def _handed_over(signature: Signature) -> list[tuple[str, str]]:
    texts = {
        "target model": "target", "draft model": "draft", "prefix": "prefix", "count": "tokens", "generator": "generator",
        "temperature": "sampling.temperature", "lengths": "self.length",
    }  # fmt: skip
    return [(name, texts[role]) for name, role in signature.roles.items()]


def _keeps_contract(source: str, paths: int) -> bool:
    """Whether an adapter's every answer to random requests keeps the contract, for more than one number of accepted tokens."""
    namespace: dict[str, Any] = {}
    try:
        exec(source, namespace)  # noqa: S102 - the source was written above
        subject = namespace["subject"]
        generator = torch.Generator().manual_seed(0)
        accepted: set[int] = set()
        batches = 1 if "batch" in subject.capabilities else TRIED
        for _ in range(batches):
            drafts = _requests(TRIED // batches, paths, generator)
            outcome = subject.verify(drafts, generator)
            check_shape(drafts, outcome)
            if any(bool(mask.any()) for mask, _ in violations(drafts, outcome)):
                return False
            accepted |= set(outcome.accepted.tolist())
    except MalformedOutcome:
        return False
    except Exception:  # noqa: BLE001 - somebody's function on a convention that is not its own can raise anything
        return False
    return len(accepted) > 1


def _requests(batch: int, paths: int, generator: torch.Generator) -> Drafts:
    """Requests whose drafts are drawn from random rows, the first row the same for every draft of a request."""

    def rows(length: int) -> torch.Tensor:
        made = torch.rand(batch, paths, length, VOCABULARY, generator=generator) + 0.05
        made[:, :, 0] = made[:, :1, 0]
        return made / made.sum(-1, keepdim=True)

    draft = rows(LENGTH)
    tokens = torch.multinomial(draft.flatten(0, 2), 1, generator=generator).reshape(batch, paths, LENGTH)
    return Drafts(tokens, draft, rows(LENGTH + 1))
