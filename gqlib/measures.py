r"""Measures of a prediction: MSPBE exact and from data, errors of values, and LSTD.

The paper (Section 5.1) measures the *empirical* MSPBE. As printed it is ½‖b̂ − Âθ‖²; with its own convention, in which
the fixed point solves Aθ + b = 0, it must be

    ½ ‖b̂_σ + Â_σ θ‖²  in M̂⁺,    Â = mean of e_k(γ mix_k − φ_k)ᵀ,  b̂ = mean of R e_k,  M̂ = mean of φ_k φ_kᵀ

(Eqs. (13)–(14) summed over a trajectory, in the backward view). Beside it stand the exact MSPBE of `LinearPrediction`,
and two errors of values: to v^π (or q^π), the question that was asked, and to the solution of
v = r + γ[(1−σ)P^π + σP^μ]v, the question that σ answers. A smaller MSPBE is a smaller error only for the latter,
and only up to what the features can represent.
LSTD, θ = −Â⁺b̂, uses the same data at once: the floor for learners that see each step once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.domains.base import Trajectory
from gqlib.prediction import LinearPrediction


def exact_mspbe(problem: LinearPrediction, theta: ArrayLike, sigma: float, lam: float) -> Array:
    """`problem.mspbe` for weights along the last axis."""
    # ‖g‖² in M⁺ is g·M⁺g; column by column through the problem's own solver.
    inverse = np.column_stack([problem.solve_M(column) for column in np.eye(problem.d)])
    return half_square(problem.A(sigma, lam), problem.b(sigma, lam), inverse, theta)


def half_square(a: Array, b: Array, inverse: Array, theta: ArrayLike) -> Array:
    """½ gᵀ M⁺ g for g = Aθ + b, for weights along the last axis."""
    residual = np.asarray(theta, dtype=float) @ a.T + b
    return np.asarray(0.5 * ((residual @ inverse) * residual).sum(axis=-1))


def value_error(problem: LinearPrediction, theta: ArrayLike, target: ArrayLike) -> Array:
    """√(‖Φθ − target‖² in Ξ), for weights along the last axis."""
    goal = check.array("target", target, (problem.n,))
    gap = np.asarray(theta, dtype=float) @ problem.features.T - goal
    weighed = gap * problem.xi if problem.xi.ndim == 1 else gap @ problem.xi
    return np.asarray(np.sqrt(np.maximum((weighed * gap).sum(axis=-1) / _total(problem), 0.0)))


def _total(problem: LinearPrediction) -> float:
    return float(problem.xi.sum()) if problem.xi.ndim == 1 else 1.0


def mixture_value(problem: LinearPrediction, sigma: float) -> Array:
    """The solution of v = r + γ[(1−σ)P^π + σP^μ]v on the index set, (n,): what the fixed point of σ approximates.

    On pairs it is q of the mixture policy (1−σ)π + σμ; on states with the sampled reward it is no policy's value
    unless r^μ = r^π.
    """
    sigma = check.scalar("sigma", sigma)
    chain = problem.p_pi + sigma * (problem.p_mu - problem.p_pi)
    reward = problem.rewards
    if problem.rewards_pi is not None:
        reward = problem.rewards_pi + sigma * (reward - problem.rewards_pi)
    return np.asarray(np.linalg.solve(np.eye(problem.n) - problem.gamma * chain, reward))


Moments = tuple[Array, Array, Array]


def empirical_moments(path: Trajectory, sigma: ArrayLike, lam: float, gamma: float) -> Moments:
    """Â_σ, b̂, M̂ of a trajectory: means of e_k(γ mix_k − φ_k)ᵀ, R e_k and φ_k φ_kᵀ, Eqs. (13)–(14)."""
    weights = np.broadcast_to(np.asarray(sigma, dtype=float), path.reward.shape)
    mixed = path.phi_next_expected + weights[:, None] * (path.phi_next - path.phi_next_expected)
    traces = discounted_traces(path.phi, path.ends, gamma * lam)
    count = len(path)
    a = traces.T @ (gamma * mixed - path.phi) / count
    return a, traces.T @ path.reward / count, path.phi.T @ path.phi / count


def discounted_traces(phi: Array, ends: NDArray[np.bool_], decay: float) -> Array:
    """e_k = decay·e_{k−1} + φ_k, (T, d), from zero at the start and after every end."""
    from scipy.signal import lfilter

    cuts = np.flatnonzero(ends[:-1]) + 1
    return np.concatenate([lfilter([1.0], [1.0, -decay], part, axis=0) for part in np.split(phi, cuts)])


def empirical_mspbe(moments: Moments, theta: ArrayLike) -> Array:
    """½‖b̂ + Âθ‖² in M̂⁺, for weights along the last axis (the paper's measure; it prints b̂ − Âθ)."""
    a, b, m = moments
    return half_square(a, b, np.asarray(np.linalg.pinv(m, hermitian=True), dtype=np.float64), theta)


def lstd(moments: Moments) -> Array:
    """θ = −Â⁺ b̂, the least-norm weights with Âθ + b̂ = 0 (in the least-squares sense where there are none)."""
    a, b, _ = moments
    return np.asarray(-np.linalg.lstsq(a, b, rcond=None)[0])
