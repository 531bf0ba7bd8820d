"""Answer a subject's random draws ourselves: torch operations, numpy generators and Python's ``random``, by one script.

Everything known is answered; what is not is UNDECIDED by its name. Only randomness that the subject was handed is scripted:
the generator it is given, the global ones, and generators that it has kept since before the call (``sources``). One that
is seeded inside the call answers for itself. Seeded by a constant or by the inputs it makes the subject deterministic, and
its law shows that; seeded by the clock or the operating system its runs do not repeat.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch
import torch._dynamo  # else the first intercepted operation imports it, and that import draws from ``random``
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from specproof.properties.evidence.numpy_draws import numpy_answers
from specproof.properties.evidence.python_draws import python_answers
from specproof.properties.evidence.script import WIDE_LATTICE, Floats, Script, Shape
from specproof.properties.verdict import Undecided

# Uniforms of a dtype are multiples of 2^-bits.
LATTICE_BITS = {torch.float64: WIDE_LATTICE, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}
# ``random_`` without bounds draws integers up to the last one that the dtype holds exactly.
LARGEST = {torch.float64: 2**53, torch.float32: 2**24, torch.float16: 2**11, torch.bfloat16: 2**8}
SECRET = 0x51EC_9700_F00D


def _marked_state() -> Tensor:
    """A state that nobody reaches by seeding: a generator found in it was handed over and not seeded since."""
    generator = torch.Generator().manual_seed(SECRET)
    torch.rand(3, generator=generator)
    return generator.get_state()


MARKED = _marked_state()


def mark(generator: torch.Generator) -> None:
    """Have the draws of a generator scripted until somebody seeds it."""
    if not is_marked(generator):
        generator.set_state(MARKED)


def is_marked(generator: torch.Generator) -> bool:
    """Whether a generator is as it was handed over."""
    return generator.initial_seed() == SECRET and torch.equal(generator.get_state(), MARKED)


class Interception:
    """While active, answers the draws of one call on ``len(quantiles)`` requests; see ``Script``.

    ``generator`` is what the subject is to be handed. Raises ``Undecided`` for an operation that it cannot script. Global
    generators are put back at the end.
    """

    def __init__(self, quantiles: Floats) -> None:
        self.script = Script(quantiles)
        self.generator = torch.Generator()
        self._open = ExitStack()

    @property
    def atoms(self) -> list[list[Any]]:
        """What was drawn, by row."""
        return self.script.atoms

    def __enter__(self) -> Self:
        self._open.callback(torch.default_generator.set_state, torch.default_generator.get_state())
        for generator in (self.generator, torch.default_generator):
            mark(generator)
        for answers in (numpy_answers(self.script), python_answers(self.script), _TorchAnswers(self.script)):
            self._open.enter_context(answers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, trace)


class _TorchAnswers(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Catches every torch operation that consumes randomness."""

    def __init__(self, script: Script) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._script = script

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: nothing is compiled here, and the guard costs more than the check of an operation."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Script random operations on marked generators, run every other one as it is."""
        kwargs = kwargs or {}
        arguments = _arguments_of_draw(func)
        if arguments is None:
            return func(*args, **kwargs)
        given = dict(zip(arguments, args, strict=False)) | kwargs
        source = given.get("generator")
        if not is_marked(torch.default_generator if source is None else source):
            return func(*args, **kwargs)
        name = func.overloadpacket.__name__
        answer = _ANSWERS.get(name)
        if answer is None:
            raise Undecided(f"the subject draws with aten::{name}, which the probe cannot script")
        self._script.drawn[f"aten::{name}"] = None
        values = answer(self._script, given)
        if not func._schema.is_mutable:
            return values
        written: Tensor = given["out"] if "out" in given else given["self"]
        return (written.resize_(values.shape) if "out" in given else written).copy_(values)


@cache
def _arguments_of_draw(func: Any) -> tuple[str, ...] | None:
    """Names of the arguments of a random operation; None for any other. Asked for once: a probe runs millions of them."""
    names = tuple(argument.name for argument in func._schema.arguments)
    # Not every random operation is tagged as one: those left out still take a generator.
    return names if torch.Tag.nondeterministic_seeded in func.tags or "generator" in names else None


Given = dict[str, Any]


def _made(values: Any, given: Given, kind: torch.dtype | None = None) -> Tensor:
    """A tensor of the drawn values with the dtype and device that the operation was asked for."""
    like = given.get("self")
    like = like if isinstance(like, Tensor) else None
    dtype = given.get("dtype") or kind or (like.dtype if like is not None else torch.get_default_dtype())
    device = given.get("device") or (like.device if like is not None else None)
    return torch.from_numpy(np.asarray(values)).to(dtype=dtype, device=device)


def _shape(given: Given) -> Shape:
    return tuple(given["size"]) if "size" in given else tuple(given["self"].shape)


def _array(value: Any) -> Floats:
    return np.asarray(value.detach().cpu().double().numpy() if isinstance(value, Tensor) else value, dtype=float)


def _uniforms(script: Script, given: Given) -> Tensor:
    like = given.get("self")
    dtype = given.get("dtype") or (like.dtype if isinstance(like, Tensor) else torch.get_default_dtype())
    if dtype not in LATTICE_BITS:
        raise Undecided(f"the subject draws uniforms of dtype {dtype}")
    values = _made(script.uniforms(_shape(given), LATTICE_BITS[dtype]), given)
    low, high = given.get("from", 0.0), given.get("to", 1.0)
    return values if (low, high) == (0.0, 1.0) else values * (high - low) + low


def _coins(script: Script, given: Given) -> Tensor:
    probability = given.get("p")
    wide = np.broadcast_to(_array(given["self"] if probability is None else probability), _shape(given))
    return _made(script.coins(wide), given)


def _choices(script: Script, given: Given) -> Tensor:
    weights = given["self"]
    if weights.dim() == 1 and script.rows == 1:
        drawn = script.several(
            _array(weights)[None], given["num_samples"], replacement=given.get("replacement", False)
        )[0]
    else:
        drawn = script.several(_array(weights), given["num_samples"], replacement=given.get("replacement", False))
    return torch.from_numpy(drawn).to(weights.device)


def _integers(script: Script, given: Given) -> Tensor:
    values = script.integers(_shape(given), int(given.get("low", 0)), int(given["high"]))
    return _made(values, given, None if isinstance(given.get("self"), Tensor) else torch.int64)


def _any_integers(script: Script, given: Given) -> Tensor:
    dtype = given["self"].dtype
    most = LARGEST[dtype] if dtype in LARGEST else torch.iinfo(dtype).max
    high = given.get("to")
    return _made(script.integers(_shape(given), given.get("from", 0), most + 1 if high is None else high), given)


def _exponentials(script: Script, given: Given) -> Tensor:
    return _made(script.exponentials(_shape(given)) / given.get("lambd", 1.0), given)


def _normals(script: Script, given: Given) -> Tensor:
    mean, deviation = _array(given.get("mean", 0.0)), _array(given.get("std", 1.0))
    shape = _shape(given) if "size" in given or "self" in given else np.broadcast_shapes(mean.shape, deviation.shape)
    like = next((given[name] for name in ("mean", "std") if isinstance(given.get(name), Tensor)), None)
    return _made(script.normals(shape) * deviation + mean, given, None if like is None else like.dtype)


def _log_normals(script: Script, given: Given) -> Tensor:
    return _made(np.exp(script.normals(_shape(given)) * given.get("std", 2.0) + given.get("mean", 1.0)), given)


def _cauchy(script: Script, given: Given) -> Tensor:
    values = script.inverse(_shape(given), lambda q: np.tan(np.pi * (q - 0.5)))
    return _made(values * given.get("sigma", 1.0) + given.get("median", 0.0), given)


def _geometric(script: Script, given: Given) -> Tensor:
    return _made(script.geometric(_shape(given), given["p"]), given)


def _order(script: Script, given: Given) -> Tensor:
    return _made(script.order(int(given["n"])), given, torch.int64)


_ANSWERS: dict[str, Callable[[Script, Given], Tensor]] = {
    "rand": _uniforms,
    "rand_like": _uniforms,
    "uniform": _uniforms,
    "uniform_": _uniforms,
    "bernoulli": _coins,
    "bernoulli_": _coins,
    "multinomial": _choices,
    "randint": _integers,
    "randint_like": _integers,
    "random_": _any_integers,
    "exponential": _exponentials,
    "exponential_": _exponentials,
    "normal": _normals,
    "normal_": _normals,
    "randn": _normals,
    "randn_like": _normals,
    "log_normal_": _log_normals,
    "cauchy_": _cauchy,
    "geometric_": _geometric,
    "randperm": _order,
}
