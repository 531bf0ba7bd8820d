"""Draws of numpy and of Python's ``random``: read by their laws, refused by name, real again afterwards."""

# ruff: noqa: NPY002, PLW0108 - what is tested here is what others should not use, looked up when it is called

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from specproof.properties.evidence.intercept import Interception
from specproof.properties.evidence.numpy_draws import GeneratorTwin
from specproof.properties.evidence.script import Choice, Exponential, NotRowwise, Uniform
from specproof.properties.verdict import Undecided

RNG = GeneratorTwin()
UPPER = 0.6744897501960817  # upper quartile of the normal law
Program = Callable[[], Any]


def scripted(quantiles: list[float], program: Program) -> tuple[list[Any], list[Any]]:
    """Run a program on one row of quantiles; return its values and the atoms that it drew."""
    with Interception(np.array([quantiles])) as script:
        values = program()
    return np.asarray(values).flatten().tolist(), script.atoms[0]


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        (lambda: RNG.random(), 0.75),
        (lambda: RNG.random(1, dtype=np.float32), 0.75),
        (lambda: RNG.random(out=np.empty(1)), 0.75),
        (lambda: RNG.uniform(2, 4), 3.5),
        (lambda: RNG.integers(8), 6),
        (lambda: RNG.integers(0, 7, endpoint=True), 6),
        (lambda: RNG.integers(2**40), 0.75 * 2**40),
        (lambda: RNG.choice(4), 3),
        (lambda: RNG.choice([5, 6, 7], p=[0.5, 0.2, 0.3]), 7),
        (lambda: RNG.binomial(1, 0.3), 1),
        (lambda: RNG.normal(1, 2), 1 + 2 * UPPER),
        (lambda: RNG.standard_normal(), UPPER),
        (lambda: RNG.exponential(2.0), 2 * np.log(4)),
        (lambda: RNG.standard_exponential(), np.log(4)),
        (lambda: RNG.gumbel(), -np.log(np.log(4))),
        (lambda: RNG.geometric(0.5), 3),
        (lambda: np.random.default_rng().random(), 0.75),
        (lambda: np.random.random(), 0.75),
        (lambda: np.random.rand(1), 0.75),
        (lambda: np.random.sample(), 0.75),
        (lambda: np.random.random_sample(1), 0.75),
        (lambda: np.random.uniform(2, 4), 3.5),
        (lambda: np.random.randn(1), UPPER),
        (lambda: np.random.randint(0, 8), 6),
        (lambda: np.random.choice(4), 3),
        (lambda: np.random.exponential(), np.log(4)),
        (lambda: np.random.normal(1, 2), 1 + 2 * UPPER),
        (lambda: random.random(), 0.75),
        (lambda: random.uniform(2, 4), 3.5),
        (lambda: random.randrange(8), 6),
        (lambda: random.randint(1, 8), 7),
        (lambda: random.getrandbits(3), 6),
        (lambda: random.choice("abcd") == "d", True),
        (lambda: random.choices([5, 6, 7], weights=[5, 2, 3]), 7),
        (lambda: random.expovariate(2.0), np.log(4) / 2),
        (lambda: random.gauss(1, 2), 1 + 2 * UPPER),
        (lambda: random.normalvariate(1, 2), 1 + 2 * UPPER),
        (lambda: random.Random().random(), 0.75),
    ],
)
def test_draws_are_the_quantiles_of_their_law(program: Program, wanted: float) -> None:
    """At quantile 3/4 each draw is the upper quartile of its law, and one atom."""
    with Interception(np.array([[0.75]])) as script:
        value = program()
    assert np.asarray(value).flatten().tolist() == [pytest.approx(wanted, rel=1e-6)]
    assert len(script.atoms[0]) == 1


def test_choices_are_read_by_their_weights() -> None:
    """Numpy's categorical draws are choices, with and without replacement."""
    assert scripted([0.3, 0.6], lambda: RNG.choice(3, 2, p=[0.25, 0.25, 0.5])) == (
        [1, 2], [Choice((0.25, 0.25, 0.5))] * 2,
    )  # fmt: skip
    values, atoms = scripted([0.3, 0.6], lambda: RNG.choice(3, 2, replace=False, p=[0.25, 0.25, 0.5]))
    assert values == [1, 2]
    assert atoms[1] == Choice((1 / 3, 0.0, 2 / 3))


def test_multinomial_counts_are_choices() -> None:
    """One choice a trial, added up."""
    assert scripted([0.1, 0.9], lambda: RNG.multinomial(2, [0.5, 0.5])) == ([1, 1], [Choice((0.5, 0.5))] * 2)
    assert scripted([0.9], lambda: np.random.multinomial(1, [0.5, 0.5]))[0] == [0, 1]


def test_orders_choose_among_what_is_left() -> None:
    """A permutation is one choice after the other; ``random.shuffle`` and ``sample`` draw integers."""
    assert scripted([0.5, 0.0, 0.0], lambda: RNG.permutation(3))[0] == [1, 0, 2]
    assert scripted([0.0, 0.0], lambda: random.sample([4, 5, 6], 2))[0] == [4, 6]


def test_exponentials_drawn_together_are_a_race() -> None:
    """Gumbel noise is a race too."""
    assert scripted([0.5, 0.5], lambda: RNG.gumbel(size=2))[1] == [Exponential(2, 0), Exponential(2, 1)]
    assert scripted([0.5, 0.5], lambda: np.random.exponential(size=2))[1] == [Exponential(2, 0), Exponential(2, 1)]


def test_rows_of_a_batch_get_their_own_quantiles() -> None:
    """With several rows the leading dimension is the batch; a single number belongs to nobody."""
    with Interception(np.array([[0.25, 0.5], [0.75, 0.0]])) as script:
        assert RNG.random((2, 1)).tolist() == [[0.25], [0.75]]
        assert RNG.multinomial(1, [[0.5, 0.5], [0.0, 1.0]]).tolist() == [[0, 1], [0, 1]]
    assert script.atoms[0] == [Uniform(32), Choice((0.5, 0.5))]
    for program in (lambda: RNG.random(), lambda: np.random.random(), lambda: random.random()):
        with pytest.raises(NotRowwise), Interception(np.zeros((2, 9))):
            program()


@pytest.mark.parametrize("program", [lambda: RNG.dirichlet([1, 1]), lambda: np.random.beta(1, 1), lambda: RNG.bytes(3)])
def test_draws_that_cannot_be_scripted_are_undecided(program: Program) -> None:
    """What is not known is named."""
    with pytest.raises(Undecided, match=r"numpy .*cannot script"), Interception(np.zeros((1, 9))):
        program()


def seeded_global() -> float:
    """Seed numpy's global generator and draw."""
    np.random.seed(3)
    return float(np.random.random())


def seeded_random() -> float:
    """Seed Python's global generator and draw."""
    random.seed(3)
    return random.random()


def rewound() -> float:
    """Set a generator's state and draw."""
    generator = np.random.default_rng()
    generator.bit_generator.state = np.random.PCG64(3).state
    return float(generator.random())


@pytest.mark.parametrize(
    "program",
    [
        lambda: np.random.default_rng(3).random(),
        lambda: np.random.RandomState(3).random(),
        seeded_global,
        rewound,
        lambda: random.Random(3).random(),
        seeded_random,
    ],
)
def test_generators_that_are_seeded_in_the_call_answer_for_themselves(program: Program) -> None:
    """Their numbers are real ones and the same whatever the script says."""
    (first, _), (second, atoms) = scripted([0.1], program), scripted([0.9], program)
    assert first == second
    assert atoms == []


def test_everything_is_real_again_afterwards() -> None:
    """No patch outlives the interception, also when the subject raises."""
    names = [(np.random, name) for name in dir(np.random)] + [(random, name) for name in dir(random)]
    names += [(random.Random, name) for name in dir(random.Random)]
    before = [getattr(owner, name) for owner, name in names]
    with pytest.raises(KeyError), Interception(np.zeros((1, 9))):
        raise KeyError
    after = [getattr(owner, name) for owner, name in names]
    assert [
        name for (_, name), old, new in zip(names, before, after, strict=True) if old is not new and old != new
    ] == []
