"""Maximum flow in integers, and the cut that proves it (Dinic 1970).

Arcs of the shortest residual paths form layers; a depth-first search saturates them, then the layers are found anew.
When the sink is out of reach, the nodes still in reach are the source side of a minimum cut: its capacity equals the
flow. Everything is a Python integer, so scaled probabilities of any size are exact.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

Arc = tuple[int, int, int]  # tail, head, capacity


@dataclass(frozen=True)
class Flow:
    """A maximum flow: its value, the flow on each arc as given, and the source side of the minimum cut."""

    value: int
    arcs: tuple[int, ...]
    source_side: frozenset[int]


class _Residual:
    """Arc 2i is the i-th arc as given, arc 2i + 1 its reverse; ``room`` is what each can still carry."""

    def __init__(self, nodes: int, arcs: Sequence[Arc]) -> None:
        self.heads: list[int] = []
        self.room: list[int] = []
        self.leaving: list[list[int]] = [[] for _ in range(nodes)]
        for tail, head, capacity in arcs:
            for start, end, room in ((tail, head, capacity), (head, tail, 0)):
                self.leaving[start].append(len(self.heads))
                self.heads.append(end)
                self.room.append(room)

    def layers(self, source: int) -> list[int]:
        """Distance of every node from the source along arcs with room; -1 out of reach."""
        layer = [-1] * len(self.leaving)
        layer[source] = 0
        queue = deque([source])
        while queue:
            node = queue.popleft()
            for arc in self.leaving[node]:
                if self.room[arc] and layer[self.heads[arc]] < 0:
                    layer[self.heads[arc]] = layer[node] + 1
                    queue.append(self.heads[arc])
        return layer

    def saturate(self, layer: list[int], source: int, sink: int) -> int:
        """Push flow along the layers until no path of them is left. A loop, as paths may be longer than the stack."""
        pushed, path = 0, list[int]()
        tried = [0] * len(self.leaving)  # arcs before this one lead nowhere in these layers
        while True:
            node = self.heads[path[-1]] if path else source
            if node == sink:
                amount = min(self.room[arc] for arc in path)
                for arc in path:
                    self.room[arc] -= amount
                    self.room[arc ^ 1] += amount
                pushed += amount
                del path[next(i for i, arc in enumerate(path) if not self.room[arc]) :]
            elif tried[node] < len(self.leaving[node]):
                arc = self.leaving[node][tried[node]]
                if self.room[arc] and layer[self.heads[arc]] == layer[node] + 1:
                    path.append(arc)
                else:
                    tried[node] += 1
            elif path:
                layer[node] = -1
                path.pop()
            else:
                return pushed


def maximum_flow(nodes: int, arcs: Sequence[Arc], source: int, sink: int) -> Flow:
    """Return a maximum flow between two nodes of 0..nodes-1. Raises ``ValueError`` for a negative capacity."""
    if any(capacity < 0 for _, _, capacity in arcs):
        raise ValueError(f"capacities must not be negative, got {min(capacity for _, _, capacity in arcs)}")
    residual = _Residual(nodes, arcs)
    value = 0
    while (layer := residual.layers(source))[sink] >= 0:
        value += residual.saturate(layer, source, sink)
    return Flow(value, tuple(residual.room[1::2]), frozenset(n for n in range(nodes) if layer[n] >= 0))
