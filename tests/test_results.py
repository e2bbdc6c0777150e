"""The committed results against the code that is said to have made them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gqlib.experiments import REGISTRY, load_experiment
from gqlib.experiments.reports import pooled_cases
from gqlib.sweeps.results import load_results, recompute, save_results

RESULTS = Path(__file__).parent.parent / "results"
COMMITTED = sorted(path.stem for path in RESULTS.glob("*.npz") if path.stem in REGISTRY)
SAMPLE = 4  # runs of each result that are made again


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


@pytest.mark.parametrize("name", COMMITTED)
def test_a_random_sample_of_stored_runs_is_made_again_bit_for_bit(name: str) -> None:
    result = load_results(RESULTS / f"{name}.npz")
    per_run = [variable for variable in result.data_vars if result[variable].dims[:2] == ("setting", "run")]
    if name == "table1":
        assert pooled_cases(load_results(RESULTS / "table2.npz"))["count"].equals(result["count"])
        return
    assert per_run
    rng = np.random.default_rng(len(name))
    for _ in range(SAMPLE):
        setting, run = int(rng.integers(result.sizes["setting"])), int(rng.integers(result.sizes["run"]))
        remade = recompute(result, setting, run)
        for variable in per_run:
            np.testing.assert_array_equal(
                remade[variable][1][0], result[variable].values[setting, run], err_msg=f"{variable} {setting} {run}"
            )


@pytest.mark.parametrize("name", COMMITTED)
def test_a_committed_result_has_the_bytes_that_saving_it_gives(name: str, tmp_path: Path) -> None:
    path = RESULTS / f"{name}.npz"
    assert save_results(tmp_path / path.name, load_results(path)).read_bytes() == path.read_bytes()


def test_committed_results_are_small() -> None:
    assert sum(path.stat().st_size for path in RESULTS.glob("*.npz")) < 10_000_000
