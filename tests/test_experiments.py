"""The manifests against the paper's grid (Section 5.2), and what the tasks keep against the engine."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gqlib import seeds
from gqlib.control import ControlSetting, run_control
from gqlib.domains import two_state
from gqlib.experiments import REGISTRY, load_experiment
from gqlib.experiments import mountain_car as experiments
from gqlib.experiments.figure2 import TwoStateSetting, two_state_runs
from gqlib.experiments.kept import LAST, with_scores
from gqlib.experiments.reports import CASES, cell_cases, control_report, pooled_cases, pooled_report
from gqlib.learners import semi_gradient_step
from gqlib.sweeps.names import look_up
from gqlib.sweeps.results import collect, load_results, recompute, save_results
from gqlib.sweeps.store import Store
from gqlib.sweeps.sweep import Experiment, run_sweep

CONTROL = ("fig4", "fig5", "table1", "table2", "sensitivity-by-cell")


def test_constants_are_those_of_the_paper() -> None:
    assert sorted(experiments.ALPHAS) == [0.001, 0.002, 0.01, 0.02]
    assert experiments.ETAS == (
        1,
        1 / 2,
        1 / 4,
        1 / 8,
        1 / 16,
        1 / 32,
        1 / 64,
        1 / 128,
        1 / 256,
        1 / 512,
        1 / 1024,
    )
    assert experiments.SIZES == (128, 256, 512, 1024, 2048)
    assert len(experiments.DYNAMIC_MEANS) == 49
    np.testing.assert_allclose(experiments.DYNAMIC_MEANS, np.arange(0.02, 0.99, 0.02), rtol=1e-15)


@pytest.mark.parametrize("name", CONTROL)
def test_what_the_paper_gives_and_what_was_fixed_beforehand(name: str) -> None:
    experiment = load_experiment(name)
    assert experiment.name == name
    assert experiment.runs >= {"table1": 300, "table2": 300}.get(name, 100)
    open_choices = {
        "eta",
        "epsilon",
        "tilings",
        "memory",
        "max_steps",
        "sigma_drawn",
        "sigma_clipped",
        "v",
    }
    open_choices |= {"ties", "start", "theta0", "theta0_noise"}
    varied = open_choices if name.startswith("sensitivity") else set()
    given = {
        "lam": 0.99,
        "gamma": 0.99,
        "episodes": 400,
        "eta": 1.0,
        "epsilon": 0.1,
        "tilings": 8,
        "memory": "int",
        "max_steps": 5000,
        "sigma_drawn": "step",
        "sigma_clipped": False,
        "sigma_decay": 1.0,
        "v": "same-step",
        "ties": "first",
        "start": "valley",
        "theta0": 0.0,
        "theta0_noise": 0.0,
    }
    for field, value in given.items():
        if field not in varied:
            assert {getattr(setting, field) for setting in experiment.settings} == {value}, field
    for setting in experiment.settings:
        assert setting.sigma_noise in (0.0, 0.01)
    targets = Counter(
        s.target for s in experiment.settings if s.sigma < 1.0
    )  # at 1 the target plays no part
    assert targets["greedy"] == targets["epsilon-greedy"] > 0


@pytest.mark.parametrize("name", ["table1", "table2"])
def test_the_tables_have_51_sigmas_in_six_cells_for_both_targets(name: str) -> None:
    cells: dict[tuple[str, float, int], list[ControlSetting]] = {}
    for setting in load_experiment(name).settings:
        cells.setdefault((setting.target, setting.alpha, setting.p), []).append(setting)
    assert set(cells) == {
        (target, alpha, p)
        for target in ("greedy", "epsilon-greedy")
        for alpha in (0.001, 0.002)
        for p in (512, 1024, 2048)
    }
    for settings in cells.values():
        assert [setting.sigma for setting in settings] == [0.0, *experiments.DYNAMIC_MEANS, 1.0]
        assert [setting.sigma_noise for setting in settings] == [0.0] + [0.01] * 49 + [0.0]


def test_table_1_shares_every_task_with_table_2() -> None:
    first, second = (load_experiment(name).with_runs(20).tasks() for name in ("table1", "table2"))
    assert [task.name for task in first] == [task.name for task in second]


def test_figure_4_has_extremes_intermediate_and_dynamic_sigma_and_the_semi_gradient_twins() -> None:
    settings = load_experiment("fig4").settings
    for target in ("greedy", "epsilon-greedy"):
        for alpha in (0.001, 0.002):
            for noise, sigmas in (
                (0.0, {0.0, 0.25, 0.5, 0.75, 1.0}),
                (0.01, {0.1, 0.3, 0.5, 0.7, 0.9}),
            ):
                found = {
                    s.sigma
                    for s in settings
                    if (s.target, s.alpha, s.sigma_noise, s.method, s.p)
                    == (target, alpha, noise, "gradient", 1024)
                }
                assert found == sigmas
    semi = {(s.target, s.alpha, s.sigma) for s in settings if s.method == "semi-gradient"}
    assert {("greedy", 0.001, 1.0), ("epsilon-greedy", 0.002, 0.0)} <= semi
    assert len(semi) == 20


def test_figure_5_has_all_sigmas_at_1024_and_every_size_of_the_paper() -> None:
    settings = load_experiment("fig5").settings
    assert {s.p for s in settings} == {128, 256, 512, 1024, 2048}
    assert Counter(s.p for s in settings) == {1024: 2 * 2 * 51, 128: 28, 256: 28, 512: 28, 2048: 28}


VARIED = {
    "epsilon": {0.01, 0.05, 0.2},
    "max_steps": {1000, 10000},
    "tilings": {16},
    "memory": {"int", "iht", "salted"},
    "sigma_drawn": {"episode", "run"},
    "sigma_clipped": {True},
    "v": {"lagged"},
    "ties": {"random"},
    "start": {"bottom", "anywhere"},
    "theta0": {-1.0, 1.0},
    "theta0_noise": {0.1},
}


def test_the_sensitivity_study_varies_one_thing_at_a_time_and_everything_that_is_open() -> None:
    default = dataclasses.asdict(ControlSetting(memory="rltoolkit"))
    changed: dict[str, set[object]] = {}
    for setting in load_experiment("sensitivity-by-cell").settings:
        differing = {
            field: value
            for field, value in dataclasses.asdict(setting).items()
            if value != default[field]
            and field not in {"sigma", "sigma_noise", "target", "alpha", "p"}
        }
        assert len(differing) <= 1
        for field, value in differing.items():
            changed.setdefault(field, set()).add(value)
    assert changed == VARIED


def test_figure_2_runs_every_sigma_by_a_hundredth_in_every_reading() -> None:
    settings = load_experiment("fig2").settings
    found = {(s.reading, s.alpha) for s in settings}
    assert found == {
        (r, a) for r in ("continuing", "bootstrap", "terminal") for a in (0.001, 0.01, 0.1)
    }
    for setting in settings:
        np.testing.assert_allclose(setting.sigmas, np.linspace(0, 1, 101), atol=1e-15)
    assert {(s.lam, s.gamma) for s in settings} == {(0.99, 0.99)}
    assert two_state().theta0.tolist() == [2.0, 0.0]


@pytest.mark.parametrize("name", [name for name in REGISTRY if not name.startswith("fig3")])
def test_every_function_that_an_experiment_names_exists(name: str) -> None:
    experiment = load_experiment(name)
    kinds = {
        "runner": experiment.function,
        "summary": experiment.summary,
        "finish": experiment.finish,
    }
    for kind, function in {**kinds, "report": experiment.report}.items():
        assert not function or callable(look_up(kind, function))
    assert isinstance(experiment.settings[0], look_up("setting", experiment.function))


def test_unknown_experiments_are_refused() -> None:
    with pytest.raises(ValueError, match="'fig9'; it should be one of 'fig2'"):
        load_experiment("fig9")


def reduced(name: str, runs: int, sigmas: tuple[float, ...] = (0.0, 0.5, 1.0)) -> Experiment:
    """Return an experiment cut down to seconds: three σ, few short episodes."""
    experiment = load_experiment(name)
    settings = tuple(
        dataclasses.replace(setting, episodes=60, max_steps=200)
        for setting in experiment.settings
        if setting.sigma in sigmas and setting.max_steps == 5000
    )
    return dataclasses.replace(experiment, settings=settings, runs=runs, finish="")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Experiment, object]:
    experiment = reduced("fig4", 12)
    store = Store(tmp_path_factory.mktemp("store"))
    run_sweep(experiment, store)
    path = save_results(tmp_path_factory.mktemp("results") / "fig4.npz", collect(experiment, store))
    return experiment, load_results(path)


def test_what_is_kept_of_control_runs_agrees_with_the_engine(small) -> None:
    experiment, dataset = small
    scored = with_scores(dataset)
    for index in (0, 3, 17):
        direct = run_control(experiment.settings[index], 12, experiment.seed)
        row = scored.isel(setting=index)
        np.testing.assert_array_equal(row["score"], direct.score)
        np.testing.assert_allclose(
            row["score_last"], direct.steps[:, -LAST:].mean(axis=1), rtol=1e-14
        )
        np.testing.assert_array_equal(row["capped"], direct.capped.sum(axis=1))
        np.testing.assert_array_equal(row["diverged"], direct.diverged)
        np.testing.assert_array_equal(row["checksum"], direct.checksum % 2**32)
        np.testing.assert_allclose(row["mean"], direct.steps.mean(axis=0), rtol=1e-14)
        np.testing.assert_allclose(
            row["variance"], direct.steps.var(axis=0, ddof=1), rtol=1e-12, atol=1e-9
        )
        np.testing.assert_array_equal(
            row["steps_quantile"].sel(quantile=0.5), np.sort(direct.steps, axis=0)[5]
        )


def test_blocks_give_the_mean_and_the_variance_of_their_episodes(tmp_path: Path) -> None:
    experiment = dataclasses.replace(reduced("fig4", 12), summary="control in blocks")
    store = Store(tmp_path)
    run_sweep(experiment, store)
    scored = with_scores(collect(experiment, store))
    direct = run_control(experiment.settings[3], 12, experiment.seed)
    row = scored.isel(setting=3)
    np.testing.assert_allclose(
        row["mean"], direct.steps.mean(axis=0).reshape(3, 20).mean(axis=1), rtol=1e-14
    )
    variance = direct.steps.var(axis=0, ddof=1).reshape(3, 20).mean(axis=1)
    np.testing.assert_allclose(row["variance"], variance, rtol=1e-12, atol=1e-9)
    np.testing.assert_array_equal(row["score"], direct.score)


def test_stored_control_runs_are_made_again_bit_for_bit(small) -> None:
    _, dataset = small
    for setting, run in ((0, 11), (5, 4)):
        remade = recompute(dataset, setting, run)
        for name in ("steps_total", "steps_last", "capped", "diverged", "checksum"):
            assert remade[name][1][0] == dataset[name].values[setting, run]


def test_a_limit_beyond_16_bits_is_kept_whole() -> None:
    from gqlib.experiments.kept import control_runs

    setting = ControlSetting(episodes=2, max_steps=40000, alpha=1e-9, epsilon=0.0, p=128)
    direct = run_control(setting, 1, 3)
    kept = control_runs(setting, 1, 3, first_run=0)["signed_steps"]
    assert direct.steps.max() > np.iinfo(np.int16).max
    np.testing.assert_array_equal(np.abs(kept), direct.steps)


def test_cases_are_counted_by_mean_score() -> None:
    import xarray

    cell = {"target": "greedy", "alpha": 0.001, "p": 512}
    totals = np.array([[30, 30], [10, 12], [25, 30], [40, 45], [20, 20]])
    dataset = xarray.Dataset(
        {"steps_total": (("setting", "run"), totals)},
        coords={"sigma": ("setting", [0.0, 0.2, 0.5, 0.8, 1.0])}
        | {name: ("setting", [value] * 5) for name, value in cell.items()},
    )
    assert cell_cases(dataset, **cell).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"^settings of a cell should be in the order of sigma"):
        cell_cases(dataset.isel(setting=[1, 0, 2, 3, 4]), **cell)


def test_reports_and_pooled_table(tmp_path: Path) -> None:
    experiment = reduced("table1", 1)
    store = Store(tmp_path)
    run_sweep(experiment, store)
    result = collect(experiment, store)
    table = pooled_cases(result)
    assert table["count"].shape == (2, 2, 3, 3)
    assert (table["count"].sum("case") == 1).all()
    assert table["case"].values.tolist() == list(CASES)
    assert pooled_report(table).count("case I ") == 2
    report = control_report(result)
    assert len(report.splitlines()) == 12
    assert "epsilon-greedy, 0.002, 2048" in report


def test_sensitivity_results_carry_the_name_of_their_variation() -> None:
    import xarray

    experiment = load_experiment("sensitivity-by-cell")
    starts = [setting.start for setting in experiment.settings]
    labelled = look_up("finish", experiment.finish)(
        xarray.Dataset(coords={"start": ("setting", starts)})
    )
    here = labelled["variation"].values == "start anywhere"
    assert set(labelled["start"].values[here]) == {"anywhere"}
    assert (
        here.sum()
        == starts.count("anywhere")
        == (labelled["variation"].values == "default").sum()
        > 0
    )


@pytest.mark.parametrize("reading", ["continuing", "bootstrap", "terminal"])
def test_two_state_runs_follow_the_reference_update(reading: str) -> None:
    setting = TwoStateSetting((0.3, 1.0), reading=reading, steps=100)
    kept = two_state_runs(setting, 2, 7, first_run=3)
    domain = two_state(0.99, reading)
    path = domain.trajectory(100, seeds.generator(7, 4, seeds.TRAJECTORY))
    theta, trace = domain.theta0, np.zeros(2)
    for k in range(100):
        theta, trace, _ = semi_gradient_step(
            theta, trace, path.phi[k], path.reward[k], path.phi_next[k], path.phi_next_expected[k],
            sigma=0.3, lam=0.99, gamma=0.99, alpha=0.01,
        )  # fmt: skip
        if path.ends[k]:
            trace = np.zeros(2)
        if k % 2 == 1:
            np.testing.assert_allclose(kept["theta"][1, (k + 1) // 2, 0], theta, rtol=1e-12)


def test_two_state_runs_stop_where_they_diverge_and_do_not_depend_on_the_cut() -> None:
    setting = TwoStateSetting(0.0, alpha=0.1)
    together = two_state_runs(setting, 3, 0, first_run=0)
    assert together["diverged"].all()
    assert np.isfinite(together["theta"]).all()
    alone = two_state_runs(setting, 1, 0, first_run=2)
    np.testing.assert_array_equal(alone["theta"][0], together["theta"][2])


@pytest.mark.parametrize(
    "wrong", [{"sigmas": 1.5}, {"alpha": -1.0}, {"steps": 0}, {"lam": 2.0}, {"sigmas": ()}]
)
def test_two_state_settings_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        TwoStateSetting(**({"sigmas": 0.5} | wrong))
