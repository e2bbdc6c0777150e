r"""Compiled prediction runs: walks of the domains and the learners on them, the twins of the reference code.

A run is two passes. The first makes the trajectory from the stream `TRAJECTORY` and σ_k from the stream `SIGMA`; it
depends on (domain, seed, run) alone, so that every setting of a run sees the same data. The second learns on it:

    GQ(σ, λ)         Eqs. (25)–(26), v of the same step: `gqlib.learners.gq_step`
    semi-gradient    Eq. (10), backward view: `gqlib.learners.semi_gradient_step`
    TDC(λ), GTD2     weighted by ρ: `gqlib.learners.gradient_td`; on pairs TDC(λ) is GQ(λ) of Maei and Sutton

The correction is u = σ(1−λ)φ' + (1−σ)(E − λφ') = mix − λφ', computed in the second form, in which σ enters through
E + σ(φ' − E) alone: where φ' = E, σ drops out to the bit.

Sums run in index order, without fastmath, fused operations or mathematical libraries: the same bits everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from gqlib._validate import Array
from gqlib.domains.cart_pole import ACTION_COST, NOISE_DEVIATION, START, STATE_COST, CartPole, G, Walker
from gqlib.domains.finite import Chain, FiniteDomain, Path, WeightedTrajectory
from gqlib.fast import COMPILE
from gqlib.fast.rng import normal, uniform
from gqlib.seeds import SIGMA, TRAJECTORY, words

__all__ = ["trajectory"]

LEARNERS = {"gq": 0, "semi-gradient": 1, "tdc": 2, "gtd2": 3}


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
def _pick(cumulative: Any, u: Any) -> Any:
    """The first index whose cumulative probability exceeds u."""
    index = 0
    while cumulative[index] <= u:
        index += 1
    return index


@njit(**COMPILE)
def _walk_chain(draws: Any, start: Any, mu: Any, after: Any, ends_on: Any, horizon: Any) -> Any:
    steps = len(draws) - 1
    path = np.empty((4, steps), dtype=np.int64)
    ends = np.empty(steps, dtype=np.bool_)
    state = _pick(start, draws[0, 2])
    action = _pick(mu[state], draws[0, 1])
    age = 0
    for k in range(steps):
        path[0, k] = state
        path[1, k] = action
        state = _pick(after[state, action], draws[k + 1, 0])
        action = _pick(mu[state], draws[k + 1, 1])
        age += 1
        path[2, k] = state
        path[3, k] = action
        ends[k] = ends_on[state] or age == horizon
        if ends[k]:
            state = _pick(start, draws[k + 1, 2])
            action = _pick(mu[state], draws[k + 1, 1])
            age = 0
    return path, ends


def walk_chain(chain: Chain, draws: Array) -> Path:
    """The compiled twin of `Chain.walk`."""
    (states, actions, arrivals, next_actions), ends = _walk_chain(
        draws, *chain.cumulative, chain.ends_on, chain.horizon
    )
    return Path(states, actions, arrivals, next_actions, ends)


@njit(**COMPILE)
def _walk_pole(draws: Any, start: Any, loop: Any, gain: Any, push: Any, deviation: Any) -> Any:
    steps = len(draws)
    states = np.empty((steps + 1, 4))
    means = np.empty((steps, 4))
    rewards = np.empty(steps)
    states[0] = start
    for k in range(steps):
        a, b, c, d = states[k, 0], states[k, 1], states[k, 2], states[k, 3]
        noise = deviation * draws[k, 0]
        action = gain[0] * a + gain[1] * b + gain[2] * c + gain[3] * d + noise
        rewards[k] = -(STATE_COST[0] * a * a + STATE_COST[2] * c * c + ACTION_COST * action * action)
        for i in range(4):
            means[k, i] = loop[i, 0] * a + loop[i, 1] * b + loop[i, 2] * c + loop[i, 3] * d
            states[k + 1, i] = means[k, i] + push[i] * noise
        states[k + 1, 3] += NOISE_DEVIATION * draws[k, 1]
    return states, means, rewards


def walk_pole(walker: Walker, draws: Array) -> tuple[Array, Array, Array]:
    """The compiled twin of `Walker.walk`."""
    states, means, rewards = _walk_pole(
        draws, START, walker.closed_loop, walker.gain, G, walker.action_deviation
    )
    return states, means, rewards


def trajectory(domain: FiniteDomain | CartPole, steps: int, seed: int, run: int) -> WeightedTrajectory:
    """The trajectory of one run: domain, seed and run decide every bit; a longer one begins like a shorter one.

    Examples
    --------
    >>> from gqlib.domains import boyan_chain
    >>> short, long = (trajectory(boyan_chain(), steps, seed=0, run=0) for steps in (5, 8))
    >>> bool((long.phi[:5] == short.phi).all())
    True
    """
    state = words(seed, run, TRAJECTORY)
    if isinstance(domain, FiniteDomain):
        return domain.tables.trajectory(walk_chain(domain.chain, uniforms(state, steps + 1, 3)))
    draws = normals(state, domain.walker.warm_up + steps, 2)
    return domain.walker.see(draws, walk_pole(domain.walker, draws))


def sigma_normals(steps: int, seed: int, run: int) -> Array:
    """One standard normal number a step for σ, from a stream of its own."""
    return np.asarray(normals(words(seed, run, SIGMA), steps, 1)[:, 0])


@njit(**COMPILE)
def learn(
    phi: Any,
    reward: Any,
    sampled: Any,
    expected: Any,
    ends: Any,
    rho: Any,
    sigma: Any,
    theta0: Any,
    lam: Any,
    gamma: Any,
    alpha: Any,
    beta: Any,
    learner: Any,
    pairs: Any,
    every: Any,
    bound: Any,
) -> Any:
    """Weights before the first step and after every `every` steps, (T // every + 1, d), and the step of divergence.

    That step is −1 where no weight exceeded `bound`; rows after it are NaN. With `pairs`, TDC and GTD2 bootstrap from
    the expected features, and φ_k has no weight.
    """
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
