r"""A corrected GQ(σ, λ): the sampled next feature is weighted by ρ_{k+1} = π(A_{k+1}|S_{k+1})/μ(A_{k+1}|S_{k+1}).

Since E_μ[ρφ(S', A')] = E_πφ(S', ·), the bootstrap

    u_k = E_πφ(S_{k+1}, ·) + σ(ρ_{k+1}φ_{k+1} − E_πφ(S_{k+1}, ·))

has the same mean for every σ, and the fixed point no longer moves with σ: in a table whose pairs are all visited it is
q^π, for every σ and λ. Whether the iteration gets there is another question, and with long traces even a table can need
a large β/α: see `gqlib.timescales.eta_star`. With a trace that carries e_{k−1} on with the factor γλc_k, every method
here is one update of three vectors,

    e_k = γλ c_k e_{k−1} + φ_k,      δ_k = R + γθᵀu_k − θᵀφ_k,
    θ += α(δ_k e_k − γ(e_kᵀω)(u_k − λw_k)),      ω += β(δ_k e_k − φ_kφ_kᵀω),

where w_k is what the trace carries into the next step, up to noise of mean zero: Proposition 1 for this u and this c.

    variant       u_k                       w_k               c_k    mean problem
    "paper"       E_πφ + σ(φ' − E_πφ)       φ'                1      A_σ: target q^{ν_σ}
    "corrected"   E_πφ + σ(ρ'φ' − E_πφ)     φ'                1      A_0 for every σ: target q^π
    "expected"    E_πφ + σ(ρ'φ' − E_πφ)     E_μφ(S', ·)       1      the same
    "weighted"    E_πφ + σ(ρ'φ' − E_πφ)     ρ'φ'              ρ_k    P^π in the trace: target q^π
    "maei"        E_πφ + σ(ρ'φ' − E_πφ)     E_πφ(S', ·)       ρ_k    the same; at σ = 0 it is GQ(λ) of Maei and Sutton

Everything needs coverage: μ(a|s) > 0 where π(a|s) > 0. Other c, with the expected error: `gqlib.learners.textbook`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.learners import dense
from gqlib.learners.gq import mix
from gqlib.learners.texts import LEARNERS
from gqlib.mdp import FiniteMDP
from gqlib.prediction import PredictionProblem
from gqlib.variance import NoiseParabola, arrival_moments, second_moment_limit

__all__ = [
    "VARIANTS",
    "CorrectedProblem",
    "ExpectedErrorProblem",
    "VariantTables",
    "corrected_gq_step",
    "corrected_noise",
    "importance_ratios",
    "trace_goes_on",
    "trace_variance_limit",
    "variant_tables",
]

Variant = Literal["paper", "corrected", "expected", "weighted", "maei"]
Trace = Literal["uncorrected", "weighted"]
VARIANTS, TRACES = get_args(Variant), get_args(Trace)


def importance_ratios(mu: ArrayLike, pi: ArrayLike) -> Array:
    """ρ(s, a) = π(a|s)/μ(a|s), (S, A); zero where neither policy goes.

    Raises
    ------
    ValueError
        Without coverage: where π takes an action that μ never does.

    Examples
    --------
    >>> importance_ratios([[0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]).tolist()
    [[2.0, 0.0], [1.0, 0.0]]
    """
    pi = check.distributions("pi", pi, (None, None))
    mu = check.distributions("mu", mu, pi.shape)
    bare = (pi > 0.0) & (mu == 0.0)
    if bare.any():
        where = tuple(int(i) for i in np.argwhere(bare)[0])
        raise ValueError(
            f"mu is 0 at {where}, where pi is {pi[where]:g}; it should be positive wherever pi is"
        )
    return np.divide(pi, mu, out=np.zeros_like(pi), where=mu > 0.0)


def corrected_gq_step(
    theta: ArrayLike,
    omega: ArrayLike,
    trace: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_next: ArrayLike,
    phi_next_expected: ArrayLike,
    *,
    rho_next: float,
    sigma: float,
    lam: float,
    gamma: float,
    alpha: float,
    beta: float,
    trace_weight: float = 1.0,
    phi_next_traced: ArrayLike | None = None,
) -> tuple[Array, Array, Array, float]:
    """One step of the corrected GQ(σ, λ); where an episode ends, all features of the next pair are zero.

    Parameters
    ----------
    rho_next : float
        ρ of the next action A_{k+1}.
    trace_weight : float
        c_k: 1 for the paper's trace, ρ_k of the *present* action for a weighted one.
    phi_next_traced : array_like, (d,), optional
        w_k, by default φ_{k+1}; E_μφ(S_{k+1}, ·) takes its noise away. With a weighted trace, ρ_{k+1}φ_{k+1} or
        E_πφ(S_{k+1}, ·).

    Returns
    -------
    theta, omega, trace, delta

    Examples
    --------
    >>> theta, omega, trace, delta = corrected_gq_step([1.0], [1.0], [0.0], [1.0], 0.5, [2.0], [3.0], rho_next=2.0,
    ...                                                sigma=0.5, lam=0.0, gamma=1.0, alpha=0.1, beta=0.1)
    >>> theta.round(4).tolist(), omega.round(4).tolist(), trace.tolist(), delta
    ([0.95], [1.2], [1.0], 3.0)
    """
    sigma, lam, gamma, alpha, beta, reward = check.numbers(
        sigma=sigma, lam=lam, gamma=gamma, alpha=alpha, beta=beta, reward=reward
    )
    rho_next, c = check.numbers(rho_next=rho_next, trace_weight=trace_weight)
    theta, omega, trace, phi, phi_next, phi_next_expected = check.vectors(
        theta=theta,
        omega=omega,
        trace=trace,
        phi=phi,
        phi_next=phi_next,
        phi_next_expected=phi_next_expected,
    )
    w = phi_next
    if phi_next_traced is not None:
        w = check.array("phi_next_traced", phi_next_traced, theta.shape, largest=np.inf)
    weights = dense.Weights(theta, omega, c * trace)
    numbers = dense.rates(lam=lam, gamma=gamma, alpha=alpha, beta=beta)
    new, delta = dense.step(
        LEARNERS["corrected_gq"], weights, phi, reward, phi_next, phi_next_expected, numbers,
        sigma=sigma, ratios=dense.Ratios(rho_next=rho_next),
    )  # fmt: skip
    theta = new.theta + alpha * gamma * lam * (new.trace @ omega) * (w - phi_next)
    check.finite(theta=theta, omega=new.omega, trace=new.trace, reward=delta)
    return theta, new.omega, new.trace, delta


class ExpectedErrorProblem(PredictionProblem):
    """The exact mean of a method whose error is Expected Sarsa's, P^π, while `p_trace` carries the trace.

    A, b, the fixed point, MSPBE and its gradient, `joint_matrix`, `eta_star` and the rest apply as they are; σ is taken
    and ignored. Only γE[v] is new: the trace's term follows `p_trace`, not the bootstrap. `CorrectedProblem` and
    `gqlib.learners.textbook.TracedProblem` make such views of a problem.
    """

    @classmethod
    def _view(cls, problem: PredictionProblem, carried: Array) -> Self:
        chain = problem.p_pi
        view = cls(
            problem.features,
            chain,
            chain,
            problem.rewards,
            problem.xi,
            problem.gamma,
            p_trace=carried,
        )
        object.__setattr__(view, "_walked", problem.p_walk)
        return view

    def gamma_v(self, sigma: float, lam: float) -> Array:
        """γE[v], (d, d): γE[(φ̄_{k+1} − λw_k) e_kᵀ], where w is what the trace carries on; the same for every σ.

        Examples
        --------
        >>> from gqlib.domains import two_state
        >>> view = CorrectedProblem.of(two_state(0.9).problem)
        >>> bool(np.allclose(view.gamma_v(0.5, 0.9), view.M + view.A(0.5, 0.9).T))  # as in Proposition 1
        True
        """
        check.scalar("sigma", sigma)
        lam = check.scalar("lam", lam, low=0.0, high=1.0)
        carried = self.p_trace @ self.features
        return np.asarray(self.gamma * (self._next_pi - lam * carried).T @ self.trace_weights(lam))


def _on_pairs(problem: PredictionProblem) -> PredictionProblem:
    check.instance("problem", problem, PredictionProblem)
    if problem.rewards_pi is not None:
        raise ValueError("problem averages its rewards; on pairs it should not")
    return problem


def trace_goes_on(problem: PredictionProblem) -> NDArray[np.bool_]:
    """Where `p_trace` is p_mu; it should be zero elsewhere, as where an episode ends.

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> trace_goes_on(two_state(0.9).problem).tolist()
    [True, True, True, True]
    """
    goes_on = np.asarray(_on_pairs(problem).p_trace.any(axis=1))
    if (problem.p_trace[goes_on] != problem.p_mu[goes_on]).any():
        raise ValueError(
            "problem has a p_trace that is neither p_mu nor zero in some row; it should be"
        )
    return goes_on


class CorrectedProblem(ExpectedErrorProblem):
    """The exact mean of the corrected method: P^π wherever a next feature is bootstrapped from, for every σ.

    Second moments of a weighted trace cannot be read off `p_trace`: hand the problem itself, with c, to
    `gqlib.variance`.
    """

    @classmethod
    def of(cls, problem: PredictionProblem, trace: Trace = "uncorrected") -> CorrectedProblem:
        """The corrected view of a problem on pairs.

        Parameters
        ----------
        problem : PredictionProblem
            On pairs, without averaged rewards.
        trace : {"uncorrected", "weighted"}
            The paper's trace, or one weighted by ρ_k, which replaces P^μ by P^π in (I − γλP)⁻¹.

        Examples
        --------
        >>> from gqlib.domains import two_state
        >>> given = two_state(0.9).problem
        >>> view = CorrectedProblem.of(given)
        >>> bool((view.A(1.0, 0.5) == given.A(0.0, 0.5)).all()), bool((view.A(1.0, 0.5) == given.A(1.0, 0.5)).all())
        (True, False)
        >>> bool((view.p_walk == given.p_mu).all()), bool((view.p_mu == given.p_pi).all())
        (True, True)
        """
        carried = _on_pairs(problem).p_trace
        if check.choice("trace", trace, TRACES) == "weighted":
            carried = np.where(trace_goes_on(problem)[:, None], problem.p_pi, 0.0)
        return cls._view(problem, carried)


@dataclass(frozen=True)
class VariantTables:
    """u and w by the *next* pair, (n, d), and c by the present pair, (n,): all that tells one variant from another.

    Examples
    --------
    >>> mdp = FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 0.5)
    >>> tables = variant_tables(mdp, [[0.5, 0.5]], [[1.0, 0.0]], [[1.0], [3.0]], 1.0, "paper")
    >>> tables.u.ravel().tolist(), tables.w.ravel().tolist(), tables.c.tolist()  # at σ = 1: φ', φ' and 1
    ([1.0, 3.0], [1.0, 3.0], [1.0, 1.0])
    """

    u: Array
    w: Array
    c: Array


def variant_tables(
    mdp: FiniteMDP,
    mu: ArrayLike,
    pi: ArrayLike,
    features: ArrayLike,
    sigma: float,
    variant: Variant,
) -> VariantTables:
    """The rows of the module's table on a finite MDP.

    Examples
    --------
    >>> mdp = FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 0.5)
    >>> variant_tables(mdp, [[0.5, 0.5]], [[1.0, 0.0]], [[1.0], [3.0]], 1.0, "corrected").u.ravel().tolist()
    [2.0, 0.0]
    """
    check.instance("mdp", mdp, FiniteMDP)
    variant = check.choice("variant", variant, VARIANTS)
    sigma = check.scalar("sigma", sigma)
    phi = check.array("features", features, (mdp.n_states * mdp.n_actions, None))
    mu, pi = mdp.policy(mu, "mu"), mdp.policy(pi, "pi")
    by_state = phi.reshape(mdp.n_states, mdp.n_actions, -1)
    under_mu, under_pi = (
        np.repeat(np.einsum("sa,sad->sd", policy, by_state), mdp.n_actions, axis=0)
        for policy in (mu, pi)
    )
    one = np.ones(len(phi))
    rho = one if variant == "paper" else importance_ratios(mu, pi).ravel()
    rho_phi = rho[:, None] * phi
    u = mix(sigma, rho_phi, under_pi)
    w = {"expected": under_mu, "weighted": rho_phi, "maei": under_pi}.get(variant, phi)
    return VariantTables(u, w, rho if variant in ("weighted", "maei") else one)


def corrected_noise(
    mdp: FiniteMDP,
    mu: ArrayLike,
    pi: ArrayLike,
    problem: PredictionProblem,
    theta: ArrayLike,
    omega: ArrayLike,
    lam: float,
    *,
    expected_trace: bool = False,
) -> NoiseParabola:
    """The expected trace of the conditional covariance of a corrected GQ direction, given all but A', in σ.

    With B = eθᵀ − mI, m = eᵀω, the noise of a step is γ(σBρ'φ' + λmφ'), so with the covariances under μ of ρφ and φ

        tr Cov = γ²[σ² tr(B C_ρρ Bᵀ) + 2σλm tr(B C_ρ1) + λ²m² tr C].

    `expected_trace` takes E_μφ for w, which removes the terms with λ. The trace is the paper's.

    Examples
    --------
    >>> mdp = FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 0.5)
    >>> p = PredictionProblem.on_pairs(mdp, [[0.5, 0.5]], [[1.0, 0.0]], [[1.0], [3.0]])
    >>> float(corrected_noise(mdp, [[0.5, 0.5]], [[1.0, 0.0]], p, [1.0], [0.0], 0.0)(1.0))
    1.25
    """
    check.instance("mdp", mdp, FiniteMDP)
    check.instance("problem", problem, PredictionProblem)
    check.flag("expected_trace", expected_trace)
    theta, omega = (
        check.array(n, v, (problem.d,)) for n, v in (("theta", theta), ("omega", omega))
    )
    lam = check.scalar("lam", lam, low=0.0, high=1.0)
    mu, moments = mdp.policy(mu, "mu"), arrival_moments(mdp, problem, lam)
    phi = problem.features.reshape(mdp.n_states, mdp.n_actions, -1)
    rho_phi = importance_ratios(mu, mdp.policy(pi, "pi"))[:, :, None] * phi
    plain, scaled = (x - np.einsum("sa,sai->si", mu, x)[:, None] for x in (phi, rho_phi))
    both, mixed, alone = (
        np.einsum("sa,sai,saj->sij", mu, x, y)
        for x, y in ((scaled, scaled), (scaled, plain), (plain, plain))
    )
    overlap = moments @ omega  # E[m e]
    m_squared = overlap @ omega
    quadratic = np.trace(moments, axis1=1, axis2=2) * np.einsum("i,sij,j->s", theta, both, theta)
    quadratic += m_squared * np.trace(both, axis1=1, axis2=2)
    quadratic -= 2.0 * np.einsum("i,sij,sj->s", theta, both, overlap)
    linear = np.einsum("i,sij,sj->s", theta, mixed, overlap) - m_squared * np.trace(
        mixed, axis1=1, axis2=2
    )
    constant = m_squared * np.trace(alone, axis1=1, axis2=2)
    gamma2, kept = problem.gamma**2, 0.0 if expected_trace else lam
    return NoiseParabola(
        quadratic=float(gamma2 * quadratic.sum()),
        linear=float(gamma2 * 2.0 * kept * linear.sum()),
        constant=float(gamma2 * kept**2 * constant.sum()),
    )


def trace_variance_limit(problem: PredictionProblem, ratios: ArrayLike) -> float:
    """The λ at which the second moment of the *weighted* trace stops being finite; above 1 it always is.

    E[eeᵀ] is carried on by γ²λ²ρ_j²P^μ_ij = γ²λ²ρ_jP^π_ij: finite as long as γλ√r < 1, r the radius of ρ_jP^π_ij.

    Examples
    --------
    Two actions, π takes one of them always: r = 2.

    >>> mdp = FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 0.9)
    >>> p = PredictionProblem.on_pairs(mdp, [[0.5, 0.5]], [[1.0, 0.0]], np.eye(2))
    >>> round(trace_variance_limit(p, [[2.0, 0.0]]), 4) == round(1 / (0.9 * 2**0.5), 4)
    True
    """
    check.instance("problem", problem, PredictionProblem)
    rho = check.array("ratios", check.reals("ratios", ratios).ravel(), (problem.n,))
    if (rho < 0.0).any():
        raise ValueError(
            f"ratios is {check.brief(ratios)}; ratios of probabilities should not be negative"
        )
    return second_moment_limit(problem, rho)
