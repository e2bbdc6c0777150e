"""Figure 3 as data: the protocol, the choices it leads to, and the committed results."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from gqlib.evaluation import histories, run_prediction
from gqlib.evaluation.curves import late, lstd_curve, run_curves
from gqlib.evaluation.grids import find
from gqlib.evaluation.measures import empirical_moments, lstd
from gqlib.experiments import figure3 as exp
from gqlib.experiments import load_experiment
from gqlib.stats.ends import BEST, BETWEEN, OPEN, WORST, verdict
from gqlib.sweeps.results import load_results, recompute

RESULTS = Path(__file__).parents[1] / "results"


@pytest.fixture(scope="module")
def search():
    return load_results(RESULTS / "fig3-search.npz")


@pytest.fixture(scope="module")
def families():
    return load_results(RESULTS / "fig3.npz")


def test_places_are_the_readings_that_exist():
    assert len(list(exp.places())) == 14
    assert len(list(exp.places(void=False))) == 8
    assert ("Cart-pole, printed", "stacked") not in set(exp.places())


def test_search_and_results_use_different_seeds_and_two_hundred_runs(search, families):
    assert (search.attrs["seed"], families.attrs["seed"]) == (exp.SEARCH_SEED, exp.RESULT_SEED)
    assert exp.SEARCH_SEED != exp.RESULT_SEED
    assert search.attrs["runs"] == families.attrs["runs"] == 200
    assert search.sizes["run"] == families.sizes["run"] == 200


@pytest.mark.parametrize("name", ["fig3-search", "fig3"])
def test_committed_results_are_those_of_the_experiments(name, search, families):
    data = search if name == "fig3-search" else families
    experiment = load_experiment(name)
    assert list(data["key"].values) == [setting.key for setting in experiment.settings]
    assert data.attrs["version"] == experiment.version


def test_choices_follow_from_the_search_by_the_rule(search):
    assert exp.choices(search) == exp.chosen()
    assert exp.interior(search) == exp.chosen_interior()


def test_the_rule_takes_the_smallest_mean_without_divergence(search):
    """Recomputed here cell by cell, for one place."""
    part = find(search, exp.search_setting("Baird, classical", "expected", 0.9))
    best = min(
        (float(part["mspbe"].values[0, j, k]), exp.ALPHAS[j], exp.ETAS[k])
        for j in range(9)
        for k in range(6)
        if part["diverged"].values[0, j, k] == 0.0
    )
    assert exp.chosen()["Baird, classical | expected | gq | 0"] == best[1:]


def test_manifest_is_what_would_be_run():
    committed = json.loads((RESULTS / "fig3-manifest.json").read_text(encoding="utf-8"))
    assert committed == json.loads(json.dumps(exp.manifest()))
    assert committed["curves"]["runs"] >= 200


@pytest.mark.parametrize(("name", "position"), [("fig3", 0), ("fig3", 10), ("fig3-search", 5)])
def test_stored_runs_come_out_again_to_the_bit(name, position, search, families):
    data = search if name == "fig3-search" else families
    again = recompute(data, position, 3, 2)
    np.testing.assert_array_equal(again["digest"][1], data["digest"].values[position, 3:5])


def test_a_family_is_the_papers_range_between_fixed_ends():
    setting = exp.family_setting("Boyan, printed", "expected", "episode")
    assert len(setting.sigmas) == 51
    assert setting.cell(0, 0, 0).sigma_noise == setting.cell(50, 0, 0).sigma_noise == 0.0
    assert {setting.cell(i, 0, 0).sigma_noise for i in range(1, 50)} == {0.01}


@pytest.mark.parametrize("panel", ["Boyan, printed", "Boyan, end at zero", "Cart-pole, printed", "Cart-pole, scaled"])
def test_no_interior_sigma_beats_both_ends_away_from_the_star(panel, families):
    for drawn in exp.PANELS[panel].drawn:
        part = find(families, exp.family_setting(panel, "expected", drawn))
        low, high = ((part["mspbe"] + side * part["mspbe_half"]).values.ravel() for side in (-1, 1))
        assert not (high[1:-1] < min(low[0], low[-1])).any()


def test_literal_readings_are_void_in_the_search(search):
    for panel in exp.PANELS:
        part = find(search, exp.search_setting(panel, "literal", 0.5))
        assert (part["diverged"].values == part["diverged"].values[:1]).all()


def test_dynamic_sigma_is_never_better_than_both_ends_on_the_star():
    """The finding of the chapter, on its own seeds and fewer runs."""
    for reading in ("expected", "stacked"):
        results = run_curves(exp.curves("Baird, classical", reading), runs=40, seed=77)
        scores = [late(result.mspbe()) for result in results.values()]
        assert verdict(scores[2], scores[0], scores[1]) == BETWEEN
        assert scores[1].mean() < scores[2].mean() < scores[0].mean()


def test_unknown_settings_are_refused(search):
    with pytest.raises(ValueError, match="setting is GridSetting"):
        find(search, exp.search_setting("Boyan, printed", "expected", 0.123))


def test_curves_that_share_walks_are_the_same_to_the_bit():
    settings = exp.curves("Boyan, printed", "expected") | exp.baselines("Boyan, printed", "expected")
    for label, result in run_curves(settings, runs=2, seed=3).items():
        alone = run_prediction(settings[label], 2, 3)
        np.testing.assert_array_equal(result.theta, alone.theta)
        np.testing.assert_array_equal(result.diverged_at, alone.diverged_at)


class TestVerdicts:
    low, middle, high = (level + np.random.default_rng(level).normal(size=60) for level in (0, 3, 6))

    def test_by_paired_intervals(self):
        assert verdict(self.low, self.middle, self.high) == BEST
        assert verdict(self.middle, self.high, self.low) == BETWEEN
        assert verdict(self.high, self.middle, self.low) == WORST
        assert verdict(self.low, self.low, self.high) == OPEN

    def test_divergence_is_worse_than_anything(self):
        lost = np.where(np.arange(60) < 3, np.inf, self.low)
        assert verdict(lost, self.middle, self.high) == WORST
        assert verdict(self.high, lost, self.middle) == BETWEEN

    def test_late_is_the_second_half_and_infinite_after_divergence(self):
        values = np.array([[9.0, 9.0, 9.0, 1.0, 3.0], [9.0, 9.0, 9.0, 1.0, np.nan]])
        np.testing.assert_array_equal(late(values), [2.0, np.inf])
        with pytest.raises(ValueError, match="values has shape"):
            late(values[0])


def test_lstd_curve_uses_the_data_so_far():
    setting = dataclasses.replace(exp.curve_setting("Boyan, end at zero", "expected", mean=0.0), steps=200, kept=10)
    curve = lstd_curve(setting, runs=2, seed=5, points=4)
    path, sigma = next(histories(setting, 1, 5))
    whole = lstd(empirical_moments(path, sigma, setting.lam, 0.99))
    assert curve.shape == (2, 4, 4)
    np.testing.assert_allclose(curve[0, -1], whole, rtol=1e-12)
    assert (curve[0, 0] != curve[0, -1]).any()


def test_curves_as_an_experiment_are_those_that_the_chapter_runs(tmp_path):
    from gqlib.sweeps.results import collect
    from gqlib.sweeps.store import Store
    from gqlib.sweeps.sweep import run_sweep

    settings = exp.curves("Baird, classical", "stacked")
    sweep = dataclasses.replace(load_experiment("fig3-curves"), settings=tuple(settings.values())[:2], runs=3)
    run_sweep(sweep, Store(tmp_path))
    kept, direct = collect(sweep, Store(tmp_path)), run_curves(settings, 3, sweep.seed)
    for i, label in enumerate(list(settings)[:2]):
        mspbe, error = direct[label].mspbe(), direct[label].error()
        np.testing.assert_array_equal(kept["mspbe_late"].values[i], late(mspbe))
        np.testing.assert_array_equal(kept["error_late"].values[i], late(error))
        np.testing.assert_allclose(kept["mspbe_sum"].values[i], np.nansum(mspbe, axis=0), rtol=1e-14)
        np.testing.assert_allclose(kept["error_sum_of_squares"].values[i], np.nansum(error**2, axis=0), rtol=1e-14)
    assert {setting.key for setting in exp.shown().values()} == {s.key for s in exp.fig3_curves().settings}
