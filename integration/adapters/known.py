"""What every adapter does before and after it calls somebody's function: know its signature, lay out its answer."""

import inspect
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from specproof.integration.process import serve
from specproof.integration.process.channel import Limits
from specproof.integration.process.verifier import ProcessVerifier
from specproof.integration.shelf import Located
from specproof.integration.unavailable import Unavailable
from specproof.properties.verdict import Undecided

SERVE = Path(serve.__file__)
GUESTS = SERVE.parent.parent / "guests"


def known(owner: Any, name: str, takes: str, located: Located) -> Callable[..., Any]:
    """Return function ``name`` of a module or class whose arguments are those in ``takes``.

    More arguments are fine as long as they have defaults. Raises ``Unavailable`` for a function that is missing or asks
    for something else: a changed signature is reported, never guessed at.
    """
    here = f"{located.package.name} {located.version}: {getattr(owner, '__name__', type(owner).__name__)}.{name}"
    function = getattr(owner, name, None)
    if not callable(function):
        raise Unavailable(f"{here} does not exist")
    parameters = inspect.signature(function).parameters
    missing = [argument for argument in takes.split() if argument not in parameters]
    unknown = [
        argument for argument, parameter in parameters.items()
        if argument not in takes.split() and parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]  # fmt: skip
    if missing or unknown:
        problem = f"no arguments {missing}" if missing else f"unknown arguments {unknown}"
        raise Unavailable(f"{here} has {problem}; this adapter does not know it")
    return function  # type: ignore[no-any-return]


def guest(located: Located, where: str) -> ProcessVerifier:
    """Serve ``file.py:Class`` of the guests in the package's own environment. Raises ``Unavailable`` when it does not start."""
    return _served([str(located.python), str(SERVE), str(GUESTS / where)], {"OMP_NUM_THREADS": "1"}, located)


def interpreted(where: str, located: Located) -> ProcessVerifier:
    """Serve an object of this package where Triton's kernels are run by its interpreter, which is chosen at import."""
    return _served(
        [sys.executable, "-m", "specproof.integration.process.serve", where], {"TRITON_INTERPRET": "1"}, located
    )


def _served(command: list[str], environment: dict[str, str], located: Located) -> ProcessVerifier:
    try:
        return ProcessVerifier(command, Limits(seconds=300), environment)
    except Undecided as reason:
        raise Unavailable(f"{located.package.label} {located.version}: {reason}") from reason


def laid_out(tokens: Tensor, accepted: Tensor, final: Tensor) -> tuple[Tensor, Tensor]:
    """The drafts [B, L], how many of them were kept [B], and the token after those [B], as [B, L+1] and [B]."""
    accepted = accepted.long()
    whole = torch.cat([tokens, tokens[:, :1]], dim=-1)
    return whole.scatter(1, accepted[:, None], final.long()[:, None]), accepted


def counted(output: Tensor) -> tuple[Tensor, Tensor]:
    """Emitted tokens padded with -1, [B, L+1], as they are, and how many of them are drafts."""
    return output.long(), (output != -1).sum(-1) - 1


def drawn(rows: Tensor, generator: Any) -> Tensor:
    """One token from each row of probabilities [B, V]: the bonus token of engines that leave it to their caller."""
    return torch.multinomial(rows, 1, generator=generator)[:, 0]


def one_request_each(answers: Iterable[tuple[int, int]], tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Put together what single requests got: how many drafts were kept, and the token after them."""
    accepted, final = torch.tensor(list(answers)).unbind(-1)
    return laid_out(tokens, accepted, final)
