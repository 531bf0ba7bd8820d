"""What runs inside a Dask worker: it hands each piece to a process that does nothing else, and starts these as needed.

Answers are handed on as they are, pickled: a worker needs no torch.
"""

import asyncio
import os
import subprocess
import sys
import threading
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from specproof.cluster.words import Certification, Differs, Ended

ATTEMPTS = 3  # processes that may end of one piece before it is given up


class Child:
    """A process with a certification. Raises ``Differs`` where it cannot take part, ``EOFError`` where the process ends."""

    def __init__(self, certification: Certification) -> None:
        self.certification = certification
        self._connection, theirs = Pipe()
        folder = certification.folder if Path(certification.folder).is_dir() else None
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "specproof.cluster.child", str(theirs.fileno())], pass_fds=[theirs.fileno()],
                cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
        self._ask(certification)

    def ask(self, method: str, *arguments: Any) -> bytes:
        """What a method of its ``Bench`` returns, pickled."""
        answer: bytes = self._ask((method, arguments))
        return answer

    def _ask(self, question: Any) -> Any:
        try:
            self._connection.send(question)
            answer = self._connection.recv()
        except (EOFError, OSError) as error:
            self.end()
            raise EOFError(str(error)) from error
        if isinstance(answer, Exception):
            self.end()
            raise answer
        return answer

    def end(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.kill()
        self._process.wait()


_idle: list[Child] = []
_changing = threading.Lock()


def ask(certification: Certification, method: str, *arguments: Any) -> bytes:
    """Have a process of this certification run a method of its ``Bench``, in another one should it end.

    Returns the answer, pickled. Raises ``Differs`` where this machine cannot take part, ``Ended`` where one process after
    the other ends.
    """
    for _ in range(ATTEMPTS):
        try:
            child = _taken(certification) or Child(certification)
            answer = child.ask(method, *arguments)
        except EOFError:
            continue
        with _changing:
            _idle.append(child)
        return answer
    raise Ended(f"{ATTEMPTS} processes, one after the other, ended while they ran it")


async def check_in(certification: Certification) -> str | None:
    """Why this machine cannot take part; None when it can. A coroutine, so that the worker stays responsive."""

    def reason() -> str | None:
        try:
            child = Child(certification)
        except Differs as reason:
            return str(reason)
        except EOFError:
            return "the process that is to run the certification ends at its start"
        with _changing:
            _idle.append(child)
        return None

    return await asyncio.to_thread(reason)


def forget() -> None:
    """End the processes that wait for work."""
    with _changing:
        while _idle:
            _idle.pop().end()


def _taken(certification: Certification) -> Child | None:
    """A process that waits for work of this certification. Those of another one are ended."""
    with _changing:
        for child in [child for child in _idle if child.certification != certification]:
            _idle.remove(child)
            child.end()
        return _idle.pop() if _idle else None
