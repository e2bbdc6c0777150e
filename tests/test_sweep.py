from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from sweep_tasks import Toy, experiment, toy

from gqlib.bench.store import finished_store
from gqlib.control import ControlSetting
from gqlib.sweeps.names import SweepError, look_up
from gqlib.sweeps.results import collect, load_results, recompute, save_results
from gqlib.sweeps.store import Store
from gqlib.sweeps.sweep import Experiment, Task, run_sweep


def content(store: Store) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.directory.iterdir()}


def test_tasks_cover_every_run_of_every_setting_once() -> None:
    sweep = experiment(settings=3, runs=10, runs_per_task=4)
    covered = [
        (task.setting, run) for task in sweep.tasks() for run in range(task.first_run, task.first_run + task.runs)
    ]
    assert len(covered) == len(set(covered)) == 30
    assert {task.runs for task in sweep.tasks()} == {4, 2}


def test_every_setting_gets_its_first_block_before_any_gets_its_second() -> None:
    firsts = [task.first_run for task in experiment(settings=3, runs=8).tasks()]
    assert firsts == [0, 0, 0, 4, 4, 4]


@pytest.mark.parametrize(
    "change",
    [
        {"function": "sweep_tasks:broken"},
        {"setting": Toy(2.0)},
        {"first_run": 1},
        {"runs": 3},
        {"seed": 6},
        {"version": "2"},
    ],
)
def test_names_in_the_store_tell_tasks_apart(change: dict[str, object]) -> None:
    task = Task("sweep_tasks:toy", Toy(1.0), 0, 2, 5, "1")
    assert dataclasses.replace(task).name == task.name
    assert dataclasses.replace(task, **change).name != task.name


@pytest.mark.parametrize(
    "wrong", [{"runs": 0}, {"runs": 2.5}, {"runs_per_task": 0}, {"seed": -1}, {"settings": 0}]
)
def test_experiments_refuse_impossible_numbers(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        experiment(**wrong)


def test_an_experiment_refuses_a_setting_given_twice() -> None:
    with pytest.raises(ValueError, match="all different"):
        dataclasses.replace(experiment(), settings=(Toy(1.0), Toy(1.0)))


def test_a_second_sweep_finds_everything_and_computes_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    sweep = experiment(log=str(log))
    store = Store(tmp_path / "store")
    first, second = run_sweep(sweep, store), run_sweep(sweep, store)
    assert (first.found, first.computed, second.found, second.computed) == (0, 9, 9, 0)
    assert len(log.read_text().splitlines()) == 9


def test_more_runs_reuse_the_whole_blocks_of_fewer(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run_sweep(experiment(runs=8), store)
    assert run_sweep(experiment(runs=12), store).found == 6


def test_a_new_code_version_computes_everything_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run_sweep(experiment(), store)
    assert run_sweep(experiment(version="2"), store).found == 0


def test_results_do_not_depend_on_workers(tmp_path: Path) -> None:
    stores = [Store(tmp_path / "one"), Store(tmp_path / "two")]
    for workers, store in enumerate(stores, start=1):
        run_sweep(experiment(), store, workers=workers)
    assert content(stores[0]) == content(stores[1])


def test_results_do_not_depend_on_the_cut(tmp_path: Path) -> None:
    results = []
    for size in (1, 3, 10, 100):
        store = Store(tmp_path / str(size))
        sweep = experiment(runs_per_task=size)
        run_sweep(sweep, store)
        results.append(collect(sweep, store))
    assert all(result.identical(results[0]) for result in results)


def test_collected_values_are_those_of_the_function(tmp_path: Path) -> None:
    sweep = experiment()
    store = Store(tmp_path)
    run_sweep(sweep, store)
    result = collect(sweep, store)
    assert result["values"].dims == ("setting", "run", "values_1")
    for index, setting in enumerate(sweep.settings):
        expected = toy(setting, 10, 5, first_run=0)
        np.testing.assert_array_equal(result["values"].values[index], expected["values"])
    np.testing.assert_array_equal(result["scale"], [1.0, 2.0, 3.0])
    assert result.attrs["seed"] == 5
    assert result.attrs["version"] == "1"
    assert json.loads(result.attrs["settings"])[1]["scale"] == 2.0
    assert list(result["key"].values) == [setting.key for setting in sweep.settings]


def test_summary_and_finish_decide_what_is_kept(tmp_path: Path) -> None:
    sweep = dataclasses.replace(
        experiment(), summary="sweep_tasks:mean_and_values", finish="test_sweep:only_the_mean"
    )
    store = Store(tmp_path)
    run_sweep(sweep, store)
    result = collect(sweep, store)
    assert list(result.data_vars) == ["mean"]
    assert result["mean"].dims == ("setting", "step")


def only_the_mean(dataset):
    return dataset.drop_vars("values")


def test_an_unfinished_sweep_is_not_collected(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run_sweep(experiment(runs=4), store)
    with pytest.raises(SweepError, match="not finished"):
        collect(experiment(runs=8), store)


def test_a_stored_run_is_made_again_bit_for_bit(tmp_path: Path) -> None:
    sweep = experiment()
    store = Store(tmp_path / "store")
    run_sweep(sweep, store)
    result = load_results(save_results(tmp_path / "toy.npz", collect(sweep, store)))
    allowed = ["sweep_tasks:toy", "sweep_tasks:Toy"]
    remade = recompute(result, 1, 6, 3, allow=allowed)
    assert remade["values"][0] == ("run", "values_1")
    np.testing.assert_array_equal(remade["values"][1], result["values"].values[1, 6:9])
    result.attrs["settings"] = result.attrs["settings"].replace('"scale":2.0', '"scale":2.5')
    with pytest.raises(SweepError, match="another key"):
        recompute(result, 1, 6, allow=allowed)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failing_task_is_told_and_does_not_stop_the_others(tmp_path: Path, workers: int) -> None:
    """One bad setting must not cost a study; a resume tries what failed, and nothing else."""
    store = Store(tmp_path)
    sweep = experiment(function="broken")  # runs from 4 on raise, in each of three settings
    with pytest.raises(SweepError, match=r"6 of 9 tasks failed, .*runs 4 to 7 of Toy\(scale=1\.0.*ValueError: run 4"):
        run_sweep(sweep, store, workers=workers)
    report = (tmp_path / "failures.txt").read_text(encoding="utf-8")
    assert report.count("Traceback (most recent call last)") == 6
    assert 'raise ValueError(f"run {first_run} is broken")' in report
    assert run_sweep(dataclasses.replace(sweep, runs=4), store).found == 3
    with pytest.raises(SweepError, match="6 of 6 tasks failed"):
        run_sweep(sweep, store, workers=workers)


def test_a_function_that_returns_too_many_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match=r"wrong_rows returned 'values' of shape \(5,\)"):
        run_sweep(experiment(function="wrong_rows"), Store(tmp_path))


@pytest.mark.parametrize("name", ["sweep_tasks:none", "no_such_module:f", ":f"])
def test_a_function_that_is_not_there_is_one_clear_error(name: str) -> None:
    with pytest.raises(SweepError, match=f"cannot find '{name}'"):
        look_up("runner", name, allow=[name])


def test_a_store_of_the_first_edition_is_read_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its tasks have the dotted path of their function in name and header, where a logical name is now."""
    settings = tuple(ControlSetting(sigma=sigma, episodes=2, max_steps=50) for sigma in (0.0, 1.0))
    sweep = Experiment("small", "Small", "control", settings, 4, 3, "1", runs_per_task=2, summary="control")
    store = Store(tmp_path)
    for task in sweep.tasks():
        old = task.former
        assert old.function == old.header["function"] == "gqlib.tasks:control_runs"
        assert old.name != task.name
        store.put(old.name, old.header, task.compute())
    done = run_sweep(sweep, store)
    assert (done.found, done.computed, done.former) == (4, 0, 4)
    assert "4 tasks are read under the names of an earlier edition" in caplog.text
    fresh = Store(tmp_path / "fresh")
    run_sweep(sweep, fresh)
    assert collect(sweep, store).identical(collect(sweep, fresh))


def test_workers_and_runs_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="workers is 0"):
        run_sweep(experiment(), Store(tmp_path), workers=0)
    with pytest.raises(ValueError, match="runs is 0"):
        experiment().with_runs(0)
    assert experiment().with_runs(None) == experiment()
    assert experiment().with_runs(7).runs == 7


def test_the_bar_shows_on_a_terminal_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sweep(experiment(), Store(tmp_path / "silent"))
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    run_sweep(experiment(), Store(tmp_path / "bar"))
    shown = capsys.readouterr().err
    assert "toy: 100%" in shown
    assert "30/30" in shown
    assert "runs/s" in shown


def test_a_finished_store_is_opened_without_computing_anything(tmp_path: Path) -> None:
    """`gq bench` says how long it takes for 30,000 runs."""
    sweep, store = finished_store(tmp_path, 2000)
    done = run_sweep(sweep, store)
    assert (done.found * sweep.runs_per_task, done.computed) == (2000, 0)
