"""Where it stands today: our runs against a public script, the maps against what is computed now, the choice of λ."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from gqlib import seeds
from gqlib.domains import collision, collision_features, five_state_walk, random_mdp
from gqlib.domains.boyan_chain import triangles
from gqlib.domains.machine import CREW, PLAN, WEAR, machine
from gqlib.domains.random_problems import random_policy
from gqlib.domains.two_state import FEATURES
from gqlib.experiments import load_experiment, today
from gqlib.experiments.today import (
    COLLISION_METHODS,
    DRAWN,
    ETAS,
    FIGURE1,
    SCRIPT_AREAS,
    SEARCH_RUNS,
    SEED,
    MapSetting,
    RunSetting,
    map_point,
    method_of,
    method_runs,
    problem,
    script_matrices,
)
from gqlib.methods import METHODS, Task, eta_star, fixed_point, limits, means, run_method
from gqlib.methods.limits import error_after
from gqlib.stats import paired_difference
from gqlib.sweeps.results import load_results

RESULTS = str(Path(__file__).parents[1] / "results" / "{}.npz")
TEXTBOOK = "GQ(½, λ) textbook"
# The script's GTD2 is that of 2009, which weighs φφᵀω by ρ: the same mean, more noise, and it shows where ρ is 7. The
# chapter runs that form too, and finds the script's number (cell-today-gtd2).
OTHER_FORM = ("star", "GTD2(λ)")


def figure1():
    data = load_results(RESULTS.format("today-figure1"))
    found = {}
    for k in range(data.sizes["setting"]):
        row = data.isel(setting=k)
        where, name = str(row["problem"].values), str(row["method"].values)
        found[where, name] = (
            row["script" if where == "Boyan, script" else "rmspbe"].values[:, 0].astype(float)
        )
    return found


class TestFigure1:
    def test_step_sizes_are_given_for_six_methods_on_five_problems(self):
        assert set(SCRIPT_AREAS) == {
            (where, name) for where, (_, sizes) in FIGURE1.items() for name in sizes
        }
        assert len(SCRIPT_AREAS) == 30

    @pytest.mark.parametrize(("where", "name"), SCRIPT_AREAS)
    def test_areas_are_those_of_the_public_script(self, where, name):
        """Within four standard errors of the difference of two independent means."""
        runs, (mean, error) = figure1()[where, name], SCRIPT_AREAS[where, name]
        distance = abs(runs.mean() - mean) / np.hypot(runs.std(ddof=1) / np.sqrt(len(runs)), error)
        assert (distance > 4) == ((where, name) == OTHER_FORM)

    @pytest.mark.parametrize("where", FIGURE1)
    def test_the_order_of_methods_is_theirs_wherever_they_differ_clearly(self, where):
        found, compared = figure1(), 0
        names = [name for place, name in SCRIPT_AREAS if place == where]
        for one in names:
            for other in names:
                (low, e), (high, f) = SCRIPT_AREAS[where, one], SCRIPT_AREAS[where, other]
                if high - low > 6 * np.hypot(e, f):
                    assert found[where, one].mean() < found[where, other].mean(), (one, other)
                    compared += 1
        assert compared >= 5

    def test_the_scripts_matrices_are_not_those_of_what_it_samples(self):
        """A row that sums to 1.5, another reward, another law: its RMSPBE is not zero where learning ends."""
        task = problem("Boyan, script")
        given = means(task, METHODS["TD(λ)"], 0.0)
        theta = fixed_point(task, given)
        a, b, m = script_matrices()
        rest = a @ theta + b
        assert np.abs(given.A @ theta + given.b).max() < 1e-12
        assert np.sqrt(rest @ np.linalg.solve(m, rest)) > 0.08


class TestMaps:
    def test_the_file_holds_every_setting_once(self):
        for name in ("today", "today-sigma"):
            data, experiment = load_results(RESULTS.format(name)), load_experiment(name)
            assert data["key"].values.tolist() == [setting.key for setting in experiment.settings]
            assert data["eta"].values.tolist() == list(ETAS)

    @pytest.mark.parametrize("number", [3, 200, 400, 600, 750])
    def test_points_of_the_file_are_what_is_computed_now(self, number):
        data, setting = (
            load_results(RESULTS.format("today")),
            load_experiment("today").settings[number],
        )
        now = map_point(setting, 1, 0, first_run=0)
        for name in ("abscissa", "step", "error", "price", "best", "eta_star"):
            kept = data[name].values[number, 0]
            assert np.allclose(kept, now[name][0], rtol=1e-3, atol=1e-8, equal_nan=True), name

    def test_two_ways_to_eta_star_agree(self):
        """From the file: a ratio of the grid above η* is stable, the next below it is not."""
        data = load_results(RESULTS.format("today"))
        star, stable = (
            data["eta_star"].values[:, 0].astype(float),
            data["abscissa"].values[:, 0] < 0.0,
        )
        rows = np.flatnonzero(np.isfinite(star) & (star > ETAS[0]) & (star < ETAS[-1]))
        assert len(rows) >= 5
        for row in rows:
            above = np.array(ETAS) > star[row] * (1 + 1e-4)
            assert stable[row][above].all()
            below = np.flatnonzero(np.array(ETAS) < star[row] * (1 - 1e-4))
            if len(below):
                assert not stable[row][below[-1]] or star[row] < 2 * ETAS[below[-1]]

    def test_the_error_after_some_steps_is_that_of_runs(self):
        """On the walk with a table, 400 runs: the first-order prediction holds to a tenth at a small step."""
        task, method = problem("walk, tabular"), METHODS["TDC(λ)"]
        alpha, steps = 2.0**-5, 256
        setting = RunSetting("walk, tabular", "TDC(λ)", 0.0, (alpha,), steps, steps)
        from gqlib.methods import run_method

        walks = task.walks(400, steps, np.random.default_rng(3))
        theta = run_method(task, method, walks, lam=0.0, alphas=setting.alphas, every=steps).theta[
            -1, 0
        ]
        measured = ((theta @ task.phi.T - task.truth) ** 2 @ task.xi).mean()
        predicted = error_after(task, method, 0.0, [alpha], 8)[0]
        assert abs(measured / predicted - 1.0) < 0.1

    def test_a_diverging_step_has_an_infinite_error(self):
        task = problem("walk, tabular")
        largest = limits(task, METHODS["TD(λ)"], 0.0).step
        errors = error_after(task, METHODS["TD(λ)"], 0.0, [0.9 * largest, 2.0 * largest], 12)
        assert np.isfinite(errors[0])
        assert errors[1] == np.inf
        with pytest.raises(ValueError, match="without a step size"):
            error_after(task, METHODS["LSTD(λ)"], 0.0, [0.1], 3)


def test_where_tdc_and_tdrc_are_not_stable_at_equal_step_sizes():
    data = load_results(RESULTS.format("today"))
    stable = data["abscissa"].values[:, 0, ETAS.index(1.0)] < 0.0
    unstable = {
        name: set(data["problem"].values[(data["method"].values == name) & ~stable].tolist())
        for name in ("TDC(λ)", "TDRC(λ)")
    }
    rare = "rare action, pairs"
    assert unstable == {"TDC(λ)": {rare}, "TDRC(λ)": {"two-state", "two-state, pairs", rare}}


def test_the_published_tiers_of_collision_come_out_of_the_map():
    """Ghiassian and Sutton (2021): emphatic first, then gradient and off-policy TD, then the rest."""
    data = load_results(RESULTS.format("today"))
    here = data["problem"].values == "Collision"
    best = {
        name: np.nanmin(data["best"].values[here & (data["method"].values == name), 0])
        for name, method in METHODS.items()
        if "states" in method.on and method.update != "least squares"
    }
    middle = ("TD(λ)", "TDC(λ)", "GTD2(λ)", "TDRC(λ)", "HTD(λ)", "Proximal GTD2(λ)")
    last = ("Tree Backup(λ)", "Retrace(λ)", "ABTD(ζ)", "V-trace(λ)")
    assert best["ETD(λ)"] < min(best[name] for name in middle)
    assert max(best[name] for name in middle) < min(best[name] for name in last)


def test_runs_do_not_depend_on_how_they_are_cut():
    setting = RunSetting("Collision", "TDRC(λ)", 0.5, (0.05, 0.1), 200, 50)
    whole = method_runs(setting, 4, 7, first_run=0)
    parts = [method_runs(setting, 2, 7, first_run=first) for first in (0, 2)]
    for name, values in whole.items():
        joined = np.concatenate([part[name] for part in parts])
        assert np.array_equal(values, joined, equal_nan=values.dtype.kind == "f")


class TestSuccessor:
    """What the abstract of Zhao and Yang (2026) determines, if its trace factor is σρ + (1−σ)π."""

    SIGMAS = (0.0, 0.3, 0.7, 1.0)

    @pytest.mark.parametrize("lam", [0.0, 0.6, 1.0])
    def test_the_fixed_point_of_a_table_is_that_of_the_target_at_every_sigma(self, lam):
        table = Task.of(five_state_walk(), on="pairs")
        for sigma in self.SIGMAS:
            found = fixed_point(table, means(table, method_of(TEXTBOOK, sigma), lam))
            np.testing.assert_allclose(table.phi @ found, table.truth, atol=1e-10)

    def test_the_mean_is_stable_above_eta_star_and_not_below(self):
        task = problem("star, pairs")
        for sigma in self.SIGMAS:
            method = method_of(TEXTBOOK, sigma)
            star = eta_star(task, method, 0.4)
            assert star > 0.0
            below, above = (
                limits(task, method, 0.4, f * star, noise=False).abscissa for f in (0.95, 1.05)
            )
            assert above < 0.0 < below

    @pytest.mark.parametrize("where", ["walk, dependent, pairs", "Collision, pairs"])
    def test_with_features_the_fixed_point_is_off_at_every_sigma(self, where):
        task = problem(where)
        off = [
            task.error(fixed_point(task, means(task, method_of(TEXTBOOK, s), 0.9)))
            for s in self.SIGMAS
        ]
        assert min(off) > 0.01

    def test_an_inner_sigma_gains_at_most_two_per_cent_once_lambda_is_tuned(self):
        data = load_results(RESULTS.format("today-sigma"))
        best = np.where(np.isfinite(data["best"].values[:, 0]), data["best"].values[:, 0], np.inf)
        sigma = data["sigma"].values.astype(float)
        ratios = {}
        for where in set(data["problem"].values.tolist()):
            here = data["problem"].values == where
            inner = best[here & (sigma > 0.0) & (sigma < 1.0)].min()
            end = best[here & ((sigma == 0.0) | (sigma == 1.0))].min()
            if end > 1e-6:
                ratios[where] = inner / end
        assert len(ratios) == 6
        assert 0.98 < min(ratios.values()) < 1.0 < max(ratios.values()) < 1.2


@pytest.fixture(scope="module")
def data():
    return load_results(RESULTS.format("today-collision"))


class TestCollision:
    def test_the_file_holds_every_setting_once(self, data):
        experiment = load_experiment("today-collision")
        assert data["key"].values.tolist() == [setting.key for setting in experiment.settings]
        assert data["rmsve"].shape == (40, 80, 10)

    def test_features_are_drawn_for_each_run_and_a_run_depends_on_its_number_alone(self):
        setting = RunSetting(DRAWN, "TD(λ)", 0.5, (0.01,), 400, 100)
        together, alone = (
            method_runs(setting, 3, SEED, first_run=0),
            method_runs(setting, 1, SEED, first_run=2),
        )
        np.testing.assert_array_equal(together["rmsve"][2:], alone["rmsve"])
        phi = [collision_features(seeds.generator(SEED, run, seeds.TRAJECTORY)) for run in range(3)]
        assert (phi[0] != phi[1]).any()
        task = Task.of(collision(phi[2]))
        draws = seeds.generator(SEED, 2, seeds.BEHAVIOUR).random((401, 2))
        done = run_method(
            task,
            METHODS["TD(λ)"],
            task.follow(draws[:, :, None]),
            lam=0.5,
            alphas=[0.01],
            every=100,
        )
        wanted = np.mean([task.error(theta) for theta in done.theta[:-1, 0, 0]])
        assert alone["rmsve"][0, 0] == pytest.approx(wanted, rel=1e-12)

    def test_the_published_tiers_come_out_in_runs(self, data):
        """Emphatic, then gradient and off-policy TD, then Tree Backup, ABTD and V-trace: every pair across tiers."""
        result = {}
        for name in COLLISION_METHODS:
            areas = data["rmsve"].values[(data["method"] == name).values].astype(float)
            means_ = areas[:, :SEARCH_RUNS].mean(axis=1)
            i, j = np.unravel_index(means_.argmin(), means_.shape)
            result[name] = areas[i, SEARCH_RUNS:, j]
        tiers = (COLLISION_METHODS[:2], COLLISION_METHODS[2:7], COLLISION_METHODS[7:])
        for ahead, behind in itertools.pairwise(tiers):
            for one, other in itertools.product(ahead, behind):
                assert paired_difference(result[one], result[other]).high < 0.0, (one, other)


class TestProblems:
    def test_the_script_samples_this_chain(self):
        """Thirteen states: half a step or two, the eleventh always one; values without discount, from the end."""
        task = problem("Boyan, script")
        value = [0.0] * 13
        value[11], value[10] = -2.0, -5.0
        for i in range(9, -1, -1):
            value[i] = -3.0 + (value[i + 1] + value[i + 2]) / 2.0
        np.testing.assert_allclose(task.truth, value, atol=1e-12)
        assert task.start.tolist() == [1.0] + [0.0] * 12
        assert (task.gamma, task.name, task.on) == (1.0, "Boyan, script", "states")
        assert not task.phi[12].any()
        np.testing.assert_allclose(task.phi[:12], triangles(13)[:12])

    def test_the_scripts_matrices_by_hand(self):
        """Every state counts 1/13; the eleventh goes on twice, with weights 1 and ½."""
        phi = triangles(13)
        a, b, m = np.zeros((4, 4)), np.zeros(4), np.zeros((4, 4))
        for i in range(13):
            after = {10: phi[11] + phi[12] / 2.0, 11: phi[12], 12: 0.0}
            expected = after[i] if i in after else (phi[i + 1] + phi[i + 2]) / 2.0
            a += np.outer(phi[i], expected - phi[i]) / 13.0
            b += phi[i] * {10: -2.0, 11: -2.0, 12: 0.0}.get(i, -3.0) / 13.0
            m += np.outer(phi[i], phi[i]) / 13.0
        for found, wanted in zip(script_matrices(), (a, b, m), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-14)

    def test_two_states_go_where_the_action_says(self):
        task = problem("two-state")
        for s, a in itertools.product(range(2), range(2)):
            assert task.mdp.transitions[s, a].tolist() == [float(a == 1), float(a == 0)]
        assert not task.mdp.rewards.any()
        assert (task.gamma, task.phi.tolist(), task.theta0.tolist()) == (
            0.99,
            [[1.0], [1.0], [2.0], [2.0]],
            [1.0],
        )
        pairs = problem("two-state, pairs")
        np.testing.assert_array_equal(pairs.phi, FEATURES)
        assert pairs.theta0.tolist() == [1.0] + [0.0] * (pairs.d - 1)

    def test_random_problems_are_drawn_in_this_order(self):
        for number in (0, 1):
            one, pairs = problem(f"random {number}"), problem(f"random {number}, pairs")
            rng = seeds.generator(SEED, number, seeds.TRAJECTORY)
            mdp = random_mdp(rng, 10, 3, 0.95, concentration=0.3)
            mu = random_policy(rng, 10, 3, concentration=2.0)
            pi = random_policy(rng, 10, 3, concentration=2.0)
            for task in (one, pairs):
                assert task.name == f"random {number}"
                np.testing.assert_array_equal(task.mdp.transitions, mdp.transitions)
                np.testing.assert_array_equal(task.mdp.rewards, mdp.rewards)
                np.testing.assert_array_equal(task.mu, mu)
                np.testing.assert_array_equal(task.pi, pi)
            state = rng.bit_generator.state
            np.testing.assert_array_equal(one.phi[::3], rng.standard_normal((10, 5)))
            rng.bit_generator.state = state
            np.testing.assert_array_equal(pairs.phi, rng.standard_normal((30, 8)))

    def test_the_machine_has_a_line_in_its_wear(self):
        task = problem("machine")
        np.testing.assert_array_equal(
            task.phi[:: task.mdp.n_actions], np.column_stack([np.ones(3), WEAR])
        )
        pairs = problem("machine, pairs")
        np.testing.assert_array_equal(pairs.phi, machine(features="wear").problem.features)
        for one in (task, pairs):
            np.testing.assert_array_equal(one.mu, CREW)
            np.testing.assert_array_equal(one.pi, PLAN)
            assert one.name == "machine"


class TestSettings:
    def test_numbers_are_kept_as_floats_so_that_equal_settings_have_equal_keys(self):
        one, other = (
            MapSetting("star, pairs", TEXTBOOK, 1, 1),
            MapSetting("star, pairs", TEXTBOOK, 1.0, 1.0),
        )
        assert [type(x) for x in (one.lam, one.sigma)] == [float, float]
        assert one.key == other.key
        run = RunSetting("star", "TD(λ)", 1, 1, np.int64(100), np.int64(10))
        assert (run.alphas, [type(x) for x in (run.lam, *run.alphas, run.steps, run.every)]) == (
            (1.0,),
            [float, float, int, int],
        )
        assert run.key == RunSetting("star", "TD(λ)", 1.0, [1.0], 100, 10).key
        assert MapSetting("star", "TD(λ)", 0.5).sigma is None


def test_areas_are_means_over_what_was_kept_before_the_end():
    """Five steps of TD(0) on the script's chain, two step sizes, both measures and the script's own, by hand."""
    alphas, steps = (0.25, 0.5), 5
    found = method_runs(
        RunSetting("Boyan, script", "TD(λ)", 0.0, alphas, steps, 1), 2, 9, first_run=3
    )
    task = problem("Boyan, script")
    draws = np.stack(
        [seeds.generator(9, run, seeds.BEHAVIOUR).random((steps + 1, 2)) for run in (3, 4)], axis=2
    )
    walks = task.follow(draws)
    a = task.phi.T @ (task.xi[:, None] * (task.chain @ task.phi - task.phi))
    b = task.phi.T @ (task.xi * task.rewards)
    matrices = {
        "rmspbe": (a, b, task.phi.T @ (task.xi[:, None] * task.phi)),
        "script": script_matrices(),
    }
    for run, (j, alpha) in itertools.product(range(2), enumerate(alphas)):
        theta, seen = np.zeros(4), []
        for k in range(steps):
            seen.append(theta)
            i, after = walks.index[k : k + 2, run]
            bootstrap = 0.0 if walks.ends[k, run] else task.phi[after] @ theta
            theta = (
                theta + alpha * (task.rewards[i] + bootstrap - task.phi[i] @ theta) * task.phi[i]
            )
        for name, (a_, b_, m_) in matrices.items():
            wanted = [np.sqrt((a_ @ x + b_) @ np.linalg.pinv(m_) @ (a_ @ x + b_)) for x in seen]
            assert found[name][run, j] == pytest.approx(np.mean(wanted), rel=1e-10), name
        wanted = [np.sqrt(task.xi @ (task.phi @ x - task.truth) ** 2) for x in seen]
        assert found["rmsve"][run, j] == pytest.approx(np.mean(wanted), rel=1e-10)
    assert not found["diverged"].any()
    elsewhere = method_runs(
        RunSetting("walk, tabular", "TD(λ)", 0.0, alphas, steps, 1), 2, 9, first_run=3
    )
    assert np.isnan(elsewhere["script"]).all()


class TestKept:
    def test_four_digits_are_kept_and_rounding_is_zero(self):
        given = np.array(
            [
                1.23456,
                -1.23456,
                12345.6,
                0.000123456,
                9.9996,
                2e-9,
                5e-10,
                -5e-10,
                0.0,
                np.inf,
                np.nan,
            ]
        )
        kept = today._settled(given)
        wanted = [1.235, -1.235, 12350.0, 0.0001235, 10.0, 2e-9, 0.0, 0.0, 0.0, np.inf, np.nan]
        assert kept.dtype == np.float32
        np.testing.assert_array_equal(kept, np.array(wanted, dtype=np.float32))

    def test_a_map_keeps_its_six_numbers(self):
        arrays = {name: np.arange(2.0 * len(ETAS)).reshape(2, -1) + k
                  for k, name in enumerate(("abscissa", "step", "error", "price"))}  # fmt: skip
        arrays |= {"eta_star": np.array([0.5, 0.25]), "best": np.array([2.0, 4.0])}
        kept = today.map_summary(arrays)
        for name, values in arrays.items():
            assert kept[name][0] == ("run", "eta")[: values.ndim], name
            np.testing.assert_array_equal(kept[name][1], values)
        assert kept["eta"][0] == ("eta",)
        assert kept["eta"][1].tolist() == list(ETAS)
        assert set(kept) == {*arrays, "eta"}

    def test_runs_keep_their_areas(self):
        names = ("rmspbe", "rmsve", "script")
        arrays = {name: np.array([[1.23456 + k, 2.0, 3.0]]) for k, name in enumerate(names)}
        arrays["diverged"] = np.array([[False, True, False]])
        kept = today.method_summary(arrays)
        assert set(kept) == {*names, "diverged"}
        for name in names:
            assert (kept[name][0], kept[name][1].dtype) == (("run", "alpha"), np.float32)
            np.testing.assert_array_equal(kept[name][1], arrays[name].astype(np.float32))
        assert (kept["diverged"][0], kept["diverged"][1].tolist()) == (
            ("run", "alpha"),
            [[False, True, False]],
        )
        areas = today.area_summary(arrays)
        assert set(areas) == {"rmsve", "diverged"}
        assert areas["rmsve"][0] == areas["diverged"][0] == ("run", "alpha")
        np.testing.assert_array_equal(
            areas["rmsve"][1], np.array([[2.235, 2.0, 3.0]], dtype=np.float32)
        )
        assert areas["diverged"][1].tolist() == [[False, True, False]]


def test_a_method_keeps_all_but_its_sigma():
    found, changed = METHODS[TEXTBOOK], method_of(TEXTBOOK, 0.25)
    assert method_of(TEXTBOOK) is found
    for field in found.__dataclass_fields__:
        assert getattr(changed, field) == (0.25 if field == "sigma" else getattr(found, field)), (
            field
        )


def test_a_point_of_a_map_says_what_each_part_says():
    """A method with a ratio and one without; the same for every run, and nothing where a trace has no mean."""
    point = map_point(MapSetting("two-state", "TDC(λ)", 0.4), 3, 0, first_run=0)
    task, method = problem("two-state"), METHODS["TDC(λ)"]
    for k, eta in enumerate(ETAS):
        given = limits(task, method, 0.4, eta)
        for name in ("abscissa", "step", "error", "price"):
            np.testing.assert_array_equal(point[name][:, k], [getattr(given, name)] * 3)
    assert point["eta_star"].tolist() == [eta_star(task, method, 0.4)] * 3
    assert (
        point["best"].tolist()
        == [error_after(task, method, 0.4, [2.0**-k for k in range(13)], 10).min()] * 3
    )
    plain = map_point(MapSetting("walk, tabular", "TD(λ)", 0.4), 1, 0, first_run=0)
    given = limits(problem("walk, tabular"), METHODS["TD(λ)"], 0.4)
    assert np.isnan(plain["eta_star"]).all()
    for name in ("abscissa", "step", "error", "price"):
        assert plain[name].tolist() == [[getattr(given, name)] * len(ETAS)]
    squares = map_point(MapSetting("walk, tabular", "LSTD(λ)", 0.4), 1, 0, first_run=0)
    assert np.isnan(squares["best"]).all()
