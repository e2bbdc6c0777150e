r"""How much of an update is noise of the sampled next action: exact conditional variances.

Given (S, A, R, S'), the trace e and the weights, all that is random in a step is A' ~ μ(·|S'), through φ' = φ(S', A').
With C(s') = Cov_μ[φ(s', ·)] and m = eᵀω,

    Var(δ)                     = σ²γ² θᵀC θ
    Cov(semi-gradient step δe) = σ²γ² (θᵀCθ) e eᵀ
    Cov(GQ step δe − γvω)      = γ² K C Kᵀ,   K = σ e θᵀ − (σ − λ) m I           (Eqs. (23), (26))

so that σ = 0 is free of noise in the semi-gradient step and, unless λm = 0, not in the GQ step. The trace of the last
line is a parabola in σ. Averaged over the stationary law it needs the trace e in second moments only, and these obey a
linear system of their own,

    E_j = ξ_j φ_jφ_jᵀ + γλc_j(φ_j y_jᵀ + y_j φ_jᵀ) + γ²λ²c_j² Σ_i P_trace[i, j] E_i,   y_j = Σ_i P_trace[i, j] X_i,

where E_j = ξ_j E[e_k e_kᵀ | j] and X_j = ξ_j E[e_k | j] are the trace weights. The coefficient c_j of a trace
e_k = γλc_k e_{k−1} + φ_k is 1 in the paper's; where it is not, the mean goes on with c and the second moment with c².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.mdp import FiniteMDP
from gqlib.prediction import PredictionProblem

__all__ = [
    "NoiseParabola",
    "action_covariance",
    "gq_noise",
    "second_moment_limit",
    "stationary_moments",
    "trace_first_moments",
    "trace_second_moments",
]

# How far below 1 a spectral radius has to be: nearer to it, rounding would settle what is finite.
MARGIN = 1e-9


def _coefficients(problem: PredictionProblem, c: ArrayLike | None) -> Array:
    """Coefficients by the present index, (n,); refuses a `p_trace` that holds them already, with c where c² belongs."""
    check.instance("problem", problem, PredictionProblem)
    if ((problem.p_trace != 0.0) & (problem.p_trace != problem.p_walk)).any():
        raise ValueError(
            "problem has a trace that is weighted or that another chain carries; its p_trace should be that of the "
            "walk, or zero, and the weights should be handed in as c"
        )
    if c is None:
        return np.ones(problem.n)
    weights = check.array("c", check.reals("c", c).ravel(), (problem.n,))
    if (weights < 0.0).any():
        raise ValueError(f"c is {check.brief(c)}; trace coefficients should not be negative")
    return weights


def trace_first_moments(
    problem: PredictionProblem, lam: float, c: ArrayLike | None = None
) -> Array:
    """X_j = ξ_j E[e_k | index j at k] for large k, (n, d): `trace_weights` for a trace with coefficients c.

    Parameters
    ----------
    problem : PredictionProblem
        With the chain of the *behaviour* as `p_trace`.
    c : array_like, (n,) or (S, A), optional
        What e_{k−1} is multiplied with besides γλ, by the index at k; 1 where it is left out.

    Examples
    --------
    One index, c = 2 and γλ = ¼: the trace is 2, always.

    >>> p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.25)
    >>> trace_first_moments(p, 1.0, [2.0]).tolist(), trace_first_moments(p, 1.0).round(4).tolist()
    ([[2.0]], [[1.3333]])
    """
    weights = _coefficients(problem, c)
    if c is None:
        return problem.trace_weights(lam)
    decay = problem.gamma * check.scalar("lam", lam, low=0.0, high=1.0)
    radius = decay * float(np.abs(np.linalg.eigvals(problem.p_trace * weights)).max())
    if not radius < 1.0 - MARGIN:
        raise ValueError(
            f"c carries on {radius:.4g} of the trace in the mean at lam {lam:g}; it should be less than 1"
        )
    system = np.eye(problem.n) - decay * (problem.p_trace * weights).T
    return np.asarray(np.linalg.solve(system, problem.xi[:, None] * problem.features))


def trace_second_moments(
    problem: PredictionProblem, lam: float, c: ArrayLike | None = None
) -> Array:
    """E_j = ξ_j E[e_k e_kᵀ | index j at k] for large k, (n, d, d); c as in `trace_first_moments`.

    Raises
    ------
    ValueError
        Where the second moment is infinite, from `second_moment_limit` on, and for a problem whose `p_trace` is not the
        chain of the walk: what weighs a trace has to be known by itself, because it counts twice here.

    Examples
    --------
    One index, one feature, γλ = ½: the trace is 2, always.

    >>> p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.5)
    >>> trace_second_moments(p, 1.0).ravel().tolist(), trace_second_moments(p, 0.5, [2.0]).ravel().tolist()
    ([4.0], [4.0])
    """
    weights = _coefficients(problem, c)
    lam = check.scalar("lam", lam, low=0.0, high=1.0)
    limit = np.inf if c is None else second_moment_limit(problem, weights)
    if lam >= limit * (1.0 - MARGIN):
        raise ValueError(
            f"lam is {lam:g}; from {limit:.4g} on the trace has no second moment, it should be smaller"
        )
    first = trace_first_moments(problem, lam, c)
    decay, phi = problem.gamma * lam, problem.features
    carried = weights[:, None] * (problem.p_trace.T @ first)
    cross = phi[:, :, None] * carried[:, None, :]
    source = problem.xi[:, None, None] * phi[:, :, None] * phi[:, None, :]
    source = source + decay * (cross + cross.transpose(0, 2, 1))
    system = np.eye(problem.n) - decay**2 * (problem.p_trace * weights**2).T
    return np.asarray(np.linalg.solve(system, source.reshape(problem.n, -1)).reshape(source.shape))


def second_moment_limit(problem: PredictionProblem, c: ArrayLike) -> float:
    """The λ at which E[eeᵀ] stops being finite: 1/(γ√r), r the spectral radius of c_j²P_ij; above 1 it always is.

    Sharp in a table; features may happen to leave out the direction that explodes.

    Examples
    --------
    Two actions, of which π takes the first: Tree Backup, c = π, and importance ratios, c = π/μ, have r = ½ and 2.

    >>> mdp = FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 0.9)
    >>> p = PredictionProblem.on_pairs(mdp, [[0.5, 0.5]], [[1.0, 0.0]], np.eye(2))
    >>> [round(second_moment_limit(p, [[c, 0.0]]), 4) for c in (1.0, 2.0)]
    [1.5713, 0.7857]
    """
    weights = _coefficients(problem, c)
    radius = float(np.abs(np.linalg.eigvals(problem.p_trace * weights**2)).max())
    return (
        float(np.inf)
        if problem.gamma == 0.0 or radius == 0.0
        else float(1.0 / (problem.gamma * np.sqrt(radius)))
    )


def action_covariance(mdp: FiniteMDP, mu: ArrayLike, features: ArrayLike) -> Array:
    """C(s) = Cov_μ[φ(s, ·)], (S, d, d), from features on pairs; zero in terminal states.

    Examples
    --------
    >>> mdp = FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 0.5)
    >>> action_covariance(mdp, [[0.5, 0.5]], [[1.0], [3.0]]).ravel().tolist()
    [1.0]
    """
    check.instance("mdp", mdp, FiniteMDP)
    policy = mdp.policy(mu, "mu")
    phi = check.array("features", features, (mdp.n_states * mdp.n_actions, None))
    phi = phi.reshape(mdp.n_states, mdp.n_actions, -1)
    centred = phi - np.einsum("sa,sai->si", policy, phi)[:, None, :]
    covariance = np.einsum("sa,sai,saj->sij", policy, centred, centred)
    covariance[mdp.is_terminal] = 0.0
    return np.asarray(covariance)


@dataclass(frozen=True)
class NoiseParabola:
    """E[tr Cov(step | S, A, R, S', e)] = quadratic·σ² + linear·σ + constant.

    Examples
    --------
    >>> noise = NoiseParabola(quadratic=2.0, linear=-2.0, constant=1.0)
    >>> noise.best, noise([0.0, 0.5, 1.0]).tolist()
    (0.5, [1.0, 0.5, 1.0])
    """

    quadratic: float
    linear: float
    constant: float

    def __call__(self, sigma: ArrayLike) -> Array:
        """The value at each σ."""
        s = check.reals("sigma", sigma)
        if not (np.abs(s) <= check.LARGEST).all():
            raise ValueError(f"sigma is {check.brief(sigma)}; it should be finite")
        return np.asarray(self.quadratic * s**2 + self.linear * s + self.constant)

    @property
    def best(self) -> float:
        """The σ of least noise over all real numbers; it may lie outside [0, 1].

        Raises
        ------
        ValueError
            Where the noise does not depend on σ.
        """
        if self.quadratic == 0.0:
            raise ValueError(
                "quadratic is 0.0; it should be positive, or no sigma is better than another"
            )
        return -self.linear / (2.0 * self.quadratic)


def arrival_moments(mdp: FiniteMDP, problem: PredictionProblem, lam: float) -> Array:
    """E[e_k e_kᵀ; S_{k+1} = s] for large k, (S, d, d), of a problem on the pairs of `mdp`; zero in terminal states."""
    pairs = mdp.n_states * mdp.n_actions
    if problem.n != pairs:
        raise ValueError(
            f"problem has {problem.n} indices; it should have {pairs}, the pairs of mdp"
        )
    to_states = np.where(mdp.is_terminal, 0.0, mdp.transitions.reshape(pairs, mdp.n_states))
    return np.asarray(np.einsum("ns,nij->sij", to_states, trace_second_moments(problem, lam)))


def gq_noise(
    mdp: FiniteMDP,
    mu: ArrayLike,
    problem: PredictionProblem,
    theta: ArrayLike,
    omega: ArrayLike,
    lam: float,
) -> NoiseParabola:
    """The expected trace of the conditional covariance of the GQ direction δe − γvω, as a parabola in σ.

    Exact: the stationary law of (S, A, S') and of the trace's second moments. With omega = 0 it is that of the
    semi-gradient direction δe. The problem should be the one on pairs of `mdp` under `mu`.

    Examples
    --------
    >>> mdp = FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 0.5)
    >>> p = PredictionProblem.on_pairs(mdp, [[0.5, 0.5]], [[1.0, 0.0]], [[1.0], [3.0]])
    >>> float(gq_noise(mdp, [[0.5, 0.5]], p, [1.0], [0.0], 0.0)(1.0))
    1.25
    """
    check.instance("mdp", mdp, FiniteMDP)
    check.instance("problem", problem, PredictionProblem)
    weights, aux = (
        check.array(n, v, (problem.d,)) for n, v in (("theta", theta), ("omega", omega))
    )
    lam = check.scalar("lam", lam, low=0.0, high=1.0)
    moments = arrival_moments(mdp, problem, lam)  # all that K C Kᵀ needs of the trace
    covariance = action_covariance(mdp, mu, problem.features)
    length = np.trace(moments, axis1=1, axis2=2)  # E[‖e‖²]
    overlap = moments @ aux  # E[e m]
    m_squared = overlap @ aux  # E[m²]
    spread = np.trace(covariance, axis1=1, axis2=2)
    value_variance = np.einsum("i,sij,j->s", weights, covariance, weights)
    cross = np.einsum("i,sij,sj->s", weights, covariance, overlap)  # E[m θᵀC e]
    gamma2 = problem.gamma**2
    # tr K C Kᵀ = σ²‖e‖²θᵀCθ − 2σ(σ−λ) m θᵀCe + (σ−λ)² m² tr C
    return NoiseParabola(
        quadratic=float(
            gamma2 * (length * value_variance - 2.0 * cross + m_squared * spread).sum()
        ),
        linear=float(gamma2 * 2.0 * lam * (cross - m_squared * spread).sum()),
        constant=float(gamma2 * lam**2 * (m_squared * spread).sum()),
    )


def stationary_moments(
    mdp: FiniteMDP, mu: ArrayLike, pi: ArrayLike, features: ArrayLike, *, sigma: float, alpha: float
) -> tuple[Array, Array]:
    """E[θ] and E[θθᵀ] of semi-gradient Q(σ, 0) with a constant step size, once both stand still: (d,), (d, d).

    Exact on one trajectory, dependence of θ_k and the pair at k included. With λ = 0 a transition i → j maps θ to
    G_ij θ + c_i, G_ij = I + αφ_iΔ_ijᵀ, c_i = αr_iφ_i, so m_j = E[θ; j] and S_j = E[θθᵀ; j] obey linear systems,

        m_j = Σ_i P_ij (G_ij m_i + ξ_i c_i),
        S_j = Σ_i P_ij (G_ij S_i G_ijᵀ + G_ij m_i c_iᵀ + c_i m_iᵀG_ijᵀ + ξ_i c_i c_iᵀ).

    Raises
    ------
    ValueError
        Where the step size is too large for second moments to settle.

    Examples
    --------
    One state, one action, reward 1, γ = 0: θ goes to 1 without noise.

    >>> mdp = FiniteMDP([[[1.0]]], [[1.0]], 0.0)
    >>> mean, second = stationary_moments(mdp, [[1.0]], [[1.0]], [[1.0]], sigma=0.5, alpha=0.1)
    >>> mean.round(6).tolist(), second.round(6).tolist()
    ([1.0], [[1.0]])
    """
    check.instance("mdp", mdp, FiniteMDP)
    sigma, alpha = (
        check.scalar("sigma", sigma),
        check.scalar("alpha", alpha, low=0.0, open_low=True),
    )
    problem = PredictionProblem.on_pairs(mdp, mu, pi, features)
    n, d, phi = problem.n, problem.d, problem.features
    expected = np.einsum(
        "sa,sai->si", mdp.policy(pi, "pi"), phi.reshape(mdp.n_states, mdp.n_actions, d)
    )
    after = np.repeat(expected, mdp.n_actions, axis=0)
    after = problem.gamma * (after + sigma * (phi - after))  # by the next pair j
    change = after[None, :, :] - phi[:, None, :]
    move = np.eye(d) + alpha * phi[:, None, :, None] * change[:, :, None, :]  # G_ij
    kick = alpha * problem.rewards[:, None] * phi  # c_i
    linear = np.einsum("ij,ijab->jaib", problem.p_mu, move).reshape(n * d, n * d)
    square = np.einsum("ij,ijab,ijce->jacibe", problem.p_mu, move, move).reshape(
        n * d * d, n * d * d
    )
    radius = max(float(np.abs(np.linalg.eigvals(operator)).max()) for operator in (linear, square))
    if radius >= 1.0:
        raise ValueError(
            f"alpha is {alpha:g}; at spectral radius {radius:.4g} of the moments it should be smaller"
        )
    push = problem.p_mu.T @ (problem.xi[:, None] * kick)
    first = np.linalg.solve(np.eye(n * d) - linear, push.ravel()).reshape(n, d)
    cross = np.einsum("ij,ijab,ib,ic->jac", problem.p_mu, move, first, kick)
    source = cross + cross.transpose(0, 2, 1)
    source += np.einsum("ij,i,ia,ib->jab", problem.p_mu, problem.xi, kick, kick)
    second = np.linalg.solve(np.eye(n * d * d) - square, source.ravel()).reshape(n, d, d)
    return np.asarray(first.sum(axis=0)), np.asarray(second.sum(axis=0))
