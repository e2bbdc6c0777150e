"""Results for other programs: what is in the tables is what is in the result."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import xarray

from gqlib.sweeps.exports import export_results, select, tables
from gqlib.sweeps.names import SweepError

pandas = pytest.importorskip("pandas")


@pytest.fixture
def result() -> xarray.Dataset:
    """Two settings, three runs, two episodes, and a number too large for the whole numbers of netCDF 3."""
    rng = np.random.default_rng(1)
    arrays = {
        "score": (("setting", "run"), rng.random((2, 3))),
        "diverged": (("setting", "run"), np.array([[True, False, False], [False, False, False]])),
        "mean": (("setting", "episode"), rng.random((2, 2))),
        "checksum": (("setting",), np.array([2**32 - 1, 1], dtype=np.uint32)),
    }
    coords = {
        "sigma": ("setting", [0.0, 0.5]),
        "target": ("setting", ["greedy", "ε-greedy"]),
        "episode": [1, 2],
    }
    return xarray.Dataset(
        arrays, coords | {"key": ("setting", ["a" * 64, "b" * 64])}, {"seed": 7, "settings": "[]"}
    )


def test_there_is_a_table_for_each_set_of_dimensions(result: xarray.Dataset) -> None:
    found = tables(result)
    assert list(found) == ["run", "episode", "setting"]
    assert list(found["run"].columns) == ["setting", "run", "score", "diverged", "sigma", "target"]
    assert found["run"]["score"].tolist() == result["score"].values.ravel().tolist()
    assert found["run"]["sigma"].tolist() == [0.0] * 3 + [0.5] * 3
    assert found["episode"]["episode"].tolist() == [1, 2, 1, 2]
    with pytest.raises(ValueError, match="'alone' without dimensions"):
        tables(result.assign(alone=3.0))


def test_csv_files_hold_every_digit(result: xarray.Dataset, tmp_path: Path) -> None:
    written = export_results(tmp_path / "a.csv", result)
    assert [path.name for path in written] == ["a-run.csv", "a-episode.csv", "a-setting.csv"]
    with written[0].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["score"]) for row in rows] == result["score"].values.ravel().tolist()
    assert [row["target"] for row in rows] == ["greedy"] * 3 + ["ε-greedy"] * 3
    assert b"\r" not in written[0].read_bytes()
    assert [path.name for path in export_results(tmp_path / "b.csv", result[["mean"]])] == ["b.csv"]


def test_netcdf_works_or_says_what_to_install(result: xarray.Dataset, tmp_path: Path) -> None:
    small = result.drop_vars("checksum")
    (path,) = export_results(tmp_path / "small.nc", small)
    with xarray.open_dataset(path) as read:
        assert read.equals(small)
        assert read.attrs["seed"] == 7
    half = result.assign(half=("run", np.ones(3, dtype=np.float16)))
    if any(map(importlib.util.find_spec, ("h5netcdf", "netCDF4"))):
        export_results(tmp_path / "half.nc", half)
        return
    with pytest.raises(
        SweepError, match=r"netCDF 3 cannot hold this .*: python -m pip install h5netcdf"
    ):
        export_results(tmp_path / "half.nc", half)
    assert not (tmp_path / "half.nc").exists()


def without_netcdf_4(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec

    def found(name: str, package: str | None = None) -> Any:
        return None if name in ("h5netcdf", "netCDF4") else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", found)


@pytest.mark.parametrize(
    ("numbers", "dtype", "stored", "told"),
    [
        ([0, 255], "uint8", "int32", None),
        ([-128, 127], "int8", "int8", None),
        ([2**31 - 1, -(2**31)], "int64", "int32", None),
        ([2**31 - 1, 0], "uint32", "int32", None),
        ([2**31, 1], "uint32", "float64", "double"),
        ([1, -(2**31) - 1], "int64", "float64", "double"),
        ([2**53 - 1, -(2**53)], "int64", "float64", "double"),
        ([2**53 + 1, 7], "int64", None, "text"),
        ([-(2**53) - 1, 7], "int64", None, "text"),
        ([2**64 - 1, 0], "uint64", None, "text"),
        ([-(2**63), 2**63 - 1], "int64", None, "text"),
    ],
)
def test_netcdf_3_holds_whole_numbers_of_any_size(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    numbers: list[int],
    dtype: str,
    stored: str | None,
    told: str | None,
) -> None:
    without_netcdf_4(monkeypatch)
    values = np.array(numbers, dtype=dtype)
    data = xarray.Dataset(
        {"sums": ("run", values, {"unit": "steps"})}, {"run": values, "odd": ("run", values)}
    )
    (path,) = export_results(tmp_path / "a.nc", data)
    read = xarray.load_dataset(path)
    for name in ("sums", "run", "odd"):
        assert read[name].values.tolist() == (
            list(map(str, numbers)) if told == "text" else numbers
        )
        assert stored is None or read[name].dtype == stored
        assert read[name].attrs.get("stored_as") == told
    assert read["sums"].attrs["unit"] == "steps"
    assert data["sums"].attrs == {"unit": "steps"}  # what was handed in is as it was


def test_netcdf_3_is_read_by_scipy_as_well(
    result: xarray.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_netcdf_4(monkeypatch)
    (path,) = export_results(tmp_path / "a.nc", result)
    with scipy.io.netcdf_file(path, mmap=False) as file:
        assert file.variables["checksum"][:].tolist() == [2**32 - 1, 1]
        assert file.variables["checksum"].stored_as == b"double"
        assert file.variables["diverged"][:].tolist() == result["diverged"].values.tolist()
    empty = result.isel(run=slice(0)).assign(none=("run", np.zeros(0, dtype=np.int64)))
    assert export_results(tmp_path / "b.nc", empty) == [tmp_path / "b.nc"]


def test_parquet_works_or_says_what_to_install(result: xarray.Dataset, tmp_path: Path) -> None:
    if importlib.util.find_spec("pyarrow") is None:
        with pytest.raises(
            SweepError, match="Parquet needs the package pyarrow: python -m pip install pyarrow"
        ):
            export_results(tmp_path / "a.parquet", result)
        assert not list(tmp_path.iterdir())
        return
    written = export_results(tmp_path / "a.parquet", result)
    assert (
        pandas.read_parquet(written[0])["score"].tolist() == result["score"].values.ravel().tolist()
    )


def test_other_endings_are_refused(result: xarray.Dataset, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the ending of path is '\.xls'.*\.csv"):
        export_results(tmp_path / "a.xls", result)


def test_a_part_is_chosen_by_field_or_by_dimension(result: xarray.Dataset) -> None:
    assert (
        select(result, "sigma", "0.50")["score"].values.tolist()
        == result["score"].values[1:].tolist()
    )
    assert select(result, "target", "ε-greedy").sizes["setting"] == 1
    assert (
        select(result, "episode", "2")["mean"].values.tolist()
        == result["mean"].values[:, 1].tolist()
    )
    assert (
        select(result, "run", "2")["score"].values.tolist() == result["score"].values[:, 2].tolist()
    )
    with pytest.raises(ValueError, match=r"sigma is 'half'; it should be one of 0\.0, 0\.5"):
        select(result, "sigma", "half")
    with pytest.raises(ValueError, match="name is 'alpha'"):
        select(result, "alpha", "1")
    with pytest.raises(
        ValueError, match=r"^target is 'random'; it should be one of greedy, ε-greedy$"
    ):
        select(result, "target", "random")
    assert select(result, "target", "greedy")["sigma"].values.tolist() == [0.0]


@pytest.mark.parametrize(
    ("levels", "told"), [(59, ", ".join(map(str, range(59)))), (60, r"\.\.\.")]
)
def test_only_so_many_values_are_listed_that_a_refusal_can_be_read(levels: int, told: str) -> None:
    long = xarray.Dataset({"score": (("setting", "run"), np.zeros((1, levels)))})
    with pytest.raises(ValueError, match=rf"^run is '99'; it should be one of {told}$"):
        select(long, "run", "99")


def test_a_result_without_keys_has_the_same_tables(result: xarray.Dataset) -> None:
    for name, table in tables(result.drop_vars("key")).items():
        assert table.equals(tables(result)[name])
        assert "key" not in table


def test_parquet_asks_for_its_package_by_name(
    result: xarray.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {"pyarrow"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name in there else None)
    monkeypatch.setattr(pandas.DataFrame, "to_parquet", lambda table: b"parquet")
    written = export_results(tmp_path / "a.parquet", result)
    assert [path.name for path in written] == [
        "a-run.parquet",
        "a-episode.parquet",
        "a-setting.parquet",
    ]
    assert {path.read_bytes() for path in written} == {b"parquet"}
    there.clear()
    with pytest.raises(
        SweepError, match=r"^Parquet needs the package pyarrow: python -m pip install pyarrow$"
    ):
        export_results(tmp_path / "b.parquet", result)


@pytest.mark.parametrize("there", ["h5netcdf", "netCDF4"])
def test_what_netcdf_4_refuses_is_told_in_its_own_words(
    result: xarray.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ValueError("no room. None at all")

    monkeypatch.setattr(xarray.Dataset, "to_netcdf", refuse)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    told = r"^netCDF 3 cannot hold this result \(no room\); netCDF 4 can: python -m pip install h5netcdf$"
    with pytest.raises(SweepError, match=told):
        export_results(tmp_path / "a.nc", result)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name == there else None)
    with pytest.raises(ValueError, match=r"^no room\. None at all$"):
        export_results(tmp_path / "a.nc", result)


def test_what_has_a_value_for_each_run_is_not_lost_beside_what_has_one_for_each_setting_and_run() -> (
    None
):
    both = xarray.Dataset(
        {"score": (("setting", "run"), np.ones((2, 3))), "weather": ("run", np.arange(3))}
    )
    found = tables(both)
    assert list(found) == ["setting-run", "run"]
    assert (len(found["setting-run"]["score"]), found["run"]["weather"].tolist()) == (6, [0, 1, 2])
    alike = xarray.Dataset({"x": (("a", "b"), np.ones((2, 2))), "y": ("a-b", np.ones(2))})
    with pytest.raises(
        ValueError, match=r"two tables called a-b; its dimensions should have other names"
    ):
        tables(alike)


def test_a_seed_too_long_for_netcdf_is_written_as_text(tmp_path: Path) -> None:
    for seed in (
        10**30,
        -(2**63),
        *(() if any(map(importlib.util.find_spec, ("h5netcdf", "netCDF4"))) else (2**31,)),
    ):
        data = xarray.Dataset({"steps": ("run", [1.5, 2.5])}, attrs={"seed": seed})
        (path,) = export_results(tmp_path / "x.nc", data)
        assert xarray.load_dataset(path).attrs["seed"] == str(seed)
