"""What experiments are made of and refuse, without their results: rows and grids, settings, runs of two states."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import xarray

from gqlib import seeds
from gqlib.control import ControlSetting
from gqlib.domains import two_state
from gqlib.experiments import REGISTRY, coders, figure2, load_experiment, mountain_car, retuning
from gqlib.learners import semi_gradient_step


def test_an_experiment_is_known_by_its_name() -> None:
    assert load_experiment("fig2") == figure2.fig2()
    with pytest.raises(
        ValueError, match=rf"^name is 'fig1'; it should be one of '{next(iter(REGISTRY))}', "
    ):
        load_experiment("fig1")


# Two states


@pytest.mark.parametrize(("fields", "told"), [
    ({"sigmas": ()}, r"^sigmas is empty; it should hold at least one number$"),
    ({"sigmas": (0.5, 1.5)}, r"^sigmas is 1\.5; it should be in \[0, 1\]$"),
    ({"sigmas": -0.5}, r"^sigmas is -0\.5"),
    ({"lam": -0.1}, r"^lam is -0\.1"),
    ({"lam": 1.1}, r"^lam is 1\.1"),
    ({"gamma": -0.1}, r"^gamma is -0\.1"),
    ({"gamma": 1.1}, r"^gamma is 1\.1"),
    ({"alpha": -0.1}, r"^alpha is -0\.1"),
    ({"steps": 0}, r"^steps is 0"),
    ({"reading": "literal"}, r"^reading is 'literal'; it should be one of "),
])  # fmt: skip
def test_a_setting_of_two_states_is_refused_by_name_and_range(
    fields: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        figure2.TwoStateSetting(**{"sigmas": 0.5} | fields)


def test_a_setting_of_two_states_keeps_numbers_as_pythons() -> None:
    one = figure2.TwoStateSetting(1, 1, np.float32(0.5), 0, steps=np.int64(100))
    assert (one.sigmas, one.lam, one.gamma, one.alpha, one.steps, one.reading) == (
        (1.0,),
        1,
        0.5,
        0,
        100,
        "continuing",
    )
    assert [type(x) for x in (*one.sigmas, one.lam, one.gamma, one.alpha, one.steps)] == [
        float
    ] * 4 + [int]
    usual = figure2.TwoStateSetting([0.0, 0.5])
    assert (usual.sigmas, usual.lam, usual.gamma, usual.alpha, usual.steps) == (
        (0.0, 0.5),
        0.99,
        0.99,
        0.01,
        1000,
    )


def test_runs_of_two_states_are_the_steps_of_equation_10() -> None:
    """Run 4 of a seed, two σ on its trajectory, kept after every fiftieth part."""
    setting = figure2.TwoStateSetting((0.2, 1.0), 0.6, 0.9, 0.05, "bootstrap", 100)
    found = figure2.two_state_runs(setting, 2, 3, first_run=3)
    domain = two_state(0.9, "bootstrap")
    path = domain.trajectory(100, seeds.generator(3, 4, seeds.TRAJECTORY))
    assert found["theta"].shape == (2, 51, 2, 2)
    for i, sigma in enumerate(setting.sigmas):
        theta, trace, kept = np.array(domain.theta0), np.zeros(2), [domain.theta0]
        for k in range(100):
            seen = path.phi[k], path.reward[k], path.phi_next[k], path.phi_next_expected[k]
            theta, trace, _ = semi_gradient_step(
                theta, trace, *seen, sigma=sigma, lam=0.6, gamma=0.9, alpha=0.05
            )
            trace = trace * (not path.ends[k])
            kept += [theta] if k % 2 else []
        np.testing.assert_allclose(found["theta"][1, :, i], kept, rtol=1e-12)
    assert not found["diverged"].any()
    assert (
        len(
            figure2.two_state_runs(figure2.TwoStateSetting(0.5, steps=10), 1, 0, first_run=0)[
                "theta"
            ][0]
        )
        == 11
    )
    wild = figure2.two_state_runs(
        figure2.TwoStateSetting((0.0, 0.5), alpha=50.0, steps=100), 2, 0, first_run=0
    )
    assert wild["diverged"].tolist() == [[True, True]] * 2
    with pytest.raises(ValueError, match=r"^setting is 3; "):
        figure2.two_state_runs(3, 1, 0, first_run=0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^runs is 1000000000; "):
        figure2.two_state_runs(setting, 10**9, 0, first_run=0)


# The car


def test_a_grid_of_control_varies_its_last_field_fastest_and_sigma_within() -> None:
    sigmas = [{"sigma": 0.0}, {"sigma": 0.5, "sigma_noise": 0.01}]
    found = mountain_car.control_grid(sigmas, alpha=(0.1, 0.2), p=(512, 1024))
    pairs = [(0.1, 512), (0.1, 1024), (0.2, 512), (0.2, 1024)]
    assert found == tuple(
        ControlSetting(alpha=alpha, p=p, **sigma) for alpha, p in pairs for sigma in sigmas
    )
    told = r"^sigmas is .*, fields .*; they should be dicts, and tuples$"
    for wrong, fields in (
        (3, {}),
        ([3], {}),
        ({"sigma": 0.0}, {}),
        (sigmas, {"p": 512}),
        (sigmas, {"p": [512]}),
    ):
        with pytest.raises(ValueError, match=told):
            mountain_car.control_grid(wrong, **fields)  # type: ignore[arg-type]


def test_an_experiment_on_the_car_has_the_papers_runs_unless_it_says_otherwise() -> None:
    settings = (ControlSetting(),)
    usual = mountain_car.control_experiment("a", "b", settings)
    assert (usual.name, usual.title, usual.settings, usual.runs, usual.seed) == (
        "a",
        "b",
        settings,
        100,
        2019,
    )
    assert (usual.function, usual.summary, usual.report, usual.runs_per_task) == (
        "control",
    ) * 3 + (10,)
    other = mountain_car.control_experiment("a", "b", settings, runs=7, report="cases")
    assert (other.runs, other.report, other.function) == (7, "cases", "control")


def test_the_totals_of_a_cell_are_those_of_gq_at_the_ends_and_at_dynamic_sigmas() -> None:
    rows = [("gradient", 1.0, 0.0, 512), ("gradient", 0.5, 0.01, 512), ("gradient", 0.5, 0.0, 512),
            ("semi-gradient", 0.0, 0.0, 512), ("gradient", 0.0, 0.0, 512), ("gradient", 0.0, 0.0, 1024)]  # fmt: skip
    data = xarray.Dataset(
        {"steps_total": (("setting", "run"), np.arange(12, dtype=np.int32).reshape(6, 2))}
    )
    names = ("method", "sigma", "sigma_noise", "p")
    coords = {
        name: ("setting", list(values))
        for name, values in zip(names, zip(*rows, strict=True), strict=True)
    }
    sigmas, totals = coders.table_totals(data.assign_coords(coords), p=512)
    assert (sigmas.tolist(), totals.tolist(), totals.dtype) == (
        [0.0, 0.5, 1.0],
        [[8, 9], [2, 3], [0, 1]],
        np.int64,
    )
    with pytest.raises(
        ValueError, match=r"^fields are \{\}; they should leave one setting for each sigma$"
    ):
        coders.table_totals(data.assign_coords(coords))


def test_a_row_of_the_second_search_has_35_cells_of_its_kind() -> None:
    for row in retuning.retuned_rows():
        grid = retuning.retuned_grid(row)
        assert (grid.method, grid.target, grid.p, grid.sigma, grid.memory) == (
            *row.values(),
            "rltoolkit",
        )
        assert len(grid.alphas) * len(grid.etas) == 35
        if row["method"] == "semi-gradient":
            wanted = tuple(float(f"{0.0005 * 80 ** (k / 34):.3g}") for k in range(35)), (0.0,)
        elif (row["target"], row["sigma"]) == ("greedy", 0.0):
            wanted = (
                (0.0001, 0.00025, 0.0005, 0.001, 0.002),
                (256.0, 64.0, 16.0, 4.0, 1.0, 0.25, 0.0625),
            )
        else:
            wanted = (0.001, 0.002, 0.005, 0.01, 0.02), tuple(4.0**k for k in range(1, -6, -1))
        assert (grid.alphas, grid.etas) == wanted
    told = "it should be one of `retuned_rows`"
    for change in ({"p": 256}, {"sigma": 0.7}):
        unknown = next(retuning.retuned_rows()) | change
        with pytest.raises(ValueError, match=rf"^row is {re.escape(repr(unknown))}; {told}$"):
            retuning.retuned_grid(unknown)
