"""Scripted randomness: every kind of draw, its atoms and its refusals."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from specproof.properties.evidence.intercept import Choice, Interception, NotRowwise, Uniform
from specproof.properties.verdict import Undecided


def scripted(quantiles: list[float], program: Callable[[], Tensor]) -> tuple[list[float], list[Uniform | Choice]]:
    """Run a program on one row of quantiles; return its values and the atoms that it drew."""
    with Interception(np.array([quantiles])) as script:
        values = program()
    return values.flatten().tolist(), script.atoms[0]


WEIGHTS = torch.tensor([0.0, 1.0, 3.0])
GENERATOR = torch.Generator()


@pytest.mark.parametrize(
    "program",
    [
        lambda: torch.rand(2),
        lambda: torch.rand(1, 2, generator=GENERATOR),
        lambda: torch.rand_like(torch.zeros(2)),
        lambda: torch.empty(2).uniform_(),
        lambda: torch.empty(2).uniform_(generator=GENERATOR),
        lambda: torch.distributions.Uniform(0.0, 1.0).sample((2,)),
    ],
    ids=["rand", "rand with generator", "rand_like", "uniform_", "uniform_ with generator", "distribution"],
)
def test_uniform_draws_return_the_script(program: Callable[[], Tensor]) -> None:
    """Each number is the quantile on the lattice of float32, in order."""
    values, atoms = scripted([0.25, 0.75 + 2**-30], program)
    assert values == [0.25, 0.75]
    assert [type(atom) for atom in atoms] == [Uniform, Uniform]
    assert {atom.bits for atom in atoms if isinstance(atom, Uniform)} == {24}


@pytest.mark.parametrize(("dtype", "bits"), [(torch.float64, 32), (torch.float32, 24), (torch.bfloat16, 8)])
def test_uniform_lattice_is_that_of_the_dtype(dtype: torch.dtype, bits: int) -> None:
    """The largest quantile gives the largest number that torch can draw, never one."""
    values, atoms = scripted([1 - 2.0**-53], lambda: torch.rand(1, dtype=dtype).double())
    assert values == [1 - 2.0**-bits]
    assert atoms == [Uniform(bits)]


@pytest.mark.parametrize("quantile", [0.0, 0.2, 0.3, 1 - 2.0**-53])
def test_multinomial_is_read_by_its_weights(quantile: float) -> None:
    """Index 1 below a quarter, index 2 above; the index without weight never, not even at quantile 0."""
    values, atoms = scripted([quantile], lambda: torch.multinomial(WEIGHTS, 1))
    assert values == [1 if quantile < 0.25 else 2]
    assert atoms == [Choice((0.0, 0.25, 0.75))]


def test_multinomial_without_replacement_draws_from_what_is_left() -> None:
    """The second draw has the weights without the first index."""
    values, atoms = scripted([0.5, 0.5], lambda: torch.multinomial(WEIGHTS, 2))
    assert values == [2, 1]
    assert atoms == [Choice((0.0, 0.25, 0.75)), Choice((0.0, 1.0, 0.0))]


@pytest.mark.parametrize(
    "program",
    [
        lambda: torch.bernoulli(torch.tensor([0.25])),
        lambda: torch.empty(1).bernoulli_(0.25),
        lambda: torch.empty(1).bernoulli_(torch.tensor([0.25])),
        lambda: torch.distributions.Bernoulli(torch.tensor([0.25])).sample(),
    ],
    ids=["bernoulli", "bernoulli_ number", "bernoulli_ tensor", "distribution"],
)
def test_bernoulli_is_a_choice_of_two(program: Callable[[], Tensor]) -> None:
    """A coin is read, not bisected."""
    assert scripted([0.74], program) == ([0.0], [Choice((0.75, 0.25))])
    assert scripted([0.76], program) == ([1.0], [Choice((0.75, 0.25))])


def test_randint_is_an_even_choice() -> None:
    """Integers are equally likely."""
    assert scripted([0.6], lambda: torch.randint(5, 7, (1,))) == ([6], [Choice((0.5, 0.5))])


def test_categorical_distribution_is_read() -> None:
    """``torch.distributions.Categorical`` draws through multinomial."""
    values, _ = scripted([0.3], lambda: torch.distributions.Categorical(WEIGHTS).sample())
    assert values == [2]


def test_rows_of_a_batch_get_their_own_quantiles() -> None:
    """With several rows the leading dimension of a draw is the batch."""
    with Interception(np.array([[0.25, 0.5], [0.75, 0.0]])) as script:
        first, second = torch.rand(2, 1), torch.multinomial(torch.ones(2, 2), 1)
    assert first.tolist() == [[0.25], [0.75]]
    assert second.tolist() == [[1], [0]]
    assert script.atoms[0] == [Uniform(24), Choice((0.5, 0.5))]


@pytest.mark.parametrize(
    "program", [lambda: torch.rand(3), lambda: torch.multinomial(torch.ones(4), 1), lambda: torch.rand(())]
)
def test_draws_that_belong_to_no_row_are_reported(program: Callable[[], Tensor]) -> None:
    """A draw in a batch whose leading dimension is not the batch cannot be attributed."""
    with pytest.raises(NotRowwise), Interception(np.zeros((2, 9))):
        program()


@pytest.mark.parametrize("program", [lambda: torch.randn(1), lambda: torch.randperm(3)])
def test_draws_that_cannot_be_scripted_are_undecided(program: Callable[[], Tensor]) -> None:
    """Nothing random passes unseen: what is not known is named."""
    with pytest.raises(Undecided, match="cannot script"), Interception(np.zeros((1, 9))):
        program()


def test_too_many_draws_are_undecided() -> None:
    """A request that draws without end is not probed for ever."""
    with pytest.raises(Undecided, match="more than 2 random numbers"), Interception(np.zeros((1, 2))):
        torch.rand(3)
