r"""The control experiment in dense NumPy, to be read beside Algorithm 1.

Features are vectors with p entries (the number of tilings that hit each index), weights and traces are arrays,
and a step is :func:`gqlib.learners.gq_step` (Eqs. (25) and (26)), :func:`~gqlib.learners.gq_step_lagged`
(Algorithm 1 to the letter) or :func:`~gqlib.learners.semi_gradient_step`. It draws from the same random streams as the
compiled engine, and takes the same steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib.control.setting import ControlSetting, first_weights
from gqlib.control.tile_tables import make_coder, scaled
from gqlib.domains import mountain_car as car
from gqlib.fast.rng import normal, uniform
from gqlib.learners import gq_step, gq_step_lagged, semi_gradient_step
from gqlib.learners.corrected import corrected_gq_step
from gqlib.rules import DIVERGED_ABOVE, tied
from gqlib.seeds import BEHAVIOUR, SIGMA, START, TIES, words

__all__ = ["one_run"]

Vector = NDArray[np.float64]
Words = NDArray[np.uint64]
Coder = Callable[[Sequence[float], int], list[int]]


def features(setting: ControlSetting, coder: Coder, position: float, velocity: float) -> Vector:
    """Features of all actions in a state, shape (actions, p)."""
    active = [coder(scaled(position, velocity), a) for a in range(car.ACTIONS)]
    return np.array(
        [np.bincount(indices, minlength=setting.p) for indices in active], dtype=np.float64
    )


def greedy_action(values: Vector, ties: Words | None = None) -> int:
    """First action that is `tied` with the best; given a stream, a random one of them, if there are several."""
    best = tied(values)
    return int(best[int(uniform(ties) * len(best)) if ties is not None and len(best) > 1 else 0])


def begin(setting: ControlSetting, stream: Words) -> tuple[float, float]:
    """Position and velocity at the start of an episode."""
    if setting.start == "anywhere":
        u = uniform(stream)
        return car.anywhere(u, uniform(stream))
    return (car.BOTTOM if setting.start == "bottom" else car.start(uniform(stream))), 0.0


def target_policy(setting: ControlSetting, greedy: int) -> Vector:
    """Probabilities of the target policy, given the greedy action."""
    share = setting.epsilon / car.ACTIONS if setting.target == "epsilon-greedy" else 0.0
    policy = np.full(car.ACTIONS, share)
    policy[greedy] = 1.0 - (car.ACTIONS - 1) * share
    return policy


def behave(setting: ControlSetting, greedy: int, stream: Words) -> int:
    """Epsilon-greedy action: if it is below epsilon, the uniform number also says which action to try."""
    u = uniform(stream)
    if u >= setting.epsilon:
        return greedy
    return int(
        np.searchsorted([setting.epsilon / 3.0, 2.0 * (setting.epsilon / 3.0)], u, side="right")
    )


def one_run(
    setting: ControlSetting, seed: int, run: int
) -> tuple[NDArray[np.int32], int, Vector, Vector]:
    """Signed steps per episode (negative: cut off), episode of divergence or -1, theta, omega.

    Examples
    --------
    >>> steps, diverged_in, theta, omega = one_run(ControlSetting(p=64, episodes=2, max_steps=5), 0, 0)
    >>> steps.tolist(), diverged_in, theta.shape
    ([-5, -5], -1, (64,))
    """
    check.instance("setting", setting, ControlSetting)
    starts, behaviour, sigmas = (words(seed, run, purpose) for purpose in (START, BEHAVIOUR, SIGMA))
    ties = words(seed, run, TIES) if setting.ties == "random" else None
    of_run = run if setting.tiles_of < 0 else setting.tiles_of
    coder = make_coder(setting.memory, setting.p, setting.tilings, seed=seed, run=of_run)
    constants = {"lam": setting.lam, "gamma": setting.gamma, "alpha": setting.alpha}
    beta = setting.eta * setting.alpha
    theta, omega, nothing = (
        first_weights(setting, seed, run),
        np.zeros(setting.p),
        np.zeros(setting.p),
    )
    v_lagged = np.zeros((setting.p, setting.p)) if setting.v == "lagged" else None
    steps = np.full(setting.episodes, -setting.max_steps, dtype=np.int32)
    schedule, mean = setting.schedule, setting.sigma
    z = float(normal(sigmas)) if setting.sigma_drawn == "run" else 0.0
    for episode in range(setting.episodes):
        if setting.sigma_drawn == "episode":
            z = float(normal(sigmas))
        sigma = schedule.at(mean, z)
        trace = np.zeros(setting.p)
        x, v = begin(setting, starts)
        phis = features(setting, coder, x, v)
        action = behave(setting, greedy_action(phis @ theta, ties), behaviour)
        phi = phis[action]
        for k in range(setting.max_steps):
            if setting.sigma_drawn == "step" and setting.sigma_noise > 0.0:
                sigma = schedule.at(mean, float(normal(sigmas)))
            x, v, reward, done = car.step(x, v, action)
            phi_next = expected = nothing
            rho_next = 0.0
            if not done:
                phis = features(setting, coder, x, v)
                greedy = greedy_action(phis @ theta, ties)
                action = behave(setting, greedy, behaviour)
                phi_next, expected = phis[action], target_policy(setting, greedy) @ phis
                rho_next = 1.0 / (1.0 - 2.0 * setting.epsilon / 3.0) if action == greedy else 0.0
            seen = (phi, reward, phi_next, expected)
            if setting.method == "semi-gradient":
                theta, trace, delta = semi_gradient_step(
                    theta, trace, *seen, sigma=sigma, **constants
                )
            elif setting.method == "corrected":
                theta, omega, trace, delta = corrected_gq_step(
                    theta,
                    omega,
                    trace,
                    *seen,
                    rho_next=rho_next,
                    sigma=sigma,
                    beta=beta,
                    **constants,
                )
            elif v_lagged is None:
                theta, omega, trace, delta = gq_step(
                    theta, omega, trace, *seen, sigma=sigma, beta=beta, **constants
                )
            else:
                theta, omega, trace, v_lagged, delta = gq_step_lagged(
                    theta, omega, trace, v_lagged, *seen, sigma=sigma, beta=beta, **constants
                )
            if not abs(delta) < DIVERGED_ABOVE:
                return steps, episode, theta, omega
            phi = phi_next
            if done:
                steps[episode] = k + 1
                break
        mean *= setting.sigma_decay
    return steps, -1, theta, omega
