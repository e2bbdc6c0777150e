r"""Kernels of `gqlib.fast.tabular`. Nothing is checked here.

The operations come in the same order as in the reference, without fastmath. Control starts from a table of zeros and
never updates a terminal row, so the value of an end needs no special case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gqlib._validate import Array
from gqlib.fast import COMPILE
from gqlib.fast._jit import njit
from gqlib.fast._rng import uniform

Words = NDArray[np.uint64]


class Steps(NamedTuple):
    """An episode of T steps: states and actions (T + 1,), rewards (T,), and whether states[T] is terminal."""

    states: NDArray[np.intp]
    actions: NDArray[np.intp]
    rewards: Array
    ended: bool


class Runs(NamedTuple):
    """The episodes of some runs, one after the other: `Steps` end to end, and each one's number of steps."""

    states: NDArray[np.intp]
    actions: NDArray[np.intp]
    rewards: Array
    ended: NDArray[np.bool_]
    lengths: NDArray[np.intp]


class Rates(NamedTuple):
    """The numbers of an update, all float."""

    sigma: float
    gamma: float
    alpha: float


class Task(NamedTuple):
    """An episodic task, with cumulative probabilities.

    Attributes
    ----------
    start : ndarray, (S,)
        Cumulative law of the first state.
    moves : ndarray, (S, A, S)
        Cumulative law of the next state.
    rewards : ndarray, (S, A)
    terminal : ndarray of bool, (S,)
    gamma : float
    """

    start: Array
    moves: Array
    rewards: Array
    terminal: NDArray[np.bool_]
    gamma: float


@njit(**COMPILE)
def n_step_episode(q: Array, steps: Steps, pi: Array, n: int, rates: Rates) -> None:
    """On-policy n-step Q(σ) along an episode; `q` is changed in place."""
    states, actions, rewards, ended = steps
    sigma, gamma, alpha = rates
    length = len(rewards)
    values, errors, weights = np.zeros(length + 1), np.zeros(length), np.ones(length + 1)
    values[0] = q[states[0], actions[0]]
    for step in range(1, length + 1):
        s, a = states[step], actions[step]
        expected = 0.0
        if not (ended and step == length):
            values[step] = q[s, a]
            for b in range(q.shape[1]):
                expected += pi[s, b] * q[s, b]
            weights[step] = gamma * ((1.0 - sigma) * pi[s, a] + sigma)
        bootstrap = sigma * values[step] + (1.0 - sigma) * expected
        errors[step - 1] = rewards[step - 1] + gamma * bootstrap - values[step - 1]
        for t in range(max(step - n, 0), length if step == length else max(step - n + 1, 0)):
            n_step_update(q, states, actions, values, errors, weights, t, min(t + n, step), alpha)


@njit(forceinline=True, **COMPILE)
def n_step_update(
    q: Any,
    states: Any,
    actions: Any,
    values: Any,
    errors: Any,
    weights: Any,
    t: int,
    h: int,
    alpha: float,
) -> None:
    """One update, of step t with horizon h."""
    target, decay = values[t], 1.0
    for k in range(t, h):
        if k > t:
            decay *= weights[k]
        target += decay * errors[k]
    q[states[t], actions[t]] += alpha * (target - q[states[t], actions[t]])


@njit(forceinline=True, **COMPILE)
def follow_trace(q: Any, trace: Any, s: int, a: int, decay: float, move: float) -> None:
    """Decay of the trace, the visit to (s, a), and the change of the table along it."""
    visited, value = decay * trace[s, a] + 1.0, q[s, a]
    for i in range(q.shape[0]):
        for b in range(q.shape[1]):
            trace[i, b] *= decay
            q[i, b] += move * trace[i, b]
    trace[s, a], q[s, a] = visited, value + move * visited


@njit(**COMPILE)
def trace_episode(q: Array, steps: Steps, pi: Array, lam: float, rates: Rates) -> None:
    """Q(σ, λ) along an episode, Eqs. (6)–(7); `q` is changed in place."""
    states, actions, rewards, ended = steps
    sigma, gamma, alpha = rates
    trace = np.zeros_like(q)
    for t in range(len(rewards)):
        s, a, new = states[t], actions[t], states[t + 1]
        sampled, expected = 0.0, 0.0
        if not (ended and t == len(rewards) - 1):
            sampled = q[new, actions[t + 1]]
            for b in range(q.shape[1]):
                expected += pi[new, b] * q[new, b]
        delta = rewards[t] + gamma * (sigma * sampled + (1.0 - sigma) * expected) - q[s, a]
        follow_trace(q, trace, s, a, gamma * lam, alpha * delta)


@njit(**COMPILE)
def cut(runs: Runs, number: int, at: int) -> Any:
    """Episode `number`, whose states begin at `at`, and where the next one's begin."""
    length = runs.lengths[number]
    states, actions = runs.states[at : at + length + 1], runs.actions[at : at + length + 1]
    first = at - number  # an episode has one reward fewer than states
    return Steps(
        states, actions, runs.rewards[first : first + length], runs.ended[number]
    ), at + length + 1


@njit(**COMPILE)
def keep(tables: Any, run: int, episode: int, q: Any) -> None:
    """Copy a table to its place; as a loop, which compiles in a fraction of the time that an array assignment takes."""
    for i in range(q.shape[0]):
        for b in range(q.shape[1]):
            tables[run, episode, i, b] = q[i, b]


@njit(**COMPILE)
def n_step_tables(tables: Array, runs: Runs, pi: Array, n: int, rates: Rates) -> None:
    """`n_step_episode` along the episodes of each run, from zeros; fills `tables`, (runs, episodes, S, A)."""
    number, at = 0, 0
    for run in range(tables.shape[0]):
        q = np.zeros(pi.shape)
        for episode in range(tables.shape[1]):
            steps, at = cut(runs, number, at)
            n_step_episode(q, steps, pi, n, rates)
            keep(tables, run, episode, q)
            number += 1


@njit(**COMPILE)
def trace_tables(tables: Array, runs: Runs, pi: Array, lam: float, rates: Rates) -> None:
    """The same with `trace_episode`."""
    number, at = 0, 0
    for run in range(tables.shape[0]):
        q = np.zeros(pi.shape)
        for episode in range(tables.shape[1]):
            steps, at = cut(runs, number, at)
            trace_episode(q, steps, pi, lam, rates)
            keep(tables, run, episode, q)
            number += 1


@njit(forceinline=True, **COMPILE)
def draw(cumulative: Any, stream: Any) -> int:
    """An index from cumulative probabilities, scaled by their total so that rounding in a sum does no harm."""
    return int(np.searchsorted(cumulative, uniform(stream) * cumulative[-1], side="right"))


@njit(forceinline=True, **COMPILE)
def act(row: Any, epsilon: float, stream: Any) -> int:
    """An ε-greedy action; ties go to the first."""
    if uniform(stream) < epsilon:
        return int(uniform(stream) * len(row))
    return int(np.argmax(row))


@njit(forceinline=True, **COMPILE)
def look(row: Any, choice: int, epsilon: float) -> tuple[float, float]:
    """Σ_a π(a) Q(a) and π(choice) for the ε-greedy π of a row."""
    greedy, expected, probability = np.argmax(row), 0.0, 0.0
    for b in range(len(row)):
        p = epsilon / len(row)
        if b == greedy:
            p += 1.0 - epsilon
        if b == choice:
            probability = p
        expected += p * row[b]
    return expected, probability


@njit(forceinline=True, **COMPILE)
def advance(
    q: Any, cumulative: Any, sigma: float, epsilon: float, stream: Any
) -> tuple[int, int, float, float]:
    """The next state and action, what the error bootstraps from, and the probability of the action."""
    new = draw(cumulative, stream)
    choice = act(q[new], epsilon, stream)
    expected, probability = look(q[new], choice, epsilon)
    return new, choice, sigma * q[new, choice] + (1.0 - sigma) * expected, probability


@njit(**COMPILE)
def n_step_run(
    task: Task, n: int, sigmas: Array, alpha: float, epsilon: float, max_steps: int, stream: Words
) -> Any:
    """Returns of the episodes of one run of on-policy n-step Q(σ) control, (episodes,), and the table."""
    start, moves, rewards, terminal, gamma = task
    q, returns = np.zeros(rewards.shape), np.zeros(len(sigmas))
    states, actions = np.zeros(max_steps + 1, np.int64), np.zeros(max_steps + 1, np.int64)
    values, errors, weights = np.zeros(max_steps + 1), np.zeros(max_steps), np.ones(max_steps + 1)
    for episode in range(len(sigmas)):
        sigma = sigmas[episode]
        states[0] = draw(start, stream)
        actions[0] = act(q[states[0]], epsilon, stream)
        values[0] = q[states[0], actions[0]]
        step, ends = 0, False
        while not ends:
            s, a = states[step], actions[step]
            new, choice, bootstrap, probability = advance(q, moves[s, a], sigma, epsilon, stream)
            returns[episode] += rewards[s, a]
            errors[step] = rewards[s, a] + gamma * bootstrap - values[step]
            step += 1
            states[step], actions[step], values[step] = new, choice, q[new, choice]
            weights[step] = gamma * ((1.0 - sigma) * probability + sigma)
            ends = terminal[new] or step == max_steps
            for t in range(max(step - n, 0), step if ends else max(step - n + 1, 0)):
                n_step_update(
                    q, states, actions, values, errors, weights, t, min(t + n, step), alpha
                )
    return returns, q


@njit(**COMPILE)
def trace_run(
    task: Task,
    lam: float,
    sigmas: Array,
    alpha: float,
    epsilon: float,
    max_steps: int,
    stream: Words,
) -> Any:
    """Returns of the episodes of one run of on-policy Q(σ, λ) control, (episodes,), and the table."""
    start, moves, rewards, terminal, gamma = task
    q, returns = np.zeros(rewards.shape), np.zeros(len(sigmas))
    for episode in range(len(sigmas)):
        sigma, trace = sigmas[episode], np.zeros(rewards.shape)
        s = draw(start, stream)
        a = act(q[s], epsilon, stream)
        for _ in range(max_steps):
            new, choice, bootstrap, _ = advance(q, moves[s, a], sigma, epsilon, stream)
            returns[episode] += rewards[s, a]
            delta = rewards[s, a] + gamma * bootstrap - q[s, a]
            follow_trace(q, trace, s, a, gamma * lam, alpha * delta)
            s, a = new, choice
            if terminal[s]:
                break
    return returns, q
