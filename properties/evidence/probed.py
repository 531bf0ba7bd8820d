"""Probed evidence: the law of any torch code, to float rounding and without sampling error.

With its draws answered by us (``intercept``) a subject is a function of quantiles. Along each of them it is piecewise
constant, so the axis is cut where the behaviour changes (found by bisection down to the lattice of the uniform), choices
are followed once for each value with their weights read off, and the law is the sum over cells of their widths.

LIMITS. A change of behaviour is only searched between points that already behave differently, under a few fillings of
the later draws; two changes that hide each other are missed. Spot checks at random quantiles guard this: every one must
land where the cells predict. One that does not is added to the fillings and points that are tried, and the cells are
refined; if that does not end, the verdict is UNDECIDED. What stays unseen after n checks has a mass below 14/n, except with
probability 1e-6; after n checks inside every cell, so small a share of each cell. Randomness that was not handed over
(``intercept``) shows as runs that do not repeat, and is UNDECIDED; so is a function of several draws at once that is no
race, such as a sum. Draws finer than 2^-32 are read at 2^-32.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeGuard

import numpy as np

from specproof.properties.evidence.race import DRAWN, GUMBEL, Field, RaceCells, is_race, read_race
from specproof.properties.evidence.script import Atom, Choice, Exponential, Uniform
from specproof.properties.evidence.tapes import Ask, Asking, Run, Tape, fix, together
from specproof.properties.verdict import Undecided

LAST = 1 - 2.0**-53
PERIOD = 127  # random fillings repeat after so many draws

Locate = Callable[[Sequence[float]], int]


@dataclass
class Node:
    """A partly answered run; ``locate`` says which child's cell a row of quantiles lies in.

    ``fills`` and ``points`` are what to try for the later atoms and for the next one; spot checks add to both. ``races``
    says of uniforms that were drawn together, by their position, whether they are a race.
    """

    root: int
    fixed: tuple[float, ...]
    mass: float
    fills: list[tuple[float, ...]]
    points: list[float] = field(default_factory=list)
    races: dict[int, bool] = field(default_factory=dict)
    spans: dict[int, tuple[float, float]] = field(default_factory=dict)  # by position, where the answer may lie
    position: int = 0
    atom: Atom | None = None
    children: list["Node"] = field(default_factory=list)
    locate: Locate = lambda _: 0
    result: Any = None

    def divide(self, position: int, cells: list["Cell"], locate: Locate) -> None:
        """Give the node one child for each cell."""
        self.position, self.locate = position, locate
        self.children = [
            Node(
                self.root,
                fix(self.fixed, cell.answers),
                self.mass * cell.share,
                list(self.fills),
                races=dict(self.races),
                spans=self.spans | ({} if cell.span is None else {position: cell.span}),
            )
            for cell in cells
        ]

    def somewhere(self, rng: np.random.Generator) -> tuple[float, ...]:
        """Random quantiles in the node's cell; races as they are answered."""
        quantiles = rng.random(max(PERIOD, len(self.fixed)))
        for position, answer in enumerate(self.fixed):
            if position in self.spans:
                low, high = self.spans[position]
                quantiles[position] = low + (high - low) * quantiles[position]
            elif not math.isnan(answer):
                quantiles[position] = answer
        return tuple(quantiles)


@dataclass(frozen=True)
class Cell:
    """A cell of one draw or race: its share of the mass, answers that lie in it, and where a draw's may lie."""

    share: float
    answers: dict[int, float]
    span: tuple[float, float] | None = None


@dataclass(frozen=True)
class Settings:
    """How hard to probe."""

    fills: int = 3
    grid: int = 3
    spot_checks: int = 300
    each_cell: int = 0  # spot checks inside every cell, for laws whose small probabilities matter
    refinements: int = 30
    cells: int = 64
    arity: int = 1
    seed: int = 0
    gumbel: bool = False  # look for races among uniforms that are drawn together
    idle_choices: bool = (
        False  # look for choices that decide nothing, as of whole loops that draw tokens they do not use
    )


def explore(ask: Ask, roots: int, settings: Settings) -> list[tuple[int, float, Any]]:
    """Return ``(root, mass, result)`` for every cell of every root; the masses of a root sum to one.

    Raises ``Undecided`` when the subject does not behave as a piecewise constant function of its draws, or of races.
    """
    try:
        return _explore(ask, roots, settings, suspicious=True)
    except _MayBeRace:
        pass
    try:
        return _explore(ask, roots, replace(settings, gumbel=True))
    except Undecided:  # coins that decide nothing under the fillings pass for a race, and are none
        return _explore(ask, roots, settings)


class _MayBeRace(Exception):
    """A spot check contradicts cells along uniforms that were drawn together."""


def _explore(ask: Ask, roots: int, settings: Settings, *, suspicious: bool = False) -> list[tuple[int, float, Any]]:
    rng = np.random.default_rng(settings.seed)
    fills = [(0.0,), (LAST,), *(tuple(rng.random(PERIOD)) for _ in range(settings.fills - 2))]
    trees = [Node(root, (), 1.0, list(fills)) for root in range(roots)]
    grow(ask, trees, settings)
    for _ in range(settings.refinements):
        surprised = spot_check(ask, trees, settings, rng)
        if not surprised:
            return [leaf for tree in trees for leaf in leaves(tree)]
        if suspicious and any(isinstance(node.atom, Uniform) and node.atom.size > 1 for node in surprised):
            raise _MayBeRace
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


def cut(node: Node, settings: Settings) -> Asking:
    """Find what the node's next atom is and give it one child for each cell."""
    runs = yield [Tape(node.root, node.fixed, fill) for fill in node.fills]
    node.children = []
    where = (node.root, node.fixed, node.fills)
    position, atom = _next_atom(node, runs)
    while settings.gumbel and isinstance(atom, Uniform) and atom.size > 1 and position - atom.offset not in node.races:
        node.races[position] = yield from is_race(where, Field(position, atom.size, GUMBEL))
        position, atom = _next_atom(node, runs)
    node.atom = atom
    if atom is None:
        results = {run.result for run in runs}
        if len(results) > 1:
            raise Undecided(
                "equal draws led to different results: the subject has randomness that the probe cannot see"
            )
        node.result = results.pop()
    elif _races(atom, node, position):
        scale = DRAWN if isinstance(atom, Exponential) else GUMBEL
        race = yield from read_race(where, Field(position, atom.size, scale))
        node.divide(position, *_race_cells(race))
    else:
        if isinstance(atom, Choice):
            edges = [*np.cumsum(atom.weights).tolist()[:-1], 1.0]
            if settings.idle_choices and (yield from _decides_nothing(node, position, edges)):
                edges = [1.0]
        else:
            assert isinstance(atom, Uniform)
            edges = yield from _changes(node, position, atom, settings)
        node.divide(position, *_interval_cells(position, edges, atom))


def _decides_nothing(node: Node, position: int, edges: list[float]) -> Asking:
    """Whether all values of a choice lead to the same under every filling; spot checks find where that is not so."""
    inside = [low + (high - low) / 2 for low, high in pairwise([0.0, *edges]) if high > low]
    fixed = [fix(node.fixed, {position: quantile}) for quantile in inside]
    runs = yield [Tape(node.root, answers, fill) for answers in fixed for fill in node.fills]
    seen = [run.behaviour for run in runs]
    count = len(node.fills)
    return all(seen[i : i + count] == seen[:count] for i in range(0, len(seen), count))


def _races(atom: Atom, node: Node, position: int) -> TypeGuard[Exponential | Uniform]:
    """Whether an atom belongs to a race."""
    return isinstance(atom, Exponential) or (
        isinstance(atom, Uniform) and node.races.get(position - atom.offset, False)
    )


def _next_atom(node: Node, runs: list[Run]) -> tuple[int, Atom | None]:
    """The first atom that is open. Races wait for the others: which race decides may depend on a later coin."""
    fixed = node.fixed
    waiting: tuple[int, Atom] | None = None
    for position in range(max(len(run.atoms) for run in runs)):
        if position < len(fixed) and not math.isnan(fixed[position]):
            continue
        found = {run.atoms[position] if position < len(run.atoms) else None for run in runs}
        if len(found) > 1:  # depends on a draw that is open: on the race that waits, or on nothing that was drawn
            if waiting is None:
                raise Undecided(
                    "equal draws led to different draws: the subject has randomness that the probe cannot see"
                )
            break
        (atom,) = found
        if atom is not None and not _races(atom, node, position):
            return position, atom
        if atom is not None and waiting is None:
            waiting = position, atom
    return waiting if waiting is not None else (0, None)


def _interval_cells(position: int, edges: list[float], atom: Atom) -> tuple[list[Cell], Locate]:
    """Cells between the edges on one axis, each answered in its middle (on the lattice of a uniform)."""
    cells, ends, low = [], [], 0.0
    for edge in edges:
        if edge > low:
            middle = low + (edge - low) / 2
            if isinstance(atom, Uniform):
                middle = low + math.floor((edge - low) * 2**atom.bits / 2) / 2**atom.bits
            cells.append(Cell(edge - low, {position: middle}, (low, edge)))
            ends.append(edge)
            low = edge
    return cells, lambda quantiles: min(int(np.searchsorted(ends, quantiles[position], side="right")), len(ends) - 1)


def _race_cells(race: RaceCells) -> tuple[list[Cell], Locate]:
    """One cell for each index that can win the race."""
    able = [j for j, weight in enumerate(race.weights) if weight > 0]
    cells = [Cell(race.weights[j], race.forced(j)) for j in able]
    return cells, lambda quantiles: able.index(race.winner(quantiles))


def _changes(node: Node, position: int, atom: Uniform, settings: Settings) -> Asking:
    """Upper ends of the cells of a uniform atom: lattice points where the behaviour changes under some filling."""
    size = 2**atom.bits
    seen: dict[int, list[Any]] = {}

    def behaviours(points: list[int], fills: list[tuple[float, ...]]) -> Asking:
        tapes = [Tape(node.root, fix(node.fixed, {position: point / size}), fill) for point in points for fill in fills]
        runs = yield tapes
        return [run.behaviour for run in runs]

    def observe(points: list[int]) -> Asking:
        new = [point for point in dict.fromkeys(points) if point not in seen]
        found = yield from behaviours(new, node.fills)
        for i, point in enumerate(new):
            seen[point] = found[i * len(node.fills) : (i + 1) * len(node.fills)]

    yield from observe([round(i * (size - 1) / (settings.grid - 1)) for i in range(settings.grid)])
    yield from observe([int(point * size) for point in node.points])
    open_intervals = list(pairwise(sorted(seen)))
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
    return [(leaf.root, leaf.mass, leaf.result) for leaf in _ends(node)]


def _ends(node: Node) -> list[Node]:
    if not node.children:
        return [node]
    return [leaf for child in node.children for leaf in _ends(child)]


def located(tree: Node, quantiles: Sequence[float]) -> list[Node]:
    """The nodes from the root to the leaf in whose cell the quantiles lie."""
    chain = [tree]
    while chain[-1].children:
        here = chain[-1]
        chain.append(here.children[here.locate(quantiles)])
    return chain


def spot_check(ask: Ask, trees: list[Node], settings: Settings, rng: np.random.Generator) -> list[Node]:
    """Run random quantiles and return the nodes whose cells they contradict, each with the witness as a new filling."""
    order = rng.permutation(len(trees))
    tapes = [Tape(int(order[i % len(trees)]), (), tuple(rng.random(PERIOD))) for i in range(settings.spot_checks)]
    ends = [leaf for tree in trees for leaf in _ends(tree)] if settings.each_cell else []
    tapes += [Tape(leaf.root, (), leaf.somewhere(rng)) for leaf in ends for _ in range(settings.each_cell)]
    contradicted: dict[int, Node] = {}
    for tape, run in zip(tapes, ask(tapes), strict=True):
        chain = located(trees[tape.root], tape.fill)
        if run.result == chain[-1].result or tape.root in contradicted:
            continue
        # Replace the random quantiles by the cells' own, one after the other: the step that changes the result names
        # the axis whose cells are too coarse under this filling.
        runs = ask([Tape(tape.root, node.fixed, tape.fill) for node in chain])
        changes = [i for i in range(1, len(runs)) if runs[i].result != runs[i - 1].result]
        if not changes:
            raise Undecided("the same draws led to different results: the subject has randomness the probe cannot see")
        node, child = chain[changes[0] - 1], chain[changes[0]]
        node.fills.append(tape.fill)
        node.points += [tape.fill[node.position], child.fixed[node.position]]
        contradicted[tape.root] = node
    return list(contradicted.values())
