"""What the kernel takes, in named tuples: the compiler knows the type of every field."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gqlib._validate import Array

Words = NDArray[np.uint64]


class Sigma(NamedTuple):
    """How σ behaves: a mean that decays, and normal noise around it.

    Parameters
    ----------
    mean, noise : float
        Mean in the first episode, and standard deviation.
    drawn : int
        When the noise is drawn: one of the numbers in `gqlib.engine._kernel.DRAWN`.
    clipped : bool
        Whether the sum is clipped to [0, 1].
    decay : float
        What the mean is multiplied by after each episode.
    stream : ndarray of uint64, (4,)
        Where the noise comes from; advanced in place.
    """

    mean: float
    noise: float
    drawn: int
    clipped: bool
    decay: float
    stream: Words


class Streams(NamedTuple):
    """The random numbers of a run: states of generators, advanced in place.

    Parameters
    ----------
    starts, behaviour, moves, ties : ndarray of uint64, (4,)
        Where episodes start, what the behaviour policy chooses, chance in the environment, and which of several greedy
        actions is taken.
    """

    starts: Words
    behaviour: Words
    moves: Words
    ties: Words


class Codes(NamedTuple):
    """What a coder reads and writes.

    Parameters
    ----------
    active : ndarray of whole numbers
        A table of active indices, or a buffer for those of three states.
    grid : ndarray of float64
        The numbers by which a state is found in it.
    """

    active: NDArray[np.integer]
    grid: Array


class Memory(NamedTuple):
    """What a run writes to.

    Parameters
    ----------
    weights : ndarray of float64
        T, E, W and a mark, which is not zero if the row is listed as live, for each weight.
    live : ndarray of int64
        Room for every row that has a trace, and for one more.
    steps, returns : ndarray
        Receive, for each episode, the number of steps (negative where it was cut off) and the sum of rewards.
    """

    weights: Array
    live: NDArray[np.int64]
    steps: NDArray[np.int64]
    returns: Array


class Limits(NamedTuple):
    """Steps after which an episode is cut off, exploration, and the value of c below which the sums are flushed."""

    max_steps: int
    epsilon: float
    flush_below: float
