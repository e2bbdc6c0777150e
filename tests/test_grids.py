"""Grids of settings on shared trajectories."""

import dataclasses
import json

import numpy as np
import pytest
import xarray

from gqlib.evaluation import PredictionSetting, run_prediction
from gqlib.evaluation.grids import (
    GridSetting,
    cell_summary,
    find,
    grid_runs,
    grid_summary,
    score_summary,
    significant,
)
from gqlib.evaluation.measures import mixture_value
from gqlib.sweeps.results import collect, load_results, recompute, save_results
from gqlib.sweeps.setting import plain
from gqlib.sweeps.store import Store, canonical_json
from gqlib.sweeps.sweep import Experiment, run_sweep

GRID = GridSetting(
    "baird_star",
    sigmas=(0.0, 0.5, 1.0),
    alphas=(0.003, 0.3),
    etas=(0.5, 4.0),
    options=(("features", "classical"), ("reading", "stacked")),
    lam=0.9,
    noise=0.01,
    steps=200,
)


def test_a_cell_is_what_a_single_run_gives():
    found = grid_runs(GRID, 2, seed=3, first_run=4)
    for index in [(0, 0, 0), (1, 0, 1), (2, 1, 0)]:
        cell = GRID.cell(*index)
        result = run_prediction(cell, 2, seed=3, first_run=4)
        late = slice(-10, None)
        goal = mixture_value(cell.make_domain().problem, cell.sigma)
        want = {
            "mspbe": result.mspbe()[:, late].mean(axis=1),
            "error": result.error()[:, late].mean(axis=1),
            "mixture": result.error(goal)[:, late].mean(axis=1),
        }
        for name, values in want.items():
            np.testing.assert_allclose(found[name][(slice(None), *index)], values, rtol=1e-10)


def test_only_interior_sigmas_are_noisy():
    assert [GRID.cell(i, 0, 0).sigma_noise for i in range(3)] == [0.0, 0.01, 0.0]


@pytest.mark.parametrize(
    ("learner", "reading"), [("semi-gradient", "expected"), ("tdc", "stacked"), ("gq", "literal")]
)
def test_what_does_not_matter_is_repeated(learner, reading):
    grid = dataclasses.replace(
        GRID, learner=learner, options=(("reading", reading),), alphas=(0.001, 0.003)
    )
    found = grid_runs(grid, 1, seed=0, first_run=0)["mspbe"][0]
    if learner == "semi-gradient":
        assert (found[:, :, 0] == found[:, :, 1]).all()
        assert (found[0] != found[2]).any()
    else:
        assert (found[0] == found[2]).all()
        assert (found[:, :, 0] != found[:, :, 1]).any()


def test_the_literal_reading_may_be_computed_once():
    """What the grid leaves out, σ in the literal reading, is void up to rounding."""
    grid = dataclasses.replace(GRID, options=(("reading", "literal"),))
    first, *others = (run_prediction(grid.cell(i, 0, 0), 2, seed=1).theta for i in range(3))
    for other in others:
        np.testing.assert_allclose(other, first, rtol=0, atol=1e-13 * np.abs(first).max())


@pytest.mark.parametrize(
    ("learner", "one"),
    [("gq", {"sigmas": (0.0,)}), ("semi-gradient", {"sigmas": (0.0,), "etas": (0.5,)})],
)
def test_what_does_not_matter_is_learnt_once_and_counts_once_in_the_digest(learner, one):
    """A void σ and the missing η of a semi-gradient learner: the digest adds up the weights of a single one."""
    grid = dataclasses.replace(
        GRID, learner=learner, options=(("reading", "literal"),), alphas=(0.003,), steps=100
    )
    many, single = (
        grid_runs(each, 2, 1, first_run=0) for each in (grid, dataclasses.replace(grid, **one))
    )
    assert many["digest"].tolist() == single["digest"].tolist()


def test_divergence_is_counted_and_makes_a_mean_infinite():
    grid = dataclasses.replace(GRID, learner="semi-gradient", alphas=(0.003, 1.0), steps=1000)
    arrays = grid_runs(grid, 6, seed=0, first_run=0)
    summary = {name: value for name, (_, value) in grid_summary(arrays).items()}
    assert summary["diverged"][0, 1, 0] == 1.0
    assert np.isinf(summary["mspbe"][0, 1, 0])
    assert np.isinf(summary["mspbe_half"][0, 1, 0])
    assert np.isinf(summary["error_median"][0, 1, 0])
    assert summary["diverged"][2, 0, 0] == 0.0
    assert np.isfinite(summary["mspbe"][2, 0, 0])


def test_a_ramp_is_measured_by_the_sigma_of_each_late_step():
    ramp = dataclasses.replace(GRID, sigmas=(0.02,), ramp_to=0.98)
    found = grid_runs(ramp, 2, seed=3, first_run=4)
    for j, k in [(0, 0), (0, 1)]:
        result = run_prediction(ramp.cell(0, j, k), 2, seed=3, first_run=4)
        assert len(set(result.sigma_means[-10:].tolist())) == 10
        np.testing.assert_allclose(
            found["mspbe"][:, 0, j, k], result.mspbe()[:, -10:].mean(axis=1), rtol=1e-10
        )
        np.testing.assert_allclose(
            found["error"][:, 0, j, k], result.error()[:, -10:].mean(axis=1), rtol=1e-10
        )
        goals = [
            mixture_value(ramp.cell(0, j, k).make_domain().problem, s)
            for s in result.sigma_means[-10:]
        ]
        mixture = np.stack([result.error(goal)[:, i - 10] for i, goal in enumerate(goals)], axis=1)
        np.testing.assert_allclose(found["mixture"][:, 0, j, k], mixture.mean(axis=1), rtol=1e-10)


def test_a_field_that_came_later_changes_no_key_unless_it_is_used():
    """The keys of committed results: `ramp_to` was added after them."""
    assert "ramp_to" not in plain(GRID)
    ramp = dataclasses.replace(GRID, ramp_to=0.98)
    assert plain(ramp)["ramp_to"] == 0.98
    assert ramp.key != GRID.key
    assert GridSetting(**json.loads(canonical_json(plain(ramp)))) == ramp


def test_scores_are_kept_for_every_run_to_sixteen_bits():
    arrays = grid_runs(
        dataclasses.replace(GRID, learner="semi-gradient", alphas=(0.003, 1.0)),
        3,
        seed=0,
        first_run=0,
    )
    kept = score_summary(arrays)
    assert np.isnan(arrays["mspbe"]).any()
    for name in ("mspbe", "error"):
        dims, values = kept[name]
        assert dims == ("run", "sigma", "alpha", "eta")
        assert values.dtype == np.float32
        np.testing.assert_array_equal(np.isinf(values), np.isnan(arrays[name]))
        finite = np.isfinite(values)
        np.testing.assert_allclose(values[finite], arrays[name][finite], rtol=2.0**-16)
    assert "mixture" not in kept


def test_sixteen_bits_are_three_bytes_and_no_more_than_half_a_step_away():
    values = np.random.default_rng(0).lognormal(0.0, 20.0, 1000)
    rounded = significant(values)
    assert (np.abs(rounded / values - 1) <= 2.0**-16).all()
    assert (np.abs(rounded / values - 1) > 2.0**-18).any()
    assert (rounded.view(np.uint32) & 0xFF == 0).all()  # the last byte holds nothing
    np.testing.assert_array_equal(significant(rounded), rounded)
    assert significant([0.0, np.inf]).tolist() == [0.0, np.inf]
    with pytest.raises(ValueError, match="bits is 25"):
        significant(values, bits=25)


def test_rounded_scores_are_the_same_on_a_machine_that_rounds_otherwise():
    values = np.random.default_rng(1).lognormal(size=100_000)
    assert (significant(values) == significant(values * (1 + 1e-14))).all()


def test_digests_of_blocks_add_up_those_of_runs():
    runs = np.ones((120, 1, 1, 1))
    digest = np.random.default_rng(0).integers(2**64, size=120, dtype=np.uint64)
    arrays = dict.fromkeys(("mspbe", "error", "mixture"), runs) | {"digest": digest}
    want = [sum(map(int, digest[k : k + 50])) % 2**64 for k in (0, 50, 100)]
    for summary in (score_summary, cell_summary):
        assert summary(arrays)["digest"][1].tolist() == want
    assert cell_summary(arrays)["mspbe"][1].item() == 1.0


def test_summary_is_a_students_interval():
    values = np.array([1.0, 2.0, 4.0, 7.0]).reshape(4, 1, 1, 1)
    arrays = dict.fromkeys(("mspbe", "error", "mixture"), values) | {
        "digest": np.arange(4, dtype=np.uint64)
    }
    summary = grid_summary(arrays)
    assert summary["mspbe"][1].item() == 3.5
    assert summary["mspbe_half"][1].item() == pytest.approx(
        3.182446305 * np.std([1, 2, 4, 7], ddof=1) / 2, rel=1e-8
    )
    assert summary["error_median"][1].item() == 3.0


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_workers(tmp_path):
    experiment = Experiment(
        name="small", title="", function="grid", settings=(GRID,), runs=6, seed=1, version="1",
        runs_per_task=2, summary="grid",
    )  # fmt: skip
    saved = []
    for workers in (1, 2):
        store = Store(tmp_path / str(workers))
        run_sweep(experiment, store, workers=workers)
        saved.append(save_results(tmp_path / f"{workers}.npz", collect(experiment, store)))
    assert saved[0].read_bytes() == saved[1].read_bytes()
    again = recompute(load_results(saved[0]), 0, 0, 6)
    np.testing.assert_array_equal(again["digest"][1], load_results(saved[0])["digest"].values[0])


def test_setting_survives_json():
    again = GridSetting(**json.loads(canonical_json(dataclasses.asdict(GRID))))
    assert again == GRID
    assert again.key == GRID.key
    assert isinstance(again.cell(0, 0, 0), PredictionSetting)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"sigmas": ()}, "sigmas has shape"),
        ({"learner": "dqn"}, "learner is 'dqn'"),
        ({"kept": 5}, "kept is 5"),
        ({"alphas": (-1.0,)}, "alpha is -1"),
        ({"noise": -0.1, "sigmas": (0.5,)}, "noise is -0.1"),
    ],
)
def test_refusals_name_the_argument(changes, named):
    with pytest.raises(ValueError, match=named):
        dataclasses.replace(GRID, **changes)


def test_a_setting_that_a_dataset_lacks_is_refused_whatever_the_dataset_is_called():
    one, two = (GridSetting("boyan_chain", (0.0,), (alpha,), (1.0,)) for alpha in (0.1, 0.2))
    data = xarray.Dataset({"mspbe": ("setting", [3.0])}, {"key": ("setting", [one.key])})
    assert find(data, one)["mspbe"] == 3.0
    with pytest.raises(
        ValueError, match=r"^setting is GridSetting\(.*; it should be one of those of the dataset"
    ):
        find(data, two)


def test_baselines_are_measured_where_they_aim():
    grid = dataclasses.replace(GRID, learner="tdc", options=(("reading", "literal"),))
    with pytest.raises(ValueError, match="learner is 'tdc'"):
        grid_runs(grid, 1, 0, first_run=0)
