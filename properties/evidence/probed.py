"""Probed evidence: the law of any torch code, to float rounding and without sampling error.

With its draws answered by us (``intercept``) a subject is a function of quantiles. Along each of them it is piecewise
constant, so the axis is cut where the behaviour changes (found by bisection down to the lattice of the uniform), choices
are followed once for each value with their weights read off, and the law is the sum over cells of their widths.

LIMITS. A change of behaviour is only searched between points that already behave differently, under a few fillings of
the later draws; two changes that hide each other are missed. Spot checks at random quantiles guard this: every one must
land where the cells predict. One that does not is added to the fillings and points that are tried, and the cells are
refined; if that does not end, the verdict is UNDECIDED. A subject that draws outside torch is UNDECIDED too, because its runs do not repeat.
"""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specproof.properties.evidence.intercept import Atom, Choice, Uniform
from specproof.properties.verdict import Undecided

LAST = 1 - 2.0**-53


@dataclass(frozen=True)
class Tape:
    """Quantiles for one run of root ``root``: ``start`` first, then ``fill``, indexed by the position of the draw."""

    root: int
    start: tuple[float, ...]
    fill: tuple[float, ...]

    def quantiles(self, count: int) -> NDArray[np.float64]:
        """The first ``count`` quantiles."""
        row = np.resize(self.fill, count)
        row[: len(self.start)] = self.start[:count]
        return row


@dataclass(frozen=True)
class Run:
    """What a tape led to: the atoms in the order in which they were drawn, and the result."""

    atoms: tuple[Atom, ...]
    result: Any

    def behaviour(self, position: int) -> tuple[Any, ...]:
        """Everything that may depend on atoms before ``position``: the later draws and the result."""
        return (self.result, *(_rounded(atom) for atom in self.atoms[position:]))


def _rounded(atom: Atom) -> Atom:
    """Weights agree when they agree to 8 decimals: float noise is no change of behaviour."""
    return Choice(tuple(round(weight, 8) for weight in atom.weights)) if isinstance(atom, Choice) else atom


Ask = Callable[[Sequence[Tape]], list[Run]]
Asking = Generator[list[Tape], list[Run], Any]


@dataclass
class Node:
    """A partly answered run. ``edges`` are the upper ends of the children's cells on the axis of the next atom.

    ``fills`` and ``points`` are what to try for the later atoms and for the next one; spot checks add to both.
    """

    root: int
    start: tuple[float, ...]
    mass: float
    fills: list[tuple[float, ...]]
    points: list[float] = field(default_factory=list)
    edges: list[float] = field(default_factory=list)
    children: list["Node"] = field(default_factory=list)
    result: Any = None


@dataclass(frozen=True)
class Settings:
    """How hard to probe."""

    fills: int = 3
    grid: int = 3
    spot_checks: int = 300
    refinements: int = 20
    cells: int = 4096
    arity: int = 1
    seed: int = 0


def explore(ask: Ask, roots: int, settings: Settings) -> list[tuple[int, float, Any]]:
    """Return ``(root, mass, result)`` for every cell of every root; the masses of a root sum to one.

    Raises ``Undecided`` when the subject does not behave as a piecewise constant function of its draws.
    """
    rng = np.random.default_rng(settings.seed)
    fills = [(0.0,), (LAST,), *(tuple(rng.random(61)) for _ in range(settings.fills - 2))]
    trees = [Node(root, (), 1.0, list(fills)) for root in range(roots)]
    grow(ask, trees, settings)
    for _ in range(settings.refinements):
        surprised = spot_check(ask, trees, settings, rng)
        if not surprised:
            return [leaf for tree in trees for leaf in leaves(tree)]
        grow(ask, surprised, settings)
    raise Undecided(
        f"random spot checks still contradict the probed cells after {settings.refinements} refinements: "
        "the subject is not a piecewise constant function of single draws"
    )


def grow(ask: Ask, nodes: list[Node], settings: Settings) -> None:
    """Cut the cells below the given nodes, level by level; questions of one level are asked together."""
    frontier = nodes
    while frontier:
        together(ask, [cut(node, settings) for node in frontier])
        frontier = [child for node in frontier for child in node.children]


def together(ask: Ask, workers: list[Asking]) -> None:
    """Run generators that ask for runs in lockstep, so that each round is one batch of questions."""
    waiting = [(worker, next(worker)) for worker in workers]
    while waiting:
        answers = iter(ask([tape for _, tapes in waiting for tape in tapes]))
        advanced = []
        for worker, tapes in waiting:
            try:
                advanced.append((worker, worker.send([next(answers) for _ in tapes])))
            except StopIteration:
                continue
        waiting = advanced


def cut(node: Node, settings: Settings) -> Asking:
    """Find what the node's next atom is and give it one child for each cell."""
    runs = yield [Tape(node.root, node.start, fill) for fill in node.fills]
    position = len(node.start)
    drawn = {run.atoms[position : position + 1] for run in runs}
    if len(drawn) > 1:
        raise Undecided("equal draws led to different next draws: the subject has randomness that the probe cannot see")
    node.edges, node.children = [], []
    (atoms,) = drawn
    if not atoms:
        results = {run.result for run in runs}
        if len(results) > 1:
            raise Undecided(
                "equal draws led to different results: the subject has randomness that the probe cannot see"
            )
        node.result = results.pop()
        return
    atom = atoms[0]
    if isinstance(atom, Choice):
        edges = np.cumsum(atom.weights).tolist()
        edges[-1] = 1.0
    else:
        edges = yield from _changes(node, atom, settings)
    low = 0.0
    for edge in edges:
        if edge > low:
            middle = low + (edge - low) / 2
            if isinstance(atom, Uniform):  # on the lattice, inside the cell
                middle = low + math.floor((edge - low) * 2**atom.bits / 2) / 2**atom.bits
            child = Node(node.root, (*node.start, middle), node.mass * (edge - low), list(node.fills))
            node.edges.append(edge)
            node.children.append(child)
            low = edge


def _changes(node: Node, atom: Uniform, settings: Settings) -> Asking:
    """Upper ends of the cells of a uniform atom: lattice points where the behaviour changes under some filling."""
    size = 2**atom.bits
    position = len(node.start)
    seen: dict[int, list[Any]] = {}

    def behaviours(points: list[int], fills: list[tuple[float, ...]]) -> Asking:
        runs = yield [Tape(node.root, (*node.start, point / size), fill) for point in points for fill in fills]
        return [run.behaviour(position + 1) for run in runs]

    def observe(points: list[int]) -> Asking:
        new = [point for point in dict.fromkeys(points) if point not in seen]
        found = yield from behaviours(new, node.fills)
        for i, point in enumerate(new):
            seen[point] = found[i * len(node.fills) : (i + 1) * len(node.fills)]

    yield from observe([round(i * (size - 1) / (settings.grid - 1)) for i in range(settings.grid)])
    yield from observe([int(point * size) for point in node.points])
    points = sorted(seen)
    open_intervals = list(pairwise(points))
    edges = [1.0]
    while open_intervals:
        low, high = open_intervals.pop()
        differing = [i for i, (a, b) in enumerate(zip(seen[low], seen[high], strict=True)) if a != b]
        if not differing:
            continue
        lead = differing[0]
        left, right = low, high
        while right - left > 1:
            span = right - left
            count = min(settings.arity, span - 1)
            inner = [left + span * (i + 1) // (count + 1) for i in range(count)]
            found = yield from behaviours(inner, [node.fills[lead]])
            changed = next((i for i, behaviour in enumerate(found) if behaviour != seen[low][lead]), None)
            ends = [left, *inner, right]
            step = len(inner) if changed is None else changed
            left, right = ends[step], ends[step + 1]
        yield from observe([left, right])
        edges.append(right / size)
        if len(edges) > settings.cells:
            raise Undecided(f"one uniform draw has more than {settings.cells} changes of behaviour")
        open_intervals += [(low, left), (right, high)]
    return sorted(edges)


def leaves(node: Node) -> list[tuple[int, float, Any]]:
    """The cells below a node."""
    if not node.children:
        return [(node.root, node.mass, node.result)]
    return [leaf for child in node.children for leaf in leaves(child)]


def located(tree: Node, quantiles: Sequence[float]) -> list[Node]:
    """The nodes from the root to the leaf in whose cell the quantiles lie."""
    chain = [tree]
    while chain[-1].children:
        here = chain[-1]
        quantile = quantiles[(len(chain) - 1) % len(quantiles)]
        index = next((i for i, edge in enumerate(here.edges) if quantile < edge), len(here.edges) - 1)
        chain.append(here.children[index])
    return chain


def spot_check(ask: Ask, trees: list[Node], settings: Settings, rng: np.random.Generator) -> list[Node]:
    """Run random quantiles and return the nodes whose cells they contradict, each with the witness as a new filling."""
    order = rng.permutation(len(trees))
    tapes = [Tape(int(order[i % len(trees)]), (), tuple(rng.random(61))) for i in range(settings.spot_checks)]
    contradicted: dict[int, Node] = {}
    for tape, run in zip(tapes, ask(tapes), strict=True):
        chain = located(trees[tape.root], tape.fill)
        if run.result == chain[-1].result or id(trees[tape.root]) in contradicted:
            continue
        # Replace the random quantiles by the cells' own, one after the other: the step that changes the result names
        # the axis whose cells are too coarse under this filling.
        runs = ask([Tape(tape.root, node.start, tape.fill) for node in chain])
        changes = [i for i in range(1, len(runs)) if runs[i].result != runs[i - 1].result]
        if not changes:
            raise Undecided("the same draws led to different results: the subject has randomness the probe cannot see")
        node = chain[changes[0] - 1]
        node.fills.append(tape.fill)
        node.points += [tape.fill[(changes[0] - 1) % len(tape.fill)], chain[changes[0]].start[-1]]
        contradicted[id(trees[tape.root])] = node
    return list(contradicted.values())
