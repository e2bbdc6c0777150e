"""From a setting to the compiled kernel and back: one run of a control experiment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib.control.setting import ControlSetting, Method, TargetPolicy, Ties, VTime, first_weights
from gqlib.control.tile_tables import ROW_OF_WEIGHTS, TileTable, tile_table
from gqlib.fast import _control as kernel
from gqlib.fast._car import STARTS
from gqlib.fast._jit import on_compile
from gqlib.fast._lines import zeros_in_lines
from gqlib.fast._records import (
    OFF,
    ON,
    Limits,
    Memory,
    Opening,
    Rates,
    Sigma,
    Streams,
    Target,
    World,
)
from gqlib.seeds import BEHAVIOUR, SIGMA, START, TIES, words


def grid_of(table: TileTable) -> NDArray[np.float64]:
    """Scale and offset of position and velocity for the kernel's guess of the fine cell."""
    grid = []
    for edges in (table.edges_x, table.edges_v):
        inner = edges[1:-1]
        scale = (len(inner) - 1) / (inner[-1] - inner[0])
        grid += [scale, 1.0 - inner[0] * scale]
    return np.array(grid)


def world_of(table: TileTable, rows: NDArray[np.uint16]) -> World:
    """The car's box for the kernels, with the rows of the table, or with other rows in the same layout."""
    return World(
        rows.ravel(),
        rows.shape[1],
        table.edges_x,
        table.edges_v,
        grid_of(table),
        (0,) * table.tilings,
    )


def streams_of(seed: int, run: int) -> Streams:
    """The streams of a run, made afresh, because kernels advance them."""
    return Streams(words(seed, run, START), words(seed, run, BEHAVIOUR))


def rates_of(setting: ControlSetting) -> Rates:
    """The numbers of a setting that the kernels share; without a gradient, eta is zero."""
    eta = 0.0 if setting.method == "semi-gradient" else setting.eta
    return Rates(setting.lam, setting.gamma, setting.alpha, eta, setting.epsilon)


def target_of(setting: ControlSetting) -> Target:
    """The target policy of a setting, and whether sampled features are weighted by its importance ratios."""
    soft, share = (ON, setting.epsilon / 3.0) if setting.target == "epsilon-greedy" else (OFF, 0.0)
    return Target(soft, share, ON if setting.method == "corrected" else OFF)


def one_run(
    setting: ControlSetting, seed: int, run: int, *, flush_below: float = kernel.FLUSH_BELOW
) -> tuple[NDArray[np.int32], int, NDArray[np.float64], NDArray[np.float64]]:
    """Signed steps per episode (negative: cut off), episode of divergence or -1, theta, omega.

    Examples
    --------
    >>> steps, diverged_in, theta, omega = one_run(ControlSetting(p=64, episodes=2, max_steps=5), 0, 0)
    >>> steps.tolist(), diverged_in, theta.shape
    ([-5, -5], -1, (64,))
    """
    check.instance("setting", setting, ControlSetting)
    # Zero would never flush: where lambda is zero, c would stay there and ever more rows would be listed as live.
    flush_below = check.scalar("flush_below", flush_below, low=0.0, high=1.0, open_low=True)
    _compiled(
        setting.tilings, setting.target, setting.v, setting.method == "corrected", setting.ties
    )
    return _call(setting, seed, run, flush_below)


def _call(
    setting: ControlSetting, seed: int, run: int, flush_below: float
) -> tuple[NDArray[np.int32], int, NDArray[np.float64], NDArray[np.float64]]:
    table = tile_table(setting.p, setting.tilings, setting.memory, seed=seed, run=run)
    weights = zeros_in_lines((len(table.used), ROW_OF_WEIGHTS))
    theta, omega = first_weights(setting, seed, run), np.zeros(setting.p)
    weights[:, 0] = theta[table.used]
    live, steps = (
        np.empty(len(table.used) + 1, dtype=np.uint32),
        np.zeros(setting.episodes, dtype=np.int32),
    )
    drawn, stream = kernel.DRAWN[setting.sigma_drawn], words(seed, run, SIGMA)
    diverged_in = kernel.run(
        world_of(table, table.offsets),
        Memory(weights.reshape(-1), live, steps),
        streams_of(seed, run),
        Sigma(
            setting.sigma,
            setting.sigma_noise,
            drawn,
            setting.sigma_clipped,
            setting.sigma_decay,
            stream,
        ),
        rates_of(setting),
        target_of(setting),
        ON if setting.v == "lagged" else OFF,
        Limits(setting.max_steps, flush_below),
        Opening(
            STARTS[setting.start], ON if setting.ties == "random" else OFF, words(seed, run, TIES)
        ),
    )
    theta[table.used], omega[table.used] = weights[:, 0], weights[:, 2]
    return steps, int(diverged_in), theta, omega


@cache
def _compiled(tilings: int, target: TargetPolicy, v: VTime, corrected: bool, ties: Ties) -> None:
    """Compile the kernel for these options, or load it from disk, by taking one step of a run."""
    method: Method = "corrected" if corrected else "gradient"
    one_step = ControlSetting(
        tilings=tilings, target=target, v=v, method=method, ties=ties, episodes=1, max_steps=1
    )
    with notice(f"compiling the engine for {tilings} tilings, once after installation ..."):
        _call(one_step, 0, 0, kernel.FLUSH_BELOW)


def _started_by_another() -> bool:
    from multiprocessing import parent_process  # here, since a browser has no processes

    return parent_process() is not None


@contextmanager
def notice(text: str, after: float = 1.0) -> Iterator[None]:
    """On a terminal, say so if something is compiled and takes longer than `after` seconds; elsewhere, stay silent.

    Processes that another one has started, as a sweep does, are silent too: each of them would say it.
    """
    timer = threading.Timer(
        after, print, args=(f"gqlib: {text}",), kwargs={"file": sys.stderr, "flush": True}
    )
    timer.daemon = True
    if not sys.stderr.isatty() or _started_by_another():
        yield
        return
    try:
        with on_compile(timer.start):
            yield
    finally:
        timer.cancel()
