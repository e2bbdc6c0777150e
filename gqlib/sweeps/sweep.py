"""Sweeps: settings × runs, cut into tasks, computed anywhere, never twice.

An :class:`Experiment` is data: the name of a runner, a list of settings, a number of runs, a seed. It is
cut into :class:`Task` objects, each a block of runs of one setting that takes about a second. The runner
of a task,

    runner(setting, runs, seed, *, first_run) -> {name: array with one row per run},

determines every bit of run ``first_run + i`` from the setting, the seed and that index alone. That makes the
result independent of the number of workers, of the order in which tasks finish and of interruptions, and a
task that is in the store (:mod:`gqlib.sweeps.store`) need never be computed again: neither by a sweep that starts
after a crash nor by another experiment that shares the setting.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gqlib import _validate as check
from gqlib.sweeps.names import SweepError, former, look_up
from gqlib.sweeps.setting import Setting, plain
from gqlib.sweeps.store import Arrays, DamagedFile, Header, Store, canonical_json, write_file
from gqlib.sweeps.workers import Failure, computed

__all__ = ["Experiment", "Progress", "Task", "run_sweep"]

logger = logging.getLogger(__name__)

MOST_RUNS = 10**6  # names in the store allow six digits for the first run
MOST_SHOWN = 5  # failures in a message; all of them are written down
MOST_WORKERS = 1024  # beyond any machine; more is a slip


@dataclass(frozen=True)
class Task:
    """A block of runs of one setting: the unit of work, and of what is kept.

    Parameters
    ----------
    function : str
        The runner: a name in `gqlib.sweeps.names`, or a user's own ``"module:function"``, called as
        ``function(setting, runs, seed, first_run=first_run)``.
    setting : Setting
        What to run.
    first_run, runs : int
        The runs with index ``first_run, ..., first_run + runs - 1``.
    seed : int
        Seed of the experiment.
    version : str
        Version of the code behind `function`; it changes when results change.

    Examples
    --------
    >>> from gqlib.experiments.figure2 import TwoStateSetting
    >>> setting = TwoStateSetting(0.5, steps=50)
    >>> task = Task("two-state", setting, first_run=4, runs=2, seed=7, version="1")
    >>> task.name[24:], task.header["seed"], task.compute()["diverged"].tolist(), task.former
    ('-000004-2', 7, [[False], [False]], None)
    """

    function: str
    setting: Setting
    first_run: int
    runs: int
    seed: int
    version: str

    @cached_property
    def header(self) -> Header:
        """Everything that determines the result, as plain values."""
        return {
            "function": self.function,
            "setting": plain(self.setting),
            "key": self.setting.key,
            "first_run": self.first_run,
            "runs": self.runs,
            "seed": self.seed,
            "version": self.version,
        }

    @cached_property
    def name(self) -> str:
        """Name in the store: a digest of what the runs have in common, then the first run and the number of runs."""
        common = {key: value for key, value in self.header.items() if key not in ("first_run", "runs")}
        digest = hashlib.sha256(canonical_json(common).encode()).hexdigest()
        return f"{digest[:24]}-{self.first_run:06d}-{self.runs}"

    @property
    def former(self) -> Task | None:
        """The same task under the name used by stores of the first edition, if they can hold it."""
        path = former("runner", self.function)
        return None if path is None else dataclasses.replace(self, function=path)

    def compute(self) -> Arrays:
        """Call the runner and check what it returns: arrays with one row for each run."""
        runner = look_up("runner", self.function, allow=[self.function])
        result = runner(self.setting, self.runs, self.seed, first_run=self.first_run)
        arrays = {name: np.asarray(value) for name, value in result.items()}
        for name, array in arrays.items():
            if array.ndim == 0 or len(array) != self.runs:
                raise SweepError(
                    f"{self.function} returned {name!r} of shape {array.shape}; "
                    f"expected one row for each of {self.runs} runs"
                )
        return arrays


@dataclass(frozen=True)
class Experiment:
    """A sweep as data.

    Parameters
    ----------
    name, title : str
        The name is also that of the result file.
    function : str
        The runner of its tasks: a name in `gqlib.sweeps.names`, or a user's own ``"module:function"``, like the
        other functions below.
    settings : tuple of Setting
        The grid, in the order of the result.
    runs : int
        Runs of each setting.
    seed : int
        The same for all settings.
    version : str
        Version of the code behind `function`.
    runs_per_task : int
        Chosen so that a task takes about a second. It is part of the data, so that the same sweep always finds
        its own tasks again.
    summary : str
        Maps the arrays of all runs of a setting to what is kept of them, ``{name: (dims, array)}``. By default
        everything is kept.
    finish : str
        Maps the labelled result to the one that is saved; empty if it is saved as it is.
    report : str
        Maps the saved result to a few lines of text for the terminal; may be empty.

    Examples
    --------
    >>> from gqlib.experiments.figure2 import TwoStateSetting
    >>> settings = tuple(TwoStateSetting(sigma, steps=50) for sigma in (0.0, 1.0))
    >>> sweep = Experiment("ends", "Both ends", "two-state", settings, 5, 7, "1", runs_per_task=2)
    >>> [(task.setting.sigmas[0], task.first_run, task.runs) for task in sweep.tasks()]
    [(0.0, 0, 2), (1.0, 0, 2), (0.0, 2, 2), (1.0, 2, 2), (0.0, 4, 1), (1.0, 4, 1)]
    >>> len(sweep.with_runs(2).tasks_of(settings[0]))
    1
    """

    name: str
    title: str
    function: str
    settings: tuple[Setting, ...]
    runs: int
    seed: int
    version: str
    runs_per_task: int
    summary: str = "everything"
    finish: str = ""
    report: str = ""

    def __post_init__(self) -> None:
        """Check the numbers, and that no setting occurs twice."""
        object.__setattr__(self, "runs", check.integer("runs", self.runs, low=1, high=MOST_RUNS))
        object.__setattr__(self, "runs_per_task", check.integer("runs_per_task", self.runs_per_task, low=1))
        object.__setattr__(self, "seed", check.integer("seed", self.seed, low=0))
        for name in ("name", "title", "function", "version", "summary", "finish", "report"):
            check.instance(name, getattr(self, name), str)
        if not isinstance(self.settings, tuple) or not all(hasattr(setting, "key") for setting in self.settings):
            raise ValueError(f"settings is {check.brief(self.settings)}; it should be a tuple of settings")
        keys = [setting.key for setting in self.settings]
        if not keys or len(set(keys)) < len(keys):
            raise ValueError(
                f"settings of {self.name!r} are {len(keys)}, {len(set(keys))} of them different; "
                "there should be at least one, and all different"
            )

    def with_runs(self, runs: int | None) -> Experiment:
        """Return the same experiment with another number of runs (None: no change)."""
        return self if runs is None else dataclasses.replace(self, runs=runs)

    def tasks_of(self, setting: Setting) -> list[Task]:
        """Return the tasks of one setting, in the order of their runs."""
        if not any(type(setting) is type(own) and setting.key == own.key for own in self.settings):
            raise ValueError(f"setting is {check.brief(setting)}; it should be one of the settings of {self.name!r}")
        step = self.runs_per_task
        return [
            Task(self.function, setting, first, min(step, self.runs - first), self.seed, self.version)
            for first in range(0, self.runs, step)
        ]

    def tasks(self) -> list[Task]:
        """Return all tasks: block by block over all settings, so that every setting soon has some runs."""
        return [task for block in zip(*map(self.tasks_of, self.settings), strict=True) for task in block]


@dataclass(frozen=True)
class Progress:
    """What a call of :func:`run_sweep` found and did, counted in tasks.

    Files in `damaged` were named and made again; `former` of the tasks found have names from the first edition.

    Examples
    --------
    >>> import tempfile
    >>> from gqlib.experiments.figure2 import TwoStateSetting
    >>> one = (TwoStateSetting(0.5, steps=50),)
    >>> sweep = Experiment("one", "One setting", "two-state", one, 4, 7, "1", runs_per_task=2)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     run_sweep(sweep, Store(directory))
    Progress(found=0, computed=2, damaged=(), former=0)
    """

    found: int
    computed: int
    damaged: tuple[Path, ...]
    former: int = 0


def run_sweep(
    experiment: Experiment,
    store: Store,
    *,
    workers: int = 1,
    dask: str | None = None,
    progress: bool | None = None,
) -> Progress:
    """Compute the tasks of `experiment` that are not in `store`; each is safely on disk as soon as it is done.

    A task that raises does not stop the others: at the end a SweepError lists what failed, with setting and runs, and
    says where the tracebacks are. The same call tries the failed ones again.

    Parameters
    ----------
    experiment : Experiment
        What to compute.
    store : Store
        Where finished tasks are. Files that are damaged or foreign are named in a warning and replaced.
    workers : int
        Number of processes on this machine; 1 computes in this process.
    dask : str, optional
        Address of a Dask scheduler, ``"tcp://host:port"``, to compute there instead; its workers need gqlib.
    progress : bool, optional
        Show a bar with rate and time left on stderr. By default only if stderr is a terminal.

    Examples
    --------
    >>> import tempfile
    >>> from gqlib.experiments.figure2 import TwoStateSetting
    >>> one = (TwoStateSetting(0.5, steps=50),)
    >>> sweep = Experiment("one", "One setting", "two-state", one, 4, 7, "1", runs_per_task=2)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     first, second = (run_sweep(sweep, Store(directory)) for _ in range(2))
    >>> first.computed, second.computed, second.found
    (2, 0, 2)
    """
    check.instance("experiment", experiment, Experiment)
    check.instance("store", store, Store)
    if progress is not None:
        check.flag("progress", progress)
    check.integer("workers", workers, low=1, high=MOST_WORKERS)
    if dask is not None and not re.fullmatch(r"\w+://[^\s/]+.*", str(dask)):
        raise ValueError(f"dask is {check.brief(dask)}; it should be an address such as tcp://host:port")
    tasks = experiment.tasks()
    missing, damaged, old = _missing(tasks, store)
    done = sum(task.runs for task in tasks) - sum(task.runs for task in missing)
    results = computed(missing, workers, dask)
    failed: list[tuple[Task, Failure]] = []
    with _bar(experiment, done, progress) as advance, contextlib.closing(results):
        for index, outcome in results:
            if isinstance(outcome, Failure):
                failed.append((missing[index], outcome))
                continue
            store.put(missing[index].name, missing[index].header, outcome)
            advance(missing[index].runs)
    _tell(failed, len(missing), store)
    return Progress(len(tasks) - len(missing), len(missing), tuple(damaged), old)


def _tell(failed: list[tuple[Task, Failure]], tried: int, store: Store) -> None:
    """Write down what failed, with its traceback, and say so; what succeeded is stored, and a resume tries the rest."""
    if not failed:
        return
    places = [
        f"runs {task.first_run} to {task.first_run + task.runs - 1} of {check.brief(task.setting)}: {failure.error}"
        for task, failure in failed
    ]
    report = store.directory / "failures.txt"
    texts = [f"{place}\n{failure.traceback}" for place, (_, failure) in zip(places, failed, strict=True)]
    write_file(report, "\n".join(texts).encode())
    shown = "; ".join(places[:MOST_SHOWN]) + ("; ..." if len(places) > MOST_SHOWN else "")
    raise SweepError(
        f"{len(failed)} of {tried} tasks failed, the others are stored: {shown}. "
        f"Tracebacks are in {report}; the same sweep tries them again"
    )


def _missing(tasks: Iterable[Task], store: Store) -> tuple[list[Task], list[Path], int]:
    """Tasks that are not in the store, files that are not what they should be, and how many have a former name."""
    missing, damaged, old = [], [], 0
    for task in tasks:
        try:
            if store.has(task.name, task.header):
                continue
            if task.former is not None and store.has(task.former.name, task.former.header):
                old += 1
                continue
        except DamagedFile as error:
            logger.warning("%s; it is computed again", error)
            damaged.append(error.path)
        missing.append(task)
    if old:
        logger.warning("%s: %d tasks are read under the names of an earlier edition", store.directory, old)
    return missing, damaged, old


@contextlib.contextmanager
def _bar(experiment: Experiment, done: int, progress: bool | None) -> Iterator[Callable[[int], Any]]:
    from tqdm import tqdm

    hidden = not (sys.stderr.isatty() if progress is None else progress)
    total = experiment.runs * len(experiment.settings)
    with tqdm(total=total, initial=done, desc=experiment.name, unit=" runs", disable=hidden) as bar:
        yield bar.update
