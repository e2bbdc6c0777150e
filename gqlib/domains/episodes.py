"""Episodes of a finite MDP, and the tabular tasks that generate them.

An episode is S_0, A_0, R_1, S_1, A_1, …, S_T, A_T, with one convention for time: the reward of step t is R_{t+1}
(the paper writes R_{t+1} in its Background and R_t from Eq. (8) on). It ends in a terminal state, or is cut after a
number of steps; then A_T is the action that would have come next, so that every learner can still bootstrap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._objects import ByValue
from gqlib._validate import Array
from gqlib.mdp import FiniteMDP

__all__ = ["Episode", "TabularTask", "Transition", "sample_episode"]

LARGEST_INDEX = 2.0**53  # up to here doubles represent every whole number


class Transition(NamedTuple):
    """(S_t, A_t, R_{t+1}, S_{t+1}, A_{t+1}), and whether the episode ends in S_{t+1}.

    Examples
    --------
    >>> steps = list(Episode([0, 1, 2], [1, 1, 0], [0.5, 1.0], ended=True))
    >>> [(step.state, step.next_state, step.reward, step.ends) for step in steps]
    [(0, 1, 0.5, False), (1, 2, 1.0, True)]
    """

    state: int
    action: int
    reward: float
    next_state: int
    next_action: int
    ends: bool


@dataclass(frozen=True, eq=False)
class Episode(ByValue):
    """Arrays of an episode of T steps: states and actions (T + 1,), rewards (T,).

    `ended` says whether states[T] is terminal; if so, its value is zero and actions[T] is meaningless.

    Examples
    --------
    >>> episode = Episode([0, 1, 2], [1, 1, 0], [0.0, 1.0], ended=True)
    >>> len(episode), list(episode)[1]
    (2, Transition(state=1, action=1, reward=1.0, next_state=2, next_action=0, ends=True))
    """

    states: NDArray[np.intp]
    actions: NDArray[np.intp]
    rewards: Array
    ended: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "ended", check.flag("ended", self.ended))
        rewards = check.array("rewards", self.rewards, (None,))
        object.__setattr__(self, "rewards", check.frozen(rewards))
        for name in ("states", "actions"):
            given = getattr(self, name)
            values = check.array(name, given, (len(rewards) + 1,), largest=LARGEST_INDEX)
            if (
                np.asarray(given).dtype == np.bool_
                or (values < 0).any()
                or (values != np.floor(values)).any()
            ):
                raise ValueError(
                    f"{name} is {check.brief(given)}; it should hold whole numbers from 0"
                )
            indices = values.astype(np.intp)
            indices.setflags(write=False)
            object.__setattr__(self, name, indices)

    def __len__(self) -> int:
        return len(self.rewards)

    def __iter__(self) -> Iterator[Transition]:
        last = len(self) - 1
        for t, reward in enumerate(self.rewards):
            yield Transition(
                int(self.states[t]),
                int(self.actions[t]),
                float(reward),
                int(self.states[t + 1]),
                int(self.actions[t + 1]),
                self.ended and t == last,
            )


def _start_law(mdp: FiniteMDP, start: ArrayLike) -> Array:
    """Where episodes start, (S,): never in a terminal state, which nothing leads out of."""
    law = check.distributions("start", start, (mdp.n_states,))
    if law[mdp.is_terminal].any():
        raise ValueError(
            f"start is {check.brief(start)}; it should give no weight to a terminal state"
        )
    return law


def sample_episode(
    mdp: FiniteMDP,
    policy: ArrayLike,
    start: ArrayLike,
    rng: np.random.Generator,
    *,
    max_steps: int = 100_000,
) -> Episode:
    """Follow a policy from a start state drawn from `start` until a terminal state, or for `max_steps` steps.

    The reward of a step is r(s, a): where an MDP was given r(s, a, s'), its average over s'.

    Examples
    --------
    >>> mdp = FiniteMDP([[[0.0, 1.0]], [[0.0, 1.0]]], [[2.0], [0.0]], 1.0, terminal=[1])
    >>> episode = sample_episode(mdp, [[1.0], [1.0]], [1.0, 0.0], np.random.default_rng(0))
    >>> episode.states.tolist(), episode.rewards.tolist(), episode.ended
    ([0, 1], [2.0], True)
    """
    check.instance("mdp", mdp, FiniteMDP)
    nu = np.cumsum(mdp.policy(policy), axis=1)
    begin = _start_law(mdp, start)
    check.generator("rng", rng)
    limit = check.integer("max_steps", max_steps, low=1)
    moves = np.cumsum(mdp.transitions, axis=2)

    def draw(cumulative: Array) -> int:
        # Scaled by the total, so that rounding in a sum never yields an index of probability zero.
        return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))

    states = [draw(np.cumsum(begin))]
    actions = [draw(nu[states[0]])]
    rewards: list[float] = []
    while len(rewards) < limit and not mdp.is_terminal[states[-1]]:
        rewards.append(mdp.rewards[states[-1], actions[-1]])
        states.append(draw(moves[states[-1], actions[-1]]))
        actions.append(draw(nu[states[-1]]))
    ended = bool(mdp.is_terminal[states[-1]])
    return Episode(np.array(states), np.array(actions), np.array(rewards), ended)


@dataclass(frozen=True, eq=False)
class TabularTask(ByValue):
    """An episodic task small enough for a table: an MDP and the law of its start states.

    Examples
    --------
    >>> from gqlib.domains.random_walk import random_walk
    >>> walk = random_walk(length=3)
    >>> walk.episode([[0.0, 1.0]] * 5, np.random.default_rng(0)).states.tolist()  # always right
    [2, 3, 4]
    >>> walk.uniform_policy()[0].tolist()
    [0.5, 0.5]
    """

    mdp: FiniteMDP
    start: Array

    def __post_init__(self) -> None:
        check.instance("mdp", self.mdp, FiniteMDP)
        object.__setattr__(self, "start", check.frozen(_start_law(self.mdp, self.start)))

    def episode(
        self, policy: ArrayLike, rng: np.random.Generator, *, max_steps: int = 100_000
    ) -> Episode:
        """An episode under `policy`; every random number comes from `rng`."""
        return sample_episode(self.mdp, policy, self.start, rng, max_steps=max_steps)

    def uniform_policy(self) -> Array:
        """Every action with the same probability, (S, A)."""
        return np.full((self.mdp.n_states, self.mdp.n_actions), 1.0 / self.mdp.n_actions)
