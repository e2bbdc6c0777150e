"""Figure 3 as data: the protocol, the choices it leads to, and what the experiments are."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import xarray

from gqlib.evaluation import histories, run_prediction
from gqlib.evaluation.curves import curve_interval, late, lstd_curve, run_curves
from gqlib.evaluation.grids import GridSetting, find, significant
from gqlib.evaluation.measures import empirical_moments, lstd
from gqlib.experiments import figure3 as exp
from gqlib.experiments import figure3_rules as rules
from gqlib.experiments import load_experiment
from gqlib.learners.sigma import MEANS
from gqlib.stats.ends import BEST, BETWEEN, OPEN, WORST, verdict
from gqlib.sweeps.results import load_results
from gqlib.sweeps.setting import plain
from gqlib.sweeps.store import canonical_json

RESULTS = Path(__file__).parents[1] / "results"


@pytest.fixture(scope="module")
def search():
    return load_results(RESULTS / "fig3-search.npz")


@pytest.fixture(scope="module")
def stages(search):
    """The three stages of the search."""
    return [search, *(load_results(RESULTS / f"fig3-{name}.npz") for name in ("wide", "refine"))]


def test_places_are_the_readings_that_exist():
    assert len(list(exp.places())) == 14
    assert len(list(exp.places(void=False))) == 8
    assert ("Cart-pole, printed", "stacked") not in set(exp.places())


@pytest.mark.slow
def test_choices_follow_from_the_search_by_the_rule(stages):
    search, wide, _ = stages
    assert rules.choices(search, [wide]) == exp.coarse()
    assert rules.choices(search, stages[1:]) == exp.chosen()
    assert rules.interior(search, stages[1:]) == exp.chosen_interior()
    assert rules.kindest(search) == exp.kindest_cells()


def test_the_rule_takes_the_smallest_mean_without_divergence(stages):
    """Recomputed here setting by setting, for one place, λ and σ."""
    cells = []
    for data in stages:
        for i, fields in enumerate(json.loads(data.attrs["settings"])):
            setting = GridSetting(**fields)
            if setting.domain != "baird_star" or (
                setting.learner,
                setting.lam,
                setting.ramp_to,
            ) != ("gq", 0.9, None):
                continue
            if (
                dict(setting.options) != {"features": "classical", "reading": "expected"}
                or 0.0 not in setting.sigmas
            ):
                continue
            part, s = data.isel(setting=i), setting.sigmas.index(0.0)
            cells += [
                (float(part["mspbe"].values[s, j, k]), alpha, eta)
                for j, alpha in enumerate(setting.alphas)
                for k, eta in enumerate(setting.etas)
                if part["diverged"].values[s, j, k] == 0.0 and eta > 0.0
            ]
    assert len(cells) > 100
    assert exp.chosen()["Baird, classical | expected | gq | 0"] == min(cells)[1:]


def test_no_choice_of_gq_lies_on_an_edge_that_could_be_moved():
    """η may be at its lower end, where the limit is semi-gradient Q(σ, λ); nothing else is at an end."""
    for panel, reading, learner, way, lam in exp.wanted():
        alpha, eta = exp.coarse()[exp.choice_name(panel, reading, learner, way, lam)]
        if reading == "literal" or learner == "semi-gradient":
            continue
        alphas = (
            (*exp.ALPHAS, *exp.HIGH_ALPHAS) if "Boyan" in panel else (*exp.LOW_ALPHAS, *exp.ALPHAS)
        )
        assert alphas[0] < alpha < alphas[-1], (panel, reading, learner, way, lam)
        assert eta < exp.HIGH_ETAS[-1], (panel, reading, learner, way, lam)


def test_semi_gradient_q_takes_the_smallest_step_where_it_would_diverge():
    """On the classical star its best is not to move: the α at the edge that cannot be moved away."""
    at_edge = {
        (panel, reading)
        for panel, reading, learner, way, lam in exp.wanted()
        if exp.coarse()[exp.choice_name(panel, reading, learner, way, lam)][0] == exp.LOW_ALPHAS[0]
    }
    assert at_edge == {("Baird, classical", "expected")}


def searched(setting, best):
    """A search result with one setting, in which one cell is best."""
    scores = np.ones(setting.shape)
    scores[best] = 0.5
    dims = ("setting", "sigma", "alpha", "eta")
    variables = {"mspbe": (dims, scores[None]), "diverged": (dims, np.zeros((1, *setting.shape)))}
    return xarray.Dataset(
        variables,
        coords={"key": ("setting", [setting.key])},
        attrs={"settings": canonical_json([plain(setting)])},
    )


class TestJoined:
    place = ("Boyan, printed", "expected", 0.5)
    first = exp.search_setting(*place)
    more = dataclasses.replace(first, sigmas=(0.25,), alphas=(3.0, 10.0), etas=(0.0, 1.0))

    def test_a_cell_of_any_stage_can_be_the_best(self):
        part = rules.joined(
            [searched(self.first, (0, 2, 3)), searched(self.more, (0, 1, 1))], *self.place
        )
        assert rules.best_cell(part, 0.0) == (exp.ALPHAS[2], exp.ETAS[3])
        assert rules.best_cell(part, 0.25) == (10.0, 1.0)

    def test_eta_zero_is_for_comparison_only(self):
        part = rules.joined(
            [searched(self.first, (0, 2, 3)), searched(self.more, (0, 1, 0))], *self.place
        )
        assert part["mspbe"].sel(sigma=0.25, alpha=10.0, eta=0.0) == 0.5
        assert rules.best_cell(part, 0.25) == (exp.ALPHAS[0], exp.ETAS[0])

    def test_cells_that_one_sigma_lacks_are_not_common(self):
        part = rules.joined(
            [searched(self.first, (0, 2, 3)), searched(self.more, (0, 1, 1))], *self.place
        )
        assert rules.common_cell(part) == (exp.ALPHAS[2], exp.ETAS[3])

    def test_other_places_learners_and_ramps_are_left_out(self):
        ramp = exp._ramp("Boyan, printed", "expected", (0.1,), (1.0,))
        data = [searched(self.first, (0, 2, 3)), searched(ramp, (0, 0, 0))]
        assert rules.joined(data, "Boyan, printed", "expected", 0.9) is None
        assert rules.joined(data, *self.place, "semi-gradient") is None
        assert rules.joined(data, "Boyan, printed", "expected", 0.9, ramp=True)[
            "sigma"
        ].values.tolist() == [MEANS[0]]

    def test_unknown_sigmas_and_cells_that_all_diverged_are_refused(self):
        data = searched(self.first, (0, 2, 3))
        with pytest.raises(ValueError, match=r"sigma is 0\.3"):
            rules.best_cell(rules.joined([data], *self.place), 0.3)
        with pytest.raises(ValueError, match=r"^in every cell some run diverged"):
            rules.best_cell(rules.joined([data.assign(diverged=data["mspbe"])], *self.place), 0.5)

    def test_what_is_no_search_or_lacks_a_place_is_refused_by_name(self):
        with pytest.raises(ValueError, match=r"^datasets is 3; it should be "):
            rules.joined(3, *self.place)
        panel, reading = next(exp.places(void=False))
        told = (
            rf"^dataset is <xarray\.Dataset> .*; it should hold a search at {panel!r}, {reading!r}$"
        )
        with pytest.raises(ValueError, match=told):
            rules.interior(searched(self.first, (0, 2, 3)))


def test_a_finer_grid_reaches_its_neighbours():
    for setting in exp.refine().settings:
        steps = np.diff(np.log10(setting.alphas))
        np.testing.assert_allclose(steps, 1 / 8, atol=0.003)
        assert setting.etas[0] == 0.0
    levels = [exp.ETAS[0] / 16, *exp.ETAS, *exp.HIGH_ETAS, exp.HIGH_ETAS[-1] * 4]
    for low, middle, high in zip(levels, levels[1:], levels[2:], strict=False):
        half = (low * middle) ** 0.5, middle, (middle * high) ** 0.5
        assert exp._between(middle) == pytest.approx(half)


def test_the_kindest_cell_is_the_one_furthest_ahead_that_is_not_noise(search):
    """Recomputed here cell by cell, for one place and measure."""
    best = (0.0,)
    for lam in exp.LAMBDAS:
        part = find(search, exp.search_setting("Cart-pole, scaled", "expected", lam))
        for j, k in np.ndindex(9, 6):
            mean, half = part["mspbe"].values[:, j, k], part["mspbe_half"].values[:, j, k]
            i = min((1, 2, 3), key=lambda row: mean[row])
            if (
                part["diverged"].values[:, j, k].any()
                or (half[[0, i, 4]] >= mean[[0, i, 4]] / 5).any()
            ):
                continue
            best = max(
                best,
                (min(mean[0], mean[4]) / mean[i], lam, exp.ALPHAS[j], exp.ETAS[k], exp.SIGMAS[i]),
            )
    assert exp.kindest_cells()["Cart-pole, scaled | expected | mspbe"] == best[1:]


def test_manifest_is_what_would_be_run():
    committed = json.loads((RESULTS / "fig3-manifest.json").read_text(encoding="utf-8"))
    assert committed == json.loads(json.dumps(exp.manifest()))
    assert committed["curves"]["runs"] >= 200


def test_a_family_is_the_papers_range_between_fixed_ends():
    setting = exp.family_setting("Boyan, printed", "expected", "episode")
    assert len(setting.sigmas) == 51
    assert setting.cell(0, 0, 0).sigma_noise == setting.cell(50, 0, 0).sigma_noise == 0.0
    assert {setting.cell(i, 0, 0).sigma_noise for i in range(1, 50)} == {0.01}


def test_literal_readings_are_void_in_the_search(search):
    for panel in exp.PANELS:
        part = find(search, exp.search_setting(panel, "literal", 0.5))
        assert (part["diverged"].values == part["diverged"].values[:1]).all()


def test_every_sigma_has_its_own_step_sizes_at_every_lambda():
    one = exp.own_setting("Boyan, printed", "expected", 0.25, 0.5, "semi-gradient")
    assert (one.alphas[0], one.etas[0]) == exp.chosen()[
        "Boyan, printed | expected | semi-gradient | 0.25 | λ = 0.5"
    ]
    assert (one.learner, one.lam, one.sigmas, one.noise) == ("semi-gradient", 0.5, (0.25,), 0.01)
    with pytest.raises(ValueError, match="should have been chosen"):
        exp.own_setting("Boyan, printed", "expected", 0.3, 0.5)


def test_unknown_settings_are_refused(search):
    with pytest.raises(ValueError, match="setting is GridSetting"):
        find(search, exp.search_setting("Boyan, printed", "expected", 0.123))


def test_curves_that_share_walks_are_the_same_to_the_bit():
    settings = exp.curves("Boyan, printed", "expected") | exp.baselines(
        "Boyan, printed", "expected"
    )
    for label, result in run_curves(settings, runs=2, seed=3).items():
        alone = run_prediction(settings[label], 2, 3)
        np.testing.assert_array_equal(result.theta, alone.theta)
        np.testing.assert_array_equal(result.diverged_at, alone.diverged_at)


class TestVerdicts:
    low, middle, high = (
        level + np.random.default_rng(level).normal(size=60) for level in (0, 3, 6)
    )

    def test_by_paired_intervals(self):
        assert verdict(self.low, self.middle, self.high) == BEST
        assert verdict(self.middle, self.high, self.low) == BETWEEN
        assert verdict(self.high, self.middle, self.low) == WORST
        assert verdict(self.low, self.low, self.high) == OPEN

    def test_divergence_is_worse_than_anything(self):
        lost = np.where(np.arange(60) < 3, np.inf, self.low)
        assert verdict(lost, self.middle, self.high) == WORST
        assert verdict(self.high, lost, self.middle) == BETWEEN


def test_lstd_curve_uses_the_data_so_far():
    setting = dataclasses.replace(
        exp.curve_setting("Boyan, end at zero", "expected", mean=0.0), steps=200, kept=10
    )
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
    sweep = dataclasses.replace(
        load_experiment("fig3-curves"), settings=tuple(settings.values())[:2], runs=3
    )
    run_sweep(sweep, Store(tmp_path))
    kept, direct = collect(sweep, Store(tmp_path)), run_curves(settings, 3, sweep.seed)
    for i, label in enumerate(list(settings)[:2]):
        mspbe, error = direct[label].mspbe(), direct[label].error()
        np.testing.assert_array_equal(kept["mspbe_late"].values[i], significant(late(mspbe)))
        np.testing.assert_array_equal(kept["error_late"].values[i], significant(late(error)))
        np.testing.assert_allclose(
            kept["mspbe_sum"].values[i], np.nansum(mspbe, axis=0), rtol=1e-14
        )
        np.testing.assert_allclose(
            kept["error_sum_of_squares"].values[i], np.nansum(error**2, axis=0), rtol=1e-14
        )
        mean, half = curve_interval(kept.isel(setting=i))
        np.testing.assert_allclose(mean, mspbe.mean(axis=0), rtol=1e-12)
        want = (
            4.302652729 * mspbe.std(axis=0, ddof=1) / np.sqrt(3)
        )  # Student's t, two degrees of freedom
        np.testing.assert_allclose(half, want, rtol=1e-6, atol=1e-9 * mspbe.max())
    assert {setting.key for setting in exp.shown().values()} == {
        s.key for s in exp.fig3_curves().settings
    }


def test_a_choice_is_named_by_what_there_is():
    place = "Boyan, printed", "expected"
    assert exp.choice_name(*place, "gq", "common") == "Boyan, printed | expected | gq | common"
    assert exp.choice_name(*place, "gtd2", 0.0, 0.0) == "Boyan, printed | expected | gtd2 | 0"
    assert exp.choice_name(*place, "gtd2", 0.5).endswith("| gtd2 | 0.5 | λ = 0.9")
    assert exp.choice_name(*place, "gq", 1.0, 0.0).endswith("| gq | 1 | λ = 0")


def test_a_curve_is_at_the_step_sizes_chosen_for_its_sigma():
    place = "Boyan, printed", "expected"
    settings, inner = exp.curves(*place), exp.chosen_interior()["Boyan, printed | expected"]
    assert list(settings) == [
        "σ = 0",
        "σ = 1",
        "dynamic σ, m = 0.5",
        "dynamic σ, best m",
        "dynamic σ, ramp",
    ]
    assert [one.sigma for one in settings.values()] == [0.0, 1.0, 0.5, inner, MEANS[0]]
    assert [one.sigma_noise for one in settings.values()] == [
        0.0,
        0.0,
        exp.NOISE,
        exp.NOISE,
        exp.NOISE,
    ]
    assert [one.sigma_ramp_to for one in settings.values()] == [None] * 4 + [MEANS[-1]]
    for one, way in zip(settings.values(), (0.0, 1.0, 0.5, inner, "ramp"), strict=True):
        assert (one.learner, one.lam) == ("gq", 0.9)
        assert (one.alpha, one.eta) == exp.chosen()[exp.choice_name(*place, "gq", way)]
    gtd2 = exp.curve_setting(*place, "gtd2")
    assert (gtd2.lam, gtd2.sigma) == (0.0, 0.0)
