"""Without Numba, as in a browser, everything can be imported and the kernels give the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gqlib.control import ControlSetting, run_control
from gqlib.fast import _jit
from gqlib.sweeps import workers
from gqlib.sweeps.results import load_results, verify_sample

ROOT = Path(__file__).resolve().parents[1]
PLAIN = {
    **os.environ,
    "GQLIB_NO_NUMBA": "1",
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
}
# What holds kernels to references, to committed checksums or to integers of Python; small enough for plain Python.
SAME_BITS = [
    "test_rng.py::test_words_agree_with_python_integers",
    "test_rng.py::test_blocks_of_normals_are_the_single_ones",
    "test_fast_prediction.py::TestWalks",
    "test_fast_prediction.py::test_learners_equal_the_reference",
    "test_fast_prediction.py::test_the_step_of_divergence_is_the_same",
    "test_fast_prediction.py::test_bits_are_those_that_were_committed",
    "test_fast_tabular.py",
    "test_agent.py::test_coder_gives_the_tiles_of_tiles3",
    "test_agent.py::test_coder_moves_points_to_the_edge_and_counts_what_does_not_fit",
    "test_agent.py::test_learn_is_the_reference_step",
    "test_fast_control.py::test_rows_are_found_exactly",
    "test_fast_control.py::test_flush_moves_the_sums_and_drops_dead_traces",
]
# Options that the kernel of the car is compiled for, each on its own.
CARS = [
    {},
    {"target": "epsilon-greedy"},
    {"v": "lagged"},
    {"method": "corrected"},
    {"ties": "random"},
]
CAR = {"p": 512, "episodes": 2, "max_steps": 200, "sigma": 0.5, "sigma_noise": 0.1}


def python(code, **variables):
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", code]
    return subprocess.run(
        command, env=PLAIN | variables, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.slow
def test_everything_is_imported_where_numba_and_processes_are_missing():
    code = """if True:
        import importlib, pkgutil, sys
        missing = ["numba", "_multiprocessing", "multiprocessing.resource_tracker"]
        sys.modules.update(dict.fromkeys(missing))
        import gqlib
        for module in pkgutil.walk_packages(gqlib.__path__, "gqlib."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
        from gqlib.fast._jit import COMPILED
        print(COMPILED)
    """
    assert python(code, GQLIB_NO_NUMBA="").strip() == "False"


@pytest.mark.thorough
@pytest.mark.skipif(not _jit.COMPILED, reason="asks whether compiled code and plain Python agree")
def test_kernels_pass_their_tests_in_plain_python():
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
    command += [*(f"tests/{test}" for test in SAME_BITS), "-k", "not 19_state_walk"]
    done = subprocess.run(command, cwd=ROOT, env=PLAIN, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not _jit.COMPILED, reason="asks whether compiled code and plain Python agree")
def test_runs_of_the_car_have_the_bits_of_the_compiled_ones():
    settings = [CAR | options for options in CARS]
    code = "from gqlib.control import ControlSetting, run_control\n" \
        f"print([int(run_control(ControlSetting(**s), 1, 2019).checksum[0]) for s in {settings!r}])"  # fmt: skip
    compiled = [
        int(run_control(ControlSetting(**setting), 1, 2019).checksum[0]) for setting in settings
    ]
    assert len(set(compiled)) == len(settings)
    assert python(code).strip() == str(compiled)


@pytest.mark.slow
def test_an_environment_of_one_s_own_runs_in_plain_python_by_both_engines():
    code = """if True:
        import numpy as np
        from gqlib.engine import Environment, Features, draw, run
        from gqlib.fast._jit import COMPILED, njit
        start = njit()(lambda data, stream: (draw(stream),))
        step = njit()(lambda data, state, action, stream: ((0.9 * state[0] + 0.1 * action,), state[0], False))

        def fill(data, state, out):
            out[0] = int(state[0] * 5)

        own = Environment(start, step, 2, Features(njit()(fill), 6), max_steps=20)
        numbers = {"alpha": 0.01, "lam": 0.9, "gamma": 0.9, "episodes": 2, "runs": 1, "seed": 3}
        fast, slow = (run(own, "gq", engine=name, **numbers) for name in ("fast", "reference"))
        assert np.isfinite(fast.returns).all() and len(set(fast.returns.ravel())) == 2
        print(COMPILED, np.allclose(fast.returns, slow.returns, rtol=1e-12))
    """
    assert python(code).split() == ["False", "True"]


def test_plain_kernels_are_silent_and_leave_numpy_as_it_was():
    @_jit.plain_njit(cache=True)
    def inner(x):
        return x * x

    @_jit.plain_njit(forceinline=True)
    def outer(x):
        if x < 0:
            raise ValueError("negative")
        return inner(x)

    assert inner.py_func(3) == 9  # under the name that Numba has for the function itself
    before = np.geterr()
    with np.errstate(all="raise"):
        assert outer(np.float64(1e200)) == np.inf
        with pytest.raises(ValueError, match="negative"):
            outer(np.float64(-1.0))
        with pytest.raises(FloatingPointError):
            np.float64(1e200) * np.float64(1e200)
    assert np.geterr() == before


class Task:
    def compute(self):
        return {"process": np.array(os.getpid())}


def test_a_page_has_one_process_and_recomputes_no_run(monkeypatch):
    monkeypatch.setattr(workers, "IN_PAGE", True)
    done = list(workers.computed([Task(), Task()], 2, None))
    assert [(index, int(arrays["process"])) for index, arrays in done] == [
        (0, os.getpid()),
        (1, os.getpid()),
    ]
    stored = load_results(ROOT / "results" / "fig4.npz")
    with pytest.warns(UserWarning, match="none of 3 runs is recomputed in a page"):
        assert verify_sample(stored, 3, np.random.default_rng(0)) == 0
