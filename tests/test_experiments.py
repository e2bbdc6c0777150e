"""The car and the two states: the manifests against the paper's grid (Section 5.2), runs against the engine."""

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
from gqlib.experiments import mountain_car as car
from gqlib.experiments.figure2 import TwoStateSetting, two_state_runs
from gqlib.experiments.mountain_car_results import LAST, with_scores
from gqlib.learners import semi_gradient_step
from gqlib.sweeps.names import look_up
from gqlib.sweeps.results import collect, load_results, recompute, save_results
from gqlib.sweeps.store import Store
from gqlib.sweeps.sweep import run_sweep

MEANS = np.arange(1, 50) / 50
# What the paper gives, and what was fixed beforehand.
GIVEN = {"lam": 0.99, "gamma": 0.99, "episodes": 400, "sigma_decay": 1.0}
OPEN = {
    "eta": {1.0},
    "epsilon": {0.1, 0.01, 0.05, 0.2},
    "max_steps": {5000, 1000, 10000},
    "tilings": {8, 16},
    "memory": {"int", "rltoolkit", "iht", "salted"},
    "sigma_drawn": {"step", "episode", "run"},
    "sigma_clipped": {False, True},
    "v": {"same-step", "lagged"},
    "ties": {"first", "random"},
    "start": {"valley", "bottom", "anywhere"},
    "theta0": {0.0, -1.0, 1.0},
    "theta0_noise": {0.0, 0.1},
}


def test_constants_are_those_of_the_paper() -> None:
    assert sorted(car.ALPHAS) == [0.001, 0.002, 0.01, 0.02]
    assert tuple(1 / n for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)) == car.ETAS
    assert car.SIZES == (128, 256, 512, 1024, 2048)


@pytest.mark.parametrize("name", ["fig4", "fig5", "table1", "table2", "sensitivity-by-cell"])
def test_what_the_paper_gives_and_what_was_fixed_beforehand(name: str) -> None:
    experiment = load_experiment(name)
    assert experiment.runs >= (300 if name.startswith("table") else 100)
    for field, values in ({field: {value} for field, value in GIVEN.items()} | OPEN).items():
        if not name.startswith("sensitivity") and field in OPEN:
            values = {getattr(ControlSetting(), field)}
        assert {getattr(setting, field) for setting in experiment.settings} == values, field
    assert {setting.sigma_noise for setting in experiment.settings} == {0.0, 0.01}
    # At σ = 1 the target plays no part.
    targets = Counter(s.target for s in experiment.settings if s.sigma < 1.0)
    assert targets["greedy"] == targets["epsilon-greedy"] > 0


def test_the_tables_have_51_sigmas_in_six_cells_for_both_targets() -> None:
    cells: dict[tuple[str, float, int], list[ControlSetting]] = {}
    for setting in load_experiment("table2").settings:
        cells.setdefault((setting.target, setting.alpha, setting.p), []).append(setting)
    assert len(cells) == 2 * 2 * 3
    for settings in cells.values():
        np.testing.assert_allclose([one.sigma for one in settings], [0.0, *MEANS, 1.0], rtol=1e-15)
        assert [one.sigma_noise for one in settings] == [0.0] + [0.01] * 49 + [0.0]


def test_the_sensitivity_study_varies_one_thing_at_a_time_and_everything_that_is_open() -> None:
    default = dataclasses.asdict(ControlSetting(memory="rltoolkit"))
    free = {"sigma", "sigma_noise", "target", "alpha", "p"}
    experiment = load_experiment("sensitivity-by-cell")
    changed: dict[str, set[object]] = {}
    for setting in experiment.settings:
        fields = dataclasses.asdict(setting).items()
        differing = {f: value for f, value in fields if value != default[f] and f not in free}
        assert len(differing) <= 1
        for field, value in differing.items():
            changed.setdefault(field, set()).add(value)
    assert changed == {f: values - {default[f]} for f, values in OPEN.items() if f != "eta"}
    import xarray

    whole = xarray.Dataset({"start": ("setting", [one.start for one in experiment.settings])})
    labelled = look_up("finish", experiment.finish)(whole)
    counts = Counter(labelled["variation"].values.tolist())
    assert set(counts.values()) == {15}  # three cells, two and three ways
    here = labelled["variation"].values == "start anywhere"
    assert set(labelled["start"].values[here]) == {"anywhere"}


def test_figure_2_runs_every_sigma_by_a_hundredth_in_every_reading() -> None:
    settings = load_experiment("fig2").settings
    readings, alphas = ("continuing", "bootstrap", "terminal"), (0.001, 0.01, 0.1)
    assert {(s.reading, s.alpha) for s in settings} == {(r, a) for r in readings for a in alphas}
    for setting in settings:
        np.testing.assert_allclose(setting.sigmas, np.linspace(0, 1, 101), atol=1e-15)
    assert {(s.lam, s.gamma) for s in settings} == {(0.99, 0.99)}


@pytest.mark.parametrize("name", REGISTRY)
def test_every_function_that_an_experiment_names_exists(name: str) -> None:
    experiment = load_experiment(name)
    kinds = ("summary", "finish", "report")
    named = {"runner": experiment.function} | {kind: getattr(experiment, kind) for kind in kinds}
    assert all(callable(look_up(kind, function)) for kind, function in named.items() if function)
    assert isinstance(experiment.settings[0], look_up("setting", experiment.function))


def test_unknown_experiments_are_refused() -> None:
    with pytest.raises(ValueError, match="'fig9'; it should be one of 'fig2'"):
        load_experiment("fig9")


def test_what_is_kept_of_control_runs_agrees_with_the_engine_and_is_made_again(
    tmp_path: Path,
) -> None:
    """Figure 4 cut down to seconds: three σ, few short episodes."""
    whole = load_experiment("fig4")
    settings = [one for one in whole.settings if one.sigma in (0.0, 0.5, 1.0)]
    short = tuple(dataclasses.replace(one, episodes=60, max_steps=200) for one in settings)
    experiment = dataclasses.replace(whole, settings=short, runs=12)
    store = Store(tmp_path / "store")
    run_sweep(experiment, store)
    dataset = load_results(save_results(tmp_path / "fig4.npz", collect(experiment, store)))
    for index in (0, 3, 17):
        direct = run_control(short[index], 12, experiment.seed)
        row = with_scores(dataset).isel(setting=index)
        last = direct.steps[:, -LAST:].mean(axis=1)
        np.testing.assert_array_equal(row["score"], direct.score)
        np.testing.assert_allclose(row["score_last"], last, rtol=1e-14)
        np.testing.assert_array_equal(row["capped"], direct.capped.sum(axis=1))
        np.testing.assert_array_equal(row["diverged"], direct.diverged)
        np.testing.assert_array_equal(row["checksum"], direct.checksum % 2**32)
        np.testing.assert_allclose(row["mean"], direct.steps.mean(axis=0), rtol=1e-14)
        variance = direct.steps.var(axis=0, ddof=1)
        np.testing.assert_allclose(row["variance"], variance, rtol=1e-12, atol=1e-9)
        median = row["steps_quantile"].sel(quantile=0.5)
        np.testing.assert_array_equal(median, np.sort(direct.steps, axis=0)[5])
    for setting, run in ((0, 11), (5, 4)):
        remade = recompute(dataset, setting, run)
        for name in ("steps_total", "steps_last", "capped", "diverged", "checksum"):
            assert remade[name][1][0] == dataset[name].values[setting, run]


# Two states


def test_runs_of_two_states_are_the_steps_of_equation_10() -> None:
    """Run 4 of a seed, two σ on its trajectory, kept after every fiftieth part."""
    setting = TwoStateSetting((0.2, 1.0), 0.6, 0.9, 0.05, "bootstrap", 100)
    found = two_state_runs(setting, 2, 3, first_run=3)
    domain = two_state(0.9, "bootstrap")
    path = domain.trajectory(100, seeds.generator(3, 4, seeds.TRAJECTORY))
    assert found["theta"].shape == (2, 51, 2, 2)
    for i, sigma in enumerate(setting.sigmas):
        theta, trace, kept = np.array(domain.theta0), np.zeros(2), [domain.theta0]
        for k in range(100):
            seen = path.phi[k], path.reward[k], path.phi_next[k], path.phi_next_expected[k]
            numbers = {"sigma": sigma, "lam": 0.6, "gamma": 0.9, "alpha": 0.05}
            theta, trace, _ = semi_gradient_step(theta, trace, *seen, **numbers)
            trace = trace * (not path.ends[k])
            kept += [theta] if k % 2 else []
        np.testing.assert_allclose(found["theta"][1, :, i], kept, rtol=1e-12)
    assert not found["diverged"].any()
    few = two_state_runs(TwoStateSetting(0.5, steps=10), 1, 0, first_run=0)
    assert few["theta"].shape[1] == 11


@pytest.mark.parametrize("alpha", [0.1, 50.0])
def test_runs_of_two_states_stop_where_they_diverge_and_do_not_depend_on_the_cut(
    alpha: float,
) -> None:
    setting = TwoStateSetting((0.0, 0.2), alpha=alpha)
    together, alone = (
        two_state_runs(setting, n, 0, first_run=first) for n, first in ((3, 0), (1, 2))
    )
    assert together["diverged"].all()
    assert np.isfinite(together["theta"]).all()
    np.testing.assert_array_equal(alone["theta"][0], together["theta"][2])


def test_a_setting_keeps_numbers_as_pythons_and_refuses_others_by_name() -> None:
    one = TwoStateSetting(1, 1, np.float32(0.5), 0, steps=np.int64(100))
    assert [*one.sigmas, one.lam, one.gamma, one.alpha, one.steps] == [1.0, 1.0, 0.5, 0.0, 100]
    kinds = [type(x) for x in (*one.sigmas, one.lam, one.gamma, one.alpha, one.steps)]
    assert kinds == [float] * 4 + [int]
    for sigmas, told in (((), "it should hold at least one"), ((0.5, 1.5), r"in \[0, 1\]")):
        with pytest.raises(ValueError, match=rf"^sigmas is .*{told}"):
            TwoStateSetting(sigmas)
