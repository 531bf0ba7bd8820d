"""One child process and the lines exchanged with it, under limits of time, memory and size.

Whatever goes wrong is ``Undecided`` with the reason and the end of what the process said on standard error: a verdict can
rest on answers only.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specproof.properties.verdict import Undecided

TICK = 0.05  # seconds between two looks at time and memory
CHUNK = 1 << 16
STDERR_TAIL = 2000
LEAST_ANSWER = 1 << 24  # bytes that a line may always have
GROWTH = 4  # and how many times those of the request
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """``seconds`` for each call, ``start`` seconds until hello, ``memory`` in MiB of resident memory (Linux only)."""

    seconds: float = 60.0
    start: float = 120.0
    memory: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value > 0):
                raise ValueError(f"{name} of a process must be a positive number, got {value!r}")


class Channel:
    """A started process. Raises ``Undecided`` when it cannot be started."""

    def __init__(self, command: Sequence[str], limits: Limits, environment: dict[str, str] | None = None) -> None:
        self.limits = limits
        self._out = bytearray()
        self._stderr = b""
        if limits.memory is not None and not Path("/proc/self/statm").exists():
            raise Undecided("a limit of memory needs the /proc of Linux")
        try:
            self._child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
                env={**os.environ, **(environment or {})}, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise Undecided(f"the process cannot be started: {error}") from error
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)

    def hello(self) -> bytes:
        """The first line."""
        return self._line(b"", self.limits.start)

    def ask(self, request: bytes) -> bytes:
        """Send a line and return the one that comes back."""
        if self._out:
            raise self._failed(f"the process wrote a line that nobody asked for: {_short(bytes(self._out))}")
        return self._line(request + b"\n", self.limits.seconds)

    def close(self) -> None:
        """End the process and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            if stream is not None:
                stream.close()

    def _line(self, sending: bytes, seconds: float) -> bytes:
        """Write and read side by side until a line has come."""
        end, most = time.monotonic() + seconds, LEAST_ANSWER + GROWTH * len(sending)
        with selectors.DefaultSelector() as ready:
            for stream in (self._child.stdout, self._child.stderr):
                ready.register(stream, selectors.EVENT_READ)  # type: ignore[arg-type]
            if sending:
                ready.register(self._child.stdin, selectors.EVENT_WRITE)  # type: ignore[arg-type]
            searched = 0
            while (at := self._out.find(b"\n", searched)) < 0:
                searched = len(self._out)
                for key, _ in ready.select(TICK):
                    if key.fileobj is self._child.stdin:
                        sending = self._write(sending)
                        done = not sending
                    else:
                        done = not self._read(key.fileobj)
                    if done:
                        ready.unregister(key.fileobj)
                        if key.fileobj is self._child.stdout:
                            raise self._failed(self._exit())
                self._check(most)
                if time.monotonic() > end:
                    raise self._failed(f"no answer within {seconds:g} s")
        line = bytes(self._out[:at])
        del self._out[: at + 1]
        return line

    def _write(self, sending: bytes) -> bytes:
        """Write what fits and return the rest."""
        assert self._child.stdin is not None
        try:
            return sending[os.write(self._child.stdin.fileno(), sending[:CHUNK]) :]
        except BrokenPipeError:
            return b""  # it has gone, or listens no more: reading will tell

    def _read(self, stream: Any) -> bool:
        """Read what is there; False at the end."""
        data = os.read(stream.fileno(), CHUNK)
        if stream is self._child.stdout:
            self._out += data
        else:
            self._stderr = (self._stderr + data)[-STDERR_TAIL:]
        return bool(data)

    def _check(self, most: int) -> None:
        """Raise where the process takes more than it may."""
        if len(self._out) > most:
            raise self._failed(f"the process wrote {len(self._out):,} bytes without ending the line")
        if self.limits.memory is None:
            return
        try:
            pages = int(Path(f"/proc/{self._child.pid}/statm").read_text().split()[1])
        except OSError:
            return  # it has ended
        used = pages * os.sysconf("SC_PAGE_SIZE") / MEBIBYTE
        if used > self.limits.memory:
            raise self._failed(f"the process uses {used:,.0f} MiB of memory, more than {self.limits.memory:,.0f}")

    def _exit(self) -> str:
        """How the process ended, or that it only closed its output."""
        try:
            code = self._child.wait(1.0)
        except subprocess.TimeoutExpired:
            return "the process closed its standard output"
        return (
            f"the process was ended by {signal.Signals(-code).name}" if code < 0 else f"the process exited with {code}"
        )

    def _failed(self, reason: str) -> Undecided:
        """End the process and say why; what it still has to say on standard error is taken along."""
        assert self._child.stderr is not None
        try:
            while data := os.read(self._child.stderr.fileno(), CHUNK):
                self._stderr = (self._stderr + data)[-STDERR_TAIL:]
        except (BlockingIOError, ValueError):
            pass
        self.close()
        said = self._stderr.decode(errors="replace").strip().splitlines()[-3:]
        return Undecided(f"{reason}; standard error: {' | '.join(said)}" if said else reason)


def _short(data: bytes) -> str:
    text = data.decode(errors="replace").strip()
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
