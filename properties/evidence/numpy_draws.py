"""numpy's draws by the script: ``Generator`` and ``RandomState`` whose methods are answered, and ``numpy.random`` itself.

The real method runs first, on a generator that nobody sees: it checks the arguments and says what shape and dtype the
answer has; only the values are then replaced.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from specproof.properties.evidence.script import WIDE_LATTICE, Script
from specproof.properties.verdict import Undecided

MOST_TRIALS = 64
_BITS = {"float32": 24, "float64": WIDE_LATTICE}

Given = dict[str, Any]
Answer = Callable[[Script, np.ndarray, Given], Any]


def _uniform(script: Script, like: np.ndarray, given: Given) -> Any:
    low, high = given.get("low", 0.0), given.get("high", 1.0)
    values = script.uniforms(like.shape, _BITS[str(like.dtype)])
    return values if (np.ndim(low), np.ndim(high), low, high) == (0, 0, 0.0, 1.0) else low + (high - low) * values


def _integers(script: Script, like: np.ndarray, given: Given) -> Any:
    low, high = given["low"], given.get("high")
    low, high = (0, low) if high is None else (low, high)
    if np.ndim(low) or np.ndim(high):
        raise Undecided("the subject draws numpy integers between bounds of their own")
    return script.integers(like.shape, int(low), int(high) + bool(given.get("endpoint", False)))


def _choice(script: Script, _like: np.ndarray, given: Given) -> Any:
    things = np.arange(given["a"]) if np.ndim(given["a"]) == 0 else np.asarray(given["a"])
    axis = given.get("axis", 0)
    weights = given.get("p")
    weights = np.ones(things.shape[axis]) if weights is None else np.asarray(weights, dtype=float)
    size = given.get("size")
    shape = () if size is None else (size,) if isinstance(size, int | np.integer) else tuple(size)
    if given.get("replace", True):
        index = script.several(np.broadcast_to(weights, (*shape, 1, len(weights)))[..., 0, :], 1, replacement=True)[
            ..., 0
        ]
    elif script.rows > 1:
        index = script.several(
            np.broadcast_to(weights, (shape[0], len(weights))), int(np.prod(shape[1:])), replacement=False
        ).reshape(shape)
    else:
        index = script.several(weights[None], int(np.prod(shape)), replacement=False).reshape(shape)
    return things.take(index, axis=axis)


def _multinomial(script: Script, like: np.ndarray, given: Given) -> Any:
    if np.ndim(given["n"]) or given["n"] > MOST_TRIALS:
        raise Undecided(f"the subject draws numpy multinomials of {given['n']} trials")
    weights = np.broadcast_to(np.asarray(given["pvals"], dtype=float), like.shape)
    drawn = script.several(weights if weights.ndim > 1 else weights[None], int(given["n"]), replacement=True)
    counts = np.zeros((*drawn.shape[:-1], like.shape[-1]), dtype=np.int64)
    for trial in range(drawn.shape[-1]):
        np.put_along_axis(
            counts, drawn[..., trial, None], np.take_along_axis(counts, drawn[..., trial, None], -1) + 1, -1
        )
    return counts.reshape(like.shape)


def _binomial(script: Script, like: np.ndarray, given: Given) -> Any:
    if np.ndim(given["n"]) or given["n"] != 1:
        raise Undecided(f"the subject draws numpy binomials of {given['n']} trials")
    return script.coins(np.broadcast_to(np.asarray(given["p"], dtype=float), like.shape))


def _exponential(script: Script, like: np.ndarray, given: Given) -> Any:
    return script.exponentials(like.shape) * given.get("scale", 1.0)


def _gumbel(script: Script, like: np.ndarray, given: Given) -> Any:
    return given.get("loc", 0.0) - given.get("scale", 1.0) * np.log(script.exponentials(like.shape))


def _normal(script: Script, like: np.ndarray, given: Given) -> Any:
    return given.get("loc", 0.0) + given.get("scale", 1.0) * script.normals(like.shape)


def _geometric(script: Script, like: np.ndarray, given: Given) -> Any:
    return script.geometric(like.shape, given["p"])


def _permutation(script: Script, _like: np.ndarray, given: Given) -> Any:
    things = np.arange(given["x"]) if np.ndim(given["x"]) == 0 else np.asarray(given["x"])
    return things.take(script.order(things.shape[given.get("axis", 0)]), axis=given.get("axis", 0))


# Which method is answered how, with the names of its positional arguments.
_GENERATOR: dict[str, tuple[Answer, tuple[str, ...]]] = {
    "random": (_uniform, ("size", "dtype", "out")),
    "uniform": (_uniform, ("low", "high", "size")),
    "integers": (_integers, ("low", "high", "size", "dtype", "endpoint")),
    "choice": (_choice, ("a", "size", "replace", "p", "axis", "shuffle")),
    "multinomial": (_multinomial, ("n", "pvals", "size")),
    "binomial": (_binomial, ("n", "p", "size")),
    "exponential": (_exponential, ("scale", "size")),
    "standard_exponential": (_exponential, ("size", "dtype", "method", "out")),
    "gumbel": (_gumbel, ("loc", "scale", "size")),
    "normal": (_normal, ("loc", "scale", "size")),
    "standard_normal": (_normal, ("size", "dtype", "out")),
    "geometric": (_geometric, ("p", "size")),
    "permutation": (_permutation, ("x", "axis")),
}
_LEGACY: dict[str, tuple[Answer, tuple[str, ...]]] = {
    **{
        name: entry for name, entry in _GENERATOR.items() if name not in ("random", "integers", "choice", "permutation")
    },
    "random": (_uniform, ("size",)),
    "random_sample": (_uniform, ("size",)),
    "rand": (_uniform, ()),
    "randn": (_normal, ()),
    "randint": (_integers, ("low", "high", "size", "dtype")),
    "choice": (_choice, ("a", "size", "replace", "p")),
    "permutation": (_permutation, ("x",)),
}
_BOOKKEEPING = {"bit_generator", "get_state", "set_state", "seed", "spawn"}

_asking: list[Script] = []  # the script of the run that is going on


def _method(base: type, name: str, entry: tuple[Answer, tuple[str, ...]] | None) -> Callable[..., Any]:
    """The method of a twin: answered by the script, or by what the subject has seeded the twin with."""
    real, nobody = getattr(base, name), base(np.random.MT19937(0))

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = self.seeded()
        if own is not None:
            return real(own, *args, **kwargs)
        title = f"numpy {name}"
        if entry is None or not _asking:
            raise Undecided(f"the subject draws with {title}, which the probe cannot script")
        answer, names = entry
        like = np.asarray(real(nobody, *args, **kwargs))
        _asking[-1].drawn[title] = None
        values = np.asarray(answer(_asking[-1], like, {**dict(zip(names, args, strict=False)), **kwargs}))
        values = values.reshape(like.shape).astype(like.dtype)
        if kwargs.get("out") is None:
            return values if like.ndim else values[()]
        kwargs["out"][...] = values
        return kwargs["out"]

    return method


def _answered(base: type, answers: dict[str, tuple[Answer, tuple[str, ...]]]) -> dict[str, Callable[..., Any]]:
    """Methods for every draw of a class: one that is not known is UNDECIDED by its name."""
    draws = [name for name in dir(base) if not name.startswith("_") and name not in _BOOKKEEPING]
    return {name: _method(base, name, answers.get(name)) for name in draws}


class GeneratorTwin(np.random.Generator):
    """Stands in for a ``Generator``, until its state is set."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))
        self._untouched = self.bit_generator.state

    def seeded(self) -> np.random.Generator | None:
        """Who answers when the subject has set the state."""
        return None if self.bit_generator.state == self._untouched else np.random.Generator(self.bit_generator)


class LegacyTwin(np.random.RandomState):
    """Stands in for a ``RandomState``, until it is seeded."""

    def __init__(self) -> None:
        super().__init__(0)
        self._own: np.random.RandomState | None = None

    def seeded(self) -> np.random.RandomState | None:
        """Who answers when the subject has seeded it."""
        return self._own

    def seed(self, seed: Any = None) -> None:
        """Answer by itself from here on; without a seed as before."""
        self._own = None if seed is None else np.random.RandomState(seed)

    def set_state(self, state: Any) -> None:
        """Answer by itself from here on."""
        self._own = np.random.RandomState()
        self._own.set_state(state)


for _twin, _answers in ((GeneratorTwin, _GENERATOR), (LegacyTwin, _LEGACY)):
    for _name, _answer in _answered(_twin.__base__, _answers).items():  # type: ignore[arg-type]
        setattr(_twin, _name, _answer)


def twin(value: Any) -> Any:
    """What stands in for a generator of numpy, or for a function that draws from the global one; None for anything else."""
    if type(value) is np.random.Generator:
        return GeneratorTwin()
    if type(value) is np.random.RandomState:
        return LegacyTwin()
    return next((stand_in for real, stand_in in _GLOBAL.values() if value is real), None)


def _global_functions() -> dict[str, tuple[Any, Any]]:
    """Everything in ``numpy.random`` that draws from its global generator, by name: the real one and what stands in."""
    real = {name: getattr(np.random, name) for name in dir(np.random)}
    bound = {name for name, value in real.items() if getattr(value, "__self__", None) is np.random.mtrand._rand}
    found = {name: (real[name], getattr(_WHOLE, name)) for name in (*bound, "seed")}
    aliases = {name: (real[name], _WHOLE.random_sample) for name in ("ranf", "sample")}
    return {**found, **aliases, "default_rng": (np.random.default_rng, _default_rng)}


def _default_rng(seed: Any = None) -> np.random.Generator:
    """A generator that the operating system seeds is scripted; one that is seeded in the call answers for itself."""
    return GeneratorTwin() if seed is None else _REAL_DEFAULT_RNG(seed)


_REAL_DEFAULT_RNG = np.random.default_rng
_WHOLE = LegacyTwin()
_GLOBAL = _global_functions()


@contextmanager
def numpy_answers(script: Script) -> Iterator[None]:
    """Have ``numpy.random`` answered by a script."""
    _asking.append(script)
    whole = np.random.mtrand._rand
    np.random.mtrand._rand = _WHOLE
    _WHOLE.seed()
    for name, (_, stand_in) in _GLOBAL.items():
        setattr(np.random, name, stand_in)
    try:
        yield
    finally:
        np.random.mtrand._rand = whole
        for name, (real, _) in _GLOBAL.items():
            setattr(np.random, name, real)
        _asking.pop()
