r"""The five-state walks on which the gradient TD methods were introduced (Sutton et al. 2009), off-policy.

The random walk of `gqlib.domains.random_walk` with five states: −1 at the left end, +1 at the right, no discount, the
start in the middle. The behaviour takes either direction with probability ½; the target goes right with probability
0.6, as in Ghiassian et al. (2020). Three sets of features, each row of length one:

    tabular     one feature per state
    inverted    one feature per state, on in all the others: rows (0, 1, 1, 1, 1)/2 and so on
    dependent   three features: (1,0,0), (1,1,0)/√2, (1,1,1)/√3, (0,1,1)/√2, (0,0,1)

With v the value of the target and q = 0.4/0.6, v(s) = 2(1 − q^s)/(1 − q⁶) − 1 for s = 1, …, 5 (gambler's ruin).
"""

from __future__ import annotations

from functools import partial
from typing import Literal, get_args

import numpy as np

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.finite import Chain, FiniteDomain, build
from gqlib.domains.random_walk import RIGHT, random_walk

__all__ = ["five_state_walk"]

STATES = 5
Features = Literal["tabular", "inverted", "dependent"]
FEATURES = get_args(Features)
TO_THE_RIGHT = 0.6


def _features(kind: str) -> Array:
    if kind == "tabular":
        return np.eye(STATES)
    rows = 1.0 - np.eye(STATES)
    if kind == "dependent":
        rows = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1]], dtype=np.float64)
    return np.asarray(rows / np.sqrt((rows**2).sum(axis=1, keepdims=True)))


def five_state_walk(features: Features = "tabular") -> FiniteDomain:
    """A five-state walk as exact matrices and as a sampler.

    Parameters
    ----------
    features : {"tabular", "inverted", "dependent"}

    Returns
    -------
    Domain
        States 0 and 6 are the ends, with features zero; `theta0` is zero.

    Examples
    --------
    >>> five_state_walk("dependent").truth[1:6].round(4).tolist()
    [-0.2692, 0.218, 0.5429, 0.7594, 0.9038]
    """
    kind = check.choice("features", features, FEATURES)
    walk = random_walk(STATES)
    phi = np.zeros((STATES + 2, _features(kind).shape[1]))
    phi[1:-1] = _features(kind)
    pi = walk.uniform_policy()
    pi[:, RIGHT], pi[:, 1 - RIGHT] = TO_THE_RIGHT, 1.0 - TO_THE_RIGHT
    mdp = walk.mdp
    moves = mdp.transitions.copy()
    moves[mdp.is_terminal, :, 0] = 1.0  # never taken, but a row of a chain should sum to one
    chain = Chain(moves, walk.uniform_policy(), start=walk.start, ends_on=mdp.is_terminal)
    name, first = f"five_state_walk({kind})", np.zeros(phi.shape[1])
    return build(name, chain, pi, phi, mdp.rewards, mdp.gamma, first, "literal", partial(mdp.q, pi))
