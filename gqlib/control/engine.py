"""From a setting to the compiled kernel and back: one run of a control experiment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gqlib.control.setting import ControlSetting
from gqlib.control.tile_tables import TileTable, tile_table
from gqlib.fast import control as kernel
from gqlib.seeds import BEHAVIOUR, SIGMA, START, words


def grid_of(table: TileTable) -> NDArray[np.float64]:
    """Scale and offset of position and velocity for the kernel's guess of the fine cell."""
    grid = []
    for edges in (table.edges_x, table.edges_v):
        inner = edges[1:-1]
        scale = (len(inner) - 1) / (inner[-1] - inner[0])
        grid += [scale, 1.0 - inner[0] * scale]
    return np.array(grid)


def world(table: TileTable, rows: NDArray[np.uint16]) -> tuple[Any, ...]:
    """What every kernel takes first: flat rows of indices, their width, the fine cells, and one 0 for each tiling."""
    return rows.ravel(), rows.shape[1], table.edges_x, table.edges_v, grid_of(table), (0,) * table.tilings


def one_run(
    setting: ControlSetting, seed: int, run: int, *, flush_below: float = kernel.FLUSH_BELOW
) -> tuple[NDArray[np.int32], int, NDArray[np.float64], NDArray[np.float64]]:
    """Signed steps per episode (negative: cut off), episode of divergence or -1, theta, omega."""
    _compiled(setting.tilings, setting.target, setting.v)
    return _call(setting, seed, run, flush_below)


def _call(
    setting: ControlSetting, seed: int, run: int, flush_below: float
) -> tuple[NDArray[np.int32], int, NDArray[np.float64], NDArray[np.float64]]:
    table = tile_table(setting.p, setting.tilings, setting.memory)
    soft = setting.target == "epsilon-greedy"
    weights = np.zeros((len(table.used), 4))
    steps = np.zeros(setting.episodes, dtype=np.int32)
    diverged_in = kernel.run(
        *world(table, table.rows),
        weights.reshape(-1),
        np.empty(len(table.used), dtype=np.uint32),
        steps,
        words(seed, run, START),
        words(seed, run, BEHAVIOUR),
        words(seed, run, SIGMA),
        setting.max_steps,
        setting.sigma,
        setting.sigma_noise,
        kernel.DRAWN[setting.sigma_drawn],
        setting.sigma_clipped,
        setting.sigma_decay,
        setting.lam,
        setting.gamma,
        setting.alpha,
        setting.eta if setting.method == "gradient" else 0.0,
        setting.epsilon,
        setting.epsilon / 3.0 if soft else 0.0,
        (0,) if soft else (),
        (0,) if setting.v == "lagged" else (),
        flush_below,
    )
    theta, omega = np.zeros(setting.p), np.zeros(setting.p)
    theta[table.used], omega[table.used] = weights[:, 0], weights[:, 2]
    return steps, int(diverged_in), theta, omega


@cache
def _compiled(tilings: int, target: str, v: str) -> None:
    """Compile the kernel for these options, or load it from the disk, by one step of a run."""
    one_step = ControlSetting(tilings=tilings, target=target, v=v, episodes=1, max_steps=1)
    with notice(f"compiling the engine for {tilings} tilings, once after installation ..."):
        _call(one_step, 0, 0, kernel.FLUSH_BELOW)


@contextmanager
def notice(text: str, after: float = 1.0) -> Iterator[None]:
    """Say on a terminal what is going on, if it takes longer than `after` seconds; elsewhere be silent."""
    timer = threading.Timer(after, print, args=(f"gqlib: {text}",), kwargs={"file": sys.stderr, "flush": True})
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
