"""A study of one's own in two calls: a function that makes one run, the values to try, and where the results go.

The function takes a generator and the fields of a setting, and returns numbers by name:

    def walk(rng, alpha, trace):
        ...
        return {"error": 0.3}

It is written in a module, because workers look it up by its name. `own_study` makes an
:class:`~gqlib.sweeps.sweep.Experiment` of it, which resumes, moves to a cluster and goes through ``gq run`` like those
of the paper; `run_study` computes what is missing and returns the labelled result.

Every run of every setting gets the generator of its seed and number (:mod:`gqlib.seeds`), so that settings meet the
same random numbers and their differences are paired. The version of a study follows the function that is loaded and all
that it uses of your own modules, unless you give one: results of an earlier form of any of it are not taken for today's.
"""

from __future__ import annotations

import inspect
import keyword
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, make_dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib import seeds
from gqlib.rules import LARGEST_WEIGHT
from gqlib.sweeps._versions import version_of
from gqlib.sweeps.names import SweepError, look_up
from gqlib.sweeps.results import collect
from gqlib.sweeps.setting import Setting, as_python
from gqlib.sweeps.store import Arrays, Store, canonical_json
from gqlib.sweeps.sweep import Experiment, run_sweep

if TYPE_CHECKING:
    import os

    import xarray

__all__ = ["OwnSetting", "coin", "own_runs", "own_setting", "own_study", "run_study"]

_RUNNER = "own study"
_TAKEN = {
    "LATER",
    "fields",
    "function",
    "imported",
    "key",
    "run",
    "setting",
}  # a setting or a result has these
_IN_RESULTS = {"function", "key", "run", "setting"}


@dataclass(frozen=True, repr=False)
class OwnSetting(Setting):
    """The base of a setting that `own_setting` makes: the function that makes a run, then its fields.

    Examples
    --------
    >>> setting = own_setting("math:hypot", x=3.0)
    >>> isinstance(setting, OwnSetting), setting.function, setting.imported, setting.fields
    (True, 'math:hypot', ('math:hypot',), {'x': 3.0})
    """

    function: str

    @property
    def imported(self) -> tuple[str, ...]:
        """The user's function: a result from elsewhere is run only by someone who allows it by name."""
        return (self.function,)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that the function is called with."""
        return {name: value for name, value in asdict(self).items() if name != "function"}

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.fields.items())
        return f"{self.function.rpartition(':')[2]}({told})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (self.function, self.fields)


def own_setting(function: str, **fields: Any) -> OwnSetting:
    """Return a setting with any fields, for the function ``"module:name"``.

    Examples
    --------
    >>> own_setting("my_study:walk", alpha=0.1, trace=0.9)
    walk(alpha=0.1, trace=0.9)
    """
    check.instance("function", function, str)
    for name, value in fields.items():
        try:
            canonical_json(as_python(value))
        except ValueError:
            wanted = "a finite number, a text, None, or a list of such"
            raise ValueError(f"{name} is {check.brief(value)}; it should be {wanted}") from None
    setting: OwnSetting = _kind(tuple(fields))(function, *map(as_python, fields.values()))
    return setting


def _remade(function: str, fields: dict[str, Any]) -> OwnSetting:
    return own_setting(function, **fields)


@cache
def _kind(names: tuple[str, ...]) -> Any:
    """The class of settings with these fields; a file knows it by the name of `own_setting`."""
    for name in names:
        pythons = name.startswith("__") and name.endswith(
            "__"
        )  # such as __dict__, which holds all the others
        if not name.isidentifier() or keyword.iskeyword(name) or name in _TAKEN or pythons:
            raise ValueError(
                f"a field is called {name!r}; it should be a name of Python's other than {sorted(_TAKEN)}"
            )
    kind = make_dataclass(
        "own_setting", [(name, Any) for name in names], bases=(OwnSetting,), frozen=True, repr=False
    )
    kind.__module__ = __name__
    return kind


def coin(rng: np.random.Generator, heads: float, throws: int) -> dict[str, Any]:
    """An example of a function that makes one run: how far the share of heads is from their probability.

    Examples
    --------
    >>> sorted(coin(np.random.default_rng(0), heads=0.5, throws=100))
    ['error']
    """
    rng, heads = check.generator("rng", rng), check.fraction("heads", heads)
    throws = check.integer("throws", throws, low=1, high=check.ROOM)
    return {"error": abs((rng.random(throws) < heads).mean() - heads)}


def own_runs(setting: OwnSetting, runs: int, seed: int, *, first_run: int) -> Arrays:
    """Call the function of a setting for each of its runs: the runner of every study that `own_study` makes.

    Unless the function says itself which runs have ``diverged``, those have in which a real number that it returned is
    NaN or beyond 1e10, as in prediction. Overflows on the way are counted, not warned of.

    Examples
    --------
    >>> made = own_runs(own_setting("gqlib.sweeps.own:coin", heads=0.5, throws=100), 3, 7, first_run=0)
    >>> made["error"].shape, made["diverged"].tolist()
    ((3,), [False, False, False])
    """
    check.instance("setting", setting, OwnSetting)
    runs, seed = check.integer("runs", runs, low=1), check.integer("seed", seed, low=0)
    first_run = check.integer("first_run", first_run, low=0)
    check.room("runs", runs, runs)
    function = look_up("runner", setting.function, allow=[setting.function])
    made: list[dict[str, Any]] = []
    for run in range(first_run, first_run + runs):
        with np.errstate(over="ignore", invalid="ignore"):
            returned = function(seeds.generator(seed, run, seeds.TRAJECTORY), **setting.fields)
        if not isinstance(returned, Mapping) or not returned:
            raise SweepError(
                f"{setting!r} returned {check.brief(returned)}; expected numbers by name, in a dict"
            )
        arrays = {name: _returned(setting, name, value) for name, value in returned.items()}
        arrays.setdefault("diverged", np.asarray(any(map(_beyond, arrays.values()))))
        made.append(arrays)
        shapes = [{name: array.shape for name, array in one.items()} for one in (made[0], arrays)]
        if shapes[0] != shapes[1]:
            raise SweepError(
                f"{setting!r} returned shapes {shapes[1]} in run {run}, and {shapes[0]} before"
            )
    return {name: np.stack([one[name] for one in made]) for name in made[0]}


def _returned(setting: OwnSetting, name: Any, value: Any) -> NDArray[Any]:
    """What a function returned under a name, if a result can hold it beside the fields of the setting."""
    if name in _IN_RESULTS or name in setting.fields:
        raise SweepError(
            f"{setting!r} returned {name!r}, which the result has already; expected another name"
        )
    if np.ma.is_masked(value):
        raise SweepError(
            f"{setting!r} returned {name!r} with masked entries; expected numbers, or NaN"
        )
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        raise SweepError(
            f"{setting!r} returned {name!r} {check.brief(value)}; expected numbers or an array"
        ) from None
    if name == "diverged" and not (array.dtype.kind in "biuf" and np.isin(array, (0, 1)).all()):
        raise SweepError(
            f"{setting!r} returned diverged {check.brief(value)}; expected True or False"
        )
    return array


def _beyond(array: NDArray[Any]) -> bool:
    """Whether some real or complex number is too large, or none; counts can be as large as they like."""
    return array.dtype.kind in "fc" and not bool((np.abs(array) <= LARGEST_WEIGHT).all())


def own_study(
    function: Callable[..., Mapping[str, Any]],
    grid: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]],
    *,
    runs: int,
    seed: int,
    name: str = "",
    title: str = "",
    version: str = "",
    runs_per_task: int = 1,
) -> Experiment:
    """Return the study of `function` at every point of `grid`.

    Parameters
    ----------
    function : callable
        Makes one run: takes a :class:`numpy.random.Generator` and the fields of a setting by keyword, and returns
        numbers or arrays by name, the same names and shapes in every run. It stands at the top of a module, or of a
        script that runs its study below ``if __name__ == "__main__":``.
    grid : mapping or sequence of mappings
        Values of every field, of which all combinations are tried, the last field fastest; or the settings one by one.
    runs, seed : int
        Runs of each setting, and the seed of the study.
    name, title : str
        The name is that of the result file; by default the name of the function, and the first line of its docstring.
    version : str
        Changes when results change; by default with the code of the function, or of anything of your own that it uses:
        functions, classes, constants, arrays, plain objects, in modules or cells. Installed packages and gqlib count by
        name alone, files that are read not at all. Refused where a file was edited and not loaded again, and where the
        code of a worker is another. One of your own keeps the runs that are there when you mend what only made others
        fail, and nothing is compared.
    runs_per_task : int
        More than 1 where a run takes much less than a second.

    Examples
    --------
    >>> study = own_study(coin, {"heads": [0.1, 0.5], "throws": [10, 100]}, runs=3, seed=1)
    >>> study.name, study.settings[1], len(study.tasks())
    ('coin', coin(heads=0.1, throws=100), 12)
    """
    path = _path(check.function("function", function))
    points = _points(grid)
    for point in points:
        try:
            inspect.signature(function).bind(np.random.Generator, **point)
        except TypeError as error:
            raise ValueError(
                f"function is {path}, called with a generator and {', '.join(point)}: {error}"
            ) from None
    for label, text in {"name": name, "title": title, "version": version}.items():
        check.instance(label, text, str)
    return Experiment(
        name or path.rpartition(":")[2],
        title or (inspect.getdoc(function) or path).partition("\n")[0],
        _RUNNER,
        tuple(own_setting(path, **point) for point in points),
        runs,
        seed,
        version or version_of(function, path),
        runs_per_task=runs_per_task,
    )


def _path(function: Callable[..., Any]) -> str:
    """The name by which workers find a function; that of a script is the name that the script has as a module."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module == "__main__":
        main = sys.modules["__main__"]
        spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
        module = spec.name if spec is not None else Path(file).stem if file else module
    if not module or not name.isidentifier():
        raise ValueError(
            f"function is {check.brief(function)}; it should be a function at the top of a module"
        )
    return f"{module}:{name}"


def _points(grid: Any) -> list[dict[str, Any]]:
    """The fields of every setting."""
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise ValueError(
                    f"grid has {name} {check.brief(values)}; it should be a list of values"
                )
        points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    elif isinstance(grid, Sequence) and all(isinstance(point, Mapping) for point in grid):
        points = [dict(point) for point in grid]
    else:
        raise ValueError(
            f"grid is {check.brief(grid)}; it should be lists of values by name, or a list of settings"
        )
    if not points or not all(isinstance(name, str) for point in points for name in point):
        raise ValueError(
            f"grid is {check.brief(grid)}; it should have at least one setting, of values by name"
        )
    return points


def run_study(
    study: Experiment,
    directory: str | os.PathLike[str],
    *,
    workers: int = 1,
    dask: Any = None,
    progress: bool | None = None,
) -> xarray.Dataset:
    """Compute the runs of `study` that are not in `directory`, and return the labelled result of all of them.

    This is :func:`~gqlib.sweeps.sweep.run_sweep`, which has the same arguments, then
    :func:`~gqlib.sweeps.results.collect`. The result has a dimension ``setting`` with a coordinate for every field, and
    a dimension ``run``.

    Parameters
    ----------
    study : Experiment
        From `own_study`, or any other.
    directory : path
        Where finished tasks are kept; made if it is not there.
    workers, dask, progress
        As for `run_sweep`.

    Examples
    --------
    >>> import tempfile
    >>> study = own_study(coin, {"heads": [0.1, 0.5], "throws": [10, 100]}, runs=3, seed=1)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     result = run_study(study, directory)
    >>> dict(result["error"].sizes), result["throws"].values.tolist(), bool(result["diverged"].any())
    ({'setting': 4, 'run': 3}, [10, 100, 10, 100], False)
    """
    check.instance("study", study, Experiment)
    store = Store(check.path("directory", directory))
    for name in {setting.function for setting in study.settings if isinstance(setting, OwnSetting)}:
        look_up(
            "runner", name, allow=[name]
        )  # what is not there is an error now, and not one of every task
    run_sweep(study, store, workers=workers, dask=dask, progress=progress)
    return collect(study, store)
