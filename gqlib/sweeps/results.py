"""Labelled results, in memory and as files: one dataset, one file, the same bytes for the same content.

The format is that of :mod:`gqlib.sweeps.store`, compressed: every variable and coordinate is an ``.npy`` member,
and the header holds dimensions and attributes, including the settings, the seed and the code version
behind the numbers. What follows from the rest is not written, and is there again when a file is loaded: the numbers of
runs and episodes, the levels of quantiles, and a mean beside every sum over runs.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib.sweeps import workers
from gqlib.sweeps._lost import filled, is_lost, joined
from gqlib.sweeps._versions import confirm
from gqlib.sweeps.names import TABLE, SweepError, current, look_up
from gqlib.sweeps.setting import Setting, as_python, plain
from gqlib.sweeps.store import (
    Arrays,
    DamagedFile,
    Header,
    Refused,
    Store,
    StoreError,
    canonical_json,
    pack,
    read_file,
    write_file,
)
from gqlib.sweeps.sweep import Experiment, Index, Task, cover, index_of

if TYPE_CHECKING:
    import xarray

__all__ = ["collect", "keep_all", "load_results", "recompute", "save_results", "verify_sample"]

DIGEST = "digest"  # of the bits of weights, by run or by block

_FORMAT = "gqlib dataset 1"
_ABOUT = ("name", "title", "function", "summary", "seed", "version", "runs")
Labelled = tuple[tuple[str, ...], NDArray[Any]]
MOST_LABELS = (
    10**6
)  # of text along a dimension, of which xarray makes objects with twenty times their size
_FIRST = {"run": 0, "episode": 1}  # dimensions that are numbered, and from where
_SPREAD, _LEVELS = (
    "control with spread",
    (0.05, 0.25, 0.5, 0.75, 0.95),
)  # a summary, and its quantiles


def keep_all(arrays: Arrays) -> dict[str, Labelled]:
    """Keep every array as it is; the axes after the first are called ``name_1, name_2, ...``.

    Examples
    --------
    >>> keep_all({"theta": np.zeros((3, 2))})["theta"][0]
    ('run', 'theta_1')
    """
    for name, array in check.members("arrays", arrays).items():
        check.instance("arrays", array, np.ndarray)
        check.instance("arrays", name, str)
    return {
        name: (("run", *(f"{name}_{axis}" for axis in range(1, array.ndim))), array)
        for name, array in arrays.items()
    }


def collect(experiment: Experiment, store: Store) -> xarray.Dataset:
    """Return the labelled result of a finished sweep.

    The dataset has a dimension ``setting`` with a coordinate for every field of the settings, a dimension
    ``run``, and whatever the experiment's summary adds. Runs are numbered from 0, episodes from 1; beside ``NAME_sum``,
    a sum over runs, is ``NAME_mean``. The attributes say what made it, in enough detail to make any run of it again
    (:func:`recompute`). Settings are read one at a time, so the memory needed is that of one setting plus the result.
    Of a run that a learner's error ended, NaN is kept: it has diverged.

    Examples
    --------
    >>> import tempfile
    >>> from gqlib.sweeps.sweep import run_sweep
    >>> from gqlib.experiments.figure2 import TwoStateSetting
    >>> one = (TwoStateSetting(0.5, steps=50),)
    >>> sweep = Experiment("one", "One setting", "two-state", one, 3, 7, "1", runs_per_task=3)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     progress = run_sweep(sweep, Store(directory))
    ...     data = collect(sweep, Store(directory))
    >>> data["steps"].values.tolist(), data["theta"].dims, data.attrs["function"]
    ([50], ('setting', 'run', 'theta_1', 'theta_2', 'theta_3'), 'two-state')
    """
    check.instance("experiment", experiment, Experiment)
    check.instance("store", store, Store)
    import xarray

    confirm(experiment.version, experiment._imported)
    index = index_of(store)
    kept = _kept(experiment, store, index)
    _check_alike(experiment, kept)
    shared = _shared(kept)
    variables = {
        name: (("setting", *dims), np.stack([summary[name][1] for summary in kept]))
        for name, (dims, _) in kept[0].items()
        if name not in shared
    }
    settings = [plain(setting) for setting in experiment.settings]
    varied = dict.fromkeys(name for setting in settings for name in setting)
    labels = {
        name: (
            "setting",
            np.array([_label(getattr(setting, name)) for setting in experiment.settings]),
        )
        for name in varied
    }
    about = {name: getattr(experiment, name) for name in _ABOUT}
    twice = sorted({"setting", "key", *labels} & {*variables, *shared})
    if twice:
        raise SweepError(
            f"{experiment.function!r} returned {twice[0]!r}, which a result has; expected another name"
        )
    result = xarray.Dataset(
        variables,
        coords=labels
        | shared
        | {"key": ("setting", np.array([setting.key for setting in experiment.settings]))},
        attrs=about
        | {
            "setting_type": _setting_name(experiment),
            "settings": canonical_json(settings),
        },
    )
    if experiment.finish:
        result = look_up("finish", experiment.finish, allow=[experiment.finish])(result)
    return _complete(result)


def _check_alike(experiment: Experiment, kept: list[dict[str, Labelled]]) -> None:
    """Refuse settings of which other things are kept than of the first."""
    first, *others = [
        _told({name: array for name, (_, array) in summary.items()}) for summary in kept
    ]
    for setting, found in zip(experiment.settings[1:], others, strict=True):
        if found != first:
            raise _unlike(experiment, f"{check.brief(setting)} has {found}", first)


def _told(arrays: Arrays) -> str:
    """What arrays are there, of which shapes."""
    kinds = {
        name: "text" if array.dtype.kind in "SU" else "numbers" for name, array in arrays.items()
    }
    return ", ".join(
        f"{name!r} ({kinds[name]} of shape {array.shape})" for name, array in sorted(arrays.items())
    )


def _unlike(experiment: Experiment, found: str, expected: str) -> SweepError:
    """Arrays that do not go together, because a runner returned others in some of its tasks."""
    return SweepError(
        f"{found}, what is before it {expected}; {experiment.function!r} should return the same arrays in every task "
        "(once it does, change the version, and they are computed again)"
    )


def _shared(kept: list[dict[str, Labelled]]) -> dict[str, Labelled]:
    """The coordinates that a summary returns: arrays named like their only dimension, the same for every setting."""
    shared = {name: kept[0][name] for name, (dims, _) in kept[0].items() if tuple(dims) == (name,)}
    for name, (_, values) in shared.items():
        if not all(np.array_equal(summary[name][1], values) for summary in kept):
            raise SweepError(
                f"the summary returns a coordinate {name!r} that is not the same for every setting"
            )
    return shared


def _complete(dataset: xarray.Dataset) -> xarray.Dataset:
    """Add what follows from the rest: numbers of runs and episodes, levels of quantiles, means beside sums."""
    sizes, known = dataset.sizes, set(dataset.variables)
    coords: dict[str, Any] = {
        dim: np.arange(first, first + sizes[dim]) for dim, first in _FIRST.items() if dim in sizes
    }
    summary = dataset.attrs.get("summary")
    spread = isinstance(summary, str) and current("summary", summary) == _SPREAD
    if spread and sizes.get("quantile") == len(_LEVELS):
        coords["quantile"] = np.array(_LEVELS)
    means = {}
    for name, array in dataset.data_vars.items():
        if (
            str(name).endswith("_sum")
            and array.dtype.kind in "iuf"
            and sizes.get("run")
            and "run" not in array.dims
        ):
            counted = (
                dataset["counted"].where(dataset["counted"] > 0)
                if "counted" in dataset
                else sizes["run"]
            )
            if set(getattr(counted, "dims", ())) <= set(
                array.dims
            ):  # a mean for each sum, and no table of all by all
                means[f"{str(name).removesuffix('_sum')}_mean"] = array / counted
    added = dataset.assign_coords(
        {name: (name, value) for name, value in coords.items() if name not in known}
    )
    return added.assign({name: value for name, value in means.items() if name not in known})


def _essential(dataset: xarray.Dataset) -> xarray.Dataset:
    """Leave out what `_complete` would add again, exactly as it is."""
    means = [name for name in dataset.data_vars if str(name).endswith("_mean")]
    follows = [name for name in (*_FIRST, "quantile", *means) if name in dataset.variables]
    again = _complete(dataset.drop_vars(follows))
    both = [name for name in follows if name in again.variables]
    return dataset.drop_vars([name for name in both if again[name].identical(dataset[name])])


def _label(value: object) -> bool | int | float | str:
    value = as_python(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:  # too long for an array of numbers
        return str(value)
    return value if isinstance(value, bool | int | float | str) else canonical_json(value)


def _kept(experiment: Experiment, store: Store, index: Index) -> list[dict[str, Labelled]]:
    """What is kept of each setting; where all runs of one were lost to divergence, with the arrays of another."""
    summary = look_up("summary", experiment.summary, allow=[experiment.summary])
    kept: dict[int, dict[str, Labelled]] = {}
    lost: dict[int, Arrays] = {}
    like: Arrays = {}
    for number, setting in enumerate(experiment.settings):
        together = _together(experiment, setting, store, index)
        if is_lost(together):
            lost[number] = together
        else:
            like = like or {name: array[:1] for name, array in together.items()}
            kept[number] = summary(together)
    kept |= {number: summary(filled(runs, like or runs)) for number, runs in lost.items()}
    return [kept[number] for number in range(len(experiment.settings))]


def _together(experiment: Experiment, setting: Setting, store: Store, index: Index) -> Arrays:
    """The arrays of all runs of a setting."""
    covered = cover(experiment, setting, index, lambda block: _rows(block, store))
    if covered.missing:
        for error in covered.damaged:
            raise error
        first, stop = covered.missing[0]
        place = f"runs {first} to {stop - 1} of {check.brief(setting)}"
        raise SweepError(
            f"{place} are not in {store.directory}: {experiment.name!r} is not finished"
        )
    parts = [
        {name: array[low:high] for name, array in rows.items()}
        for _, low, high, rows in covered.found
    ]
    whole = [number for number, part in enumerate(parts) if not is_lost(part)]
    expected, *others = [
        _told({name: array[0] for name, array in parts[number].items()}) for number in whole
    ] or [""]
    for number, found in zip(whole[1:], others, strict=True):
        if found != expected:
            first_run = covered.found[number][0].first_run
            place = f"the task of {check.brief(setting)} that begins with run {first_run} has in each run"
            raise _unlike(experiment, f"{place} {found}", expected)
    return joined(parts)


def _rows(block: Task, store: Store) -> Arrays | None:
    """The arrays of a stored block, if they have a row for each of its runs."""
    arrays = store.get(block.name, block.header)
    for name, array in (arrays or {}).items():
        if array.ndim == 0 or len(array) != block.runs:
            raise DamagedFile(
                store.path(block.name), f"has {name!r} of shape {array.shape} for {block.runs} runs"
            )
    return arrays


def _setting_name(experiment: Experiment) -> str:
    """The name of the settings' class: the runner's own where it is one of ours, otherwise the user's path."""
    kind = type(experiment.settings[0])
    path = f"{kind.__module__}:{kind.__qualname__}"
    return next((name for name, ours in TABLE["setting"].items() if ours == path), path)


def recompute(
    dataset: xarray.Dataset,
    setting: int,
    first_run: int,
    runs: int = 1,
    *,
    allow: Collection[str] = (),
) -> dict[str, Labelled]:
    """Make a few runs of a stored result again, from what the result says about itself.

    A result may come from anywhere. What it names is looked up in the table of `gqlib.sweeps.names`; a runner, summary
    or setting that is a user's own, ``"module:name"``, is imported only if `allow` names it.

    Parameters
    ----------
    dataset : xarray.Dataset
        A result from :func:`collect`, or one that was loaded.
    setting : int
        Position of the setting along the dimension ``setting``.
    first_run, runs : int
        Which runs.
    allow : collection of str
        Names outside gqlib that may be imported and called.

    Returns
    -------
    dict of str to (dims, array)
        What the experiment's summary keeps of these runs: arrays with a dimension ``run`` should equal the
        stored ones bit for bit; measures of predictions only where the linear-algebra library rounds as it did for
        the file (`gqlib.evaluation.measures`).

    Examples
    --------
    >>> import tempfile
    >>> from gqlib.sweeps.sweep import run_sweep
    >>> from gqlib.experiments.figure2 import TwoStateSetting
    >>> one = (TwoStateSetting(0.5, steps=50),)
    >>> sweep = Experiment("one", "One setting", "two-state", one, 3, 7, "1", runs_per_task=3)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     progress = run_sweep(sweep, Store(directory))
    ...     data = collect(sweep, Store(directory))
    >>> dims, theta = recompute(data, setting=0, first_run=1)["theta"]
    >>> bool((theta[0] == data["theta"].values[0, 1]).all())
    True
    """
    _check_keys(dataset)
    setting = check.integer("setting", setting, low=0, high=dataset.sizes["setting"] - 1)
    first_run, runs = (
        check.integer("first_run", first_run, low=0),
        check.integer("runs", runs, low=1),
    )
    about = _about(dataset)
    summary = look_up("summary", about["summary"], allow)
    look_up("runner", about["function"], allow)
    remade = _remade(about, setting, allow)
    if remade.key != dataset["key"].values[setting]:
        raise SweepError(
            f"setting {setting} of {about['name']!r} has another key now: {remade.key}"
        )
    task = Task(
        current("runner", about["function"]),
        remade,
        first_run,
        runs,
        about["seed"],
        "",  # whatever is loaded: its numbers are for the caller to compare
    )
    kept: dict[str, Labelled] = summary(task.compute())
    return kept


def _check_keys(dataset: xarray.Dataset) -> None:
    """Refuse what is no result, or has not one key for each setting."""
    check.labelled("dataset", dataset, "key")
    if dataset["key"].dims != ("setting",) or not dataset.sizes["setting"]:
        raise SweepError(
            f"the result has keys of shape {dataset['key'].shape}; it should have one for each setting"
        )


def _about(dataset: xarray.Dataset) -> dict[str, Any]:
    """What a result says about itself, checked to be of the right types."""
    about = dict(dataset.attrs)
    texts = ("name", "function", "summary", "version", "setting_type", "settings")
    for name, kind in {**dict.fromkeys(texts, str), "seed": int}.items():
        if type(about.get(name)) is not kind:
            raise SweepError(
                f"the result has {name} {check.brief(about.get(name))}; it should be a {kind.__name__}"
            )
    return about


def _remade(about: Mapping[str, Any], index: int, allow: Collection[str]) -> Setting:
    """One of the settings that a result lists, rebuilt by its class, which checks every field."""
    kind = look_up("setting", about["setting_type"], allow)
    try:
        setting: Setting = kind(**json.loads(about["settings"])[index])
    except (TypeError, ValueError, KeyError, IndexError, RecursionError) as error:
        raise SweepError(
            f"setting {index} of {about['name']!r} cannot be made again: {error}"
        ) from error
    for name in getattr(setting, "imported", ()):
        if name not in allow:
            raise SweepError(
                f"setting {index} of {about['name']!r} imports {name!r}; pass allow=[{name!r}] to run it"
            )
    return setting


def verify_sample(
    dataset: xarray.Dataset, runs: int, rng: np.random.Generator, *, allow: Collection[str] = ()
) -> int:
    """Recompute a random sample of stored runs and compare every number kept of them, bit for bit.

    What linear algebra computes, MSPBE and errors of values, depends in its last digits on the kernels that the
    library chooses for the processor: on an older one an honest file of such measures may be refused.
    Digests of weights are left out: those of the committed Figure 3 are of the bits that its learners had before they were
    compiled from one text, which are the same up to rounding. A search keeps nothing else of single runs, and a warning
    says so; recompute all runs of one of its settings, and compare the means.
    In a page of the book, where nothing is compiled and a run may take minutes, none is recomputed, and a warning says
    so.

    Parameters
    ----------
    dataset : xarray.Dataset
        A result of :func:`collect`.
    runs : int
        How many runs to recompute, drawn from all settings.
    rng : numpy.random.Generator
        Chooses which ones.
    allow : collection of str
        As in :func:`recompute`.

    Returns
    -------
    int
        The number of values that were compared; 0 in a page, and where nothing else is kept of single runs.

    Raises
    ------
    ValueError
        If one differs: the file was not made by this code.

    Examples
    --------
    >>> import tempfile
    >>> from gqlib.sweeps.sweep import run_sweep
    >>> from gqlib.experiments.figure2 import TwoStateSetting
    >>> one = (TwoStateSetting(0.5, steps=50),)
    >>> sweep = Experiment("one", "One setting", "two-state", one, 3, 7, "1", runs_per_task=3)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     progress = run_sweep(sweep, Store(directory))
    ...     data = collect(sweep, Store(directory))
    >>> verify_sample(data, 2, np.random.default_rng(0))  # two runs: 51·2 weights and a flag each
    206
    """
    _check_keys(dataset)
    check.generator("rng", rng)
    if not dataset.sizes.get("run"):
        raise SweepError("the result has no runs; there should be some to compare")
    runs, compared = check.integer("runs", runs, low=1, high=check.ROOM), 0
    if workers.IN_PAGE:
        warnings.warn(
            f"none of {runs} runs is recomputed in a page: it could take minutes", stacklevel=2
        )
        return compared
    for _ in range(runs):
        setting = int(rng.integers(dataset.sizes["setting"]))
        run = int(rng.integers(dataset.sizes["run"]))
        for name, (dims, made) in recompute(dataset, setting, run, allow=allow).items():
            if dims[:1] != ("run",) or name == DIGEST:
                continue
            if not _equal(made[0], _kept_of(dataset, name, setting, run)):
                raise ValueError(
                    f"dataset has another {name} in setting {setting}, run {run} than this code gives"
                )
            compared += made[0].size
    if not compared:
        warnings.warn(
            "nothing was compared: of single runs the result keeps digests of weights alone",
            stacklevel=2,
        )
    return compared


def _kept_of(dataset: xarray.Dataset, name: str, setting: int, run: int) -> NDArray[Any]:
    """What a result has of one run."""
    if name not in dataset.variables or dataset[name].dims[:2] != ("setting", "run"):
        raise ValueError(
            f"dataset has no {name} for each setting and run; it should have what this code keeps"
        )
    return np.asarray(dataset[name].values[setting, run])


def _equal(made: NDArray[Any], stored: NDArray[Any]) -> bool:
    """Whether numbers are the same, and NaN where the others are: a run that diverged is data."""
    same = made.shape == stored.shape and (made == stored) | ((made != made) & (stored != stored))
    return bool(np.all(same))


def save_results(path: str | os.PathLike[str], dataset: xarray.Dataset) -> Path:
    """Write `dataset` to `path` (completely or not at all) and return the path.

    Parameters
    ----------
    path : path
        A name that ends in ``.npz``; missing directories are created.
    dataset : xarray.Dataset
        Arrays of numbers, booleans or fixed-width strings; attributes that JSON can hold.

    Examples
    --------
    >>> import tempfile, numpy as np, xarray
    >>> data = xarray.Dataset({"steps": ("step", np.arange(3))}, attrs={"seed": 7})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     load_results(save_results(f"{directory}/example.npz", data)).identical(data)
    True
    """
    check.labelled("dataset", dataset)
    path = check.path("path", path)
    dataset = _essential(dataset)
    header: dict[str, Any] = {
        "format": _FORMAT,
        "attrs": dict(dataset.attrs),
        "dims": {str(name): list(map(str, dataset[name].dims)) for name in dataset.variables},
        "coords": sorted(map(str, dataset.coords)),
    }
    arrays = {str(name): dataset[name].values for name in dataset.variables}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the directory {path.parent}: {error.strerror}") from error
    write_file(path, pack(header, arrays, compact=True))
    return path


def load_results(path: str | os.PathLike[str]) -> xarray.Dataset:
    """Return the dataset that :func:`save_results` wrote, labelled like that of :func:`collect`.

    Raises
    ------
    DamagedFile
        If the file is truncated, altered, or not a dataset of ours.
    FileNotFoundError
        If there is none.

    Examples
    --------
    >>> import tempfile, xarray
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = save_results(f"{directory}/steps.npz", xarray.Dataset({"steps": ("run", [3, 5])}))
    ...     data = load_results(path)
    >>> data["steps"].values.tolist(), data["run"].values.tolist()
    ([3, 5], [0, 1])
    """
    import xarray

    header, arrays = read_file(check.path("path", path), _expected)
    try:
        coords = set(header["coords"])
        labelled = {name: (tuple(dims), arrays[name]) for name, dims in header["dims"].items()}
        return _complete(
            xarray.Dataset(
                {name: value for name, value in labelled.items() if name not in coords},
                coords={name: value for name, value in labelled.items() if name in coords},
                attrs=dict(header["attrs"]),
            )
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedFile(Path(path), f"holds no dataset: {error}", "dataset") from error


def _expected(header: Header, likes: Arrays) -> None:
    """Refuse what is no dataset, before its arrays are unpacked."""
    if header.get("format") != _FORMAT:
        raise Refused("format", "holds no dataset")
    try:
        if set(header["dims"]) != set(likes):
            raise ValueError(f"it has the arrays {check.brief(sorted(likes))}")
        sizes: dict[str, int] = {}
        for name, dims in header["dims"].items():
            like = likes[name]
            if len({str(dim) for dim in dims if isinstance(dim, str)}) < len(dims):
                raise ValueError(f"{name!r} has the dimensions {check.brief(dims)}")
            for dim, size in zip(dims, like.shape, strict=True):
                if sizes.setdefault(dim, size) != size:
                    raise ValueError(f"{name!r} has {size} in {dim!r}, another {sizes[dim]}")
            if list(dims) == [name] and like.dtype.kind in "SU" and like.size > MOST_LABELS:
                raise ValueError(
                    f"{name!r} has more than {MOST_LABELS} labels of text, each of which is an object"
                )
            if (
                list(dims) == [name] and like.dtype == np.float16
            ):  # of which xarray makes others, and warns
                raise ValueError(f"{name!r} has labels of float16")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Refused("dataset", f"holds no dataset: {error}") from error
