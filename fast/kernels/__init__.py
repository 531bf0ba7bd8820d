"""Triton kernels for what reads whole rows: residual sums and draws, ratio histograms. Torch does the same elsewhere.

``usable`` is the one switch: kernels run on CUDA tensors where Triton is installed (``pip install specproof[kernels]``).
Their modules import Triton, so they are imported only where ``usable`` says so.

INTERPRETER. With ``TRITON_INTERPRET=1`` in the environment before anything imports Triton, kernels run on CPU tensors,
program after program in numpy. The variable is read when a kernel is defined, which is why ``test_interpreter.py`` starts
a process of its own.
"""

from importlib.util import find_spec

import torch

HAS_TRITON = find_spec("triton") is not None
AS_WRITTEN = {"enable_fp_fusion": False}  # no fused multiply-add: the same line gives the same bits in every kernel


def usable(device: torch.device) -> bool:
    """Whether kernels run on tensors of this device."""
    return device.type == "cuda" and HAS_TRITON
