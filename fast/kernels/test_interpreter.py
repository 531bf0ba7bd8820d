"""The kernels' tests in Triton's interpreter, in a process of their own: the variable must be set before Triton is imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from specproof.fast import kernels

TESTS = Path(__file__).with_name("test_parity.py")


@pytest.mark.skipif(not kernels.HAS_TRITON, reason="Triton is not installed: pip install specproof[kernels]")
def test_kernels_agree_with_torch_in_the_interpreter() -> None:
    """Every kernel on odd sizes, against the torch code."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS)]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": "", "PYTEST_ADDOPTS": ""}
    found = subprocess.run(command, env=environment, cwd=TESTS.parents[2], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert " passed" in found.stdout


def test_kernels_are_left_alone_on_the_cpu() -> None:
    """CPU tensors go through torch, Triton or not."""
    assert not kernels.usable(torch.device("cpu"))
    assert kernels.usable(torch.device("cuda")) == kernels.HAS_TRITON
