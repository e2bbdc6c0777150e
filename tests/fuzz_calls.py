"""A valid call of every public callable in the library, derived from its signature, for other tests to spoil or vary.

The public surface is what the modules of the library list in ``__all__``; keys are ``module.function``,
``module.Class`` for a construction and ``module.Class.method``, by the module that defines it. An argument takes the
first of these that exists: what `EXCEPTIONS` says, an object of its annotated type, the value that `VALUES` has for its
name, its default, a plain value of its type. So a new function needs an entry only for a name that no other function
has, or where its arguments must match.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import gqlib
from gqlib.sweeps.names import TABLE
from gqlib.sweeps.own import coin, own_setting

ROOT = Path(__file__).parents[1]
KEPT = tempfile.TemporaryDirectory()
FOLDER = Path(KEPT.name)

# Values by name. Probabilities are of powers of 2, so that every kind of floating-point number can hold them.
VALUES: dict[str, Any] = {
    # rates and single numbers
    **{
        "sigma": 0.3,
        "lam": 0.4,
        "gamma": 0.9,
        "alpha": 0.1,
        "beta": 0.1,
        "eta": 2.1,
        "epsilon": 0.1,
    },
    **{
        "rho": 1.3,
        "rho_next": 1.3,
        "reward": 0.7,
        "probability": 0.3,
        "ceiling": 9.0,
        "near": 0.2,
        "s": 1.1,
    },
    **{
        "confidence": 0.9,
        "coverage": 0.8,
        "mean": 0.5,
        "variance": 4.0,
        "percentage": 37.5,
        "bound": 1e8,
    },
    **{"position": -0.5, "velocity": 0.01, "score_at_0": 4.0, "score_at_1": 5.0, "level": 0.05},
    # whole numbers
    **{
        "steps": 140,
        "kept": 10,
        "runs": 2,
        "seed": 3,
        "first_run": 0,
        "run": 0,
        "episodes": 2,
        "max_steps": 30,
    },
    **{
        "p": 512,
        "size": 512,
        "tilings": 2,
        "num_tilings": 2,
        "numtilings": 2,
        "ihtORsize": 64,
        "sizeval": 16,
    },
    **{
        "points": 5,
        "states": 5,
        "length": 3,
        "resamples": 20,
        "repetitions": 3,
        "every": 2,
        "n": 5,
        "t": 1,
        "i": 0,
    },
    **{
        "j": 0,
        "k": 0,
        "count": 2,
        "better": 1,
        "between": 2,
        "worse": 2,
        "denominator": 40,
        "remainder": 2,
        "axis": 0,
    },
    **{
        "largest_denominator": 100,
        "runs_per_task": 2,
        "episode_steps": 3,
        "action": 1,
        "next_action": 0,
    },
    # a problem with two states, two actions and two features
    **dict.fromkeys(("mu", "policy"), np.array([[0.5, 0.5], [0.25, 0.75]])),
    "pi": np.array([[1.0, 0.0], [0.25, 0.75]]),
    "transitions": np.array([[[0.5, 0.5], [0.25, 0.75]], [[1.0, 0.0], [0.5, 0.5]]]),
    "rewards": np.array([[1.0, -1.0], [0.5, 2.0]]),
    "features": np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]]),
    **{
        "chain": np.array([[0.5, 0.5], [1.0, 0.0]]),
        "start": np.array([1.0, 0.0]),
        "xi": np.full(4, 0.25),
    },
    **{
        "rewards_pi": None,
        "ratios": np.array([2.0, 0.0, 1.0, 1.0]),
        "pairs": np.array([[0, 1, 2, 3], [3, 2, 1, 0]]),
    },
    # vectors and matrices of that size
    **dict.fromkeys(("theta", "theta0", "vector"), np.array([1.0, 2.0])),
    **{"omega": np.array([0.5, 0.0]), "trace": np.array([0.0, 1.0]), "phi": np.array([1.0, 0.5])},
    **{"phi_next": np.array([0.0, 2.0]), "phi_next_expected": np.array([0.5, 1.0]), "v": np.eye(2)},
    **{
        "phi_next_traced": np.ones(2),
        "phi_next_carried": np.ones(2),
        "c": np.array([[0.5, 1.0], [1.0, 0.5]]),
    },
    **dict.fromkeys(
        ("matrix", "drift", "far", "a", "constant"), np.array([[-1.0, 3.0], [0.0, -2.0]])
    ),
    **{
        "noise": np.eye(2),
        "m": np.array([[2.0, 1.0], [1.0, 3.0]]),
        "slope": np.array([[1.0, 2.0], [0.0, 1.0]]),
    },
    **dict.fromkeys(("q", "inverse", "exact"), np.eye(2)),
    # sequences
    **{
        "sigmas": np.array([0.0, 0.5]),
        "lams": np.array([0.0, 0.75]),
        "alphas": (0.125,),
        "etas": (1.0,),
    },
    **{
        "times": np.array([0.0, 1.0]),
        "values": np.array([0.75, 1.25]),
        "ends": np.array([False, True, False]),
    },
    **{
        "normals": np.array([0.125, 1.0, -1.0]),
        "row": np.array([0.0, 1.0]),
        "thresholds": np.array([3.0, 5.0]),
    },
    **{
        "p_values": np.array([0.125, 0.25, 0.5]),
        "denominators": [40, 41],
        "percentages": [37.5, 12.5, 50.0],
    },
    **dict.fromkeys(("first", "sample", "dynamic"), np.array([3.0, 5.0, 4.0, 6.0])),
    **dict.fromkeys(("second", "at_zero", "at_one"), np.array([2.0, 3.5, 3.0, 4.0])),
    "scores": np.array([[5.0, 6.0, 4.0, 5.5], [3.0, 4.0, 2.0, 3.5], [6.0, 7.0, 6.5, 5.0]]),
    "sums": np.array([20, 130, 1100, 10354]),
    **{"tables": np.arange(12.0).reshape(3, 2, 2) ** 2, "table": np.arange(2048)},
    **{"state": np.array([0.25, 0.5, -0.125, 0.0]), "next_state": np.array([0.5, 0.5, 0.125, 0.0])},
    **{
        "low": np.array([-2.0, -3.0, -0.25, -3.0]),
        "high": np.array([2.0, 3.0, 0.25, 3.0]),
        "floats": [0.25, 0.5],
    },
    **{"ints": [1], "wrapwidths": [2, None], "coordinates": [3, -1]},
    # words
    **{
        "domain": "boyan_chain",
        "panel": "Boyan, printed",
        "reading": "expected",
        "learner": "gq",
        "drawn": "run",
    },
    **{
        "variant": "corrected",
        "engine": "fast",
        "alternative": "two-sided",
    },
    **{
        "name": "first",
        "title": "A title",
        "version": "1",
        "kind": "runner",
        "allow": (),
        "dask": None,
    },
    **{
        "progress": False,
        "header": {"seed": 7},
        "data": b"abc",
        "value": {"sigma": 0.5},
        "obj": (0, 1),
    },
}
VALUES |= {
    f"p_{name}": (VALUES["transitions"][..., None] * VALUES[name]).reshape(4, 4)
    for name in ("mu", "pi")
}
PLAIN = {"int": 2, "float": 0.5, "bool": True, "complex": 1.0}


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def by(key: str, **changes: Any) -> Callable[[], Any]:
    """A function that calls another one, for the value."""
    return lambda: good(key, **changes)


@cache
def claims() -> Any:
    return good("claims.load_claims")[:3]


@cache
def sweep(name: str = "control") -> Any:
    """A small experiment that has been run, and its result; the name is that of its runner."""
    from gqlib.sweeps.results import collect
    from gqlib.sweeps.store import Store
    from gqlib.sweeps.sweep import Experiment, run_sweep

    varied = [{"sigma": sigma} for sigma in (0.0, 0.5, 1.0)] if name == "control" else [{}]
    settings = tuple(good(TABLE["setting"][name].replace(":", "."), **fields) for fields in varied)
    experiment = Experiment(name, "A small sweep", name, settings, 4, 2019, "1", 2, summary=name)
    run_sweep(experiment, Store(FOLDER / "store"))
    return experiment, collect(experiment, Store(FOLDER / "store"))


@cache
def searched() -> Any:
    """What a search for step sizes would return, by chance."""
    import xarray

    from gqlib.experiments import figure3
    from gqlib.sweeps.setting import plain
    from gqlib.sweeps.store import canonical_json

    settings = figure3.search().settings
    dims, shape = ("setting", "sigma", "alpha", "eta"), (len(settings), 5, 9, 6)
    words = {
        name: ("setting", [str(getattr(s, name)) for s in settings])
        for name in ("domain", "options", "learner")
    }
    keys = {
        "key": ("setting", [s.key for s in settings]),
        "lam": ("setting", [s.lam for s in settings]),
    }
    arrays = {"mspbe": (dims, rng().random(shape)), "diverged": (dims, np.zeros(shape))}
    listed = canonical_json([plain(setting) for setting in settings])
    return xarray.Dataset(arrays, words | keys, {"name": "fig3-search", "settings": listed})


# Objects by annotation. A class that checks its arguments needs no entry, nor a record that some function returns.
OBJECTS: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(("np.random.Generator", "Generator", "np.random.Generator | Random"), rng),
    **dict.fromkeys(
        ("LinearPrediction", "PredictionProblem"), by("prediction.PredictionProblem.on_pairs")
    ),
    **dict.fromkeys(("Task", "Task | list[Task]"), by("methods.task.Task")),
    "FiniteDomain": by("domains.five_state_walk.five_state_walk"),
    "Method": lambda: importlib.import_module("gqlib.methods").METHODS["TDRC(λ)"],
    "Seen": lambda: importlib.import_module("gqlib.methods.steps").Seen(
        VALUES["phi"],
        0.7,
        VALUES["phi_next"],
        VALUES["phi_next"],
        w=1.3,
        c=0.5,
        rho=1.3,
        onward=1.0,
    ),
    "Weights": by("methods.steps.Weights.first"),
    "Domain": by("domains.two_state.two_state", reading="continuing"),
    "WeightedTrajectory": lambda: next(iter(good("evaluation.run.histories")))[0],
    "Sequence[Trajectory]": lambda: [good("domains.base.Domain.trajectory")] * 2,
    "Panel": lambda: importlib.import_module("gqlib.experiments.figure3").PANELS["Boyan, printed"],
    "SigmaFields": lambda: make("ControlSetting"),
    "sp.Matrix": lambda: importlib.import_module("sympy").Matrix([["1/2", "1/2"], [1, 0]]),
    "sp.Expr": lambda: "1/2",
    "Experiment": lambda: sweep()[0],
    "Setting": lambda: sweep()[0].settings[0],
    "xarray.Dataset": lambda: sweep()[1],
    "Store": lambda: make("Store", directory=FOLDER / "store"),
    "Mapping[str, PredictionSetting]": lambda: {"a": make("PredictionSetting")},
    "Mapping[str, NDArray[Any]]": lambda: {"steps": np.arange(3)},
    "Iterable[Claim]": claims,
    "Callable[[], float]": lambda: rng().random,
    "Callable[[Any], Array]": lambda: make("TileCoder"),
    "Callable[[float], float]": lambda: lambda x: x * (x - 1.0),
}

# Arguments that must match each other, or that mean something else than elsewhere. Functions are called for the value;
# what is said of a class holds for its subclasses too.
ROW = {"method": "gradient", "target": "greedy", "p": 512, "sigma": 0.5}


@cache
def tuning_search(part: str) -> Any:
    """What a search for the step sizes of the car would return, by chance."""
    import xarray

    from gqlib.experiments import load_experiment

    settings = load_experiment(f"control-{part}").settings
    steps = rng().integers(100, 200, (len(settings), 1, len(list(settings[0].cells()))))
    data = xarray.Dataset({"steps_total": (("setting", "run", "cell"), steps)})
    return data.assign_coords(key=("setting", [setting.key for setting in settings]))


@cache
def tuned(part: str = "tuned") -> Any:
    """A score for every row at its chosen step sizes, by chance."""
    import xarray

    from gqlib.experiments import load_experiment

    settings = load_experiment(f"control-{part}").settings
    data = xarray.Dataset({"score": (("setting", "run"), rng().random((len(settings), 2)))})
    return data.assign_coords(key=("setting", [setting.key for setting in settings]))


def engine(name: str) -> Any:
    """A module of the engine."""
    return importlib.import_module(f"gqlib.engine.{name}")


@cache
def searched_today() -> Any:
    """What the search of Part V would return, by chance."""
    import xarray

    from gqlib.experiments import load_experiment

    settings = load_experiment("today-search").settings
    data = xarray.Dataset(
        {"score": (("setting", "run", "cell"), rng().random((len(settings), 1, 48)))}
    )
    return data.assign_coords(key=("setting", [setting.key for setting in settings]))


ENV = {"env": lambda: importlib.import_module("gymnasium").make("CartPole-v1", max_episode_steps=5)}
SIDE_BY_SIDE = {
    "envs": lambda: importlib.import_module("gymnasium").make_vec("FrozenLake-v1", 2, "sync"),
    "agents": lambda: [
        make("Agent", features=good("control.features.TableCoder", sizes=16, actions=4))
        for _ in "ab"
    ],
}
PART = {
    "part": lambda: (
        searched()
        .isel(setting=0)
        .assign_coords(sigma=range(5), alpha=range(1, 10), eta=range(1, 7))
    )
}
EXCEPTIONS: dict[str, dict[str, Any]] = {
    "mdp.FiniteMDP.from_gym": {"env": lambda: importlib.import_module("gymnasium").make("FrozenLake-v1")},
    "prediction.LinearPrediction": {"rewards": np.arange(4.0), "gram": VALUES["xi"], "p_trace": VALUES["p_mu"]},
    "prediction.PredictionProblem": {"p_trace": None},
    "prediction.PredictionProblem.on_pairs": {"start": None},
    "prediction.PredictionProblem.on_states": {"start": None, "features": np.eye(2)},
    "stability.sign_changes": {"points": np.array([-1.0, 0.5, 2.0]), "noise": 0.0},
    "long_run.long_run_covariance": {
        "c": None,
        "bootstrap": lambda: np.array(good("learners.corrected.variant_tables", variant="paper").u),
        "theta": lambda: good("prediction.PredictionProblem.on_pairs").fixed_point(0.3, 0.4),
    },
    "emphatic.followon_second_moment": {"ratios": np.ones(4)},
    "poisson.Affine": {"constant": np.arange(4.0), "slope": VALUES["features"]},
    "poisson.affine_poisson": dict.fromkeys(("chain", "carried"), VALUES["p_mu"])
    | {"xi": lambda: good("prediction.PredictionProblem.on_pairs").xi},
    "poisson.mean_increments": {"rewards": np.arange(4.0)} | dict.fromkeys(("change", "pull"), VALUES["features"]),
    "symbolic.exact": {"name": "gamma", "value": "0.99"},
    "symbolic.exact_matrix": {"name": "p_mu", "value": [["1/2", "1/2"], [1, 0]]},
    "symbolic.pair_chain": {"transitions": [[["1/3", "2/3"]], [[1, 0]]], "policy": [[1], [1]]},
    "symbolic.twin": {"problem": lambda: gqlib.domains.two_state(0.75).problem, "gamma": None},
    "symbolic.to_array": {"values": {}},
    "domains.base.Domain": {
        "problem": lambda: OBJECTS["Domain"]().problem,
        "theta0": np.array([2.0, 0.0]),
        "sampler": lambda: OBJECTS["Domain"]().sampler,
    },
    "domains.boyan_chain.boyan_chain": {"end": "absorb"},
    "domains.episodes.Episode": dict.fromkeys(("states", "actions"), np.array([0, 1, 1, 0])) | {"rewards": np.ones(3)},
    "domains.episodes.sample_episode": {"mdp": by("mdp.FiniteMDP", gamma=1.0, terminal=[1])},
    "domains.episodes.TabularTask": {"mdp": by("mdp.FiniteMDP", gamma=1.0, terminal=[1])},
    "domains.collision.collision": {"features": None},
    "tiles3.tile_hash": {"coordinates": (0, -3, 2)},
    "domains.five_state_walk.five_state_walk": {"features": "dependent"},
    "methods.task.Task": {"features": np.eye(2), "start": None, "theta0": None},
    "methods.task.Task.follow": {"draws": lambda: rng().random((4, 2, 3))},
    "methods.catalogue.Method": {"beta": None},
    "stats.intervals.bootstrap_interval": {"statistic": lambda: np.mean},
    "methods.mean.carried": {"c": np.array([0.5, 1.0, 1.0, 0.5])},
    "methods.limits.largest_step": {"joint": VALUES["matrix"]},
    "methods.noise.increment_covariance": {"theta": None},
    "methods.steps.gap": {"step": 7},
    "experiments.today.MapSetting": {"problem": "two-state", "method": "TD(λ)", "lam": 0.5, "sigma": None},
    "experiments.today.RunSetting": {"problem": "star", "method": "TDRC(λ)", "lam": 0.5, "steps": 20, "every": 5},
    "experiments.today.method_of": {"name": "TD(λ)", "sigma": None},
    "experiments.today.problem": {"name": "star"},
    "experiments.today_control.cells_of": {"row": "Sarsa(λ)"},
    "experiments.today_control.RowSetting": {"task": "cart_pole", "row": "Sarsa(λ)", "cells": ((0.5, 0.125, 1.0),)},
    "experiments.today_control.engine_setting": {"task": "cart_pole", "row": "Sarsa(λ)", "cell": (0.5, 0.125, 1.0)},
    "experiments.today_control.chosen_cells": {"search": lambda: searched_today()},
    **{f"stats.strata.{name}": {"strata": [VALUES["first"], VALUES["second"]]} for name in (
        "interquartile_mean", "stratified_interval")},
    "learners.relatives.n_step_q_sigma_return": {"values": np.array([0.0, 1.0, 4.0])}
    | {name: np.array([0.5, 1.0]) for name in ("expected", "rewards", "probabilities")},
    "learners.sparse.SparseGQ.step": {name: ([0, 1], [0.5, 1.0]) for name in ("phi", "phi_next", "phi_next_expected")},
    "learners.gq.gq_steps": dict.fromkeys(("phi", "phi_next", "phi_next_expected"), VALUES["tables"][0])
    | {"reward": np.array([1.0, -1.0]), "ends": None},
    "learners.sigma.Schedule": {"noise": 0.25, "drawn": "episode", "ramp_to": 0.75},
    "control.gym.tile_coder": ENV | {"size": 64},
    "control.gym.features_of": ENV | {"low": VALUES["low"], "high": VALUES["high"]},
    "control.gym.evaluate": ENV
    | {"agent": lambda: make("Agent", features=good("control.gym.tile_coder")), "policy": "greedy"},
    "control.vector.play_side_by_side": SIDE_BY_SIDE,
    "control.features.TableCoder": {"sizes": (3, 2), "actions": 2, "first": 0},
    "control.agent.Agent.rate": {"name": "alpha"},
    "control.agent.Agent.save": {"path": lambda: FOLDER / "agent.npz"},
    "control.agent.Agent.load": {"path": by("control.agent.Agent.save"), "features": None},
    "control.gym.play": ENV | {"agent": lambda: make("Agent", features=good("control.gym.tile_coder"))},
    "control.gym.GymSetting": {"env": "CartPole-v1", "tiles_per_side": (4, 4, 4, 4), "max_steps": 5},
    "control.tile_tables.make_memory": {"memory": "int"},
    "control.tile_tables.make_coder": {"memory": "rltoolkit"},
    **{f"experiments.search_one_hash.{name}": {"row": ROW} for name in ("row_grids", "row_name", "tuned_setting")},
    "experiments.search_one_hash.choices": {
        name: lambda name=name: tuning_search(name) for name in ("search", "wide")
    },
    "experiments.search_one_hash.tuned_scores": {"dataset": tuned, "dynamic": False, "method": "gradient"}
    | {"target": "greedy", "p": 512},
    "experiments.search_drawn_tiles.neighbours": {"row": ROW, "cell": (0.005, 0.25)},
    "experiments.search_drawn_tiles.row_windows": {"row": ROW, "path": [(0.005, 0.25)]},
    "experiments.search_drawn_tiles.given_up": {"row": ROW, "found": None},
    "experiments.search_drawn_tiles.best_row": {"method": "gradient", "place": ("greedy", 512), "found": None},
    "experiments.search_drawn_tiles.final_outcomes": {"found": {}, "finals": lambda: tuned("finals")},
    "experiments.search_drawn_tiles.panel_row": {"method": "gradient", "place": ("greedy", 512), "sigma": 0.5},
    "experiments.search_drawn_tiles.scores": {"dataset": lambda: tuned("family"), "row": ROW},
    "experiments.search_drawn_tiles.p_values": {"dataset": lambda: tuned("family")},
    "stats.intervals.bounded_interval": {"low": 0.0, "high": 8.0},
    "engine.coders.Tiles": {"low": (0.0, 0.0), "high": (1.0, 1.0), "tiles": (2, 2), "tilings": 4},
    "engine.coders.Tiles.indices": {"state": (0.5, 0.25)},
    "engine.coders.Features": {"fill": lambda: engine("environments")._chain_fill, "size": 8, "active": 1},
    "engine.coders.Features.indices": {"state": 1, "data": ()},
    "engine.environments.Environment": {
        **{name: lambda name=name: getattr(engine("environments"), f"_pole_{name}") for name in ("start", "step")},
        "observe": lambda: engine("environments")._as_it_is,
        "coder": lambda: engine("environments").cart_pole().coder,
        **{"actions": 2, "data": (), "max_steps": 5, "name": "pole"},
    },
    "learners.texts.Learner": {
        part: lambda part=part: getattr(importlib.import_module("gqlib.learners.texts").LEARNERS["gq"], part)
        for part in ("begin", "before", "after")
    },
    "engine.environments.chain": {"name": "walk"},
    "engine.runs.EngineSetting": {"environment": "cart_pole", "learner": "sarsa", "options": (), "target": "greedy"}
    | {"episodes": 2, "max_steps": 5, "kappa": 1.0},
    "evaluation.curves.late": {"values": np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 2.0, 1.0, 1.0]])},
    "evaluation.run.PredictionResult.error": {"target": np.ones(14)},
    "evaluation.measures.value_error": {"target": np.arange(4.0)},
    **{f"evaluation.measures.{kind}_mspbe": {"theta": VALUES["m"]} for kind in ("exact", "empirical")},
    "evaluation.measures.discounted_traces": {
        "phi": np.array([[1.0], [2.0], [0.0]]), "ends": np.array([False, True, False])
    },
    "evaluation.grids.find": {"dataset": searched, "setting": by("experiments.figure3.search_setting")},
    "experiments.load_experiment": {"name": "fig4"},
    "experiments.figure3_rules.best_cell": PART | {"sigma": 1.0},
    "experiments.figure3_rules.common_cell": PART,
    **{f"experiments.figure3_rules.{name}": {"dataset": searched, "others": ()} for name in ("choices", "interior")},
    "experiments.figure3.search_setting": {"lam": 0.9},
    "experiments.figure3.choice_name": {"way": 0.5},
    "experiments.figure3.own_setting": {"sigma": 0.25, "lam": 0.5},
    "stats.ends.better_than_both": {"middle": VALUES["first"], "test": "sign"},
    **{f"evaluation.grids.{name}_summary": {"arrays": by("evaluation.grids.grid_runs")} for name in ("cell", "score")},
    "experiments.figure3.curve_setting": {"mean": 0.5, "noise": 0.25},
    "experiments.mountain_car_results.cases_table": {"dataset": by("experiments.mountain_car_results.pooled_cases")}
    | {"by_cell": {}, "overall": {}},
    **{f"sweeps.names.{name}": {"name": "control"} for name in ("current", "former", "look_up")},
    "sweeps.sweep.Experiment": {"function": "control", "settings": lambda: sweep()[0].settings, "summary": "control"},
    "sweeps.own.own_setting": {"function": "gqlib.sweeps.own:coin", "word": "a"},
    "sweeps.own.own_runs": {"setting": lambda: own_setting("gqlib.sweeps.own:coin", heads=0.5, throws=10)},
    "sweeps.own.own_study": {"function": lambda: coin, "grid": {"heads": (0.5, 0.25), "throws": (10,)}},
    "sweeps.own.run_study": {"study": lambda: sweep()[0], "directory": lambda: FOLDER / "study"},
    "sweeps.own.coin": {"heads": 0.5, "throws": 10},
    "sweeps.setting.plain": {"setting": lambda: sweep()[0].settings[0]},
    "sweeps.store.unpack": {"data": by("sweeps.store.pack")},
    "sweeps.store.write_file": {"path": lambda: FOLDER / "written"},
    "sweeps.store.Store": {"directory": lambda: FOLDER / "inner"},
    "sweeps.results.keep_all": {"arrays": {"theta": np.zeros((3, 2))}},
    "sweeps.results.recompute": {"setting": 1},
    "sweeps.results.save_results": {"path": lambda: FOLDER / "saved.npz"},
    "sweeps.exports.export_results": {"path": lambda: FOLDER / "saved.csv"},
    "sweeps.exports.select": {"name": "sigma", "value": "0.5"},
    "plots.plot_result": {"variable": "score"},
    **{f"sweeps.{n}": {"path": by("sweeps.results.save_results")} for n in ("results.load_results", "store.read_file")},
    "sweeps.workers.computed": {"tasks": lambda: sweep()[0].tasks()[:1], "workers": 1},
    **{f"stats.{n}": {"scores": VALUES["first"]} for n in ("cases.case_counts", "comparisons.performance_profile")},
    "stats.intervals.tolerance_interval": {"sample": np.arange(60.0)},
    "stats.intervals.variance_interval": {"runs": 5},
    "stats.ends.cell": {"target": "greedy", "p": 512},
    "rltoolkit.hash_tiles": {"coordinates": np.array([[3, -1], [2051, 0]])},
}  # fmt: skip


def listed(path: str) -> str | None:
    """The key of a function of the table, where its module lists it among what is public."""
    module, _, name = path.partition(":")
    public_names = importlib.import_module(module).__all__
    return f"{module.removeprefix('gqlib.')}.{name}" if name in public_names else None


# A summary takes what its runner returns, a report what was collected.
for name, runner in TABLE["runner"].items():
    for other, path in TABLE["summary"].items():
        if name in (other, other.split()[0]) and (key := listed(path)):
            EXCEPTIONS[key] = {"arrays": by(runner.replace(":", "."))}
    if name in TABLE["report"] and (key := listed(TABLE["report"][name])):
        EXCEPTIONS[key] = {"dataset": lambda name=name: sweep(name)[1]}

EXCEPTIONS["control.grids.control_grid_summary"] = {"arrays": by("control.grids.control_grid_runs")}
# Inner steps on what their callers have checked and converted: called, but with nothing else than that.
UNSPOILT = {
    f"gqlib.{name}"
    for name in (
        *("control.tile_tables.TileTable.cell", "control.tile_tables.TileTable.indices"),
        *(
            "control.tile_tables.make_coder",
            "control.tile_tables.make_memory",
            "control.tile_tables.scaled",
        ),
        *("control.tile_tables.tile_table", "rules.tied"),
        *("learners.gq.mix", "learners.gq.v_vector", "learners.sigma.Schedule.at"),
        *("learners.sigma.SigmaFields.check_sigma", "sweeps.names.current", "sweeps.names.former"),
        *("sweeps.workers.computed", "domains.base.sample_chain"),
        *("rounding.Rounding.fixed_point", "sweeps.setting.plain"),
    )
}
LEFT_OUT = {
    "gqlib.cli.main": "has its own fuzz test, on lines of arguments",
    "gqlib.sweeps.setting.later": "takes whatever a field may be by default",
    **{
        f"gqlib.{name}": "reads results of a whole search: tests/test_experiments_prediction.py"
        for name in (
            "evaluation.curves.curve_interval",
            *(f"experiments.figure3_rules.{rule}" for rule in ("joined", "kindest")),
        )
    },
    "gqlib.engine.environments.draw": "is for compiled code, whose arguments have types",
    **{
        f"gqlib.engine.runs.{name}": "compiles, which takes longer than a case may; refusals: tests/test_engine.py"
        for name in ("run", "run_setting", "engine_runs")
    },
    "gqlib.plots.new": "hands its arguments to matplotlib",
    **{
        f"gqlib.domains.finite.{name}": "inner steps of the domains, on records that they fill in"
        for name in ("Chain", "Chain.walk", "Tables.trajectory", "build")
    },
    **{
        f"gqlib.domains.{name}": "a Domain with records that its own function fills in; what it shares is Domain's"
        for name in ("cart_pole.CartPole", "finite.FiniteDomain")
    },
}


def why_not(key: str, value: Any) -> str:
    """Why a public callable has no call of its own; empty where it has."""
    if inspect.isclass(value):
        checks = hasattr(value, "__post_init__") or not (
            dataclasses.is_dataclass(value) or issubclass(value, tuple)
        )
        plain = issubclass(value, BaseException) or getattr(value, "_is_protocol", False)
        return (
            "checks nothing: a record, an exception"
            if plain or not checks
            else LEFT_OUT.get(key, "")
        )
    if key.startswith("gqlib.fast.") or type(value).__name__ == "CPUDispatcher":
        return "compiled, or a table for compiled code: takes what its callers have checked"
    parameters = inspect.signature(value).parameters.values()
    if not [p for p in parameters if p.name not in ("self", "cls")]:
        return "takes no argument"
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return "takes any number of positional numbers, checked by the setting that they go into"
    if {"axes", "figure"} & {p.name for p in parameters}:
        return "draws for the book, whose records and browser test cover it"
    return LEFT_OUT.get(key, "")


@cache
def public() -> dict[str, Any]:
    """Every public callable by its dotted name: functions, classes, and the public methods of classes."""
    found = {}
    for module in pkgutil.walk_packages(gqlib.__path__, "gqlib."):
        if "._" in module.name:
            continue
        loaded = importlib.import_module(module.name)
        for value in (getattr(loaded, name) for name in getattr(loaded, "__all__", ())):
            if not callable(value) or not getattr(value, "__module__", "").startswith("gqlib"):
                continue
            key = f"{value.__module__}.{value.__name__}"
            found[key] = value
            if inspect.isclass(value):
                members = {
                    name: getattr(member, "__func__", member)
                    for name, member in vars(value).items()
                }
                functions = [name for name, member in members.items() if inspect.isfunction(member)]
                methods = [
                    name for name in functions if "__mutmut_" not in name
                ]  # variants, while mutants are tried
                found |= {
                    f"{key}.{n}": getattr(value, n)
                    for n in methods
                    if n == "__call__" or not n.startswith("_")
                }
    return found


@cache
def keys() -> tuple[str, ...]:
    """The names of all callables that have a call."""
    return tuple(sorted(key for key, value in public().items() if not why_not(key, value)))


@cache
def ways(name: str) -> list[str]:
    """What makes an object of that class: its method `of`, its constructor, or else the functions that return one."""
    if name in ("Array", "Arrays", "Path", "str", "bool", "int", "float"):
        return []
    returned = {key: getattr(public()[key], "__annotations__", {}).get("return") for key in keys()}
    own = [key for end in (f".{name}.of", f".{name}") for key in keys() if key.endswith(end)]
    return own + [key for key in keys() if returned[key] == name]


def make(name: str, **changes: Any) -> Any:
    """An object of that class, by the derived call of the first way to make one."""
    return good(ways(name)[0], **changes)


def good(key: str, **changes: Any) -> Any:
    """What the derived call returns; the name may go without ``gqlib.``."""
    key = f"gqlib.{key.removeprefix('gqlib.')}"
    return public()[key](**(call(key) | changes))


def derive(key: str, parameter: inspect.Parameter) -> Any:
    """A good value for one argument."""
    name, annotation = parameter.name, parameter.annotation
    kind = (
        annotation
        if isinstance(annotation, str)
        else getattr(annotation, "__name__", str(annotation))
    )
    kind = key.split(".")[-2] if name == "self" else kind.removesuffix(" | None")
    if (
        isinstance(parameter.default, str) and "|" not in kind
    ):  # a choice, which names its type as it likes
        return parameter.default
    if kind in OBJECTS:
        return OBJECTS[kind]()
    if ways(kind):
        return make(kind)
    has_default = parameter.default is not parameter.empty
    if name not in VALUES:
        if not has_default and kind not in PLAIN:
            raise LookupError(
                f"{key} has an argument {name}: {kind}, for which fuzz_calls knows no value"
            )
        return parameter.default if has_default else PLAIN[kind]
    value = VALUES[name]
    if isinstance(value, np.ndarray) and kind in PLAIN:
        return parameter.default if has_default else PLAIN[kind]
    as_tuple = isinstance(value, np.ndarray) and kind.startswith(("tuple", "list", "Sequence"))
    return tuple(value.tolist()) if as_tuple else value


def call(key: str) -> dict[str, Any]:
    """Arguments by name for a public callable; new ones every time, where they can be changed."""
    parameters = inspect.signature(public()[key]).parameters
    named = [p for p in parameters.values() if p.kind is not p.VAR_KEYWORD]
    bases = getattr(public()[key], "__mro__", ())[::-1]
    special: dict[str, Any] = {}
    for name in [*(f"{base.__module__}.{base.__name__}" for base in bases), key]:
        special |= EXCEPTIONS.get(name.removeprefix("gqlib."), {})
    found = {p.name: derive(key, p) for p in named if p.name not in special}
    fits = [name for name in special if name in parameters or len(named) < len(parameters)]
    found |= {name: special[name]() if callable(special[name]) else special[name] for name in fits}
    return {
        name: value.copy() if isinstance(value, np.ndarray | dict) else value
        for name, value in found.items()
    }
