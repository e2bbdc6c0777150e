"""Results as tables for other programs: CSV, Parquet, netCDF.

Variables of a result do not all have the same dimensions: some have a value for each run, some for each episode. A
table holds those that have theirs in common, one row for each combination, with the fields of the setting in every row.
So a result becomes one table or a few, named after their dimensions: ``fig4-run.csv``, ``fig4-episode.csv``.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gqlib import _validate as check
from gqlib.sweeps.names import SweepError
from gqlib.sweeps.store import write_file

if TYPE_CHECKING:
    import xarray

__all__ = ["FORMATS", "export_results", "select", "tables"]

FORMATS = (".csv", ".parquet", ".nc")


def tables(dataset: xarray.Dataset) -> dict[str, Any]:
    """Return the variables of a result as tables of pandas, by the dimensions that they have besides the setting.

    Examples
    --------
    >>> import xarray
    >>> data = xarray.Dataset({"score": (("setting", "run"), [[3, 5], [4, 6]]), "mean": ("setting", [4.0, 5.0])})
    >>> found = tables(data.assign_coords(sigma=("setting", [0.0, 1.0])))
    >>> list(found), found["run"].values.tolist()
    (['run', 'setting'], [[0.0, 0.0, 3.0, 0.0], [0.0, 1.0, 5.0, 0.0], [1.0, 0.0, 4.0, 1.0], [1.0, 1.0, 6.0, 1.0]])
    """
    check.labelled("dataset", dataset)
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, array in dataset.data_vars.items():
        groups.setdefault(tuple(map(str, array.dims)), []).append(str(name))
    found = {}
    for dims, names in groups.items():
        if not dims:
            raise ValueError(
                f"dataset has {names[0]!r} without dimensions; a table should have rows"
            )
        part = dataset[names].drop_vars(
            "key", errors="ignore"
        )  # 64 letters that the other fields determine
        label = _label(dims)
        if len([other for other in groups if _label(other) == label]) > 1:
            label = "-".join(dims)  # there is a table for each setting, and one for all of them
        if label in found:
            raise ValueError(
                f"dataset has two tables called {label}; its dimensions should have other names"
            )
        found[label] = part.to_dataframe(dim_order=list(dims)).reset_index()
    return found


def _label(dims: tuple[str, ...]) -> str:
    return "-".join(dim for dim in dims if dim != "setting") or "setting"


def select(dataset: xarray.Dataset, name: str, value: str) -> xarray.Dataset:
    """Return the part of a result in which a field of the settings, or a dimension, has this value.

    Parameters
    ----------
    dataset : xarray.Dataset
    name : str
        A field such as ``alpha``, or a dimension; one without labels is counted from 0.
    value : str
        The value, as text.

    Examples
    --------
    >>> import xarray
    >>> data = xarray.Dataset({"score": (("setting", "run"), [[3, 5], [4, 6]])}, {"sigma": ("setting", [0.0, 0.5])})
    >>> select(data, "sigma", ".5")["score"].values.tolist(), select(data, "run", "1")["score"].values.tolist()
    ([[4, 6]], [5, 6])
    """
    check.labelled("dataset", dataset)
    check.instance("value", value, str)
    fields = [str(key) for key, array in dataset.coords.items() if array.dims == ("setting",)]
    check.choice("name", name, [*fields, *(str(dim) for dim in dataset.sizes if dim not in fields)])
    levels = dataset[name].values if name in dataset.coords else np.arange(dataset.sizes[name])
    found = np.flatnonzero([_equal(level, value) for level in levels.tolist()])
    if not len(found):
        texts = dict.fromkeys(map(str, levels.tolist()))
        known = ", ".join(texts) if len(texts) < 60 else "..."
        raise ValueError(f"{name} is {value!r}; it should be one of {known}")
    return dataset.isel(setting=found) if name in fields else dataset.isel({name: int(found[0])})


def _equal(level: Any, value: str) -> bool:
    if isinstance(level, int | float) and not isinstance(level, bool):
        try:
            return float(value) == level
        except ValueError:
            return False
    return str(level) == value


def export_results(path: str | os.PathLike[str], dataset: xarray.Dataset) -> list[Path]:
    """Write a result for other programs, in the format that the path's ending names, and return the files.

    Parameters
    ----------
    path : path
        Ends in ``.csv``, ``.parquet`` (which needs pyarrow) or ``.nc`` (netCDF: one file, of version 4 where h5netcdf
        or netCDF4 is installed). Where there are several tables, each has its dimensions before the ending. NetCDF 3
        has whole numbers of 32 bits only: larger ones are stored as doubles where all of them are exact, otherwise as
        text, and their attribute ``stored_as`` says so.
    dataset : xarray.Dataset
        A result of :func:`gqlib.sweeps.results.collect` or :func:`gqlib.sweeps.results.load_results`.

    Raises
    ------
    SweepError
        If a package is missing; it says which.

    Examples
    --------
    >>> import tempfile, xarray
    >>> data = xarray.Dataset({"steps": (("setting", "run"), [[3, 5]])}, coords={"sigma": ("setting", [0.5])})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     (path,) = export_results(f"{directory}/steps.csv", data)
    ...     path.read_text().split()
    ['setting,run,steps,sigma', '0,0,3,0.5', '0,1,5,0.5']
    """
    check.labelled("dataset", dataset)
    path = check.path("path", path)
    kind = check.choice("the ending of path", path.suffix, FORMATS)
    if kind == ".nc":
        write_file(path, _netcdf(dataset))
        return [path]
    if kind == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise SweepError("Parquet needs the package pyarrow: python -m pip install pyarrow")
    written = []
    found = tables(dataset)
    for label, table in found.items():
        place = path.with_stem(f"{path.stem}-{label}") if len(found) > 1 else path
        text = (
            table.to_csv(index=False, lineterminator="\n").encode()
            if kind == ".csv"
            else table.to_parquet()
        )
        write_file(place, text)
        written.append(place)
    return written


def _netcdf(dataset: xarray.Dataset) -> bytes:
    """The bytes of a netCDF file: of version 4 where a package for it is installed, otherwise of version 3."""
    newer = any(map(importlib.util.find_spec, ("h5netcdf", "netCDF4")))
    held = dataset if newer else _in_netcdf_3(dataset)
    long = {
        name: str(value)
        for name, value in dataset.attrs.items()
        if _too_long(value, 63 if newer else 31)
    }
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "result.nc")
        try:
            held.assign_attrs(long).to_netcdf(path, engine=None if newer else "scipy")
        except (ValueError, TypeError, KeyError, ImportError) as error:
            if newer:
                raise
            reason = str(error).partition(". ")[0]
            raise SweepError(
                f"netCDF 3 cannot hold this result ({reason}); netCDF 4 can: python -m pip install h5netcdf"
            ) from error
        return path.read_bytes()


def _in_netcdf_3(dataset: xarray.Dataset) -> xarray.Dataset:
    """The same numbers in types that netCDF 3 has: its whole numbers have a sign and at most 32 bits."""
    changed: dict[Any, Any] = {}
    for name, held in dataset.variables.items():
        if (
            held.dtype.kind not in "iu"
            or held.dtype in (np.int8, np.int16, np.int32)
            or not held.size
        ):
            continue
        largest = max(int(held.values.max()), -1 - int(held.values.min()))
        if largest < 2**31:
            changed[name] = (held.dims, held.values.astype(np.int32), held.attrs)
        elif largest < 2**53:
            changed[name] = (
                held.dims,
                held.values.astype(np.float64),
                held.attrs | {"stored_as": "double"},
            )
        else:
            changed[name] = (held.dims, held.values.astype(str), held.attrs | {"stored_as": "text"})
    coords = {name: changed.pop(name) for name in list(changed) if name in dataset.coords}
    return dataset.assign_coords(coords).assign(changed)


def _too_long(value: Any, bits: int) -> bool:
    """Whether an attribute, such as a seed, is a whole number that the netCDF file has no room for."""
    return isinstance(value, int) and abs(value) >= 2**bits
