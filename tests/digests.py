"""Compute a little of everything that promises its bits, and print a digest of each: `python tests/digests.py`.

`tests/test_same_bits.py` runs this with other hash seeds, threads, processors, locales, without compilation and with
checks of bounds, and compares. What rounds with the linear-algebra library (LAPACK, BLAS) promises 1e-10 instead and is
printed as numbers. Everything is small: kernels also run in plain Python here.
"""

from __future__ import annotations

import hashlib
import json
import locale
import tempfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gqlib import PredictionProblem, rltoolkit
from gqlib.claims import load_claims
from gqlib.control import ControlSetting, run_control
from gqlib.control.agent import Agent, TileCoder
from gqlib.domains import baird_star, boyan_chain, two_state
from gqlib.domains.random_problems import random_problem
from gqlib.domains.random_walk import random_walk
from gqlib.engine import environments, run
from gqlib.evaluation import PredictionSetting, run_prediction
from gqlib.experiments.mountain_car import constant, control_grid
from gqlib.fast.rng import fill_normal, integers
from gqlib.fast.tabular import n_step_run, trace_run
from gqlib.learners.sparse import SparseGQ
from gqlib.seeds import START, words
from gqlib.stability import critical_sigma, spectral_abscissa
from gqlib.stats import bootstrap_interval, case_null
from gqlib.sweeps.results import collect, save_results
from gqlib.sweeps.store import Store
from gqlib.sweeps.sweep import Experiment, run_sweep
from gqlib.tiles3 import IHT, tiles

CAR = {"p": 512, "episodes": 2, "max_steps": 60, "sigma": 0.5, "sigma_noise": 0.1, "alpha": 0.005}
CARS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "epsilon-greedy": {"target": "epsilon-greedy"},
    "lagged": {"v": "lagged"},
    "corrected": {"method": "corrected"},
    "drawn tiles": {"memory": "rltoolkit"},
    "salted tiles": {"memory": "salted"},
}
WALKS = {"baird_star": "expected", "boyan_chain": "expected", "cart_pole": "expected"}
LEARNERS = {"mountain_car": "gq", "acrobot": "sarsa", "cart_pole": "qrc"}


def digest(*parts: Any) -> str:
    """A digest of arrays, texts and what JSON can hold, with the types and shapes of the arrays."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(
                f"{part.dtype.str}{part.shape}".encode() + np.ascontiguousarray(part).tobytes()
            )
        else:
            found.update(json.dumps(part).encode())
    return found.hexdigest()[:16]


def kernels() -> Iterator[tuple[str, str]]:
    """Compiled learners, each in its domain."""
    for name, options in CARS.items():
        result = run_control(ControlSetting(**(CAR | options)), 2, 2019, weights=True)
        yield (
            f"car, {name}",
            digest(result.signed_steps, result.theta, result.omega, result.checksum),
        )
    for domain, reading in WALKS.items():
        fields = {
            "alpha": 0.01,
            "lam": 0.7,
            "eta": 0.5,
            "steps": 60,
            "kept": 4,
            "sigma": 0.4,
            "sigma_noise": 0.01,
        }
        setting = PredictionSetting(domain, options=(("reading", reading),), **fields)
        yield f"prediction, {domain}", digest(run_prediction(setting, 2, 2019).theta)
    for environment, learner in LEARNERS.items():
        shared: dict[str, Any] = {"alpha": 0.01, "episodes": 2, "max_steps": 40, "sigma_noise": 0.1}
        result = run(environment, learner, runs=1, seed=2019, **shared)
        yield (
            f"engine, {learner} in {environment}",
            digest(result.steps, result.returns, result.theta, result.omega),
        )
    chain = run(
        environments.chain(random_walk(7)), "corrected_gq", runs=1, seed=2019, episodes=5, alpha=0.1
    )
    yield "engine, a chain", digest(chain.steps, chain.returns, chain.theta, chain.omega)
    rates: dict[str, Any] = {"alpha": 0.4, "epsilon": 0.1}
    for learner, parameter in ((n_step_run, 3), (trace_run, 0.9)):
        returns, q = learner(
            random_walk(7),
            parameter,
            np.linspace(0.0, 1.0, 9),
            stream=words(2019, 0, START),
            **rates,
        )
        yield f"tables, {learner.__name__}", digest(returns, q)


def chance() -> Iterator[tuple[str, str]]:
    """Words, numbers and indices that follow from a seed."""
    stream, normals = words(2019, 1, START), np.empty(100)
    fill_normal(stream, normals)
    yield "stream", digest(normals, [int(integers(stream, 1000)) for _ in range(100)], stream)
    memory = IHT(2048)
    points = np.random.default_rng(0).uniform(0.0, 8.0, (50, 2)).tolist()
    yield "tiles3", digest([tiles(memory, 8, p, [1]) + tiles(512, 8, p, [2]) for p in points])
    table = rltoolkit.random_table(np.random.default_rng(1))
    yield (
        "rltoolkit",
        digest([rltoolkit.get_tiles(8, p, [1], size=1024, table=table) for p in points]),
    )
    coder = TileCoder([-1.0, 0.0], [1.0, 2.0], 3, tiles_per_side=[3, 4], tilings=8, size=512)
    agent = Agent(coder, np.random.default_rng(2), sigma=0.5, alpha=0.02)
    path = np.random.default_rng(3).uniform([-1.0, 0.0], [1.0, 2.0], (81, 2))
    deltas = [
        agent.learn(s, agent.act(s), 1.0, t, agent.act(t), terminated=False)
        for s, t in pairwise(path)
    ]
    yield "agent", digest(agent.theta, agent.trace, np.array(deltas))
    sparse = SparseGQ(np.zeros(30))
    steps = np.random.default_rng(4).permuted(np.tile(np.arange(30), (40, 1)), axis=1)
    rates = {"sigma": 0.3, "lam": 0.9, "gamma": 0.9, "alpha": 0.05, "beta": 0.1}
    for row in steps:
        sparse.step(
            (row[:4], np.ones(4)),
            1.0,
            (row[4:8], np.ones(4)),
            (row[8:16], np.full(8, 0.5)),
            **rates,
        )
    yield "sparse", digest(sparse.theta, sparse.omega, sparse.trace)


def files() -> Iterator[tuple[str, str]]:
    """What a sweep leaves on disk, byte by byte, whatever the workers and blocks; keys of settings; the register."""
    settings = control_grid(constant(0.0, 1.0), p=(512,), episodes=(2,), max_steps=(50,))
    yield "keys", digest([setting.key for setting in settings])
    for block, workers in ((1, 1), (2, 2)):
        sweep = Experiment(
            "s", "S", "control", settings, 4, 1, "1", runs_per_task=block, summary="control"
        )
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Path(folder, "store"))
            run_sweep(sweep, store, workers=workers)
            saved = save_results(Path(folder, "kept.npz"), collect(sweep, store))
            yield (
                f"file, {workers} workers",
                digest(np.frombuffer(saved.read_bytes(), dtype=np.uint8)),
            )
    yield "claims", digest([str(claim) for claim in load_claims()])


def rounded() -> Iterator[tuple[str, NDArray[np.float64]]]:
    """What goes through the linear-algebra library."""
    problems = {"two states": two_state(gamma=0.99), "star": baird_star(), "chain": boyan_chain()}
    for name, domain in problems.items():
        problem: PredictionProblem = domain.problem
        yield f"A, {name}", problem.A(0.5, 0.9)
        yield f"fixed point, {name}", problem.fixed_point(0.5, 0.9)
        yield f"abscissa, {name}", np.array([spectral_abscissa(problem.A(0.5, 0.9))])
    problem = random_problem(np.random.default_rng(5))
    yield "random problem", problem.mspbe_gradient(np.ones(problem.features.shape[1]), 0.3, 0.8)
    yield "critical", critical_sigma(two_state(gamma=0.99).problem, 0.3)
    yield "bootstrap", np.array(bootstrap_interval(np.arange(20.0) ** 2, np.random.default_rng(6)))
    yield "null", np.array([case_null(49, 18).p_value(300)])


PARTS: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
    "kernels": kernels, "chance": chance, "files": files, "rounded": rounded,
}  # fmt: skip


if __name__ == "__main__":
    locale.setlocale(locale.LC_ALL, "")
    found = {name: dict(part()) for name, part in PARTS.items()}
    print(json.dumps(found, default=np.ndarray.tolist))
