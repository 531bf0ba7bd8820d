"""A process in which nothing but one certification runs: ``python -m specproof.cluster.child HANDLE``.

Probing intercepts every draw of a process, also those of Dask's own threads: a subject cannot run beside them. It ends when
whoever started it is gone, or asks nothing for some time.
"""

import os
import pickle
import sys
import traceback
from multiprocessing.connection import Connection
from queue import Empty, Queue
from threading import Thread
from typing import Any

from specproof.cluster.words import Differs
from specproof.cluster.work import Bench

IDLE = 600  # seconds without a question


def main(handle: int) -> None:
    """Read a certification, then names of methods with their arguments; answer each with what it returns or raises."""
    connection = Connection(handle)
    questions: Queue[Any] = Queue()
    Thread(target=_read, args=(connection, questions), daemon=True).start()
    try:
        bench = Bench(questions.get())
    except Differs as reason:
        connection.send(reason)
        return
    connection.send(None)
    while True:
        try:
            method, arguments = questions.get(timeout=IDLE)
        except Empty:
            return
        try:
            connection.send(pickle.dumps(getattr(bench, method)(*arguments)))
        except Exception:  # noqa: BLE001 - whatever it is, the caller is who can say it
            connection.send(RuntimeError(traceback.format_exc()))


def _read(connection: Connection, questions: "Queue[Any]") -> None:
    """Hand on what is asked. In a thread of its own, so that a piece does not outlive the one who asked for it."""
    while True:
        try:
            questions.put(connection.recv())
        except (EOFError, OSError):
            os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
