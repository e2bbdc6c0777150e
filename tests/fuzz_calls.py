"""A valid call of every public callable of the library, for the fuzz test to spoil; and what is left out, and why.

The public surface is what the API page documents: `public_names` reads it from there, so that a new function without
an entry in `CALLS` (or a reason in `LEFT_OUT`) fails a test. Keys are ``module.function``, ``module.Class`` for a
construction, ``module.Class.method`` for a call on the object under ``"self"``.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import itertools
import re
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from gqlib import FiniteMDP, PredictionProblem

ROOT = Path(__file__).parents[1]
MU, PI = ((0.5, 0.5), (0.25, 0.75)), ((1.0, 0.0), (0.25, 0.75))
MOVES = (((0.5, 0.5), (0.25, 0.75)), ((1.0, 0.0), (0.5, 0.5)))
REWARDS, PHI = ((1.0, -1.0), (0.5, 2.0)), ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (2.0, -1.0))
RATES = {"sigma": 0.5, "lam": 0.5, "gamma": 0.9, "alpha": 0.1}


def public_names() -> set[str]:
    """Dotted names of all public callables, and of the public methods of classes, on the API page."""
    found = set()
    for module in re.findall(r"automodule:: (\S+)", (ROOT / "book" / "api.md").read_text(encoding="utf-8")):
        loaded = importlib.import_module(module)
        own = [name for name, value in vars(loaded).items() if getattr(value, "__module__", None) == module]
        for name in getattr(loaded, "__all__", own):
            value = getattr(loaded, name)
            if name.startswith("_") or not callable(value) or value.__module__ != module:
                continue
            found.add(f"{module}.{name}")
            if inspect.isclass(value):
                found |= {f"{module}.{name}.{method}" for method in _methods(value)}
    return found


def _methods(value: type) -> list[str]:
    """Its own public methods that take arguments, and those of bases that have no page of their own."""
    private = itertools.takewhile(lambda base: "._" in base.__module__, value.__mro__[1:])
    members = {name: member for base in (*private, value) for name, member in vars(base).items()}
    functions = {name: getattr(member, "__func__", member) for name, member in members.items()}
    return [
        name
        for name, function in functions.items()
        if inspect.isfunction(function)
        and (name == "__call__" or not name.startswith("_"))
        and len(inspect.signature(function).parameters) > 1
    ]


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@cache
def things() -> SimpleNamespace:
    """Objects that calls share; none of the calls may change them."""
    import sympy as sp

    from gqlib import agent, corrected, gym, long_run, symbolic
    from gqlib.control import ControlSetting, run_control
    from gqlib.domains import boyan_chain, domain_on_pairs, two_state
    from gqlib.domains.episodes import Episode, TabularTask
    from gqlib.evaluation import PredictionSetting, histories, run_prediction
    from gqlib.grids import GridSetting, grid_runs
    from gqlib.measures import empirical_moments
    from gqlib.stats import case_null
    from gqlib.store import Store, pack
    from gqlib.tasks import TwoStateSetting, control_runs, two_state_runs

    mdp = FiniteMDP(MOVES, REWARDS, 0.9)
    ending = FiniteMDP([[[0.5, 0.5]] * 2, [[0.0, 1.0]] * 2], [[1.0, 2.0], [0.0, 0.0]], 1.0, terminal=[1])
    problem = PredictionProblem.on_pairs(mdp, MU, PI, PHI)
    domain = two_state(0.9)
    folder = tempfile.TemporaryDirectory()
    store = Store(folder.name)
    store.put("first", {"seed": 7}, {"steps": np.arange(3)})
    control = ControlSetting(episodes=2, max_steps=30, p=64, alpha=0.01)
    prediction = PredictionSetting("boyan_chain", steps=20, kept=10)
    grid = GridSetting("boyan_chain", sigmas=(0.0, 0.5), alphas=(0.01,), etas=(1.0,), steps=20, kept=10)
    two = TwoStateSetting(sigma=0.5, steps=50)
    path, sigmas = next(iter(histories(prediction, 1, 3)))
    tables = corrected.variant_tables(mdp, MU, PI, PHI, 0.5, "corrected")
    half = sp.Rational(1, 2)
    chain = sp.Matrix([[half, half], [1, 0]])
    play = gym.GymSetting("CartPole-v1", low=(-2.4, -3.0, -0.2, -3.0), high=(2.4, 3.0, 0.2, 3.0), memory=64, episodes=1)
    coder = agent.TileCoder([0.0], [1.0], 2, tilings=2, memory=16)
    fixed = problem.fixed_point(0.5, 0.5)
    variant = corrected.variant_tables(mdp, MU, PI, PHI, 0.5, "paper")
    return SimpleNamespace(
        mdp=mdp,
        ending=ending,
        problem=problem,
        domain=domain,
        pairs_domain=domain_on_pairs(mdp, MU, PI, PHI),
        boyan=boyan_chain(states=5),
        task=TabularTask(ending, np.array([1.0, 0.0])),
        episode=Episode([0, 1, 0, 1], [0, 1, 1, 0], [1.0, 0.5, -1.0], ended=True),
        path=domain.trajectory(6, rng()),
        weighted=path,
        sigmas=sigmas,
        moments=empirical_moments(path, sigmas, 0.5, 0.9),
        folder=folder,
        store=store,
        archive=pack({"seed": 7}, {"steps": np.arange(3)}),
        control=control,
        prediction=prediction,
        predicted=run_prediction(prediction, 2, 3),
        grid=grid,
        two=two,
        arrays_control=control_runs(control, 2, 0, first_run=0),
        arrays_two=two_state_runs(two, 2, 0, first_run=0),
        arrays_grid=grid_runs(grid, 2, 0, first_run=0),
        steps=run_control(control, 2, 1),
        tables=tables,
        walks=np.array([[0, 1, 2, 3, 0], [3, 2, 1, 0, 2]]),
        chain=chain,
        symbolic=symbolic.twin(two_state(0.9).problem),
        play=play,
        coder=coder,
        null=case_null(5),
        gamma_matrix=long_run.long_run_covariance(problem, variant.u, fixed, 0.5),
        variant=variant,
        fixed=fixed,
        **_datasets(store, two),
    )


def _datasets(store: Any, two: Any) -> dict[str, Any]:
    import xarray

    from gqlib import experiments, experiments_prediction
    from gqlib.results import collect
    from gqlib.sweep import Experiment, run_sweep

    small = experiments.control_grid(
        experiments.fixed(0.0, 0.5, 1.0), target=("greedy",), alpha=(0.01,), p=(64,), episodes=(2,), max_steps=(30,)
    )
    control = experiments._control("small", "A small sweep", small, runs=4)
    states = Experiment(
        name="two", title="Two states", function="gqlib.tasks:two_state_runs", settings=(two,), runs=2, seed=1,
        version="1", runs_per_task=2, summary="gqlib.tasks:two_state_summary",
    )  # fmt: skip
    for sweep in (control, states):
        run_sweep(sweep, store)
    dataset = collect(control, store)
    search = experiments_prediction.search()
    shape = (len(search.settings), 5, 9, 6)
    fields = {
        name: ("setting", [str(getattr(s, name)) for s in search.settings]) for name in ("domain", "options", "learner")
    }
    found = xarray.Dataset(
        {name: (("setting", "sigma", "alpha", "eta"), value) for name, value in (
            ("mspbe", rng().random(shape)), ("diverged", np.zeros(shape)),
        )},
        coords=fields
        | {"key": ("setting", [s.key for s in search.settings]), "lam": ("setting", [s.lam for s in search.settings])},
        attrs={"name": search.name},
    )  # fmt: skip
    return {"dataset": dataset, "two_dataset": collect(states, store), "search": found, "sweep": control}


def step(*names: str, **more: Any) -> dict[str, Any]:
    """Arguments of a learner's step: three weights each, and rates."""
    vectors = {
        "theta": [1.0, 0.5, -1.0],
        "omega": [0.1, 0.0, 0.2],
        "trace": [0.0, 1.0, 0.5],
        "phi": [1.0, 0.0, 0.5],
        "phi_next": [0.0, 2.0, 1.0],
        "phi_next_expected": [0.5, 1.0, 1.0],
        "phi_bootstrap": [0.5, 1.0, 1.0],
        "reward": 0.5,
        "rho": 1.5,
        "beta": 0.1,
        **RATES,
    }
    return {
        name: np.array(vectors[name]) if isinstance(vectors[name], list) else vectors[name] for name in names
    } | more


def table(*rates: str, **more: Any) -> dict[str, Any]:
    """Arguments of a tabular learner."""
    return {"q": np.array(PHI)[:2], "episode": things().episode} | {name: RATES[name] for name in rates} | more


def arrays(**values: Any) -> dict[str, Any]:
    """Arguments, nested tuples made into arrays."""
    return {name: np.array(value) if isinstance(value, tuple) else value for name, value in values.items()}


GQ = (
    "theta",
    "omega",
    "trace",
    "phi",
    "reward",
    "phi_next",
    "phi_next_expected",
    "sigma",
    "lam",
    "gamma",
    "alpha",
    "beta",
)
SCORES = np.array([[5.0, 6.0, 4.0, 5.5], [3.0, 4.0, 2.0, 3.5], [6.0, 7.0, 6.5, 5.0]])
RUNS = np.array([3.0, 5.0, 4.0, 6.0])
OTHER = np.array([2.0, 3.5, 3.0, 4.0])
MATRIX = np.array([[-1.0, 3.0], [0.0, -2.0]])


def _mdp_and_policies(**more: Any) -> dict[str, Any]:
    return arrays(mdp=things().mdp, mu=MU, pi=PI, **more)


CALLS: dict[str, Any] = {
    # finite problems
    "gqlib.mdp.stationary_distribution": lambda: {"chain": np.array([[0.5, 0.5], [1.0, 0.0]])},
    "gqlib.mdp.FiniteMDP": lambda: arrays(transitions=MOVES, rewards=REWARDS, gamma=0.9, terminal=[]),
    **{
        f"gqlib.mdp.FiniteMDP.{name}": lambda: arrays(self=things().mdp, policy=MU)
        for name in ("policy", "pair_chain", "state_chain", "surviving_pair_chain", "surviving_state_chain", "q", "v")
    },
    "gqlib.prediction.PredictionProblem": lambda: {
        "features": np.array(PHI),
        "p_mu": np.array(things().problem.p_mu),
        "p_pi": np.array(things().problem.p_pi),
        "rewards": np.array(things().problem.rewards),
        "xi": np.array(things().problem.xi),
        "gamma": 0.9,
        "p_trace": None,
        "rewards_pi": None,
    },
    "gqlib.prediction.PredictionProblem.on_pairs": lambda: _mdp_and_policies(features=PHI, start=None),
    "gqlib.prediction.PredictionProblem.on_states": lambda: _mdp_and_policies(
        features=PHI[:2], start=None, average_rewards=True
    ),
    "gqlib.prediction.PredictionProblem.trace_weights": lambda: {"self": things().problem, "lam": 0.5},
    "gqlib.prediction.PredictionProblem.next_features": lambda: {"self": things().problem, "sigma": 0.5},
    **{
        f"gqlib.prediction.PredictionProblem.{name}": lambda: {"self": things().problem, "sigma": 0.5, "lam": 0.5}
        for name in ("A", "b", "gamma_v", "rank_A", "fixed_point", "rounding")
    },
    "gqlib.rounding.resolvent_error": lambda: {"chain": np.array([[0.5, 0.5], [0.25, 0.75]]), "decay": 0.9},
    **{
        f"gqlib.rounding.Rounding.{name}": lambda: arrays(self=things().problem.rounding(0.5, 0.5), theta=(1.0, 2.0))
        for name in ("residual", "gradient")
    },
    "gqlib.prediction.PredictionProblem.solve_M": lambda: {"self": things().problem, "vector": np.array([1.0, 2.0])},
    **{
        f"gqlib.prediction.PredictionProblem.{name}": lambda: arrays(
            self=things().problem, theta=(1.0, 2.0), sigma=0.5, lam=0.5
        )
        for name in ("mspbe", "mspbe_gradient", "td_step", "prop1_step")
    },
    **{
        f"gqlib.stability.{name}": lambda: {"matrix": MATRIX.copy()}
        for name in ("spectral_abscissa", "numerical_abscissa", "is_hurwitz", "is_negative_definite", "transient_peak")
    },
    "gqlib.stability.numerical_range": lambda: {"matrix": MATRIX.copy(), "points": 5},
    "gqlib.stability.growth": lambda: {"matrix": MATRIX.copy(), "times": np.array([0.0, 1.0])},
    "gqlib.stability.critical_sigma": lambda: {"problem": things().problem, "lam": 0.5},
    "gqlib.stability.joint_matrix": lambda: {"problem": things().problem, "sigma": 0.5, "lam": 0.5, "eta": 2.0},
    "gqlib.stability.phase_diagram": lambda: arrays(problem=things().problem, sigmas=(0.0, 0.5), lams=(0.0, 0.9)),
    **{
        f"gqlib.timescales.{name}": lambda: {"problem": things().problem, "sigma": 0.5, "lam": 0.5}
        for name in ("mean_matrices", "sufficient_eta", "necessary_eta", "eta_crossings", "eta_star")
    },
    "gqlib.timescales.rare_action_problem": lambda: {
        "far": MATRIX.copy(),
        "near": 0.2,
        "epsilon": 0.01,
        "gamma": 0.9,
    },
    "gqlib.timescales.search_rare_action": lambda: {"values": np.array([0.75, 1.25]), "eta": 0.5},
    "gqlib.variance.trace_second_moments": lambda: {"problem": things().problem, "lam": 0.5},
    "gqlib.variance.action_covariance": lambda: arrays(mdp=things().mdp, mu=MU, features=PHI),
    "gqlib.variance.NoiseParabola.__call__": lambda: {"self": _parabola(), "sigma": 0.5},
    "gqlib.variance.gq_noise": lambda: arrays(
        mdp=things().mdp, mu=MU, problem=things().problem, theta=(1.0, 2.0), omega=(0.5, 0.0), lam=0.5
    ),
    "gqlib.variance.stationary_moments": lambda: _mdp_and_policies(features=PHI, sigma=0.5, alpha=0.01),
    "gqlib.long_run.long_run_covariance": lambda: {
        "problem": things().problem,
        "bootstrap": np.array(things().variant.u),
        "theta": things().fixed.copy(),
        "lam": 0.5,
    },
    "gqlib.long_run.stationary_error": lambda: {
        "problem": things().problem,
        "drift": MATRIX.copy(),
        "noise": np.eye(2),
    },
    "gqlib.long_run.joint_noise": lambda: {"noise": np.eye(2), "eta": 0.5},
    # symbolic
    "gqlib.symbolic.exact": lambda: {"name": "gamma", "value": "0.99"},
    "gqlib.symbolic.exact_matrix": lambda: {"name": "p_mu", "value": [["1/2", "1/2"], [1, 0]]},
    "gqlib.symbolic.solve": lambda: {"matrix": things().chain.copy(), "right": things().chain.copy()},
    "gqlib.symbolic.stationary_law": lambda: {"chain": things().chain.copy()},
    "gqlib.symbolic.pair_chain": lambda: {"transitions": [[["1/3", "2/3"]], [[1, 0]]], "policy": [[1], [1]]},
    "gqlib.symbolic.SymbolicProblem.trace_weights": lambda: {"self": things().symbolic, "lam": "1/2"},
    "gqlib.symbolic.SymbolicProblem.A": lambda: {"self": things().symbolic, "sigma": "1/2", "lam": 0},
    "gqlib.symbolic.SymbolicProblem.b": lambda: {"self": things().symbolic, "lam": 0},
    "gqlib.symbolic.SymbolicProblem.gamma_v": lambda: {"self": things().symbolic, "sigma": "1/2", "lam": 0},
    "gqlib.symbolic.twin": lambda: {
        "problem": things().domain.problem,
        "gamma": None,
        "largest_denominator": 100,
    },
    "gqlib.symbolic.eigenvalues": lambda: {"matrix": things().chain.copy()},
    "gqlib.symbolic.critical_values": lambda: {"matrix": things().chain.copy()},
    "gqlib.symbolic.to_array": lambda: {"matrix": things().chain.copy(), "values": {}},
    # domains
    "gqlib.domains.base.Domain.trajectory": lambda: {"self": things().domain, "steps": 5, "rng": rng()},
    "gqlib.domains.two_state.two_state": lambda: arrays(gamma=0.9, reading="terminal", rewards=REWARDS),
    "gqlib.domains.baird_star.baird_star": lambda: {
        "features": "classical",
        "states": 4,
        "reading": "expected",
        "gamma": 0.9,
    },
    "gqlib.domains.boyan_chain.triangles": lambda: {"states": 5},
    "gqlib.domains.boyan_chain.boyan_chain": lambda: {
        "states": 5,
        "gamma": 0.9,
        "reading": "literal",
        "end": "absorb",
        "terminal_features": "zero",
        "episode_steps": 3,
    },
    "gqlib.domains.cart_pole.riccati_gain": lambda: {"gamma": 0.9},
    "gqlib.domains.cart_pole.cart_pole": lambda: {
        "gamma": 0.95,
        "features": "printed",
        "policy": "off",
        "reading": "literal",
        "start": "public",
    },
    "gqlib.domains.mountain_car.reset": lambda: {"rng": rng()},
    "gqlib.domains.mountain_car.step": lambda: {"position": -0.5, "velocity": 0.01, "action": 2},
    "gqlib.domains.episodes.Episode": lambda: arrays(
        states=(0, 1, 0), actions=(1, 1, 0), rewards=(0.0, 1.0), ended=True
    ),
    "gqlib.domains.episodes.sample_episode": lambda: arrays(
        mdp=things().ending, policy=MU, start=(1.0, 0.0), rng=rng(), max_steps=50
    ),
    "gqlib.domains.episodes.TabularTask": lambda: arrays(mdp=things().ending, start=(1.0, 0.0)),
    "gqlib.domains.episodes.TabularTask.episode": lambda: arrays(
        self=things().task, policy=MU, rng=rng(), max_steps=50
    ),
    "gqlib.domains.random_problems.random_policy": lambda: {
        "rng": rng(),
        "n_states": 2,
        "n_actions": 2,
        "concentration": 1.0,
    },
    "gqlib.domains.random_problems.random_mdp": lambda: {
        "rng": rng(),
        "n_states": 2,
        "n_actions": 2,
        "gamma": 0.9,
        "concentration": 1.0,
    },
    "gqlib.domains.random_problems.random_problem": lambda: {
        "rng": rng(),
        "n_states": 2,
        "n_actions": 2,
        "n_features": 2,
        "gamma": 0.9,
        "concentration": 1.0,
        "on_policy": False,
    },
    "gqlib.domains.random_problems.domain_on_pairs": lambda: _mdp_and_policies(features=PHI, theta0=(0.0, 1.0)),
    "gqlib.domains.random_walk.random_walk": lambda: {"length": 3, "gamma": 0.9},
    "gqlib.domains.gridworld.windy_gridworld": lambda: {"astray": 0.1, "gamma": 0.9},
    # learners
    "gqlib.learners.semi_gradient_step": lambda: step(
        "theta", "trace", "phi", "reward", "phi_next", "phi_next_expected", *RATES
    ),
    "gqlib.learners.gq_step": lambda: step(*GQ),
    "gqlib.learners.gq_step_lagged": lambda: step(*GQ, v=np.eye(3)),
    "gqlib.relatives.sarsa_lambda_step": lambda: step(
        "theta", "trace", "phi", "reward", "phi_next", "lam", "gamma", "alpha"
    ),
    "gqlib.relatives.expected_sarsa_step": lambda: step(
        "theta", "phi", "reward", "phi_next_expected", "gamma", "alpha"
    ),
    "gqlib.relatives.tree_backup_step": lambda: step(
        "theta", "trace", "phi", "reward", "phi_next_expected", "lam", "gamma", "alpha", probability=0.5
    ),
    "gqlib.gradient_td.maei_gq_step": lambda: step(
        "theta", "omega", "trace", "phi", "reward", "phi_next_expected", "rho", "lam", "gamma", "alpha", "beta"
    ),
    "gqlib.relatives.n_step_q_sigma_return": lambda: arrays(
        values=(0.0, 1.0, 4.0), expected=(2.0, 3.0), rewards=(1.0, 1.0), probabilities=(0.5, 0.5), sigma=0.5, gamma=0.9
    ),
    "gqlib.gradient_td.tdc_step": lambda: step(
        "theta", "omega", "trace", "phi", "reward", "phi_next", "rho", "lam", "gamma", "alpha", "beta"
    ),
    "gqlib.gradient_td.gtd2_step": lambda: step(
        "theta", "omega", "phi", "reward", "phi_next", "rho", "gamma", "alpha", "beta"
    ),
    "gqlib.sparse_gq.SparseGQ": lambda: {"theta": np.array([1.0, 0.0, 0.5]), "flush_below": 1e-4},
    "gqlib.sparse_gq.SparseGQ.step": lambda: {
        "self": _sparse(),
        "phi": ([0, 1], [0.5, 0.5]),
        "reward": 0.5,
        "phi_next": ([1], [2.0]),
        "phi_next_expected": ([0], [3.0]),
        "beta": 0.1,
        **RATES,
    },
    "gqlib.corrected.importance_ratios": lambda: arrays(mu=MU, pi=PI),
    "gqlib.corrected.corrected_gq_step": lambda: step(*GQ, rho_next=1.5, trace_weight=1.0, phi_next_traced=np.ones(3)),
    "gqlib.corrected.CorrectedProblem": lambda: CALLS["gqlib.prediction.PredictionProblem"](),
    "gqlib.corrected.CorrectedProblem.of": lambda: {"problem": things().problem, "trace": "weighted"},
    "gqlib.corrected.CorrectedProblem.gamma_v": lambda: {"self": _corrected(), "sigma": 0.5, "lam": 0.5},
    "gqlib.corrected.variant_tables": lambda: _mdp_and_policies(features=PHI, sigma=0.5, variant="corrected"),
    "gqlib.corrected.corrected_noise": lambda: _mdp_and_policies(
        problem=things().problem, theta=(1.0, 2.0), omega=(0.5, 0.0), lam=0.5, expected_trace=True
    ),
    "gqlib.corrected.trace_variance_limit": lambda: {
        "problem": things().problem,
        "ratios": np.array([2.0, 0.0, 1.0, 1.0]),
    },
    "gqlib.sigma.Schedule": lambda: {
        "mean": 0.5,
        "noise": 0.01,
        "drawn": "episode",
        "clipped": True,
        "ramp_to": 0.9,
        "decay": 0.9,
    },
    "gqlib.sigma.Schedule.means": lambda: arrays(self=_schedule(), ends=(False, True, False)),
    "gqlib.sigma.Schedule.values": lambda: arrays(
        self=_schedule(), ends=(False, True, False), normals=(0.1, 1.0, -1.0)
    ),
    "gqlib.sigma.Schedule.sample": lambda: arrays(self=_schedule(), ends=(False, True, False), rng=rng()),
    "gqlib.sigma.Schedule.outside": lambda: arrays(self=_schedule(), ends=(False, True, False)),
    "gqlib.sigma.dynamic": lambda: {"mean": 0.5, "drawn": "run", "clipped": False},
    "gqlib.sigma.family": lambda: {"drawn": "run", "clipped": False},
    "gqlib.sigma.ramp": lambda: {"drawn": "run", "clipped": False},
    # tables
    "gqlib.tabular.one_step.sarsa": lambda: table("gamma", "alpha"),
    "gqlib.tabular.one_step.expected_sarsa": lambda: table("gamma", "alpha", pi=np.array(PI)),
    "gqlib.tabular.one_step.q_learning": lambda: table("gamma", "alpha"),
    "gqlib.tabular.one_step.q_sigma": lambda: table("sigma", "gamma", "alpha", pi=np.array(PI)),
    "gqlib.tabular.n_step.n_step_sarsa": lambda: table("gamma", "alpha", n=2),
    "gqlib.tabular.n_step.n_step_tree_backup": lambda: table("gamma", "alpha", n=2, pi=np.array(PI)),
    "gqlib.tabular.n_step.n_step_q_sigma": lambda: table(
        "sigma", "gamma", "alpha", n=2, pi=np.array(PI), mu=np.array(MU), correct_bootstrap=True
    ),
    "gqlib.tabular.traces.sarsa_lambda": lambda: table("lam", "gamma", "alpha"),
    "gqlib.tabular.traces.q_pi_lambda": lambda: table("lam", "gamma", "alpha", pi=np.array(PI)),
    "gqlib.tabular.traces.q_sigma_lambda": lambda: table("sigma", "lam", "gamma", "alpha", pi=np.array(PI)),
    "gqlib.tabular.traces.td_errors": lambda: table("sigma", "gamma", pi=np.array(PI)),
    "gqlib.tabular.traces.td_error_return": lambda: table("sigma", "lam", "gamma", pi=np.array(PI), t=1),
    "gqlib.tabular.traces.lambda_return": lambda: table("lam", "gamma", t=1),
    "gqlib.tabular.traces.q_sigma_lambda_offline": lambda: table("sigma", "lam", "gamma", "alpha", pi=np.array(PI)),
    "gqlib.tabular.operator.mixture_policy": lambda: arrays(pi=PI, mu=MU, sigma=0.5),
    "gqlib.tabular.operator.policy_distance": lambda: arrays(pi=PI, mu=MU),
    "gqlib.tabular.operator.mixed_operator": lambda: _mdp_and_policies(sigma=0.5, lam=0.5),
    "gqlib.tabular.operator.mixed_fixed_point": lambda: _mdp_and_policies(sigma=0.5),
    "gqlib.tabular.operator.contraction_limit": lambda: {"gamma": 0.9, "sigma": 0.5, "distance": 1.0},
    "gqlib.tabular.control.epsilon_greedy": lambda: {"row": np.array([0.0, 1.0]), "epsilon": 0.1},
    "gqlib.tabular.control.n_step_q_sigma_control": lambda: {
        "task": things().task,
        "n": 2,
        "sigma": np.array([0.0, 1.0]),
        "alpha": 0.1,
        "epsilon": 0.1,
        "draw": rng().random,
        "max_steps": 20,
    },
    "gqlib.tabular.control.q_sigma_lambda_control": lambda: {
        "task": things().task,
        "lam": 0.5,
        "sigma": np.array([0.0, 1.0]),
        "alpha": 0.1,
        "epsilon": 0.1,
        "draw": rng().random,
        "max_steps": 20,
    },
    "gqlib.tabular.errors.rms_error": lambda: {"tables": np.ones((3, 2, 2)), "exact": np.eye(2), "ceiling": 9.0},
    "gqlib.tabular.errors.bias_variance": lambda: {"tables": rng().random((3, 2, 2)), "exact": np.eye(2)},
    "gqlib.tabular.errors.bias_variance_interval": lambda: {
        "tables": rng().random((3, 2, 2)),
        "exact": np.eye(2),
        "rng": rng(),
        "resamples": 5,
    },
    "gqlib.ensemble.pair_walks": lambda: {"problem": things().problem, "runs": 2, "steps": 3, "rng": rng()},
    "gqlib.ensemble.gq_ensemble": lambda: {
        "problem": things().problem,
        "tables": things().tables,
        "pairs": things().walks.copy(),
        "theta0": np.array([1.0, 0.0]),
        "lam": 0.5,
        "alpha": 0.1,
        "beta": 0.1,
        "every": 2,
        "bound": 1e8,
    },
    "gqlib.ensemble.trajectories": lambda: {"domain": things().domain, "runs": 2, "steps": 3, "rng": rng()},
    "gqlib.ensemble.semi_gradient_ensemble": lambda: {
        "paths": [things().path] * 2,
        "theta0": np.array([2.0, 0.0]),
        "sigmas": np.array([0.0, 1.0]),
        "lam": 0.5,
        "gamma": 0.9,
        "alpha": 0.1,
        "every": 2,
        "bound": 1e8,
    },
    # control
    "gqlib.tiles3.IHT": lambda: {"sizeval": 16},
    "gqlib.tiles3.IHT.getindex": lambda: {"self": _iht(), "obj": (0, 1), "readonly": False},
    "gqlib.tiles3.tiles": lambda: {
        "ihtORsize": 64,
        "numtilings": 4,
        "floats": [0.3, 0.4],
        "ints": [1],
        "readonly": False,
    },
    "gqlib.tiles3.tileswrap": lambda: {
        "ihtORsize": 64,
        "numtilings": 4,
        "floats": [0.3, 0.4],
        "wrapwidths": [2, None],
        "ints": [1],
        "readonly": False,
    },
    "gqlib.control_setting.ControlSetting": lambda: dataclasses.asdict(things().control),
    "gqlib.control.run_control": lambda: {
        "setting": things().control,
        "runs": 1,
        "seed": 1,
        "first_run": 0,
        "engine": "fast",
        "weights": True,
    },
    "gqlib.control_reference.one_run": lambda: {"setting": things().control, "seed": 1, "run": 0},
    "gqlib.agent.TileCoder": lambda: {
        "low": np.array([0.0, -1.0]),
        "high": np.array([1.0, 1.0]),
        "actions": 2,
        "tiles_per_side": 4,
        "tilings": 2,
        "memory": 16,
    },
    "gqlib.agent.TileCoder.active": lambda: {"self": _coder(), "state": np.array([0.3])},
    "gqlib.agent.TileCoder.__call__": lambda: {"self": _coder(), "state": np.array([0.3])},
    "gqlib.agent.Agent": lambda: {
        "features": _coder(),
        "rng": rng(),
        "eta": 1.0,
        "epsilon": 0.1,
        "target": "greedy",
        "corrected": True,
        **RATES,
    },
    **{
        f"gqlib.agent.Agent.{name}": lambda: {"self": _agent(), "state": np.array([0.3])}
        for name in ("values", "greedy", "act")
    },
    "gqlib.agent.Agent.learn": lambda: {
        "self": _agent(),
        "state": np.array([0.3]),
        "action": 1,
        "reward": 1.0,
        "next_state": np.array([0.6]),
        "next_action": 0,
        "terminated": False,
    },
    "gqlib.gym.tile_coder": lambda: {
        "env": _env(),
        "low": np.array([-2.4, -3.0, -0.2, -3.0]),
        "high": np.array([2.4, 3.0, 0.2, 3.0]),
        "memory": 64,
    },
    "gqlib.gym.play": lambda: {
        "env": _env(),
        "agent": _pole_agent(),
        "episodes": 1,
        "seed": 0,
        "learn": True,
    },
    "gqlib.gym.GymSetting": lambda: dataclasses.asdict(things().play),
    "gqlib.gym.gym_runs": lambda: {
        "setting": dataclasses.replace(things().play, max_steps=5),
        "runs": 1,
        "seed": 0,
        "first_run": 0,
    },
    # experiments and results
    "gqlib.evaluation.PredictionSetting": lambda: dataclasses.asdict(things().prediction),
    "gqlib.evaluation.PredictionResult.error": lambda: {"self": things().predicted, "target": np.ones(14)},
    "gqlib.evaluation.PredictionResult.empirical_mspbe": lambda: {
        "self": things().predicted,
        "seed": 3,
        "first_run": 0,
    },
    "gqlib.evaluation.histories": lambda: {"setting": things().prediction, "runs": 1, "seed": 3, "first_run": 0},
    "gqlib.evaluation.run_prediction": lambda: {
        "setting": things().prediction,
        "runs": 1,
        "seed": 3,
        "first_run": 0,
        "engine": "reference",
    },
    "gqlib.evaluation.learn_on": lambda: {
        "setting": things().prediction,
        "path": things().weighted,
        "sigma": things().sigmas.copy(),
    },
    "gqlib.evaluation.prepare": lambda: {
        "setting": things().prediction,
        "path": things().weighted,
        "sigma": things().sigmas.copy(),
    },
    "gqlib.evaluation.measured_problem": lambda: {"setting": things().prediction},
    "gqlib.measures.exact_mspbe": lambda: {
        "problem": things().problem,
        "theta": np.ones((3, 2)),
        "sigma": 0.5,
        "lam": 0.5,
    },
    "gqlib.measures.value_error": lambda: {
        "problem": things().problem,
        "theta": np.ones((3, 2)),
        "target": np.ones(4),
    },
    "gqlib.measures.mixture_value": lambda: {"problem": things().problem, "sigma": 0.5},
    "gqlib.measures.empirical_moments": lambda: {
        "path": things().path,
        "sigma": 0.5,
        "lam": 0.5,
        "gamma": 0.9,
    },
    "gqlib.measures.empirical_mspbe": lambda: {"moments": things().moments, "theta": np.ones((3, 4))},
    "gqlib.measures.lstd": lambda: {"moments": things().moments},
    "gqlib.experiments.control_grid": lambda: {"sigmas": [{"sigma": 0.5}], "p": (64, 128), "target": ("greedy",)},
    "gqlib.experiments.label_variations": lambda: {"dataset": _one_each()},
    "gqlib.experiments.load_experiment": lambda: {"name": "fig4"},
    "gqlib.step_sizes.Panel.fields": lambda: {"self": _panel(), "reading": "literal"},
    "gqlib.step_sizes.places": lambda: {"void": True},
    "gqlib.step_sizes.search_setting": lambda: {
        "panel": "Boyan, printed",
        "reading": "expected",
        "lam": 0.9,
        "learner": "gq",
    },
    "gqlib.grids.find": lambda: {"dataset": things().search, "setting": _search_setting()},
    "gqlib.step_sizes.best_cell": lambda: {"part": things().search.isel(setting=0), "sigma": 0.5},
    "gqlib.step_sizes.common_cell": lambda: {"part": things().search.isel(setting=0)},
    "gqlib.step_sizes.choices": lambda: {"dataset": things().search},
    "gqlib.step_sizes.interior": lambda: {"dataset": things().search},
    "gqlib.step_sizes.choice_name": lambda: {
        "panel": "Boyan, printed",
        "reading": "expected",
        "learner": "gq",
        "sigma": 0.5,
    },
    "gqlib.experiments_prediction.curve_setting": lambda: {
        "panel": "Boyan, printed",
        "reading": "expected",
        "learner": "gq",
        "mean": 0.5,
        "noise": 0.01,
    },
    **{
        f"gqlib.experiments_prediction.{name}": lambda: {"panel": "Boyan, printed", "reading": "expected"}
        for name in ("curves", "baselines")
    },
    "gqlib.experiments_prediction.family_setting": lambda: {
        "panel": "Boyan, printed",
        "reading": "expected",
        "drawn": "run",
    },
    "gqlib.reports.grid_report": lambda: {"dataset": things().search.isel(setting=[0, 1])},
    "gqlib.sweep.resolve": lambda: {"name": "math:hypot"},
    "gqlib.sweep.Experiment": lambda: {
        field.name: getattr(things().sweep, field.name) for field in dataclasses.fields(things().sweep)
    },
    "gqlib.sweep.Experiment.with_runs": lambda: {"self": things().sweep, "runs": 3},
    "gqlib.sweep.Experiment.tasks_of": lambda: {"self": things().sweep, "setting": things().sweep.settings[0]},
    "gqlib.sweep.run_sweep": lambda: {
        "experiment": things().sweep,
        "store": things().store,
        "workers": 1,
        "progress": False,
    },
    "gqlib.store.canonical_json": lambda: {"value": {"sigma": 0.5}},
    "gqlib.store.pack": lambda: {"header": {"seed": 7}, "arrays": {"steps": np.arange(3)}, "compact": False},
    "gqlib.store.unpack": lambda: {"data": things().archive},
    "gqlib.store.write_file": lambda: {"path": _folder() / "written", "data": b"abc"},
    "gqlib.store.read_file": lambda: {"path": _folder() / "first.npz"},
    "gqlib.store.Store": lambda: {"directory": _folder() / "inner"},
    "gqlib.store.Store.path": lambda: {"self": things().store, "name": "first"},
    "gqlib.store.Store.has": lambda: {"self": things().store, "name": "first", "header": {"seed": 7}},
    "gqlib.store.Store.get": lambda: {"self": things().store, "name": "first", "header": {"seed": 7}},
    "gqlib.store.Store.put": lambda: {
        "self": things().store,
        "name": "second",
        "header": {"seed": 7},
        "arrays": {"steps": np.arange(3)},
    },
    "gqlib.results.keep_all": lambda: {"arrays": {"theta": np.zeros((3, 2))}},
    "gqlib.results.collect": lambda: {"experiment": things().sweep, "store": things().store},
    "gqlib.results.recompute": lambda: {"dataset": things().dataset, "setting": 1, "first_run": 0, "runs": 1},
    "gqlib.results.save_results": lambda: {"path": _folder() / "saved.npz", "dataset": things().dataset},
    "gqlib.results.load_results": lambda: {"path": _saved()},
    "gqlib.tasks.control_runs": lambda: {"setting": things().control, "runs": 1, "seed": 0, "first_run": 0},
    "gqlib.tasks.control_summary": lambda: {"arrays": dict(things().arrays_control)},
    "gqlib.tasks.control_summary_with_spread": lambda: {"arrays": dict(things().arrays_control)},
    "gqlib.tasks.with_scores": lambda: {"dataset": things().dataset},
    "gqlib.tasks.TwoStateSetting": lambda: dataclasses.asdict(things().two),
    "gqlib.tasks.two_state_runs": lambda: {"setting": things().two, "runs": 1, "seed": 0, "first_run": 0},
    "gqlib.tasks.two_state_summary": lambda: {"arrays": dict(things().arrays_two)},
    "gqlib.reports.pooled_cases": lambda: {"dataset": things().dataset},
    "gqlib.reports.pooled_report": lambda: {"dataset": _pooled()},
    "gqlib.reports.control_report": lambda: {"dataset": things().dataset},
    "gqlib.reports.two_state_report": lambda: {"dataset": things().two_dataset},
    "gqlib.grids.GridSetting": lambda: dataclasses.asdict(things().grid),
    "gqlib.grids.GridSetting.cell": lambda: {"self": things().grid, "i": 0, "j": 0, "k": 0},
    "gqlib.grids.grid_runs": lambda: {"setting": things().grid, "runs": 1, "seed": 0, "first_run": 0},
    "gqlib.grids.grid_summary": lambda: {"arrays": dict(things().arrays_grid)},
    # statistics
    "gqlib.stats.intervals.bootstrap_interval": lambda: {
        "sample": RUNS.copy(),
        "rng": rng(),
        "statistic": np.mean,
        "confidence": 0.9,
        "method": "BCa",
        "resamples": 20,
        "axis": 0,
    },
    "gqlib.stats.intervals.student_interval": lambda: {
        "mean": 10.0,
        "variance": 4.0,
        "runs": 16,
        "confidence": 0.95,
    },
    "gqlib.stats.intervals.tolerance_interval": lambda: {
        "sample": np.arange(60.0),
        "coverage": 0.8,
        "confidence": 0.9,
        "axis": 0,
    },
    "gqlib.stats.comparisons.holm": lambda: {"p_values": np.array([0.01, 0.04, 0.3])},
    "gqlib.stats.comparisons.paired_difference": lambda: {
        "first": RUNS.copy(),
        "second": OTHER.copy(),
        "rng": rng(),
        "confidence": 0.9,
        "method": "BCa",
        "resamples": 20,
    },
    "gqlib.stats.comparisons.performance_profile": lambda: {
        "scores": RUNS.copy(),
        "thresholds": np.array([3.0, 5.0]),
        "lower_is_better": True,
        "confidence": 0.9,
    },
    "gqlib.stats.comparisons.probability_of_improvement": lambda: {
        "first": RUNS.copy(),
        "second": OTHER.copy(),
        "rng": rng(),
        "lower_is_better": True,
        "paired": True,
        "confidence": 0.9,
        "resamples": 20,
    },
    "gqlib.stats.cases.case_counts": lambda: {
        "scores": RUNS.copy(),
        "score_at_0": 4.0,
        "score_at_1": 5.0,
        "lower_is_better": True,
    },
    "gqlib.stats.cases.case_null": lambda: {"n": 5, "cells": 2},
    "gqlib.stats.cases.CaseNull": lambda: {"n": 5, "cells": 2},
    "gqlib.stats.cases.CaseNull.pmf": lambda: {"self": things().null, "count": 2},
    "gqlib.stats.cases.CaseNull.joint_pmf": lambda: {"self": things().null, "better": 1, "between": 2, "worse": 2},
    "gqlib.stats.cases.CaseNull.p_value": lambda: {"self": things().null, "count": 2, "alternative": "two-sided"},
    "gqlib.stats.cases.CaseNull.interval": lambda: {"self": things().null, "confidence": 0.9},
    "gqlib.stats.cases.CaseNull.simulate": lambda: {"self": things().null, "size": 3, "rng": rng()},
    "gqlib.stats.granularity.grim": lambda: {
        "percentage": 20.4,
        "denominators": [49, 50],
        "decimals": 1,
        "rounding": "nearest",
    },
    "gqlib.stats.granularity.grim_counts": lambda: {
        "percentages": [53.1, 38.8, 8.1],
        "denominator": 49,
        "decimals": 1,
        "rounding": "nearest",
        "remainder": 2,
    },
    "gqlib.overall.EndComparison.shown": lambda: {"self": _ends(), "level": 0.05},
    "gqlib.overall.block_repetitions": lambda: {"scores": SCORES.copy(), "runs": 2},
    "gqlib.overall.cell": lambda: {"dataset": things().dataset, "target": "greedy", "alpha": 0.01},
    "gqlib.overall.compare_with_ends": lambda: {"scores": SCORES.copy()},
    "gqlib.overall.confirm_winner": lambda: {"scores": SCORES.copy()},
    "gqlib.overall.paired_p_values": lambda: {"first": RUNS.copy(), "second": OTHER.copy()},
    "gqlib.overall.repeat_procedure": lambda: {"scores": SCORES.copy(), "runs": 2, "repetitions": 3, "rng": rng()},
    "gqlib.stats.intervals.variance_interval": lambda: {
        "sums": np.array([20, 130, 1100, 10354]),
        "runs": 5,
        "confidence": 0.9,
    },
    "gqlib.results.verify_sample": lambda: {"dataset": things().dataset, "runs": 1, "rng": rng()},
    "gqlib.figure3.run_curves": lambda: {"settings": {"a": things().prediction}, "runs": 1, "seed": 3},
    "gqlib.figure3.late": lambda: {"values": np.ones((2, 4))},
    "gqlib.figure3.verdict": lambda: {"dynamic": RUNS.copy(), "at_zero": OTHER.copy(), "at_one": OTHER + 9.0},
    "gqlib.figure3.lstd_curve": lambda: {"setting": things().prediction, "runs": 1, "seed": 3, "points": 2},
    # the paper and the book
    "gqlib.paper_index.items_cited": lambda: {"text": "Eqs. (25)–(26)"},
    "gqlib.claims.load_claims": lambda: {"path": ROOT / "gqlib" / "claims.yml"},
    "gqlib.claims.count_verdicts": lambda: {"claims": _claims()},
    "gqlib.claims.render": lambda: {"claims": _claims(), "links": True},
    "gqlib.explore.small_mdp": lambda: {"gamma": 0.9},
}

RECORD = "a record that a function fills in; it checks nothing by itself"
INNER = "inner arithmetic on what its callers have checked"
COMPILED = "compiled, or a table for compiled code: takes what its callers have checked"
DRAWING = "draws, or writes HTML, for the book; the book's records and the browser test cover it"
NO_ARGUMENT = "takes no argument"
LEFT_OUT: dict[str, str] = {
    **dict.fromkeys(
        [
            "gqlib.domains.base.Trajectory",
            "gqlib.domains.base.Domain",
            "gqlib.domains.cart_pole.Walker",
            "gqlib.domains.cart_pole.CartPole",
            "gqlib.domains.finite.WeightedTrajectory",
            "gqlib.domains.finite.Path",
            "gqlib.domains.finite.Chain",
            "gqlib.domains.finite.Tables",
            "gqlib.domains.finite.FiniteDomain",
            "gqlib.domains.episodes.Transition",
            "gqlib.variance.NoiseParabola",
            "gqlib.corrected.Tables",
            "gqlib.ensemble.Ensemble",
            "gqlib.control.ControlResult",
            "gqlib.gym.Played",
            "gqlib.evaluation.PredictionResult",
            "gqlib.sweep.Progress",
            "gqlib.sweep.Task",
            "gqlib.step_sizes.Panel",
            "gqlib.stats.intervals.Interval",
            "gqlib.stats.comparisons.Improvement",
            "gqlib.stats.comparisons.PairedDifference",
            "gqlib.stats.comparisons.Profile",
            "gqlib.stats.cases.CaseCounts",
            "gqlib.overall.Confirmation",
            "gqlib.overall.EndComparison",
            "gqlib.overall.Repetitions",
            "gqlib.claims.Claim",
            "gqlib.symbolic.SymbolicProblem",
            "gqlib.explore.Slider",
            "gqlib.explore.Explorable",
            "gqlib.rounding.Rounding",
        ],
        RECORD,
    ),
    **dict.fromkeys(
        [
            "gqlib.prediction.LinearPrediction",
            "gqlib.learners.mix",
            "gqlib.learners.correction",
            "gqlib.stability.joint",
            "gqlib.stability.bialternate",
            "gqlib.stability.pencil_roots",
            "gqlib.stability.sign_changes",
            "gqlib.timescales.pencil",
            "gqlib.domains.base.sample_chain",
            "gqlib.domains.cart_pole.exp_of_negative",
            "gqlib.domains.cart_pole.covariance",
            "gqlib.domains.cart_pole.Walker.walk",
            "gqlib.domains.cart_pole.Walker.features",
            "gqlib.domains.cart_pole.Walker.see",
            "gqlib.domains.finite.Chain.walk",
            "gqlib.domains.finite.Tables.trajectory",
            "gqlib.domains.finite.fixed_order_product",
            "gqlib.domains.finite.build",
            "gqlib.control_reference.features",
            "gqlib.control_reference.greedy_action",
            "gqlib.control_reference.target_policy",
            "gqlib.control_reference.behave",
            "gqlib.measures.half_square",
            "gqlib.measures.discounted_traces",
            "gqlib.rounding.Rounding.fixed_point",
        ],
        INNER,
    ),
    **dict.fromkeys(
        [
            "gqlib.figures.new",
            "gqlib.figures.show",
            "gqlib.figures.band",
            "gqlib.figures.panel",
            "gqlib.drawings.log_band",
            "gqlib.drawings.draw_star",
            "gqlib.drawings.draw_chain",
            "gqlib.drawings.draw_triangles",
            "gqlib.drawings.draw_cart_pole",
            "gqlib.explore.Explorable.html",
            "gqlib.explore.to_javascript",
            "gqlib.explore.two_state",
            "gqlib.explore.bias_variance",
            "gqlib.explore.time_scales",
        ],
        DRAWING,
    ),
    **dict.fromkeys(
        [
            "gqlib.experiments.paper_sigmas",
            "gqlib.experiments.fig2",
            "gqlib.experiments.fig4",
            "gqlib.experiments.fig5",
            "gqlib.experiments.table1",
            "gqlib.experiments.table2",
            "gqlib.experiments.variations",
            "gqlib.experiments.sensitivity",
            "gqlib.step_sizes.search",
            "gqlib.experiments_prediction.fig3",
            "gqlib.experiments_prediction.manifest",
            "gqlib.paper_index.library_index",
            "gqlib.explore.two_state_explorable",
            "gqlib.explore.bias_and_variance",
            "gqlib.explore.bias_variance_explorable",
            "gqlib.explore.joint_polynomial",
            "gqlib.explore.time_scales_explorable",
        ],
        NO_ARGUMENT,
    ),
    **dict.fromkeys(
        ("gqlib.sweep.Setting", "gqlib.sweep.SweepError", "gqlib.store.StoreError"), "a protocol, an exception"
    ),
    "gqlib.store.DamagedFile": "an exception",
    **dict.fromkeys(
        (
            "gqlib.fast.corrected.corrected_car",
            "gqlib.fast.prediction.trajectory",
            "gqlib.fast.tabular.arrays",
            "gqlib.fast.tabular.world",
            "gqlib.fast.tabular.learn_tables",
            "gqlib.fast.tabular.control_returns",
            "gqlib.fast.tabular.n_step_episode",
            "gqlib.fast.tabular.trace_episode",
            "gqlib.fast.tabular.n_step_run",
            "gqlib.fast.tabular.trace_run",
            "gqlib.fast.tile_tables.TileTable",
            "gqlib.fast.tile_tables.TileTable.cell",
            "gqlib.fast.tile_tables.TileTable.indices",
            "gqlib.fast.tile_tables.make_memory",
            "gqlib.fast.tile_tables.scaled",
            "gqlib.fast.tile_tables.tile_table",
        ),
        COMPILED,
    ),
    "gqlib.experiments.fixed": "takes any number of positional numbers, checked by the setting that they go into",
    "gqlib.experiments.dynamic": "takes any number of positional numbers, checked by the setting that they go into",
    "gqlib.cli.main": "has its own fuzz test, on lines of arguments",
}


def _parabola() -> Any:
    from gqlib.variance import NoiseParabola

    return NoiseParabola(1.0, -0.5, 0.25)


@cache
def _pole() -> Any:
    from gqlib.domains import cart_pole

    return cart_pole()


def _sparse() -> Any:
    from gqlib.sparse_gq import SparseGQ

    return SparseGQ([1.0, 0.0, 0.0])


@cache
def _corrected() -> Any:
    from gqlib.corrected import CorrectedProblem

    return CorrectedProblem.of(things().problem)


def _schedule() -> Any:
    from gqlib.sigma import Schedule

    return Schedule(0.5, noise=0.01, drawn="episode", ramp_to=0.9, decay=0.9)


def _iht() -> Any:
    from gqlib.tiles3 import IHT

    return IHT(16)


def _coder() -> Any:
    from gqlib.agent import TileCoder

    return TileCoder([0.0], [1.0], 2, tilings=2, memory=16)


def _agent() -> Any:
    from gqlib.agent import Agent

    return Agent(_coder(), rng(), sigma=0.5)


def _env() -> Any:
    import gymnasium

    return gymnasium.make("CartPole-v1", max_episode_steps=5)


def _pole_agent() -> Any:
    from gqlib.agent import Agent
    from gqlib.gym import tile_coder

    return Agent(tile_coder(_env(), low=[-2.4, -3, -0.2, -3], high=[2.4, 3, 0.2, 3], memory=64), rng())


def _panel() -> Any:
    from gqlib.experiments_prediction import PANELS

    return PANELS["Boyan, printed"]


def _search_setting() -> Any:
    from gqlib.experiments_prediction import search_setting

    return search_setting("Boyan, printed", "expected", 0.9)


def _folder() -> Path:
    return Path(things().folder.name)


@cache
def _saved() -> Path:
    from gqlib.results import save_results

    return save_results(_folder() / "kept.npz", things().dataset)


@cache
def _pooled() -> Any:
    from gqlib.reports import pooled_cases

    return pooled_cases(things().dataset)


@cache
def _ends() -> Any:
    from gqlib.overall import compare_with_ends

    return compare_with_ends(SCORES)


@cache
def _claims() -> Any:
    from gqlib.claims import load_claims

    return load_claims()[:3]


@cache
def _one_each() -> Any:
    """As many settings as there are variations."""
    from gqlib.experiments import variations

    return things().dataset.isel(setting=[0] * len(list(variations())))
