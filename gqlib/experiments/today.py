r"""Where it stands today: exact maps of every method on every problem, and runs that are held to published ones.

- ``today``: at each (problem, method, λ) and ratio η the abscissa, the largest step, the error of the fixed point and
  the price of speed; η*; the least error after 2¹⁰ steps over α at η = 1. No random number is drawn.
- ``today-sigma``: the same for the textbook's GQ(σ, λ) at six σ, which the successor's abstract determines.
- ``today-figure1``: Figure 1 of the TDRC paper at the step sizes of its public script.
- ``today-collision``: ten methods on Collision, sampled. Control is in `gqlib.experiments.today_control`.

*Collision's protocol*, written down before its first run (then with 10,000 steps; doubled, as in the study, before any
result was looked at): features drawn for each run, 20,000 steps, every method at four λ (ABTD: ζ) and ten α from 2⁻¹¹
to 2⁻², η = 1: 40 cells each. The score is the area under the root mean square value error, its mean over a run,
measured every 100 steps. Runs 0 to 29 choose the cell with the least mean score; runs 30 to 79 are the result. A weight
beyond the library's bound has diverged; the run stays where it was and is counted.

*Figure 1's readings*, from the script (rlai-lab/Regularized-GradientTD, experiments/prediction/figure1.py; no licence,
so its facts only). The star is the classical one, started in its centre. Its Boyan chain has thirteen states of which
the eleventh always steps on, no discount, and value zero at the end, but the RMSPBE that it reports is built from other
matrices: there the row of the eleventh state sums to 1.5 and its reward is −2, the end counts as a state with features
of its own, and every state has weight 1/13. `script_matrices` are those; `Task` gives the sampled problem's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import product
from typing import Literal, get_args

import numpy as np

from gqlib import _validate as check
from gqlib import seeds
from gqlib._validate import Array
from gqlib.domains import (
    baird_star,
    boyan_chain,
    collision,
    collision_features,
    five_state_walk,
    random_mdp,
)
from gqlib.domains.boyan_chain import triangles
from gqlib.domains.finite import FiniteDomain
from gqlib.domains.five_state_walk import FEATURES as WALKS
from gqlib.domains.machine import CREW, PLAN, WEAR, machine, machine_mdp
from gqlib.domains.random_problems import random_policy
from gqlib.domains.two_state import FEATURES, MU, PI
from gqlib.mdp import FiniteMDP
from gqlib.methods import METHODS, Method, Task, eta_star, limits, means, run_method
from gqlib.methods.limits import error_after
from gqlib.methods.task import Kind, Walks
from gqlib.sweeps.results import Labelled
from gqlib.sweeps.setting import CheckedSetting, Count, Fraction, NonNegative, Setting
from gqlib.sweeps.store import Arrays
from gqlib.sweeps.sweep import Experiment

__all__ = [
    "COLLISION_ALPHAS",
    "COLLISION_LAMS",
    "COLLISION_METHODS",
    "DRAWN",
    "ETAS",
    "FIGURE1",
    "PROBLEMS",
    "SCRIPT_AREAS",
    "SEARCH_RUNS",
    "SEED",
    "MapSetting",
    "RunSetting",
    "method_of",
    "problem",
    "script_matrices",
    "today",
    "today_collision",
    "today_figure1",
    "today_sigma",
]

LAMS = (0.0, 0.4, 0.8, 0.9, 0.95, 1.0)
ETAS = tuple(2.0**k for k in (-6, -3, 0, 3, 6))
SIGMAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
ALPHAS = tuple(2.0**-k for k in range(12, -1, -1))  # over which the error after 2¹⁰ steps is least
DOUBLINGS = 10
SEED = 2020  # the year of TDRC
VERSION, MAPS = "1", "2"  # of runs and of maps
MAPS_KEEP = ("abscissa", "step", "error", "price")
DIGITS, ZERO = 4, 1e-9  # of what a map keeps
TEXTBOOK = "GQ(½, λ) textbook"

# Step sizes of the script, by problem and method; steps of a run.
FIGURE1: dict[ProblemName, tuple[int, dict[str, float]]] = {
    "walk, tabular": (3000, dict.fromkeys(("TD(λ)", "TDRC(λ)", "GTD2(λ)", "HTD(λ)", "V-trace(λ)"), 2.0**-5)
                      | {"TDC(λ)": 2.0**-4}),
    "walk, dependent": (3000, dict.fromkeys(("TD(λ)", "TDRC(λ)", "HTD(λ)", "V-trace(λ)"), 2.0**-5)
                        | {"TDC(λ)": 2.0**-4, "GTD2(λ)": 2.0**-4}),
    "walk, inverted": (3000, dict.fromkeys(("TD(λ)", "TDRC(λ)", "TDC(λ)", "GTD2(λ)", "HTD(λ)", "V-trace(λ)"), 2.0**-3)),
    "Boyan, script": (10_000, dict.fromkeys(("TD(λ)", "TDRC(λ)", "HTD(λ)", "V-trace(λ)"), 2.0**-4)
                      | {"TDC(λ)": 0.5, "GTD2(λ)": 0.5}),
    "star": (20_000, dict.fromkeys(("TD(λ)", "TDC(λ)", "GTD2(λ)", "HTD(λ)", "V-trace(λ)"), 2.0**-8)
             | {"TDRC(λ)": 2.0**-6}),
}  # fmt: skip
FIGURE1_RUNS, EVERY = 60, 100  # measured every so many steps
# Mean area under the RMSPBE and its standard error over seeds 0 to 59, from the public script itself
# (rlai-lab/Regularized-GradientTD at 20bf22d, experiments/prediction/figure1.py with RUNS = 60), without its progress
# prints and plots, and with a small stand-in for the loop of RlGlue that it imports.
SCRIPT_AREAS: dict[tuple[str, str], tuple[float, float]] = {
    ("walk, tabular", "GTD2(λ)"): (0.09886, 0.00059),
    ("walk, tabular", "TDC(λ)"): (0.07856, 0.00051),
    ("walk, tabular", "V-trace(λ)"): (0.07581, 0.00058),
    ("walk, tabular", "HTD(λ)"): (0.06682, 0.00057),
    ("walk, tabular", "TD(λ)"): (0.06394, 0.00057),
    ("walk, tabular", "TDRC(λ)"): (0.06675, 0.00056),
    ("walk, dependent", "GTD2(λ)"): (0.04695, 0.00064),
    ("walk, dependent", "TDC(λ)"): (0.04342, 0.00049),
    ("walk, dependent", "V-trace(λ)"): (0.04803, 0.00063),
    ("walk, dependent", "HTD(λ)"): (0.03756, 0.00048),
    ("walk, dependent", "TD(λ)"): (0.03618, 0.00044),
    ("walk, dependent", "TDRC(λ)"): (0.03796, 0.00046),
    ("walk, inverted", "GTD2(λ)"): (0.08847, 0.00079),
    ("walk, inverted", "TDC(λ)"): (0.07345, 0.00059),
    ("walk, inverted", "V-trace(λ)"): (0.07826, 0.00076),
    ("walk, inverted", "HTD(λ)"): (0.07191, 0.00065),
    ("walk, inverted", "TD(λ)"): (0.07259, 0.00064),
    ("walk, inverted", "TDRC(λ)"): (0.06960, 0.00061),
    ("Boyan, script", "GTD2(λ)"): (0.30563, 0.00108),
    ("Boyan, script", "TDC(λ)"): (0.30353, 0.00120),
    ("Boyan, script", "V-trace(λ)"): (0.25164, 0.00128),
    ("Boyan, script", "HTD(λ)"): (0.25164, 0.00128),
    ("Boyan, script", "TD(λ)"): (0.25164, 0.00128),
    ("Boyan, script", "TDRC(λ)"): (0.24841, 0.00110),
    ("star", "GTD2(λ)"): (0.19798, 0.00282),
    ("star", "TDC(λ)"): (0.16474, 0.00238),
    ("star", "V-trace(λ)"): (44.676, 0.17287),
    ("star", "HTD(λ)"): (49967.6, 3341.5),
    ("star", "TD(λ)"): (5.91734e7, 2.26522e6),
    ("star", "TDRC(λ)"): (0.09428, 0.00259),
}
GRADIENT_AT = 1.0  # η of every run

COLLISION_METHODS = (
    *("ETD(λ)", "ETD(λ, β)", "TD(λ)", "TDC(λ)", "GTD2(λ)", "HTD(λ)", "TDRC(λ)"),
    *("Tree Backup(λ)", "V-trace(λ)", "ABTD(ζ)"),
)
COLLISION_LAMS, COLLISION_ALPHAS = (0.0, 0.5, 0.9, 1.0), tuple(2.0**-k for k in range(11, 1, -1))
COLLISION_STEPS, COLLISION_RUNS, SEARCH_RUNS = 20_000, 80, 30


def _two_state(on: Kind) -> Task:
    moves = np.zeros((2, 2, 2))
    moves[:, 0, 1] = moves[:, 1, 0] = 1.0
    mdp = FiniteMDP(moves, np.zeros((2, 2)), 0.99)
    phi = np.array([[1.0], [2.0]]) if on == "states" else np.array(FEATURES)
    return Task("two-state", mdp, MU, PI, phi, on=on, theta0=np.eye(phi.shape[1])[0])


def _random(number: int, on: Kind) -> Task:
    rng = seeds.generator(SEED, number, seeds.TRAJECTORY)
    mdp = random_mdp(rng, 10, 3, 0.95, concentration=0.3)
    mu, pi = (random_policy(rng, 10, 3, concentration=2.0) for _ in range(2))
    phi = rng.standard_normal((10, 5) if on == "states" else (30, 8))
    return Task(f"random {number}", mdp, mu, pi, phi, on=on)


def _machine(on: Kind) -> Task:
    line = np.column_stack([np.ones(3), WEAR])
    phi = line if on == "states" else machine(features="wear").problem.features
    return Task("machine", machine_mdp(), CREW, PLAN, phi, on=on)


def _rare_action() -> Task:
    """`gqlib.timescales.rare_action_problem` with the features that *Convergence* finds: TD(0) is stable, TDC not."""
    moves, usual = np.eye(2)[[[1, 1], [0, 0]]], 0.99
    phi = np.array([[1.0, 0.0], [1.25, 1.5], [0.0, 0.2], [0.75, -0.25]])
    mdp = FiniteMDP(moves, np.zeros((2, 2)), 0.99)
    mu, pi = [[usual, 1.0 - usual]] * 2, [[0.0, 1.0]] * 2
    return Task("rare action", mdp, mu, pi, phi, on="pairs", theta0=np.array([1.0, 0.0]))


def _script_boyan() -> Task:
    """The chain that the script samples: the eleventh state always steps on, the end has value zero."""
    moves, rewards = np.zeros((13, 1, 13)), np.full((13, 1), -3.0)
    for i in range(10):
        moves[i, 0, i + 1] = moves[i, 0, i + 2] = 0.5
    moves[10, 0, 11] = moves[11, 0, 12] = moves[12, 0, 12] = 1.0
    rewards[11], rewards[12] = -2.0, 0.0
    phi, only, first = (
        triangles(13) * (np.arange(13) < 12)[:, None],
        np.ones((13, 1)),
        np.eye(13)[0],
    )
    mdp = FiniteMDP(moves, rewards, 1.0, terminal=(12,))
    return Task("Boyan, script", mdp, only, only, phi, start=first)


def script_matrices() -> tuple[Array, Array, Array]:
    """A, b and M behind the RMSPBE that the script reports for Boyan's chain.

    Examples
    --------
    >>> a, b, m = script_matrices()
    >>> [x.shape for x in (a, b, m)]
    [(4, 4), (4,), (4, 4)]
    """
    chain = np.zeros((13, 13))
    for i in range(11):
        chain[i, i + 1] = chain[i, i + 2] = 0.5
    chain[10, 11], chain[11, 12] = 1.0, 1.0
    rewards = np.array([-3.0] * 10 + [-2.0, -2.0, 0.0])
    phi = triangles(13)
    return phi.T @ (chain @ phi - phi) / 13.0, phi.T @ rewards / 13.0, phi.T @ phi / 13.0


# Every problem by name; those that end in "pairs" are on action values.
ProblemName = Literal[
    "two-state", "star", "Boyan", "walk, tabular", "walk, inverted", "walk, dependent", "Collision", "machine",
    "random 0", "random 1", "two-state, pairs", "star, pairs", "walk, dependent, pairs", "Collision, pairs",
    "machine, pairs", "random 0, pairs", "random 1, pairs", "Boyan, script", "rare action, pairs",
]  # fmt: skip
PROBLEMS = get_args(ProblemName)
RunName = Literal[
    ProblemName, "Collision, drawn"
]  # the last one with features of its own for each run
DRAWN = get_args(RunName)[-1]


# Those of the map: values of states, and the three examples of the book on pairs.
MAPPED: tuple[ProblemName, ...] = (
    *(
        "two-state",
        "star",
        "Boyan",
        "walk, tabular",
        "walk, inverted",
        "walk, dependent",
        "Collision",
    ),
    *("two-state, pairs", "machine, pairs", "rare action, pairs"),
)


def problem(name: ProblemName) -> Task:
    """The task of that name, one of `PROBLEMS`.

    Examples
    --------
    >>> problem("Collision").phi.shape, problem("machine, pairs").on
    ((18, 6), 'pairs')
    """
    return _problem(check.choice("name", name, PROBLEMS))


@cache
def _problem(name: str) -> Task:
    on: Kind = "pairs" if name.endswith(", pairs") else "states"
    plain = name.removesuffix(", pairs")
    if plain.startswith("walk"):
        kind = check.choice("features", plain.split(", ")[1], WALKS)
        return Task.of(five_state_walk(kind), on=on)
    if plain.startswith("random"):
        return _random(int(plain.split()[1]), on)
    others: dict[str, Callable[[], Task]] = {
        "two-state": lambda: _two_state(on),
        "star": lambda: Task.of(baird_star(features="classical"), on=on),
        "Boyan": lambda: Task.of(boyan_chain(states=13, gamma=1.0, terminal_features="zero")),
        "Boyan, script": _script_boyan,
        "Collision": lambda: Task.of(_drawn_collision(SEED, 0), on=on),
        "machine": lambda: _machine(on),
        "rare action": _rare_action,
    }
    return others[plain]()


def _drawn_collision(seed: int, run: int) -> FiniteDomain:
    return collision(collision_features(seeds.generator(seed, run, seeds.TRAJECTORY)))


def method_of(name: str, sigma: float | None = None) -> Method:
    """A method of `gqlib.methods.METHODS`, with another σ if one is given.

    Examples
    --------
    >>> method_of("GQ(½, λ) textbook", 0.25).sigma
    0.25
    """
    found = METHODS[check.choice("name", name, tuple(METHODS))]
    return found if sigma is None else replace(found, sigma=sigma)


@dataclass(frozen=True)
class MapSetting(CheckedSetting):
    """One point of a map: a problem, a method and λ (for ABTD, ζ), at every ratio in `ETAS`.

    Examples
    --------
    >>> MapSetting("star", "TDC(λ)", 0.0).problem
    'star'
    """

    problem: ProblemName
    method: str
    lam: Fraction
    sigma: Fraction | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check.choice("method", self.method, tuple(METHODS))


def map_point(setting: MapSetting, runs: int, seed: int, *, first_run: int) -> Arrays:
    """What is known exactly at a point of a map; nothing is drawn, so every run is the same.

    Returns
    -------
    dict
        ``abscissa``, ``step``, ``error`` and ``price`` (runs, η), NaN where there is no such number, ``eta_star``
        (runs,), NaN for a method without ω, and ``best`` (runs,), the least error after 2¹⁰ steps at η = 1.

    Examples
    --------
    >>> point = map_point(MapSetting("star", "TDC(λ)", 0.0), 1, 0, first_run=0)
    >>> point["eta_star"].round(4).tolist(), (point["abscissa"] < 0.0)[0].tolist()
    ([0.1424], [False, False, True, True, True])
    """
    task, method = problem(setting.problem), method_of(setting.method, setting.sigma)
    table, star, best = np.full((len(MAPS_KEEP), len(ETAS)), np.nan), np.nan, np.nan
    check.room("runs", runs, runs * (table.size + 2))
    with contextlib.suppress(ValueError):  # a trace without a mean
        star = eta_star(task, method, setting.lam) if method.has_ratio else star
        for k, eta in enumerate(ETAS if method.has_ratio else ETAS[:1]):
            given = limits(task, method, setting.lam, eta)
            table[:, k:] = [[getattr(given, name)] for name in MAPS_KEEP]
            usual = eta == GRADIENT_AT or not method.has_ratio
            stable = given.step > 0.0 and np.isfinite(given.price)
            if usual and stable and method.update != "least squares":
                best = error_after(task, method, setting.lam, ALPHAS, DOUBLINGS).min()
    arrays = {name: np.tile(row, (runs, 1)) for name, row in zip(MAPS_KEEP, table, strict=True)}
    return arrays | {"eta_star": np.full(runs, star), "best": np.full(runs, best)}


def map_summary(arrays: Arrays) -> dict[str, Labelled]:
    """The point itself, to four significant digits: more than a map shows, and the same on every machine.

    Examples
    --------
    >>> kept = map_summary(map_point(MapSetting("star", "TD(λ)", 0.0), 1, 0, first_run=0))
    >>> kept["abscissa"][0], kept["eta"][1].tolist()[:2]
    (('run', 'eta'), [0.015625, 0.125])
    """
    dims = {name: ("run", "eta")[: array.ndim] for name, array in arrays.items()}
    kept: dict[str, Labelled] = {name: (dims[name], _settled(arrays[name])) for name in arrays}
    return kept | {"eta": (("eta",), np.array(ETAS))}


def _settled(values: Array) -> Array:
    """Four significant digits in single precision; what is zero up to rounding is zero."""
    tiny = np.abs(values) < ZERO
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (np.floor(np.log10(np.where(tiny, 1.0, np.abs(values)))) - (DIGITS - 1))
        rounded = np.round(values / scale) * scale
    return np.asarray(
        np.where(tiny, 0.0, np.where(np.isfinite(values), rounded, values)).astype(np.float32)
    )


def _map(name: str, title: str, settings: Iterable[Setting]) -> Experiment:
    return Experiment(name, title, "map", tuple(settings), 1, SEED, MAPS, 1, summary="map")


def today() -> Experiment:
    """The maps: every method on every problem, over λ and η.

    Examples
    --------
    >>> len(today().settings)
    862
    """
    settings = [
        MapSetting(where, name, lam)
        for where in MAPPED
        for name, method in METHODS.items()
        if problem(where).on in method.on
        for lam in (LAMS if method.update != "direct" else LAMS[:1])
    ]
    return _map("today", "Methods of today: exact maps over lambda and eta", settings)


def today_sigma() -> Experiment:
    """The textbook's GQ(σ, λ) over σ and λ on every problem with action values.

    Examples
    --------
    >>> {setting.sigma for setting in today_sigma().settings} == set(SIGMAS)
    True
    """
    where = [name for name in PROBLEMS if name.endswith("pairs") and name != "rare action, pairs"]
    settings = [
        MapSetting(name, TEXTBOOK, *at) for name in where for at in product(LAMS[1:], SIGMAS)
    ]
    title = "Textbook GQ(sigma, lambda): exact maps over sigma and lambda"
    return _map("today-sigma", title, settings)


@dataclass(frozen=True)
class RunSetting(CheckedSetting):
    """A method on walks of a problem, at several step sizes side by side; η = 1.

    Examples
    --------
    >>> RunSetting("star", "TD(λ)", 0.0, (0.1,), 100, 10).alphas
    (0.1,)
    """

    problem: RunName
    method: str
    lam: Fraction
    alphas: tuple[NonNegative, ...]
    steps: Count
    every: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        check.choice("method", self.method, tuple(METHODS))
        check.integer("every", self.every, low=1, high=self.steps)


def method_runs(setting: RunSetting, runs: int, seed: int, *, first_run: int) -> Arrays:
    """Areas under the curves of a method: means over a run of RMSPBE and value error, measured every few steps.

    Returns
    -------
    dict
        ``rmspbe`` and ``rmsve`` (runs, α), of TD(0)'s projected Bellman error and of the values, ``script`` (runs, α),
        the RMSPBE by `script_matrices` where the problem is the script's, NaN elsewhere, and ``diverged`` (runs, α).

    Examples
    --------
    >>> areas = method_runs(RunSetting("walk, tabular", "TD(λ)", 0.0, (0.1,), 200, 50), 3, 0, first_run=0)
    >>> areas["rmspbe"].shape, int(areas["diverged"].sum())
    ((3, 1), 0)
    """
    check.room("runs", runs, 3 * runs * setting.steps)
    tasks, walks = _walked(setting.problem, setting.steps, runs, seed, first_run)
    done = run_method(list(tasks), method_of(setting.method), walks, lam=setting.lam, alphas=setting.alphas,
                      eta=GRADIENT_AT, every=setting.every)  # fmt: skip
    # (runs, α, kept, d); the script measures before it stops
    theta = done.theta[:-1].transpose(2, 1, 0, 3)
    script = np.full(theta.shape[:2], np.nan)
    if setting.problem == "Boyan, script":
        script = _projected(theta, *script_matrices()).mean(axis=2)
    each = zip(theta, tasks, strict=True) if len(tasks) > 1 else [(theta, tasks[0])]
    areas = [_areas(weights, task) for weights, task in each]
    rmspbe, rmsve = (
        np.concatenate(one).reshape(theta.shape[:2]) for one in zip(*areas, strict=True)
    )
    return {"rmspbe": rmspbe, "rmsve": rmsve, "script": script, "diverged": done.diverged.T}


@lru_cache(maxsize=1)  # methods and λ follow each other on the same walks
def _walked(
    name: str, steps: int, runs: int, seed: int, first_run: int
) -> tuple[tuple[Task, ...], Walks]:
    """The task of all runs, or those of each, and their walks."""
    numbers = range(first_run, first_run + runs)
    drawn = (Task.of(_drawn_collision(seed, run)) for run in numbers)
    tasks = tuple(drawn) if name == DRAWN else (_problem(name),)
    draws = [seeds.generator(seed, run, seeds.BEHAVIOUR).random((steps + 1, 2)) for run in numbers]
    return tasks, tasks[0].follow(np.stack(draws, axis=2))


def _areas(theta: Array, task: Task) -> tuple[Array, Array]:
    """Means along the last axis but one of RMSPBE and value error."""
    mean = means(task, METHODS["TD(λ)"], 0.0)
    off = (theta @ task.phi.T - task.truth) ** 2 @ task.xi
    return _projected(theta, mean.A, mean.b, task.M).mean(axis=-1), np.sqrt(off).mean(axis=-1)


def _projected(theta: Array, a: Array, b: Array, m: Array) -> Array:
    """√((Aθ + b)ᵀM⁺(Aθ + b)) along the last axis."""
    rest = theta @ a.T + b
    squared = np.einsum("...i,ij,...j->...", rest, np.linalg.pinv(m), rest)
    return np.asarray(np.sqrt(np.clip(squared, 0.0, None)))


def method_summary(arrays: Arrays) -> dict[str, Labelled]:
    """Every area, in single precision, and which runs diverged.

    Examples
    --------
    >>> kept = method_summary({"rmsve": np.ones((2, 1)), "diverged": np.zeros((2, 1), dtype=bool)})
    >>> kept["rmsve"][0], kept["rmsve"][1].dtype, kept["diverged"][1].dtype
    (('run', 'alpha'), dtype('float32'), dtype('bool'))
    """
    kinds = {name: np.bool_ if name == "diverged" else np.float32 for name in arrays}
    return {name: (("run", "alpha"), array.astype(kinds[name])) for name, array in arrays.items()}


def area_summary(arrays: Arrays) -> dict[str, Labelled]:
    """The areas under the value error of every run, to four significant digits, and which diverged."""
    kept = method_summary(arrays)
    return {"rmsve": (kept["rmsve"][0], _settled(arrays["rmsve"])), "diverged": kept["diverged"]}


def today_figure1() -> Experiment:
    """Figure 1 of the TDRC paper: six methods on five problems at the script's step sizes.

    Examples
    --------
    >>> len(today_figure1().settings)
    30
    """
    settings = [
        RunSetting(where, name, 0.0, (alpha,), steps, EVERY)
        for where, (steps, sizes) in FIGURE1.items()
        for name, alpha in sizes.items()
    ]
    title, kind = "Figure 1 of the TDRC paper at its step sizes", "runs of today"
    return _runs("today-figure1", title, settings, FIGURE1_RUNS, kind)


def today_collision() -> Experiment:
    """Ten methods on Collision at 40 cells each, 80 runs.

    Examples
    --------
    >>> len(today_collision().settings)
    40
    """
    settings = [
        RunSetting(DRAWN, name, lam, COLLISION_ALPHAS, COLLISION_STEPS, EVERY)
        for name in COLLISION_METHODS
        for lam in COLLISION_LAMS
    ]
    title, kind = "Collision: areas under the value error", "areas of today"
    return _runs("today-collision", title, settings, COLLISION_RUNS, kind)


def _runs(name: str, title: str, settings: Iterable[Setting], runs: int, kind: str) -> Experiment:
    every = tuple(settings)
    return Experiment(name, title, "runs of today", every, runs, SEED, VERSION, runs, summary=kind)
