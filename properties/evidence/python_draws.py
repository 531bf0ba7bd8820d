"""The draws of Python's ``random`` by the script: what all of its methods are made of is answered, on every ``Random``.

``choices``, ``randrange``, ``shuffle`` and so on are Python code over ``random``, ``getrandbits`` and ``_randbelow``.
``SystemRandom`` and other classes with draws of their own are left alone: their runs do not repeat.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from specproof.properties.evidence.script import WIDE_LATTICE, Script

_asking: list[Script] = []
_seeded: WeakSet[random.Random] = WeakSet()  # within the run; they answer for themselves

Answer = Callable[..., Any]


def _uniform(script: Script) -> float:
    return float(script.uniforms((), WIDE_LATTICE))


def _bits(script: Script, k: int) -> int:
    return int(script.integers((), 0, 1 << k)) if k > 0 else 0


def _below(script: Script, n: int) -> int:
    return int(script.integers((), 0, n))


def _exponential(script: Script, lambd: float = 1.0) -> float:
    return float(script.exponentials(())) / lambd


def _normal(script: Script, mu: float = 0.0, sigma: float = 1.0) -> float:
    return mu + sigma * float(script.normals(()))


_ANSWERS: dict[str, Answer] = {
    "random": _uniform,
    "getrandbits": _bits,
    "_randbelow": _below,
    "expovariate": _exponential,
    "gauss": _normal,
    "normalvariate": _normal,
}
_RESEEDING = ("seed", "setstate")


def _method(name: str, answer: Answer) -> Answer:
    real = getattr(random.Random, name)

    def method(self: random.Random, *args: Any, **kwargs: Any) -> Any:
        if self in _seeded or type(self).random is not _PATCHES["random"]:
            return real(self, *args, **kwargs)
        _asking[-1].drawn[f"random.{name.removeprefix('_')}"] = None
        return answer(_asking[-1], *args, **kwargs)

    return method


def _reseeding(name: str) -> Answer:
    real = getattr(random.Random, name)

    def method(self: random.Random, *args: Any, **kwargs: Any) -> Any:
        if any(value is not None for value in (*args, *kwargs.values())):
            _seeded.add(self)
        return real(self, *args, **kwargs)

    return method


_PATCHES: dict[str, Answer] = {
    **{name: _method(name, answer) for name, answer in _ANSWERS.items()},
    **{name: _reseeding(name) for name in _RESEEDING},
}
# Captured by the module when it was imported, past the class.
_CAPTURED = {name: getattr(random, name) for name in _PATCHES if hasattr(random, name)}
_STAND_INS = {name: _PATCHES[name].__get__(random._inst) for name in _CAPTURED}


def stand_in(value: Any) -> Any:
    """What stands in for a function of ``random`` that somebody has imported by name; None for anything else."""
    return next((_STAND_INS[name] for name, real in _CAPTURED.items() if value is real), None)


@contextmanager
def python_answers(script: Script) -> Iterator[None]:
    """Have every ``random.Random`` answered by a script."""
    own = {name: vars(random.Random).get(name) for name in _PATCHES}
    _asking.append(script)
    _seeded.clear()
    for name, patch in _PATCHES.items():
        setattr(random.Random, name, patch)
    for name, bound in _STAND_INS.items():
        setattr(random, name, bound)
    try:
        yield
    finally:
        for name, value in own.items():
            if value is None:
                delattr(random.Random, name)
            else:
                setattr(random.Random, name, value)
        for name, value in _CAPTURED.items():
            setattr(random, name, value)
        _asking.pop()
