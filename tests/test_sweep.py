from __future__ import annotations

import dataclasses
import io
import json
import logging
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweep_tasks import Bare, Toy, Whim, experiment, toy, whim_study

from benchmarks.store import finished_store
from gqlib.control import ControlSetting
from gqlib.sweeps import progress as showing
from gqlib.sweeps import sweep as sweeping
from gqlib.sweeps.names import SweepError, look_up
from gqlib.sweeps.own import own_setting
from gqlib.sweeps.results import collect, load_results, recompute, save_results
from gqlib.sweeps.setting import Setting, plain
from gqlib.sweeps.store import DamagedFile, Store, canonical_json
from gqlib.sweeps.sweep import (
    Experiment,
    Task,
    _apart,
    _check_dask,
    _check_importable,
    _cuts,
    _tell,
    _which,
    cover,
    index_of,
    run_sweep,
)
from gqlib.sweeps.workers import Failure


def content(store: Store) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.directory.iterdir()}


def test_tasks_cover_every_run_of_every_setting_once() -> None:
    sweep = experiment(settings=3, runs=10, runs_per_task=4)
    covered = [
        (task.setting, run)
        for task in sweep.tasks()
        for run in range(task.first_run, task.first_run + task.runs)
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


def ran(log: Path) -> list[tuple[int, int]]:
    """First run and number of runs of every task that was computed, in order, and forget them."""
    lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    log.unlink(missing_ok=True)
    return [(int(first), int(runs)) for _, _, first, runs in lines]


def test_more_runs_compute_nothing_twice_whatever_the_blocks_were(tmp_path: Path) -> None:
    """`--runs 1`, then `--runs 2`, then all, then another size of blocks."""
    log, store = tmp_path / "log", Store(tmp_path / "store")
    sweep = experiment(settings=1, runs=10, log=str(log))
    run_sweep(sweep.with_runs(1), store)
    assert ran(log) == [(0, 1)]
    assert run_sweep(sweep.with_runs(2), store).found == 1
    assert ran(log) == [(1, 1)]
    done = run_sweep(sweep, store)
    assert (done.found, done.computed) == (2, 3)
    assert ran(log) == [(2, 2), (4, 4), (8, 2)]  # cut where a sweep from nothing would cut
    for size in (1, 3, 100):
        other = dataclasses.replace(sweep, runs_per_task=size)
        assert run_sweep(other, store).computed == 0
        assert ran(log) == []
        np.testing.assert_array_equal(collect(other, store)["run_index"].values, [np.arange(10)])
    run_sweep(dataclasses.replace(sweep, runs=14, runs_per_task=5), store)
    assert ran(log) == [(10, 4)]


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    blocks=st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6), st.booleans()), max_size=8),
    runs=st.integers(1, 14),
    size=st.integers(1, 5),
)
def test_any_blocks_of_either_edition_supply_what_they_have(
    tmp_path_factory: pytest.TempPathFactory,
    blocks: list[tuple[int, int, bool]],
    runs: int,
    size: int,
) -> None:
    """Whatever is stored, what is missing is computed once, and the result is that of a sweep from nothing."""
    setting = ControlSetting(episodes=1, max_steps=10)
    sweep = Experiment("small", "Small", "control", (setting,), runs, 3, "1", runs_per_task=size)
    store = Store(tmp_path_factory.mktemp("store"))
    stored: set[int] = set()
    for first, count, old in blocks:
        task = Task("control", setting, first, count, 3, "1")
        named = task.former if old else task
        assert named is not None
        store.put(named.name, named.header, task.compute())
        stored |= set(range(first, first + count))
    covered = cover(
        sweep, setting, index_of(store), lambda block: store.has(block.name, block.header)
    )
    gaps = {run for first, stop in covered.missing for run in range(first, stop)}
    assert gaps == set(range(runs)) - stored
    supplied = [
        block.first_run + row for block, low, high, _ in covered.found for row in range(low, high)
    ]
    assert sorted(supplied) == sorted(set(range(runs)) & stored)
    run_sweep(sweep, store)
    steps = collect(sweep, store)["signed_steps"].values[0]
    whole = Task("control", setting, 0, runs, 3, "1").compute()["signed_steps"]
    np.testing.assert_array_equal(steps, whole)


def test_a_damaged_block_is_not_missed_where_others_have_its_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log, store = tmp_path / "log", Store(tmp_path / "store")
    sweep = experiment(settings=1, runs=8, log=str(log))
    for size in (1, 8):
        task = dataclasses.replace(sweep, runs_per_task=size).tasks()[0]
        store.put(task.name, task.header, task.compute())
    run_sweep(sweep, store)
    store.path(task.name).write_bytes(
        b"cut"
    )  # the block of all eight; that of the first run is left
    ran(log)
    with pytest.raises(DamagedFile, match=task.name):
        collect(sweep, store)
    assert run_sweep(sweep, store).damaged == (store.path(task.name),)
    assert ran(log) == [(1, 3), (4, 4)]
    assert "it is not used" in caplog.text
    assert collect(sweep, store).sizes["run"] == 8


def test_a_stored_block_with_other_rows_than_it_says_is_damaged(tmp_path: Path) -> None:
    sweep, store = experiment(settings=1, runs=4), Store(tmp_path)
    task = sweep.tasks()[0]
    store.put(task.name, task.header, {"values": np.zeros((3, 4))})
    with pytest.raises(DamagedFile, match=r"'values' of shape \(3, 4\) for 4 runs"):
        collect(sweep, store)


def test_other_names_in_a_store_are_no_blocks(tmp_path: Path) -> None:
    digest = 24 * "0"
    for name in (
        "notes",
        f"{digest}-000000-0",
        f"{digest}-00000-1",
        f"A{digest[1:]}-000000-1",
        f"{digest}-000000-1x",
    ):
        (tmp_path / f"{name}.npz").write_bytes(b"")
    assert index_of(Store(tmp_path)) == {}


def test_fields_are_changed_in_every_setting(tmp_path: Path) -> None:
    sweep = dataclasses.replace(experiment(), finish="sweep_tasks:none", report="sweep_tasks:none")
    both = sweep.with_fields(scale=[1, 2.5], length=[2])
    assert [(setting.scale, setting.length) for setting in both.settings] == [(1.0, 2), (2.5, 2)]
    assert type(both.settings[0].scale) is float  # or its key would be another one
    assert (both.finish, both.report) == ("", "")
    assert sweep.with_fields(length=[2]).finish == sweep.finish  # as many settings as before
    assert experiment().with_fields() == experiment()
    with pytest.raises(
        ValueError, match="lenght is no field of Toy; it should be one of scale, length"
    ):
        sweep.with_fields(lenght=[2])
    for wrong in ("12", 3, []):
        with pytest.raises(ValueError, match="it should be a list of values"):
            sweep.with_fields(scale=wrong)


def test_a_new_code_version_computes_everything_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run_sweep(experiment(), store)
    assert run_sweep(experiment(version="2"), store).found == 0


@pytest.mark.slow
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
    with pytest.raises(
        SweepError,
        match=r"6 of 9 tasks failed, .*runs 4 to 7 of Toy\(scale=1\.0.*ValueError: run 4",
    ):
        run_sweep(sweep, store, workers=workers)
    report = (tmp_path / "failures.txt").read_text(encoding="utf-8")
    assert report.count("Traceback (most recent call last)") == 6
    assert 'raise ValueError(f"run {first_run} is broken")' in report
    assert run_sweep(dataclasses.replace(sweep, runs=4), store).found == 3
    with pytest.raises(SweepError, match="6 of 6 tasks failed"):
        run_sweep(sweep, store, workers=workers)


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("none", "returned None; expected arrays by name, in a dict"),
        ("list", r"returned \[1, 2\]; expected arrays by name"),
        ("nothing", r"returned \{\}; expected arrays by name"),
        ("many", r"returned \{.*at most 1000"),
        ("objects", "cannot be stored: arrays has 'values' of dtype object"),
        ("ragged", "cannot be stored: setting an array element with a sequence"),
        ("name", "cannot be stored: arrays has the name 'a/b'"),
        ("number", "cannot be stored: arrays has the name 3"),
        ("exit", "SystemExit: 3"),
        ("unpicklable", "Stubborn: no"),
    ],
)
def test_whatever_a_function_does_is_told_with_its_setting_and_the_rest_is_finished(
    tmp_path: Path, what: str, told: str
) -> None:
    store = Store(tmp_path)
    with pytest.raises(
        SweepError, match=rf"1 of 3 tasks failed.*runs 0 to 1 of Whim\(what='{what}'\): .*{told}"
    ):
        run_sweep(whim_study("good", what, "better"), store)
    assert run_sweep(whim_study("good", "better"), store).found == 2


def test_an_interrupt_stops_this_process_and_is_a_failure_in_a_worker(tmp_path: Path) -> None:
    """A worker sees no Ctrl-C, so what is raised there comes from the task; here the two cannot be told apart."""
    sweep = whim_study("interrupt", "good", "unpicklable")
    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep, Store(tmp_path / "here"))
    with pytest.raises(SweepError, match=r"2 of 3 tasks failed.*KeyboardInterrupt.*Stubborn"):
        run_sweep(sweep, Store(tmp_path / "there"), workers=2)
    assert len(Store(tmp_path / "there").names()) == 1


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (
            "wide",
            r"has 'values' \(numbers of shape \(2, 3\)\), what is before it 'values' \(numbers of shape \(2,\)\)",
        ),
        ("other", r"has 'other' \(numbers"),
        ("text", r"has 'values' \(text of shape"),
    ],
)
def test_settings_that_return_other_arrays_are_named(tmp_path: Path, what: str, told: str) -> None:
    sweep, store = whim_study("good", what), Store(tmp_path)
    run_sweep(sweep, store)
    with pytest.raises(SweepError, match=rf"Whim\(what='{what}'\) {told}.*change the version"):
        collect(sweep, store)


def test_runs_of_a_setting_that_do_not_go_together_are_named(tmp_path: Path) -> None:
    sweep, store = whim_study("good", runs=4), Store(tmp_path)
    first, second = sweep.tasks()
    store.put(first.name, first.header, {"values": np.zeros(2)})
    store.put(second.name, second.header, {"values": np.zeros((2, 3))})
    with pytest.raises(
        SweepError, match=r"the task of Whim\(what='good'\) that begins with run 2 has .*\(3,\)"
    ):
        collect(sweep, store)


def test_a_setting_that_fails_in_every_run_is_told_once_and_whole_in_the_report(
    tmp_path: Path,
) -> None:
    long = "w" * 90
    sweep = dataclasses.replace(whim_study(long, runs=6), function="sweep_tasks:wrong_rows")
    with pytest.raises(
        SweepError, match=r"3 of 3 tasks failed, the others are stored: runs 0 to 5 of Whim"
    ) as told:
        run_sweep(sweep, Store(tmp_path))
    assert "; runs" not in str(told.value)
    report = (tmp_path / "failures.txt").read_text(encoding="utf-8")
    assert report.count(f"of Whim(what='{long}'):\nSweepError") == 3
    assert "runs 4 to 5 of" in report


def test_of_many_failures_five_are_shown_and_all_are_written_down(tmp_path: Path) -> None:
    """Also where a message holds half of a character, which no file in UTF-8 can."""
    study = experiment(settings=7, runs=4)
    store, tasks = Store(tmp_path), study.tasks()
    failed = {
        index: Failure(f"ValueError: \udc80 {index}", f"trace {index}")
        for index in (6, 0, 1, 2, 3, 4)
    }
    report = tmp_path / "failures.txt"
    with pytest.raises(SweepError) as told:
        _tell(failed, tasks, store, study.settings)
    places = [
        f"runs 0 to 3 of {tasks[index].setting}: ValueError: \udc80 {index}" for index in range(5)
    ]
    assert str(told.value) == (
        f"6 of 7 tasks failed, the others are stored: {'; '.join(places)}; and 1 more. "
        f"Tracebacks are in {report}; the same sweep tries them again"
    )
    written = [
        f"runs 0 to 3 of {tasks[i].setting}:\nValueError: \\udc80 {i}\ntrace {i}"
        for i in (0, 1, 2, 3, 4, 6)
    ]
    assert report.read_text(encoding="utf-8") == "\n".join(written)
    del failed[6]
    with pytest.raises(SweepError) as told:
        _tell(failed, tasks, store, study.settings)
    assert " more" not in str(told.value)
    _tell({}, tasks, store, study.settings)


@pytest.mark.parametrize(
    ("spans", "told"),
    [
        ([(3, 1)], "run 3"),
        ([(0, 4)], "runs 0 to 3"),
        ([(0, 4), (4, 4)], "runs 0 to 7"),
        ([(0, 4), (8, 1)], "runs 0 to 3, 8"),
        ([(0, 1), (2, 1)], "runs 0, 2"),
    ],
)
def test_runs_are_told_as_spans(spans: list[tuple[int, int]], told: str) -> None:
    assert (
        _which([Task("sweep_tasks:toy", Toy(1.0), first, runs, 5, "1") for first, runs in spans])
        == told
    )


def test_blocks_are_cut_at_multiples_of_their_size() -> None:
    assert list(_cuts(0, 10, 4)) == [(0, 4), (4, 4), (8, 2)]
    assert list(_cuts(3, 9, 4)) == [(3, 1), (4, 4), (8, 1)]
    assert list(_cuts(5, 5, 4)) == []


def test_a_name_that_leads_nowhere_is_an_error_before_anything_is_computed(tmp_path: Path) -> None:
    for field in ("function", "summary", "finish"):
        sweep = dataclasses.replace(
            experiment(log=str(tmp_path / "log")), **{field: "sweep_tasks:none"}
        )
        with pytest.raises(SweepError, match=r"^cannot find 'sweep_tasks:none'"):
            run_sweep(sweep, Store(tmp_path / "store"))
    assert not (tmp_path / "log").exists()


def test_a_function_itself_is_refused_and_a_script_is_no_module() -> None:
    with pytest.raises(
        ValueError,
        match=r"function is <function toy .*it should be a name by which workers find it",
    ):
        dataclasses.replace(experiment(), function=toy)
    with pytest.raises(SweepError, match=r"cannot find '__main__:none'.*put it into a module"):
        look_up("runner", "__main__:none", allow=["__main__:none"])


def test_numbers_of_numpy_in_a_setting_are_those_of_python(tmp_path: Path) -> None:
    """A grid is often made by arange; the same number has the same key, and is the same in a result."""
    assert Toy(scale=np.float64(2), length=np.int64(3)).key == Toy(scale=2.0, length=3).key
    sweep = dataclasses.replace(
        experiment(), settings=tuple(Toy(2.0, length) for length in np.arange(3, 4))
    )
    run_sweep(sweep, Store(tmp_path))
    assert collect(sweep, Store(tmp_path))["length"].values.tolist() == [3]
    with pytest.raises(ValueError, match="JSON should hold it"):
        canonical_json(plain(Whim(np.zeros(2))))


def test_a_function_that_returns_too_many_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match=r"wrong_rows returned 'values' of shape \(5,\)"):
        run_sweep(experiment(function="wrong_rows"), Store(tmp_path))


@pytest.mark.parametrize("name", ["sweep_tasks:none", "no_such_module:f", ":f"])
def test_a_function_that_is_not_there_is_one_clear_error(name: str) -> None:
    with pytest.raises(SweepError, match=f"cannot find '{name}'"):
        look_up("runner", name, allow=[name])


def test_a_store_of_the_first_edition_is_read_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its tasks have the dotted path of their function in name and header, where a logical name is now."""
    settings = tuple(ControlSetting(sigma=sigma, episodes=2, max_steps=50) for sigma in (0.0, 1.0))
    sweep = Experiment(
        "small", "Small", "control", settings, 4, 3, "1", runs_per_task=2, summary="control"
    )
    store = Store(tmp_path)
    for task in sweep.tasks():
        old = task.former
        assert old.function == old.header["function"] == "gqlib.tasks:control_runs"
        assert old.name != task.name
        store.put(old.name, old.header, task.compute())
    done = run_sweep(sweep, store)
    assert (done.found, done.computed, done.former) == (4, 0, 4)
    assert caplog.messages == [
        f"{tmp_path}: 4 tasks are read under the names of an earlier edition"
    ]
    fresh = Store(tmp_path / "fresh")
    run_sweep(sweep, fresh)
    assert collect(sweep, store).identical(collect(sweep, fresh))


def test_workers_and_runs_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="workers is 0"):
        run_sweep(experiment(), Store(tmp_path), workers=0)
    done = experiment(settings=1, runs=1)
    run_sweep(done, Store(tmp_path), workers=1)
    with pytest.raises(ValueError, match="workers is 1025; it should be from 1 to 1024"):
        run_sweep(done, Store(tmp_path), workers=1025)  # although nothing is left for them to do
    with pytest.raises(ValueError, match="runs is 0"):
        experiment().with_runs(0)
    assert experiment().with_runs(None) == experiment()
    assert experiment().with_runs(7).runs == 7


def test_a_sweep_says_how_much_it_will_compute_and_how_long_that_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(showing, "WORTH_SAYING", 0.0)
    told: list[str] = []
    sweep, store = experiment(settings=3, runs=12), Store(tmp_path)
    run_sweep(sweep.with_runs(4), store)
    run_sweep(sweep, store, announce=told.append)
    assert told[0] == "6 tasks to compute, with 24 of 36 runs"
    assert told[1].startswith("about ")
    assert told[1].endswith(" for the other 1 tasks, measured on the first 5")
    told.clear()
    run_sweep(sweep, store, announce=told.append)
    assert told == []
    with pytest.raises(ValueError, match="announce is 7"):
        run_sweep(sweep, store, announce=7)


def test_an_estimate_waits_for_the_first_task_and_leaves_out_what_is_short() -> None:
    ticks = iter([50.0, 51.0, 53.0, 99.0])
    told: list[str] = []
    done = showing.estimating(103, 2, told.append, lambda: next(ticks))
    for _ in range(4):
        done()
    assert told == ["about 2 min for the other 100 tasks, measured on the first 3"]
    ticks = iter([50.0, 50.1, 50.2])
    done = showing.estimating(8, 2, told.append, lambda: next(ticks))
    for _ in range(3):
        done()
    assert len(told) == 1


def test_a_log_gets_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([-9.0, 0.0, 10.0, 31.0, 40.0, 62.0])  # the first run is there after nine seconds
    monkeypatch.setattr(showing.time, "monotonic", lambda: next(clock))
    advance = showing._lines("study", 100, 1000, showing.time.monotonic)
    for _ in range(5):
        advance(31)
    assert capsys.readouterr().err.splitlines() == [
        "study: 193 of 1,000 runs, 2 a second, 7 min to go",
        "study: 255 of 1,000 runs, 2 a second, 6 min to go",
    ]


def test_a_log_gets_no_line_when_all_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    advance = showing._lines("study", 0, 3, iter([0.0, 40.0, 80.0, 120.0]).__next__)
    for _ in range(3):
        advance(1)
    assert capsys.readouterr().err == "study: 2 of 3 runs, 0.025 a second, 40 s to go\n"


class Notebook(io.StringIO):
    """Like the stderr of a notebook's kernel."""


Notebook.__module__ = "ipykernel.iostream"


def test_a_notebook_shows_a_bar_if_it_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, delay, shown in (("short", 15.0, False), ("long", 0.0, True)):
        monkeypatch.setattr(sys, "stderr", stream := Notebook())
        monkeypatch.setattr(showing, "NOTEBOOK_DELAY", delay)
        run_sweep(experiment(), Store(tmp_path / name))
        assert ("toy: 100%" in stream.getvalue()) is shown


def test_the_bar_shows_on_a_terminal_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sweep(experiment(), Store(tmp_path / "silent"))
    assert capsys.readouterr() == ("", "")
    run_sweep(experiment(), Store(tmp_path / "off"), progress=False)
    assert capsys.readouterr() == ("", "")
    run_sweep(experiment(), Store(tmp_path / "on"), progress=True)
    assert "30/30" in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    run_sweep(experiment(), Store(tmp_path / "bar"))
    shown = capsys.readouterr().err
    assert "toy: 100%" in shown
    assert "30/30" in shown
    assert "runs/s" in shown


def test_a_finished_store_is_opened_without_computing_anything(tmp_path: Path) -> None:
    """`python -m benchmarks` says how long it takes for 30,000 runs."""
    sweep, store = finished_store(tmp_path, 2000)
    done = run_sweep(sweep, store)
    assert (done.found * sweep.runs_per_task, done.computed) == (2000, 0)


@pytest.mark.parametrize("wrong", ["nonsense", "tcp://", "", 7, object, ["tcp://a:1"]])
def test_a_cluster_that_is_none_is_refused(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(
        ValueError, match="it should be an address such as tcp://host:port, 'local', or a client"
    ):
        run_sweep(experiment(), Store(tmp_path), dask=wrong)


@pytest.mark.slow
def test_clients_and_clusters_do_as_well_as_an_address_and_stay_open(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    run_sweep(experiment(), Store(tmp_path / "here"))
    options = {
        "n_workers": 1,
        "threads_per_worker": 1,
        "dashboard_address": None,
        "silence_logs": logging.CRITICAL,
    }
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        for name, dask in {
            "client": client,
            "cluster": cluster,
            "address": cluster.scheduler_address,
        }.items():
            assert run_sweep(experiment(), Store(tmp_path / name), dask=dask).computed == 9
            assert content(Store(tmp_path / name)) == content(Store(tmp_path / "here"))
            assert client.submit(int, "7").result() == 7


@pytest.mark.slow
def test_a_cluster_of_our_own_listens_to_this_machine_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed, psutil = pytest.importorskip("distributed"), pytest.importorskip("psutil")
    listening: list[str] = []
    made = []

    class Watched(distributed.LocalCluster):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options, silence_logs=logging.CRITICAL)
            made.append((self, len(self.workers)))
            here = psutil.Process()
            for process in (here, *here.children(recursive=True)):
                sockets = [
                    one
                    for one in process.net_connections("inet")
                    if one.status == psutil.CONN_LISTEN
                ]
                listening.extend(one.laddr.ip for one in sockets)

    monkeypatch.setattr(distributed, "LocalCluster", Watched)
    assert run_sweep(experiment(), Store(tmp_path / "dask"), workers=2, dask="local").computed == 9
    ((cluster, workers),) = made
    assert workers == 2
    assert len(listening) >= 4  # scheduler, its page, two workers
    assert set(listening) == {"127.0.0.1"}
    assert cluster.status.name == "closed"
    run_sweep(experiment(), Store(tmp_path / "here"))
    assert content(Store(tmp_path / "dask")) == content(Store(tmp_path / "here"))


@dataclasses.dataclass(frozen=True)
class Wordy(Setting):
    alpha: float
    beta: float
    words: str = "w" * 400


def test_a_long_setting_is_told_by_what_sets_it_apart() -> None:
    settings = [Wordy(0.1, 0.5), Wordy(0.2, 0.5), Whim("none")]
    assert _apart(settings[2], settings) == "Whim(what='none')"
    assert _apart(settings[1], settings) == "Wordy(alpha=0.2, ...)"
    assert _apart(settings[1], [*settings, Wordy(0.1, 0.7)]) == "Wordy(alpha=0.2, beta=0.5, ...)"
    alone = _apart(settings[0], settings[:1])
    assert alone.startswith("Wordy(alpha=0.1, beta=0.5, words=")
    assert len(alone) < 300


def test_whatever_submits_or_has_a_scheduler_is_taken_for_a_cluster() -> None:
    for fine in (
        None,
        "local",
        "tcp://host:8786",
        SimpleNamespace(submit=1),
        SimpleNamespace(scheduler_address=1),
    ):
        _check_dask(fine)
    submits = type("Client", (), {"submit": None})
    for wrong in ("", "remote", "tcp:host", "local ", 3, SimpleNamespace(scheduler=1), submits):
        with pytest.raises(
            ValueError,
            match=r"^dask is .*; it should be an address such as tcp://host:port, 'local'",
        ):
            _check_dask(wrong)


def test_code_that_workers_cannot_import_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sweep = experiment(settings=1)
    _check_importable(sweep, elsewhere=True)
    studied = dataclasses.replace(sweep, settings=(own_setting("__main__:mine", x=1.0),))
    _check_importable(studied, elsewhere=False)
    told = (
        r"^workers cannot import '__main__:mine' from a notebook or a prompt: put it into a module$"
    )
    with pytest.raises(SweepError, match=told):
        _check_importable(studied, elsewhere=True)
    _check_importable(dataclasses.replace(sweep, settings=(Bare(1.0),)), elsewhere=True)
    spec = SimpleNamespace(_initializing=True)
    monkeypatch.setitem(sys.modules, "half_way", SimpleNamespace(__spec__=spec))
    begun = dataclasses.replace(sweep, function="half_way:run")
    told = 'half_way would run its sweep whenever a worker imports it: put the call below if __name__ == "__main__":'
    for elsewhere in (False, True):
        with pytest.raises(SweepError) as error:
            _check_importable(begun, elsewhere=elsewhere)
        assert str(error.value) == told
    spec._initializing = False
    _check_importable(begun, elsewhere=True)


@pytest.mark.parametrize("name", ["function", "summary", "finish", "report"])
def test_functions_and_other_things_that_are_no_names_are_refused(name: str) -> None:
    wanted = "a name by which workers find it, 'module:function'"
    with pytest.raises(ValueError, match=rf"^{name} is <function toy.*>; it should be {wanted}$"):
        dataclasses.replace(experiment(), **{name: toy})
    with pytest.raises(ValueError, match=rf"^{name} is 3; it should be a str"):
        dataclasses.replace(experiment(), **{name: 3})


@pytest.mark.parametrize(
    ("name", "wrong", "told"),
    [
        ("name", 3, "name is 3; it should be a str"),
        ("title", 3, "title is 3; it should be a str"),
        ("version", 3, "version is 3; it should be a str"),
        ("runs", 0, "runs is 0; "),
        ("runs", 10**6 + 1, "runs is 1000001; "),
        ("runs_per_task", 0, "runs_per_task is 0; "),
        ("seed", -1, "seed is -1; "),
        ("settings", [Toy(1.0)], r"settings is \[Toy\(.*\)\]; it should be a tuple of settings$"),
        ("settings", (3,), r"settings is \(3,\); it should be a tuple of settings$"),
        (
            "settings",
            (),
            "settings of 'toy' are 0, 0 of them different; there should be at least one, and all diff",
        ),
    ],
)
def test_an_experiment_names_what_is_wrong(name: str, wrong: Any, told: str) -> None:
    with pytest.raises(ValueError, match=f"^{told}"):
        dataclasses.replace(experiment(), **{name: wrong})


@pytest.mark.parametrize(("workers", "sample"), [(1, 4), (2, 4), (3, 6), (5, 10)])
def test_the_time_is_estimated_from_two_tasks_per_worker_and_four_at_least(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, sample: int
) -> None:
    seen: list[tuple[int, int]] = []

    def estimating(tasks: int, first: int, say: Any) -> Any:
        seen.append((tasks, first))
        return lambda: None

    monkeypatch.setattr(sweeping, "estimating", estimating)
    monkeypatch.setattr(
        sweeping,
        "computed",
        lambda tasks, *_: ((i, task.compute()) for i, task in enumerate(tasks)),
    )
    made = run_sweep(
        experiment(settings=2, runs=3, runs_per_task=2), Store(tmp_path), workers=workers
    )
    assert (seen, made.computed) == ([(4, sample)], 4)


@pytest.mark.parametrize("name", ["../elsewhere", "a/b", "a\\b", ".hidden", "a\0"])
def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"^name is .*; it should do as the name of a file$"):
        dataclasses.replace(experiment(), name=name)


def test_a_notebook_shows_the_fields_in_which_settings_differ() -> None:
    settings = (Toy(0.5, length=4), Toy(0.25, length=4), Toy(0.25, length=8))
    table = Experiment("toy", "A toy", "sweep_tasks:toy", settings, 3, 7, "1")._repr_html_()
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("<tr>")]
    assert cells[-2:] == [["scale", "0.5, 0.25"], ["length", "4, 8"]]
    assert "delay" not in table
