"""The car on the engine: equal to the dense reference, the same everywhere bit for bit, and named by its version."""

import dataclasses
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from numba.core.event import trigger_event

from benchmarks import general
from gqlib.control import ControlSetting, corrected, run_control
from gqlib.control import engine as driver
from gqlib.control.tile_tables import tile_table
from gqlib.engine import _kernel as kernel
from gqlib.engine.runs import EngineSetting, parts_of
from gqlib.fast import ENGINE_VERSION
from gqlib.fast import _car as fast_car
from gqlib.fast._jit import notice
from gqlib.fast._rng import uniform
from gqlib.rules import TIE
from gqlib.seeds import START, words

ROOT = Path(__file__).parents[1]
CHECKSUMS = Path(__file__).parent / "oracles" / "engine_checksums.json"
BASE = ControlSetting(episodes=2, max_steps=400, alpha=0.002, p=256)

# Every option at least once; together with the paper's own.
CASES = {
    "paper, p = 1024": {"p": 1024},
    "epsilon-greedy target": {"target": "epsilon-greedy"},
    "sigma 0": {"sigma": 0.0},
    "sigma 1": {"sigma": 1.0, "target": "epsilon-greedy"},
    "dynamic sigma per step": {"sigma": 0.02, "sigma_noise": 0.01},
    "clipped, per episode, decaying": {
        "sigma": 0.02, "sigma_noise": 0.1, "sigma_drawn": "episode", "sigma_clipped": True, "sigma_decay": 0.5,
    },
    "per run": {"sigma_noise": 0.3, "sigma_drawn": "run", "sigma_decay": 0.5},
    "lagged": {"v": "lagged", "p": 96, "max_steps": 250},
    "lagged, epsilon-greedy target": {"v": "lagged", "p": 96, "max_steps": 250, "target": "epsilon-greedy"},
    "semi-gradient": {"method": "semi-gradient", "sigma": 1.0},
    "no trace": {"lam": 0.0},
    "short trace": {"lam": 0.3},
    "undiscounted, full trace": {"lam": 1.0, "gamma": 1.0, "alpha": 1e-4},
    "16 tilings": {"tilings": 16, "p": 700},
    "3 tilings": {"tilings": 3, "p": 50},
    "one feature": {"p": 1, "alpha": 1e-4},
    "filled index table": {"memory": "iht", "p": 2048},
    "overfull index table": {"memory": "iht", "p": 300},
    "small eta": {"eta": 2.0**-10},
    "random walk": {"epsilon": 1.0},
    "no exploration": {"epsilon": 0.0},
    "salted hash": {"memory": "salted"},
    "RLtoolkit's coder": {"memory": "rltoolkit", "target": "epsilon-greedy"},
    "one table for all": {"memory": "rltoolkit", "tiles_of": 3},
    "RLtoolkit's coder, 16 tilings": {"memory": "rltoolkit", "tilings": 16, "p": 700},
    "corrected": {"method": "corrected", "epsilon": 0.3},
    "corrected, dynamic sigma": {"method": "corrected", "epsilon": 0.3, "sigma": 0.9, "sigma_noise": 0.01},
    "ties at random": {"ties": "random"},
    "ties at random, lagged": {"ties": "random", "v": "lagged", "p": 96, "max_steps": 250},
    "from the bottom": {"start": "bottom", "theta0": -1.0},
    "from anywhere": {"start": "anywhere", "theta0_noise": 0.1},
}  # fmt: skip


def case(name):
    return dataclasses.replace(BASE, **CASES[name])


def relative(got, want):
    return np.abs(got - want).max() / max(np.abs(want).max(), 1e-300)


@pytest.mark.parametrize("name", CASES)
def test_same_trajectory_and_weights_as_the_dense_reference(name):
    setting = case(name)
    fast = run_control(setting, 1, 17, weights=True)
    dense = run_control(setting, 1, 17, weights=True, engine="reference")
    assert not dense.diverged.any()
    assert np.array_equal(fast.steps, dense.steps)
    assert np.array_equal(fast.capped, dense.capped)
    assert relative(fast.theta, dense.theta) < 1e-9
    if setting.method != "semi-gradient":
        assert relative(fast.omega, dense.omega) < 1e-9
    else:
        assert not fast.omega.any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "changes"),
    [(3, {}), (290, {"target": "epsilon-greedy", "sigma_noise": 0.01, "epsilon": 0.2, "max_steps": 1200, "p": 256}),
     (19, {"v": "lagged", "p": 128}), (27, {"method": "corrected"}), (12, {"memory": "salted", "start": "bottom"}),
     (1, {"start": "anywhere", "ties": "random", "memory": "rltoolkit", "theta0": 1.0, "theta0_noise": 0.5})],
)  # fmt: skip
def test_same_trajectory_through_goals(seed, changes):
    # Seeds with which the car soon reaches the goal, so that terminal steps and restarts are compared too.
    setting = ControlSetting(**{"episodes": 2, "max_steps": 900, "alpha": 0.002, "p": 512, "sigma": 0.6,
                                "epsilon": 0.3, **changes})  # fmt: skip
    fast = run_control(setting, 1, seed, weights=True)
    dense = run_control(setting, 1, seed, weights=True, engine="reference")
    assert not fast.capped.all()
    assert np.array_equal(fast.steps, dense.steps)
    assert relative(fast.theta, dense.theta) < 1e-9
    assert relative(fast.omega, dense.omega) < 1e-9


def test_lagged_correction_outlives_a_cut_episode():
    # After the step limit v is still due in the next episode's first step; after the goal it is zero.
    setting = ControlSetting(v="lagged", p=64, episodes=6, max_steps=30, alpha=0.01)
    fast = run_control(setting, 1, 1, weights=True)
    dense = run_control(setting, 1, 1, weights=True, engine="reference")
    assert fast.capped.all()
    assert relative(fast.theta, dense.theta) < 1e-12


def test_divergence_is_found_in_the_same_episode():
    setting = ControlSetting(
        alpha=0.1, method="semi-gradient", p=64, episodes=3, max_steps=600, sigma=0.0
    )
    fast = run_control(setting, 1, 1)
    dense = run_control(setting, 1, 1, engine="reference")
    assert fast.diverged.all()
    assert dense.diverged.all()
    assert np.array_equal(fast.steps, dense.steps)


@pytest.mark.slow
def test_flush_threshold_trades_rounding_error():
    # Rounding errors grow as the threshold falls; the chosen one keeps them far below the promise of 1e-9.
    setting = dataclasses.replace(BASE, max_steps=1500)
    exact = run_control(setting, 1, 17, weights=True, engine="reference").theta[0]
    error = {}
    for threshold in (1e-1, kernel.FLUSH_BELOW, 1e-12):
        _, diverged_in, theta, _ = driver.one_run(setting, 17, 0, flush_below=threshold)
        assert diverged_in == -1
        error[threshold] = relative(theta, exact)
    assert error[1e-1] < 1e-12
    assert error[kernel.FLUSH_BELOW] < 1e-10
    assert error[1e-12] > 100 * error[kernel.FLUSH_BELOW]


def test_flush_moves_the_sums_and_drops_dead_traces():
    weights, live = np.zeros((9, 4)), np.array([4 * 7, 4 * 2, 4 * 8], dtype=np.uint32)
    weights[[7, 2, 8], 1] = 2.0, 3.0, 1e-29
    assert kernel.flush(weights.reshape(-1), live, 3, 0.5, 0.25, 0.01) == 2
    assert live[:2].tolist() == [28, 8]  # the third fell below the floor
    assert weights[[7, 2, 8], 1].tolist() == [0.02, 0.03, 0.0]
    assert weights[[7, 2], 0].tolist() == [1.0, 1.5]
    assert weights[[7, 2], 2].tolist() == [0.5, 0.75]
    assert kernel.flush(weights.reshape(-1), live, 2, 0.0, 0.0, 0.0) == 0
    assert not weights[:, 1].any()


def test_committed_checksums_name_the_engine_version():
    """If this fails, results have changed: raise ENGINE_VERSION, and write the new checksums beside it."""
    committed = json.loads(CHECKSUMS.read_text())
    assert committed["engine_version"] == ENGINE_VERSION
    got = {
        name: [f"{c:016x}" for c in run_control(case(name), 2, 2019).checksum.tolist()]
        for name in CASES
    }
    assert got == committed["checksums"]


@pytest.mark.slow
def test_results_do_not_depend_on_the_order_of_calls():
    names = ["semi-gradient", "lagged", "paper, p = 1024"]
    code = (
        "import sys; sys.path.insert(0, 'tests'); from test_fast_control import case, run_control;"
        f"print([run_control(case(n), 1, 2019).checksum[0] for n in {names[::-1]!r}])"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    here = [run_control(case(n), 1, 2019).checksum[0] for n in names]
    assert other.stdout.strip() == str(here[::-1])


def test_rows_are_found_exactly():
    for tilings in (3, 8, 16):
        table = tile_table(512, tilings)
        world = corrected.world_of(table, table.rows)
        rng = np.random.default_rng(2)
        x = np.concatenate(
            [rng.uniform(-1.2, 0.5, 500), table.edges_x[:-1], np.nextafter(table.edges_x[1:-1], -9)]
        )
        v = np.concatenate(
            [
                rng.uniform(-0.07, 0.07, 500),
                table.edges_v[:-1],
                np.nextafter(table.edges_v[1:-1], -9),
            ]
        )
        for position, velocity in [
            *zip(x, rng.permutation(v)[: len(x)], strict=False),
            (-1.2, -0.07),
            (0.5, 0.07),
        ]:
            row = fast_car.find_row(position, velocity, *world[2:5], world.width)
            assert row == table.cell(position, velocity) * world.width


@pytest.mark.parametrize("tilings", [1, 3, 8])
def test_inner_edges_are_guessed_to_stand_at_the_whole_numbers(tilings):
    table = tile_table(512, tilings)
    scale_x, offset_x, scale_v, offset_v = table.grid[:4]
    for edges, scale, offset in (
        (table.edges_x, scale_x, offset_x),
        (table.edges_v, scale_v, offset_v),
    ):
        np.testing.assert_allclose(
            scale * edges[1:-1] + offset, np.arange(1, len(edges) - 1), atol=1e-9
        )


def test_the_engine_is_handed_the_setting():
    """Every field under its own name, where the engine has it; the learner and the car follow from the others."""
    setting = ControlSetting(
        sigma=0.25, sigma_noise=0.125, sigma_drawn="episode", sigma_clipped=True, sigma_decay=0.875, lam=0.5,
        gamma=0.75, alpha=0.0625, eta=3.0, epsilon=0.375, target="epsilon-greedy", p=2048, tilings=5, memory="salted",
        max_steps=11, episodes=4, v="lagged", ties="random", start="anywhere", theta0=-1.0, theta0_noise=0.5,
        tiles_of=3,
    )  # fmt: skip
    made, given = driver.engine_setting(setting), dataclasses.asdict(setting)
    car = {"memory": "salted", "p": 2048, "start": "anywhere", "tilings": 5, "tiles_of": 3}
    assert (made.environment, made.learner, dict(made.options)) == (
        "mountain_car",
        "gq_lagged",
        car,
    )
    same = set(given) - {*car, "v", "method"}
    assert {name: getattr(made, name) for name in same} == {name: given[name] for name in same}
    own = {"environment", "learner", "options", "kappa"}
    assert same | own == {field.name for field in dataclasses.fields(EngineSetting)}


@pytest.mark.parametrize(
    ("method", "v", "learner"),
    [("gradient", "same-step", "gq"), ("gradient", "lagged", "gq_lagged"), ("corrected", "same-step", "corrected_gq"),
     ("semi-gradient", "same-step", "q_sigma"), ("semi-gradient", "lagged", "q_sigma")],
)  # fmt: skip
def test_a_method_is_a_learner_of_the_engine(method, v, learner):
    assert driver.engine_setting(ControlSetting(method=method, v=v)).learner == learner


def test_flushes_have_a_threshold_above_zero_and_at_most_one():
    setting = ControlSetting(p=64, episodes=1, max_steps=2)
    for wrong in (0.0, -1.0, 1.5, float("nan")):
        with pytest.raises(
            ValueError, match=rf"^flush_below is {wrong}; it should be in \(0, 1\]$"
        ):
            driver.one_run(setting, 0, 0, flush_below=wrong)
    with pytest.raises(ValueError, match=r"^setting is 'car'; it should be a ControlSetting$"):
        driver.one_run("car", 0, 0)
    for edge in (5e-324, 1.0):
        assert driver.one_run(setting, 0, 0, flush_below=edge)[0].tolist() == [-2]


def test_greedy_takes_the_first_action_within_the_tolerance():
    best, stream = kernel.greedy_of(3, False), words(0, 0, START)
    assert best((1.0, 1.0 + TIE / 2, 0.0), stream) == 0
    assert best((1.0, 1.0 + 2 * TIE, 1.0 + 2.5 * TIE), stream) == 1
    assert best((0.0, 1.0, 2.0), stream) == 2
    assert stream.tolist() == words(0, 0, START).tolist()


def test_a_tie_is_broken_by_a_number_of_its_own_and_nothing_else_draws_one():
    best, stream, same = kernel.greedy_of(4, True), words(3, 0, START), words(3, 0, START)
    assert [best(q, stream) for q in ((2.0, 1.0, 0.0, 1.0), (0.0, 0.0, 0.0, 1.0))] == [0, 3]
    assert stream.tolist() == same.tolist()
    for q, tied in (((1.0, 0.0, 1.0 + TIE / 2, 1.0), (0, 2, 3)), ((0.0, 5.0, 5.0, 1.0), (1, 2))):
        for _ in range(40):
            assert best(q, stream) == tied[int(uniform(same) * len(tied))]


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0 / 3.0, 0.7, 1.0])
def test_behaviour_decides_at_its_bars_as_below_and_above_them(epsilon):
    """With a state made so that the next word is the bar itself, the number before it, or the one after."""
    third, bars = epsilon / 3.0, kernel.bars_of(epsilon, 3)
    for bits in (int(bar) + step for bar in bars for step in (-1, 0, 1)):
        word = (bits << 11) % 2**64
        state = np.array(
            [0, 0, 0, (word >> 23 | word << 41) % 2**64], dtype=np.uint64
        )  # a turn gives back the word
        u = bits % 2**53 * 2.0**-53
        want = 7 if u >= epsilon else int(u >= third) + int(u >= 2.0 * third)
        assert kernel.explore(7, bars, 3, state) == want, (bits, u)


@pytest.mark.parametrize("actions", [1, 2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.0, 2.0**-60, 0.1, 1.0 / 3.0, 1.0 - 2.0**-53, 1.0])
def test_behaviour_compares_whole_numbers_as_it_would_doubles(epsilon, actions):
    shares = [a * (epsilon / actions) for a in range(1, actions)]
    bars = kernel.bars_of(epsilon, actions)
    for probability, bar in zip((epsilon, *shares), bars, strict=True):
        assert bar * 2.0**-53 >= probability
        assert bar == 0 or (bar - 1) * 2.0**-53 < probability
    one, other = words(3, 0, 1), words(3, 0, 1)
    for _ in range(300):
        u = uniform(one)
        want = 7 if u >= epsilon else sum(u >= share for share in shares)
        assert kernel.explore(7, bars, actions, other) == want


def test_bare_loop_drives_the_same_car():
    # Nothing is learned with alpha near 0, so the learner and the loop without learning take the same steps.
    setting = ControlSetting(alpha=1e-300, epsilon=1.0, episodes=4, max_steps=3000)
    thrice = dataclasses.replace(setting, episodes=12)
    bare = general.without_learning(driver.engine_setting(setting), 3)
    assert bare() == run_control(thrice, 1, 3).steps.sum()


def kernel_run(setting):
    """The compiled kernel of a setting."""
    made = driver.engine_setting(setting)
    return kernel.kernel_of(
        parts_of(made.make_environment(), made.make_learner(), made.target, made.ties)
    )


@pytest.mark.thorough
def test_freshly_compiled_kernel_has_no_fused_or_fast_arithmetic_and_the_committed_checksum():
    # A fresh cache directory: code loaded from a cache has no text to look at, and the cache does not notice when
    # a function in another file changes.
    code = (
        "import sys; sys.path.insert(0, 'tests'); from test_fast_control import case, kernel_run, run_control;"
        "print(f\"{run_control(case('paper, p = 1024'), 1, 2019).checksum[0]:016x}\");"
        "run = kernel_run(case('paper, p = 1024'));"
        "text = ''.join(run.inspect_llvm(s) + run.inspect_asm(s) for s in run.signatures);"
        "print(len(text) > 10000, *(word in text for word in ('vfmadd', 'llvm.fma', ' fast ', 'llvm.cos')))"
    )
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True, text=True, check=True, cwd=ROOT, env={**os.environ, "NUMBA_CACHE_DIR": cache},
        )  # fmt: skip
    checksum, *found = done.stdout.split()
    assert checksum == json.loads(CHECKSUMS.read_text())["checksums"]["paper, p = 1024"][0]
    assert found == ["True", "False", "False", "False", "False"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_worker_processes_do_not_announce_compilation(monkeypatch):
    """Each of them would, once for each kernel."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("multiprocessing.parent_process", lambda: "a parent")
    with notice("compiling", after=0.01), trigger_event("numba:compile", data={}):
        time.sleep(0.05)
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("kind", "expected"), [(Terminal, "gqlib: compiling\n"), (io.StringIO, "")]
)
def test_long_compilation_is_announced_on_a_terminal_only(monkeypatch, kind, expected):
    stream = kind()
    monkeypatch.setattr(sys, "stderr", stream)
    with notice("never said: it only loads", after=0.01):
        time.sleep(0.1)
    with notice("compiling", after=0.01), trigger_event("numba:compile", data={}):
        time.sleep(0.2)
        with trigger_event("numba:compile", data={}):  # a part of it
            pass
    with (
        notice("never said: it is quick", after=60),
        trigger_event("numba:compile", data={}),
    ):
        pass
    assert stream.getvalue() == expected
