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
from gqlib.fast import COMPILE
from gqlib.fast.rng import uniform
from gqlib.seeds import TRAJECTORY, words

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
    """(states, actions, rewards, ended): an episode as the kernels take it.

    Examples
    --------
    >>> states, actions, rewards, ended = arrays(Episode([0, 1, 2], [1, 1, 0], [0.0, 1.0], ended=True))
    >>> states.tolist(), rewards.tolist(), ended
    ([0, 1, 2], [0.0, 1.0], True)
    """
    return episode.states, episode.actions, episode.rewards, episode.ended


def world(task: TabularTask) -> tuple[Any, ...]:
    """(start, moves, rewards, terminal, gamma): a task as the kernels take it, with cumulative probabilities.

    Examples
    --------
    >>> from gqlib.domains.random_walk import random_walk
    >>> start, moves, rewards, terminal, gamma = world(random_walk(1))
    >>> start.tolist(), terminal.tolist(), gamma
    ([0.0, 1.0, 1.0], [True, False, True], 1.0)
    """
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

    Examples
    --------
    Twice right, out of a state whose right end pays 1; half of the error is learnt each time:

    >>> right, coin = Episode([1, 2], [1, 0], [1.0], ended=True), np.full((3, 2), 0.5)
    >>> learn_tables(trace_episode, [[right, right]], coin, 0.9, sigma=0.5, gamma=1.0, alpha=0.5)[0, :, 1, 1].tolist()
    [0.5, 0.75]
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

    Examples
    --------
    >>> from gqlib.domains.random_walk import random_walk
    >>> rates = {"alpha": 0.5, "epsilon": 0.0, "seed": 0}
    >>> control_returns(trace_run, random_walk(1), 0.9, np.full(3, 0.5), runs=range(1), **rates).tolist()
    [[-1.0, 1.0, 1.0]]
    """
    made = world(task)
    streams = [words(seed, run, TRAJECTORY) for run in runs]
    return np.stack([kernel(*made, parameter, sigmas, alpha, epsilon, max_steps, stream)[0] for stream in streams])


@njit(**COMPILE)
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
    """On-policy n-step Q(σ) along an episode; `q` is changed in place.

    Examples
    --------
    >>> q, right = np.zeros((3, 2)), Episode([1, 2], [1, 0], [1.0], ended=True)
    >>> n_step_episode(q, *arrays(right), np.full((3, 2), 0.5), 1, 0.5, 1.0, 0.5)
    >>> q[1].tolist()
    [0.0, 0.5]
    """
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


@njit(**COMPILE)
def _n_step_update(
    q: Any, states: Any, actions: Any, values: Any, errors: Any, weights: Any, t: int, h: int, alpha: float
) -> None:
    target, decay = values[t], 1.0
    for k in range(t, h):
        if k > t:
            decay *= weights[k]
        target += decay * errors[k]
    q[states[t], actions[t]] += alpha * (target - q[states[t], actions[t]])


@njit(**COMPILE)
def _follow_trace(q: Any, trace: Any, s: int, a: int, decay: float, move: float) -> None:
    for i in range(q.shape[0]):
        for b in range(q.shape[1]):
            trace[i, b] *= decay
    trace[s, a] += 1.0
    for i in range(q.shape[0]):
        for b in range(q.shape[1]):
            q[i, b] += move * trace[i, b]


@njit(**COMPILE)
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
    """Q(σ, λ) along an episode, Eqs. (6)–(7); `q` is changed in place.

    Examples
    --------
    >>> q, right = np.zeros((3, 2)), Episode([1, 2], [1, 0], [1.0], ended=True)
    >>> trace_episode(q, *arrays(right), np.full((3, 2), 0.5), 0.9, 0.5, 1.0, 0.5)
    >>> q[1].tolist()
    [0.0, 0.5]
    """
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


@njit(**COMPILE)
def _draw(cumulative: Any, stream: Any) -> int:
    return int(np.searchsorted(cumulative, uniform(stream) * cumulative[-1], side="right"))


@njit(**COMPILE)
def _act(row: Any, epsilon: float, stream: Any) -> int:
    if uniform(stream) < epsilon:
        return int(uniform(stream) * len(row))
    return int(np.argmax(row))


@njit(**COMPILE)
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


@njit(**COMPILE)
def _advance(q: Any, cumulative: Any, sigma: float, epsilon: float, stream: Any) -> tuple[int, int, float, float]:
    """The next state and action, what the error bootstraps from, and the probability of the action."""
    new = _draw(cumulative, stream)
    choice = _act(q[new], epsilon, stream)
    expected, probability = _look(q[new], choice, epsilon)
    return new, choice, sigma * q[new, choice] + (1.0 - sigma) * expected, probability


@njit(**COMPILE)
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
    """Returns of the episodes of one run of on-policy n-step Q(σ) control, (episodes,), and the table.

    Examples
    --------
    >>> from gqlib.domains.random_walk import random_walk
    >>> stream = words(0, 0, TRAJECTORY)
    >>> returns, q = n_step_run(*world(random_walk(1)), 1, np.full(3, 0.5), 0.5, 0.0, 100, stream)
    >>> returns.tolist(), q[1].tolist()
    ([-1.0, 1.0, 1.0], [-0.5, 0.75])
    """
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
            new, choice, bootstrap, probability = _advance(q, moves[s, a], sigma, epsilon, stream)
            returns[episode] += rewards[s, a]
            errors[step] = rewards[s, a] + gamma * bootstrap - values[step]
            step += 1
            states[step], actions[step], values[step] = new, choice, q[new, choice]
            weights[step] = gamma * ((1.0 - sigma) * probability + sigma)
            ends = terminal[new] or step == max_steps
            for t in range(max(step - n, 0), step if ends else max(step - n + 1, 0)):
                _n_step_update(q, states, actions, values, errors, weights, t, min(t + n, step), alpha)
    return returns, q


@njit(**COMPILE)
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
    """Returns of the episodes of one run of on-policy Q(σ, λ) control, (episodes,), and the table.

    Examples
    --------
    >>> from gqlib.domains.random_walk import random_walk
    >>> stream = words(0, 0, TRAJECTORY)
    >>> returns, q = trace_run(*world(random_walk(1)), 0.9, np.full(3, 0.5), 0.5, 0.0, 100, stream)
    >>> returns.tolist(), q[1].tolist()
    ([-1.0, 1.0, 1.0], [-0.5, 0.75])
    """
    q, returns = np.zeros(rewards.shape), np.zeros(len(sigmas))
    for episode in range(len(sigmas)):
        sigma, trace = sigmas[episode], np.zeros(rewards.shape)
        s = _draw(start, stream)
        a = _act(q[s], epsilon, stream)
        for _ in range(max_steps):
            new, choice, bootstrap, _ = _advance(q, moves[s, a], sigma, epsilon, stream)
            returns[episode] += rewards[s, a]
            delta = rewards[s, a] + gamma * bootstrap - q[s, a]
            _follow_trace(q, trace, s, a, gamma * lam, alpha * delta)
            s, a = new, choice
            if terminal[s]:
                break
    return returns, q
