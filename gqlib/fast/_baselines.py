"""What the compiled learner is measured against: a loop that learns nothing, and a compiled dense update.

Both use the car, the look-up table, the choice of actions and the random streams of `gqlib.fast._control`, under the
same rules for reproducibility. The dense update serves `gqlib.control.corrected` too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gqlib._validate import Array
from gqlib.fast import COMPILE
from gqlib.fast._car import (
    CONSTANTS,
    GOAL,
    advance,
    bars_of,
    behave,
    cosine,
    find_row,
    greedy_action,
    in_memory,
    pick,
    start,
)
from gqlib.fast._jit import njit
from gqlib.fast._lowered import early
from gqlib.fast._records import Rates, Streams, Variant, World
from gqlib.fast._rng import uniform
from gqlib.rules import DIVERGED_ABOVE

# The paper's own update, Equations (25) and (26): neither u nor c weighted, and w = phi'.
PAPER = Variant(weight_u=False, weight_c=False, on_next=1.0, on_ratio=0.0, on_mu=0.0, on_pi=0.0)


@njit(forceinline=True, **COMPILE)
def action_value(theta: Any, table: Any, first: Any, shape: Any) -> Any:
    """Sum of K weights."""
    tilings = len(shape)
    total, other = 0.0, 0.0
    for k in range(0, tilings - 1, 2):
        total += theta[table[first + k]]
        other += theta[table[first + k + 1]]
    if tilings % 2:
        total += theta[table[first + tilings - 1]]
    return total + other


@njit(forceinline=True, **COMPILE)
def action_values(theta: Any, table: Any, row: Any, shape: Any) -> Any:
    """The values of the three actions in the state of a row."""
    tilings = len(shape)
    q0 = action_value(theta, table, row, shape)
    q1 = action_value(theta, table, row + tilings, shape)
    q2 = action_value(theta, table, row + 2 * tilings, shape)
    return q0, q1, q2


@njit(nogil=True, **COMPILE)
def bare_run(
    world: World,
    theta: Array,
    steps_out: NDArray[np.int32],
    streams: Streams,
    max_steps: int,
    epsilon: float,
) -> int:
    """Car, tiles, action values and choice, without learning: the cost that every learner bears.

    `theta` has a weight for each place, and `steps_out` receives the steps of each episode, negative where the step
    limit cut it off. Returns the sum of `steps_out`.
    """
    table, width, edges_x, edges_v, grid, shape = world
    starts, behaviour = streams
    bars, constants = bars_of(epsilon), in_memory(CONSTANTS)
    for episode in range(steps_out.size):
        x, v = start(uniform(starts)), 0.0
        slope = early(cosine(3.0 * x, constants))
        row = find_row(x, v, edges_x, edges_v, grid, width)
        q0, q1, q2 = action_values(theta, table, row, shape)
        action = behave(greedy_action(q0, q1, q2), bars, behaviour)
        steps = -max_steps
        for k in range(max_steps):
            x, v = advance(x, v, np.float64(action - 1), slope, constants)
            slope = early(cosine(3.0 * x, constants))
            if x >= GOAL:
                steps = k + 1
                break
            row = find_row(x, v, edges_x, edges_v, grid, width)
            q0, q1, q2 = action_values(theta, table, row, shape)
            action = behave(greedy_action(q0, q1, q2), bars, behaviour)
        steps_out[episode] = steps
    return int(steps_out.sum())


@njit(nogil=True, **COMPILE)
def dense_run(
    world: World,
    theta: Array,
    steps_out: NDArray[np.int32],
    streams: Streams,
    max_steps: int,
    sigma: float,
    rates: Rates,
    variant: Variant,
) -> int:
    """GQ(sigma, lambda) in a variant of `gqlib.learners.corrected`, greedy target: loops over all p weights and traces.

    Features are still active indices, so the dense part is the trace alone: its decay, its inner product with
    omega, and the change of theta and omega along it. `theta` is changed in place, and `steps_out` is filled as by
    `bare_run`. Returns the episode of divergence or -1.
    """
    table, width, edges_x, edges_v, grid, shape = world
    starts, behaviour = streams
    lam, gamma, alpha, eta, epsilon = rates
    tilings, p = len(shape), theta.size
    third, beta = epsilon / 3.0, eta * alpha
    bars, ratio = bars_of(epsilon), 1.0 / (1.0 - 2.0 * third)
    omega, trace = np.zeros(p), np.zeros(p)
    for episode in range(steps_out.size):
        trace[:] = 0.0
        x, v = start(uniform(starts)), 0.0
        slope = cosine(3.0 * x)
        row = find_row(x, v, edges_x, edges_v, grid, width)
        q0, q1, q2 = action_values(theta, table, row, shape)
        greedy = greedy_action(q0, q1, q2)
        action = behave(greedy, bars, behaviour)
        rho = ratio if action == greedy else 0.0
        steps = -max_steps
        for k in range(max_steps):
            first = row + action * tilings
            value = action_value(theta, table, first, shape)
            phi_omega = action_value(omega, table, first, shape)
            x, v = advance(x, v, np.float64(action - 1), slope)
            slope = cosine(3.0 * x)
            decay = gamma * lam * (rho if variant.weight_c else 1.0)
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
                q0, q1, q2 = action_values(theta, table, row, shape)
                greedy = greedy_action(q0, q1, q2)
                action = behave(greedy, bars, behaviour)
                rho = ratio if action == greedy else 0.0
                on_sampled = sigma * (rho if variant.weight_u else 1.0)
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
            on_sampled -= lam * (variant.on_next + variant.on_ratio * rho)
            on_greedy = 1.0 - sigma - lam * (variant.on_pi + variant.on_mu * (1.0 - epsilon))
            for j in range(tilings):
                theta[table[row + action * tilings + j]] -= factor * on_sampled
                theta[table[row + greedy * tilings + j]] -= factor * on_greedy
            if variant.on_mu > 0.0:
                for j in range(3 * tilings):
                    theta[table[row + j]] += factor * lam * third
        steps_out[episode] = steps
    return -1
