"""A study of one's own from a function that makes one run: settings, seeds, divergence, failures and refusals."""

from __future__ import annotations

import pickle
import subprocess
import sys
from itertools import product
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
import sweep_tasks
from sweep_tasks import drift, learned

from gqlib import seeds
from gqlib.sweeps._versions import version_of
from gqlib.sweeps.names import SweepError
from gqlib.sweeps.own import coin, own_runs, own_setting, own_study, run_study
from gqlib.sweeps.results import _label, load_results, recompute, save_results, verify_sample
from gqlib.sweeps.store import Store
from gqlib.sweeps.sweep import run_sweep

GRID = {"alpha": np.array([0.5, 1.5]), "steps": [3, 400]}


def test_every_run_of_every_setting_is_the_function_with_the_generator_of_its_number(
    tmp_path: Path,
) -> None:
    result = run_study(own_study(drift, GRID, runs=3, seed=5), tmp_path)
    for position, (alpha, steps) in enumerate(product(*GRID.values())):
        assert (result["alpha"].values[position], result["steps"].values[position]) == (
            alpha,
            steps,
        )
        for run in range(3):
            expected = drift(seeds.generator(5, run, seeds.TRAJECTORY), alpha=alpha, steps=steps)
            assert result["x"].values[position, run] == expected["x"]
            assert result["path"].values[position, run].tolist() == expected["path"].tolist()


def test_blocks_workers_and_a_resume_change_no_bit(tmp_path: Path) -> None:
    few, many = (
        own_study(drift, GRID, runs=runs, seed=5, runs_per_task=size)
        for runs, size in ((2, 1), (5, 3))
    )
    run_study(few, tmp_path / "first")
    resumed = run_study(many, tmp_path / "first", workers=2, progress=False)
    assert resumed.identical(run_study(many, tmp_path / "second"))


def test_a_run_whose_numbers_leave_all_bounds_has_diverged(tmp_path: Path) -> None:
    result = run_study(
        own_study(drift, GRID | {"alpha": [0.5, 1.5, 9.0]}, runs=2, seed=5), tmp_path
    )
    worst = np.maximum(np.abs(result["x"]), np.abs(result["path"]).max("path_1"))
    assert result["diverged"].dtype == bool
    assert (result["diverged"] == ~(worst <= 1e10)).all()
    assert result["diverged"].values[:, 0].tolist() == [False, False, False, False, False, True]
    assert not np.isfinite(result["x"].values[-1]).any()


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("lost", [(0.5, 0.0), (1.0, 0.5), (1.0, 2.0)])
def test_a_learner_of_ours_that_raises_has_diverged_and_the_result_is_whole(
    tmp_path: Path, lost: tuple[float, float], size: int
) -> None:
    """Some runs of a setting, all of it, or all of all: NaN and a flag there, and elsewhere what was learned."""
    study = own_study(learned, {"lost": lost, "alpha": [0.1]}, runs=6, seed=3, runs_per_task=size)
    result = run_study(study, tmp_path)
    gone = [
        [seeds.generator(3, run, seeds.TRAJECTORY).random() < share for run in range(6)]
        for share in lost
    ]
    assert result["diverged"].values.tolist() == gone
    if np.all(gone):  # nothing is known of what others would have had
        assert set(result.data_vars) == {"diverged"}
    else:
        assert 0 < np.sum(gone) < 12
        # θ of mean 1 + θ/2, by the closed form of a line of steps; whole numbers are counted, and NaN is no number.
        reached = 2.0 * (1.0 - 0.95**40)
        np.testing.assert_allclose(
            result["theta"].values[..., 0], np.where(gone, np.nan, reached), rtol=1e-12
        )
        np.testing.assert_array_equal(result["steps"].values, np.where(gone, np.nan, 40))
    assert verify_sample(result, 8, np.random.default_rng(0), allow=["sweep_tasks:learned"]) > 0
    again = run_sweep(study, Store(tmp_path))
    assert (again.computed, again.found) == (0, 12 // size)


def test_counts_do_not_diverge_and_what_the_function_says_is_kept() -> None:
    large = own_runs(own_setting("sweep_tasks:says", count=10**15, lost=False), 2, 0, first_run=0)
    assert large["diverged"].tolist() == [False, False]
    told = own_runs(own_setting("sweep_tasks:says", count=1, lost=True), 2, 0, first_run=0)
    assert told["diverged"].tolist() == [True, True]


def test_one_setting_that_raises_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    study = own_study(
        drift, [{"alpha": 0.5, "steps": steps} for steps in (3, -1, 4)], runs=2, seed=5
    )
    with pytest.raises(
        SweepError, match=r"2 of 6 tasks failed.+runs 0 to 1 of drift\(alpha=0.5, steps=-1\): Value"
    ):
        run_study(study, tmp_path)
    assert len(Store(tmp_path).names()) == 4
    assert "in drift" in (tmp_path / "failures.txt").read_text()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            own_setting("sweep_tasks:whatever", what=3.5),
            r"whatever\(what=3.5\) returned 3.5; expected numbers by name",
        ),
        (
            own_setting("sweep_tasks:grows"),
            r"grows\(\) returned shapes {'x': \(2,\), 'diverged': \(\)} in run 1, and "
            r"{'x': \(1,\), 'diverged': \(\)} before$",
        ),
        (own_setting("sweep_tasks:nowhere"), "cannot find 'sweep_tasks:nowhere'"),
    ],
)
def test_what_a_function_must_not_return(setting: Any, message: str) -> None:
    with pytest.raises(SweepError, match=message):
        own_runs(setting, 2, 0, first_run=0)


def test_settings_are_told_apart_and_survive_a_pickle() -> None:
    one, two = (own_setting("sweep_tasks:drift", alpha=alpha, steps=3) for alpha in (0.1, 0.2))
    assert one == own_setting("sweep_tasks:drift", alpha=np.float64(0.1), steps=np.int64(3)) != two
    assert len({one.key, two.key, own_setting("sweep_tasks:says", alpha=0.1, steps=3).key}) == 3
    again = pickle.loads(pickle.dumps(one))
    assert (again, type(again), again.key) == (one, type(one), one.key)
    assert repr(again) == "drift(alpha=0.1, steps=3)"


def test_a_field_can_be_changed_in_all_settings() -> None:
    changed = own_study(drift, GRID, runs=1, seed=5).with_fields(steps=[7])
    assert [setting.fields for setting in changed.settings] == [
        {"alpha": a, "steps": 7} for a in (0.5, 1.5)
    ]


def test_a_file_is_verified_only_by_whoever_allows_its_function(tmp_path: Path) -> None:
    result = run_study(own_study(drift, GRID, runs=2, seed=5), tmp_path)
    loaded = load_results(save_results(tmp_path / "drift.npz", result))
    assert loaded.identical(result)
    with pytest.raises(SweepError, match=r"imports 'sweep_tasks:drift'; pass allow"):
        recompute(loaded, 0, 0)
    allowed = ["sweep_tasks:drift"]
    assert (
        verify_sample(loaded, 3, np.random.default_rng(0), allow=allowed) == 3 * 6
    )  # x, four of a path, a flag
    loaded["x"].values[:] += 1e-9
    with pytest.raises(ValueError, match="another x"):
        verify_sample(loaded, 1, np.random.default_rng(0), allow=allowed)


def test_the_version_follows_the_source_but_not_its_comments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    bodies = {"a": "return {'x': 1.0}", "b": "return  {'x': 1.0}  # one", "c": "return {'x': 2.0}"}
    versions = {}
    for name, body in bodies.items():
        (tmp_path / f"own_{name}.py").write_text(f"def f(rng):\n    {body}\n")
        study = own_study(__import__(f"own_{name}").f, [{}], runs=1, seed=0)
        versions[name] = study.version
    assert versions["a"] == versions["b"] != versions["c"]
    assert own_study(drift, GRID, runs=1, seed=0, version="mine").version == "mine"
    with pytest.raises(ValueError, match=r"no version can be made: len has no code in Python"):
        version_of(len)


@pytest.mark.parametrize(
    ("function", "grid", "message"),
    [
        (3, GRID, "function is 3; it should be a function"),
        (lambda rng, alpha, steps: {}, GRID, "function is <function.+at the top of a module"),
        (drift, {"alpha": 0.1, "steps": [3]}, "grid has alpha 0.1; it should be a list of values"),
        (drift, {"alpha": "01", "steps": [3]}, "grid has alpha '01'; it should be a list of values"),
        (drift, {"alpha": [], "steps": [3]}, "grid is .+ at least one setting"),
        (drift, [], r"grid is \[\]; it should have at least one"),
        (drift, [3], r"grid is \[3\]; it should be lists of values by name, or a list of settings"),
        (drift, {"alpha": [0.1]}, "called with a generator and alpha: missing a required argument: 'steps'"),
        (drift, {**GRID, "beta": [1.0]}, "got an unexpected keyword argument 'beta'"),
        (drift, {**GRID, "rng": [1.0]}, "multiple values for argument 'rng'"),
        (drift, {"alpha": [0.1, 0.1], "steps": [3]}, "2, 1 of them different"),
        (drift, {**GRID, "steps": [3, np.inf]}, "^steps is inf; it should be a finite number, a text, None, or"),
        (drift, {**GRID, "steps": [np.zeros(2)]}, "^steps is array.+it should be a finite number, a text, None"),
        (sweep_tasks.anything, {"key": [1]}, "a field is called 'key'; it should be a name of Python's other than"),
        (sweep_tasks.anything, {"lambda": [1]}, "a field is called 'lambda'"),
        (sweep_tasks.anything, {"__weakref__": [1]}, "a field is called '__weakref__'"),
        (sweep_tasks.anything, {"__dict__": [None]}, "a field is called '__dict__'"),
    ],
)  # fmt: skip
def test_refusals_name_what_is_wrong(function: Any, grid: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        own_study(function, grid, runs=1, seed=0)


def test_what_stands_in_a_notebook_is_refused_before_workers_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "drift", drift, raising=False)
    monkeypatch.setattr(main, "__spec__", None)
    monkeypatch.delattr(main, "__file__", raising=False)
    monkeypatch.setattr(drift, "__module__", "__main__")
    study = own_study(drift, GRID, runs=1, seed=0)
    with pytest.raises(
        SweepError, match="workers cannot import '__main__:drift' from a notebook or a prompt"
    ):
        run_sweep(study, Store(tmp_path), workers=2)
    assert run_study(study, tmp_path)["x"].shape == (4, 1)


@pytest.mark.slow
def test_a_script_runs_its_study_below_the_usual_line_and_says_so_without_it(
    tmp_path: Path,
) -> None:
    text = dedent("""
        from gqlib.sweeps.own import own_study, run_study

        def f(rng, a):
            return {"x": a * rng.random()}

        if LINE:
            result = run_study(own_study(f, {"a": [1.0, 2.0]}, runs=2, seed=0), "store", workers=2, progress=False)
            print(result["function"].values[0], (result["x"][1] / result["x"][0]).values.tolist())
    """)
    told = {}
    for name, line in {"good": '__name__ == "__main__"', "bad": "True"}.items():
        (tmp_path / f"{name}.py").write_text(text.replace("LINE", line))
        told[name] = subprocess.run(
            [sys.executable, f"{name}.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert told["good"].stdout == "good:f [2.0, 2.0]\n", told["good"].stderr
    assert told["bad"].returncode == 1
    last = told["bad"].stderr.splitlines()[-1]
    advice = 'put the call below if __name__ == "__main__":'
    assert last.endswith(f"bad would run its sweep whenever a worker imports it: {advice}")


def test_a_study_is_named_after_its_function_and_its_first_line_unless_told_otherwise() -> None:
    study = own_study(drift, GRID, runs=2, seed=5)
    first = (drift.__doc__ or "").splitlines()[0]
    assert (study.name, study.title, study.function) == ("drift", first, "own study")
    assert (study.runs, study.seed, study.runs_per_task, len(study.version)) == (2, 5, 1, 21)
    bare = own_study(sweep_tasks.whatever, [{"what": 1.0}], runs=1, seed=0)
    assert bare.title == "sweep_tasks:whatever"  # without a docstring
    own = own_study(drift, GRID, runs=2, seed=5, name="n", title="t", version="v", runs_per_task=4)
    assert (own.name, own.title, own.version, own.runs_per_task) == ("n", "t", "v", 4)
    for name in ("name", "title", "version"):
        with pytest.raises(ValueError, match=rf"^{name} is 3; it should be a str"):
            own_study(drift, GRID, runs=2, seed=5, **{name: 3})


def test_numbers_of_runs_that_cannot_be_are_named() -> None:
    setting = own_setting("sweep_tasks:says", count=1, lost=True)
    given: dict[str, Any] = {"setting": setting, "runs": 1, "seed": 0, "first_run": 0}
    for name, wrong in (("setting", 3), ("runs", 0), ("seed", -1), ("first_run", -1)):
        with pytest.raises(ValueError, match=rf"^{name} is {wrong}; it should be "):
            own_runs(**given | {name: wrong})
    with pytest.raises(ValueError, match=rf"^runs is {2**50}; it should be smaller"):
        own_runs(**given | {"runs": 2**50})
    with pytest.raises(ValueError, match=r"^throws is 0; it should be .*1"):
        coin(np.random.default_rng(0), 0.5, 0)
    assert coin(np.random.default_rng(0), 0.9, 1)["error"] == pytest.approx(0.1, rel=1e-12)


def test_the_error_of_a_coin_is_the_distance_of_its_mean() -> None:
    heads = np.random.default_rng(3).random(7) < 0.4
    assert coin(np.random.default_rng(3), 0.4, 7) == {"error": abs(heads.mean() - 0.4)}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *((name, 1.0, f"returned {name!r}, which") for name in ("what", "key", "run", "setting")),
        (
            "x",
            np.ma.array([1.0, 2.0], mask=[False, True]),
            "returned .x. with masked entries; expected",
        ),
        (
            "x",
            [[1.0], [1.0, 2.0]],
            r"returned .x. \[\[1\.0\], \[1\.0, 2\.0\]\]; expected numbers or an array",
        ),
        *(
            ("diverged", value, "returned diverged .+; expected True or False")
            for value in ("no", 2.5, None, [0, 2])
        ),
    ],
)
def test_a_result_has_one_thing_under_each_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: Any, message: str
) -> None:
    """Found out in the first run, and not when everything is computed and put together."""
    monkeypatch.setattr(sweep_tasks, "named", lambda rng, what: {name: value}, raising=False)
    with pytest.raises(SweepError, match=message):
        own_runs(own_setting("sweep_tasks:named", what=1), 1, 0, first_run=0)


@pytest.mark.parametrize("value", [True, np.False_, 0, 1.0, [True, False]])
def test_diverged_can_be_any_kind_of_true_and_false(
    monkeypatch: pytest.MonkeyPatch, value: Any
) -> None:
    monkeypatch.setattr(sweep_tasks, "named", lambda rng: {"diverged": value}, raising=False)
    made = own_runs(own_setting("sweep_tasks:named"), 1, 0, first_run=0)
    assert np.array_equal(made["diverged"][0], value)


def test_a_field_can_be_a_number_too_long_for_an_array(tmp_path: Path) -> None:
    study = own_study(
        coin, [{"heads": 0.5, "throws": throws} for throws in (10, 20)], runs=1, seed=10**30
    )
    assert run_study(study, tmp_path)["throws"].values.tolist() == [10, 20]
    assert _label(2**63 - 1) == 2**63 - 1
    assert (_label(2**63), _label(-(2**63) - 1)) == (str(2**63), str(-(2**63) - 1))
    assert _label(True) is True
