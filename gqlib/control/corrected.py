r"""The corrected GQ(sigma, lambda) of `gqlib.learners.corrected` on the car: greedy target, dense trace, compiled.

The behaviour is epsilon-greedy with three actions, the target greedy, so the ratio of an action is 1/(1 - 2 epsilon/3)
if it is greedy and 0 if it is not. An exploratory action therefore takes its own sampled term to zero (and cuts
a weighted trace).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib.control.engine import world
from gqlib.control.setting import ControlSetting
from gqlib.control.tile_tables import tile_table
from gqlib.fast.baselines import dense_run
from gqlib.learners.corrected import VARIANTS
from gqlib.seeds import BEHAVIOUR, START, words

__all__ = ["corrected_car"]


def corrected_car(setting: ControlSetting, variant: str, runs: int, seed: int) -> tuple[NDArray[np.int32], int]:
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
    plain = (setting.target, setting.method, setting.v, setting.sigma_noise, setting.sigma_decay)
    if plain != ("greedy", "gradient", "same-step", 0.0, 1.0):
        raise ValueError(f"setting is {setting}; it should have a greedy target, the gradient method and a fixed sigma")
    table = tile_table(setting.p, setting.tilings, setting.memory)
    steps = np.full((runs, setting.episodes), -setting.max_steps, dtype=np.int32)
    switches = (variant != "paper", variant in ("weighted", "maei"), float(variant in ("paper", "corrected")))
    others = tuple(float(variant == name) for name in ("weighted", "expected", "maei"))
    diverged = 0
    for run in range(runs):
        ended = dense_run(
            *world(table, table.rows),
            np.zeros(len(table.used)),
            steps[run],
            words(seed, run, START),
            words(seed, run, BEHAVIOUR),
            setting.max_steps,
            setting.sigma,
            setting.lam,
            setting.gamma,
            setting.alpha,
            setting.eta,
            setting.epsilon,
            *switches,
            *others,
        )
        diverged += ended >= 0
    return np.abs(steps), diverged
