"""The search for step sizes on the car: cells are ordinary settings, and the rule picks what it says."""

import dataclasses
import re

import numpy as np
import pytest
import xarray

from gqlib.control import run_control
from gqlib.control.grids import ControlGrid, control_grid_runs, control_grid_summary
from gqlib.experiments import load_experiment, tuning
from gqlib.experiments.mountain_car import ALPHAS, ETAS, TABLE_SIZES

SHORT = ControlGrid(alphas=(0.002, 0.01), etas=(1.0, 0.25), p=128, episodes=3, max_steps=300)


def test_cells_are_the_runs_of_their_settings() -> None:
    found = control_grid_runs(SHORT, 2, 5, first_run=3)
    cells = list(SHORT.cells())
    assert [(cell.alpha, cell.eta) for cell in cells] == [
        (0.002, 1.0),
        (0.002, 0.25),
        (0.01, 1.0),
        (0.01, 0.25),
    ]
    for k, cell in enumerate(cells):
        direct = run_control(cell, 2, 5, first_run=3)
        np.testing.assert_array_equal(found["steps_total"][:, k], direct.steps.sum(axis=1))
        np.testing.assert_array_equal(found["diverged"][:, k], direct.diverged)
    kept = control_grid_summary(
        {"steps_total": found["steps_total"], "diverged": np.array([[True] * 4, [False] * 4])}
    )
    assert kept["diverged"][1].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"alphas": ()}, "alphas has shape"), ({"etas": (-1.0,)}, "eta is -1"), ({"p": 0}, "p is 0"),
     ({"method": "corrected", "target": "epsilon-greedy"}, "method is 'corrected'")],
)  # fmt: skip
def test_rows_refuse_what_no_cell_could_be(changes, message) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SHORT, **changes)


ROW = {"method": "gradient", "target": "greedy", "p": 512, "sigma": 0.5}


@pytest.mark.parametrize("function", [tuning.row_name, tuning.row_grids, tuning.tuned_setting])
def test_a_row_is_refused_by_what_it_lacks_or_has_too_much(function) -> None:
    whole = "it should be a dict with method, target, p and sigma"
    for wrong in (
        3,
        None,
        list(ROW),
        *({key: ROW[key] for key in ROW if key != name} for name in ROW),
    ):
        with pytest.raises(ValueError, match=rf"^row is {re.escape(repr(wrong))}; {whole}$"):
            function(wrong)
    with pytest.raises(
        ValueError, match=r"^row has \['3', 'alpha', 'size'\]; its .* fields of a ControlGrid$"
    ):
        function(ROW | {"size": 1, "alpha": 0.1, 3: 1})
    with pytest.raises(
        ValueError, match=r"^row\['method'\] is 'sarsa'; it should be one of 'gradient', "
    ):
        function(ROW | {"method": "sarsa"})
    for sigma in (-0.1, 1.1):
        with pytest.raises(
            ValueError, match=rf"^row\['sigma'\] is {sigma}; it should be in \[0, 1\]$"
        ):
            function(ROW | {"sigma": sigma})


def test_a_name_tells_a_constant_sigma_from_one_that_is_drawn() -> None:
    assert (
        tuning.row_name(ROW)
        == tuning.row_name(ROW | {"sigma_noise": 0.0})
        == "gradient | greedy | 512 | 0.5"
    )
    assert (
        tuning.row_name(ROW | {"sigma_noise": 0.01, "p": 1024}) == "gradient | greedy | 1024 | ~0.5"
    )


def test_a_setting_is_tuned_for_a_row_and_one_of_three_grids() -> None:
    for grid in tuning.GRIDS:
        alpha, eta = tuning.chosen()[grid]["gradient | greedy | 512 | 0.5"]
        setting = tuning.tuned_setting(ROW, grid, "rltoolkit")
        assert (setting.alpha, setting.eta, setting.memory) == (alpha, eta, "rltoolkit")
        assert (setting.method, setting.target, setting.p, setting.sigma) == tuple(ROW.values())
    assert tuning.tuned_setting(ROW) == tuning.tuned_setting(ROW, "all", "int")
    unknown = ROW | {"p": 100}
    with pytest.raises(
        ValueError, match=rf"^row is {re.escape(repr(unknown))}; it should be one of `rows`$"
    ):
        tuning.tuned_setting(unknown)
    with pytest.raises(
        ValueError, match=r"^grid is 'eta'; it should be one of 'all', 'paper', 'eta 1'$"
    ):
        tuning.tuned_setting(ROW, "eta")


def test_tuned_scores_are_those_of_the_chosen_cells_in_the_order_of_sigma() -> None:
    """From a shuffled result, in which each setting has its place as its score."""
    rng = np.random.default_rng(8)
    for plan, options in (
        ("control-tuned", {}),
        ("control-tuned-rltoolkit", {"memory": "rltoolkit"}),
    ):
        keys = rng.permutation([setting.key for setting in load_experiment(plan).settings])
        data = xarray.Dataset(
            {"score": (("setting", "run"), np.arange(len(keys))[:, None] + [[0.0, 0.5]])}
        )
        data = data.assign_coords(key=("setting", keys))
        for grid, dynamic in (
            [("all", False)] if options else [("all", True), ("paper", False), ("eta 1", True)]
        ):
            asked = {"method": "gradient", "target": "greedy", "p": 1024}
            found = tuning.tuned_scores(data, grid, dynamic=dynamic, **asked, **options)
            noise = [{"sigma_noise": 0.01} if dynamic and 0 < k < 10 else {} for k in range(11)]
            rows = [asked | {"sigma": k / 10} | more for k, more in enumerate(noise)]
            wanted = [
                keys.tolist().index(tuning.tuned_setting(row, grid, **options).key) for row in rows
            ]
            np.testing.assert_array_equal(found, [[place, place + 0.5] for place in wanted])
    assert tuning.tuned_scores(data, **asked, memory="rltoolkit").shape == (11, 2)
    with pytest.raises(ValueError, match=r"^fields are \{.*\}; some row should have these values$"):
        tuning.tuned_scores(data, **asked)  # of the other coder
    with pytest.raises(
        ValueError, match=r"^fields are \{.*'p': 3\}; some row should have these values$"
    ):
        tuning.tuned_scores(data, **asked | {"p": 3}, memory="rltoolkit")
    told = r"^fields are \{.*\}; they should be method, target and p$"
    for wrong in ({}, {"method": "gradient", "target": "greedy"}, asked | {"sigma": 0.5}):
        with pytest.raises(ValueError, match=told):
            tuning.tuned_scores(data, **wrong)
    for name, value in (("method", "sarsa"), ("target", "soft"), ("p", 0), ("p", 1.5)):
        with pytest.raises(ValueError, match=rf"^{name} is {value!r}; it should be "):
            tuning.tuned_scores(data, **asked | {name: value})
    with pytest.raises(ValueError, match=r"^dynamic is 1; it should be "):
        tuning.tuned_scores(data, **asked, dynamic=1)
    with pytest.raises(ValueError, match=r"^grid is 'none'; it should be one of "):
        tuning.tuned_scores(data, "none", **asked)


@pytest.mark.slow
def test_every_row_and_rival_has_the_same_number_of_cells() -> None:
    plan = load_experiment("control-search")
    assert all(len(list(setting.cells())) == 13 for setting in plan.settings)
    counts: dict[tuple, set] = {}
    for setting in plan.settings:
        row = (setting.method, setting.target, setting.p, setting.sigma, setting.sigma_noise)
        cells = {(cell.alpha, cell.eta) for cell in setting.cells()}
        assert not cells & counts.setdefault(row, set())
        counts[row] |= cells
    assert {len(cells) for row, cells in counts.items() if row[0] != "semi-gradient"} == {78}
    for target, p in ((target, p) for target in tuning.TARGETS for p in TABLE_SIZES):
        assert len(counts["semi-gradient", target, p, 0.0, 0.0]) == 78
    assert {len(counts["semi-gradient", "epsilon-greedy", p, 1.0, 0.0]) for p in TABLE_SIZES} == {
        78
    }
    assert set(ALPHAS) < set(tuning.ALPHAS)
    assert set(ETAS) < set(tuning.ETAS)


@pytest.mark.parametrize("step", [40, pytest.param(1, marks=pytest.mark.slow)])
def test_the_rule_takes_the_smallest_mean_among_the_cells_it_may_take(monkeypatch, step) -> None:
    """On all rows, or on one in forty, among which every method is."""
    rows = list(tuning.rows())[::step]
    assert {row["method"] for row in rows} == {"gradient", "corrected", "semi-gradient"}
    monkeypatch.setattr(tuning, "rows", lambda: iter(rows))
    plans = [load_experiment(name) for name in ("control-search", "control-wide")]
    rng = np.random.default_rng(3)
    stored, means = [], {}
    for plan in plans:
        cells = len(list(plan.settings[0].cells()))
        steps = rng.integers(1000, 2000, (len(plan.settings), 2, cells))
        data = xarray.Dataset({"steps_total": (("setting", "run", "cell"), steps)})
        stored.append(
            data.assign_coords(key=("setting", [setting.key for setting in plan.settings]))
        )
        means |= dict(zip(plan.settings, steps.sum(axis=1).tolist(), strict=True))
    found = tuning.choices(*stored)
    by_row: dict[str, dict] = {}
    for setting, values in means.items():
        fields = {
            field: getattr(setting, field)
            for field in ("method", "target", "p", "sigma", "sigma_noise")
        }
        cells = by_row.setdefault(tuning.row_name(fields), {})
        for cell, value in zip(
            setting.cells(), values, strict=True
        ):  # a few cells are in both searches
            cells[cell.alpha, cell.eta] = min(value, cells.get((cell.alpha, cell.eta), value))
    assert set(found["all"]) == set(by_row) == {tuning.row_name(row) for row in rows}
    for name, scores in by_row.items():
        allowed = {
            "all": scores,
            "paper": {
                (a, e): v for (a, e), v in scores.items() if a in ALPHAS and (e in ETAS or e == 0.0)
            },
            "eta 1": {(a, e): v for (a, e), v in scores.items() if e in (1.0, 0.0)},
        }
        for grid, cells in allowed.items():
            assert cells[found[grid][name]] == min(cells.values())
