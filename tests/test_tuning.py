"""The search for step sizes on the car: cells are ordinary settings, and the rule picks what it says."""

import dataclasses

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
    assert [(cell.alpha, cell.eta) for cell in cells] == [(0.002, 1.0), (0.002, 0.25), (0.01, 1.0), (0.01, 0.25)]
    for k, cell in enumerate(cells):
        direct = run_control(cell, 2, 5, first_run=3)
        np.testing.assert_array_equal(found["steps_total"][:, k], direct.steps.sum(axis=1))
        np.testing.assert_array_equal(found["diverged"][:, k], direct.diverged)
    kept = control_grid_summary({"steps_total": found["steps_total"], "diverged": np.array([[True] * 4, [False] * 4])})
    assert kept["diverged"][1].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"alphas": ()}, "alphas has shape"), ({"etas": (-1.0,)}, "eta is -1"), ({"p": 0}, "p is 0"),
     ({"method": "corrected", "target": "epsilon-greedy"}, "method is 'corrected'")],
)  # fmt: skip
def test_rows_refuse_what_no_cell_could_be(changes, message) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SHORT, **changes)


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
    assert {len(counts["semi-gradient", "epsilon-greedy", p, 1.0, 0.0]) for p in TABLE_SIZES} == {78}
    assert set(ALPHAS) < set(tuning.ALPHAS)
    assert set(ETAS) < set(tuning.ETAS)


@pytest.mark.slow
def test_the_rule_takes_the_smallest_mean_among_the_cells_it_may_take() -> None:
    plans = [load_experiment(name) for name in ("control-search", "control-wide")]
    rng = np.random.default_rng(3)
    stored, means = [], {}
    for plan in plans:
        cells = len(list(plan.settings[0].cells()))
        steps = rng.integers(1000, 2000, (len(plan.settings), 2, cells))
        data = xarray.Dataset({"steps_total": (("setting", "run", "cell"), steps)})
        stored.append(data.assign_coords(key=("setting", [setting.key for setting in plan.settings])))
        means |= dict(zip(plan.settings, steps.sum(axis=1).tolist(), strict=True))
    found = tuning.choices(*stored)
    by_row: dict[str, dict] = {}
    for setting, values in means.items():
        fields = {field: getattr(setting, field) for field in ("method", "target", "p", "sigma", "sigma_noise")}
        cells = by_row.setdefault(tuning.row_name(fields), {})
        for cell, value in zip(setting.cells(), values, strict=True):  # a few cells are in both searches
            cells[cell.alpha, cell.eta] = min(value, cells.get((cell.alpha, cell.eta), value))
    assert set(by_row) == {tuning.row_name(row) for row in tuning.rows()}
    for name, scores in by_row.items():
        allowed = {
            "all": scores,
            "paper": {(a, e): v for (a, e), v in scores.items() if a in ALPHAS and (e in ETAS or e == 0.0)},
            "eta 1": {(a, e): v for (a, e), v in scores.items() if e in (1.0, 0.0)},
        }
        for grid, cells in allowed.items():
            assert cells[found[grid][name]] == min(cells.values())
