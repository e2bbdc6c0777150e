"""The variants of `gqlib.learners.corrected` on the car, with a greedy target.

Each is a learner of `gqlib.engine`, but for "expected", which has a dense kernel of its own (`gqlib.fast._car` says why).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib.control.engine import engine_setting
from gqlib.control.setting import ControlSetting
from gqlib.control.tile_tables import TileTable, tile_table
from gqlib.engine.runs import run_setting
from gqlib.fast import _car
from gqlib.learners.corrected import VARIANTS, Variant
from gqlib.seeds import BEHAVIOUR, START, words

__all__ = ["corrected_car"]


def world_of(table: TileTable, rows: NDArray[np.uint16]) -> _car.World:
    """The car's box for a kernel, with the rows of the table, or with other rows in the same layout."""
    edges, shape = (table.edges_x, table.edges_v), (0,) * table.tilings
    return _car.World(rows.ravel(), rows.shape[1], *edges, table.grid[:4], shape)


def corrected_car(
    setting: ControlSetting, variant: Variant, runs: int, seed: int
) -> tuple[NDArray[np.int32], int]:
    """Steps of each episode, (runs, episodes), and how many runs diverged (their remaining episodes count as cut off).

    Streams are those of `gqlib.control.run_control`: with the variant "paper" the steps are the same.

    Parameters
    ----------
    setting : ControlSetting
        With a greedy target, the gradient method, v of the same step and a fixed sigma.
    variant : {"paper", "corrected", "expected", "weighted", "maei"}
    runs, seed : int

    Examples
    --------
    >>> steps, diverged = corrected_car(ControlSetting(episodes=2, max_steps=300), "corrected", 3, 1)
    >>> steps.shape, diverged
    ((3, 2), 0)
    """
    check.instance("setting", setting, ControlSetting)
    variant = check.choice("variant", variant, VARIANTS)
    runs = check.integer("runs", runs, low=1)
    check.room("runs", runs, runs * setting.episodes)
    plain = (setting.target, setting.method, setting.v, setting.sigma_noise, setting.sigma_decay)
    if plain != ("greedy", "gradient", "same-step", 0.0, 1.0):
        raise ValueError(
            f"setting is {setting}; it should have a greedy target, the gradient method and a fixed sigma"
        )
    if variant == "expected":
        return _dense(setting, runs, seed)
    learner = "gq" if variant == "paper" else f"{variant}_gq"
    result = run_setting(replace(engine_setting(setting), learner=learner), runs, seed)
    return result.steps.astype(np.int32), int(result.diverged.sum())


def _dense(setting: ControlSetting, runs: int, seed: int) -> tuple[NDArray[np.int32], int]:
    table = tile_table(setting.p, setting.tilings, setting.memory)
    world, alpha = world_of(table, table.rows), setting.alpha
    rates = _car.Rates(setting.lam, setting.gamma, alpha, setting.eta * alpha, setting.epsilon)
    steps = np.full((runs, setting.episodes), -setting.max_steps, dtype=np.int32)
    limits = setting.max_steps, setting.sigma, rates
    diverged = 0
    for run, row in enumerate(steps):
        streams = words(seed, run, START), words(seed, run, BEHAVIOUR)
        diverged += _car.dense_run(world, np.zeros(len(table.used)), row, *streams, *limits) >= 0
    return np.abs(steps), diverged
