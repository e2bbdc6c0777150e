"""Where every random number of an experiment comes from.

An experiment has a *seed*, each of its runs an index, and each use of random numbers within a run a *purpose*. The
three numbers name one :class:`numpy.random.SeedSequence`, ``SeedSequence(entropy=seed, spawn_key=(run, purpose))``, and
nothing else enters: not the setting, not the number of workers, not the order of work. Hence run 7 is the same run
however the work was split; runs and purposes never share numbers; and two settings of one experiment meet the same
starts, the same exploration and the same trajectories, so that differences between them are paired. Compiled kernels
take the sequence as four words (`words`), everything else as a :class:`numpy.random.Generator` (`generator`).

Gymnasium runs number their two purposes in the order in which they were first drawn, exploration before environment;
they keep these numbers so that earlier results stay as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gqlib import _validate as check

__all__ = [
    "BEHAVIOUR",
    "GYM_ENVIRONMENT",
    "GYM_EXPLORATION",
    "HASH",
    "SIGMA",
    "START",
    "TARGET",
    "THETA",
    "TIES",
    "TRAJECTORY",
    "generator",
    "sequence",
    "words",
]

# What a stream is for. New purposes get new numbers; the old ones never change.
START = 0  # where an episode starts
BEHAVIOUR = 1  # the behaviour policy's choices
TARGET = 2  # draws of the target policy, where an algorithm needs them
SIGMA = 3  # a random sigma
TRAJECTORY = 4  # transitions of a prediction problem
HASH = 5  # the random numbers of a tile coder that draws its hash for each run
TIES = 6  # which of several greedy actions is taken
THETA = 7  # the first weights
GYM_EXPLORATION, GYM_ENVIRONMENT = 0, 1


def sequence(seed: int, run: int, purpose: int) -> np.random.SeedSequence:
    """Return the sequence for one purpose of one run.

    Parameters
    ----------
    seed : int
        Names the experiment; at least 0.
    run : int
        Index of the run; at least 0.
    purpose : int
        What the numbers are for: `START`, `BEHAVIOUR`, and so on.

    Examples
    --------
    >>> sequence(7, 3, START).spawn_key
    (3, 0)
    """
    entropy = check.integer("seed", seed, low=0)
    key = (check.integer("run", run, low=0), check.integer("purpose", purpose, low=0))
    return np.random.SeedSequence(entropy=entropy, spawn_key=key)


def words(seed: int, run: int, purpose: int) -> NDArray[np.uint64]:
    """Return the four words that seed a compiled kernel's generator (`gqlib.fast.rng`), which advances them in place.

    Examples
    --------
    >>> words(7, 0, START).shape, bool((words(7, 0, START) == words(7, 0, BEHAVIOUR)).any())
    ((4,), False)
    """
    return np.asarray(sequence(seed, run, purpose).generate_state(4, np.uint64), dtype=np.uint64)


def generator(seed: int, run: int, purpose: int) -> np.random.Generator:
    """Return a numpy Generator for one purpose of one run.

    Examples
    --------
    >>> first, again = generator(7, 0, TRAJECTORY), generator(7, 0, TRAJECTORY)
    >>> first.random() == again.random()
    True
    """
    return np.random.default_rng(sequence(seed, run, purpose))
