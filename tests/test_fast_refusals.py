"""Nothing wrong reaches compiled code: refusals name the argument, and kernels never index out of bounds."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from gqlib.control import ControlSetting, engine, tile_tables
from gqlib.control.corrected import corrected_car
from gqlib.domains import boyan_chain, cart_pole
from gqlib.domains.episodes import Episode
from gqlib.domains.finite import Chain
from gqlib.domains.random_walk import random_walk
from gqlib.evaluation import PredictionSetting
from gqlib.evaluation.run import prepare
from gqlib.fast import prediction, rng, tabular
from gqlib.seeds import TRAJECTORY, words

ROOT = Path(__file__).parents[1]
WALK, COIN = random_walk(1), np.full((3, 2), 0.5)
RIGHT, RATES = (
    Episode([1, 2], [1, 0], [1.0], ended=True),
    {"sigma": 0.5, "gamma": 1.0, "alpha": 0.5},
)
CONTROL = {"alpha": 0.5, "epsilon": 0.1, "max_steps": 20}
BOYAN, POLE, HALVES = boyan_chain(), cart_pole(), np.full(10, 0.5)
SETTING = PredictionSetting("boyan_chain", steps=10, kept=2)


def state(*numbers):
    return np.array(numbers, dtype=np.uint64)


def fixed(array):
    array.setflags(write=False)
    return array


# (a call that changes some of the arguments of a valid one, the changes, how the refusal begins)
def episode(**changes):
    return Episode(
        **({"states": [0, 1], "actions": [1, 0], "rewards": [1.0], "ended": True} | changes)
    )


def n_step(q=None, what=RIGHT, pi=COIN, n=2, **changes):
    return tabular.n_step_episode(
        np.zeros((3, 2)) if q is None else q, what, pi, n, **(RATES | changes)
    )


def trace(q=None, what=RIGHT, pi=COIN, lam=0.9, **changes):
    return tabular.trace_episode(
        np.zeros((3, 2)) if q is None else q, what, pi, lam, **(RATES | changes)
    )


def tables(learner=tabular.n_step_episode, runs=((RIGHT,),), pi=COIN, parameter=2, **changes):
    return tabular.learn_tables(learner, runs, pi, parameter, **(RATES | changes))


def n_run(task=WALK, n=2, sigmas=(0.5,), **changes):
    return tabular.n_step_run(
        task, n, sigmas, **(CONTROL | {"stream": words(0, 0, TRAJECTORY)} | changes)
    )


def t_run(task=WALK, lam=0.9, sigmas=(0.5,), **changes):
    return tabular.trace_run(
        task, lam, sigmas, **(CONTROL | {"stream": words(0, 0, TRAJECTORY)} | changes)
    )


def returns(learner=tabular.trace_run, task=WALK, parameter=0.9, sigmas=(0.5,), **changes):
    return tabular.control_returns(
        learner, task, parameter, sigmas, **(CONTROL | {"runs": (0,), "seed": 0} | changes)
    )


def walk(domain=BOYAN, steps=10, seed=0, run=0):
    return prediction.trajectory(domain, steps, seed, run)


def chain(**changes):
    made = BOYAN.chain
    fields = {
        "transitions": made.transitions,
        "mu": made.mu,
        "start": made.start,
        "ends_on": made.ends_on,
    }
    return walk(replace(BOYAN, chain=Chain(**(fields | changes))))


def pole(**changes):
    return walk(replace(POLE, walker=replace(POLE.walker, **changes)))


def numbers(steps=10, seed=0, number=0):
    return prediction.sigma_normals(steps, seed, number)


def learn(sigma=HALVES, see=None, setting=SETTING):
    path = see if isinstance(see, str) else replace(walk(), **(see or {}))
    return prepare(setting, path, sigma)(0.1, 1.0)


def run(setting=None, seed=0, number=0, **changes):
    return engine.one_run(
        setting or ControlSetting(p=64, lam=0.0, episodes=2, max_steps=5), seed, number, **changes
    )


def corrected(variant="corrected", runs=1, seed=0):
    return corrected_car(ControlSetting(p=64, episodes=1, max_steps=5), variant, runs, seed)


def table(**changes):
    return tile_tables.tile_table(**({"p": 64, "tilings": 3, "memory": "int"} | changes))


VALID = (
    *(episode, n_step, trace, tables, n_run, t_run, returns),
    *(walk, chain, pole, numbers, learn, run, corrected, table),
)

WIDE = Episode([3, 2], [1, 0], [1.0], ended=True)  # a state that a table of three has not
MANY = Episode([1, 2], [2, 0], [1.0], ended=True)  # an action too many
HOSTILE = [
    (episode, {"states": [1e19, 1]}, "states reaches 1e"),
    (episode, {"states": [2**63, 1]}, "states reaches 9"),
    (episode, {"actions": [1e19, 1]}, "actions reaches 1e"),
    (episode, {"states": [-1, 1]}, "states is"),
    (episode, {"states": [0.5, 1]}, "states is"),
    (episode, {"states": [np.nan, 1]}, "states is nan"),
    (episode, {"states": [True, False]}, "states is"),
    (episode, {"actions": np.array([True, False])}, "actions is"),
    (episode, {"states": [0, 1, 2]}, "states has shape"),
    (episode, {"rewards": [1.0, 2.0]}, "states has shape"),
    (episode, {"rewards": []}, "rewards has shape"),
    (episode, {"ended": 1}, "ended is 1"),
    # one episode
    *((call, {"what": WIDE}, "episode has states from 2 to 3") for call in (n_step, trace)),
    *((call, {"what": MANY}, "episode has actions from 0 to 2") for call in (n_step, trace)),
    *((call, {"what": ([0], [1], [1.0], True)}, "episode is") for call in (n_step, trace)),
    *((call, {"q": np.zeros((2, 2))}, "pi has shape") for call in (n_step, trace)),
    *((call, {"q": np.zeros((3, 2), dtype=int)}, "q is") for call in (n_step, trace)),
    *((call, {"q": np.zeros((3, 2), dtype=">f8")}, "q is") for call in (n_step, trace)),
    *((call, {"q": [[0.0, 0.0]] * 3}, "q is") for call in (n_step, trace)),
    *((call, {"q": np.full((3, 2), np.nan)}, "q is") for call in (n_step, trace)),
    *((call, {"q": fixed(np.zeros((3, 2)))}, "q is") for call in (n_step, trace)),
    *((call, {"q": np.zeros(3)}, "q is") for call in (n_step, trace)),
    *((call, {"q": np.zeros(shape)}, "q is") for shape in ((0, 2), (3, 0)) for call in (n_step, trace)),
    *((call, {"pi": np.ones((3, 2))}, "pi sums to 2") for call in (n_step, trace)),
    *((call, {"pi": np.full((3, 3), 1 / 3)}, "pi has shape") for call in (n_step, trace)),
    *((call, {"sigma": np.nan}, "sigma is nan") for call in (n_step, trace, tables)),
    *((call, {"gamma": 1.5}, "gamma is 1.5") for call in (n_step, trace, tables)),
    *((call, {"alpha": -0.1}, "alpha is -0.1") for call in (n_step, trace, tables)),
    *((call, {"alpha": np.inf}, "alpha is inf") for call in (n_step, trace, tables)),
    *((call, {"n": n}, f"n is {n}") for n in (0, -5, 1.5, True, None, np.nan) for call in (n_step, n_run)),
    *((call, {"lam": lam}, f"lam is {lam}") for lam in (-0.1, 1.5, np.nan, None) for call in (trace, t_run)),
    # many episodes
    (tables, {"learner": tabular.n_step_run}, "learner is"),
    (tables, {"learner": "n_step_episode"}, "learner is"),
    (tables, {"learner": [tabular.n_step_episode]}, "learner is"),
    (tables, {"runs": [[RIGHT], [WIDE]]}, "runs has states from 1 to 3"),
    (tables, {"runs": [[MANY]]}, "runs has actions from 0 to 2"),
    (tables, {"runs": []}, "runs have"),
    (tables, {"runs": [[], []]}, "runs have"),
    (tables, {"runs": [[RIGHT], [RIGHT, RIGHT]]}, "runs have"),
    (tables, {"runs": [RIGHT]}, "runs is"),
    (tables, {"runs": RIGHT}, "runs is"),
    (tables, {"runs": [["right"]]}, "runs is 'right'"),
    (tables, {"runs": None}, "runs is None"),
    (tables, {"pi": np.full((2, 2), 0.5)}, "runs has states from 1 to 2"),
    (tables, {"pi": np.full(2, 0.5)}, "pi has shape"),
    *((tables, {"parameter": n}, f"parameter is {n}") for n in (0, -5, 1.5, np.nan)),
    *((tables, {"learner": tabular.trace_episode, "parameter": x}, f"parameter is {x}") for x in (1.5, np.nan)),
    # control
    *((call, {"task": WALK.mdp}, "task is") for call in (n_run, t_run, returns)),
    *((call, {"max_steps": x}, f"max_steps is {x}") for x in (0, -5, 1.5, 2**40) for call in (n_run, t_run, returns)),
    *((call, {"epsilon": x}, f"epsilon is {x}") for x in (3.0, -0.1, np.nan) for call in (n_run, t_run, returns)),
    *((call, {"sigmas": x}, "sigmas") for x in ([], [np.nan], 0.5, [[0.5]]) for call in (n_run, t_run, returns)),
    *((call, {"alpha": -1.0}, "alpha is -1") for call in (n_run, t_run, returns)),
    *(
        (call, {"stream": x}, "stream is")
        for x in (state(1), state(), state(0, 0, 0, 0), state(1, 2, 3, 4, 5), np.ones(4), [1, 2, 3, 4], None,
                  fixed(state(1, 2, 3, 4)), np.ones(4, dtype=np.int64), np.ones(4, dtype=">u8"), np.ones((4, 1), "u8"))
        for call in (n_run, t_run)
    ),
    (returns, {"learner": tabular.trace_episode}, "learner is"),
    (returns, {"parameter": np.nan}, "parameter is nan"),
    (returns, {"learner": tabular.n_step_run, "parameter": 1.5}, "parameter is 1.5"),
    (returns, {"runs": ()}, "runs is"),
    (returns, {"runs": 3}, "runs is 3"),
    (returns, {"runs": (-1,)}, "run is -1"),
    (returns, {"seed": -1}, "seed is -1"),
    # prediction
    (walk, {"domain": None}, "domain is None"),
    (walk, {"domain": BOYAN.chain}, "domain is"),
    *((call, {"steps": x}, f"steps is {x}") for x in (0, -5, 1.5, True, 2**40) for call in (walk, numbers)),
    (walk, {"domain": POLE, "steps": -5}, "steps is -5"),
    (walk, {"seed": -1}, "seed is -1"),
    (walk, {"run": 1.5}, "run is 1.5"),
    (chain, {"start": BOYAN.chain.start / 2}, "chain.start sums to 0.5"),
    (chain, {"mu": BOYAN.chain.mu / 2}, "chain.mu sums to 0.5"),
    (chain, {"transitions": BOYAN.chain.transitions * np.nan}, "chain.transitions sums to nan"),
    (chain, {"transitions": BOYAN.chain.transitions[:, :, :-1]}, "chain.transitions is"),
    (chain, {"mu": BOYAN.chain.mu[0]}, "chain.mu is"),
    (chain, {"mu": BOYAN.chain.mu[:-1]}, "chain.start is"),
    (chain, {"mu": BOYAN.chain.mu[:0]}, "chain.mu is"),
    (chain, {"start": np.append(BOYAN.chain.start, 0.0)}, "chain.start is"),
    (chain, {"ends_on": BOYAN.chain.ends_on[:-1]}, "chain.ends_on is"),
    (chain, {"ends_on": BOYAN.chain.ends_on.astype(float)}, "chain.ends_on is"),
    (chain, {"horizon": -1}, "chain.horizon is -1"),
    (pole, {"gain": POLE.walker.gain[:1]}, "walker.gain has shape"),
    (pole, {"action_deviation": np.nan}, "walker.action_deviation is nan"),
    (pole, {"warm_up": -1}, "domain.walker.warm_up is -1"),
    (learn, {"see": {"phi": np.zeros(10)}}, "path.phi is"),
    (learn, {"see": {"phi": np.zeros((10, 4), dtype=int)}}, "path.phi is"),
    (learn, {"see": {"phi_next": np.zeros((9, 4))}}, "path.phi_next is"),
    (learn, {"see": {"phi_next_expected": np.zeros((10, 3))}}, "path.phi_next_expected is"),
    (learn, {"see": {"reward": np.zeros(9)}}, "path.reward is"),
    (learn, {"see": {"rho": np.zeros(9)}}, "path.rho is"),
    (learn, {"see": {"ends": np.zeros(10)}}, "path.ends is"),
    (learn, {"see": "a path"}, "path is"),
    *((learn, {"sigma": np.zeros(n)}, "sigma has shape") for n in (9, 11)),
    (learn, {"sigma": 0.5}, "sigma has shape"),
    (learn, {"setting": replace(SETTING, steps=8)}, "path has features"),
    (learn, {"setting": "no setting"}, "setting is"),
    # the car
    (run, {"setting": "no setting"}, "setting is"),
    *((run, {"flush_below": x}, f"flush_below is {x}") for x in (0.0, -1.0, np.nan, 2.0)),
    (run, {"seed": -1}, "seed is -1"),
    (run, {"number": 0.5}, "run is 0.5"),
    (corrected, {"variant": "none"}, "variant is 'none'"),
    (corrected, {"runs": 0}, "runs is 0"),
    (corrected, {"runs": 2**40}, "runs is 1099511627776"),
    (corrected, {"seed": -1}, "seed is -1"),
    *((table, {"p": x}, "p is") for x in (0, 2**16 + 1, 64.0, [64], None)),
    *((table, {"tilings": x}, "tilings is") for x in (0, 33, 3.0, [3])),
    *((table, {"memory": x}, "memory is") for x in ("hash", None, ["int"])),
]  # fmt: skip


def name(value):
    return (
        getattr(value, "__name__", None)
        or " ".join(re.sub(r" at 0x\w+", "", str(value)).split())[:40]
    )


@pytest.mark.parametrize("call", VALID, ids=name)
def test_what_the_hostile_calls_change_is_a_valid_call(call):
    call()


@pytest.mark.parametrize(("call", "changes", "message"), HOSTILE, ids=name)
def test_hostile_arguments_are_refused_by_name(call, changes, message):
    with pytest.raises(ValueError, match=r"^" + message.replace(".", r"\.").replace("(", r"\(")):
        call(**changes)


@pytest.mark.parametrize("bad", [state(1), state(), state(0, 0, 0, 0), state(1, 2, 3, 4, 5), np.ones(4), None, 7,
                                 [1, 2, 3, 4], fixed(state(1, 2, 3, 4)), np.ma.masked_array(state(1, 2, 3, 4)),
                                 np.ones(4, dtype=">u8")])  # fmt: skip
def test_random_numbers_need_a_state(bad):
    more = (lambda x: rng.integers(x, 3), lambda x: rng.fill_normal(x, np.empty(2)))
    for draw in (rng.next_u64, rng.uniform, rng.normal, *more):
        with pytest.raises(ValueError, match=r"^state is"):
            draw(bad)


@pytest.mark.parametrize(
    "out", [np.empty((2, 2)), np.empty(2, dtype=int), [0.0], fixed(np.empty(2)), None]
)
def test_normal_numbers_need_a_place(out):
    with pytest.raises(ValueError, match=r"^out is"):
        rng.fill_normal(state(1, 2, 3, 4), out)


def test_random_numbers_refuse_what_has_no_meaning():
    for n in (0, -1, 1.5, 2**60):
        with pytest.raises(ValueError, match=r"^n is"):
            rng.integers(state(1, 2, 3, 4), n)
    for u in (0.0, 1.0, -0.5, np.nan, 1e-300, 2.0**-63):
        with pytest.raises(ValueError, match=r"^u is"):
            rng.normal_quantile(u)


@pytest.mark.parametrize("draws", [np.full((3, 3), 1.0), np.full((3, 3), -0.1), np.zeros((3, 2)), np.zeros((0, 3)),
                                   np.full((3, 3), np.nan), None])  # fmt: skip
def test_walks_need_uniform_numbers(draws):
    with pytest.raises(ValueError, match=r"^draws "):
        prediction.walk_chain(BOYAN.chain, draws)


def test_places_outside_of_the_box_are_refused():
    tiles = table()
    for x, v, named in ((0.6, 0.0, "position"), (np.nan, 0.0, "position"), (0.0, 0.08, "velocity")):
        with pytest.raises(ValueError, match=rf"^{named} is"):
            tiles.cell(x, v)
    with pytest.raises(ValueError, match=r"^action is 3"):
        tiles.indices(0.0, 0.0, 3)
    with pytest.raises(ValueError, match=r"^velocity is nan"):
        tile_tables.scaled(0.0, np.nan)
    with pytest.raises(ValueError, match=r"^p is 0"):
        tile_tables.make_memory("iht", 0, 8)


def test_a_refused_call_changes_nothing():
    stream, q = words(0, 0, TRAJECTORY), np.zeros((3, 2))
    with pytest.raises(ValueError, match="n is"):
        n_run(n=0, stream=stream)
    with pytest.raises(ValueError, match="alpha is"):
        n_step(q=q, alpha=-1.0)
    assert (stream == words(0, 0, TRAJECTORY)).all()
    assert not q.any()


def test_a_horizon_beyond_all_episodes_is_the_whole_episode():
    made = [tables(runs=[[episode(states=[1, 1, 2], actions=[0, 1, 0], rewards=[0.5, 1.0])]], parameter=n)
            for n in (2, 2**63 - 1, 10**30)]  # fmt: skip
    assert (made[0] == made[1]).all()
    assert (made[0] == made[2]).all()


def test_compiled_functions_are_private():
    """A compiled function checks nothing, so none can be reached by a public name of a public module."""
    names = [p.stem for p in (ROOT / "gqlib" / "fast").glob("*.py") if p.stem[0] != "_"]
    assert {"prediction", "rng", "tabular"} <= set(names)
    found = [
        f"{module}.{key}"
        for module in names
        for key, value in vars(import_module(f"gqlib.fast.{module}")).items()
        if not key.startswith("_") and hasattr(value, "py_func")
    ]
    assert found == []


# Every kernel and every option, and whether an index out of bounds would be noticed at all.
BOUNDS = [
    "test_agent_fast.py::test_active_features_learn_what_the_dense_reference_learns",
    "test_agent_fast.py::test_tiles_beyond_the_memory_are_those_of_tiles3",
    "test_engine.py::test_what_is_late_outlives_an_episode_that_is_cut_off",
    "test_fast_control.py::test_same_trajectory_and_weights_as_the_dense_reference",
    "test_fast_control.py::test_rows_are_found_exactly",
    "test_fast_control.py::test_bare_loop_drives_the_same_car",
    "exact/test_corrected.py::test_compiled_car_is_the_reference_step_on_the_same_car",
    "test_fast_prediction.py::TestWalks",
    "test_fast_prediction.py::test_bits_are_those_that_were_committed",
    "test_fast_tabular.py",
    "exact/test_own_domain.py::test_learners_run_on_a_problem_of_ones_own",
    "learning/test_carriers.py::test_the_compiled_loop_takes_the_steps_of_numpy",
    "test_rng.py::test_blocks_of_normals_are_the_single_ones",
]


@pytest.mark.thorough
def test_kernels_never_index_out_of_bounds(tmp_path):
    """The kernels, compiled with checks of every index, in a process and with a cache of their own."""
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    environment |= {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    noticed = (
        "import numpy as np; from gqlib.fast import _rng; _rng.uniform(np.ones(1, dtype=np.uint64))"
    )
    done = subprocess.run(
        [sys.executable, "-c", noticed], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert "IndexError" in done.stderr  # so the checks are on
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-n0",
        "-o",
        "addopts=",
        "-p",
        "no:cacheprovider",
    ]
    command += [*(f"tests/{test}" for test in BOUNDS), "-k", "not 19_state_walk"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
