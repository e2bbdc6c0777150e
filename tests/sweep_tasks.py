"""A small experiment for the tests of sweeps: importable by worker processes, quick, and sensitive to every input."""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from gqlib.learners import gq_steps
from gqlib.sweeps.setting import Setting
from gqlib.sweeps.sweep import Experiment


@dataclass(frozen=True)
class Toy(Setting):
    scale: float
    length: int = 4
    delay: float = 0.0
    log: str = ""


def toy(setting: Toy, runs: int, seed: int, *, first_run: int) -> dict[str, np.ndarray]:
    if setting.log:
        with open(setting.log, "a") as file:
            file.write(f"{os.getpid()} {setting.scale} {first_run} {runs}\n")
    time.sleep(setting.delay)
    rngs = [np.random.default_rng([seed, run]) for run in range(first_run, first_run + runs)]
    values = setting.scale * np.stack([rng.random(setting.length) for rng in rngs])
    return {"values": values, "run_index": np.arange(first_run, first_run + runs)}


def wrong_rows(setting: Toy, runs: int, seed: int, *, first_run: int) -> dict[str, np.ndarray]:
    return {"values": np.zeros(runs + 1)}


def broken(setting: Toy, runs: int, seed: int, *, first_run: int) -> dict[str, np.ndarray]:
    if first_run >= 4:
        raise ValueError(f"run {first_run} is broken")
    return toy(setting, runs, seed, first_run=first_run)


@dataclass(frozen=True)
class Whim(Setting):
    what: str


WHIMS = {
    "none": lambda: None,
    "list": lambda: [1, 2],
    "nothing": dict,
    "objects": lambda: {"values": np.array([object(), object()])},
    "ragged": lambda: {"values": [[1.0], [1.0, 2.0]]},
    "many": lambda: {str(number): np.zeros(2) for number in range(1001)},
    "name": lambda: {"a/b": np.zeros(2)},
    "number": lambda: {3: np.zeros(2)},
    "exit": lambda: sys.exit(3),
    "interrupt": lambda: _raised(KeyboardInterrupt()),
    "unpicklable": lambda: _raised(Stubborn()),
    "wide": lambda: {"values": np.zeros((2, 3))},
    "other": lambda: {"other": np.zeros(2)},
    "text": lambda: {"values": np.array(["a", "b"])},
    "death": lambda: os._exit(1),
}


class Stubborn(Exception):
    """An exception that no process can send to another."""

    def __init__(self) -> None:
        super().__init__("no")
        self.lock = threading.Lock()


def _raised(error: BaseException) -> NoReturn:
    raise error


def whims(setting: Whim, runs: int, seed: int, *, first_run: int) -> Any:
    if setting.what in WHIMS:
        return WHIMS[setting.what]()
    return {"values": np.arange(first_run, first_run + runs, dtype=float)}


def whim_study(*what: str, runs: int = 2) -> Experiment:
    settings = tuple(map(Whim, what))
    return Experiment(
        "whims", "Whims", "sweep_tasks:whims", settings, runs, 1, "1", runs_per_task=2
    )


def mean_and_values(arrays: dict[str, np.ndarray]) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    return {
        "values": (("run", "step"), arrays["values"]),
        "mean": (("step",), arrays["values"].mean(axis=0)),
    }


def with_twice(result: Any) -> Any:
    return result.assign(twice=2.0 * result["values"])


@dataclass(frozen=True)
class Bare:
    """A setting that has only what every setting needs: fields and a key."""

    scale: float
    length: int = 4
    delay: float = 0.0
    log: str = ""

    @property
    def key(self) -> str:
        return f"bare {self.scale}"


def experiment(
    settings: int = 3,
    runs: int = 10,
    *,
    function: str = "toy",
    runs_per_task: int = 4,
    delay: float = 0.0,
    log: str = "",
    seed: int = 5,
    version: str = "1",
) -> Experiment:
    return Experiment(
        name="toy",
        title="A toy",
        function=f"sweep_tasks:{function}",
        settings=tuple(Toy(scale=float(1 + i), delay=delay, log=log) for i in range(settings)),
        runs=runs,
        seed=seed,
        version=version,
        runs_per_task=runs_per_task,
    )


def drift(rng: np.random.Generator, alpha: float, steps: int) -> dict[str, Any]:
    """One run for a study of one's own: x' = x + alpha (noise - x), which diverges where alpha is above 2."""
    if steps < 0:
        raise ValueError(f"steps is {steps}")
    x, path = 1.0, [1.0]
    for _ in range(max(steps, 3)):
        x = x + alpha * (rng.normal() - x)
        path.append(x)
    return {"x": x, "path": np.array(path[:4])}


def says(rng: np.random.Generator, count: int, lost: bool) -> dict[str, Any]:
    return {"counted": count, "diverged": True} if lost else {"counted": count}


def whatever(rng: np.random.Generator, what: Any) -> Any:
    return what


def grows(rng: np.random.Generator, seen: list[int] = []) -> dict[str, Any]:  # noqa: B006 (it is to grow)
    seen.append(0)
    return {"x": np.zeros(len(seen))}


def anything(rng: np.random.Generator, **fields: Any) -> dict[str, Any]:
    return {"x": 1.0}


def learned(rng: np.random.Generator, alpha: float, lost: float) -> dict[str, Any]:
    """The last θ of forty steps of GQ, and their number; with probability `lost`, α is such that they overflow."""
    phi, alpha = np.ones((40, 1)), 1e12 if rng.random() < lost else alpha
    seen = (phi, np.ones(40), phi, phi)
    thetas, *_ = gq_steps(
        [0.0], [0.0], [0.0], *seen, sigma=0.5, lam=0.0, gamma=0.5, alpha=alpha, beta=0.0
    )
    return {"theta": thetas[-1], "steps": len(thetas)}
