"""Sizes are refused before memory is asked for: by name, and from exactly as many numbers on as their arrays hold."""

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gqlib import FiniteMDP, _validate, rltoolkit, tiles3
from gqlib.control import ControlSetting, run_control
from gqlib.control.corrected import corrected_car
from gqlib.domains import (
    baird_star,
    boyan_chain,
    collision,
    random_mdp,
    random_policy,
    random_problem,
    two_state,
)
from gqlib.domains.boyan_chain import triangles
from gqlib.domains.episodes import Episode
from gqlib.domains.random_walk import random_walk
from gqlib.engine import EngineSetting, run_setting
from gqlib.evaluation import PredictionSetting, run_prediction
from gqlib.evaluation.curves import lstd_curve, run_curves
from gqlib.evaluation.grids import GridSetting, grid_runs
from gqlib.experiments.figure2 import TwoStateSetting, two_state_runs
from gqlib.experiments.today import MapSetting, RunSetting, map_point, method_runs
from gqlib.fast.prediction import sigma_normals, trajectory
from gqlib.fast.tabular import learn_tables, trace_episode, trace_run
from gqlib.learners.ensemble import pair_walks, trajectories
from gqlib.methods.catalogue import METHODS
from gqlib.methods.steps import run_method
from gqlib.methods.task import Task
from gqlib.seeds import TRAJECTORY, words
from gqlib.stability import numerical_range
from gqlib.tabular.errors import bias_variance_interval


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


RING = SimpleNamespace(
    P={s: {a: [(1.0, (s + 1) % 4, 0.0, False)] for a in range(2)} for s in range(4)}
)
CHAIN = PredictionSetting("boyan_chain", steps=12, kept=3)
CAR = EngineSetting("mountain_car", episodes=3, max_steps=5)
RIGHT, COIN = Episode([1, 2], [1, 0], [1.0], ended=True), np.full((3, 2), 0.5)
PROBLEM = random_problem(rng(), 2, 2)
COLLISION = Task.of(collision())
WALKS = COLLISION.walks(2, 3, rng())
# What is called, the argument that is refused, its value, and how many numbers there are, counted by hand.
CASES: dict[str, tuple[Callable[[], Any], str, Any, int]] = {
    "numerical_range: points of two parts": (lambda: numerical_range(np.eye(2), 5), "points", 5, 10),
    "bias_variance_interval": (
        lambda: bias_variance_interval([[[1.0]]] * 3, [[0.0]], rng(), resamples=20), "resamples", 20, 20,
    ),
    "grid_runs: 40 runs of 2 σ, 3 α, 1 η": (
        lambda: grid_runs(
            GridSetting("boyan_chain", sigmas=(0.0, 1.0), alphas=(0.0, 0.1, 0.2), etas=(1.0,), steps=12, kept=2),
            40, 0, first_run=0,
        ),
        "runs", 40, 240,
    ),
    "run_prediction: 80 runs, 3 kept": (lambda: run_prediction(CHAIN, 80, 0), "runs", 80, 240),
    "run_curves: 100 runs of 2 settings": (lambda: run_curves({"a": CHAIN, "b": CHAIN}, 100, 0), "runs", 100, 200),
    "lstd_curve: 50 runs, 4 points": (lambda: lstd_curve(CHAIN, 50, 0, points=4), "runs", 50, 200),
    "tiles": (lambda: tiles3.tiles(100, 8, [0.1, 0.2]), "numtilings", 8, 8),
    "tile_coordinates: 4 tilings of 2 floats, an int and their own number": (
        lambda: rltoolkit.tile_coordinates(4, [0.3, -0.4], [7]), "num_tilings", 4, 16,
    ),
    "run_setting: 2 runs of 3 episodes, two numbers each, and two sets of weights": (
        lambda: run_setting(CAR, 2, 0), "runs", 2, 2 * (2 * 3 + 2 * run_setting(CAR, 1, 0).theta.size),
    ),
    "trajectories": (lambda: trajectories(two_state(0.9), 9, 5, rng()), "runs", 9, 45),
    "pair_walks: both ends of each step": (lambda: pair_walks(PROBLEM, 3, 5, rng()), "steps", 5, 18),
    "Domain.trajectory: four features, of two numbers": (
        lambda: two_state(0.9).trajectory(5, rng()), "steps", 5, 40,
    ),
    "fast trajectory": (lambda: trajectory(two_state(0.9), 5, 0, 0), "steps", 5, 40),
    "sigma_normals": (lambda: sigma_normals(5, 0, 0), "steps", 5, 5),
    "random_walk: 5 states and 2 ends": (lambda: random_walk(5), "length", 5, 98),
    "random_policy": (lambda: random_policy(rng(), 4, 3), "n_states", 4, 12),
    "random_mdp": (lambda: random_mdp(rng(), 4, 3), "n_states", 4, 48),
    "random_problem": (lambda: random_problem(rng(), 2, 2, 9), "n_features", 9, 36),
    "triangles": (lambda: triangles(7), "states", 7, 28),
    "boyan_chain": (lambda: boyan_chain(states=7), "states", 7, 49),
    "boyan_chain cut: each state at each of 4 times": (
        lambda: boyan_chain(states=7, end="absorb", episode_steps=3), "episode_steps", 3, 28 * 28,
    ),
    "baird_star": (lambda: baird_star(states=4), "states", 4, 32),
    "Task.walks: three numbers at both ends of each step": (lambda: COLLISION.walks(2, 3, rng()), "steps", 3, 24),
    "run_method: eight vectors for each of 3 α and 2 runs": (
        lambda: run_method(COLLISION, METHODS["TD(λ)"], WALKS, lam=0.0, alphas=[0.1, 0.2, 0.3], every=3),
        "walks", 3, 8 * 3 * 2 * COLLISION.d,
    ),
    "from_gym: 4 states, 2 actions": (lambda: FiniteMDP.from_gym(RING, 0.9), "env", RING, 32),
    "corrected_car": (
        lambda: corrected_car(ControlSetting(episodes=3, max_steps=5, target="greedy"), "expected", 2, 1),
        "runs", 2, 6,
    ),
    "run_control": (lambda: run_control(ControlSetting(episodes=3, max_steps=5), 2, 0), "runs", 2, 6),
    "run_control with weights": (
        lambda: run_control(ControlSetting(episodes=3, max_steps=5, p=512), 2, 0, weights=True),
        "runs", 2, 2 * (3 + 2 * 512),
    ),
    "two_state_runs: ten numbers a step": (
        lambda: two_state_runs(TwoStateSetting(0.5, steps=50), 2, 0, first_run=0), "runs", 2, 1000,
    ),
    "map_point: four numbers for each of 5 η, and two": (
        lambda: map_point(MapSetting("star", "TDC(λ)", 0.0), 9, 0, first_run=0), "runs", 9, 198,
    ),
    "method_runs: three numbers a step": (
        lambda: method_runs(RunSetting("walk, tabular", "TD(λ)", 0.0, (0.1,), 200, 50), 3, 0, first_run=0),
        "runs", 3, 1800,
    ),
    "learn_tables: 2 episodes, 3 states, 2 actions": (
        lambda: learn_tables(trace_episode, [[RIGHT, RIGHT]], COIN, 0.9, sigma=0.5, gamma=1.0, alpha=0.5),
        "runs", [[RIGHT, RIGHT]], 12,
    ),
    "trace_run: five numbers a step": (
        lambda: trace_run(
            random_walk(3), 0.5, np.ones(2), alpha=0.1, epsilon=0.1, stream=words(0, 0, TRAJECTORY), max_steps=40
        ),
        "max_steps", 40, 200,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_size_is_refused_from_one_number_too_many_on(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, name, value, numbers = CASES[case]
    shown = re.escape(_validate.brief(value))
    call()  # what is made once, as the car is, is there already
    monkeypatch.setattr(_validate, "ROOM", numbers - 1)
    told = rf"^{name} is {shown}; it should be smaller, so that arrays hold at most {numbers - 1} numbers$"
    with pytest.raises(ValueError, match=told):
        call()
    monkeypatch.setattr(_validate, "ROOM", numbers)
    call()
