"""Kernels of `gqlib.fast.prediction`: tables of random numbers, walks, and the learners. Nothing is checked here.

Sums run in index order, without fastmath, fused operations or mathematical libraries: the bits are the same everywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gqlib._validate import Array
from gqlib.domains.cart_pole import ACTION_COST, NOISE_DEVIATION, STATE_COST
from gqlib.fast import COMPILE
from gqlib.fast._jit import njit
from gqlib.fast._rng import normal, uniform

LEARNERS = {"gq": 0, "semi-gradient": 1, "tdc": 2, "gtd2": 3}


class Seen(NamedTuple):
    """What a learner sees of T steps, one row or entry for each; features have d columns.

    Attributes
    ----------
    phi, sampled, expected : ndarray, (T, d)
        Features of the step, of the next pair, and the features expected for it under the target policy.
    reward, rho, sigma : ndarray, (T,)
    ends : ndarray of bool, (T,)
        Whether an episode ends with the step.
    """

    phi: Array
    reward: Array
    sampled: Array
    expected: Array
    ends: NDArray[np.bool_]
    rho: Array
    sigma: Array


class Rates(NamedTuple):
    """The numbers of a learner, all float."""

    lam: float
    gamma: float
    alpha: float
    beta: float


class Method(NamedTuple):
    """Which learner, and what is kept of it.

    Attributes
    ----------
    learner : int
        One of the numbers in `LEARNERS`.
    pairs : bool
        Whether features are those of pairs: then TDC and GTD2 bootstrap from the expected ones, and φ_k has no weight.
    every : int
        Steps from one row of kept weights to the next.
    bound : float
        A weight beyond it has diverged.
    """

    learner: int
    pairs: bool
    every: int
    bound: float


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


@njit(**COMPILE)
def learn(seen: Seen, theta0: Array, rates: Rates, method: Method) -> Any:
    """Weights before the first step and after every `every` steps, (T // every + 1, d), and the step of divergence.

    That step is −1 where no weight exceeded `bound`; rows after it are NaN.
    """
    # Before the loop, since a reference is counted each time an array is taken out of a tuple.
    phi, reward, sampled, expected, ends, rho, sigma = seen
    lam, gamma, alpha, beta = rates
    learner, pairs, every, bound = method
    steps, size = phi.shape
    kept = np.full((steps // every + 1, size), np.nan)
    theta, omega, trace, mixed = theta0.copy(), np.zeros(size), np.zeros(size), np.empty(size)
    kept[0] = theta
    decay = gamma * lam
    for k in range(steps):
        weight = 1.0 if learner < 2 else rho[k]  # of the trace
        first = 1.0 if learner < 2 or pairs else rho[k]  # of φ_k itself
        target = value = projected = 0.0
        for i in range(size):
            if learner < 2:
                mixed[i] = expected[k, i] + sigma[k] * (sampled[k, i] - expected[k, i])
            elif pairs:
                mixed[i] = expected[k, i]
            else:
                mixed[i] = sampled[k, i]
            target += theta[i] * mixed[i]
            value += theta[i] * phi[k, i]
            projected += phi[k, i] * omega[i]
            trace[i] = decay * weight * trace[i] + first * phi[k, i]
        delta = reward[k] + gamma * target - value
        if learner == 1:
            for i in range(size):
                theta[i] += alpha * delta * trace[i]
        elif learner == 3:
            for i in range(size):
                theta[i] += alpha * first * projected * (phi[k, i] - gamma * mixed[i])
                omega[i] += beta * (first * delta - projected) * phi[k, i]
        else:
            along = 0.0
            for i in range(size):
                along += trace[i] * omega[i]
            for i in range(size):
                u = mixed[i] - lam * sampled[k, i] if learner == 0 else (1.0 - lam) * mixed[i]
                theta[i] += alpha * (delta * trace[i] - gamma * (u * along))
                omega[i] += beta * (delta * trace[i] - phi[k, i] * projected)
        for i in range(size):
            if not abs(theta[i]) <= bound:
                return kept, k + 1
        if ends[k]:
            trace[:] = 0.0
        if (k + 1) % every == 0:
            kept[(k + 1) // every] = theta
    return kept, -1
