r"""The two-state counterexample of Figure 1 (Touati et al. 2018), in three readings.

Two states, two actions: *right* leads to state 2, *left* to state 1, from either state. The behaviour takes each
action with probability ½, the target policy always goes right, and rewards are zero unless others are given.
Features are φ(1, right) = (1, 0), φ(2, right) = (2, 0), φ(1, left) = (0, 1), φ(2, left) = (0, 2).

The paper does not say whether the example is episodic, and Figure 2 depends on it:

``"continuing"``
    The chain as drawn; ξ is its stationary law, uniform over the four pairs.
``"bootstrap"``
    Episodes as in the public code of the example: the first state is uniform, an episode ends after (2, right) and
    the trace resets, yet the update still bootstraps from the state beyond the end.
``"terminal"``
    The same episodes, with value zero at the end.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.base import Domain, Trajectory, sample_chain
from gqlib.mdp import FiniteMDP
from gqlib.prediction import PredictionProblem

__all__ = ["two_state"]

Ending = Literal["continuing", "bootstrap", "terminal"]
ENDINGS = get_args(Ending)
RIGHT, LEFT = (
    0,
    1,
)  # pairs are numbered 2·state + action: (1, right), (1, left), (2, right), (2, left)
FEATURES = ((1.0, 0.0), (0.0, 1.0), (2.0, 0.0), (0.0, 2.0))
LAST_PAIR = 2  # (2, right), after which an episode ends
MU = ((0.5, 0.5), (0.5, 0.5))
PI = ((1.0, 0.0), (1.0, 0.0))


def two_state(
    gamma: float = 0.99, reading: Ending = "continuing", *, rewards: ArrayLike | None = None
) -> Domain:
    """The counterexample of Figure 1 as a domain.

    Parameters
    ----------
    gamma : float in [0, 1]
    reading : {"continuing", "bootstrap", "terminal"}
    rewards : array_like, (2, 2), optional
        r(s, a) with actions in the order right, left; zero by default, as in the paper.

    Returns
    -------
    Domain
        With θ_0 = (2, 0) as in Figure 2.

    Examples
    --------
    >>> two_state(0.9).problem.A(0.0, 0.0).round(4).tolist()
    [[0.1, 0.0], [0.675, -1.25]]
    """
    reading = check.choice("reading", reading, ENDINGS)
    gamma = check.scalar("gamma", gamma, low=0.0, high=1.0)
    reward = check.array(
        "rewards", np.zeros((2, 2)) if rewards is None else rewards, (2, 2)
    ).ravel()
    transitions = np.zeros((2, 2, 2))
    transitions[:, RIGHT, 1] = transitions[:, LEFT, 0] = 1.0
    # The discount plays no part in the chains, so γ = 1 needs no special case here.
    mdp = FiniteMDP(transitions, np.zeros((2, 2)), 0.0)
    phi = np.array(FEATURES)
    p_mu, p_pi, survive = mdp.pair_chain(MU), mdp.pair_chain(PI), mdp.pair_chain(MU)
    begin = np.full(
        4, 0.25
    )  # first state uniform, first action by μ; also the stationary law of the chain
    xi = begin
    if reading != "continuing":
        survive[LAST_PAIR] = 0.0
        visits = np.linalg.solve(np.eye(4) - survive.T, begin)
        xi = visits / visits.sum()
    if reading == "terminal":
        p_mu, p_pi = survive, p_pi * (np.arange(4) != LAST_PAIR)[:, None]
    problem = PredictionProblem(phi, p_mu, p_pi, reward, xi, gamma, p_trace=survive)
    sample = partial(_sample, problem, begin, reading)
    return Domain(f"two-state ({reading})", problem, check.frozen(np.array([2.0, 0.0])), sample)


def _sample(
    problem: PredictionProblem, begin: Array, reading: Ending, steps: int, rng: np.random.Generator
) -> Trajectory:
    phi = problem.features
    path = sample_chain(problem.p_trace, begin, steps, rng)
    behind = rng.integers(2, size=steps)  # the action that μ takes beyond an end
    pair, after = path[:-1], path[1:]
    ends = (pair == LAST_PAIR) & (reading != "continuing")
    sampled = phi[np.where(ends, 2 + behind, after)]
    if reading == "terminal":
        sampled = np.where(ends[:, None], 0.0, sampled)
    expected = (
        problem.p_pi @ phi
    )  # E_πφ(S', ·) is deterministic here: every pair leads to one state
    return Trajectory(phi[pair], problem.rewards[pair], sampled, expected[pair], ends)
