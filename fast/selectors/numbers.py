"""Numpy's side of the selectors: what is small and takes many steps is worked out on the CPU, whatever the rows live on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


def numbers(tensor: Tensor) -> NDArray[Any]:
    """A tensor for numpy; on the CPU it is not copied."""
    found: NDArray[Any] = tensor.cpu().numpy()
    return found
