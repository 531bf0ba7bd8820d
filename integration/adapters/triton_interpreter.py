"""Triton's interpreter, for the process in which it is on (``TRITON_INTERPRET=1`` before Triton is imported)."""

from typing import Any

import triton.language as tl
from triton.runtime import interpreter


def quicken() -> None:
    """Have functions that kernels call patch the language once, not again for every call: a good part of the time."""
    interpreter._patch_lang(tl.zeros.fn)  # the language as Triton's own functions see it
    interpreter.InterpretedFunction.__call__ = _called


def _called(function: Any, *arguments: Any, **named: Any) -> Any:
    return function.rewrite()(*arguments, **named)


def log1p(x: Any) -> Any:
    """In place of the device's library, in a kernel: ``log(1 + x)`` to the rounding of singles (Kahan's formula)."""
    above = 1.0 + x
    return tl.where(above == 1.0, x, x * (tl.log(above) / (above - 1.0)))
