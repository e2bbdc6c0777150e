"""Random MDPs, policies, features and prediction problems, for checks over many cases and for searches.

Rows of probabilities are drawn from a symmetric Dirichlet law: concentration 1 is uniform on the simplex, small values
give nearly deterministic rows. Transitions keep a share of the uniform law, so that every chain is ergodic.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.base import Domain, Trajectory, sample_chain
from gqlib.mdp import FiniteMDP
from gqlib.prediction import PredictionProblem

__all__ = ["domain_on_pairs", "random_mdp", "random_policy", "random_problem"]

# The share of the uniform law in every row of transitions: ergodic whatever the policy, and too small to blur any row.
FLOOR = 1e-3


def _rows(rng: np.random.Generator, shape: tuple[int, ...], concentration: float) -> Array:
    """Probabilities along the last axis, whose total is never zero, however small the concentration."""
    concentration = check.scalar("concentration", concentration, low=0.0, open_low=True)
    rows = check.generator("rng", rng).dirichlet(np.full(shape[-1], concentration), size=shape[:-1])
    # For tiny concentrations the generator can underflow to 0/0: such a row becomes uniform.
    return np.asarray(np.where(np.isfinite(rows), rows, 1.0 / shape[-1]))


def random_policy(
    rng: np.random.Generator, n_states: int, n_actions: int, *, concentration: float = 1.0
) -> Array:
    """A random policy, (S, A).

    Examples
    --------
    >>> random_policy(np.random.default_rng(0), 3, 2).sum(axis=1).round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    size = (
        check.integer("n_states", n_states, low=1),
        check.integer("n_actions", n_actions, low=1),
    )
    check.room("n_states", n_states, size[0] * size[1])
    return _rows(rng, size, concentration)


def random_mdp(
    rng: np.random.Generator,
    n_states: int,
    n_actions: int,
    gamma: float = 0.9,
    *,
    concentration: float = 1.0,
) -> FiniteMDP:
    """A random continuing MDP, ergodic under every policy; rewards are standard normal.

    Examples
    --------
    >>> random_mdp(np.random.default_rng(0), 3, 2)
    FiniteMDP(3 states, 2 actions, gamma=0.9)
    """
    n_states = check.integer("n_states", n_states, low=1)
    n_actions = check.integer("n_actions", n_actions, low=1)
    check.room("n_states", n_states, n_states**2 * n_actions)
    rows = _rows(rng, (n_states, n_actions, n_states), concentration)
    transitions = (1.0 - FLOOR) * rows + FLOOR / n_states
    return FiniteMDP(transitions, rng.standard_normal((n_states, n_actions)), gamma)


def random_problem(
    rng: np.random.Generator,
    n_states: int = 5,
    n_actions: int = 3,
    n_features: int | None = None,
    gamma: float = 0.9,
    *,
    concentration: float = 1.0,
    on_policy: bool = False,
) -> PredictionProblem:
    """A random problem on pairs with standard normal features; tabular (Φ = I) if `n_features` is omitted.

    Examples
    --------
    >>> random_problem(np.random.default_rng(0), 4, 2, 3).A(0.5, 0.5).shape
    (3, 3)
    """
    check.flag("on_policy", on_policy)
    n_states, n_actions = (
        check.integer("n_states", n_states, low=1),
        check.integer("n_actions", n_actions, low=1),
    )
    mdp = random_mdp(rng, n_states, n_actions, gamma, concentration=concentration)
    mu = random_policy(rng, n_states, n_actions)
    pi = mu if on_policy else random_policy(rng, n_states, n_actions, concentration=concentration)
    pairs = n_states * n_actions
    if n_features is None:
        features = np.eye(pairs)
    else:
        n_features = check.integer("n_features", n_features, low=1)
        check.room("n_features", n_features, pairs * n_features)
        features = rng.standard_normal((pairs, n_features))
    return PredictionProblem.on_pairs(mdp, mu, pi, features)


def domain_on_pairs(
    mdp: FiniteMDP,
    mu: ArrayLike,
    pi: ArrayLike,
    features: ArrayLike,
    theta0: ArrayLike | None = None,
) -> Domain:
    """Any continuing finite MDP with features on pairs, as a domain: the exact problem and stationary trajectories.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> mdp, mu = random_mdp(rng, 3, 2), random_policy(rng, 3, 2)
    >>> domain_on_pairs(mdp, mu, mu, np.eye(6)).trajectory(5, rng).phi.shape
    (5, 6)
    """
    check.instance("mdp", mdp, FiniteMDP)
    if mdp.terminal:
        raise ValueError(
            f"mdp has terminal states {mdp.terminal}; a continuing MDP should have none"
        )
    problem = PredictionProblem.on_pairs(mdp, mu, pi, features)
    first = np.zeros(problem.d) if theta0 is None else check.array("theta0", theta0, (problem.d,))
    phi, rewards = problem.features, mdp.rewards.ravel()
    expected = np.einsum(
        "sa,sad->sd", mdp.policy(pi, "pi"), phi.reshape(mdp.n_states, mdp.n_actions, -1)
    )

    tables = (np.repeat(expected, mdp.n_actions, axis=0), rewards)
    return Domain(
        "finite MDP on pairs", problem, check.frozen(first), partial(_sample, problem, *tables)
    )


def _sample(
    problem: PredictionProblem,
    expected: Array,
    rewards: Array,
    steps: int,
    rng: np.random.Generator,
) -> Trajectory:
    path = sample_chain(problem.p_mu, problem.xi, steps, rng)
    pair, after, phi = path[:-1], path[1:], problem.features
    return Trajectory(
        phi[pair], rewards[pair], phi[after], expected[after], np.zeros(steps, dtype=bool)
    )
