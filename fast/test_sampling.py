"""The plain path: what each sampling parameter makes of a row, and in which order."""

import pytest
import torch

from specproof.fast.sampling import Grammar, LogitBias, Penalties, Sampling

TEXT = torch.tensor([0])


def row(probabilities: list[float], text: torch.Tensor = TEXT, **parameters: object) -> list[float]:
    """The row that sampling makes of these probabilities."""
    made = Sampling(**parameters).row(text, torch.tensor(probabilities).log())  # type: ignore[arg-type]
    return [round(float(share), 4) for share in made]


@pytest.mark.parametrize(
    ("probabilities", "parameters", "expected"),
    [
        ([0.5, 0.3, 0.2], {}, [0.5, 0.3, 0.2]),
        ([0.5, 0.3, 0.2], {"temperature": 0.5}, [0.6579, 0.2368, 0.1053]),
        ([0.5, 0.3, 0.2], {"temperature": 2.0}, [0.4154, 0.3218, 0.2628]),
        ([0.4, 0.4, 0.2], {"temperature": 0.0}, [1.0, 0.0, 0.0]),
        ([0.5, 0.3, 0.15, 0.05], {"top_p": 0.8}, [0.625, 0.375, 0.0, 0.0]),
        ([0.2, 0.5, 0.3], {"top_k": 2}, [0.0, 0.625, 0.375]),
        ([0.4, 0.25, 0.15, 0.1, 0.1], {"top_k": 3, "top_p": 0.8}, [0.6154, 0.3846, 0.0, 0.0, 0.0]),
        ([0.5, 0.3, 0.2], {"processors": (LogitBias({2: torch.log(torch.tensor(4.0)).item()}),)}, [0.3125, 0.1875, 0.5]),
        ([0.5, 0.3, 0.2], {"processors": (Penalties(presence=0.693147),)}, [0.3333, 0.4, 0.2667]),
        ([0.4, 0.2, 0.4], {"processors": (Grammar({0: (0, 1)}),)}, [0.6667, 0.3333, 0.0]),
    ],
)  # fmt: skip
def test_rows_are_those_of_hand_computation(
    probabilities: list[float], parameters: dict[str, object], expected: list[float]
) -> None:
    """Temperature, filters one after the other, bias, penalties and grammar, to four decimals."""
    assert row(probabilities, **parameters) == expected


def test_frequency_counts_every_occurrence() -> None:
    """A token that is in the text twice is penalised twice, presence only once."""
    twice = torch.tensor([1, 1])
    assert row([0.5, 0.5], twice, processors=(Penalties(frequency=0.693147),)) == [0.8, 0.2]
    assert row([0.5, 0.5], twice, processors=(Penalties(presence=0.693147),)) == [0.6667, 0.3333]


@pytest.mark.parametrize("parameters", [{"temperature": -1.0}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}])
def test_parameters_outside_their_range_are_refused(parameters: dict[str, float]) -> None:
    """The message says what is allowed."""
    with pytest.raises(ValueError, match=r"must be"):
        Sampling(**parameters)  # type: ignore[arg-type]


def test_needs_are_the_capabilities_that_parameters_ask_for() -> None:
    """Plain sampling needs nothing."""
    assert Sampling().needs == frozenset()
    assert Sampling(temperature=0.0, top_k=2, stop=1).needs == {"greedy", "filters", "stop"}
