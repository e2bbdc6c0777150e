"""Results, part by part: what is collected, completed, saved, read, made again and refused, on a sweep of a moment."""

from dataclasses import replace

import numpy as np
import pytest
import sweep_tasks
import xarray

from gqlib.sweeps import results, workers
from gqlib.sweeps.names import SweepError
from gqlib.sweeps.results import (
    collect,
    keep_all,
    load_results,
    recompute,
    save_results,
    verify_sample,
)
from gqlib.sweeps.store import DamagedFile, Store, StoreError, pack, write_file
from gqlib.sweeps.sweep import run_sweep

ALLOW = ["sweep_tasks:toy", "sweep_tasks:Toy"]


def swept(folder, **changes):
    sweep = replace(sweep_tasks.experiment(settings=2, runs=5, runs_per_task=2), **changes)
    run_sweep(sweep, Store(folder))
    return sweep, collect(sweep, Store(folder))


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return swept(tmp_path_factory.mktemp("toy"))[1]


# ---------------------------------------------------------------- collecting


def test_a_result_holds_every_run_its_labels_and_its_origin(result):
    for k, scale in enumerate((1.0, 2.0)):
        for run in range(5):
            np.testing.assert_array_equal(
                result["values"].values[k, run], scale * np.random.default_rng([5, run]).random(4)
            )
    assert result["values"].dims == ("setting", "run", "values_1")
    assert result["run_index"].values.tolist() == [[0, 1, 2, 3, 4]] * 2
    assert result["run"].values.tolist() == [0, 1, 2, 3, 4]
    settings = sweep_tasks.experiment(settings=2).settings
    assert result["scale"].values.tolist() == [1.0, 2.0]
    assert result["length"].values.tolist() == [4, 4]
    assert result["log"].values.tolist() == ["", ""]
    assert result["key"].values.tolist() == [setting.key for setting in settings]
    assert result.attrs == {
        "name": "toy",
        "title": "A toy",
        "function": "sweep_tasks:toy",
        "summary": "everything",
        "seed": 5,
        "version": "1",
        "runs": 5,
        "setting_type": "sweep_tasks:Toy",
        "settings": result.attrs["settings"],
    }
    assert result.attrs["settings"].count('"scale"') == 2


def test_a_summary_and_a_finish_of_ones_own_are_applied(tmp_path):
    _, result = swept(tmp_path, summary="sweep_tasks:mean_and_values")
    assert result["mean"].dims == ("setting", "step")
    np.testing.assert_allclose(result["mean"].values, result["values"].values.mean(axis=1))
    assert result.attrs["summary"] == "sweep_tasks:mean_and_values"
    _, finished = swept(tmp_path, finish="sweep_tasks:with_twice")
    assert finished["twice"].identical((2.0 * finished["values"]).rename("twice"))
    assert "twice" not in result


def test_a_setting_needs_a_key_and_no_more(tmp_path):
    _, result = swept(tmp_path, settings=(sweep_tasks.Bare(1.0), sweep_tasks.Bare(3.0)))
    assert result["key"].values.tolist() == ["bare 1.0", "bare 3.0"]
    assert result.attrs["setting_type"] == "sweep_tasks:Bare"
    made = recompute(result, 1, 2, runs=2, allow=["sweep_tasks:toy", "sweep_tasks:Bare"])
    assert made["run_index"][1].tolist() == [2, 3]
    np.testing.assert_array_equal(made["values"][1], result["values"].values[1, 2:4])


def test_runs_of_a_setting_with_other_arrays_in_each_are_refused(tmp_path):
    sweep = sweep_tasks.experiment(settings=1, runs=4, runs_per_task=2)
    store = Store(tmp_path)
    for task, shape in zip(sweep.tasks(), ((2, 3), (2, 5)), strict=True):
        store.put(task.name, task.header, {"values": np.zeros(shape)})
    told = (
        r"^the task of Toy\(.*\) that begins with run 2 has in each run 'values' \(numbers of shape \(5,\)\), "
        r"what is before it 'values' \(numbers of shape \(3,\)\); 'sweep_tasks:toy' should return the same arrays "
    )
    with pytest.raises(SweepError, match=told):
        collect(sweep, store)


def test_a_sweep_that_is_not_finished_says_which_runs_are_missing(tmp_path):
    sweep = sweep_tasks.experiment(settings=1, runs=5, runs_per_task=2)
    run_sweep(replace(sweep, runs=3), Store(tmp_path))
    told = rf"^runs \d to 4 of Toy\(.*\) are not in .*{tmp_path.name}.*: 'toy' is not finished$"
    with pytest.raises(SweepError, match=told):
        collect(sweep, Store(tmp_path))


def test_only_a_sweep_and_a_store_can_be_collected(tmp_path):
    with pytest.raises(ValueError, match=r"^experiment is 3; "):
        collect(3, Store(tmp_path))
    with pytest.raises(ValueError, match=r"^store is 3; "):
        collect(sweep_tasks.experiment(), 3)


def test_what_is_kept_of_settings_must_be_alike():
    sweep = sweep_tasks.experiment(settings=3)
    one = {"a": (("run",), np.zeros(2)), "b": (("x",), np.array(["u", "v"]))}
    results._check_alike(sweep, [one, one, one])
    told = (
        r"^Toy\(.*\) has 'a' \(numbers of shape \(3,\)\), what is before it 'a' \(numbers of shape \(2,\)\), "
        r"'b' \(text of shape \(2,\)\); 'sweep_tasks:toy' should return the same arrays in every task "
        r"\(once it does, change the version, and they are computed again\)$"
    )
    with pytest.raises(SweepError, match=told):
        results._check_alike(sweep, [one, one, {"a": (("run",), np.zeros(3))}])
    assert results._told({"z": np.zeros((2, 1)), "a": np.array([b"u"])}) == (
        "'a' (text of shape (1,)), 'z' (numbers of shape (2, 1))"
    )


def test_coordinates_of_a_summary_are_shared_or_refused():
    one = {
        "x": (("x",), np.array([1, 2])),
        "a": (("run", "x"), np.zeros((2, 2))),
        "b": (("x",), np.zeros(2)),
    }
    assert list(results._shared([one, one])) == ["x"]
    with pytest.raises(
        SweepError, match=r"^the summary returns a coordinate 'x' that is not the same for every "
    ):
        results._shared([one, one | {"x": (("x",), np.array([1, 3]))}])


def test_everything_is_kept_with_names_for_its_axes():
    arrays = {"a": np.zeros(3), "theta": np.zeros((3, 2, 4))}
    kept = keep_all(arrays)
    assert {name: dims for name, (dims, _) in kept.items()} == {
        "a": ("run",),
        "theta": ("run", "theta_1", "theta_2"),
    }
    assert all(kept[name][1] is arrays[name] for name in arrays)
    for wrong in (3, {"a": [1.0]}, {3: np.zeros(2)}):
        with pytest.raises(ValueError, match=r"^arrays is "):
            keep_all(wrong)


def test_labels_are_numbers_and_words_or_json():
    assert [results._label(value) for value in (True, 3, 0.5, "a", np.float64(2.5))] == [
        True,
        3,
        0.5,
        "a",
        2.5,
    ]
    assert results._label((1, "a")) == '[1,"a"]'
    assert results._label(None) == "null"


@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_block_has_a_row_for_each_run(monkeypatch, tmp_path, shape):
    sweep, store = sweep_tasks.experiment(settings=1, runs=2, runs_per_task=2), Store(tmp_path)
    run_sweep(sweep, store)
    (block,) = sweep.tasks()
    assert set(results._rows(block, store)) == {"values", "run_index"}
    monkeypatch.setattr(Store, "get", lambda *given: {"a": np.zeros(2), "b": np.zeros(shape)})
    with pytest.raises(DamagedFile) as raised:
        results._rows(block, store)
    assert f"has 'b' of shape {shape} for 2 runs" in str(raised.value)
    monkeypatch.setattr(Store, "get", lambda *given: None)
    assert results._rows(block, store) is None


# ---------------------------------------------------------------- what follows from the rest


def small(**attrs):
    data = {
        "steps_sum": (("setting", "episode"), np.array([[4, 8], [12, 2]])),
        "name_sum": (("setting",), np.array(["a", "b"])),
        "each_sum": (("setting", "run"), np.ones((2, 4))),
        "spread": (("setting", "quantile"), np.ones((2, 5))),
    }
    return xarray.Dataset(data, attrs=attrs)


def test_numbers_levels_and_means_are_added():
    made = results._complete(small(summary="control with spread"))
    assert made["run"].values.tolist() == [0, 1, 2, 3]
    assert made["episode"].values.tolist() == [1, 2]
    assert made["quantile"].values.tolist() == [0.05, 0.25, 0.5, 0.75, 0.95]
    assert made["steps_mean"].values.tolist() == [[1.0, 2.0], [3.0, 0.5]]
    assert {str(name) for name in made.data_vars} == {
        "steps_sum",
        "steps_mean",
        "name_sum",
        "each_sum",
        "spread",
    }
    for summary in ("control", None, 3):
        assert "quantile" not in results._complete(small(summary=summary)).coords
    former = small(summary="gqlib.tasks:control_summary_with_spread")
    assert results._complete(former)["quantile"].values[2] == 0.5
    assert "quantile" not in results._complete(former.isel(quantile=slice(4))).coords


def test_means_are_over_the_runs_that_were_counted_and_what_is_there_stays():
    for counted, means in ((2, [2.0, 4.0]), (1, [4.0, 8.0])):
        made = results._complete(small().assign(counted=("setting", [counted, 0])))
        np.testing.assert_array_equal(made["steps_mean"].values, [means, [np.nan, np.nan]])
    mine = results._complete(
        small().assign(steps_mean=("setting", [7.0, 7.0])).assign_coords(run=[5, 6, 7, 8])
    )
    assert mine["steps_mean"].values.tolist() == [7.0, 7.0]
    assert mine["run"].values.tolist() == [5, 6, 7, 8]
    none = results._complete(small().drop_vars("each_sum"))
    assert "steps_mean" not in none  # over how many runs is not known
    assert "run" not in none.coords


def test_what_follows_is_left_out_and_what_does_not_is_kept():
    whole = results._complete(small(summary="control with spread"))
    assert set(results._essential(whole).variables) == set(small().variables)
    other = whole.assign(steps_mean=whole["steps_mean"] + 1.0, other_mean=("setting", [1.0, 2.0]))
    other = other.assign_coords(episode=[3, 4])
    kept = set(results._essential(other).variables) - set(small().variables)
    assert kept == {"steps_mean", "other_mean", "episode"}


# ---------------------------------------------------------------- files


def test_a_file_holds_the_result_and_no_more(result, tmp_path):
    path = save_results(str(tmp_path / "new" / "deep" / "toy.npz"), result)
    assert path == tmp_path / "new" / "deep" / "toy.npz"
    assert load_results(path).identical(result)
    again = save_results(tmp_path / "again.npz", load_results(str(path)))
    assert again.read_bytes() == path.read_bytes()
    labels = xarray.Dataset(
        {"a": ("x", [1.0])}, {"x": ("x", ["u"]), "extra": ("x", [3])}, {"note": "n"}
    )
    back = load_results(save_results(tmp_path / "labels.npz", labels))
    assert back.identical(labels)
    assert set(back.coords) == {"x", "extra"}


def test_what_cannot_be_saved_or_read_is_refused(tmp_path, result):
    with pytest.raises(ValueError, match=r"^dataset is 3; "):
        save_results(tmp_path / "a.npz", 3)
    with pytest.raises(ValueError, match=r"^path is 3; "):
        save_results(3, result)
    with pytest.raises(ValueError, match=r"^path is 3; "):
        load_results(3)
    (tmp_path / "file").write_text("here")
    with pytest.raises(StoreError, match=r"^cannot make the directory .*file.*: \w"):
        save_results(tmp_path / "file" / "a.npz", result)


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ({"format": "another"}, "holds no dataset"),
        ({}, "holds no dataset"),
        ({"coords": []}, "holds no dataset: 'dims'"),
        ({"coords": [], "dims": {"b": ["x"]}}, "holds no dataset: "),
        ({"coords": 3, "dims": {"a": ["x"]}}, "holds no dataset: 'int'"),
        ({"coords": [], "dims": {"a": ["x", "y"]}, "attrs": {}}, "holds no dataset: "),
        ({"coords": [], "dims": ["a"], "attrs": {}}, "holds no dataset: 'list'"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, header, told):
    path = tmp_path / "a.npz"
    given = ({"format": results._FORMAT} if header else {}) | header
    write_file(path, pack(given, {"a": np.zeros(2)}))
    with pytest.raises(DamagedFile) as raised:
        load_results(path)
    assert "a.npz" in str(raised.value)
    assert told in str(raised.value)


# ---------------------------------------------------------------- again


def test_runs_are_made_again(result):
    made = recompute(result, 1, 2, 3, allow=ALLOW)
    assert set(made) == {"values", "run_index"}
    np.testing.assert_array_equal(made["values"][1], result["values"].values[1, 2:5])
    assert made["run_index"][1].tolist() == [2, 3, 4]
    assert recompute(result, 0, 4, allow=ALLOW)["run_index"][1].tolist() == [4]


def test_what_is_asked_again_is_checked(result):
    for name, wrong in (
        ("setting", 2),
        ("setting", -1),
        ("first_run", -1),
        ("runs", 0),
        ("dataset", 3),
    ):
        given = {"dataset": result, "setting": 0, "first_run": 0, "runs": 1, name: wrong}
        with pytest.raises(ValueError, match=f"^{name} is {wrong}; "):
            recompute(**given, allow=ALLOW)
    with pytest.raises(
        ValueError, match=r"^dataset is .*; it should be an xarray\.Dataset with key$"
    ):
        recompute(result.drop_vars("key"), 0, 0, allow=ALLOW)
    for missing in ALLOW:
        with pytest.raises(
            SweepError,
            match=rf"'{missing}' is not one of gqlib's; pass allow=\['{missing}'\] to run it$",
        ):
            recompute(result, 0, 0, allow=[name for name in ALLOW if name != missing])


@pytest.mark.parametrize(
    "name", ["name", "function", "summary", "version", "setting_type", "settings", "seed"]
)
def test_a_result_without_its_origin_is_refused(result, name):
    kind = "int" if name == "seed" else "str"
    for wrong in (None, 1.5, True):
        changed = result.assign_attrs({name: wrong})
        with pytest.raises(
            SweepError, match=rf"^the result has {name} {wrong}; it should be a {kind}$"
        ):
            recompute(changed, 0, 0, allow=ALLOW)
    del changed.attrs[name]
    with pytest.raises(SweepError, match=rf"^the result has {name} None; it should be a {kind}$"):
        recompute(changed, 0, 0, allow=ALLOW)


@pytest.mark.parametrize(
    "settings", ["[]", "{}", "[3]", '[{"scale": 1.0, "colour": 2}]', "[", "[" * 100_000]
)
def test_settings_that_cannot_be_made_again_are_refused(result, settings):
    with pytest.raises(SweepError, match=r"^setting 0 of 'toy' cannot be made again: "):
        recompute(result.assign_attrs(settings=settings), 0, 0, allow=ALLOW)


def test_another_key_and_imports_of_a_setting_are_refused(result, monkeypatch):
    other = result.assign_coords(key=("setting", ["a", "b"]))
    key = sweep_tasks.Toy(1.0).key
    with pytest.raises(SweepError, match=rf"^setting 0 of 'toy' has another key now: {key}$"):
        recompute(other, 0, 0, allow=ALLOW)
    monkeypatch.setattr(sweep_tasks.Toy, "imported", ("os:system",), raising=False)
    with pytest.raises(
        SweepError,
        match=r"^setting 1 of 'toy' imports 'os:system'; pass allow=\['os:system'\] to run",
    ):
        recompute(result, 1, 0, allow=ALLOW)


def test_a_sample_is_compared_bit_for_bit(result):
    assert verify_sample(result, 7, np.random.default_rng(0), allow=ALLOW) == 7 * 5
    rng = np.random.default_rng(3)
    setting, run = int(rng.integers(2)), int(rng.integers(5))
    wrong = result.copy(deep=True)
    wrong["values"].values[setting, run, 2] += 1e-15
    told = rf"^dataset has another values in setting {setting}, run {run} than this code gives$"
    with pytest.raises(ValueError, match=told):
        verify_sample(wrong, 1, np.random.default_rng(3), allow=ALLOW)


def test_only_what_has_runs_is_compared(tmp_path):
    _, result = swept(tmp_path, summary="sweep_tasks:mean_and_values")
    allow = [*ALLOW, "sweep_tasks:mean_and_values"]
    assert verify_sample(result, 3, np.random.default_rng(0), allow=allow) == 3 * 4


def test_a_sample_is_checked_and_in_a_page_none_is_made(result, monkeypatch):
    for name, wrong in (("dataset", 3), ("runs", 0), ("rng", 3)):
        given = {"dataset": result, "runs": 1, "rng": np.random.default_rng(0), name: wrong}
        with pytest.raises(ValueError, match=f"^{name} is {wrong}; "):
            verify_sample(**given, allow=ALLOW)
    monkeypatch.setattr(workers, "IN_PAGE", True)
    with pytest.warns(
        UserWarning, match=r"^none of 4 runs is recomputed in a page: it could take minutes$"
    ):
        assert verify_sample(result, 4, np.random.default_rng(0)) == 0
