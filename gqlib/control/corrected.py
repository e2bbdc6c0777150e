r"""The corrected GQ(sigma, lambda) of `gqlib.learners.corrected` on the car: greedy target, dense trace, compiled.

The behaviour is epsilon-greedy with three actions, the target greedy, so the ratio of an action is 1/(1 - 2 epsilon/3)
if it is greedy and 0 if it is not. An exploratory action therefore sets its own sampled term to zero (and cuts
a weighted trace).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib.control.setting import ControlSetting
from gqlib.control.tile_tables import TileTable, tile_table
from gqlib.fast import _car
from gqlib.learners.corrected import VARIANTS, Variant
from gqlib.seeds import BEHAVIOUR, START, words

__all__ = ["corrected_car"]


def world_of(table: TileTable, rows: NDArray[np.uint16]) -> _car.World:
    """The car's box for a kernel, with the rows of the table, or with other rows in the same layout."""
    edges, shape = (table.edges_x, table.edges_v), (0,) * table.tilings
    return _car.World(rows.ravel(), rows.shape[1], *edges, table.grid[:4], shape)


def rates_of(setting: ControlSetting) -> _car.Rates:
    """The numbers of a setting that a kernel takes."""
    alpha, beta = setting.alpha, setting.eta * setting.alpha
    return _car.Rates(setting.lam, setting.gamma, alpha, beta, setting.epsilon)


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
    table = tile_table(setting.p, setting.tilings, setting.memory)
    steps = np.full((runs, setting.episodes), -setting.max_steps, dtype=np.int32)
    update = _car.Variant(
        weight_u=variant != "paper",
        weight_c=variant in ("weighted", "maei"),
        on_next=float(variant in ("paper", "corrected")),
        on_ratio=float(variant == "weighted"),
        on_mu=float(variant == "expected"),
        on_pi=float(variant == "maei"),
    )
    world, rates = world_of(table, table.rows), rates_of(setting)
    diverged = 0
    for run in range(runs):
        theta = np.zeros(len(table.used))
        ended = _car.dense_run(
            world,
            theta,
            steps[run],
            words(seed, run, START),
            words(seed, run, BEHAVIOUR),
            setting.max_steps,
            setting.sigma,
            rates,
            update,
        )
        diverged += ended >= 0
    return np.abs(steps), diverged
