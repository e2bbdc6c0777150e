r"""Poisson's equation for GQ(σ, λ) on one trajectory, solved exactly.

Let X_k be the pair at step k, a finite irreducible chain P with law ξ, and e_k = γλ e_{k−1} + φ(X_k) the trace. With
z = (θ, ω) and step sizes α_k, ηα_k, every method of `gqlib.learners.corrected` with an unweighted trace (c = 1) is

    z_{k+1} = z_k + α_k(H_k z_k + h_k),   H_k = [[e(γu − φ)ᵀ, −γ(u − λw)eᵀ], [ηe(γu − φ)ᵀ, −ηφφᵀ]],   h_k = R(e, ηe),

where φ and e belong to X_k, u and w to X_{k+1}, and R to the step between. Given the past up to X_k = i and e_k = e,
the means of H_k and h_k are *affine in e*,

    f(i, e) = f⁰_i + Σ_a e_a ℓ_{i,a},

and so is the solution F(i, e) = U_i + Σ_a e_a L_{i,a} of Poisson's equation

    F(i, e) − Σ_j P_ij F(j, γλe + φ_j) = f(i, e) − f̄,        f̄ the stationary mean of f:

    slope:      L = (I − γλP)⁻¹ ℓ                                         (regular, since γλ < 1),
    constant:   (I − P)U = f⁰ − f̄ + P(φ·L),   ξᵀU = 0                    (solvable, since P is irreducible).

Neither line asks for an aperiodic P: the trace forgets by itself, and I − P has the range {q : ξᵀq = 0} for every
irreducible P. Where episodes end, `carried` takes the place of P in the first line, and P is the chain with restarts.

Ψ is the solution for H and χ the one for the increments at the fixed point, ζ_k = H_k z* + h_k. The sum Σζ_k is a
martingale up to a bounded term, with increments m_{k+1} = ζ_k + χ(X_{k+1}, e_{k+1}) − χ(X_k, e_k); their covariance is
the long-run covariance of `gqlib.long_run` in its joint form, found in another way.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_continuous_lyapunov

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.learners.corrected import VariantTables
from gqlib.prediction import PredictionProblem
from gqlib.rounding import EPS
from gqlib.stability import spectral_abscissa
from gqlib.variance import trace_second_moments

__all__ = [
    "Affine",
    "Poisson",
    "affine_poisson",
    "gq_increments",
    "limit_covariance",
    "limit_noise",
    "lyapunov_matrix",
    "mean_increments",
    "poisson_solution",
]

# The largest entry of what is made of products of arguments: sums of some such are still finite.
HUGE = 1e200


@dataclass(frozen=True)
class Affine:
    """The function (i, e) ↦ constant[i] + Σ_a e[a]·slope[i, a] of an index and a trace, with values of any shape.

    Examples
    --------
    >>> f = Affine(np.array([1.0, 2.0]), np.array([[10.0], [20.0]]))
    >>> float(f(1, [0.5]))
    12.0
    """

    constant: Array
    slope: Array

    def __post_init__(self) -> None:
        rank = max(1, check.dimensions(self.constant))
        constant = check.array("constant", self.constant, (None,) * rank, largest=HUGE)
        shape = (len(constant), None, *constant.shape[1:])
        object.__setattr__(self, "constant", constant)
        object.__setattr__(self, "slope", check.array("slope", self.slope, shape, largest=HUGE))

    def __call__(self, index: int, trace: ArrayLike) -> Array:
        """The value at one index and one trace."""
        i = check.integer("index", index, low=0, high=len(self.constant) - 1)
        e = check.array("trace", trace, (self.slope.shape[1],))
        return np.asarray(self.constant[i] + np.tensordot(e, self.slope[i], axes=1))


def affine_poisson(
    chain: ArrayLike,
    carried: ArrayLike,
    xi: ArrayLike,
    features: ArrayLike,
    decay: float,
    f: Affine,
) -> tuple[Array, Affine]:
    """The stationary mean of f and the affine F with F(i, e) − E[F(j, decay·c·e + φ_j) | i] = f(i, e) − mean.

    Parameters
    ----------
    chain : array_like, (n, n)
        P, with one recurrent class; it need not be aperiodic.
    carried : array_like, (n, n)
        P_ij c_ij with c_ij in [0, 1], the share of the trace that i → j carries on; P itself on a continuing chain.
    xi : array_like, (n,)
        The stationary law of P.
    features : array_like, (n, d)
        What arriving at an index adds to the trace.
    decay : float in [0, 1)
        γλ.
    f : Affine

    Returns
    -------
    mean : ndarray
    solution : Affine
        With Σ ξ_i U_i = 0; any constant may be added.

    Raises
    ------
    ValueError
        Where `xi` is not the stationary law, or `chain` has a second one.

    Examples
    --------
    Two indices in turn (period 2), one feature, f(i, e) = e: the trace tends to 8/3 and 10/3 in turn.

    >>> swap = [[0.0, 1.0], [1.0, 0.0]]
    >>> f = Affine(np.zeros(2), np.ones((2, 1)))
    >>> mean, F = affine_poisson(swap, swap, [0.5, 0.5], [[1.0], [2.0]], 0.5, f)
    >>> float(mean), [round(float(F(0, [e]) - F(1, [0.5 * e + 2.0]) - e + mean), 12) for e in (0.0, 1.0)]
    (3.0, [0.0, 0.0])
    """
    p = check.distributions("chain", chain, (None, None))
    n = len(p)
    p, keep = (
        check.array("chain", p, (n, n)),
        check.distributions("carried", carried, (n, n), allow_less=True),
    )
    law, phi = check.distributions("xi", xi, (n,)), check.array("features", features, (n, None))
    decay = check.scalar("decay", decay, low=0.0, high=1.0, open_high=True)
    check.instance("f", f, Affine)
    if f.slope.shape[:2] != phi.shape:
        raise ValueError(
            f"f has a slope of shape {f.slope.shape}; it should begin with {phi.shape} for features"
        )
    if np.abs(law @ p - law).max() > check.PROBABILITY_TOLERANCE:
        raise ValueError("xi is changed by chain; it should be its stationary law")
    if (keep > p + check.PROBABILITY_TOLERANCE).any():
        raise ValueError("carried exceeds chain; it should be chain times shares between 0 and 1")
    fundamental = (
        np.eye(n) - p + law[None, :]
    )  # regular for one recurrent class, whatever its period
    if np.linalg.cond(fundamental) > 1.0 / np.sqrt(EPS):
        raise ValueError(
            "chain has more than one stationary law, up to rounding; it should have one recurrent class"
        )
    flat = f.slope.reshape(n, -1)
    slope = np.asarray(np.linalg.solve(np.eye(n) - decay * keep, flat), dtype=np.float64).reshape(
        f.slope.shape
    )
    source = f.constant + np.tensordot(p, np.einsum("ja,ja...->j...", phi, slope), axes=1)
    mean = np.tensordot(law, source, axes=1)
    centred = np.asarray(source - mean, dtype=np.float64).reshape(n, -1)
    constant = np.asarray(np.linalg.solve(fundamental, centred), dtype=np.float64).reshape(
        source.shape
    )
    return np.asarray(mean), Affine(constant, slope)


def mean_increments(
    features: ArrayLike, change: ArrayLike, pull: ArrayLike, rewards: ArrayLike, eta: float
) -> tuple[Affine, Affine]:
    """E[H | i, e], (2d, 2d), and E[h | i, e], (2d,), from E[γu − φ | i], γE[u − λw | i] and E[R | i].

    Examples
    --------
    >>> H, h = mean_increments([[1.0]], [[-0.5]], [[0.5]], [3.0], 2.0)
    >>> H(0, [1.0]).tolist(), h(0, [1.0]).tolist()
    ([[-0.5, -0.5], [-1.0, -2.0]], [3.0, 6.0])
    """
    phi = check.array("features", features, (None, None))
    n, d = phi.shape
    moved, pulled = check.array("change", change, (n, d)), check.array("pull", pull, (n, d))
    reward, eta = check.array("rewards", rewards, (n,)), check.scalar("eta", eta, low=0.0)
    constant, slope, h_slope = (
        np.zeros((n, 2 * d, 2 * d)),
        np.zeros((n, d, 2 * d, 2 * d)),
        np.zeros((n, d, 2 * d)),
    )
    constant[:, d:, d:] = -eta * phi[:, :, None] * phi[:, None, :]
    for a in range(d):
        slope[:, a, a, :d], slope[:, a, d + a, :d] = moved, eta * moved
        slope[:, a, :d, d + a] = -pulled
        h_slope[:, a, a], h_slope[:, a, d + a] = reward, eta * reward
    return Affine(constant, slope), Affine(np.zeros((n, 2 * d)), h_slope)


def gq_increments(
    problem: PredictionProblem, tables: VariantTables, lam: float, eta: float
) -> tuple[Affine, Affine]:
    """E[H_k | X_k = i, e_k = e] and E[h_k | X_k = i, e_k = e] as affine functions, (2d, 2d) and (2d,).

    Parameters
    ----------
    problem : PredictionProblem
        On pairs of a continuing chain; for φ, mean rewards, P^μ and γ.
    tables : VariantTables
        From `gqlib.learners.corrected.variant_tables`, with c = 1: "paper", "corrected" or "expected".
    lam : float
    eta : float
        β/α.

    Examples
    --------
    >>> p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [3.0], [1.0], 0.5)
    >>> H, h = gq_increments(p, VariantTables(np.ones((1, 1)), np.ones((1, 1)), np.ones(1)), 0.0, 2.0)
    >>> H(0, [1.0]).tolist(), h(0, [1.0]).tolist()
    ([[-0.5, -0.5], [-1.0, -2.0]], [3.0, 6.0])
    """
    check.instance("problem", problem, PredictionProblem)
    check.instance("tables", tables, VariantTables)
    n, d, gamma, phi = problem.n, problem.d, problem.gamma, problem.features
    if not tables.u.shape == tables.w.shape == (n, d) or tables.c.shape != (n,):
        raise ValueError(
            f"tables has u of shape {tables.u.shape}; it should be {(n, d)} for problem"
        )
    if (tables.c != 1.0).any():
        raise ValueError(
            "tables has a trace weight other than 1; the trace should be the paper's, which stays bounded"
        )
    lam = check.scalar("lam", lam, low=0.0, high=1.0)
    change = gamma * problem.p_mu @ tables.u - phi
    pull = gamma * problem.p_mu @ (tables.u - lam * tables.w)
    return mean_increments(phi, change, pull, problem.rewards, eta)


@dataclass(frozen=True)
class Poisson:
    """J, c and z* with Jz* + c = 0; Ψ, the solution of Poisson's equation for H; χ, that for ζ = Hz* + h.

    Examples
    --------
    >>> p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [3.0], [1.0], 0.5)
    >>> found = poisson_solution(p, VariantTables(np.ones((1, 1)), np.ones((1, 1)), np.ones(1)), 0.0, 2.0)
    >>> found.J.tolist(), found.solution.round(9).tolist()
    ([[-0.5, -0.5], [-1.0, -2.0]], [6.0, 0.0])
    """

    J: Array
    c: Array
    solution: Array
    Psi: Affine
    chi: Affine


def poisson_solution(
    problem: PredictionProblem, tables: VariantTables, lam: float, eta: float
) -> Poisson:
    """Solve Poisson's equation for H and for Hz* + h, z* = (θ*, 0) with the θ* of least norm that solves Aθ + b = 0.

    Raises
    ------
    ValueError
        On a chain with ends, with γλ = 1, with a weighted trace, or where Aθ + b = 0 has no solution.

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> from gqlib.stability import joint_matrix
    >>> p = two_state(0.9).problem
    >>> expected = [[1.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 0.0]]  # E_πφ at the state of each pair: σ = 0
    >>> tables = VariantTables(np.array(expected), p.features, np.ones(4))
    >>> bool(np.allclose(poisson_solution(p, tables, 0.9, 2.0).J, joint_matrix(p, 0.0, 0.9, 2.0)))
    True
    """
    lam = check.scalar("lam", lam, low=0.0, high=1.0)
    H, h = gq_increments(problem, tables, lam, eta)
    chain, xi, decay = problem.p_mu, problem.xi, problem.gamma * lam
    if (
        np.abs(chain.sum(axis=1) - 1.0).max() > check.PROBABILITY_TOLERANCE
        or (problem.p_trace != chain).any()
    ):
        raise ValueError(
            "problem has episodes that end; the chain should be a continuing one (see affine_poisson)"
        )
    if (
        np.abs(xi @ chain - xi).max() > check.PROBABILITY_TOLERANCE
        or abs(xi.sum() - 1.0) > check.PROBABILITY_TOLERANCE
    ):
        raise ValueError(
            "problem has a xi that p_mu changes; it should be the stationary law of p_mu"
        )
    if decay >= 1.0:
        raise ValueError(
            f"lam is {lam:g} and problem has gamma {problem.gamma:g}; their product should be below 1"
        )
    setting = (chain, chain, xi, problem.features, decay)
    J, Psi = affine_poisson(*setting, H)
    c, _ = affine_poisson(*setting, h)
    A, b = J[: problem.d, : problem.d], c[: problem.d]
    theta = np.asarray(np.linalg.lstsq(A, -b, rcond=None)[0])
    residual, size = (
        float(np.abs(x).max()) for x in (A @ theta + b, np.abs(A) @ np.abs(theta) + np.abs(b))
    )
    if residual > np.sqrt(EPS) * size:
        raise ValueError(
            f"problem has no fixed point: Aθ + b stays at {residual:.3g}; A should be regular"
        )
    solution = np.concatenate([theta, np.zeros(problem.d)])
    zeta = Affine(H.constant @ solution + h.constant, H.slope @ solution + h.slope)
    _, chi = affine_poisson(*setting, zeta)
    return Poisson(J, c, solution, Psi, chi)


def limit_noise(
    problem: PredictionProblem,
    tables: VariantTables,
    lam: float,
    eta: float,
    reward_variance: ArrayLike | None = None,
) -> Array:
    """E[mmᵀ], (2d, 2d), of the martingale increments m_{k+1} = ζ_k + χ(X_{k+1}, e_{k+1}) − χ(X_k, e_k).

    It equals `gqlib.long_run.joint_noise` of `long_run_covariance`, by another route, where rewards are not random.

    Parameters
    ----------
    problem, tables, lam, eta
        As in `gq_increments`.
    reward_variance : array_like, (n, n), optional
        Var(R | X_k = i, X_{k+1} = j); zero by default.

    Examples
    --------
    Rewards 1 and −1 in turn: the noise of a step is 1, and in the long run it cancels.

    >>> p = PredictionProblem([[1.0], [1.0]], [[0, 1], [1, 0]], [[0, 1], [1, 0]], [1, -1], [0.5, 0.5], 0.0)
    >>> tables = VariantTables(np.ones((2, 1)), np.ones((2, 1)), np.ones(2))
    >>> float(np.abs(limit_noise(p, tables, 0.0, 1.0)).max()) < 1e-12
    True
    """
    lam, eta = check.scalar("lam", lam, low=0.0, high=1.0), check.scalar("eta", eta, low=0.0)
    found = poisson_solution(problem, tables, lam, eta)
    n, d, gamma, phi = problem.n, problem.d, problem.gamma, problem.features
    decay, chi, theta = gamma * lam, found.chi, found.solution[:d]
    first, second = (
        problem.trace_weights(lam),
        trace_second_moments(problem, lam),
    )  # ξ_i E[e | i], ξ_i E[eeᵀ | i]
    extra = (
        np.zeros((n, n))
        if reward_variance is None
        else check.array("reward_variance", reward_variance, (n, n))
    )
    if (extra < 0.0).any():
        raise ValueError(
            f"reward_variance reaches {extra.min():g}; variances should not be negative"
        )
    # At z* the weights ω are zero, so ζ = δ_ij (e, ηe) is linear in e, and m = shift + matrix·e.
    spread = np.concatenate([np.eye(d), eta * np.eye(d)])
    total = np.zeros((2 * d, 2 * d))
    with np.errstate(over="ignore", invalid="ignore"):
        for i, j in np.argwhere(problem.p_mu > 0.0):
            delta = problem.rewards[i] + (gamma * tables.u[j] - phi[i]) @ theta
            shift = chi.constant[j] + phi[j] @ chi.slope[j] - chi.constant[i]
            matrix = delta * spread + decay * chi.slope[j].T - chi.slope[i].T
            cross = np.outer(shift, matrix @ first[i])
            moment = (
                problem.xi[i] * np.outer(shift, shift)
                + cross
                + cross.T
                + matrix @ second[i] @ matrix.T
            )
            total += problem.p_mu[i, j] * (moment + extra[i, j] * spread @ second[i] @ spread.T)
    if not np.isfinite(total).all():
        raise ValueError(
            "problem has features or rewards whose products overflow; they should be smaller"
        )
    return np.asarray((total + total.T) / 2.0)


def _lyapunov(drift: Array, right: Array) -> Array:
    """X with drift·X + X·driftᵀ = right, symmetric."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = solve_continuous_lyapunov(drift, right)
        except RuntimeWarning:  # scipy would go on with another matrix
            raise ValueError(
                "drift has eigenvalues that are zero to rounding; they should be negative"
            ) from None
    if not np.isfinite(found).all():
        raise ValueError("drift is so small that the solution overflows; it should be larger")
    return np.asarray((found + found.T) / 2.0)


def lyapunov_matrix(drift: ArrayLike) -> Array:
    """The positive definite Q with JᵀQ + QJ = −I, of a Hurwitz J.

    Examples
    --------
    >>> lyapunov_matrix([[-0.5]]).tolist()
    [[1.0]]
    """
    J = check.array("drift", drift, (None, None))
    J = check.array("drift", J, (len(J), len(J)))
    rate = spectral_abscissa(J)
    if rate >= 0.0:
        raise ValueError(f"drift has spectral abscissa {rate:g}; it should be negative")
    return _lyapunov(J.T, -np.eye(len(J)))


def limit_covariance(drift: ArrayLike, noise: ArrayLike, shift: float = 0.0) -> Array:
    """V with (J + shift·I)V + V(J + shift·I)ᵀ + noise = 0: the limit covariance of α_k^{−½}(z_k − z*).

    `shift` is 0 for α_k = c·k^{−s} with ½ < s < 1, and 1/(2c) for α_k = c/k, where J + I/(2c) must be Hurwitz.

    Examples
    --------
    >>> limit_covariance([[-1.0]], [[2.0]]).tolist(), limit_covariance([[-1.0]], [[2.0]], 0.5).tolist()
    ([[1.0]], [[2.0]])
    """
    J = check.array("drift", drift, (None, None))
    J = check.array("drift", J, (len(J), len(J)))
    J = J + check.scalar("shift", shift, low=0.0) * np.eye(len(J))
    rate = spectral_abscissa(J)
    if rate >= 0.0:
        raise ValueError(f"drift plus shift has spectral abscissa {rate:g}; it should be negative")
    return _lyapunov(J, -check.array("noise", noise, J.shape))
