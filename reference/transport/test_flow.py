"""The flow respects its network, and its value is the capacity of its cut: together a proof that it is maximal."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow as scipy_maximum_flow

from specproof.reference.testing import generated
from specproof.reference.transport.flow import Arc, Flow, maximum_flow


def check(nodes: int, arcs: list[Arc], found: Flow) -> None:
    """Raise unless the flow is one, from node 0 to the last, and as large as the cut allows."""
    balance = [0] * nodes
    for (tail, head, capacity), moved in zip(arcs, found.arcs, strict=True):
        assert 0 <= moved <= capacity
        balance[tail] -= moved
        balance[head] += moved
    assert balance == [-found.value, *[0] * (nodes - 2), found.value]
    assert 0 in found.source_side
    assert nodes - 1 not in found.source_side
    assert found.value == sum(
        capacity for tail, head, capacity in arcs if tail in found.source_side and head not in found.source_side
    )


@given(
    st.integers(2, 8).flatmap(
        lambda nodes: st.tuples(
            st.just(nodes),
            st.lists(
                st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1), st.integers(0, 6)), max_size=4 * nodes
            ),
        )
    )
)
@generated(300)
def test_flow_equals_cut(network: tuple[int, list[Arc]]) -> None:
    """Any network: parallel arcs, loops, cycles and dead ends included."""
    nodes, arcs = network
    check(nodes, arcs, maximum_flow(nodes, arcs, 0, nodes - 1))


def test_same_value_as_another_implementation() -> None:
    """Larger random networks agree with scipy's."""
    dice = random.Random(0)
    for _ in range(20):
        capacities = np.array([[dice.choice((0, 0, dice.randrange(50))) for _ in range(30)] for _ in range(30)])
        arcs = [(int(tail), int(head), int(capacities[tail, head])) for tail, head in np.argwhere(capacities)]
        found = maximum_flow(30, arcs, 0, 29)
        check(30, arcs, found)
        assert found.value == scipy_maximum_flow(csr_matrix(capacities.astype(np.int32)), 0, 29).flow_value


def test_integers_beyond_machine_words() -> None:
    """Capacities of any size are exact."""
    huge = 10**40
    assert maximum_flow(3, [(0, 1, huge + 1), (1, 2, huge + 2)], 0, 2).value == huge + 1


def test_long_path() -> None:
    """A path longer than Python's stack."""
    arcs = [(node, node + 1, 7) for node in range(5000)]
    assert maximum_flow(5001, arcs, 0, 5000).value == 7


def test_negative_capacity() -> None:
    """A negative capacity is refused."""
    with pytest.raises(ValueError, match="capacities must not be negative, got -1"):
        maximum_flow(2, [(0, 1, -1)], 0, 1)
