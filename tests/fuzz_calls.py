"""A valid call of every public callable of the library, derived from its signature, for other tests to spoil or vary.

The public surface is what the modules of the library list in ``__all__``; keys are ``module.function``,
``module.Class`` for a construction and ``module.Class.method``, by the module that defines it. An argument gets the
first of: what `EXCEPTIONS` says, an object of its annotated type, the value that `VALUES` has for its name, its
default, a plain value of its type. So a new function needs an entry only for a name that no other function has, or
where its arguments must match.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import gqlib

ROOT = Path(__file__).parents[1]

# Values by name. Probabilities are of powers of 2, so that every kind of floating-point number can hold them.
VALUES: dict[str, Any] = {
    # rates and single numbers
    **{"sigma": 0.3, "lam": 0.4, "gamma": 0.9, "alpha": 0.1, "beta": 0.1, "eta": 2.1, "epsilon": 0.1},
    **{"rho": 1.3, "rho_next": 1.3, "reward": 0.7, "probability": 0.3, "ceiling": 9.0, "near": 0.2, "s": 1.1},
    **{"confidence": 0.9, "coverage": 0.8, "mean": 0.5, "variance": 4.0, "percentage": 20.5, "bound": 1e8},
    **{"position": -0.5, "velocity": 0.01, "score_at_0": 4.0, "score_at_1": 5.0, "level": 0.05},
    # whole numbers
    **{"steps": 20, "kept": 10, "runs": 2, "seed": 3, "first_run": 0, "run": 0, "episodes": 2, "max_steps": 30},
    **{"p": 64, "memory": 64, "tilings": 2, "num_tilings": 2, "numtilings": 2, "ihtORsize": 64, "sizeval": 16},
    **{"points": 5, "states": 5, "length": 3, "resamples": 20, "repetitions": 3, "every": 2, "n": 5, "t": 1, "i": 0},
    **{"j": 0, "k": 0, "count": 2, "better": 1, "between": 2, "worse": 2, "denominator": 49, "remainder": 2, "axis": 0},
    **{"largest_denominator": 100, "runs_per_task": 2, "episode_steps": 3, "action": 1, "next_action": 0},
    # a problem with two states, two actions and two features
    "mu": np.array([[0.5, 0.5], [0.25, 0.75]]),
    "pi": np.array([[1.0, 0.0], [0.25, 0.75]]),
    "policy": np.array([[0.5, 0.5], [0.25, 0.75]]),
    "transitions": np.array([[[0.5, 0.5], [0.25, 0.75]], [[1.0, 0.0], [0.5, 0.5]]]),
    "rewards": np.array([[1.0, -1.0], [0.5, 2.0]]),
    "features": np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]]),
    "chain": np.array([[0.5, 0.5], [1.0, 0.0]]),
    "start": np.array([1.0, 0.0]),
    "p_trace": None,  # left out, though given names
    "rewards_pi": None,
    # vectors and matrices of that size
    **dict.fromkeys(("theta", "theta0", "vector"), np.array([1.0, 2.0])),
    **{"omega": np.array([0.5, 0.0]), "trace": np.array([0.0, 1.0]), "phi": np.array([1.0, 0.5])},
    **{"phi_next": np.array([0.0, 2.0]), "phi_next_expected": np.array([0.5, 1.0]), "v": np.eye(2)},
    **dict.fromkeys(("phi_next_traced", "ratios"), np.array([1.0, 1.0])),
    **dict.fromkeys(("matrix", "drift", "far", "a", "constant"), np.array([[-1.0, 3.0], [0.0, -2.0]])),
    **{"noise": np.eye(2), "m": np.array([[2.0, 1.0], [1.0, 3.0]]), "slope": np.array([[1.0, 2.0], [0.0, 1.0]])},
    "q": np.array([[1.0, 0.0], [0.0, 1.0]]),
    "inverse": np.eye(2),
    # sequences
    **{"sigmas": np.array([0.0, 0.5]), "lams": np.array([0.0, 0.75]), "alphas": (0.125,), "etas": (1.0,)},
    **{"times": np.array([0.0, 1.0]), "values": np.array([0.75, 1.25]), "ends": np.array([False, True, False])},
    **{"normals": np.array([0.125, 1.0, -1.0]), "row": np.array([0.0, 1.0]), "thresholds": np.array([3.0, 5.0])},
    **{"p_values": np.array([0.125, 0.25, 0.5]), "denominators": [49, 50], "percentages": [53.1, 38.8, 8.1]},
    **dict.fromkeys(("first", "sample", "dynamic"), np.array([3.0, 5.0, 4.0, 6.0])),
    **dict.fromkeys(("second", "at_zero", "at_one"), np.array([2.0, 3.5, 3.0, 4.0])),
    "scores": np.array([[5.0, 6.0, 4.0, 5.5], [3.0, 4.0, 2.0, 3.5], [6.0, 7.0, 6.5, 5.0]]),
    "sums": np.array([20, 130, 1100, 10354]),
    **{"tables": np.arange(12.0).reshape(3, 2, 2) ** 2, "exact": np.eye(2), "state": np.array([0.25, 0.5, -0.125, 0.0])},
    **{"next_state": np.array([0.5, 0.5, 0.125, 0.0]), "low": np.array([-2.0, -3.0, -0.25, -3.0])},
    **{"high": np.array([2.0, 3.0, 0.25, 3.0]), "floats": [0.25, 0.5], "ints": [1], "wrapwidths": [2, None]},
    **{"coordinates": [3, -1], "table": np.arange(2048)},
    # words
    **{"domain": "boyan_chain", "panel": "Boyan, printed", "reading": "expected", "learner": "gq", "drawn": "run"},
    **{"variant": "corrected", "engine": "fast", "alternative": "two-sided", "text": "Eqs. (25)–(26)"},
    **{"name": "first", "title": "A title", "version": "1", "kind": "runner", "allow": (), "dask": None, "progress": False},
    # what goes to the disk
    **{"header": {"seed": 7}, "data": b"abc", "value": {"sigma": 0.5}, "obj": (0, 1)},
}
PLAIN = {"int": 2, "float": 0.5, "bool": True, "complex": 1.0}


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@cache
def folder() -> Any:
    return tempfile.TemporaryDirectory()


def place(name: str) -> Path:
    return Path(folder().name) / name


@cache
def moments() -> Any:
    return good("gqlib.evaluation.measures.empirical_moments")


@cache
def history() -> Any:
    return next(iter(good("gqlib.evaluation.run.histories")))


@cache
def symbols() -> Any:
    return good("gqlib.symbolic.twin")


@cache
def claims() -> Any:
    return good("gqlib.claims.load_claims")[:3]


def exact_matrix() -> Any:
    import sympy as sp

    return sp.Matrix([[sp.Rational(1, 2), sp.Rational(1, 2)], [1, 0]])


def environment() -> Any:
    import gymnasium

    return gymnasium.make("CartPole-v1", max_episode_steps=5)


@cache
def sweep(name: str = "control") -> Any:
    """A small experiment that has been run, and its result."""
    from gqlib.sweeps.results import collect
    from gqlib.sweeps.store import Store
    from gqlib.sweeps.sweep import Experiment, run_sweep

    setting = make("TwoStateSetting" if name == "two-state" else "ControlSetting")
    settings = tuple(dataclasses.replace(setting, sigma=s) for s in (0.0, 0.5, 1.0)) if name == "control" else (setting,)
    experiment = Experiment(name, "A small sweep", name, settings, 4, 2019, "1", 2, summary=name)
    run_sweep(experiment, Store(place("store")))
    return experiment, collect(experiment, Store(place("store")))


@cache
def searched() -> Any:
    """What a search for step sizes would return, by chance."""
    import xarray

    from gqlib.experiments import figure3

    settings = figure3.search().settings
    dims, shape = ("setting", "sigma", "alpha", "eta"), (len(settings), 5, 9, 6)
    names = ("domain", "options", "learner")
    words = {name: ("setting", [str(getattr(s, name)) for s in settings]) for name in names}
    keys = {"key": ("setting", [s.key for s in settings]), "lam": ("setting", [s.lam for s in settings])}
    arrays = {"mspbe": (dims, rng().random(shape)), "diverged": (dims, np.zeros(shape))}
    return xarray.Dataset(arrays, coords=words | keys, attrs={"name": "fig3-search"})


# Objects by annotation; classes that can be constructed by a derived call need no entry.
OBJECTS: dict[str, Callable[[], Any]] = {
    "np.random.Generator": rng,
    "Generator": rng,
    "np.random.Generator | Random": rng,
    "LinearPrediction": lambda: make("PredictionProblem"),
    "Domain": lambda: gqlib.domains.two_state(0.75),
    "Trajectory": lambda: gqlib.domains.two_state(0.75).trajectory(20, rng()),
    "WeightedTrajectory": lambda: history()[0],
    "Sequence[Trajectory]": lambda: [gqlib.domains.two_state(0.75).trajectory(20, rng())] * 2,
    "Moments": moments,
    "Tables": lambda: good("gqlib.learners.corrected.variant_tables"),
    "Rounding": lambda: make("PredictionProblem").rounding(0.5, 0.5),
    "NoiseParabola": lambda: good("gqlib.variance.gq_noise"),
    "PredictionResult": lambda: good("gqlib.evaluation.run.run_prediction"),
    "EndComparison": lambda: good("gqlib.stats.ends.compare_with_ends"),
    "Panel": lambda: importlib.import_module("gqlib.experiments.figure3").PANELS["Boyan, printed"],
    "SymbolicProblem": symbols,
    "sp.Matrix": exact_matrix,
    "sp.Expr": lambda: "1/2",
    "SigmaFields": lambda: make("ControlSetting"),
    "TileTable": lambda: good("gqlib.control.tile_tables.tile_table"),
    "Experiment": lambda: sweep()[0],
    "Setting": lambda: sweep()[0].settings[0],
    "xarray.Dataset": lambda: sweep()[1],
    "Store": lambda: make("Store", directory=place("store")),
    "Mapping[str, PredictionSetting]": lambda: {"a": make("PredictionSetting")},
    "Mapping[str, NDArray[Any]]": lambda: {"steps": np.arange(3)},
    "Iterable[Claim]": claims,
    "Callable[[], float]": lambda: rng().random,
    "Callable[[Any], Array]": lambda: make("TileCoder"),
    "Callable[[float], float]": lambda: (lambda x: x * (x - 1.0)),
}


def stored(name: str, write: Callable[[Path], Any]) -> Callable[[], Path]:
    """The path of a file that is written when it is first asked for."""

    def ask() -> Path:
        if not place(name).exists():
            write(place(name))
        return place(name)

    return ask


def _save(path: Path) -> None:
    importlib.import_module("gqlib.sweeps.results").save_results(path, sweep()[1])


def _put(path: Path) -> None:
    importlib.import_module("gqlib.sweeps.store").write_file(path, good("gqlib.sweeps.store.pack"))


def _pole_agent() -> Any:
    from gqlib.control import agent, gym

    coder = gym.tile_coder(environment(), low=VALUES["low"], high=VALUES["high"], tilings=2, memory=64)
    return agent.Agent(coder, rng())


# Arguments that must match each other, or that mean something else than elsewhere. Functions are called for the value.
ON_PAIRS = {"rewards": np.array([1.0, -1.0, 0.5, 2.0]), "xi": np.array([0.25, 0.25, 0.25, 0.25])} | {
    name: lambda name=name: np.array(make("FiniteMDP").pair_chain(VALUES[name[2:]])) for name in ("p_mu", "p_pi")
}
ENDING: dict[str, Any] = {
    "mdp": lambda: gqlib.FiniteMDP([[[0.5, 0.5]] * 2, [[0.0, 1.0]] * 2], [[1.0, 2.0], [0.0, 0.0]], 1.0, terminal=[1])
}
PART = {"part": lambda: searched().isel(setting=0)}
EXCEPTIONS: dict[str, dict[str, Any]] = {
    "mdp.FiniteMDP": {"terminal": ()},
    "prediction.PredictionProblem": ON_PAIRS,
    "prediction.PredictionProblem.on_pairs": {"start": None},
    "prediction.PredictionProblem.on_states": {"start": None, "features": np.eye(2)},
    "prediction.LinearPrediction": ON_PAIRS | {"gram": ON_PAIRS["xi"], "p_trace": ON_PAIRS["p_mu"]},
    "learners.corrected.CorrectedProblem": ON_PAIRS,
    "learners.corrected.trace_variance_limit": {"ratios": np.array([2.0, 0.0, 1.0, 1.0])},
    "stability.sign_changes": {"points": np.array([-1.0, 0.5, 2.0]), "noise": 0.0},
    "long_run.long_run_covariance": {
        "problem": lambda: good("gqlib.prediction.PredictionProblem.on_pairs"),
        "bootstrap": lambda: np.array(good("gqlib.learners.corrected.variant_tables", variant="paper").u),
        "theta": lambda: good("gqlib.prediction.PredictionProblem.on_pairs").fixed_point(0.3, 0.4),
    },
    "symbolic.exact": {"name": "gamma", "value": "0.99"},
    "symbolic.exact_matrix": {"name": "p_mu", "value": [["1/2", "1/2"], [1, 0]]},
    "symbolic.pair_chain": {"transitions": [[["1/3", "2/3"]], [[1, 0]]], "policy": [[1], [1]]},
    "symbolic.twin": {"problem": lambda: gqlib.domains.two_state(0.75).problem, "gamma": None},
    "symbolic.to_array": {"values": {}},
    "domains.boyan_chain.boyan_chain": {"reading": "literal", "end": "absorb", "terminal_features": "zero"},
    "domains.episodes.Episode": {
        "states": np.array([0, 1, 0, 1]), "actions": np.array([0, 1, 1, 0]), "rewards": np.array([1.0, 0.5, -1.0])
    },
    "domains.episodes.sample_episode": ENDING,
    "domains.episodes.TabularTask": ENDING,
    "learners.relatives.n_step_q_sigma_return": {
        "values": np.array([0.0, 1.0, 4.0]),
        **{name: np.array([0.5, 1.0]) for name in ("expected", "rewards", "probabilities")},
    },
    "learners.sparse.SparseGQ.step": {
        "phi": ([0, 1], [0.5, 0.5]), "phi_next": ([1], [2.0]), "phi_next_expected": ([0], [3.0])
    },
    "learners.sigma.Schedule": {"noise": 0.25, "drawn": "episode", "ramp_to": 0.75},
    "learners.ensemble.gq_ensemble": {"pairs": np.array([[0, 1, 2, 3, 0], [3, 2, 1, 0, 2]])},
    "tabular.control.n_step_q_sigma_control": {"sigma": np.array([0.0, 1.0])},
    "tabular.control.q_sigma_lambda_control": {"sigma": np.array([0.0, 1.0])},
    "control.agent.TileCoder": {"tiles_per_side": 4},
    "control.agent.Agent": {"target": "greedy"},
    "control.gym.tile_coder": {"env": environment, "memory": 64},
    "control.gym.play": {"env": environment, "agent": _pole_agent},
    "control.gym.GymSetting": {"env": "CartPole-v1", "tiles_per_side": (4, 4, 4, 4), "max_steps": 5},
    "control.tile_tables.make_memory": {"memory": "int"},
    "evaluation.curves.late": {"values": np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 2.0, 1.0, 1.0]])},
    "evaluation.run.PredictionResult.error": {"target": np.ones(14)},
    "evaluation.run.learn_on": {"sigma": lambda: history()[1].copy()},
    "evaluation.run.prepare": {"sigma": lambda: history()[1].copy()},
    "evaluation.measures.value_error": {"target": np.array([1.0, 2.0, 3.0, 4.0])},
    "evaluation.measures.exact_mspbe": {"theta": np.array([[1.0, 2.0], [3.0, 1.0]])},
    "evaluation.measures.empirical_mspbe": {"theta": np.array([[1.0, 2.0], [3.0, 1.0]])},
    "evaluation.measures.discounted_traces": {"phi": np.array([[1.0], [2.0], [0.0]])},
    "evaluation.grids.find": {"dataset": searched, "setting": lambda: good("gqlib.experiments.figure3.search_setting")},
    "evaluation.grids.grid_summary": {"arrays": lambda: good("gqlib.evaluation.grids.grid_runs")},
    "experiments.load_experiment": {"name": "fig4"},
    "experiments.figure2.two_state_summary": {"arrays": lambda: good("gqlib.experiments.figure2.two_state_runs")},
    "experiments.figure3.best_cell": PART | {"sigma": 0.5},
    "experiments.figure3.common_cell": PART,
    "experiments.figure3.choices": {"dataset": searched},
    "experiments.figure3.interior": {"dataset": searched},
    "experiments.figure3.search_setting": {"lam": 0.9},
    "experiments.figure3.curve_setting": {"mean": 0.5, "noise": 0.25},
    "experiments.mountain_car.control_grid": {"sigmas": [{"sigma": 0.5}], "p": (64, 128), "target": ("greedy",)},
    **{
        f"experiments.mountain_car.{name}": {"arrays": lambda: good("gqlib.experiments.mountain_car.control_runs")}
        for name in ("control_summary", "control_summary_with_spread")
    },
    "experiments.reports.grid_report": {"dataset": lambda: searched().isel(setting=[0, 1])},
    "experiments.reports.two_state_report": {"dataset": lambda: sweep("two-state")[1]},
    "experiments.reports.pooled_report": {"dataset": lambda: good("gqlib.experiments.reports.pooled_cases")},
    "sweeps.names.current": {"name": "control"},
    "sweeps.names.former": {"name": "control"},
    "sweeps.names.look_up": {"name": "control"},
    "sweeps.sweep.Experiment": {
        "name": "small", "function": "control", "settings": lambda: sweep()[0].settings, "summary": "control"
    },
    "sweeps.store.unpack": {"data": lambda: good("gqlib.sweeps.store.pack")},
    "sweeps.store.write_file": {"path": lambda: place("written")},
    "sweeps.store.read_file": {"path": stored("first.npz", _put)},
    "sweeps.store.Store": {"directory": lambda: place("inner")},
    "sweeps.results.keep_all": {"arrays": {"theta": np.zeros((3, 2))}},
    "sweeps.results.recompute": {"setting": 1},
    "sweeps.results.save_results": {"path": lambda: place("saved.npz")},
    "sweeps.results.load_results": {"path": stored("kept.npz", _save)},
    "sweeps.workers.computed": {"tasks": lambda: sweep()[0].tasks()[:1], "workers": 1},
    "stats.cases.case_counts": {"scores": VALUES["first"]},
    "stats.comparisons.performance_profile": {"scores": VALUES["first"]},
    "stats.intervals.tolerance_interval": {"sample": np.arange(60.0)},
    "stats.intervals.variance_interval": {"runs": 5},
    "stats.ends.cell": {"target": "greedy", "p": 64},
    "timescales.search_rare_action": {"eta": 0.5},
    "claims.load_claims": {"path": ROOT / "gqlib" / "claims.yml"},
    "rltoolkit.hash_tiles": {"coordinates": np.array([[3, -1], [2051, 0]])},
}  # fmt: skip

RECORD = "a record that a function fills in, a protocol or an exception; it checks nothing by itself"
# Inner steps on what their callers have checked: called, and with numbers of every kind, but not with nonsense.
UNSPOILT = {
    *(f"gqlib.control.tile_tables.{name}" for name in ("TileTable.cell", "TileTable.indices", "scaled", "tile_table")),
    *(f"gqlib.learners.{name}" for name in ("gq.mix", "gq.v_vector", "sigma.Schedule.at", "sigma.SigmaFields.check_sigma")),
    *(f"gqlib.sweeps.{name}" for name in ("names.current", "names.former", "workers.computed")),
    *("gqlib.domains.base.sample_chain", "gqlib.evaluation.measures.discounted_traces"),
    *("gqlib.rounding.Rounding.fixed_point", "gqlib.stability.sign_changes"),
}
COMPILED = "compiled, or a table for compiled code: takes what its callers have checked"
LEFT_OUT = {
    "gqlib.cli.main": "has its own fuzz test, on lines of arguments",
    "gqlib.edition.figures.new": "hands its arguments to matplotlib",
    "gqlib.edition.explore.to_javascript": "translates sympy expressions of this module",
    **dict.fromkeys(
        [f"gqlib.domains.finite.{name}" for name in ("Chain", "Chain.walk", "Tables.trajectory", "build")],
        "inner steps of the domains, on records that they fill in",
    ),
}


def why_not(key: str, value: Any) -> str:
    """Why a public callable has no call of its own; empty where it has."""
    if inspect.isclass(value):
        checks = hasattr(value, "__post_init__") or not (dataclasses.is_dataclass(value) or issubclass(value, tuple))
        plain = issubclass(value, BaseException) or getattr(value, "_is_protocol", False)
        return RECORD if plain or not checks else LEFT_OUT.get(key, "")
    if key.startswith("gqlib.fast.") or type(value).__name__ == "CPUDispatcher":
        return COMPILED
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
                members = {name: getattr(member, "__func__", member) for name, member in vars(value).items()}
                methods = [name for name, member in members.items() if inspect.isfunction(member)]
                found |= {f"{key}.{n}": getattr(value, n) for n in methods if n == "__call__" or not n.startswith("_")}
    return found


@cache
def keys() -> tuple[str, ...]:
    """The names of all callables that have a call."""
    return tuple(sorted(key for key, value in public().items() if not why_not(key, value)))


def make(name: str, **changes: Any) -> Any:
    """An object of the class of that name, by the derived call of its constructor."""
    key = next(key for key in keys() if key.endswith(f".{name}"))
    return good(key, **changes)


def good(key: str, **changes: Any) -> Any:
    """What the derived call returns."""
    return public()[key](**(call(key) | changes))


def derive(key: str, parameter: inspect.Parameter) -> Any:
    """A good value for one argument."""
    name, annotation = parameter.name, parameter.annotation
    kind = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    kind = key.split(".")[-2] if name == "self" else kind.removesuffix(" | None")
    if kind in OBJECTS:
        return OBJECTS[kind]()
    if re.fullmatch(r"\w+", kind) and any(other.endswith(f".{kind}") for other in keys()):
        return make(kind)
    has_default = parameter.default is not parameter.empty
    if name not in VALUES or (kind == "str" and has_default):
        if not has_default and kind not in PLAIN:
            raise LookupError(f"{key} has an argument {name}: {kind}, for which fuzz_calls knows no value")
        return parameter.default if has_default else PLAIN[kind]
    value = VALUES[name]
    if isinstance(value, np.ndarray) and kind in PLAIN:
        return parameter.default if has_default else PLAIN[kind]
    return tuple(value.tolist()) if isinstance(value, np.ndarray) and kind.startswith(("tuple", "list", "Seq")) else value


def call(key: str) -> dict[str, Any]:
    """Arguments by name for a public callable; new ones every time, where they can be changed."""
    parameters = inspect.signature(public()[key]).parameters
    special = EXCEPTIONS.get(key.removeprefix("gqlib."), {})
    named = [p for p in parameters.values() if p.kind is not p.VAR_KEYWORD]
    more = {} if len(named) < len(parameters) else dict.fromkeys(special.keys() - parameters.keys())
    found = {p.name: derive(key, p) for p in named if p.name not in special}
    found |= {name: value() if callable(value) else value for name, value in special.items() if name not in more}
    return {name: value.copy() if isinstance(value, np.ndarray | dict) else value for name, value in found.items()}

