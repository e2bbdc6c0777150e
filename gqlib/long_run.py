r"""How far a linear learner with a small constant step size keeps straying from its fixed point: exact to first order.

At the fixed point the increments g_k = δ_k e_k have mean zero, but they are correlated in time. What counts is their
long-run covariance

    Γ = Σ_{l ∈ ℤ} E[g_k g_{k+l}ᵀ]
      = Σ_ij P_ij { δ_ij² E_i + δ_ij(γλ c_j g_j E_i + X_i h_jᵀ) + its transpose },

where i → j is a transition, δ_ij its TD error, δ̄_i = Σ_j P_ij δ_ij, X_i and E_i first and second moments of a trace
with coefficients c (`gqlib.variance`; the paper's has c = 1), g = (I − γλP diag(c))⁻¹δ̄ what a unit of trace collects
from a pair onwards, and h the solution of Poisson's equation h − Ph = f for f_j = φ_j g_j. Then the stationary
covariance of θ is αΣ + o(α) with

    semi-gradient:   AΣ + ΣAᵀ + Γ = 0,
    GQ(σ, λ):        the θ-block of JΣ + ΣJᵀ + [I; ηI] Γ [I, ηI] = 0,

since at the fixed point ω = 0 and the noise of the correction vanishes to first order (for the limit theorem, Kushner
and Yin 2003, Chapter 10). In the tabular case δ̄ = 0, hence g = h = 0, and Γ is the plain covariance.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_continuous_lyapunov

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.prediction import PredictionProblem
from gqlib.stability import is_hurwitz
from gqlib.variance import trace_first_moments, trace_second_moments

__all__ = ["joint_noise", "long_run_covariance", "stationary_error"]


def long_run_covariance(
    problem: PredictionProblem,
    bootstrap: ArrayLike,
    theta: ArrayLike,
    lam: float,
    c: ArrayLike | None = None,
) -> Array:
    """Γ of δ_k e_k, (d, d), on a continuing chain, with the paper's trace or with trace coefficients c.

    Parameters
    ----------
    problem : PredictionProblem
        On pairs; walks follow its `p_mu`, so `p_trace` should be that chain and `xi` its stationary law.
    bootstrap : array_like, (n, d)
        What δ bootstraps from, indexed by the next pair: `u` of `gqlib.learners.corrected.variant_tables`.
    theta : array_like, (d,)
        The fixed point of that method.
    lam : float
    c : array_like, (n,) or (S, A), optional
        Trace coefficients, indexed by the current pair, as in `gqlib.variance.trace_first_moments`; 1 by default.

    Raises
    ------
    ValueError
        If E[δe] is not zero at `theta`, the chain is not closed and stationary, or Γ is infinite.

    Examples
    --------
    Rewards 1 and −1 in turn, one feature: the noise of a step is 1, and in the long run it cancels.

    >>> p = PredictionProblem([[1.0], [1.0]], [[0, 1], [1, 0]], [[0, 1], [1, 0]], [1, -1], [0.5, 0.5], 0.0)
    >>> abs(long_run_covariance(p, [[1.0], [1.0]], [0.0], 0.0).item()) < 1e-12
    True
    """
    check.instance("problem", problem, PredictionProblem)
    u = check.array("bootstrap", bootstrap, (problem.n, problem.d))
    theta = check.array("theta", theta, (problem.d,))
    lam = check.scalar("lam", lam, low=0.0, high=1.0)
    chain, xi, phi, gamma = problem.p_mu, problem.xi, problem.features, problem.gamma
    if (
        np.abs(chain.sum(axis=1) - 1.0).max() > check.PROBABILITY_TOLERANCE
        or (problem.p_trace != chain).any()
    ):
        raise ValueError("problem has episodes that end; the chain should be a continuing one")
    if np.abs(xi @ chain - xi).max() > check.PROBABILITY_TOLERANCE * xi.sum():
        raise ValueError(
            "problem has a xi that p_mu changes; it should be the stationary law of p_mu"
        )
    first, second = trace_first_moments(problem, lam, c), trace_second_moments(problem, lam, c)
    coefficients = np.ones(problem.n) if c is None else check.reals("c", c).ravel()
    delta = (problem.rewards - phi @ theta)[:, None] + gamma * (u @ theta)[None, :]
    mean = (chain * delta).sum(axis=1)
    drift = float(np.abs(first.T @ mean).max())
    size = float((np.abs(first).T @ (chain * np.abs(delta)).sum(axis=1)).max())
    if drift > np.sqrt(np.finfo(float).eps) * size:
        raise ValueError(
            f"theta leaves a mean step of size {drift:.3g}; it should be the fixed point"
        )
    ahead = np.linalg.solve(np.eye(problem.n) - gamma * lam * chain * coefficients, mean)
    later = np.linalg.solve(np.eye(problem.n) - chain + xi[None, :], ahead[:, None] * phi)
    now = np.einsum("ij,iab->ab", chain * delta**2, second)
    weighted = chain * delta
    then = (
        gamma * lam * np.einsum("i,iab->ab", weighted @ (coefficients * ahead), second)
        + first.T @ weighted @ later
    )
    return np.asarray(now + then + then.T)


def stationary_error(problem: PredictionProblem, drift: ArrayLike, noise: ArrayLike) -> float:
    """E‖Φ(θ − θ*)‖²_Ξ / α to first order: tr(MΣ) with drift·Σ + Σ·driftᵀ + noise = 0.

    Parameters
    ----------
    problem : PredictionProblem
        For M, whose size d is that of θ.
    drift : array_like, (m, m)
        The matrix of the mean iteration: A (m = d), or J of (θ, ω), whose first d coordinates are θ.
    noise : array_like, (m, m)
        Γ, or its joint form (see `joint_noise`).

    Raises
    ------
    ValueError
        If the mean iteration is not stable.

    Examples
    --------
    >>> p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.5)
    >>> stationary_error(p, [[-0.5]], [[2.0]])
    2.0
    """
    check.instance("problem", problem, PredictionProblem)
    matrix = check.array("drift", drift, (None, None))
    matrix = check.array("drift", matrix, (len(matrix), len(matrix)))
    if not is_hurwitz(matrix):
        raise ValueError("drift is not Hurwitz; the mean iteration should be stable")
    spread = check.array("noise", noise, matrix.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            covariance = solve_continuous_lyapunov(matrix, -spread)
        except RuntimeWarning:  # scipy would carry on with perturbed coefficients
            raise ValueError(
                "drift has eigenvalues that are zero to rounding; they should be negative"
            ) from None
    return float(np.trace(problem.M @ covariance[: problem.d, : problem.d]))


def joint_noise(noise: ArrayLike, eta: float) -> Array:
    """[I; ηI] Γ [I, ηI]: the noise of (θ, ω) at the fixed point, where both move along δe.

    Examples
    --------
    >>> joint_noise([[2.0]], 0.5).tolist()
    [[2.0, 1.0], [1.0, 0.5]]
    """
    noise = check.array("noise", noise, (None, None))
    eta = check.scalar("eta", eta, low=0.0)
    return np.kron(np.array([[1.0, eta], [eta, eta**2]]), noise)
