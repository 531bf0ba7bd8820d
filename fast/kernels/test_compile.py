"""Every kernel compiles to machine code for the GPUs it is meant for; needs Triton's compiler but no GPU."""

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")
if os.environ.get("TRITON_INTERPRET") == "1":
    pytest.skip("the interpreter compiles nothing", allow_module_level=True)

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from specproof.fast.kernels import AS_WRITTEN, histogram, residual

ROWS = {"*fp32": tl.float32, "*bf16": tl.float32, "*fp64": tl.float64}
OTHERS = {
    **dict.fromkeys(["request", "path", "position", "tokens", "group"], "*i64"),
    **dict.fromkeys(["cut", "extra", "sums", "uniform", "masses"], "*fp64"),
}


def compiled(kernel: Any, capability: int, rows: str, draft: str, constants: dict[str, Any]) -> dict[str, Any]:
    """What the compiler makes of a kernel for one generation of GPUs and one type of rows."""
    kinds = {**OTHERS, "target": rows, "draft": draft}
    signature = {name: "constexpr" if name in constants else kinds.get(name, "i32") for name in kernel.arg_names}
    source = ASTSource(kernel, signature, {(kernel.arg_names.index(name),): at for name, at in constants.items()})
    return dict(triton.compile(source, target=GPUTarget("cuda", capability, 32), options=AS_WRITTEN).asm)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("capability", [80, 90])
def test_kernels_compile(capability: int, rows: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums, draws, masses and groups; draft rows and one-hot drafts."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    one_hot = rows == "*bf16"
    wide = {"WIDTH": 256, "PADDED": 256, "ONE_HOT": one_hot}
    bins = {"BINS": 10, "OCTAVES": 10, "KIND": ROWS[rows], "TILE": histogram.TILE}
    work = [
        (residual._sum_kernel, "*i64" if one_hot else rows, {**wide, "SPAN": 4}),
        (residual._draw_kernel, "*i64" if one_hot else rows, {**wide, "BLOCKS": 512}),
        (histogram._mass_kernel, rows, {**bins, "HIGH": 16, "LOW": histogram.LOW, "SPAN": histogram.SPAN}),
        (histogram._group_kernel, rows, bins),
    ]
    for kernel, draft, constants in work:
        code = compiled(kernel, capability, rows, draft, constants)
        assert code["cubin"]
        if "BINS" not in constants:  # logarithms and products of tiles are made of them
            assert "fma.rn" not in code["ptx"]
