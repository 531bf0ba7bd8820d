"""A certification handed out: pieces go to the workers, and what comes back is written into the journal as it comes.

Sampled texts are drawn by the workers in blocks. Counting them together and stopping early stay here, chunk by chunk in the
order in which one process draws them, so that the e-process sees the same path and stops at the same draw.
"""

import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from specproof.certification import Listener, examine, restorable
from specproof.cluster import worker
from specproof.cluster.words import Certification, Differs, Ended
from specproof.cluster.work import in_words, pieces
from specproof.journal import Journal
from specproof.kept import Kept
from specproof.properties.cases import Case
from specproof.properties.check import CheckResult
from specproof.properties.evidence.sampling import Counts, added, blocks
from specproof.properties.plan import Check, Gathering, Plan
from specproof.properties.subject import Subject
from specproof.properties.verdict import Undecided
from specproof.usage import UsageError

if TYPE_CHECKING:
    from distributed import Client, Future

PATIENCE = 10  # seconds for a scheduler to answer, and for a first worker to come


def cluster(address: str | None) -> "Cluster | None":
    """The cluster of a scheduler; None without an address. Raises ``UsageError`` without Dask, the scheduler or workers."""
    if address is None:
        return None
    with connected(address):
        return Cluster(partial(connected, address))


@contextmanager
def connected(address: str) -> "Iterator[Client]":
    """A connection to a scheduler that has workers. Raises ``UsageError`` as ``cluster`` does."""
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError("--scheduler needs Dask, the extra `cluster`: pip install 'specproof[cluster]'") from error
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--scheduler {address}: no scheduler answers there; one that `dask scheduler` starts has an address like "
            f"tcp://host:8786 ({error})"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise UsageError(f"--scheduler {address}: no workers; start some with: dask worker {address}") from error
        yield client


class Cluster:
    """Finishes the checks of a certification on the workers: what ``certify`` takes as ``ahead``.

    It is connected only meanwhile: a client has threads that draw random numbers, and what this process still has to look at
    is probed here.
    """

    def __init__(self, connect: "Callable[[], AbstractContextManager[Client]]") -> None:
        self._connect = connect

    def __call__(self, subject: Subject, plan: Plan, planned: list[Check], journal: Journal, listen: Listener) -> None:
        """Finish what the journal lacks. Raises ``UsageError`` where a worker cannot take part or the scheduler is lost."""
        lacking = {
            name: checks
            for name, checks in pieces(planned).items()
            if not all(check.id in journal.results for check in checks) and not restorable(checks[0], name, journal)
        }
        if not lacking:
            return
        with self._connect() as client:
            errand = _Errand(client, in_words(subject, plan), plan)
            try:
                errand.check_in()
                for name, (kept, results) in errand.run(lacking):
                    journal.add_evidence(name, kept)
                    for result in results:
                        journal.add_result(result)
                    listen(len(journal.results), len(planned), name)
                errand.end()
            except Differs as reason:
                raise UsageError(f"a worker cannot take part: {reason}") from reason
            except CancelledError as error:
                raise UsageError("the scheduler is lost; start the same command again to go on") from error


class _Errand:
    """The pieces of one certification on their way."""

    def __init__(self, client: "Client", certification: Certification, plan: Plan) -> None:
        self._client, self._certification, self._plan = client, certification, plan
        self._sent: list[Future[Any]] = []
        self._stopped = False

    def check_in(self) -> None:
        """Ask every worker whether it has what it needs. Raises ``UsageError`` where one has not."""
        for address, answer in self._client.run(worker.check_in, self._certification, on_error="return").items():
            if answer is not None:
                raise UsageError(f"the worker {address} cannot take part: {answer}")

    def run(self, lacking: dict[str, list[Check]]) -> Iterator[tuple[str, tuple[Kept, list[CheckResult]]]]:
        """The pieces, each as soon as it is there; those that were planned first are sent first."""
        # A thread a piece: it does little more than wait for workers.
        with ThreadPoolExecutor(len(lacking)) as waiting:
            try:
                names = {
                    waiting.submit(self._piece, name, checks, -index): name
                    for index, (name, checks) in enumerate(lacking.items())
                }
                for future in as_completed(names):
                    yield names[future], future.result()
            finally:
                self._stopped = True
                self._client.cancel(self._sent)  # or the threads would wait for it

    def end(self) -> None:
        """End the processes that wait for more work."""
        self._client.run(worker.forget, on_error="ignore")

    def _piece(self, name: str, checks: list[Check], priority: int) -> tuple[Kept, list[CheckResult]]:
        source = checks[0].gather
        if isinstance(source, Gathering) and source.takes("draw"):
            gather = source.told(draw=partial(self._draw, name, priority))
            return examine([replace(check, gather=gather) for check in checks], name)
        try:
            found: tuple[Kept, list[CheckResult]] = self._answer(self._send("gather", name, priority=priority))
        except Undecided as reason:
            return examine([replace(check, gather=partial(_raise, reason)) for check in checks], name)
        return found

    def _draw(self, name: str, priority: int, _subject: Subject, case: Case, draws: int, seed: int) -> Iterator[Counts]:
        """``sample_texts``, block by block on the workers; past the plan's deadline it ends."""
        futures = [self._send("draw", name, draws, seed, number, priority=priority) for number in range(blocks(draws))]
        try:
            yield from added(case, self._chunks(futures))
        finally:
            self._client.cancel(futures)  # where the counts are clear before all are drawn

    def _chunks(self, futures: "list[Future[Any]]") -> Iterator[Counts]:
        for future in futures:
            try:
                chunks, reason = self._answer(future, self._plan.deadline - time.monotonic())
            except TimeoutError:
                return
            yield from chunks
            if reason is not None:
                raise Undecided(reason)

    def _send(self, method: str, *arguments: Any, priority: int) -> "Future[Any]":
        if self._stopped:
            raise CancelledError
        future = self._client.submit(worker.ask, self._certification, method, *arguments, pure=False, priority=priority)
        self._sent.append(future)
        return future

    def _answer(self, future: "Future[Any]", seconds: float = float("inf")) -> Any:
        """What a worker returns. Raises ``Undecided`` where one worker after the other dies of it."""
        from distributed import KilledWorker

        try:
            return pickle.loads(future.result(timeout=None if seconds == float("inf") else max(seconds, 0)))  # noqa: S301
        except KilledWorker as error:
            raise Undecided(
                f"{error.allowed_failures + 1} workers, one after the other, ended while they ran it"
            ) from error
        except Ended as error:
            raise Undecided(str(error)) from error


def _raise(reason: Undecided) -> Any:
    raise reason
