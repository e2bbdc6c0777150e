r"""Emphatic TD(λ) for action values: the other road to stability (Sutton, Mahmood and White 2016), in the mean.

On pairs, with interest i ≥ 0 and ρ_k = π(A_k|S_k)/μ(A_k|S_k),

    F_k = γρ_k F_{k−1} + i(X_k),     e_k = γλρ_k e_{k−1} + {λi(X_k) + (1−λ)F_k} φ_k,     θ += α δ_k e_k,

δ_k = R + γθᵀE_πφ(S_{k+1}, ·) − θᵀφ_k. Since ρ_j P^μ_ij = P^π_ij, in the stationary regime

    f = (I − γP^πᵀ)⁻¹ (ξ∘i)                            f_j = ξ_j E[F_k | j]
    g = λ ξ∘i + (1−λ) f = (I − γλP^πᵀ) f                g_j = ξ_j E[λi + (1−λ)F_k | j], the emphasis
    A = −Φᵀ diag(g) (I − γλP^π)⁻¹ (I − γP^π) Φ,         b = Φᵀ diag(g) (I − γλP^π)⁻¹ r,

and A + Aᵀ is negative definite on the row space of Φ for every i > 0, ξ > 0 and γ < 1, because with
K = diag(g)(I − γλP^π)⁻¹(I − γP^π) the columns of K sum to ξ∘i > 0, its rows to something positive, and no
off-diagonal entry of K is positive: K + Kᵀ is strictly diagonally dominant.

The price is variance. S_j = ξ_j E[F_k² | j] obeys

    S_j = γ² Σ_i ρ_j P^π_ij S_i + 2γ i_j Σ_i P^π_ij f_i + ξ_j i_j²,

which for i > 0 has a finite solution exactly when γ²·r < 1, where r is the spectral radius of ρ_j P^π_ij.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.prediction import PredictionProblem
from gqlib.rounding import refuse_resolvent

__all__ = [
    "emphasis",
    "emphatic_matrix",
    "emphatic_vector",
    "followon",
    "followon_limit",
    "followon_second_moment",
]


def _interest(problem: PredictionProblem, interest: ArrayLike | None) -> Array:
    check.instance("problem", problem, PredictionProblem)
    if (problem.p_trace != problem.p_mu).any():
        raise ValueError(
            "problem has a trace that is cut where the update goes on; it should follow p_mu"
        )
    i = np.ones(problem.n) if interest is None else check.array("interest", interest, (problem.n,))
    if (i < 0.0).any():
        raise ValueError(f"interest is {check.brief(interest)}; it should not be negative")
    return i


def _ratios(problem: PredictionProblem, ratios: ArrayLike) -> Array:
    rho = check.array("ratios", check.reals("ratios", ratios).ravel(), (problem.n,))
    if (rho < 0.0).any():
        raise ValueError(f"ratios is {check.brief(ratios)}; it should not be negative")
    return rho


def followon(problem: PredictionProblem, interest: ArrayLike | None = None) -> Array:
    """The follow-on f = (I − γP^πᵀ)⁻¹(ξ∘i), (n,): f_j = ξ_j E[F_k | index j]; interest 1 by default.

    Examples
    --------
    >>> p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.5)
    >>> followon(p).tolist()
    [2.0]
    """
    i = _interest(problem, interest)
    refuse_resolvent("gamma", problem.p_pi, problem.gamma, "problem should have a smaller one")
    return np.asarray(
        np.linalg.solve(np.eye(problem.n) - problem.gamma * problem.p_pi.T, problem.xi * i)
    )


def emphasis(problem: PredictionProblem, lam: float, interest: ArrayLike | None = None) -> Array:
    """The emphasis g = λξ∘i + (1−λ)f, (n,).

    Examples
    --------
    >>> p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.5)
    >>> emphasis(p, 0.5).tolist()
    [1.5]
    """
    i, lam = _interest(problem, interest), check.scalar("lam", lam, low=0.0, high=1.0)
    return np.asarray(lam * problem.xi * i + (1.0 - lam) * followon(problem, i))


def _trace(problem: PredictionProblem, lam: float, interest: ArrayLike | None) -> Array:
    """(I − γλP^πᵀ)⁻¹ diag(g) Φ, (n, d): row j is ξ_j E[e_k | index j]."""
    lam = check.scalar("lam", lam, low=0.0, high=1.0)
    weighed = emphasis(problem, lam, interest)[:, None] * problem.features
    return np.asarray(
        np.linalg.solve(np.eye(problem.n) - problem.gamma * lam * problem.p_pi.T, weighed)
    )


def emphatic_matrix(
    problem: PredictionProblem, lam: float, interest: ArrayLike | None = None
) -> Array:
    """A = −Φᵀ diag(g)(I − γλP^π)⁻¹(I − γP^π)Φ, (d, d).

    Examples
    --------
    >>> p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.5)
    >>> emphatic_matrix(p, 0.0).tolist()
    [[-1.0]]
    """
    trace = _trace(problem, lam, interest)
    return np.asarray(
        trace.T @ (problem.gamma * problem.p_pi @ problem.features - problem.features)
    )


def emphatic_vector(
    problem: PredictionProblem, lam: float, interest: ArrayLike | None = None
) -> Array:
    """The vector b = Φᵀ diag(g)(I − γλP^π)⁻¹ r, (d,): the method solves Aθ + b = 0 with `emphatic_matrix`.

    Examples
    --------
    >>> p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [3.0], [1.0], 0.5)
    >>> emphatic_vector(p, 0.0).tolist()
    [6.0]
    """
    return np.asarray(_trace(problem, lam, interest).T @ problem.rewards)


def followon_limit(problem: PredictionProblem, ratios: ArrayLike) -> float:
    """The γ at which E[F²] stops being finite: 1/√r, with r the spectral radius of ρ_j P^π_ij.

    Where it exceeds 1, E[F²] is always finite.

    Parameters
    ----------
    problem : PredictionProblem
    ratios : array_like, (n,) or (S, A)
        ρ of each index, with ρ_j P^μ_ij = P^π_ij.

    Examples
    --------
    >>> p = PredictionProblem(np.eye(2), [[0.5, 0.5]] * 2, [[1.0, 0.0]] * 2, [0.0, 0.0], [0.5, 0.5], 0.9)
    >>> round(followon_limit(p, [2.0, 0.0]), 4)
    0.7071
    """
    check.instance("problem", problem, PredictionProblem)
    radius = float(np.abs(np.linalg.eigvals(problem.p_pi * _ratios(problem, ratios))).max())
    return float(np.inf) if radius == 0.0 else float(radius**-0.5)


def followon_second_moment(
    problem: PredictionProblem, ratios: ArrayLike, interest: ArrayLike | None = None
) -> Array:
    """S_j = ξ_j E[F_k² | index j], (n,).

    Raises
    ------
    ValueError
        If γ is not below `followon_limit`, so that the second moment is infinite.

    Examples
    --------
    A fair coin chooses between two pairs, and π always takes the first: E[F²] = (1 + γ)/((1 − γ)(1 − 2γ²)).

    >>> p = PredictionProblem(np.eye(2), [[0.5, 0.5]] * 2, [[1.0, 0.0]] * 2, [0.0, 0.0], [0.5, 0.5], 0.5)
    >>> round(float(followon_second_moment(p, [2.0, 0.0]).sum()), 9)
    6.0
    """
    i = _interest(problem, interest)
    rho, gamma, limit = _ratios(problem, ratios), problem.gamma, followon_limit(problem, ratios)
    if gamma >= limit:
        raise ValueError(
            f"problem has gamma {gamma:g}; it should be below {limit:.4g}, or E[F²] is infinite"
        )
    source = problem.xi * i**2 + 2.0 * gamma * i * (problem.p_pi.T @ followon(problem, i))
    return np.asarray(
        np.linalg.solve(np.eye(problem.n) - gamma**2 * (problem.p_pi * rho).T, source)
    )
