"""On-policy control with an ε-greedy policy: n-step Q(σ) of De Asis et al. (2018), and Q(σ, λ).

The policy that acts is the one that is learnt about, and it follows the table: greedy for the first action of largest
value, but with probability ε uniform. Returns are recorded episode by episode; an episode is cut at `max_steps`.
The table starts at zero and the row of a terminal state is never updated, so the value of an end is zero.
Random numbers come from `draw`, a function without arguments that returns a uniform number in [0, 1), so that the
compiled twins in `gqlib.fast.tabular` can be held to the same stream.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.episodes import TabularTask
from gqlib.tabular._arguments import step_size

__all__ = ["epsilon_greedy", "n_step_q_sigma_control", "q_sigma_lambda_control"]


def epsilon_greedy(row: Array, epsilon: float) -> Array:
    """The ε-greedy probabilities for one row of a table; ties go to the first action.

    Examples
    --------
    >>> epsilon_greedy(np.array([0.0, 1.0]), 0.1).round(4).tolist()
    [0.05, 0.95]
    """
    row, epsilon = (
        check.array("row", row, (None,), largest=np.inf),
        check.scalar("epsilon", epsilon, low=0.0, high=1.0),
    )
    probabilities = np.full(len(row), epsilon / len(row))
    probabilities[int(np.argmax(row))] += 1.0 - epsilon
    return probabilities


def _expected(probabilities: Array, row: Array) -> float:
    total = 0.0
    for p, value in zip(
        probabilities, row, strict=True
    ):  # in this order, so that the compiled twin rounds identically
        total += p * value
    return total


class _World:
    """Draws of start states, moves and ε-greedy actions from one stream of uniform numbers."""

    def __init__(self, task: TabularTask, epsilon: float, draw: Callable[[], float]) -> None:
        check.instance("task", task, TabularTask)
        self.begin = np.cumsum(task.start)
        self.moves = np.cumsum(task.mdp.transitions, axis=2)
        self.epsilon, self._draw = (
            check.scalar("epsilon", epsilon, low=0.0, high=1.0),
            check.function("draw", draw),
        )

    def draw(self) -> float:
        try:
            drawn = self._draw()
        except TypeError as error:
            raise ValueError(
                f"draw is {self._draw!r}; it should be a function without arguments: {error}"
            ) from error
        return check.scalar("draw", drawn, low=0.0, high=1.0, open_high=True)

    def start(self) -> int:
        return int(np.searchsorted(self.begin, self.draw() * self.begin[-1], side="right"))

    def act(self, row: Array) -> int:
        if self.draw() < self.epsilon:
            return int(self.draw() * len(row))
        return int(np.argmax(row))

    def advance(
        self, table: Array, state: int, action: int, sigma: float
    ) -> tuple[int, int, float, float]:
        """The next state and action, what the error bootstraps from, and the probability of the action."""
        row = self.moves[state, action]
        new = int(np.searchsorted(row, self.draw() * row[-1], side="right"))
        probabilities, choice = epsilon_greedy(table[new], self.epsilon), self.act(table[new])
        bootstrap = sigma * table[new, choice] + (1.0 - sigma) * _expected(
            probabilities, table[new]
        )
        return new, choice, bootstrap, probabilities[choice]


def n_step_q_sigma_control(
    task: TabularTask,
    *,
    n: int,
    sigma: ArrayLike,
    alpha: float,
    epsilon: float,
    draw: Callable[[], float],
    max_steps: int = 10_000,
) -> tuple[Array, Array]:
    """On-policy n-step Q(σ) from a table of zeros, with one value of σ for each episode.

    Returns
    -------
    returns : ndarray, (episodes,)
        Undiscounted sum of rewards of each episode.
    q : ndarray, (S, A)

    Examples
    --------
    One state between two ends, left −1 and right +1; left is tried first, and half of each error is learnt:

    >>> from gqlib.domains.random_walk import random_walk
    >>> returns, q = n_step_q_sigma_control(
    ...     random_walk(1), n=2, sigma=[0.5] * 3, alpha=0.5, epsilon=0.0, draw=np.random.default_rng(0).random)
    >>> returns.tolist(), q[1].tolist()
    ([-1.0, 1.0, 1.0], [-0.5, 0.75])
    """
    world = _World(task, epsilon, draw)
    sigmas, alpha = check.array("sigma", sigma, (None,)), step_size(alpha)
    n, limit, mdp = (
        check.integer("n", n, low=1),
        check.integer("max_steps", max_steps, low=1),
        task.mdp,
    )
    table, returns = np.zeros(mdp.rewards.shape), np.zeros(len(sigmas))
    for episode, s in enumerate(sigmas):
        states = [world.start()]
        actions = [world.act(table[states[0]])]
        values, errors, weights, ends = [table[states[0], actions[0]]], [], [1.0], False
        while not ends:
            reward = mdp.rewards[states[-1], actions[-1]]
            new, choice, bootstrap, probability = world.advance(table, states[-1], actions[-1], s)
            returns[episode] += reward
            errors.append(reward + mdp.gamma * bootstrap - values[-1])
            weights.append(mdp.gamma * ((1.0 - s) * probability + s))
            states.append(new)
            actions.append(choice)
            values.append(table[new, choice])
            now = len(errors)
            ends = bool(mdp.is_terminal[new]) or now == limit
            for t in range(max(now - n, 0), now if ends else now - n + 1):
                target, decay = values[t], 1.0
                for k in range(t, min(t + n, now)):
                    decay = decay * weights[k] if k > t else 1.0
                    target += decay * errors[k]
                table[states[t], actions[t]] += alpha * (target - table[states[t], actions[t]])
    return returns, table


def q_sigma_lambda_control(
    task: TabularTask,
    *,
    lam: float,
    sigma: ArrayLike,
    alpha: float,
    epsilon: float,
    draw: Callable[[], float],
    max_steps: int = 10_000,
) -> tuple[Array, Array]:
    """On-policy Q(σ, λ), Eqs. (6)–(7), from a table of zeros, with one value of σ for each episode.

    Returns
    -------
    returns : ndarray, (episodes,)
    q : ndarray, (S, A)

    Examples
    --------
    >>> from gqlib.domains.random_walk import random_walk
    >>> returns, q = q_sigma_lambda_control(
    ...     random_walk(1), lam=0.9, sigma=[0.5] * 3, alpha=0.5, epsilon=0.0, draw=np.random.default_rng(0).random)
    >>> returns.tolist(), q[1].tolist()  # as in `n_step_q_sigma_control`: an episode has one step
    ([-1.0, 1.0, 1.0], [-0.5, 0.75])
    """
    world = _World(task, epsilon, draw)
    sigmas, alpha = check.array("sigma", sigma, (None,)), step_size(alpha)
    lam, limit = (
        check.scalar("lam", lam, low=0.0, high=1.0),
        check.integer("max_steps", max_steps, low=1),
    )
    mdp = task.mdp
    table, returns = np.zeros(mdp.rewards.shape), np.zeros(len(sigmas))
    for episode, s in enumerate(sigmas):
        trace = np.zeros_like(table)
        state = world.start()
        action = world.act(table[state])
        for _ in range(limit):
            new, choice, bootstrap, _ = world.advance(table, state, action, s)
            returns[episode] += mdp.rewards[state, action]
            delta = mdp.rewards[state, action] + mdp.gamma * bootstrap - table[state, action]
            trace *= mdp.gamma * lam
            trace[state, action] += 1.0
            table += alpha * delta * trace
            state, action = new, choice
            if mdp.is_terminal[state]:
                break
    return returns, table
