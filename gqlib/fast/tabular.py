r"""Compiled twins of the tabular learners, for pictures that need many runs.

`n_step_episode` and `trace_episode` do in place what `gqlib.tabular.n_step_q_sigma` (on policy) and
`gqlib.tabular.q_sigma_lambda` do; `n_step_run` and `trace_run` are whole control runs, twins of
`gqlib.tabular.control`. The operations come in the same order as in the reference, without fastmath, and random numbers
from the same stream (`gqlib.fast.rng`), so control runs agree to the bit. Control starts from a table of zeros and
never updates a terminal row, so the value of an end needs no case of its own. Arguments are not checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numba import njit

from gqlib._validate import Array
from gqlib.domains.episodes import Episode, TabularTask
from gqlib.fast.rng import TRAJECTORY, seed_state, uniform

__all__ = [
    "arrays",
    "control_returns",
    "learn_tables",
    "n_step_episode",
    "n_step_run",
    "trace_episode",
    "trace_run",
    "world",
]


def arrays(episode: Episode) -> tuple[Any, ...]:
    """(states, actions, rewards, ended): an episode as the kernels take it."""
    return episode.states, episode.actions, episode.rewards, episode.ended


def world(task: TabularTask) -> tuple[Any, ...]:
    """(start, moves, rewards, terminal, gamma): a task as the kernels take it, with cumulative probabilities."""
    mdp = task.mdp
    moves = np.cumsum(mdp.transitions, axis=2)
    return np.cumsum(task.start), moves, mdp.rewards, mdp.is_terminal, mdp.gamma


def learn_tables(
    kernel: Callable[..., None],
    runs: Sequence[Sequence[Episode]],
    pi: Array,
    parameter: float,
    *,
    sigma: float,
    gamma: float,
    alpha: float,
) -> Array:
    """Tables after each episode of each run, (runs, episodes, S, A), from a table of zeros.

    `kernel` is `n_step_episode` (with n as its parameter) or `trace_episode` (with λ). Where a run diverges its
    entries grow without bound, up to infinity.
    """
    tables = np.zeros((len(runs), len(runs[0]), *pi.shape))
    with np.errstate(all="ignore"):
        for run, episodes in enumerate(runs):
            q = np.zeros(pi.shape)
            for number, episode in enumerate(episodes):
                kernel(q, *arrays(episode), pi, parameter, sigma, gamma, alpha)
                tables[run, number] = q
    return tables


def control_returns(
    kernel: Callable[..., Any],
    task: TabularTask,
    parameter: float,
    sigmas: Array,
    *,
    alpha: float,
    epsilon: float,
    runs: Iterable[int],
    seed: int,
    max_steps: int = 10_000,
) -> Array:
    """Returns of every episode, (runs, episodes), of `n_step_run` (parameter n) or `trace_run` (parameter λ).

    Run i uses the stream of (seed, i), whatever the other settings are.
    """
    made = world(task)
    streams = [seed_state(seed, run, TRAJECTORY) for run in runs]
    return np.stack([kernel(*made, parameter, sigmas, alpha, epsilon, max_steps, stream)[0] for stream in streams])


@njit(cache=True, fastmath=False)  # type: ignore[untyped-decorator,unused-ignore]
def n_step_episode(
    q: Any,
    states: Any,
    actions: Any,
    rewards: Any,
    ended: Any,
    pi: Any,
    n: int,
    sigma: float,
    gamma: float,
    alpha: float,
) -> None:
    """On-policy n-step Q(σ) along an episode; `q` is changed in place."""
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
            _n_step_update(q, states, actions, values, errors, weights, t, min(t + n, step), alpha)


@njit(cache=True, fastmath=False)  # type: ignore[untyped-decorator,unused-ignore]
def _n_step_update(
    q: Any, states: Any, actions: Any, values: Any, errors: Any, weights: Any, t: int, h: int, alpha: float
) -> None:
    target, decay = values[t], 1.0
    for k in range(t, h):
        if k > t:
            decay *= weights[k]
        target += decay * errors[k]
    q[states[t], actions[t]] += alpha * (target - q[states[t], actions[t]])


@njit(cache=True, fastmath=False)  # type: ignore[untyped-decorator,unused-ignore]
def _follow_trace(q: Any, trace: Any, s: int, a: int, decay: float, move: float) -> None:
    for i in range(q.shape[0]):
        for b in range(q.shape[1]):
            trace[i, b] *= decay
    trace[s, a] += 1.0
    for i in range(q.shape[0]):
        for b in range(q.shape[1]):
            q[i, b] += move * trace[i, b]


@njit(cache=True, fastmath=False)  # type: ignore[untyped-decorator,unused-ignore]
def trace_episode(
    q: Any,
    states: Any,
    actions: Any,
    rewards: Any,
    ended: Any,
    pi: Any,
    lam: float,
    sigma: float,
    gamma: float,
    alpha: float,
) -> None:
    """Q(σ, λ) along an episode, Eqs. (6)–(7); `q` is changed in place."""
    trace = np.zeros_like(q)
    for t in range(len(rewards)):
        s, a, new = states[t], actions[t], states[t + 1]
        sampled, expected = 0.0, 0.0
        if not (ended and t == len(rewards) - 1):
            sampled = q[new, actions[t + 1]]
            for b in range(q.shape[1]):
                expected += pi[new, b] * q[new, b]
        delta = rewards[t] + gamma * (sigma * sampled + (1.0 - sigma) * expected) - q[s, a]
        _follow_trace(q, trace, s, a, gamma * lam, alpha * delta)


@njit(cache=True, fastmath=False)  # type: ignore[untyped-decorator,unused-ignore]
def _draw(cumulative: Any, stream: Any) -> int:
    return int(np.searchsorted(cumulative, uniform(stream) * cumulative[-1], side="right"))


@njit(cache=True, fastmath=False)  # type: ignore[untyped-decorator,unused-ignore]
def _act(row: Any, epsilon: float, stream: Any) -> int:
    if uniform(stream) < epsilon:
        return int(uniform(stream) * len(row))
    return int(np.argmax(row))


@njit(cache=True, fastmath=False)  # type: ignore[untyped-decorator,unused-ignore]
def _look(row: Any, choice: int, epsilon: float) -> tuple[float, float]:
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


@njit(cache=True, fastmath=False)  # type: ignore[untyped-decorator,unused-ignore]
def n_step_run(
    start: Any,
    moves: Any,
    rewards: Any,
    terminal: Any,
    gamma: float,
    n: int,
    sigmas: Any,
    alpha: float,
    epsilon: float,
    max_steps: int,
    stream: Any,
) -> Any:
    """Returns of the episodes of one run of on-policy n-step Q(σ) control, (episodes,), and the table."""
    q, returns = np.zeros(rewards.shape), np.zeros(len(sigmas))
    states, actions = np.zeros(max_steps + 1, np.int64), np.zeros(max_steps + 1, np.int64)
    values, errors, weights = np.zeros(max_steps + 1), np.zeros(max_steps), np.ones(max_steps + 1)
    for episode in range(len(sigmas)):
        sigma = sigmas[episode]
        states[0] = _draw(start, stream)
        actions[0] = _act(q[states[0]], epsilon, stream)
        values[0] = q[states[0], actions[0]]
        step, ends = 0, False
        while not ends:
            s, a = states[step], actions[step]
            new = _draw(moves[s, a], stream)
            returns[episode] += rewards[s, a]
            choice = _act(q[new], epsilon, stream)
            sampled = q[new, choice]
            expected, probability = _look(q[new], choice, epsilon)
            errors[step] = rewards[s, a] + gamma * (sigma * sampled + (1.0 - sigma) * expected) - values[step]
            step += 1
            states[step], actions[step], values[step] = new, choice, sampled
            weights[step] = gamma * ((1.0 - sigma) * probability + sigma)
            ends = terminal[new] or step == max_steps
            for t in range(max(step - n, 0), step if ends else max(step - n + 1, 0)):
                _n_step_update(q, states, actions, values, errors, weights, t, min(t + n, step), alpha)
    return returns, q


@njit(cache=True, fastmath=False)  # type: ignore[untyped-decorator,unused-ignore]
def trace_run(
    start: Any,
    moves: Any,
    rewards: Any,
    terminal: Any,
    gamma: float,
    lam: float,
    sigmas: Any,
    alpha: float,
    epsilon: float,
    max_steps: int,
    stream: Any,
) -> Any:
    """Returns of the episodes of one run of on-policy Q(σ, λ) control, (episodes,), and the table."""
    q, returns = np.zeros(rewards.shape), np.zeros(len(sigmas))
    for episode in range(len(sigmas)):
        sigma, trace = sigmas[episode], np.zeros(rewards.shape)
        s = _draw(start, stream)
        a = _act(q[s], epsilon, stream)
        for _ in range(max_steps):
            new = _draw(moves[s, a], stream)
            returns[episode] += rewards[s, a]
            choice = _act(q[new], epsilon, stream)
            sampled = q[new, choice]
            expected, _ = _look(q[new], choice, epsilon)
            delta = rewards[s, a] + gamma * (sigma * sampled + (1.0 - sigma) * expected) - q[s, a]
            _follow_trace(q, trace, s, a, gamma * lam, alpha * delta)
            s, a = new, choice
            if terminal[s]:
                break
    return returns, q
