"""Scripted randomness: every kind of draw, its atoms and its refusals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from specproof.properties.evidence.intercept import Interception
from specproof.properties.evidence.script import Choice, NotRowwise, Uniform
from specproof.properties.verdict import Undecided

Program = Callable[..., Tensor]  # of the handed generator


def scripted(quantiles: list[float], program: Program) -> tuple[list[float], list[Any]]:
    """Run a program on one row of quantiles; return its values and the atoms that it drew."""
    with Interception(np.array([quantiles])) as script:
        values = program(script.generator)
    return values.flatten().tolist(), script.atoms[0]


WEIGHTS = torch.tensor([0.0, 1.0, 3.0])


@pytest.mark.parametrize(
    "program",
    [
        lambda _: torch.rand(2),
        lambda handed: torch.rand(1, 2, generator=handed),
        lambda _: torch.rand(2, out=torch.empty(2)),
        lambda _: torch.rand_like(torch.zeros(2)),
        lambda _: torch.empty(2).uniform_(),
        lambda handed: torch.empty(2).uniform_(generator=handed),
        lambda _: torch.distributions.Uniform(0.0, 1.0).sample((2,)),
    ],
    ids=[
        "rand",
        "rand with generator",
        "rand into a tensor",
        "rand_like",
        "uniform_",
        "uniform_ with generator",
        "distribution",
    ],
)
def test_uniform_draws_return_the_script(program: Program) -> None:
    """Each number is the quantile on the lattice of float32, in order."""
    values, atoms = scripted([0.25, 0.75 + 2**-30], program)
    assert values == [0.25, 0.75]
    assert [type(atom) for atom in atoms] == [Uniform, Uniform]
    assert {atom.bits for atom in atoms if isinstance(atom, Uniform)} == {24}


@pytest.mark.parametrize(("dtype", "bits"), [(torch.float64, 32), (torch.float32, 24), (torch.bfloat16, 8)])
def test_uniform_lattice_is_that_of_the_dtype(dtype: torch.dtype, bits: int) -> None:
    """The largest quantile gives the largest number that torch can draw, never one."""
    values, atoms = scripted([1 - 2.0**-53], lambda _: torch.rand(1, dtype=dtype).double())
    assert values == [1 - 2.0**-bits]
    assert atoms == [Uniform(bits)]


@pytest.mark.parametrize("quantile", [0.0, 0.2, 0.3, 1 - 2.0**-53])
def test_multinomial_is_read_by_its_weights(quantile: float) -> None:
    """Index 1 below a quarter, index 2 above; the index without weight never, not even at quantile 0."""
    values, atoms = scripted([quantile], lambda _: torch.multinomial(WEIGHTS, 1))
    assert values == [1 if quantile < 0.25 else 2]
    assert atoms == [Choice((0.0, 0.25, 0.75))]


def test_multinomial_without_replacement_draws_from_what_is_left() -> None:
    """The second draw has the weights without the first index."""
    values, atoms = scripted([0.5, 0.5], lambda _: torch.multinomial(WEIGHTS, 2))
    assert values == [2, 1]
    assert atoms == [Choice((0.0, 0.25, 0.75)), Choice((0.0, 1.0, 0.0))]


@pytest.mark.parametrize(
    "program",
    [
        lambda _: torch.bernoulli(torch.tensor([0.25])),
        lambda _: torch.empty(1).bernoulli_(0.25),
        lambda _: torch.empty(1).bernoulli_(torch.tensor([0.25])),
        lambda _: torch.distributions.Bernoulli(torch.tensor([0.25])).sample(),
    ],
    ids=["bernoulli", "bernoulli_ number", "bernoulli_ tensor", "distribution"],
)
def test_bernoulli_is_a_choice_of_two(program: Program) -> None:
    """A coin is read, not bisected."""
    assert scripted([0.74], program) == ([0.0], [Choice((0.75, 0.25))])
    assert scripted([0.76], program) == ([1.0], [Choice((0.75, 0.25))])


def test_randint_is_an_even_choice() -> None:
    """Integers are equally likely."""
    assert scripted([0.6], lambda _: torch.randint(5, 7, (1,))) == ([6], [Choice((0.5, 0.5))])


def test_categorical_distribution_is_read() -> None:
    """``torch.distributions.Categorical`` draws through multinomial."""
    values, _ = scripted([0.3], lambda _: torch.distributions.Categorical(WEIGHTS).sample())
    assert values == [2]


def test_rows_of_a_batch_get_their_own_quantiles() -> None:
    """With several rows the leading dimension of a draw is the batch."""
    with Interception(np.array([[0.25, 0.5], [0.75, 0.0]])) as script:
        first, second = torch.rand(2, 1), torch.multinomial(torch.ones(2, 2), 1)
    assert first.tolist() == [[0.25], [0.75]]
    assert second.tolist() == [[1], [0]]
    assert script.atoms[0] == [Uniform(24), Choice((0.5, 0.5))]


@pytest.mark.parametrize(
    "program", [lambda _: torch.rand(3), lambda _: torch.multinomial(torch.ones(4), 1), lambda _: torch.rand(())]
)
def test_draws_that_belong_to_no_row_are_reported(program: Program) -> None:
    """A draw in a batch whose leading dimension is not the batch cannot be attributed."""
    with pytest.raises(NotRowwise), Interception(np.zeros((2, 9))):
        program(None)


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        (lambda _: torch.randn(1, dtype=torch.float64), 0.6744897501960817),
        (lambda _: torch.randn_like(torch.zeros(1, dtype=torch.float64)), 0.6744897501960817),
        (lambda handed: torch.normal(torch.ones(1).double(), 2.0, generator=handed), 1 + 2 * 0.6744897501960817),
        (lambda _: torch.empty(1).double().normal_(1, 2), 1 + 2 * 0.6744897501960817),
        (lambda _: torch.empty(1).double().exponential_(2.0), np.log(4) / 2),
        (lambda _: torch.empty(1).double().log_normal_(0.0, 1.0), np.exp(0.6744897501960817)),
        (lambda _: torch.empty(1).double().cauchy_(), 1.0),
        (lambda _: torch.empty(1).geometric_(0.5), 3.0),
        (lambda _: torch.empty(1).random_(), 0.75 * 2**24),
        (lambda _: torch.empty(1, dtype=torch.int64).random_(8), 6),
        (lambda _: torch.empty(1, dtype=torch.int64).random_(10, 18), 16),
        (lambda _: torch.randint(0, 2**40, (1,)), 0.75 * 2**40),
        (lambda _: torch.randint_like(torch.zeros(1), 8), 6),
    ],
)
def test_other_draws_are_the_quantiles_of_their_law(program: Program, wanted: float) -> None:
    """At quantile 3/4 each draw is the upper quartile of its law."""
    values, _ = scripted([0.75], program)
    assert values == [pytest.approx(wanted, rel=1e-6)]


def test_randperm_chooses_among_what_is_left() -> None:
    """A random order is one choice after the other."""
    assert scripted([0.5, 0.0, 0.0], lambda _: torch.randperm(3))[0] == [1, 0, 2]


@pytest.mark.parametrize(
    "program",
    [
        lambda _: torch.poisson(torch.ones(1)),
        lambda _: torch.binomial(torch.ones(1), torch.ones(1)),
        lambda _: torch.distributions.Dirichlet(torch.ones(3)).sample(),
    ],
    ids=["poisson", "binomial", "dirichlet"],
)
def test_draws_that_cannot_be_scripted_are_undecided(program: Program) -> None:
    """Nothing random passes unseen, tagged by torch as random or not: what is not known is named."""
    with pytest.raises(Undecided, match=r"aten::.*cannot script"), Interception(np.zeros((1, 9))):
        program(None)


@pytest.mark.parametrize(
    "program",
    [
        lambda _: torch.rand(1, generator=torch.Generator().manual_seed(5)),
        lambda handed: torch.rand(1, generator=handed.manual_seed(5)),
        lambda handed: torch.rand(1, generator=torch.Generator().manual_seed(handed.initial_seed())),
        lambda _: (torch.manual_seed(5), torch.rand(1))[1],
        lambda _: torch.rand(1, generator=torch.Generator()),
    ],
    ids=["constant", "reseeded", "seed of the handed", "global", "unseeded"],
)
def test_generators_that_are_seeded_in_the_call_answer_for_themselves(program: Program) -> None:
    """Their numbers are the same whatever the script says, so that what they make deterministic is seen to be so."""
    (first, _), (second, atoms) = scripted([0.1], program), scripted([0.9], program)
    assert first == second
    assert atoms == []


def test_global_generator_is_put_back() -> None:
    """Neither scripted draws nor seeds of the subject are left behind."""
    before = torch.get_rng_state()
    scripted([0.5], lambda _: (torch.rand(1), torch.manual_seed(3))[0])
    assert torch.equal(before, torch.get_rng_state())


def test_too_many_draws_are_undecided() -> None:
    """A request that draws without end is not probed for ever."""
    with pytest.raises(Undecided, match="more than 2 random numbers"), Interception(np.zeros((1, 2))):
        torch.rand(3)
