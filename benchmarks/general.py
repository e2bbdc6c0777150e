"""The engine in each environment: beside the same without learning, and beside Gymnasium."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gqlib import _validate as check
from gqlib.engine import EngineSetting
from gqlib.engine._kernel import bare_of
from gqlib.engine._records import Limits
from gqlib.engine.runs import parts_of, run_setting, streams_of

# The step sizes that were searched for GQ(½, λ) and Sarsa(λ) (`gqlib.experiments.today_control`), so that they learn: a
# car that stays in its valley sees the same few tiles, and a step there is cheaper than one that gets somewhere.
CLASSIC = {
    "mountain car": EngineSetting(
        "mountain_car", "gq", alpha=1 / 32, eta=1 / 64, lam=0.8, episodes=4000
    ),
    "Acrobot": EngineSetting("acrobot", "gq", alpha=1 / 32, eta=1 / 64, lam=0.8, episodes=400),
    "cart-pole": EngineSetting("cart_pole", "gq", alpha=1 / 8, eta=1 / 512, lam=0.0, episodes=2000),
}
SARSA = EngineSetting("mountain_car", "sarsa", alpha=0.01795, lam=0.95, episodes=4000)


def general(setting: EngineSetting, seed: int = 1) -> Callable[[], int]:
    """A run of the engine.

    Examples
    --------
    >>> general(EngineSetting("cart_pole", "sarsa", episodes=1, max_steps=3))()
    3
    """
    check.instance("setting", setting, EngineSetting)
    return lambda: int(run_setting(setting, 1, seed).steps.sum())


def without_learning(setting: EngineSetting, seed: int = 1) -> Callable[[], int]:
    """The same environment, coder and choice of actions, with the weights that learning ends with, three times as long.

    Examples
    --------
    >>> without_learning(EngineSetting("cart_pole", "sarsa", episodes=1, max_steps=3))()
    9
    """
    check.instance("setting", setting, EngineSetting)
    environment, learner = setting.make_environment(), setting.make_learner()
    theta = run_setting(setting, 1, seed).theta[0][environment.coder._used(seed, 0)]
    kernel = bare_of(parts_of(environment, learner, setting.target, stride=1))
    steps = np.zeros(3 * setting.episodes, dtype=np.int64)
    limits = Limits(
        environment.max_steps if setting.max_steps is None else setting.max_steps,
        setting.epsilon,
        0.0,
    )
    codes = environment.coder._codes(environment.actions, 1, seed, 0)

    def work() -> int:
        kernel(environment.data, codes, theta, steps, streams_of(seed, 0), limits)
        return int(np.abs(steps).sum())

    return work
