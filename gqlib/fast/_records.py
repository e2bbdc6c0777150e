"""What the kernels of the car take, in named tuples: every field keeps its own type, which the compiler knows.

A kernel takes its arrays out of the tuples once, before it loops: numba counts a reference each time, which inside
the loop would cost half as much again as the learning (`gq bench`).

A switch that the compiler should know is a tuple of which only the length matters, `ON` or `OFF`. The type of a tuple
includes its length, so one kernel is compiled with an option and one without it, and neither has to test for it at run
time: it is on where ``len(it) > 0``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gqlib._validate import Array

Words = NDArray[np.uint64]
Switch = tuple[int, ...]
ON: Switch = (0,)
OFF: Switch = ()


class World(NamedTuple):
    """The car's state box as the kernels read it: a row of places for each fine cell (`gqlib.control.tile_tables`).

    Attributes
    ----------
    table : ndarray of uint16
        The rows, one after the other: the places of the three actions (for the learner, where their numbers begin in
        `Memory.weights`), then the inner products of their features.
    width : int
        Entries in a row.
    edges_x, edges_v : ndarray of float64
        Smallest double of each fine interval, and infinity at the end.
    grid : ndarray of float64, (4,)
        Scale and offset of the position, then of the velocity, by which the cell is guessed.
    shape : tuple of int
        One entry for each tiling. Only its length matters, which the compiler knows (as for `Switch`), so it unrolls
        loops over tilings.
    """

    table: NDArray[np.uint16]
    width: int
    edges_x: Array
    edges_v: Array
    grid: Array
    shape: tuple[int, ...]


class Streams(NamedTuple):
    """The random numbers of a run: states of generators (`gqlib.fast._rng`), advanced in place.

    Attributes
    ----------
    starts, behaviour : ndarray of uint64, (4,)
        For where episodes start, and for the behaviour policy's choices.
    """

    starts: Words
    behaviour: Words


class Rates(NamedTuple):
    """The numbers of Algorithm 1 that stay fixed, all float: beta is eta alpha."""

    lam: float
    gamma: float
    alpha: float
    eta: float
    epsilon: float


class Memory(NamedTuple):
    """What a run writes to.

    Attributes
    ----------
    weights : ndarray of float64
        T, E, W and a mark for each place, one after the other; at the end theta, 0, omega and 0.
    live : ndarray of uint32
        Room for four times the place of every row that has a trace, at most all of them, and for one more.
    steps : ndarray of int32
        Receives the steps of each episode, negative where the step limit cut it off; one entry per episode.
    """

    weights: Array
    live: NDArray[np.uint32]
    steps: NDArray[np.int32]


class Sigma(NamedTuple):
    """How sigma behaves: a mean that decays, and normal noise around it.

    Attributes
    ----------
    mean, noise : float
        Mean in the first episode, and standard deviation.
    drawn : int
        When the noise is drawn: one of the numbers in `DRAWN`.
    clipped : bool
        Whether the sum is clipped to [0, 1].
    decay : float
        What the mean is multiplied by after each episode.
    stream : ndarray of uint64, (4,)
        Where the noise comes from (`gqlib.fast._rng`); advanced in place.
    """

    mean: float
    noise: float
    drawn: int
    clipped: bool
    decay: float
    stream: Words


class Target(NamedTuple):
    """The target policy: greedy, or epsilon-greedy.

    Attributes
    ----------
    soft : Switch
        On if it is epsilon-greedy.
    share : float
        Probability of each action that is not greedy; not used if `soft` is off.
    weighted : Switch
        On if sampled features are weighted by the importance ratio of their action (`gqlib.learners.corrected`).
    """

    soft: Switch
    share: float
    weighted: Switch


class Opening(NamedTuple):
    """What the paper says nothing about: where episodes start, and which of several greedy actions is taken.

    Attributes
    ----------
    start : int
        One of the numbers in `gqlib.fast._car.STARTS`.
    random_ties : Switch
        On if a tie is broken at random; otherwise the first action wins.
    ties : ndarray of uint64, (4,)
        The random numbers for that; advanced in place.
    """

    start: int
    random_ties: Switch
    ties: Words


class Limits(NamedTuple):
    """Steps after which an episode is cut off, and the value of c below which the sums are flushed."""

    max_steps: int
    flush_below: float


class Variant(NamedTuple):
    """Which update of `gqlib.learners.corrected` is made.

    Attributes
    ----------
    weight_u, weight_c : bool
        Whether the sampled part of u, and c, are weighted by the ratio of the action.
    on_next, on_ratio, on_mu, on_pi : float
        w = (on_next + on_ratio rho') phi' + on_mu E_mu phi + on_pi E_pi phi.
    """

    weight_u: bool
    weight_c: bool
    on_next: float
    on_ratio: float
    on_mu: float
    on_pi: float
