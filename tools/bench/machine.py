"""The machine that was measured on: what it is called, and how fast it copies memory with one thread."""

import platform
from dataclasses import dataclass
from pathlib import Path

import torch

from specproof.bench.clock import Contender, measure

COPIED = 1 << 28  # bytes: far more than a cache holds


@dataclass(frozen=True)
class Machine:
    """One device."""

    processor: str
    device: torch.device
    copy: float  # bytes read and written a second when a large tensor is copied

    def milliseconds(self, bytes_: float) -> float:
        """Time to touch that many bytes at the speed of a copy."""
        return 1e3 * bytes_ / self.copy

    def describe(self) -> str:
        """One line."""
        threads = "" if self.device.type != "cpu" else ", one thread"
        return f"{self.processor}{threads}; torch {torch.__version__}; copies {self.copy / 1e9:.1f} GB/s (read and written)"

    @property
    def json(self) -> dict[str, object]:
        """For the report."""
        return {
            "processor": self.processor, "device": self.device.type, "threads": torch.get_num_threads(),
            "torch": torch.__version__, "python": platform.python_version(), "copy_bytes_per_second": round(self.copy),
        }  # fmt: skip


def machine(device: torch.device, *, copied: int = COPIED) -> Machine:
    """Describe this machine and time a copy of ``copied`` bytes."""
    source = torch.ones(copied // 4, device=device)
    destination = torch.empty_like(source)
    timing = measure([Contender("copy", lambda _: destination.copy_(source))], seconds=0.5, device=device)[0]
    return Machine(_processor(device), device, 2 * copied / (timing.milliseconds.median / 1e3))


def _processor(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text().splitlines() if listing.exists() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or "unknown processor"
