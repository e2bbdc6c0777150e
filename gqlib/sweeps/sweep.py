"""Sweeps: settings × runs, cut into tasks, computed anywhere, never twice.

An :class:`Experiment` is data: the name of a runner, a list of settings, a number of runs, a seed. It is cut into
:class:`Task` objects, each a block of runs of one setting that takes about a second. The runner of a task,

    runner(setting, runs, seed, *, first_run) -> {name: array with one row per run},

determines every bit of run ``first_run + i`` from the setting, the seed and that index alone. That makes the
result independent of the number of workers, of the order in which tasks finish and of interruptions, and a
run that is in the store (:mod:`gqlib.sweeps.store`) need never be computed again: neither by a sweep that starts
after a crash nor by another experiment that shares the setting, whatever the blocks were in which it was computed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import heapq
import logging
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib._objects import html_table
from gqlib.sweeps._lost import joined
from gqlib.sweeps.names import SweepError, former, look_up
from gqlib.sweeps.progress import estimating, showing
from gqlib.sweeps.setting import Setting, plain
from gqlib.sweeps.store import (
    MOST_ARRAYS,
    Arrays,
    BadMoment,
    DamagedFile,
    Header,
    Store,
    StoreError,
    canonical_json,
    check_storable,
    write_file,
)
from gqlib.sweeps.versions import confirm
from gqlib.sweeps.workers import Failure, computed

__all__ = ["Experiment", "Progress", "Task", "run_sweep"]

logger = logging.getLogger(__name__)

MOST_RUNS = 10**6  # names in the store allow six digits for the first run
MOST_SHOWN = 5  # failures in a message; all of them are written down
MOST_VALUES = 6  # of a field, in a notebook
MOST_WORKERS = 1024  # beyond any machine; more is a slip
_NAME = re.compile(r"([0-9a-f]{24})-([0-9]{6})-([1-9][0-9]{0,6})")  # of a task in the store

Index = dict[
    str, list[tuple[int, int]]
]  # digest of what runs have in common: first run and number of each block


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
    >>> task.name == f"{task.digest}-000004-2"
    True
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
    def digest(self) -> str:
        """What all runs of the setting have in common, as the beginning of their names in the store."""
        common = {
            key: value for key, value in self.header.items() if key not in ("first_run", "runs")
        }
        return hashlib.sha256(canonical_json(common).encode()).hexdigest()[:24]

    @cached_property
    def name(self) -> str:
        """Name in the store: the digest, then the first run and the number of runs."""
        return f"{self.digest}-{self.first_run:06d}-{self.runs}"

    def _block(self, first_run: int, runs: int) -> Task:
        """Return the task for other runs of the same setting."""
        other = dataclasses.replace(self, first_run=first_run, runs=runs)
        # What both have in common is computed once: a store may hold a hundred blocks of a setting.
        vars(other).update(
            digest=self.digest, header=self.header | {"first_run": first_run, "runs": runs}
        )
        return other

    @property
    def former(self) -> Task | None:
        """The same task under the name used by stores of the first edition, if they can hold it."""
        path = former("runner", self.function)
        return None if path is None else dataclasses.replace(self, function=path)

    def compute(self) -> Arrays:
        """Call the runner and check what it returns: arrays with one row for each run.

        If it lets the error of a learner that overflows pass, the run has diverged; nothing else is stored (`is_lost`).
        """
        confirm(self.version, getattr(self.setting, "imported", ()), compare=False)
        runner = look_up("runner", self.function, allow=[self.function])
        try:
            result = runner(self.setting, self.runs, self.seed, first_run=self.first_run)
        except check.Diverged:
            if self.runs == 1:
                return {"diverged": np.array([True])}
            alone = [
                self._block(run, 1).compute()
                for run in range(self.first_run, self.first_run + self.runs)
            ]
            return joined(alone)
        if not isinstance(result, Mapping) or not 1 <= len(result) <= MOST_ARRAYS:
            expected = f"expected arrays by name, in a dict, at most {MOST_ARRAYS}"
            raise SweepError(f"{self.function} returned {check.brief(result)}; {expected}")
        arrays = {name: _array_of(self.function, name, value) for name, value in result.items()}
        for name, array in arrays.items():
            if array.ndim == 0 or len(array) != self.runs:
                raise SweepError(
                    f"{self.function} returned {name!r} of shape {array.shape}; "
                    f"expected one row for each of {self.runs} runs"
                )
        return arrays


@dataclass(frozen=True, repr=False)
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
    runs_per_task : int, optional
        Chosen so that a task takes about a second; 1 by default. Runs are found in the store whatever this number was.
    summary : str
        Maps the arrays of all runs of a setting to what is kept of them, ``{name: (dims, array)}``. By default
        everything is kept. An array that has the name of its only dimension is a coordinate.
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
    >>> len(sweep.with_runs(2).tasks_of(settings[0])), len(sweep.with_fields(alpha=[0.1, 0.2]).settings)
    (1, 4)
    >>> sweep
    Experiment('ends', 2 settings, 5 runs each, seed=7)
    """

    name: str
    title: str
    function: str
    settings: tuple[Setting, ...]
    runs: int
    seed: int
    version: str
    runs_per_task: int = 1
    summary: str = "everything"
    finish: str = ""
    report: str = ""

    def __post_init__(self) -> None:
        """Check the numbers, and that no setting occurs twice."""
        object.__setattr__(self, "runs", check.integer("runs", self.runs, low=1, high=MOST_RUNS))
        object.__setattr__(
            self, "runs_per_task", check.integer("runs_per_task", self.runs_per_task, low=1)
        )
        object.__setattr__(self, "seed", check.integer("seed", self.seed, low=0))
        for name in ("function", "summary", "finish", "report"):
            if callable(value := getattr(self, name)):
                wanted = "a name by which workers find it, 'module:function'"
                raise ValueError(f"{name} is {check.brief(value)}; it should be {wanted}")
        for name in ("name", "title", "function", "version", "summary", "finish", "report"):
            check.instance(name, getattr(self, name), str)
        if self.name.startswith(".") or set(self.name) & set("/\\\0"):
            raise ValueError(
                f"name is {check.brief(self.name)}; it should do as the name of a file"
            )
        if not isinstance(self.settings, tuple) or not all(
            hasattr(setting, "key") for setting in self.settings
        ):
            raise ValueError(
                f"settings is {check.brief(self.settings)}; it should be a tuple of settings"
            )
        keys = [setting.key for setting in self.settings]
        if not keys or len(set(keys)) < len(keys):
            raise ValueError(
                f"settings of {self.name!r} are {len(keys)}, {len(set(keys))} of them different; "
                "there should be at least one, and all different"
            )

    def __repr__(self) -> str:
        counts = {"setting": len(self.settings), "run": self.runs}
        told = ", ".join(f"{count} {noun}{'s' * (count > 1)}" for noun, count in counts.items())
        return f"Experiment({self.name!r}, {told} each, seed={self.seed})"

    def _repr_html_(self) -> str:
        values: dict[str, dict[str, None]] = {}
        for setting in self.settings:
            for name, value in plain(setting).items():
                values.setdefault(name, {})[
                    f"{value:g}" if isinstance(value, float) else str(value)
                ] = None
        rows: list[tuple[str, object]] = [("title", self.title), ("settings", len(self.settings))]
        rows += [("runs of each", self.runs), ("seed", self.seed), ("runner", self.function)]
        for name, found in values.items():
            shown = [*list(found)[:MOST_VALUES], *["..."] * (len(found) > MOST_VALUES)]
            rows += [(name, ", ".join(shown))] * (len(found) > 1)
        return html_table(f"Experiment {self.name}", rows)

    @property
    def imported(self) -> set[str]:
        """Names of code outside gqlib that its settings make the runner import."""
        return {name for setting in self.settings for name in getattr(setting, "imported", ())}

    def with_runs(self, runs: int | None) -> Experiment:
        """Return the same experiment with another number of runs (None: no change)."""
        return self if runs is None else dataclasses.replace(self, runs=runs)

    def with_fields(self, **values: Sequence[Any]) -> Experiment:
        """Return the same experiment with each of the given values of a field, in every setting.

        Settings that become equal are kept once. Where their number changes, the result is saved as it is: `finish` and
        a report on what it makes were meant for the settings that there were.
        """
        settings: Sequence[Setting] = self.settings
        for name, options in values.items():
            if isinstance(options, str) or not isinstance(options, Sequence) or not len(options):
                raise ValueError(f"{name} is {check.brief(options)}; it should be a list of values")
            settings = [
                _replaced(setting, name, value) for setting in settings for value in options
            ]
        settings = tuple({setting.key: setting for setting in settings}.values())
        changed = dataclasses.replace(self, settings=settings)
        if not self.finish or len(settings) == len(self.settings):
            return changed
        return dataclasses.replace(changed, finish="", report="")

    def tasks_of(self, setting: Setting) -> list[Task]:
        """Return the tasks of one setting, in the order of their runs."""
        if not any(type(setting) is type(own) and setting.key == own.key for own in self.settings):
            raise ValueError(
                f"setting is {check.brief(setting)}; it should be one of the settings of {self.name!r}"
            )
        whole = self._whole(setting)
        return [whole._block(*cut) for cut in _cuts(0, self.runs, self.runs_per_task)]

    def _whole(self, setting: Setting) -> Task:
        """All runs of a setting as one task, to cut into blocks."""
        return Task(self.function, setting, 0, self.runs, self.seed, self.version)

    def tasks(self) -> list[Task]:
        """Return all tasks: block by block over all settings, so that every setting soon has some runs."""
        return [
            task for block in zip(*map(self.tasks_of, self.settings), strict=True) for task in block
        ]


def _array_of(function: str, name: Any, value: Any) -> NDArray[Any]:
    """What a runner returned under a name, if a store can hold it."""
    try:
        array = np.asarray(value)
        check_storable(name, array)
    except ValueError as error:
        raise SweepError(f"{function} returned what cannot be stored: {error}") from None
    return array


def _replaced(setting: Setting, name: str, value: Any) -> Setting:
    """A setting with another value of one field; whole numbers will do for others."""
    known = [field.name for field in dataclasses.fields(setting) if field.init]
    if name not in known:
        raise ValueError(
            f"{name} is no field of {type(setting).__name__}; it should be one of {', '.join(known)}"
        )
    if (
        isinstance(getattr(setting, name), float)
        and isinstance(value, int)
        and not isinstance(value, bool)
    ):
        value = float(value)
    return dataclasses.replace(setting, **{name: value})


def _cuts(first: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """First run and number of the blocks of runs from `first` to `stop`: cut at multiples of `size`, as always."""
    while first < stop:
        end = min(stop, (first // size + 1) * size)
        yield first, end - first
        first = end


def index_of(store: Store) -> Index:
    """What blocks of runs a store has, by their names; whether they are sound is seen when they are read."""
    index: Index = defaultdict(list)
    for match in filter(None, map(_NAME.fullmatch, store.names())):
        index[match[1]].append((int(match[2]), int(match[3])))
    return index


@dataclass
class Cover:
    """Which stored blocks supply the runs of a setting, which runs are missing, and which files cannot be used.

    A block that was `found` comes with the first row that is needed, the row after the last, and its content; what is
    `missing` with its first run and the run after its last.
    """

    found: list[tuple[Task, int, int, Any]]
    missing: list[tuple[int, int]]
    damaged: list[DamagedFile]


def cover(
    experiment: Experiment, setting: Setting, index: Index, read: Callable[[Task], Any]
) -> Cover:
    """Find all runs of a setting in as few blocks as possible, whatever their sizes and under either edition's names.

    `read` returns what is kept of a block, something false if it is gone, or raises DamagedFile: then another one that
    has the run is tried.
    """
    whole = experiment._whole(setting)
    kinds = [whole] if whole.former is None else [whole, whole.former]
    blocks = [
        (which, *block) for which, kind in enumerate(kinds) for block in index.get(kind.digest, ())
    ]
    # The last of these is the next.
    waiting = sorted(
        ((first, first + count, which) for which, first, count in blocks), reverse=True
    )
    at_hand: list[
        tuple[int, int, int]
    ] = []  # those that begin early enough; the one that reaches furthest comes first
    result, run = Cover([], [], []), 0
    while run < experiment.runs:
        while waiting and waiting[-1][0] <= run:
            first, end, which = waiting.pop()
            heapq.heappush(at_hand, (-end, which, first))
        if at_hand and -at_hand[0][0] > run:
            minus_end, which, first = heapq.heappop(at_hand)
            block = kinds[which]._block(first, -minus_end - first)
            try:
                content = read(block)
            except DamagedFile as error:
                result.damaged.append(error)
                continue
            if content is not None and content is not False:
                end = min(-minus_end, experiment.runs)
                result.found.append((block, run - first, end - first, content))
                run = end
            continue
        end = min(waiting[-1][0], experiment.runs) if waiting else experiment.runs
        if result.missing and result.missing[-1][1] == run:
            run = result.missing.pop()[0]  # one gap, and not two with a damaged block between them
        result.missing.append((run, end))
        run = end
    return result


@dataclass(frozen=True)
class Progress:
    """What a call of :func:`run_sweep` found and did, counted in tasks, which are blocks of runs.

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
    dask: Any = None,
    progress: bool | None = None,
    announce: Callable[[str], Any] | None = None,
) -> Progress:
    """Compute the runs of `experiment` that are not in `store`; each task is safely on disk as soon as it is done.

    A task that raises does not stop the others, nor does one whose result cannot be stored because a disk or network has
    a bad moment (it is tried five times): at the end a SweepError lists what failed, with setting and runs, and says where
    the tracebacks are. The same call tries the failed ones again.

    Parameters
    ----------
    experiment : Experiment
        What to compute.
    store : Store
        Where finished tasks are. Files that are damaged or foreign are named in a warning and replaced.
    workers : int
        Number of processes on this machine, of which no more are started than there are tasks; 1 computes in this
        process.
    dask : str, distributed.Client or cluster object, optional
        Compute on a Dask cluster instead, whose workers need gqlib: the address of its scheduler,
        ``"tcp://host:port"``, a client, or a cluster such as ``dask_jobqueue.SLURMCluster``; all but the address stay
        open. ``"local"`` starts one of `workers` processes on the loopback interface and stops it at the end.
    progress : bool, optional
        Show a bar with rate and time left on stderr, or do not. By default a terminal shows one, a notebook after 15
        seconds, and a log gets a line every half minute.
    announce : callable, optional
        Called with a line of text that says how much there is to compute and, after the first tasks, with one that says
        how long the others will take; ``print`` will do.

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
    workers = check.integer("workers", workers, low=1, high=MOST_WORKERS)
    say = check.function("announce", announce) if announce is not None else lambda text: None
    _check_dask(dask)
    _check_importable(experiment, elsewhere=workers > 1 or dask is not None)
    confirm(experiment.version, experiment.imported)
    missing, found, damaged, old = _missing(experiment, store)
    total = experiment.runs * len(experiment.settings)
    left = sum(task.runs for task in missing)
    if missing:
        # What is not there is an error now, and not after hours.
        look_up("runner", experiment.function, allow=[experiment.function])
        if experiment.summary:
            look_up("summary", experiment.summary, allow=[experiment.summary])
        if experiment.finish:
            look_up("finish", experiment.finish, allow=[experiment.finish])
        say(f"{len(missing):,} tasks to compute, with {left:,} of {total:,} runs")
    results = computed(missing, workers, dask)
    failed: dict[int, Failure] = {}
    estimate = estimating(len(missing), max(4, 2 * workers), say)
    with (
        showing(experiment.name, total - left, total, progress) as advance,
        contextlib.closing(results),
    ):
        for index, outcome in results:
            if isinstance(outcome, Failure):
                failed[index] = outcome
                continue
            try:
                store.put(missing[index].name, missing[index].header, outcome)
            except BadMoment as error:
                logger.warning("%s; the sweep goes on", error)
                failed[index] = Failure(str(error), "It was computed, and could not be stored.")
                continue
            advance(missing[index].runs)
            estimate()
    _tell(failed, missing, store, experiment.settings)
    return Progress(found, len(missing), tuple(damaged), old)


def _check_dask(dask: Any) -> None:
    address = isinstance(dask, str) and re.fullmatch(r"local|\w+://[^\s/]+.*", dask)
    running = not isinstance(dask, type) and (
        hasattr(dask, "submit") or hasattr(dask, "scheduler_address")
    )
    if not (dask is None or address or running):
        wanted = "an address such as tcp://host:port, 'local', or a client or cluster of Dask"
        raise ValueError(f"dask is {check.brief(dask)}; it should be {wanted}")


def _check_importable(experiment: Experiment, *, elsewhere: bool) -> None:
    """Refuse code that workers cannot import, and code whose import would start the sweep again in each of them."""
    for name in sorted({experiment.function, *experiment.imported}):
        module = name.partition(":")[0]
        if module == "__main__" and elsewhere:
            raise SweepError(
                f"workers cannot import {name!r} from a notebook or a prompt: put it into a module"
            )
        if getattr(getattr(sys.modules.get(module), "__spec__", None), "_initializing", False):
            below = 'if __name__ == "__main__":'
            raise SweepError(
                f"{module} would run its sweep whenever a worker imports it: put the call below {below}"
            )


def _tell(
    failed: Mapping[int, Failure], tried: Sequence[Task], store: Store, settings: Sequence[Any]
) -> None:
    """Write down what failed, with its traceback, and say so; what succeeded is stored, and a resume tries the rest."""
    if not failed:
        return
    alike: dict[tuple[str, str], list[Task]] = defaultdict(
        list
    )  # a setting that fails the same way in all runs is one
    for index, failure in sorted(failed.items()):
        alike[tried[index].digest, failure.error].append(tried[index])
    places = [f"{_which(tasks)} of {_apart(tasks[0].setting, settings)}: {error}"
              for (_, error), tasks in list(alike.items())[:MOST_SHOWN]]  # fmt: skip
    report = store.directory / "failures.txt"
    texts = [f"{_which([tried[index]])} of {tried[index].setting}:\n{failure.error}\n{failure.traceback}"
             for index, failure in sorted(failed.items())]  # fmt: skip
    where = f"Tracebacks are in {report}"
    try:
        write_file(report, "\n".join(texts).encode(errors="backslashreplace"))
    except StoreError as error:
        where = str(error)
    shown = "; ".join(places) + (
        f"; and {len(alike) - MOST_SHOWN} more" if len(alike) > MOST_SHOWN else ""
    )
    raise SweepError(
        f"{len(failed)} of {len(tried)} tasks failed, the others are stored: {shown}. "
        f"{where}; the same sweep tries them again"
    )


def _apart(setting: Any, settings: Sequence[Any]) -> str:
    """A setting in words: as it is where that is short, otherwise the fields that set it apart from the others."""
    if check.brief(setting) == repr(setting):
        return repr(setting)
    alike = [other for other in settings if type(other) is type(setting)]
    told = []
    for name in (field.name for field in fields(setting)):
        values = {repr(getattr(other, name)) for other in alike}
        if len(values) > 1:
            told.append(f"{name}={getattr(setting, name)!r}")
    return f"{type(setting).__name__}({', '.join(told)}, ...)" if told else check.brief(setting)


def _which(tasks: Sequence[Task]) -> str:
    """The runs of tasks in words."""
    spans: list[list[int]] = []
    for task in tasks:
        if spans and spans[-1][1] == task.first_run:
            spans[-1][1] += task.runs
        else:
            spans.append([task.first_run, task.first_run + task.runs])
    told = [f"{first} to {stop - 1}" if stop - first > 1 else f"{first}" for first, stop in spans]
    return f"run{'s' * (sum(task.runs for task in tasks) > 1)} {', '.join(told)}"


def _missing(experiment: Experiment, store: Store) -> tuple[list[Task], int, list[Path], int]:
    """Tasks to compute, how many blocks were found, files that are not what they should be, and former names among all.

    Tasks are in the order of their runs, so that every setting soon has some.
    """
    index = index_of(store)
    missing: list[Task] = []
    damaged: list[Path] = []
    found = old = 0
    for setting in experiment.settings:
        covered = cover(
            experiment, setting, index, lambda block: store.has(block.name, block.header)
        )
        found += len(covered.found)
        old += sum(block.function != experiment.function for block, *_ in covered.found)
        for error in covered.damaged:
            logger.warning("%s; it is not used", error)
            damaged.append(error.path)
        whole = experiment._whole(setting)
        cuts = (cut for gap in covered.missing for cut in _cuts(*gap, experiment.runs_per_task))
        missing += [whole._block(*cut) for cut in cuts]
    if old:
        logger.warning(
            "%s: %d tasks are read under the names of an earlier edition", store.directory, old
        )
    return (
        sorted(missing, key=lambda task: task.first_run // experiment.runs_per_task),
        found,
        damaged,
        old,
    )
