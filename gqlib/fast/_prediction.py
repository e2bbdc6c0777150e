"""Kernels of `gqlib.fast.prediction`: tables of random numbers, and walks. Nothing is checked here.

Sums run in index order, without fastmath, fused operations or mathematical libraries: the bits are the same everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gqlib.domains.cart_pole import ACTION_COST, NOISE_DEVIATION, STATE_COST
from gqlib.fast import COMPILE
from gqlib.fast._jit import njit
from gqlib.fast._rng import normal, uniform


@njit(**COMPILE)
def uniforms(state: Any, rows: Any, columns: Any) -> Any:
    """A table of uniform numbers, filled row by row."""
    table = np.empty((rows, columns))
    for i in range(rows):
        for j in range(columns):
            table[i, j] = uniform(state)
    return table


@njit(**COMPILE)
def normals(state: Any, rows: Any, columns: Any) -> Any:
    """A table of standard normal numbers, filled row by row."""
    table = np.empty((rows, columns))
    for i in range(rows):
        for j in range(columns):
            table[i, j] = normal(state)
    return table


@njit(**COMPILE)
def pick(cumulative: Any, u: Any) -> Any:
    """The first index whose cumulative probability exceeds u."""
    index = 0
    while cumulative[index] <= u:
        index += 1
    return index


@njit(**COMPILE)
def walk_chain(draws: Any, start: Any, mu: Any, after: Any, ends_on: Any, horizon: Any) -> Any:
    """States, actions, arrivals and next actions, (4, T), and where episodes end, from (T + 1, 3) uniform numbers."""
    steps = len(draws) - 1
    path = np.empty((4, steps), dtype=np.int64)
    ends = np.empty(steps, dtype=np.bool_)
    state = pick(start, draws[0, 2])
    action = pick(mu[state], draws[0, 1])
    age = 0
    for k in range(steps):
        path[0, k] = state
        path[1, k] = action
        state = pick(after[state, action], draws[k + 1, 0])
        action = pick(mu[state], draws[k + 1, 1])
        age += 1
        path[2, k] = state
        path[3, k] = action
        ends[k] = ends_on[state] or age == horizon
        if ends[k]:
            state = pick(start, draws[k + 1, 2])
            action = pick(mu[state], draws[k + 1, 1])
            age = 0
    return path, ends


@njit(**COMPILE)
def walk_pole(draws: Any, start: Any, loop: Any, gain: Any, push: Any, deviation: Any) -> Any:
    """States (T + 1, 4), the means they came from (T, 4) and rewards (T,), from (T, 2) standard normal numbers."""
    steps = len(draws)
    states = np.empty((steps + 1, 4))
    means = np.empty((steps, 4))
    rewards = np.empty(steps)
    states[0] = start
    for k in range(steps):
        a, b, c, d = states[k, 0], states[k, 1], states[k, 2], states[k, 3]
        noise = deviation * draws[k, 0]
        action = gain[0] * a + gain[1] * b + gain[2] * c + gain[3] * d + noise
        rewards[k] = -(
            STATE_COST[0] * a * a + STATE_COST[2] * c * c + ACTION_COST * action * action
        )
        for i in range(4):
            means[k, i] = loop[i, 0] * a + loop[i, 1] * b + loop[i, 2] * c + loop[i, 3] * d
            states[k + 1, i] = means[k, i] + push[i] * noise
        states[k + 1, 3] += NOISE_DEVIATION * draws[k, 1]
    return states, means, rewards
