"""Means over simulated requests, with standard errors that hold for the models drawn: only the noise of the simulation."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Mean:
    """An estimate and its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Tensor, models: int) -> "Mean":
        """Of values [B] of requests that were dealt out to ``models`` in turn."""
        by_model = values.double().view(-1, models)
        spread = by_model.var(0).mean() / len(values) if len(by_model) > 1 else torch.tensor(torch.nan)
        return cls(float(by_model.mean()), float(spread.sqrt()))

    def minus(self, other: "Mean") -> "Mean":
        """The difference, the two simulated independently."""
        return Mean(self.value - other.value, (self.error**2 + other.error**2) ** 0.5)

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.error:.3f})"

    @property
    def json(self) -> dict[str, float]:
        """For the report."""
        return {"value": round(self.value, 6), "standard_error": round(self.error, 6)}
