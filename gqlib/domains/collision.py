r"""Collision: eight states in front of a wall (Ghiassian and Sutton 2021), a small problem with hidden states.

An episode starts in one of the first four states, each with the same probability. *Forward* leads one state to the
right; from the eighth it hits the wall, which pays 1 and ends the episode. In the last four states the behaviour
*turns* with probability ½, which ends the episode and pays nothing; the target always goes forward. With γ = 0.9,

    v(s_i) = γ^{8−i},      visits ∝ 1, 2, 3, 4, 4, 2, 1, ½.

Features are drawn: six components of which three are one, for each state by itself, so that eight values have to share
six weights and each draw makes a problem of its own. The public repository of the study has no licence; this is made
from its description, and its visiting law and values, which are published, come out (`tests/exact/test_collision.py`).
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.finite import Chain, FiniteDomain, build
from gqlib.mdp import FiniteMDP

__all__ = ["collision", "collision_features"]

STATES, STARTS = 8, 4
FORWARD, TURN = 0, 1
GAMMA = 0.9
FEATURES, ONES = 6, 3


def collision_features(rng: np.random.Generator) -> Array:
    """Three ones among six components for each of the eight states, (8, 6).

    Examples
    --------
    >>> phi = collision_features(np.random.default_rng(0))
    >>> phi.shape, phi.sum(axis=1).tolist()
    ((8, 6), [3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0])
    """
    ones = np.tile(np.arange(FEATURES) < ONES, (STATES, 1))
    return check.generator("rng", rng).permuted(ones, axis=1).astype(np.float64)


def collision(features: ArrayLike | None = None) -> FiniteDomain:
    """Collision as exact matrices and as a sampler.

    Parameters
    ----------
    features : array_like, (8, d), optional
        φ of each state, from `collision_features` for instance; by default one feature per state.

    Returns
    -------
    Domain
        Its ninth state is the end, with features zero; `theta0` is zero.

    Examples
    --------
    >>> collision().truth[:8].round(4).tolist()
    [0.4783, 0.5314, 0.5905, 0.6561, 0.729, 0.81, 0.9, 1.0]
    """
    rows = np.eye(STATES) if features is None else check.array("features", features, (STATES, None))
    phi = np.vstack([rows, np.zeros(rows.shape[1])])
    moves = np.zeros((STATES + 1, 2, STATES + 1))
    inner = np.arange(STATES)
    moves[inner, FORWARD, inner + 1] = 1.0
    moves[:, TURN, STATES] = moves[STATES, :, STATES] = 1.0
    rewards = np.zeros((STATES + 1, 2))
    rewards[STATES - 1, FORWARD] = 1.0
    mu = np.full((STATES + 1, 2), 0.5)
    mu[:STARTS] = [1.0, 0.0]
    pi = np.tile([1.0, 0.0], (STATES + 1, 1))
    start = np.where(np.arange(STATES + 1) < STARTS, 1.0 / STARTS, 0.0)
    mdp = FiniteMDP(moves, rewards, GAMMA, terminal=(STATES,))
    chain = Chain(mdp.transitions, mu, start=start, ends_on=mdp.is_terminal)
    return build(
        "collision",
        chain,
        pi,
        phi,
        mdp.rewards,
        GAMMA,
        np.zeros(phi.shape[1]),
        "literal",
        partial(mdp.q, pi),
    )
