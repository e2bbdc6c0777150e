"""A windy gridworld whose moves sometimes go astray.

The grid of Sutton and Barto (2018, Example 6.5): 7 rows, 10 columns, a wind that blows upwards with a strength that
depends on the column being left, reward −1 per step, no discounting, from (3, 0) to the goal (3, 7).
As in De Asis et al. (2018), a step goes astray with probability 0.1: it then leads to one of the eight neighbours,
whatever the action. The wind blows in either case, and the border stops every move (our reading where the sources
leave it open).
States are numbered row·columns + column, rows from the top; actions are up, right, down, left.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from gqlib import _validate as check
from gqlib.domains.episodes import TabularTask
from gqlib.mdp import FiniteMDP

__all__ = ["windy_gridworld"]

WIND = (0, 0, 0, 1, 1, 1, 2, 2, 1, 0)
ROWS, COLUMNS = 7, len(WIND)
START, GOAL = (3, 0), (3, 7)
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
NEIGHBOURS = tuple((i, j) for i, j in product((-1, 0, 1), (-1, 0, 1)) if (i, j) != (0, 0))


def _land(row: int, column: int, move: tuple[int, int]) -> int:
    """The state that a move from (row, column) leads to, wind included."""
    new_row = min(max(row + move[0] - WIND[column], 0), ROWS - 1)
    return new_row * COLUMNS + min(max(column + move[1], 0), COLUMNS - 1)


def windy_gridworld(astray: float = 0.1, gamma: float = 1.0) -> TabularTask:
    """The windy gridworld; a step goes astray with probability `astray`.

    Examples
    --------
    >>> task = windy_gridworld(astray=0.0)
    >>> task.mdp
    FiniteMDP(70 states, 4 actions, gamma=1, terminal=(37,))
    >>> int(task.mdp.transitions[36, 1].argmax())  # right of (3, 6): the wind lifts by two rows
    17
    """
    astray = check.scalar("astray", astray, low=0.0, high=1.0)
    transitions = np.zeros((ROWS * COLUMNS, len(MOVES), ROWS * COLUMNS))
    for row, column in product(range(ROWS), range(COLUMNS)):
        state = row * COLUMNS + column
        for action, move in enumerate(MOVES):
            transitions[state, action, _land(row, column, move)] += 1.0 - astray
            for elsewhere in NEIGHBOURS:
                transitions[state, action, _land(row, column, elsewhere)] += astray / len(
                    NEIGHBOURS
                )
    goal, start = GOAL[0] * COLUMNS + GOAL[1], np.zeros(ROWS * COLUMNS)
    start[START[0] * COLUMNS + START[1]] = 1.0
    rewards = np.full(transitions.shape[:2], -1.0)
    return TabularTask(FiniteMDP(transitions, rewards, gamma, terminal=(goal,)), start)
