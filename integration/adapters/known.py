"""What every adapter does before and after it calls somebody's function: know its signature, lay out its answer."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from specproof.integration.shelf import Located
from specproof.integration.unavailable import Unavailable


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
