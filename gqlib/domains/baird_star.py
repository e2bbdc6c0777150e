r"""Baird's star (Appendix E of the paper; Baird 1995): the classic example of off-policy divergence.

With n states, the *dashed* action leads to one of the n − 1 corners with equal probability, the *solid* action to
the centre s_n. Behaviour: μ(solid) = 1/n; target: π(solid) = 1; every reward is 0, so v^π = 0 and θ = 0 is exact.

Features of a corner: φ(s_i) = 2ε_i + ε_{n+1}. Of the centre:

    printed     φ(s_n) = 2ε_n + ε_{n+1}      (the paper's formula, for every i)
    classical   φ(s_n) = ε_n + 2ε_{n+1}      (Baird 1995; Sutton and Barto 2018, Section 11.2)

θ_0 = (1, …, 1, 10, 1): 10 at the centre's own weight. Features have rank n < n + 1, so Assumption 3 fails.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, get_args

import numpy as np

from gqlib import _validate as check
from gqlib.domains.finite import Chain, FiniteDomain, SigmaReading, build
from gqlib.mdp import FiniteMDP

__all__ = ["baird_star"]

DASHED, SOLID = 0, 1
Features = Literal["printed", "classical"]
FEATURES = get_args(Features)
CENTRE_WEIGHT_0 = 10.0


def baird_star(
    *,
    features: Features = "printed",
    states: int = 7,
    reading: SigmaReading = "literal",
    gamma: float = 0.99,
) -> FiniteDomain:
    """Baird's star as exact matrices and as a sampler.

    Parameters
    ----------
    features : {"printed", "classical"}
        φ of the centre: 2ε_n + ε_{n+1} as the paper prints it, or ε_n + 2ε_{n+1} as in the literature.
    states : int
        7 in the paper; 8 (seven corners and a centre) in the public code of Dann, Neumann and Peters (2014).
    reading : {"literal", "expected", "stacked"}
        What φ(s, a) means; see `gqlib.domains.finite`. Action 0 is dashed, action 1 solid.
    gamma : float in [0, 1)
        0.99 in the paper.

    Returns
    -------
    Domain
        `truth` is zero; walks begin in the stationary law, which is uniform.

    Examples
    --------
    >>> star = baird_star(features="classical", reading="expected")
    >>> star.problem.rank_M, star.theta0.tolist()
    (7, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 10.0, 1.0])
    """
    features = check.choice("features", features, FEATURES)
    n = check.integer("states", states, low=2)
    check.room("states", states, 2 * n**2)
    gamma = check.scalar("gamma", gamma, low=0.0, high=1.0, open_high=True)
    transitions = np.zeros((n, 2, n))
    transitions[:, DASHED, : n - 1] = 1.0 / (n - 1)
    transitions[:, SOLID, n - 1] = 1.0
    mu, pi = np.empty((n, 2)), np.zeros((n, 2))
    mu[:, DASHED], mu[:, SOLID] = (n - 1) / n, 1.0 / n
    pi[:, SOLID] = 1.0
    phi = np.column_stack([2.0 * np.eye(n), np.ones(n)])
    if features == "classical":
        phi[n - 1, n - 1], phi[n - 1, n] = 1.0, 2.0
    theta0 = np.ones(n + 1)
    theta0[n - 1] = CENTRE_WEIGHT_0
    mdp = FiniteMDP(transitions, np.zeros((n, 2)), gamma)
    chain = Chain(mdp.transitions, mu, start=np.full(n, 1.0 / n), ends_on=np.zeros(n, dtype=bool))
    name = f"baird_star({features}, {n} states, {reading}, gamma={gamma:g})"
    return build(name, chain, pi, phi, mdp.rewards, gamma, theta0, reading, partial(mdp.q, pi))
