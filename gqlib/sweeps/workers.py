"""Where the tasks of a sweep are computed: in this process, in local ones, or on a Dask cluster.

Tasks are handed over one at a time, and results as they are ready, in any order: what is finished can be stored
before the next one starts, and is safe if a worker dies or the sweep is interrupted.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, Protocol

from gqlib.sweeps.names import SweepError
from gqlib.sweeps.store import Arrays

__all__ = ["Failure", "Work", "computed"]

logger = logging.getLogger(__name__)

# A page of the book has one process, nothing compiled, and a reader who waits.
IN_PAGE = sys.platform == "emscripten"
_CONNECT_TIMEOUT = "10s"
_DIED = "its worker process died (killed, or out of memory)"
_AT_CLUSTER = 1000  # tasks that a cluster has at a time: enough for its workers, and for one that grows by demand
_ASK_EVERY = 0.02  # seconds between looks at the tasks of a cluster; their states are known here
_FETCH = 10.0  # seconds that a result may take from a worker of a cluster; with every attempt it gets as many more
_GONE = 60.0  # seconds without a worker after which a cluster of one's own is given up
_LOOK_EVERY = (
    1.0  # seconds between a worker's checks on its parent, and those on a cluster's workers
)


@dataclass(frozen=True)
class Failure:
    """What a task raised, as text: an exception of a user's own need not survive the way between processes."""

    error: str
    traceback: str


Outcomes = Generator[tuple[int, "Arrays | Failure"], None, None]


class Work(Protocol):
    """Anything that computes arrays."""

    def compute(self) -> Arrays:
        """Return the arrays, by name."""


def computed(tasks: Sequence[Work], workers: int, dask: Any) -> Outcomes:
    """Yield index and arrays of each task as they are done, or what it raised: one bad task does not stop the others.

    Parameters
    ----------
    tasks : sequence of Work
    workers : int
        Number of local processes; 1 computes in this one, and so does any number in a page of the book.
    dask : str, client, cluster or None
        A Dask cluster to compute on instead; ``"local"`` starts one.

    Raises
    ------
    SweepError
        If no cluster answers.

    Examples
    --------
    >>> import numpy as np
    >>> class Square:
    ...     def compute(self):
    ...         return {"squares": np.array([1, 4, 9])}
    >>> [(index, arrays["squares"].tolist()) for index, arrays in computed([Square()], workers=1, dask=None)]
    [(0, [1, 4, 9])]
    """
    if not tasks:
        return
    if dask is None and (workers == 1 or IN_PAGE):
        for index, task in enumerate(tasks):
            yield _outcome(index, task, (Exception, SystemExit))  # Ctrl-C is for this process
        return
    workers = min(workers, len(tasks))
    results = _by_processes(tasks, workers) if dask is None else _by_cluster(tasks, workers, dask)
    with contextlib.closing(results):
        yield from results


def _by_processes(tasks: Sequence[Work], workers: int) -> Outcomes:
    """Compute tasks in local processes."""
    import joblib
    from joblib.externals.loky.process_executor import BrokenProcessPool

    waiting = dict(enumerate(tasks))
    with joblib.parallel_config(backend="loky"):
        while waiting:
            handed: list[int] = []
            try:
                count = min(workers, len(waiting))
                with contextlib.closing(_handed_over(waiting, count, handed)) as outcomes:
                    for index, outcome in outcomes:
                        del waiting[index]
                        yield index, outcome
            except BrokenProcessPool:
                # One of a few tasks ended its process. Each of them gets others, alone; then the rest goes on.
                for index in [index for index in handed if index in waiting]:
                    alone = {index: waiting.pop(index)}
                    try:
                        yield from _handed_over(alone, 1, [])
                    except BrokenProcessPool:
                        yield index, Failure(_DIED, "")


def _handed_over(tasks: Mapping[int, Work], workers: int, handed: list[int]) -> Outcomes:
    """Results of a pool of processes as they are ready; `handed` gets the numbers of the tasks that it has got."""
    import joblib
    from joblib.externals.loky import ProcessPoolExecutor

    # What the processes do first. Those of an earlier version of a user's code have that code loaded, and are not used.
    versions = sorted({task.version for task in tasks.values() if hasattr(task, "version")})
    own = {"initializer": _follow, "initargs": (os.getpid(), *versions)}
    if workers == 1:  # joblib would compute in this process, which a task may end
        pool = ProcessPoolExecutor(1, **own)
        try:
            for index, task in list(tasks.items()):
                handed.append(index)
                with _interrupts_held():
                    future = pool.submit(_outcome_elsewhere, index, task, os.getpid())
                yield future.result()
            pool.shutdown()
        finally:
            pool.shutdown(kill_workers=True)
        return

    def calls() -> Iterator[Any]:
        for index, task in list(tasks.items()):
            handed.append(index)
            yield joblib.delayed(_outcome_elsewhere)(index, task, os.getpid())

    # One task per batch: a finished task is handed over, and stored, before the next one starts.
    parallel = joblib.Parallel(n_jobs=workers, batch_size=1, return_as="generator_unordered", **own)
    with contextlib.ExitStack() as opened:
        with _interrupts_held():
            outcomes = parallel(calls())
            opened.enter_context(_closing_quietly(outcomes))
        for index, outcome in outcomes:  # "yield from" would close them without the silence
            yield index, outcome


def _by_cluster(tasks: Sequence[Work], workers: int, dask: Any) -> Outcomes:
    """Compute tasks on a Dask cluster, which tries again what was lost with a worker, and in the end says so."""
    own = isinstance(dask, str) and dask == "local"
    with _client(workers, dask) as client:
        suspects = []
        for index, outcome in _at_cluster(client, dict(enumerate(tasks)), own):
            if outcome is None:
                suspects.append(index)
            else:
                yield index, outcome
        # What waited at the workers that a task ended is suspected with it: each of them is tried again, alone.
        for index in suspects:
            for _, outcome in _at_cluster(client, {index: tasks[index]}, own):
                yield index, Failure(_DIED, "") if outcome is None else outcome


def _at_cluster(
    client: Any, tasks: Mapping[int, Work], own: bool
) -> Iterator[tuple[int, Arrays | Failure | None]]:
    """Results of a cluster as they are ready; None for a task whose workers died, one after the other.

    Dask's `as_completed` is not used: if a result is lost with its worker on the way here, it never ends.
    """
    calls = ((index, task, None) for index, task in tasks.items())
    running: dict[Any, int] = {}
    tried: Counter[Any] = Counter()
    watch = _Watch(client, own)
    while True:
        for call in islice(calls, _AT_CLUSTER - len(running)):
            running[client.submit(_outcome_elsewhere, *call, pure=False)] = call[0]
        if not running:
            return
        ended = [
            future for future in running if future.status in ("finished", "error", "cancelled")
        ]
        if not ended:
            watch.look()
            time.sleep(_ASK_EVERY)
        for future in ended:
            watch.look()
            tried[future] += 1
            with contextlib.suppress(
                TimeoutError
            ):  # lost with its worker: it is computed anew, and ends again
                outcome = _fetched(client, future, min(_FETCH * tried[future], _GONE))
                yield running.pop(future), outcome


@dataclass
class _Watch:
    """A look at a cluster's workers, now and then: without one it waits, and would wait in silence."""

    client: Any
    own: bool
    looked: float = -math.inf
    missed: float | None = None

    def look(self) -> None:
        """Say once that there is none; give up a cluster that nobody else could give workers."""
        now = time.monotonic()
        if now < self.looked + _LOOK_EVERY:
            return
        self.looked = now
        if self.client.nthreads():
            self.missed = None
        elif self.missed is None:
            self.missed = now
            logger.warning(
                "the Dask cluster at %s has no worker; waiting for one",
                self.client.scheduler.address,
            )
        elif self.own and now > self.missed + _GONE:
            raise SweepError(
                f"the local Dask cluster has had no worker for {_GONE:g} seconds: they died too often"
            )


def _fetched(client: Any, future: Any, timeout: float) -> Arrays | Failure | None:
    """The outcome of a future that ended; None if it ended its workers."""
    from distributed.scheduler import KilledWorker

    try:
        outcome: Arrays | Failure = future.result(timeout=timeout)[1]
    except KilledWorker:
        return None
    except CancelledError as error:
        raise SweepError(f"the Dask cluster at {client.scheduler.address} is gone") from error
    return outcome


def _outcome(
    index: int, task: Work, caught: tuple[type[BaseException], ...]
) -> tuple[int, Arrays | Failure]:
    """Return a failure as if it were a result: raised in a worker, it would overtake results that are ready."""
    try:
        return index, task.compute()
    except caught as error:
        return index, Failure(f"{type(error).__name__}: {_text_of(error)}", traceback.format_exc())


def _text_of(error: BaseException) -> str:
    """What an exception says, if it can: a user's own may fail at that, too."""
    try:
        return str(error)
    except Exception as other:
        return f"it has no text, which raised {type(other).__name__}"


def _outcome_elsewhere(index: int, task: Work, parent: int | None) -> tuple[int, Arrays | Failure]:
    """The same in a worker, which no Ctrl-C reaches: an interrupt there is an exception of the task's own."""
    if parent is not None:
        _follow(parent)
    return _outcome(index, task, (BaseException,))


@cache
def _follow(parent: int, *versions: str) -> None:
    """End this process, within seconds, when its parent is gone: a parent that was killed cannot end its workers."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_EVERY)
        os._exit(1)

    if os.getpid() != parent:  # not if another backend computes in the same process
        threading.Thread(target=watch, name="gqlib-parent", daemon=True).start()


@contextlib.contextmanager
def _closing_quietly(outcomes: Generator[Any, None, None]) -> Iterator[None]:
    """Close joblib's generator at the end, without its warning that some tasks were not finished."""
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            outcomes.close()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Start processes that see neither Ctrl-C, which a terminal sends to all of them, nor a group's SIGTERM.

    This process ends the others, by SIGKILL.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker  # here, since a browser has no processes

    resource_tracker.ensure_running()  # starting it lifts the block, so it goes first
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _client(workers: int, dask: Any) -> Iterator[Any]:
    """A client of the cluster; what this opens it closes, and nothing else."""
    try:
        from dask import config
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise SweepError(
            "a Dask cluster needs the package distributed: install gqlib[cluster]"
        ) from error
    if isinstance(dask, Client):
        yield dask
        return
    with contextlib.ExitStack() as opened:
        if isinstance(dask, str) and dask == "local":
            # A worker that died is started anew, with another address: not lost, however long that takes.
            opened.enter_context(config.set({"distributed.deploy.lost-worker-timeout": "1 day"}))
            with _interrupts_held():
                # Dask has no passwords: nothing but this machine can connect, to the dashboard neither.
                cluster = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                )
            dask = opened.enter_context(cluster)
        try:
            client = opened.enter_context(Client(dask, timeout=_CONNECT_TIMEOUT))
        except (OSError, ValueError) as error:
            raise SweepError(f"no Dask scheduler answers at {dask}: {error}") from error
        yield client
