r"""Many runs at once, all advanced together in NumPy.

*Semi-gradient Q(σ, λ)*, for a set of σ on a set of trajectories: the trace e_k = γλ e_{k−1} + φ_k does not depend on σ
or θ, so every σ shares it,

    θ[σ, run] ← θ[σ, run] + α δ[σ, run] e[run]                                  (the backward view of Eq. (10)).

*GQ(σ, λ)* in any variant of `gqlib.learners.corrected`, on walks of a continuing chain.

A run whose weights exceed a bound is stopped where it is and counted, never dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.base import Domain, Trajectory
from gqlib.learners.corrected import VariantTables
from gqlib.prediction import PredictionProblem

__all__ = ["Ensemble", "gq_ensemble", "pair_walks", "semi_gradient_ensemble", "trajectories"]


@dataclass(frozen=True)
class Ensemble:
    """Weights (kept steps, sigmas, runs, d) at `steps`, and which runs exceeded the bound, (sigmas, runs).

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> paths, rates = trajectories(two_state(0.9), 2, 10, np.random.default_rng(0)), {"lam": 0.5, "gamma": 0.9}
    >>> still = semi_gradient_ensemble(paths, [2.0, 0.0], [0.5], alpha=0.0, every=5, **rates)
    >>> still.steps.tolist(), still.theta[-1].tolist(), still.diverged.tolist()
    ([0, 5, 10], [[[2.0, 0.0], [2.0, 0.0]]], [[False, False]])
    """

    steps: NDArray[np.intp]
    theta: Array
    diverged: NDArray[np.bool_]


def trajectories(
    domain: Domain, runs: int, steps: int, rng: np.random.Generator
) -> list[Trajectory]:
    """Independent trajectories, one after the other from the same generator.

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> [path.phi.shape for path in trajectories(two_state(0.9), 2, 10, np.random.default_rng(0))]
    [(10, 2), (10, 2)]
    """
    check.instance("domain", domain, Domain)
    runs, steps = check.integer("runs", runs, low=1), check.integer("steps", steps, low=1)
    check.room("runs", runs, runs * steps)
    return [domain.trajectory(steps, rng) for _ in range(runs)]


def semi_gradient_ensemble(
    paths: Sequence[Trajectory],
    theta0: ArrayLike,
    sigmas: ArrayLike,
    *,
    lam: float,
    gamma: float,
    alpha: float,
    every: int = 1,
    bound: float = 1e8,
) -> Ensemble:
    """Semi-gradient Q(σ, λ) with a constant step size on every path for every σ.

    Parameters
    ----------
    paths : sequence of Trajectory
        One for each run, all of the same length.
    theta0 : array_like, (d,)
    sigmas : array_like, (m,)
    lam, gamma, alpha : float
    every : int
        Keep the weights before the first step and after every `every` steps.
    bound : float
        A run whose largest weight exceeds it has diverged and stays where it is.

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> domain = two_state(0.9)
    >>> paths = trajectories(domain, 3, 100, np.random.default_rng(1))
    >>> runs = semi_gradient_ensemble(paths, domain.theta0, [0.0, 1.0], lam=0.5, gamma=0.9, alpha=0.01, every=50)
    >>> runs.theta.shape, int(runs.diverged.sum())
    ((3, 2, 3, 2), 0)
    """
    if not isinstance(paths, Sequence) or not all(isinstance(path, Trajectory) for path in paths):
        raise ValueError(f"paths is {check.brief(paths)}; it should be a sequence of Trajectory")
    lengths = {len(path) for path in paths}
    if len(lengths) != 1:
        raise ValueError(f"paths have lengths {sorted(lengths)}; they should all have one length")
    (total,) = lengths
    theta0 = check.array("theta0", theta0, (paths[0].phi.shape[1],))
    sigma = check.array("sigmas", sigmas, (None,))[:, None]
    lam, gamma = (
        check.scalar("lam", lam, low=0.0, high=1.0),
        check.scalar("gamma", gamma, low=0.0, high=1.0),
    )
    alpha = check.scalar("alpha", alpha, low=0.0)
    bound = check.scalar("bound", bound, low=0.0, open_low=True, largest=np.inf)
    every = min(
        check.integer("every", every, low=1), total + 1
    )  # beyond the last step it is kept no more often
    # Time first, so that a step reads contiguous rows.
    phi, phi_next, phi_next_expected = (
        np.stack([getattr(path, name) for path in paths], axis=1)
        for name in ("phi", "phi_next", "phi_next_expected")
    )
    reward = np.stack([path.reward for path in paths], axis=1)
    goes_on = ~np.stack([path.ends for path in paths], axis=1)[:, :, None]
    theta = np.tile(theta0, (len(sigma), len(paths), 1))
    trace = np.zeros(phi.shape[1:])
    active = np.ones((len(sigma), len(paths)), dtype=bool)
    kept = [theta.copy()]
    for k in range(total):
        trace = gamma * lam * trace + phi[k]
        at_expected = np.einsum("srd,rd->sr", theta, phi_next_expected[k])
        at_sampled = np.einsum("srd,rd->sr", theta, phi_next[k])
        mixed = at_expected + sigma * (at_sampled - at_expected)
        delta = reward[k] + gamma * mixed - np.einsum("srd,rd->sr", theta, phi[k])
        theta += (alpha * active * delta)[:, :, None] * trace
        active &= np.abs(theta).max(axis=2) <= bound
        trace = trace * goes_on[k]
        if (k + 1) % every == 0:
            kept.append(theta.copy())
    return Ensemble(np.arange(len(kept)) * every, np.array(kept), ~active)


def pair_walks(
    problem: PredictionProblem, runs: int, steps: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Stationary walks of a continuing chain P^μ, all at once: (runs, steps + 1) indices.

    Examples
    --------
    >>> p = PredictionProblem([[1.0], [2.0]], [[0, 1], [1, 0]], [[0, 1], [1, 0]], [1, 0], [0.5, 0.5], 0.5)
    >>> np.abs(np.diff(pair_walks(p, 2, 3, np.random.default_rng(0)), axis=1)).tolist()
    [[1, 1, 1], [1, 1, 1]]
    """
    check.instance("problem", problem, PredictionProblem)
    runs, steps = check.integer("runs", runs, low=1), check.integer("steps", steps, low=1)
    check.room("steps", steps, runs * (steps + 1))
    draws = check.generator("rng", rng).random((steps + 1, runs))
    if np.abs(problem.p_mu.sum(axis=1) - 1.0).max() > check.PROBABILITY_TOLERANCE:
        raise ValueError(
            "problem has rows of p_mu that sum to less than 1; the chain should be a continuing one"
        )
    start, rows = np.cumsum(problem.xi), np.cumsum(problem.p_mu, axis=1)
    paths = np.empty((runs, steps + 1), dtype=np.intp)
    paths[:, 0] = np.minimum(
        np.searchsorted(start, draws[0] * start[-1], side="right"), problem.n - 1
    )
    for k in range(steps):
        inside = (
            draws[k + 1, :, None] >= rows[paths[:, k], :-1]
        )  # the last sum is one, up to rounding
        paths[:, k + 1] = inside.sum(axis=1)
    return paths


def gq_ensemble(
    problem: PredictionProblem,
    tables: VariantTables,
    pairs: NDArray[np.intp],
    theta0: ArrayLike,
    *,
    lam: float,
    alpha: float,
    beta: float,
    every: int = 1,
    bound: float = 1e8,
) -> tuple[Array, NDArray[np.bool_]]:
    """Any variant of GQ(σ, λ) on many walks at once, in NumPy.

    Parameters
    ----------
    problem : PredictionProblem
        For φ, rewards and γ.
    tables : VariantTables
        u, w and c of the variant, from `gqlib.learners.corrected.variant_tables`.
    pairs : ndarray of int, (runs, steps + 1)
        The pairs that each walk visits, from `pair_walks`.
    every : int
        Keep the weights before the first step and after every `every` steps.
    bound : float
        A run with a larger weight has diverged and stays where it is.

    Returns
    -------
    theta : (kept, runs, d)
    diverged : (runs,) of bool

    Examples
    --------
    >>> from gqlib.learners.corrected import variant_tables
    >>> from gqlib.domains import random_mdp
    >>> mdp, half = random_mdp(np.random.default_rng(0), 2, 2), np.full((2, 2), 0.5)
    >>> problem = PredictionProblem.on_pairs(mdp, half, half, np.eye(4))
    >>> tables = variant_tables(mdp, half, half, np.eye(4), 0.5, "corrected")
    >>> gq_ensemble(problem, tables, np.zeros((3, 9), dtype=int), np.zeros(4), lam=0.5, alpha=0.1, beta=0.1)[0].shape
    (9, 3, 4)
    """
    check.instance("problem", problem, PredictionProblem)
    lam, alpha = check.scalar("lam", lam, low=0.0, high=1.0), check.scalar("alpha", alpha, low=0.0)
    beta, every = check.scalar("beta", beta, low=0.0), check.integer("every", every, low=1)
    check.scalar("bound", bound, low=0.0, open_low=True, largest=np.inf)
    check.instance("tables", tables, VariantTables)
    if not tables.u.shape == tables.w.shape == (problem.n, problem.d) or tables.c.shape != (
        problem.n,
    ):
        raise ValueError(
            f"tables has u of shape {tables.u.shape}; it should be {(problem.n, problem.d)} for problem"
        )
    visited = check.array("pairs", pairs, (None, None))
    if (visited < 0).any() or (visited >= problem.n).any() or (visited != np.floor(visited)).any():
        raise ValueError(
            f"pairs is {check.brief(pairs)}; it should hold whole numbers in [0, {problem.n})"
        )
    pairs = visited.astype(np.intp)
    runs, gamma = len(pairs), problem.gamma
    theta = np.tile(check.array("theta0", theta0, (problem.d,)), (runs, 1))
    omega, trace = np.zeros_like(theta), np.zeros_like(theta)
    alive, kept = np.ones((runs, 1), dtype=bool), [theta.copy()]
    for k in range(pairs.shape[1] - 1):
        here, after = pairs[:, k], pairs[:, k + 1]
        phi, u, w = problem.features[here], tables.u[after], tables.w[after]
        trace = gamma * lam * tables.c[here, None] * trace + phi
        delta = problem.rewards[here] + (theta * (gamma * u - phi)).sum(axis=1)
        delta_trace = delta[:, None] * trace
        trace_omega, phi_omega = ((x * omega).sum(axis=1, keepdims=True) for x in (trace, phi))
        theta = theta + alpha * alive * (delta_trace - gamma * trace_omega * (u - lam * w))
        omega = omega + beta * alive * (delta_trace - phi * phi_omega)
        alive &= (np.abs(theta).max(axis=1) <= bound)[:, None]
        if (k + 1) % every == 0:
            kept.append(theta.copy())
    return np.array(kept), ~alive[:, 0]
