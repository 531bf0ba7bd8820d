"""A certification handed out: pieces go to the workers, and what comes back is written into the journal as it comes.

Sampled texts are drawn by the workers in blocks. Counting them together and stopping early stay here, chunk by chunk in the
order in which one process draws them, so that the e-process sees the same path and stops at the same draw.
"""

import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from specproof.certification import Listener, examine, restorable
from specproof.cluster import worker
from specproof.cluster.work import Certification, Differs, pieces
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


@contextmanager
def cluster(address: str | None) -> Iterator["Cluster | None"]:
    """The cluster of a scheduler; None without an address. Raises ``UsageError`` without Dask, the scheduler or workers."""
    if address is None:
        yield None
        return
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
            raise UsageError(
                f"--scheduler {address}: it has no workers; start some with: dask worker {address}"
            ) from error
        yield Cluster(client)
        client.run(worker.forget, on_error="ignore")


class Cluster:
    """Finishes the checks of a certification on the workers: what ``certify`` takes as ``ahead``."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def __call__(self, subject: Subject, plan: Plan, planned: list[Check], journal: Journal, listen: Listener) -> None:
        """Finish what the journal lacks. Raises ``UsageError`` where a worker cannot take part or the scheduler is lost."""
        certification = Certification.of(subject, plan)
        lacking = {
            name: checks
            for name, checks in pieces(planned).items()
            if not all(check.id in journal.results for check in checks) and not restorable(checks[0], name, journal)
        }
        if not lacking:
            return
        self._check_in(certification)
        listen(len(journal.results), len(planned), f"{len(self._client.nthreads())} workers")
        errand = _Errand(self._client, certification, plan)
        try:
            for name, (kept, results) in errand.run(lacking):
                journal.add_evidence(name, kept)
                for result in results:
                    journal.add_result(result)
                listen(len(journal.results), len(planned), name)
        except Differs as reason:
            raise UsageError(f"a worker cannot take part: {reason}") from reason
        except CancelledError as error:
            raise UsageError(
                "the scheduler is lost; what was finished is kept, start the same command again"
            ) from error
        finally:
            errand.stop()

    def _check_in(self, certification: Certification) -> None:
        """Ask every worker whether it has what it needs."""
        for address, answer in self._client.run(worker.check_in, certification, on_error="return").items():
            if answer is not None:
                raise UsageError(f"the worker {address} cannot take part: {answer}")


class _Errand:
    """The pieces of one certification on their way."""

    def __init__(self, client: "Client", certification: Certification, plan: Plan) -> None:
        self._client, self._certification, self._plan = client, certification, plan
        self._sent: list[Future[Any]] = []
        self._stopped = False

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
                self.stop()

    def stop(self) -> None:
        """Call back what is still on its way."""
        self._stopped = True
        self._client.cancel(self._sent)

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
            return future.result(timeout=None if seconds == float("inf") else max(seconds, 0))
        except KilledWorker as error:
            many = error.allowed_failures + 1
            raise Undecided(f"{many} worker processes, one after the other, ended while they ran it") from error


def _raise(reason: Undecided) -> Any:
    raise reason
