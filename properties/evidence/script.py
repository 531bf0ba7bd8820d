"""The script of one run: numbers in [0, 1) that answer a subject's draws, whatever library it draws with.

Each draw is broken into *atoms*, answered by one number (a quantile) each in the order in which they occur: an atom is a
uniform on the lattice of its dtype, a choice with known weights, or an exponential that may belong to a race. Every
answer is an inverse distribution function, so a subject becomes a deterministic function of a row of quantiles, and the
weights of its choices are read, not estimated.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from specproof.properties.verdict import Undecided

Floats = NDArray[np.float64]
Shape = tuple[int, ...]

WIDE_LATTICE = 32  # finer lattices than 2^-32 are read at 2^-32
MOST_VALUES = 4096  # an even choice among more integers is read as a uniform
SMALLEST_EXPONENTIAL = 2.0**-52


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


class Script:
    """Answers the draws of one call on ``len(quantiles)`` requests; ``quantiles`` is [rows, atoms].

    With one row every draw belongs to it; with more, the leading dimension of each draw must be the batch.
    ``atoms[row]`` lists what was drawn, ``drawn`` the names of the functions that drew it.
    """

    def __init__(self, quantiles: Floats) -> None:
        self._quantiles = quantiles
        self._cursor = 0
        self.rows = len(quantiles)
        self.atoms: list[list[Atom]] = [[] for _ in range(self.rows)]
        self.drawn: dict[str, None] = {}

    def uniforms(self, shape: Shape, bits: int, *, race: bool = True) -> Floats:
        """Uniforms on the lattice of ``2**-bits``, of a shape. Neighbours along the last dimension may be a race."""
        count, size = self._per_row(shape), self._width(shape) if race else 1
        for atoms in self.atoms:
            atoms.extend(Uniform(bits, size, i % size) for i in range(count))
        return np.floor(self._next(count) * 2.0**bits).reshape(shape) / 2.0**bits

    def inverse(self, shape: Shape, quantile_function: Callable[[Floats], Floats]) -> Floats:
        """Draws from the law with this quantile function, each a uniform of its own."""
        middle = self.uniforms(shape, WIDE_LATTICE, race=False) + 2.0 ** -(WIDE_LATTICE + 1)
        return np.asarray(quantile_function(middle))

    def normals(self, shape: Shape) -> Floats:
        """Standard normal draws."""
        return self.inverse(shape, ndtri)

    def geometric(self, shape: Shape, success: float) -> Floats:
        """Number of trials up to the first success."""
        return self.inverse(shape, lambda q: np.floor(np.log1p(-q) / np.log1p(-success)) + 1)

    def exponentials(self, shape: Shape) -> Floats:
        """Standard exponential draws; neighbours along the last dimension may be a race."""
        count, size = self._per_row(shape), self._width(shape)
        for atoms in self.atoms:
            atoms.extend(Exponential(size, i % size) for i in range(count))
        values: Floats = np.maximum(-np.log1p(-self._next(count)), SMALLEST_EXPONENTIAL).reshape(shape)
        return values

    def integers(self, shape: Shape, low: int, high: int) -> NDArray[np.int64]:
        """Even integers in [low, high)."""
        values = high - low
        if values > 2**63:
            raise Undecided(f"the subject draws one of {values:.3g} integers")
        if values > MOST_VALUES:
            drawn = self.uniforms(shape, WIDE_LATTICE, race=False)
            return (drawn * float(values)).astype(np.int64) + low
        count = self._per_row(shape)
        return self.choose(np.ones((self.rows, count, values))).reshape(shape) + low

    def order(self, count: int) -> NDArray[np.int64]:
        """A random order of ``count`` things, for the only request."""
        self._per_row(())
        left = np.ones((1, 1, count))
        chosen = []
        for _ in range(count):
            chosen.append(int(self.choose(left)[0, 0]))
            left[0, 0, chosen[-1]] = 0
        return np.array(chosen, dtype=np.int64)

    def several(self, weights: Floats, samples: int, *, replacement: bool) -> NDArray[np.int64]:
        """For weights [..., V] return ``samples`` choices each, [..., samples]; without replacement no index twice."""
        count = self._per_row(weights.shape[:-1])
        left = weights.reshape(self.rows, count, -1).astype(float)
        drawn = []
        for _ in range(samples):
            drawn.append(self.choose(left))
            if not replacement:
                np.put_along_axis(left, drawn[-1][..., None], 0.0, axis=-1)
        return np.stack(drawn, axis=-1).reshape(*weights.shape[:-1], samples)

    def coins(self, probability: Floats) -> NDArray[np.int64]:
        """One or zero with these probabilities. Raises ``ValueError`` outside [0, 1]."""
        if ((probability < 0) | (probability > 1)).any():
            raise ValueError("a bernoulli draw needs probabilities in [0, 1]")
        one = probability.reshape(self.rows, self._per_row(probability.shape))
        return self.choose(np.stack([1 - one, one], axis=-1)).reshape(probability.shape)

    def choose(self, weights: Floats) -> NDArray[np.int64]:
        """Answer one choice for each row and entry: ``weights`` [rows, n, V] gives [rows, n]."""
        if not np.isfinite(weights).all() or (weights < 0).any() or (weights.sum(-1) <= 0).any():
            raise ValueError("a categorical draw needs weights that are finite, not negative and not all zero")
        shares = weights / weights.sum(-1, keepdims=True)
        chosen = _entry(shares, self._next(shares.shape[1]))
        for row, atoms in enumerate(self.atoms):
            atoms.extend(Choice(tuple(entry)) for entry in shares[row].tolist())
        return chosen

    def _next(self, count: int) -> Floats:
        """The next ``count`` quantiles of every row."""
        end = self._cursor + count
        if end > self._quantiles.shape[1]:
            raise Undecided(f"the subject draws more than {self._quantiles.shape[1]} random numbers for one request")
        taken = self._quantiles[:, self._cursor : end]
        self._cursor = end
        return taken

    def _per_row(self, shape: Shape) -> int:
        """How many entries of a draw of this shape belong to each row."""
        if self.rows > 1 and (not shape or shape[0] != self.rows):
            raise NotRowwise(f"a draw of shape {tuple(shape)} in a batch of {self.rows}")
        return int(np.prod(shape, dtype=np.int64)) // self.rows

    def _width(self, shape: Shape) -> int:
        """How many neighbours a draw of this shape has in each row: its last dimension, one race."""
        return max(shape[-1], 1) if len(shape) > (0 if self.rows == 1 else 1) else 1


def _entry(shares: Floats, quantiles: Floats) -> NDArray[np.int64]:
    """Index of each quantile under its row's distribution; never one without weight."""
    index = (shares.cumsum(-1) <= quantiles[..., None]).sum(-1)
    last = shares.shape[-1] - 1 - (shares[..., ::-1] > 0).argmax(-1)
    return np.asarray(np.minimum(index, last))
