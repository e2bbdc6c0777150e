r"""The corrected GQ(sigma, lambda) on the mountain car: `gqlib.corrected` with a greedy target, compiled, trace dense.

The behaviour is epsilon-greedy with three actions, the target greedy, so the ratio of an action is 1/(1 - 2 epsilon/3)
if it is greedy and 0 if it is not. An exploratory action therefore takes its own sampled term to zero (and cuts
a weighted trace).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gqlib import _validate as check
from gqlib.control_setting import ControlSetting
from gqlib.corrected import VARIANTS
from gqlib.fast import COMPILE
from gqlib.fast.baselines import action_value
from gqlib.fast.car import GOAL, advance, behave, cosine, find_row, greedy_action, pick, start
from gqlib.fast.control import DIVERGED_ABOVE
from gqlib.fast.driver import grid_of
from gqlib.fast.rng import BEHAVIOUR, START, seed_state, uniform
from gqlib.fast.tile_tables import tile_table


@njit(nogil=True, **COMPILE)
def _run(
    table: Any,
    width: Any,
    edges_x: Any,
    edges_v: Any,
    grid: Any,
    shape: Any,
    theta: Any,
    steps_out: Any,
    starts: Any,
    behaviour: Any,
    max_steps: Any,
    sigma: Any,
    lam: Any,
    gamma: Any,
    alpha: Any,
    eta: Any,
    epsilon: Any,
    weight_u: Any,
    weight_c: Any,
    on_next: Any,
    on_ratio: Any,
    on_mu: Any,
    on_pi: Any,
) -> Any:
    """Run all episodes; returns the episode of divergence or -1.

    w = (on_next + on_ratio rho') phi' + on_mu E_mu phi + on_pi E_pi phi says which variant it is, with u and c weighted
    or not.
    """
    tilings, p = len(shape), theta.size
    third, beta = epsilon / 3.0, eta * alpha
    ratio = 1.0 / (1.0 - 2.0 * third)
    omega, trace = np.zeros(p), np.zeros(p)
    for episode in range(steps_out.size):
        trace[:] = 0.0
        x, v = start(uniform(starts)), 0.0
        slope = cosine(3.0 * x)
        row = find_row(x, v, edges_x, edges_v, grid, width)
        q0 = action_value(theta, table, row, shape)
        q1 = action_value(theta, table, row + tilings, shape)
        q2 = action_value(theta, table, row + 2 * tilings, shape)
        greedy = greedy_action(q0, q1, q2)
        action = behave(greedy, epsilon, third, behaviour)
        rho = ratio if action == greedy else 0.0
        steps = -max_steps
        for k in range(max_steps):
            first = row + action * tilings
            value = action_value(theta, table, first, shape)
            phi_omega = action_value(omega, table, first, shape)
            x, v = advance(x, v, np.float64(action - 1), slope)
            slope = cosine(3.0 * x)
            decay = gamma * lam * (rho if weight_c else 1.0)
            for i in range(p):
                trace[i] *= decay
            for j in range(tilings):
                trace[table[first + j]] += 1.0
            trace_omega = 0.0
            for i in range(p):
                trace_omega += trace[i] * omega[i]
            delta = -1.0 - value
            on_sampled = 1.0
            if x < GOAL:
                row = find_row(x, v, edges_x, edges_v, grid, width)
                q0 = action_value(theta, table, row, shape)
                q1 = action_value(theta, table, row + tilings, shape)
                q2 = action_value(theta, table, row + 2 * tilings, shape)
                greedy = greedy_action(q0, q1, q2)
                action = behave(greedy, epsilon, third, behaviour)
                rho = ratio if action == greedy else 0.0
                on_sampled = sigma * (rho if weight_u else 1.0)
                best = pick(greedy, q0, q1, q2)
                delta += gamma * (on_sampled * pick(action, q0, q1, q2) + (1.0 - sigma) * best)
            if not abs(delta) < DIVERGED_ABOVE:
                return episode
            for i in range(p):
                theta[i] += alpha * delta * trace[i]
                omega[i] += beta * delta * trace[i]
            for j in range(tilings):
                omega[table[first + j]] -= beta * phi_omega
            if x >= GOAL:
                steps = k + 1
                break
            factor = alpha * gamma * trace_omega
            on_sampled -= lam * (on_next + on_ratio * rho)
            on_greedy = 1.0 - sigma - lam * (on_pi + on_mu * (1.0 - epsilon))
            for j in range(tilings):
                theta[table[row + action * tilings + j]] -= factor * on_sampled
                theta[table[row + greedy * tilings + j]] -= factor * on_greedy
            if on_mu > 0.0:
                for j in range(3 * tilings):
                    theta[table[row + j]] += factor * lam * third
        steps_out[episode] = steps
    return -1


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
        ended = _run(
            table.rows.ravel(),
            table.rows.shape[1],
            table.edges_x,
            table.edges_v,
            grid_of(table),
            (0,) * setting.tilings,
            np.zeros(len(table.used)),
            steps[run],
            seed_state(seed, run, START),
            seed_state(seed, run, BEHAVIOUR),
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
