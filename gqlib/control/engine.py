"""From a setting of the car to the engine and back: one run of a control experiment."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib.control.setting import ControlSetting
from gqlib.engine._kernel import DIVERGED, FLUSH_BELOW
from gqlib.engine.runs import EngineSetting, fast_run, reference_run

LEARNERS = {"gradient": "gq", "semi-gradient": "q_sigma", "corrected": "corrected_gq"}
SHARED = [one.name for one in fields(EngineSetting) if hasattr(ControlSetting, one.name)]


@lru_cache(maxsize=64)
def engine_setting(setting: ControlSetting) -> EngineSetting:
    """The same experiment for `gqlib.engine`.

    Examples
    --------
    >>> engine_setting(ControlSetting(method="corrected", p=512)).learner
    'corrected_gq'
    """
    lagged = setting.method == "gradient" and setting.v == "lagged"
    of_the_car = ("memory", "p", "start", "tilings", "tiles_of")
    return EngineSetting(
        "mountain_car",
        "gq_lagged" if lagged else LEARNERS[setting.method],
        tuple((name, getattr(setting, name)) for name in of_the_car),
        **{name: getattr(setting, name) for name in SHARED},
    )


def one_run(
    setting: ControlSetting,
    seed: int,
    run: int,
    *,
    flush_below: float = FLUSH_BELOW,
    reference: bool = False,
) -> tuple[NDArray[np.int32], int, NDArray[np.float64], NDArray[np.float64]]:
    """Signed steps per episode (negative: cut off), episode of divergence or -1, theta, omega.

    The reference is dense, in Python, and never flushes.

    Examples
    --------
    >>> steps, diverged_in, theta, omega = one_run(ControlSetting(p=64, episodes=2, max_steps=5), 0, 0)
    >>> steps.tolist(), diverged_in, theta.shape
    ([-5, -5], -1, (64,))
    """
    check.instance("setting", setting, ControlSetting)
    # Zero would never flush: where lambda is zero, c would stay there and ever more rows would be listed as live.
    flush_below = check.scalar("flush_below", flush_below, low=0.0, high=1.0, open_low=True)
    general = engine_setting(setting)
    car, learner = general.make_environment(), general.make_learner()
    given = general, car, learner, setting.max_steps, seed, run
    steps, _, (outcome, episode, _), theta, omega = (
        reference_run(*given) if reference else fast_run(*given, flush_below)
    )
    return steps.astype(np.int32), episode if outcome == DIVERGED else -1, theta, omega
