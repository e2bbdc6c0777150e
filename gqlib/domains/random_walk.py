r"""The random walk: n states in a row between two ends, steps left or right, no discounting.

States 1, …, n are the walk, 0 and n + 1 are terminal; action 0 steps left, action 1 right. The reward is −1 for
reaching the left end, +1 for the right end and 0 otherwise, and episodes start in the middle. Under the
equiprobable policy the value is a straight line between the ends, with c = (n + 1)/2 as its zero:

    v(s) = (s − c)/c        q(s, left) = (s − 1 − c)/c        q(s, right) = (s + 1 − c)/c.

With n = 19 this is the test bed of Sutton and Barto (2018, Example 7.1 and Figure 7.2), and, with action values, of
De Asis et al. (2018).
"""

from __future__ import annotations

import numpy as np

from gqlib import _validate as check
from gqlib.domains.episodes import TabularTask
from gqlib.mdp import FiniteMDP

__all__ = ["random_walk"]

LEFT, RIGHT = 0, 1


def random_walk(length: int = 19, gamma: float = 1.0) -> TabularTask:
    """The random walk on `length` states; `length` is odd, so that there is a middle one.

    Examples
    --------
    >>> walk = random_walk()
    >>> walk.mdp.v(walk.uniform_policy())[[1, 15, 19]].round(4).tolist()
    [-0.9, 0.5, 0.9]
    """
    length = check.integer("length", length, low=1)
    if length % 2 == 0:
        raise ValueError(
            f"length is {length}; it should be odd, so that episodes can start in the middle"
        )
    states = length + 2
    check.room("length", length, 2 * states**2)
    inner = np.arange(1, length + 1)
    moves = np.zeros((states, 2, states))
    moves[inner, LEFT, inner - 1] = 1.0
    moves[inner, RIGHT, inner + 1] = 1.0
    rewards = np.zeros((states, 2))
    rewards[1, LEFT], rewards[length, RIGHT] = -1.0, 1.0
    start = np.zeros(states)
    start[(length + 1) // 2] = 1.0
    return TabularTask(FiniteMDP(moves, rewards, gamma, terminal=(0, length + 1)), start)
