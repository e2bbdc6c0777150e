"""The committed results against the code that is said to have made them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from sweep_tasks import experiment

from gqlib.control.gym import GymSetting
from gqlib.experiments import REGISTRY, load_experiment
from gqlib.experiments.mountain_car_results import QUANTILES, pooled_cases, with_scores
from gqlib.sweeps.names import SweepError
from gqlib.sweeps.results import collect, load_results, recompute, save_results, verify_sample
from gqlib.sweeps.store import Store, read_file
from gqlib.sweeps.sweep import Experiment, run_sweep

RESULTS = Path(__file__).parent.parent / "results"
COMMITTED = sorted(path.stem for path in RESULTS.glob("*.npz") if path.stem in REGISTRY)
SAMPLE = 4  # runs of each result that are made again


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMITTED)
def test_a_committed_result_is_that_of_the_manifest(name: str) -> None:
    result, experiment = load_results(RESULTS / f"{name}.npz"), load_experiment(name)
    about = result.attrs
    assert [about["name"], about["runs"], about["seed"], about["version"]] == [
        name,
        experiment.runs,
        experiment.seed,
        experiment.version,
    ]
    assert about["function"] == experiment.function
    assert len(json.loads(about["settings"])) == len(experiment.settings)
    if "key" in result.coords:
        assert list(result["key"].values) == [setting.key for setting in experiment.settings]


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMITTED)
def test_a_random_sample_of_stored_runs_is_made_again_bit_for_bit(name: str) -> None:
    """Results of prediction are from before its learners were compiled from their texts: their weights are made again up to
    rounding, so the digests of weights are other ones, and what is kept of every run, to 16 bits, is the same.
    """
    result = load_results(RESULTS / f"{name}.npz")
    per_run = [
        variable for variable in result.data_vars if result[variable].dims[:2] == ("setting", "run")
    ]
    if name == "table1":
        assert pooled_cases(load_results(RESULTS / "table2.npz"))["count"].equals(result["count"])
        return
    per_run = [variable for variable in per_run if variable != "digest"]
    rng = np.random.default_rng(len(name))
    if not per_run:  # a search, which keeps means by cell: all runs of a setting
        setting = int(rng.integers(result.sizes["setting"]))
        remade = recompute(result, setting, 0, result.attrs["runs"])
        for variable in set(result.data_vars) - {"digest"}:
            np.testing.assert_allclose(
                remade[variable][1], result[variable].values[setting], rtol=1e-6
            )
    for _ in range(SAMPLE if per_run else 0):
        setting, run = (
            int(rng.integers(result.sizes["setting"])),
            int(rng.integers(result.sizes["run"])),
        )
        remade = recompute(result, setting, run)
        for variable in per_run:
            np.testing.assert_array_equal(
                remade[variable][1][0],
                result[variable].values[setting, run],
                err_msg=f"{variable} {setting} {run}",
            )


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMITTED)
def test_a_committed_result_has_the_bytes_that_saving_it_gives(name: str, tmp_path: Path) -> None:
    path = RESULTS / f"{name}.npz"
    assert save_results(tmp_path / path.name, load_results(path)).read_bytes() == path.read_bytes()


def test_committed_results_are_small() -> None:
    assert sum(path.stat().st_size for path in RESULTS.glob("*.npz")) < 10_000_000


def test_runs_episodes_and_quantiles_are_labelled_and_means_stand_beside_sums() -> None:
    result = load_results(RESULTS / "fig4.npz")
    assert result["run"].values.tolist() == list(range(100))
    assert result["episode"].values.tolist() == list(range(1, 401))
    assert tuple(result["quantile"].values) == QUANTILES
    np.testing.assert_array_equal(result["steps_mean"], result["steps_sum"] / 100)
    np.testing.assert_array_equal(result["steps_mean"], with_scores(result)["mean"])
    middle = result["steps_quantile"].sel(quantile=0.5, episode=400).values
    assert middle.shape == (60,)
    assert (middle > 0).all()


def test_what_follows_from_the_rest_is_not_written_and_nothing_is_lost(tmp_path: Path) -> None:
    result = load_results(RESULTS / "fig4.npz")
    header, arrays = read_file(RESULTS / "fig4.npz")
    assert {"run", "episode", "quantile", "steps_mean"} & {*arrays, *header["dims"]} == set()
    own = result.assign_coords(run=result["run"] + 100)
    own["steps_mean"] = 2 * result["steps_mean"]
    again = load_results(save_results(tmp_path / "own.npz", own))
    assert again.equals(own)
    assert {"run", "steps_mean"} <= set(read_file(tmp_path / "own.npz")[1])
    assert "episode" not in read_file(tmp_path / "own.npz")[1]


def test_means_leave_out_the_runs_that_the_sums_leave_out(tmp_path: Path) -> None:
    import xarray

    dims = ("setting", "checkpoint")
    sums = {"mspbe_sum": (dims, [[8.0, 2.0, 0.0]]), "counted": (dims, [[2, 1, 0]])}
    by_run = {
        "mspbe_late": (("setting", "run"), [[1.0, np.inf]]),
        "late_sum": (("setting", "run"), [[1.0, 2.0]]),
    }
    data = load_results(save_results(tmp_path / "curves.npz", xarray.Dataset(sums | by_run)))
    np.testing.assert_array_equal(data["mspbe_mean"].values, [[4.0, 2.0, np.nan]])
    assert "late_mean" not in data  # that sum is not one over runs


def at_steps(arrays: dict[str, np.ndarray]) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    return {"values": (("run", "step"), arrays["values"]), "step": (("step",), 10 * np.arange(4))}


def at_runs(arrays: dict[str, np.ndarray]) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    return {"first": (("first",), arrays["values"][0])}


def test_a_summary_labels_its_own_dimensions(tmp_path: Path) -> None:
    sweep, store = (
        dataclasses.replace(experiment(), summary="test_results:at_steps"),
        Store(tmp_path),
    )
    run_sweep(sweep, store)
    result = collect(sweep, store)
    assert result["step"].dims == ("step",)
    assert result["values"].sel(step=20).dims == ("setting", "run")
    with pytest.raises(
        SweepError, match="a coordinate 'first' that is not the same for every setting"
    ):
        collect(dataclasses.replace(sweep, summary="test_results:at_runs"), store)


def test_a_run_that_diverged_is_verified_like_the_others(tmp_path: Path) -> None:
    """NaN is what this code gives there, and what it gives again."""
    corners = {"low": (-2.4, -3.0, -0.21, -3.0), "high": (2.4, 3.0, 0.21, 3.0)}
    setting = GymSetting("CartPole-v1", **corners, alpha=1e6, episodes=3)
    study = Experiment("nan", "", "gym", (setting,), 1, 1, "1")
    run_sweep(study, Store(tmp_path), progress=False)
    data = collect(study, Store(tmp_path))
    assert np.isnan(data["returns"].values).any()
    assert verify_sample(data, 1, np.random.default_rng(0)) == 3 * 3 + 2
    data["returns"].values[0, 0, -1] = 0.0
    with pytest.raises(ValueError, match="dataset has another returns in setting 0, run 0"):
        verify_sample(data, 1, np.random.default_rng(0))


def test_what_a_runner_calls_like_a_field_is_told_when_results_are_put_together(
    tmp_path: Path,
) -> None:
    study = dataclasses.replace(experiment(settings=2), summary="test_results:like_a_field")
    run_sweep(study, Store(tmp_path), progress=False)
    with pytest.raises(
        SweepError, match=r"returned 'scale', which a result has; expected another name"
    ):
        collect(study, Store(tmp_path))


def like_a_field(arrays):
    return {"scale": (("run",), np.zeros(len(next(iter(arrays.values())))))}
