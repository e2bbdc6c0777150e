"""Control today: the learners that were added for it against steps from their own sources, and the study itself."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gqlib import cli
from gqlib.domains.random_walk import random_walk
from gqlib.engine import EngineSetting, environments, run_setting
from gqlib.engine import runs as engine_runs
from gqlib.experiments import load_experiment, today_control
from gqlib.experiments.today_control import (
    BASELINE,
    RANDOM,
    ROWS,
    TASKS,
    RowSetting,
    cells_of,
    chosen,
    chosen_cells,
    control_runs,
    control_summary,
    engine_setting,
    search_summary,
)
from gqlib.learners.gradient_td import maei_gq_step
from gqlib.learners.relatives import tree_backup_step
from gqlib.learners.textbook import textbook_gq_step
from gqlib.stats import paired_difference
from gqlib.sweeps.results import load_results

RESULTS = str(Path(__file__).parents[1] / "results" / "{}.npz")
WALK = environments.chain(random_walk(5))
NUMBERS = {"alpha": 0.05, "lam": 0.8, "gamma": 0.9}
SIGMA, ETA, EPSILON, EPISODES = 0.3, 0.5, 0.3, 12


def by_the_book(learner, seed):
    """The same run by the dense steps of `gqlib.learners`, with the greedy target: θ, ω and how often it explored."""
    streams, share, beta = engine_runs.streams_of(seed, 0), EPSILON / 2, ETA * NUMBERS["alpha"]
    theta, omega, explored = np.zeros(14), np.zeros(14), 0
    ratio = 1.0 / (1.0 - share)  # of the greedy action

    def choose(state):
        q = theta[2 * state : 2 * state + 2]
        greedy, u = (
            int(np.flatnonzero(q >= q.max() - 1e-10)[0]),
            engine_runs.uniform(streams.behaviour),
        )
        return greedy, greedy if u >= EPSILON else int(u >= share)

    for _ in range(EPISODES):
        trace, state, done = np.zeros(14), WALK.start(WALK.data, streams.starts), False
        greedy, action = choose(state)
        while not done:
            phi, follows = np.eye(14)[2 * state + action], float(action == greedy)
            explored += action != greedy
            state, reward, done = WALK.step(WALK.data, state, action, streams.moves)
            best = carried = np.zeros(14)
            if not done:
                greedy, action = choose(state)
                best = np.eye(14)[2 * state + greedy]
                c = SIGMA * ratio + (1 - SIGMA) if action == greedy else 0.0
                carried = c * np.eye(14)[2 * state + action]
            if learner == "watkins":
                theta, trace, _ = tree_backup_step(
                    theta, trace, phi, reward, best, probability=follows, **NUMBERS
                )
            elif learner == "greedy_gq":
                theta, omega, trace, _ = maei_gq_step(
                    theta,
                    omega,
                    trace,
                    phi,
                    reward,
                    best,
                    rho=follows * ratio,
                    beta=beta,
                    **NUMBERS,
                )
            else:
                c_now = follows * (SIGMA * ratio + 1 - SIGMA)
                theta, omega, trace, _ = textbook_gq_step(
                    theta,
                    omega,
                    trace,
                    phi,
                    reward,
                    best,
                    carried,
                    coefficient=c_now,
                    beta=beta,
                    **NUMBERS,
                )
    return theta, omega, explored


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("learner", ["watkins", "greedy_gq", "textbook_gq"])
def test_learners_take_the_steps_of_their_sources(learner, engine):
    setting = EngineSetting(
        WALK, learner, eta=ETA, episodes=EPISODES, epsilon=EPSILON, sigma=SIGMA, **NUMBERS
    )
    found = run_setting(setting, 1, seed=3, engine=engine)
    theta, omega, explored = by_the_book(learner, 3)
    assert explored > 5
    assert not found.capped.any()
    np.testing.assert_allclose(found.theta[0], theta, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.omega[0], omega, rtol=0, atol=1e-12)
    assert np.abs(theta).max() > 0.01


def weights(learner, **numbers):
    done = run_setting(
        EngineSetting("mountain_car", learner, episodes=4, max_steps=400, **numbers), 2, 5
    )
    return done.theta


def test_special_cases_are_the_same_bits():
    """Q(λ) of Watkins is QRC without ω; Greedy-GQ at λ = 0 is QRC without a ridge."""
    assert (weights("watkins", lam=0.9) == weights("qrc", lam=0.9, eta=0.0, kappa=0.0)).all()
    assert (weights("greedy_gq", lam=0.0) == weights("qrc", lam=0.0, kappa=0.0)).all()
    assert (weights("greedy_gq", lam=0.9) != weights("qrc", lam=0.9, kappa=0.0)).any()
    assert (weights("watkins", lam=0.9) != weights("expected_sarsa", lam=0.9)).any()


@pytest.fixture(scope="module")
def results():
    return load_results(RESULTS.format("today-control"))


@pytest.fixture(scope="module")
def scores(results):
    places = zip(results["task"].values.tolist(), results["row"].values.tolist(), strict=True)
    return dict(zip(places, results["score"].values.astype(float), strict=True))


class TestStudy:
    def test_every_row_has_as_many_cells_and_the_search_other_seeds(self):
        assert {len(set(cells_of(row))) for row in ROWS} == {48}
        search, result = load_experiment("today-search"), load_experiment("today-control")
        assert search.seed != result.seed
        assert (search.runs, result.runs, len(result.settings)) == (40, 100, 48)

    def test_what_is_written_down_is_what_the_rule_chooses(self):
        search = load_results(RESULTS.format("today-search"))
        assert chosen_cells(search) == chosen()
        with pytest.raises(ValueError, match=r"^search lacks settings"):
            chosen_cells(search.isel(setting=slice(3)))

    def test_the_files_hold_every_setting_once(self, results):
        assert results["key"].values.tolist() == [
            setting.key for setting in load_experiment("today-control").settings
        ]
        assert not results["diverged"].values.any()

    def test_a_run_of_the_file_comes_out_again(self, scores):
        """Run 7 of a row, computed now."""
        for row in ("Greedy-GQ(λ)", "Watkins' Q(λ)"):
            again = control_runs(
                RowSetting("mountain_car", row, (chosen()[row][0],)), 1, 2020, first_run=7
            )
            score = np.float32(again["returns"][0, 0].mean(dtype=np.float64))
            assert score == np.float32(scores["mountain_car", row][7])

    def test_a_diverged_run_counts_as_the_worst(self):
        setting = RowSetting("mountain_car", "GQ(0, λ) printed, greedy", ((0.95, 0.125, 1.0),))
        kept = control_runs(setting, 3, 0, first_run=0)
        lost = kept["diverged"][:, 0]
        assert lost.any()
        assert (kept["returns"][lost, 0, -1] == TASKS["mountain_car"].worst).all()
        assert np.isfinite(kept["returns"]).all()

    def test_the_random_driver_does_not_learn(self, scores):
        assert scores["cart_pole", RANDOM].mean() == pytest.approx(
            22.0, abs=0.5
        )  # of a fair coin, well known
        assert scores["mountain_car", RANDOM].mean() < -990.0

    def test_findings_of_the_chapter(self, scores):
        """True online Sarsa(λ) wins on two tasks; the repair by ρ loses on all; the middle beats both ends on one."""
        gaps = {
            (task, row): paired_difference(scores[task, row], scores[task, BASELINE])
            for task in TASKS
            for row in ROWS
        }
        assert all(
            gaps[task, "True online Sarsa(λ)"].low > 0.0 for task in ("mountain_car", "acrobot")
        )
        assert all(gaps[task, "GQ(½, λ) corrected"].high < 0.0 for task in TASKS)
        for target in ("greedy", "ε-greedy"):
            for end in (f"GQ(0, λ) printed, {target}", "GQ(1, λ) printed"):
                middle = scores["mountain_car", f"GQ(½, λ) printed, {target}"]
                assert paired_difference(middle, scores["mountain_car", end]).low > 0.0


# Learner, target, σ, and what is searched beside α and λ, as point 2 and 3 of the protocol have them.
LEARNERS = {
    "Sarsa(λ)": ("sarsa", "epsilon-greedy", 0.5, None),
    "Expected Sarsa(λ)": ("expected_sarsa", "epsilon-greedy", 0.5, None),
    "True online Sarsa(λ)": ("true_online_sarsa", "epsilon-greedy", 0.5, None),
    "Watkins' Q(λ)": ("watkins", "greedy", 0.5, None),
    "Greedy-GQ(λ)": ("greedy_gq", "greedy", 0.5, "eta"),
    "QRC(λ)": ("qrc", "greedy", 0.5, None),
    "QRC(λ), κ searched": ("qrc", "greedy", 0.5, "kappa"),
    "GQ(0, λ) printed, greedy": ("gq", "greedy", 0.0, "eta"),
    "GQ(½, λ) printed, greedy": ("gq", "greedy", 0.5, "eta"),
    "GQ(0, λ) printed, ε-greedy": ("gq", "epsilon-greedy", 0.0, "eta"),
    "GQ(½, λ) printed, ε-greedy": ("gq", "epsilon-greedy", 0.5, "eta"),
    "GQ(1, λ) printed": ("gq", "epsilon-greedy", 1.0, "eta"),
    "GQ(½, λ) lagged, ε-greedy": ("gq_lagged", "epsilon-greedy", 0.5, "eta"),
    "GQ(½, λ) corrected": ("corrected_gq", "greedy", 0.5, "eta"),
    "GQ(½, λ) textbook": ("textbook_gq", "greedy", 0.5, "eta"),
    RANDOM: ("sarsa", "epsilon-greedy", 0.5, None),
}


@pytest.mark.parametrize(
    ("task", "numbers"),
    [
        ("mountain_car", (100, 1000, 1.0)),
        ("acrobot", (60, 500, 1.0)),
        ("cart_pole", (150, 500, 0.99)),
    ],
)
def test_the_engine_is_told_every_number_of_the_protocol(task, numbers):
    assert list(LEARNERS) == [*ROWS, RANDOM]
    for row, (learner, target, sigma, second) in LEARNERS.items():
        told = engine_setting(task, row, (0.85, 0.0625, 0.75))
        assert told.environment == task
        assert (told.episodes, told.max_steps, told.gamma) == numbers
        assert (told.learner, told.target, told.sigma) == (learner, target, sigma)
        assert (told.lam, told.alpha, told.epsilon) == (0.85, 0.0625, 1.0 if row == RANDOM else 0.1)
        assert (told.eta, told.kappa) == (
            0.75 if second == "eta" else 1.0,
            0.75 if second == "kappa" else 1.0,
        )


def test_cells_vary_the_second_step_size_fastest_and_lambda_slowest():
    alphas = [float(f"{2.0**power:.4g}") for power in np.linspace(-9, -3, 16)]
    lams, few = (0.0, 0.8, 0.95), alphas[::5]
    assert few == pytest.approx([2.0**-9, 2.0**-7, 2.0**-5, 2.0**-3], rel=1e-3)
    for row, (*_, second) in LEARNERS.items():
        if row == RANDOM:
            continue
        seconds = {
            None: (1.0,),
            "eta": (2.0**-9, 2.0**-6, 2.0**-3, 1.0),
            "kappa": (0.01, 0.1, 1.0, 4.0),
        }[second]
        wanted = [
            (lam, alpha, one)
            for lam in lams
            for alpha in (few if second else alphas)
            for one in seconds
        ]
        assert cells_of(row) == tuple(wanted)


def test_cells_that_come_back_from_json_are_the_same_setting():
    cells = ((0.0, 0.01, 1.0), (0.8, 0.02, 0.5))
    given = RowSetting("acrobot", "QRC(λ)", cells)
    again = RowSetting("acrobot", "QRC(λ)", [list(cell) for cell in cells])
    assert (again, again.key, again.cells) == (given, given.key, cells)
    of_numpy = RowSetting("acrobot", "QRC(λ)", np.array(cells))
    assert {type(number) for cell in of_numpy.cells for number in cell} == {float}


def test_every_cell_is_run_by_the_engine_and_what_is_missing_is_the_worst(monkeypatch):
    asked = []

    def ran(setting, runs, seed, first_run):
        asked.append((setting, runs, seed, first_run))
        returns = np.full((runs, 3), 100.0 * setting.alpha)
        returns[1, len(asked) :] = np.nan
        return SimpleNamespace(returns=returns, diverged=np.array([False, len(asked) < 3]))

    monkeypatch.setattr(today_control, "run_setting", ran)
    cells = ((0.0, 0.01, 1.0), (0.8, 0.02, 1.0), (0.8, 0.03, 1.0))
    kept = control_runs(RowSetting("acrobot", "QRC(λ)", cells), 2, 7, first_run=5)
    assert asked == [(engine_setting("acrobot", "QRC(λ)", cell), 2, 7, 5) for cell in cells]
    assert kept["returns"].tolist() == [
        [[1.0] * 3, [2.0] * 3, [3.0] * 3],
        [[1, -500, -500], [2, 2, -500], [3, 3, 3]],
    ]
    assert kept["returns"].dtype == np.float32
    assert kept["diverged"].tolist() == [[False] * 3, [True, True, False]]


def test_what_is_kept_of_runs_is_labelled_and_averaged():
    returns = np.random.default_rng(4).normal(-100.0, 30.0, (3, 2, 11)).astype(np.float32)
    diverged = np.array([[True, False], [True, True], [True, False]])
    arrays = {"returns": returns, "diverged": diverged}
    search, one = search_summary(arrays), control_summary(arrays)
    assert [(name, dims, kept.dtype) for name, (dims, kept) in search.items()] == [
        ("score", ("run", "cell"), np.float32),
        ("diverged", ("cell",), np.int16),
    ]
    assert [(name, dims, kept.dtype) for name, (dims, kept) in one.items()] == [
        ("score", ("run",), np.float32),
        ("final", ("run",), np.float32),
        ("diverged", ("run",), bool),
    ]
    exact = [[sum(map(float, cell)) / 11 for cell in run] for run in returns]
    np.testing.assert_allclose(search["score"][1], exact, rtol=2.0**-23)
    np.testing.assert_allclose(one["score"][1], [cells[0] for cells in exact], rtol=2.0**-23)
    final = [
        (float(run[0, 9]) + float(run[0, 10])) / 2 for run in returns
    ]  # of eleven episodes, a quarter is two
    np.testing.assert_allclose(one["final"][1], final, rtol=2.0**-23)
    assert search["diverged"][1].tolist() == [3, 1]
    assert one["diverged"][1].tolist() == [True, True, True]


def test_sums_over_episodes_are_in_double_precision():
    """In single precision 2²⁴ + 1 is 2²⁴, so that sixteen episodes would lose what follows the first."""
    returns = np.ones((1, 1, 16), dtype=np.float32)
    returns[0, 0, [0, 12]] = 2.0**24
    arrays = {"returns": returns, "diverged": np.zeros((1, 1), dtype=bool)}
    assert search_summary(arrays)["score"][1] == np.float32((2.0**25 + 14) / 16)
    assert control_summary(arrays)["score"][1] == np.float32((2.0**25 + 14) / 16)
    assert control_summary(arrays)["final"][1] == np.float32((2.0**24 + 3) / 4)


def test_one_command_makes_all_parts(monkeypatch):
    made = []
    monkeypatch.setattr(
        cli, "_make", lambda experiments, arguments: made.extend(one.name for one in experiments)
    )
    assert cli.main(["reproduce", "today"]) == 0
    parts = ("sigma", "figure1", "collision", "search", "control")
    assert made == ["today", *(f"today-{part}" for part in parts)]
    assert cli.main(["reproduce", "today-control"]) == 0
    assert made[6:] == ["today-control"]
