"""Where the tasks of a sweep are computed: in this process, in local ones, or on a Dask cluster.

Tasks are handed over one at a time and their results as they are done, in any order: what is finished can be stored
before the next one starts, and is there when a worker dies or the sweep is interrupted.
"""

from __future__ import annotations

import contextlib
import signal
import warnings
from collections.abc import Generator, Iterator, Sequence
from multiprocessing import resource_tracker
from typing import Any, Protocol

from gqlib.store import Arrays

__all__ = ["SweepError", "Work", "computed"]

_CONNECT_TIMEOUT = "10s"


class SweepError(Exception):
    """A sweep cannot start or go on; what is in the store stays there.

    Examples
    --------
    >>> from gqlib.sweep import resolve
    >>> resolve("math:no_such_function")
    Traceback (most recent call last):
    gqlib.workers.SweepError: cannot find 'math:no_such_function': module 'math' has no attribute 'no_such_function'
    """


class Work(Protocol):
    """Anything that computes arrays."""

    def compute(self) -> Arrays:
        """Return the arrays, by name."""


def computed(tasks: Sequence[Work], workers: int, dask: str | None) -> Generator[tuple[int, Arrays], None, None]:
    """Yield index and arrays of each task, as they are done.

    Parameters
    ----------
    tasks : sequence of Work
    workers : int
        Number of local processes; 1 computes in this one.
    dask : str or None
        Address of a Dask scheduler, to compute there instead.

    Raises
    ------
    SweepError
        Where a process died, or no cluster answers.

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
    if dask is None and workers == 1:
        for index, task in enumerate(tasks):
            yield index, task.compute()
        return
    import joblib
    from joblib.externals.loky.process_executor import BrokenProcessPool

    with _backend(workers, dask) as jobs:
        # One task per batch: a finished task is handed over, and stored, before the next one starts.
        parallel = joblib.Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")
        calls = (joblib.delayed(_outcome)(index, task) for index, task in enumerate(tasks))
        try:
            with _interrupts_held():
                outcomes = parallel(calls)
            with _closing_quietly(outcomes):
                for index, outcome in outcomes:
                    if isinstance(outcome, Exception):
                        raise outcome
                    yield index, outcome
        except BrokenProcessPool as error:
            raise SweepError("a worker process died (killed, or out of memory)") from error


def _outcome(index: int, task: Work) -> tuple[int, Arrays | Exception]:
    """Return a failure like a result: raised in a worker, it would overtake results that are done."""
    try:
        return index, task.compute()
    except Exception as error:
        return index, error


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
    """Start processes that never see Ctrl-C: a terminal sends it to all, and this one ends the others."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # to start it lifts the block, so it goes first
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _backend(workers: int, dask: str | None) -> Iterator[int]:
    """Set joblib's backend and yield its number of jobs: local processes, or all of a Dask cluster."""
    import joblib

    if dask is None:
        with joblib.parallel_config(backend="loky"):
            yield workers
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise SweepError("a Dask cluster needs the package distributed: install gqlib[cluster]") from error
    try:
        client = Client(dask, timeout=_CONNECT_TIMEOUT)
    except (OSError, ValueError) as error:
        raise SweepError(f"no Dask scheduler answers at {dask}: {error}") from error
    with client, joblib.parallel_config(backend="dask"):
        yield -1
