"""The generators that a subject keeps: found where it keeps them, and answered by the script while it is probed.

A verifier's own generator lives in an attribute, a closure, a default argument or a module's globals. Each of numpy's and
Python's is replaced there by a stand-in, and torch's is marked as handed over; all are put back afterwards.

LIMITS. Generators inside C objects, or kept in tuples and sets, are not found: they draw as always, and runs that do not
repeat are UNDECIDED.
"""

import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from specproof.properties.evidence import numpy_draws, python_draws
from specproof.properties.evidence.intercept import mark

Put = Callable[[Any], None]
Place = tuple[Any, Put]  # what is kept, and how to keep something else there

DEEPEST = 6
LIBRARIES = ("torch", "numpy", "random", "scipy", "builtins", "transformers", "specproof.properties.evidence")


@contextmanager
def answered(subject: Any) -> Iterator[list[torch.Generator]]:
    """Have the generators that an object keeps answered by the script of each run; yields those of torch, to be marked."""
    replaced: list[Place] = []
    kept: dict[int, torch.Generator] = {}
    for value, put in list(_places(subject, DEEPEST, {})):
        if isinstance(value, torch.Generator):
            kept[id(value)] = value
            continue
        stand_in = numpy_draws.twin(value)
        if stand_in is None:
            stand_in = python_draws.stand_in(value)
        if stand_in is not None:
            put(stand_in)
            replaced.append((value, put))
    states = [(generator, generator.get_state()) for generator in kept.values()]
    try:
        yield list(kept.values())
    finally:
        for value, put in replaced:
            put(value)
        for generator, state in states:
            generator.set_state(state)


def mark_all(generators: list[torch.Generator]) -> None:
    """Before a run: what the subject keeps is scripted until somebody seeds it."""
    for generator in generators:
        mark(generator)


def _places(value: Any, depth: int, seen: dict[int, Any]) -> Iterator[Place]:
    """Everything that an object keeps, to some depth, each with how to replace it."""
    if id(value) in seen or depth == 0:
        return
    seen[id(value)] = value  # kept alive: the id of something freed would be given again
    for kept, put in _kept(value):
        yield kept, put
        yield from _places(kept, depth - 1, seen)


def _kept(value: Any) -> Iterator[Place]:
    """What an object keeps directly. Libraries keep nothing of the subject's."""
    if isinstance(value, types.MethodType | types.FunctionType | partial):
        yield from _of_callable(value)
    elif isinstance(value, dict):
        yield from _of_mapping(value)
    elif isinstance(value, list):
        yield from ((kept, partial(value.__setitem__, i)) for i, kept in enumerate(value))
    elif isinstance(value, tuple | set | frozenset):
        yield from ((kept, _nowhere) for kept in value)
    elif isinstance(value, type | types.ModuleType):
        if not _of_library(value.__name__ if isinstance(value, types.ModuleType) else value.__module__):
            yield from ((kept, partial(setattr, value, name)) for name, kept in list(vars(value).items()))
    elif not _of_library(type(value).__module__):
        yield from ((kept, _attribute(value, name)) for name, kept in list(getattr(value, "__dict__", {}).items()))
        slots = [
            name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ()) if hasattr(value, name)
        ]
        yield from ((getattr(value, name), _attribute(value, name)) for name in slots)
        yield type(value), _nowhere


def _of_callable(value: Any) -> Iterator[Place]:
    if isinstance(value, types.MethodType):
        yield value.__self__, _nowhere
        yield value.__func__, _nowhere
    elif isinstance(value, partial):
        yield value.func, _nowhere
        yield from ((kept, _nowhere) for kept in value.args)
        yield from _of_mapping(value.keywords)
    elif not _of_library(value.__module__):
        yield from _of_function(value)


def _of_function(function: types.FunctionType) -> Iterator[Place]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents, partial(setattr, cell, "cell_contents")
        except ValueError:  # not filled yet
            continue
    for i, kept in enumerate(function.__defaults__ or ()):
        yield kept, partial(_default, function, i)
    yield from _of_mapping(function.__kwdefaults__ or {})
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield function.__globals__[name], partial(function.__globals__.__setitem__, name)
    if hasattr(function, "__wrapped__"):
        yield function.__wrapped__, _nowhere


def _names(code: types.CodeType) -> set[str]:
    """Names that a function and those inside it look up."""
    return set(code.co_names).union(*(_names(inner) for inner in code.co_consts if isinstance(inner, types.CodeType)))


def _of_mapping(mapping: dict[Any, Any]) -> Iterator[Place]:
    yield from ((kept, partial(mapping.__setitem__, key)) for key, kept in list(mapping.items()))


def _attribute(owner: Any, name: str) -> Put:
    """Past frozen dataclasses."""
    return lambda value: object.__setattr__(owner, name, value)


def _default(function: types.FunctionType, index: int, value: Any) -> None:
    defaults = list(function.__defaults__ or ())
    defaults[index] = value
    function.__defaults__ = tuple(defaults)


def _nowhere(value: Any) -> None:
    """A place that cannot be written to."""


def _of_library(name: str) -> bool:
    return any(name == library or name.startswith(f"{library}.") for library in LIBRARIES)
