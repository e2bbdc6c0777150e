"""The compiled car, and a compiled dense update on it: the variant "expected" of `gqlib.learners.corrected`.

Its runs amplify a rounding error until other actions are taken (10⁻¹³ becomes 10⁻⁴ in twenty episodes), so that the
lazy engine, which has it as ``expected_gq``, does not repeat the numbers that are printed of this one. It drives the car
of the engine: the same table of tiles, choice of actions and random streams.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gqlib._validate import Array
from gqlib.domains import mountain_car
from gqlib.fast import COMPILE
from gqlib.fast._jit import njit
from gqlib.fast._lowered import natural
from gqlib.fast._rng import uniform
from gqlib.rules import DIVERGED_ABOVE, TIE

GOAL = mountain_car.GOAL

cosine = njit(forceinline=True, **COMPILE)(mountain_car.cosine)
advance = njit(forceinline=True, **COMPILE)(mountain_car.advance)
start = njit(forceinline=True, **COMPILE)(mountain_car.start)
anywhere = njit(forceinline=True, **COMPILE)(mountain_car.anywhere)


class World(NamedTuple):
    """The car's state box: a row of places for each fine cell (`gqlib.control.tile_tables`).

    Attributes
    ----------
    table : ndarray of uint16
        The rows, one after the other: the places of the three actions, then what is not needed here.
    width : int
        Entries in a row.
    edges_x, edges_v : ndarray of float64
        Smallest double of each fine interval, and infinity at the end.
    grid : ndarray of float64
        Scale and offset of the position, then of the velocity, by which the cell is guessed.
    shape : tuple of int
        One entry for each tiling. Only its length matters, which the compiler knows, so it unrolls loops over tilings.
    """

    table: NDArray[np.uint16]
    width: int
    edges_x: Array
    edges_v: Array
    grid: Array
    shape: tuple[int, ...]


class Rates(NamedTuple):
    """The numbers of a setting that stay fixed, all float."""

    lam: float
    gamma: float
    alpha: float
    beta: float
    epsilon: float


@njit(forceinline=True, **COMPILE)
def find_row(x: Any, v: Any, edges_x: Any, edges_v: Any, grid: Any, width: Any) -> Any:
    """First entry of a state's row in the flat table: a guess of the cell, corrected by the exact edges."""
    # Branches, since the guess is nearly always right: the processor carries on without waiting for the edges.
    i = natural(np.int64(x * grid[0] + grid[1]))
    if x < edges_x[i]:
        i -= 1
    elif x >= edges_x[i + 1]:
        i += 1
    j = natural(np.int64(v * grid[2] + grid[3]))
    if v < edges_v[j]:
        j -= 1
    elif v >= edges_v[j + 1]:
        j += 1
    return natural((i * (edges_v.size - 1) + j) * width)


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
def choose(theta: Any, table: Any, row: Any, shape: Any, epsilon: Any, stream: Any) -> Any:
    """In the state of a row, the greedy action and an epsilon-greedy one, and the values of both."""
    tilings = len(shape)
    q0 = action_value(theta, table, row, shape)
    q1 = action_value(theta, table, row + tilings, shape)
    q2 = action_value(theta, table, row + 2 * tilings, shape)
    bar, u, third = max(q0, max(q1, q2)) - TIE, uniform(stream), epsilon / 3.0
    greedy = 0 if q0 >= bar else (1 if q1 >= bar else 2)
    action = greedy if u >= epsilon else np.int64(u >= third) + np.int64(u >= 2.0 * third)
    best = q0 if greedy == 0 else (q1 if greedy == 1 else q2)
    return greedy, action, best, q0 if action == 0 else (q1 if action == 1 else q2)


@njit(nogil=True, **COMPILE)
def dense_run(
    world: World,
    theta: Array,
    steps_out: NDArray[np.int32],
    starts: NDArray[np.uint64],
    behaviour: NDArray[np.uint64],
    max_steps: int,
    sigma: float,
    rates: Rates,
) -> int:
    """The variant "expected" of `gqlib.learners.corrected`, greedy target: loops over all p weights and traces.

    Features are still active indices, so the dense part is the trace alone: its decay, its inner product with
    omega, and the change of theta and omega along it. `theta` has a weight for each place and is changed in place;
    `steps_out` receives the steps of each episode, negative where the step limit cut it off. Returns the episode of
    divergence or -1.
    """
    table, width, edges_x, edges_v, grid, shape = world
    lam, gamma, alpha, beta, epsilon = rates
    tilings, p, third = len(shape), theta.size, epsilon / 3.0
    ratio = 1.0 / (1.0 - 2.0 * third)
    omega, trace = np.zeros(p), np.zeros(p)
    for episode in range(steps_out.size):
        trace[:] = 0.0
        x, v = start(uniform(starts)), 0.0
        slope = cosine(3.0 * x)
        row = find_row(x, v, edges_x, edges_v, grid, width)
        greedy, action, _, _ = choose(theta, table, row, shape, epsilon, behaviour)
        rho = ratio if action == greedy else 0.0
        steps = -max_steps
        for k in range(max_steps):
            first = row + action * tilings
            value = action_value(theta, table, first, shape)
            phi_omega = action_value(omega, table, first, shape)
            x, v = advance(x, v, np.float64(action - 1), slope)
            slope = cosine(3.0 * x)
            decay = gamma * lam
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
                greedy, action, best, taken = choose(theta, table, row, shape, epsilon, behaviour)
                rho = ratio if action == greedy else 0.0
                on_sampled = sigma * rho
                delta += gamma * (on_sampled * taken + (1.0 - sigma) * best)
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
            on_greedy = 1.0 - sigma - lam * (1.0 - epsilon)
            for j in range(tilings):
                theta[table[row + action * tilings + j]] -= factor * on_sampled
                theta[table[row + greedy * tilings + j]] -= factor * on_greedy
            for j in range(3 * tilings):
                theta[table[row + j]] += factor * lam * third
        steps_out[episode] = steps
    return -1
