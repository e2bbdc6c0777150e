"""What one writes in an hour: plain loops in Python, NumPy and Numba that learn on the mountain car, with no checks.

The engine is measured against these, not against the reference, which checks its arguments at every step. All learn
GQ(σ, λ) with a greedy target on the tile table of the engine; the Gymnasium loop learns Sarsa(λ) with tiles3 in
``MountainCar-v0``. Features are active indices, so what is dense is the trace: where a learner has one, it is decayed
in the pass that follows it, and its inner product with ω has eight sums, which a processor can add up at a time.
`bare_steps` learns nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.control.corrected import world_of
from gqlib.control.setting import ControlSetting
from gqlib.control.tile_tables import tile_table
from gqlib.domains import mountain_car as car
from gqlib.fast import COMPILE
from gqlib.fast._car import advance, choose, cosine, find_row, start
from gqlib.fast._jit import njit
from gqlib.fast._rng import uniform
from gqlib.seeds import BEHAVIOUR, START, words
from gqlib.tiles3 import IHT, tiles

LIMIT = 400  # steps of the Python loops, whose cost per step does not depend on their number


def numpy_steps(setting: ControlSetting, steps: int = LIMIT, seed: int = 0) -> int:
    """A plain NumPy loop, dense in the trace, from one start; returns the number of steps.

    Examples
    --------
    >>> numpy_steps(ControlSetting(p=512), steps=20)
    20
    """
    check.instance("setting", setting, ControlSetting)
    table, rng = tile_table(setting.p, setting.tilings, setting.memory), np.random.default_rng(seed)
    places, edges_x, edges_v = table.index_rows().astype(np.int64), table.edges_x, table.edges_v
    k, gamma, lam, alpha, sigma = (
        setting.tilings,
        setting.gamma,
        setting.lam,
        setting.alpha,
        setting.sigma,
    )
    beta, decay, columns = setting.eta * alpha, gamma * lam, len(edges_v) - 1
    theta, omega, trace = (np.zeros(setting.p) for _ in range(3))
    x, v = -0.5, 0.0

    def look(x: float, v: float) -> tuple[Any, Any, int, int]:
        cell = (
            (edges_x.searchsorted(x, "right") - 1) * columns + edges_v.searchsorted(v, "right") - 1
        )
        rows = places[cell, : 3 * k].reshape(3, k)
        q = theta[rows].sum(axis=1)
        greedy = int(q.argmax())
        return rows, q, greedy, greedy if rng.random() >= setting.epsilon else int(rng.integers(3))

    rows, _, _, action = look(x, v)
    for _ in range(steps):
        phi = rows[action]
        value, phi_omega = theta[phi].sum(), omega[phi].sum()  # theta has changed since q
        x, v = car.advance(x, v, action - 1.0, math.cos(3.0 * x))
        trace *= decay
        trace[phi] += 1.0
        if x >= car.GOAL:
            x, v = -0.5, 0.0
        rows, q, greedy, action = look(x, v)
        delta = -1.0 + gamma * (sigma * q[action] + (1.0 - sigma) * q[greedy]) - value
        factor = alpha * gamma * (trace @ omega)
        change = delta * trace
        theta += alpha * change
        omega += beta * change
        omega[phi] -= beta * phi_omega
        theta[rows[action]] -= factor * (sigma - lam)
        theta[rows[greedy]] -= factor * (1.0 - sigma)
    return steps


@njit(**COMPILE)
def _dot(x: Any, y: Any) -> Any:
    whole = x.size - x.size % 8
    a = b = c = d = e = f = g = h = 0.0
    for i in range(0, whole, 8):
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
        e += x[i + 4] * y[i + 4]
        f += x[i + 5] * y[i + 5]
        g += x[i + 6] * y[i + 6]
        h += x[i + 7] * y[i + 7]
    total = (a + b) + (c + d) + ((e + f) + (g + h))
    for i in range(whole, x.size):
        total += x[i] * y[i]
    return total


@njit(**COMPILE)
def _numba_loop(
    places: Any,
    edges_x: Any,
    edges_v: Any,
    k: Any,
    p: Any,
    numbers: Any,
    episodes: Any,
    limit: Any,
    rng: Any,
) -> Any:
    gamma, lam, alpha, beta, sigma, epsilon = numbers
    theta, omega, trace, q, total = np.zeros(p), np.zeros(p), np.zeros(p), np.zeros(3), 0
    columns = edges_v.size - 1
    for _ in range(episodes):
        trace[:] = 0.0
        x, v = -0.6 + 0.2 * rng.random(), 0.0
        cell = (
            (np.searchsorted(edges_x, x, "right") - 1) * columns
            + np.searchsorted(edges_v, v, "right")
            - 1
        )
        for a in range(3):
            q[a] = 0.0
            for j in range(k):
                q[a] += theta[places[cell, a * k + j]]
        greedy = np.argmax(q)
        action = greedy if rng.random() >= epsilon else int(3.0 * rng.random())
        for _ in range(limit):
            total += 1
            v = min(0.07, max(-0.07, v + 0.001 * (action - 1) - 0.0025 * math.cos(3.0 * x)))
            x = min(0.5, x + v)
            if x <= -1.2:
                x, v = -1.2, 0.0
            value, phi_omega, here, first = q[action], 0.0, cell, action * k
            for j in range(k):
                i = places[here, first + j]
                trace[i] += 1.0
                phi_omega += omega[i]
            factor = alpha * gamma * _dot(trace, omega)
            delta = -1.0 - value
            if x < 0.5:
                cell = (
                    (np.searchsorted(edges_x, x, "right") - 1) * columns
                    + np.searchsorted(edges_v, v, "right")
                    - 1
                )
                for a in range(3):
                    q[a] = 0.0
                    for j in range(k):
                        q[a] += theta[places[cell, a * k + j]]
                greedy = np.argmax(q)
                action = greedy if rng.random() >= epsilon else int(3.0 * rng.random())
                delta += gamma * (sigma * q[action] + (1.0 - sigma) * q[greedy])
            on_theta, on_omega, decay = alpha * delta, beta * delta, gamma * lam
            for i in range(p):
                e = trace[i]
                theta[i] += on_theta * e
                omega[i] += on_omega * e
                trace[i] = decay * e
            for j in range(k):
                omega[places[here, first + j]] -= beta * phi_omega
            if x >= 0.5:
                break
            for j in range(k):
                theta[places[cell, action * k + j]] -= factor * (sigma - lam)
                theta[places[cell, greedy * k + j]] -= factor * (1.0 - sigma)
            q[action] = 0.0  # theta has changed
            for j in range(k):
                q[action] += theta[places[cell, action * k + j]]
    return total


def numba_steps(setting: ControlSetting, seed: int = 0) -> int:
    """A plain Numba loop, dense in the trace; returns the number of steps of all episodes.

    Examples
    --------
    >>> numba_steps(ControlSetting(p=512, episodes=1, max_steps=30))
    30
    """
    check.instance("setting", setting, ControlSetting)
    table = tile_table(setting.p, setting.tilings, setting.memory)
    rates = (
        setting.gamma,
        setting.lam,
        setting.alpha,
        setting.eta * setting.alpha,
        setting.sigma,
        setting.epsilon,
    )
    return int(
        _numba_loop(
            table.index_rows(), table.edges_x, table.edges_v, setting.tilings, setting.p, rates, setting.episodes,
            setting.max_steps, np.random.default_rng(seed),
        )
    )  # fmt: skip


@njit(nogil=True, **COMPILE)
def _bare_loop(
    world: Any, theta: Any, episodes: Any, starts: Any, behaviour: Any, max_steps: Any, epsilon: Any
) -> Any:
    table, width, edges_x, edges_v, grid, shape = world
    total = 0
    for _ in range(episodes):
        x, v = start(uniform(starts)), 0.0
        slope = cosine(3.0 * x)
        row = find_row(x, v, edges_x, edges_v, grid, width)
        _, action, _, _ = choose(theta, table, row, shape, epsilon, behaviour)
        for _ in range(max_steps):
            total += 1
            x, v = advance(x, v, np.float64(action - 1), slope)
            slope = cosine(3.0 * x)
            if x >= car.GOAL:
                break
            row = find_row(x, v, edges_x, edges_v, grid, width)
            _, action, _, _ = choose(theta, table, row, shape, epsilon, behaviour)
    return total


def bare_steps(setting: ControlSetting, theta: Array, seed: int = 0) -> int:
    """The loop without learning as one writes it, three times as long; returns the number of steps.

    It drives the car of `gqlib.engine._kernel.bare_of` with none of what makes that faster: constants and choices are
    left to the compiler, random numbers are compared as doubles.

    Examples
    --------
    >>> bare_steps(ControlSetting(p=512, episodes=1, max_steps=30), np.zeros(512))
    90
    """
    check.instance("setting", setting, ControlSetting)
    table = tile_table(setting.p, setting.tilings, setting.memory)
    weights = check.array("theta", theta, (setting.p,))[table.used]
    streams = words(seed, 0, START), words(seed, 0, BEHAVIOUR)
    limits = setting.max_steps, setting.epsilon
    return int(
        _bare_loop(world_of(table, table.rows), weights, 3 * setting.episodes, *streams, *limits)
    )


def gymnasium_steps(
    steps: int = LIMIT, name: str = "MountainCar-v0", *, box: Any = None, sides: int = 8, alpha: float = 0.05,
    lam: float = 0.9, seed: int = 0,
) -> int:  # fmt: skip
    """Sarsa(λ) in a Gymnasium environment: a replacing trace in a dictionary, eight tilings by tiles3, ε = 0.1.

    Parameters
    ----------
    steps : int
    name : str
        By which Gymnasium knows the environment.
    box : pair of sequence, optional
        The corners to tile; those of the environment by default.
    sides : int
        Tiles per side.
    alpha, lam : float
    seed : int

    Examples
    --------
    >>> gymnasium_steps(steps=10)
    10
    """
    with check.package("gymnasium", "gym"):
        import gymnasium

    env, memory, theta = gymnasium.make(name), IHT(32768), np.zeros(32768)
    rng, actions = np.random.default_rng(seed), int(env.action_space.n)
    space: Any = env.observation_space
    low, high = (np.asarray(corner, dtype=float) for corner in box or (space.low, space.high))
    first, scale = low.tolist(), (sides / (high - low)).tolist()

    def look(seen: Any) -> tuple[Any, Any, int]:
        scaled = [(x - a) * b for x, a, b in zip(seen.tolist(), first, scale, strict=True)]
        rows = np.array([tiles(memory, 8, scaled, [a]) for a in range(actions)])
        q = theta[rows].sum(axis=1)
        return rows, q, int(q.argmax()) if rng.random() >= 0.1 else int(rng.integers(actions))

    seen, _ = env.reset(seed=seed)
    rows, q, action = look(seen)
    trace: dict[int, float] = {}
    for _ in range(steps):
        seen, reward, ends, cut, _ = env.step(action)
        trace = {i: e * lam for i, e in trace.items() if e > 1e-3}
        for i in rows[action].tolist():
            trace[i] = 1.0
        delta = float(reward) - q[action]
        following = rows, q, action
        if not ends:
            following = look(seen)
            delta += following[1][following[2]]
        theta[list(trace)] += alpha / 8.0 * delta * np.fromiter(trace.values(), float)
        if ends or cut:
            seen, _ = env.reset()
            trace, following = {}, look(seen)
        rows, q, action = following
    env.close()
    return steps
