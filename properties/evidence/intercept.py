"""Answer a subject's random draws ourselves: every torch operation that consumes randomness is caught and scripted.

Each draw is broken into *atoms*, answered by one number in [0, 1) each (a quantile) in the order in which they occur: an
atom is a uniform on the lattice of its dtype, or a choice with known weights, made by inverse distribution function. So
a subject becomes a deterministic function of a row of quantiles, and the weights of its choices are read, not estimated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from specproof.properties.verdict import Undecided

# Uniforms of a dtype are multiples of 2^-bits. Finer lattices than 2^-32 are read at 2^-32.
LATTICE_BITS = {torch.float64: 32, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}


@dataclass(frozen=True)
class Uniform:
    """An atom that is a uniform number: a multiple of ``2**-bits`` in [0, 1).

    ``size`` neighbours were drawn together, which may be a race in Gumbel's form; ``offset`` is its place among them.
    """

    bits: int
    size: int = 1
    offset: int = 0


@dataclass(frozen=True)
class Choice:
    """An atom that is a choice among ``len(weights)`` values; the weights are normalised."""

    weights: tuple[float, ...]


@dataclass(frozen=True)
class Exponential:
    """One of ``size`` neighbouring exponential draws, which may be a race; ``offset`` is its place among them."""

    size: int
    offset: int


Atom = Uniform | Choice | Exponential


class NotRowwise(Exception):
    """A draw inside a batch cannot be attributed to its requests: the subject must be called one request at a time."""


class Interception(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While active, answers the torch draws of one call on ``len(quantiles)`` requests.

    ``quantiles`` is [rows, atoms]. With one row every draw belongs to it; with more, the leading dimension of each draw
    must be the batch. ``atoms[row]`` lists what was drawn. Raises ``Undecided`` for an operation that it cannot script.
    """

    def __init__(self, quantiles: NDArray[np.float64]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._quantiles = quantiles
        self._rows = len(quantiles)
        self._cursor = 0
        self.atoms: list[list[Atom]] = [[] for _ in range(self._rows)]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Script random operations, run every other one as it is."""
        kwargs = kwargs or {}
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return func(*args, **kwargs)
        name = func.overloadpacket.__name__
        scripted = _SCRIPTED.get(name)
        if scripted is None:
            raise Undecided(f"the subject draws with aten::{name}, which the probe cannot script")
        bound = {argument.name: value for argument, value in zip(func._schema.arguments, args, strict=False)}
        return scripted(self, {**bound, **kwargs}, func)

    def next_quantiles(self, count: int) -> NDArray[np.float64]:
        """Return the next ``count`` quantiles of every row."""
        end = self._cursor + count
        if end > self._quantiles.shape[1]:
            raise Undecided(f"the subject draws more than {self._quantiles.shape[1]} random numbers for one request")
        taken = self._quantiles[:, self._cursor : end]
        self._cursor = end
        return taken

    def per_row(self, shape: torch.Size) -> int:
        """How many entries of a draw of this shape belong to each row."""
        entries = int(np.prod(shape, dtype=np.int64))
        if self._rows > 1 and (not shape or shape[0] != self._rows):
            raise NotRowwise(f"a draw of shape {tuple(shape)} in a batch of {self._rows}")
        return entries // self._rows

    def width(self, shape: torch.Size) -> int:
        """How many neighbours a draw of this shape has in each row: its last dimension, one race."""
        return shape[-1] if len(shape) > (0 if self._rows == 1 else 1) else 1

    def uniform_like(self, shape: torch.Size, dtype: torch.dtype, device: Any) -> Tensor:
        """Answer a draw of uniforms on [0, 1)."""
        if dtype not in LATTICE_BITS:
            raise Undecided(f"the subject draws uniforms of dtype {dtype}")
        bits = LATTICE_BITS[dtype]
        count = self.per_row(shape)
        values = np.floor(self.next_quantiles(count) * 2.0**bits) / 2.0**bits
        size = self.width(shape)
        for atoms in self.atoms:
            atoms.extend(Uniform(bits, size, i % size) for i in range(count))
        return torch.from_numpy(values.reshape(shape)).to(dtype=dtype, device=device)

    def choose(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """Answer one choice for each row and entry: ``weights`` [rows, n, V] gives [rows, n]."""
        if not np.isfinite(weights).all() or (weights < 0).any() or (weights.sum(-1) <= 0).any():
            raise ValueError("a categorical draw needs weights that are finite, not negative and not all zero")
        shares = weights / weights.sum(-1, keepdims=True)
        quantiles = self.next_quantiles(shares.shape[1])
        chosen: NDArray[np.int64] = _inverse(shares, quantiles)
        for row, atoms in enumerate(self.atoms):
            atoms.extend(Choice(tuple(entry)) for entry in shares[row].tolist())
        return chosen


def _inverse(shares: NDArray[np.float64], quantiles: NDArray[np.float64]) -> Any:
    """Index of each quantile under its row's distribution; never one without weight."""
    cumulative = shares.cumsum(-1)
    index = (cumulative <= quantiles[..., None]).sum(-1)
    last = shares.shape[-1] - 1 - (shares[..., ::-1] > 0).argmax(-1)
    return np.minimum(index, last)


def _rand(mode: Interception, given: dict[str, Any], _func: Any) -> Tensor:
    dtype = given.get("dtype") or torch.get_default_dtype()
    return mode.uniform_like(torch.Size(given["size"]), dtype, given.get("device"))


def _rand_like(mode: Interception, given: dict[str, Any], _func: Any) -> Tensor:
    like = given["self"]
    return mode.uniform_like(like.shape, given.get("dtype") or like.dtype, given.get("device") or like.device)


def _uniform(mode: Interception, given: dict[str, Any], func: Any) -> Tensor:
    out: Tensor = given["self"]
    low, high = given.get("from", 0.0), given.get("to", 1.0)
    values = mode.uniform_like(out.shape, out.dtype, out.device) * (high - low) + low
    return out.copy_(values) if func._schema.is_mutable else values


def _bernoulli(mode: Interception, given: dict[str, Any], func: Any) -> Tensor:
    out: Tensor = given["self"]
    probability = given.get("p")
    if probability is None:
        probability = out
    wide = torch.as_tensor(probability, dtype=torch.float64).expand(out.shape)
    if bool(((wide < 0) | (wide > 1)).any()):
        raise ValueError("a bernoulli draw needs probabilities in [0, 1]")
    count = mode.per_row(out.shape)
    one = wide.numpy().reshape(-1, count)
    hits = mode.choose(np.stack([1 - one, one], axis=-1)).reshape(out.shape)
    values = torch.from_numpy(hits).to(out.dtype)
    return out.copy_(values) if func._schema.is_mutable else values


def _multinomial(mode: Interception, given: dict[str, Any], _func: Any) -> Tensor:
    weights, samples = given["self"], given["num_samples"]
    count = mode.per_row(weights.shape[:-1]) if weights.dim() > 1 else 1
    if weights.dim() == 1 and len(mode.atoms) > 1:
        raise NotRowwise("a categorical draw without a batch dimension")
    left = weights.detach().double().numpy().reshape(len(mode.atoms), count, -1).copy()
    drawn = []
    for _ in range(samples):
        drawn.append(mode.choose(left))
        if not given.get("replacement", False):
            np.put_along_axis(left, drawn[-1][..., None], 0.0, axis=-1)
    indices = np.stack(drawn, axis=-1).reshape(*weights.shape[:-1], samples)
    return torch.from_numpy(indices).to(weights.device)


def _randint(mode: Interception, given: dict[str, Any], _func: Any) -> Tensor:
    low, high = given.get("low", 0), given["high"]
    shape = torch.Size(given["size"])
    count = mode.per_row(shape)
    values = mode.choose(np.ones((len(mode.atoms), count, high - low))).reshape(shape) + low
    return torch.from_numpy(values).to(given.get("dtype") or torch.int64)


def _exponential(mode: Interception, given: dict[str, Any], func: Any) -> Tensor:
    out: Tensor = given["self"]
    count = mode.per_row(out.shape)
    size = mode.width(out.shape)
    quantiles = mode.next_quantiles(count)
    values = np.maximum(-np.log1p(-quantiles), 2.0**-52) / given.get("lambd", 1.0)
    for atoms in mode.atoms:
        atoms.extend(Exponential(size, i % size) for i in range(count))
    drawn = torch.from_numpy(values.reshape(out.shape)).to(out.dtype)
    return out.copy_(drawn) if func._schema.is_mutable else drawn


_SCRIPTED: dict[str, Callable[[Interception, dict[str, Any], Any], Tensor]] = {
    "rand": _rand,
    "rand_like": _rand_like,
    "uniform": _uniform,
    "uniform_": _uniform,
    "bernoulli": _bernoulli,
    "bernoulli_": _bernoulli,
    "exponential": _exponential,
    "exponential_": _exponential,
    "multinomial": _multinomial,
    "randint": _randint,
}
