"""What the compiled learner is measured against: a loop that learns nothing, and compiled dense updates.

Both use the car, the look-up table, the choice of actions and the random streams of `gqlib.fast.control`, under the
same rules for reproducibility.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from gqlib.fast import COMPILE
from gqlib.fast.car import GOAL, advance, behave, cosine, find_row, greedy_action, pick, start
from gqlib.fast.rng import uniform


@njit(forceinline=True, **COMPILE)
def action_value(theta: Any, table: Any, first: Any, shape: Any) -> Any:
    """Sum of K weights."""
    total, other = 0.0, 0.0
    for k in range(0, len(shape) - 1, 2):
        total += theta[table[first + k]]
        other += theta[table[first + k + 1]]
    if len(shape) % 2:
        total += theta[table[first + len(shape) - 1]]
    return total + other


@njit(nogil=True, **COMPILE)
def bare_run(
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
    epsilon: Any,
) -> Any:
    """Car, tiles, action values and choice, without learning: what any learner pays."""
    third = epsilon / 3.0
    tilings = len(shape)
    for episode in range(steps_out.size):
        x, v = start(uniform(starts)), 0.0
        slope = cosine(3.0 * x)
        row = find_row(x, v, edges_x, edges_v, grid, width)
        q0 = action_value(theta, table, row, shape)
        q1 = action_value(theta, table, row + tilings, shape)
        q2 = action_value(theta, table, row + 2 * tilings, shape)
        action = behave(greedy_action(q0, q1, q2), epsilon, third, behaviour)
        steps = -max_steps
        for k in range(max_steps):
            x, v = advance(x, v, np.float64(action - 1), slope)
            slope = cosine(3.0 * x)
            if x >= GOAL:
                steps = k + 1
                break
            row = find_row(x, v, edges_x, edges_v, grid, width)
            q0 = action_value(theta, table, row, shape)
            q1 = action_value(theta, table, row + tilings, shape)
            q2 = action_value(theta, table, row + 2 * tilings, shape)
            action = behave(greedy_action(q0, q1, q2), epsilon, third, behaviour)
        steps_out[episode] = steps
    return steps_out.sum()


@njit(nogil=True, **COMPILE)
def dense_run(
    table: Any,
    width: Any,
    edges_x: Any,
    edges_v: Any,
    grid: Any,
    shape: Any,
    p: Any,
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
) -> Any:
    """Equations (25) and (26) as printed, with a greedy target: loops over all p weights and traces.

    Features are still active indices, so that the dense part is the trace alone: the decay of e with the inner
    product of e and omega, then the change of theta and omega along e.
    """
    tilings = len(shape)
    third = epsilon / 3.0
    rho = gamma * lam
    beta = eta * alpha
    theta, omega, trace = np.zeros(p), np.zeros(p), np.zeros(p)
    for episode in range(steps_out.size):
        trace[:] = 0.0
        x, v = start(uniform(starts)), 0.0
        slope = cosine(3.0 * x)
        row = find_row(x, v, edges_x, edges_v, grid, width)
        q0 = action_value(theta, table, row, shape)
        q1 = action_value(theta, table, row + tilings, shape)
        q2 = action_value(theta, table, row + 2 * tilings, shape)
        action = behave(greedy_action(q0, q1, q2), epsilon, third, behaviour)
        steps = -max_steps
        for k in range(max_steps):
            first = row + action * tilings
            value = action_value(theta, table, first, shape)
            phi_omega = action_value(omega, table, first, shape)
            x, v = advance(x, v, np.float64(action - 1), slope)
            slope = cosine(3.0 * x)
            for i in range(p):
                trace[i] *= rho
            for j in range(tilings):
                trace[table[first + j]] += 1.0
            trace_omega = 0.0
            for i in range(p):
                trace_omega += trace[i] * omega[i]
            if x >= GOAL:
                delta = -1.0 - value
            else:
                row = find_row(x, v, edges_x, edges_v, grid, width)
                q0 = action_value(theta, table, row, shape)
                q1 = action_value(theta, table, row + tilings, shape)
                q2 = action_value(theta, table, row + 2 * tilings, shape)
                greedy = greedy_action(q0, q1, q2)
                action = behave(greedy, epsilon, third, behaviour)
                expected = pick(greedy, q0, q1, q2)
                delta = -1.0 + gamma * (expected + sigma * (pick(action, q0, q1, q2) - expected)) - value
            for i in range(p):
                theta[i] += alpha * delta * trace[i]
                omega[i] += beta * delta * trace[i]
            for j in range(tilings):
                omega[table[first + j]] -= beta * phi_omega
            if x >= GOAL:
                steps = k + 1
                break
            factor = alpha * gamma * trace_omega
            for j in range(tilings):
                theta[table[row + action * tilings + j]] -= factor * (sigma - lam)
                theta[table[row + greedy * tilings + j]] -= factor * (1.0 - sigma)
        steps_out[episode] = steps
    return theta
