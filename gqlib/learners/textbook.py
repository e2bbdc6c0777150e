r"""A second corrected GQ(σ, λ): the textbook's, in which σ sets how far the trace reaches and the error is expected.

Unrolled, the n-step return of Sutton and Barto (2018, Eq. 7.17) is Q plus a sum of *expected* TD errors, the later ones
weighed by products of c = σρ + (1−σ)π. Its λ-form is a trace with the coefficient c_k = c(S_k, A_k):

    e_k = γλ c_k e_{k−1} + φ_k,      δ_k = R + γθᵀφ̄_{k+1} − θᵀφ_k,      φ̄ = E_πφ(S_{k+1}, ·),
    θ += α(δ_k e_k − γ(e_kᵀω)(φ̄_{k+1} − λw_k)),      ω += β(δ_k e_k − φ_kφ_kᵀω),

with w_k = c_{k+1}φ_{k+1} (sampled) or its mean E_μ[cφ(S_{k+1}, ·)] (expected): Proposition 1 for this trace. Since
P^μ diag(c) = P^π diag(σ + (1−σ)μ) =: P_c,

    A = Φᵀ Ξ (I − γλP_c)⁻¹ (γP^π − I) Φ,      b = Φᵀ Ξ (I − γλP_c)⁻¹ r:      in a table q^π, for every σ and λ.

Everything but P_c holds for any coefficients c ≥ 0 that the past and the present action determine; the rules here are

    rule            c(s, a)                            at its ends
    "textbook"      σρ + (1−σ)π                        σ = 0: Tree Backup(λ), σ = 1: GQ(λ) of Maei and Sutton
    "tree_backup"   π                                  Precup et al. 2000; with a gradient, Touati et al. 2018
    "importance"    ρ                                  Maei and Sutton 2010
    "retrace"       min(1, ρ)                          Munos et al. 2016; with a gradient, Touati et al. 2018
    "abq"           π min(ψ, 1/max(μ, π))              Mahmood, Yu and Sutton 2017; ψ = 1: Tree Backup, large ψ: Retrace
    "uncut"         1                                  Q^π(λ) of Harutyunyan et al. 2016; the trace of the paper
"""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.learners import dense
from gqlib.learners.corrected import (
    ExpectedErrorProblem,
    VariantTables,
    importance_ratios,
    trace_goes_on,
)
from gqlib.learners.texts import LEARNERS
from gqlib.mdp import FiniteMDP
from gqlib.prediction import PredictionProblem
from gqlib.variance import trace_first_moments, trace_second_moments

__all__ = [
    "RULES",
    "TextbookProblem",
    "TracedProblem",
    "conditional_noise",
    "expected_trace",
    "textbook_gq_step",
    "textbook_tables",
    "trace_coefficients",
]

Rule = Literal["textbook", "tree_backup", "importance", "retrace", "abq", "uncut"]
RULES = get_args(Rule)


def trace_coefficients(
    mu: ArrayLike,
    pi: ArrayLike,
    rule: Rule = "textbook",
    *,
    sigma: ArrayLike = 0.0,
    psi: float = 1.0,
) -> Array:
    """c(s, a) of a rule in the module's table, (S, A); zero where μ does not go.

    Parameters
    ----------
    sigma : array_like
        For "textbook": one number, or one for each state or each pair, (S, 1) or (S, A), in [0, 1].
    psi : float
        ψ ≥ 0, for "abq".

    Examples
    --------
    >>> mu, pi = [[0.25, 0.75]], [[0.5, 0.5]]
    >>> trace_coefficients(mu, pi, sigma=0.5).round(4).tolist()  # ½·2 + ½·½ and ½·⅔ + ½·½
    [[1.25, 0.5833]]
    >>> trace_coefficients(mu, pi, "retrace").round(4).tolist()
    [[1.0, 0.6667]]
    >>> bool((trace_coefficients(mu, pi, sigma=[[1.0]]) == trace_coefficients(mu, pi, "importance")).all())
    True
    """
    rule = check.choice("rule", rule, RULES)
    rho = importance_ratios(mu, pi)
    behaviour, target = (
        check.distributions("mu", mu, rho.shape),
        check.distributions("pi", pi, rho.shape),
    )
    degree = check.reals("sigma", sigma)
    if not ((degree >= 0.0) & (degree <= 1.0)).all() or degree.shape not in (
        (),
        (len(rho), 1),
        rho.shape,
    ):
        raise ValueError(
            f"sigma is {check.brief(sigma)}; it should be in [0, 1], one or one for each state or pair"
        )
    psi = check.scalar("psi", psi, low=0.0)
    if rule == "uncut":
        c = np.ones_like(rho)
    elif rule == "importance":
        c = rho
    elif rule == "retrace":
        c = np.minimum(1.0, rho)
    elif rule == "abq":
        larger = np.maximum(behaviour, target)
        c = np.minimum(
            psi * target, np.divide(target, larger, out=np.zeros_like(larger), where=larger > 0.0)
        )
    elif rule == "tree_backup":
        c = target
    else:
        c = (1.0 - degree) * target + degree * rho  # to the bit at both ends
    return np.asarray(np.where(behaviour > 0.0, c, 0.0))


def textbook_gq_step(
    theta: ArrayLike,
    omega: ArrayLike,
    trace: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_next_expected: ArrayLike,
    phi_next_carried: ArrayLike,
    *,
    coefficient: float,
    lam: float,
    gamma: float,
    alpha: float,
    beta: float,
) -> tuple[Array, Array, Array, float]:
    """One step of the textbook GQ(σ, λ); where an episode ends, all features of the next pair are zero.

    Parameters
    ----------
    phi_next_expected : array_like, (d,)
        φ̄ = E_πφ(S_{k+1}, ·), the only thing that is bootstrapped from.
    phi_next_carried : array_like, (d,)
        w_k: c_{k+1}φ_{k+1}, or E_μ[cφ(S_{k+1}, ·)], which leaves no noise of the next action.
    coefficient : float
        c_k of the *present* action, which multiplies the trace of the step before.

    Returns
    -------
    theta, omega, trace, delta

    Examples
    --------
    >>> theta, omega, trace, delta = textbook_gq_step([1.0], [1.0], [1.0], [1.0], 0.5, [3.0], [2.0], coefficient=0.5,
    ...                                               lam=0.5, gamma=1.0, alpha=0.1, beta=0.1)
    >>> theta.round(4).tolist(), omega.round(4).tolist(), trace.tolist(), delta
    ([1.0625], [1.2125], [1.25], 2.5)
    """
    lam, gamma, alpha, beta, r, c = check.numbers(
        lam=lam, gamma=gamma, alpha=alpha, beta=beta, reward=reward, coefficient=coefficient
    )
    weights, aux, old, now, mean, carried = check.vectors(
        theta=theta,
        omega=omega,
        trace=trace,
        phi=phi,
        phi_next_expected=phi_next_expected,
        phi_next_carried=phi_next_carried,
    )
    held = dense.Weights(weights, aux, old, memory=(c,))
    numbers = dense.rates(lam=lam, gamma=gamma, alpha=alpha, beta=beta)
    # The text multiplies φ' by c' itself: c' = π' = 1 leaves what is carried as it was handed in.
    new, delta = dense.step(LEARNERS["textbook_gq"], held, now, r, carried, mean, numbers)
    check.finite(theta=new.theta, omega=new.omega, trace=new.trace, reward=delta)
    return new.theta, new.omega, new.trace, delta


def textbook_tables(
    mdp: FiniteMDP,
    mu: ArrayLike,
    pi: ArrayLike,
    features: ArrayLike,
    c: ArrayLike,
    *,
    expected: bool = True,
    error_sigma: float = 0.0,
) -> VariantTables:
    """Tables of u and w by the next pair and c by the present one, for `gqlib.learners.ensemble.gq_ensemble`.

    `expected` takes E_μ[cφ] for w and the sample cφ otherwise. With `error_sigma` = σ the error is that of the first
    repair, φ̄ + σ(ρ'φ' − φ̄): the textbook's return without its control variate.

    Examples
    --------
    >>> mdp = FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 0.5)
    >>> tables = textbook_tables(mdp, [[0.5, 0.5]], [[1.0, 0.0]], [[1.0], [3.0]], [[2.0, 0.0]])
    >>> tables.u.ravel().tolist(), tables.w.ravel().tolist(), tables.c.tolist()
    ([1.0, 1.0], [1.0, 1.0], [2.0, 0.0])
    """
    check.instance("mdp", mdp, FiniteMDP)
    check.flag("expected", expected)
    error_sigma = check.scalar("error_sigma", error_sigma)
    behaviour, target = mdp.policy(mu, "mu"), mdp.policy(pi, "pi")
    phi = check.array("features", features, (mdp.n_states * mdp.n_actions, None))
    weights = check.array("c", c, behaviour.shape)
    by_state = phi.reshape(mdp.n_states, mdp.n_actions, -1)

    def averaged(policy: Array) -> Array:
        return np.repeat(np.einsum("sa,sad->sd", policy, by_state), mdp.n_actions, axis=0)

    u = averaged(target)
    if error_sigma != 0.0:
        u = u + error_sigma * (importance_ratios(behaviour, target).reshape(-1, 1) * phi - u)
    w = averaged(behaviour * weights) if expected else weights.reshape(-1, 1) * phi
    return VariantTables(u, w, weights.ravel())


class TracedProblem(ExpectedErrorProblem):
    """The exact mean of δe with the expected error and any coefficients c: P^μ diag(c) carries the trace."""

    @classmethod
    def of(cls, problem: PredictionProblem, c: ArrayLike) -> Self:
        """The view of a problem on pairs for coefficients c, (S, A) or (n,).

        Examples
        --------
        >>> mdp = FiniteMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], 0.5)
        >>> given = PredictionProblem.on_pairs(mdp, [[0.5, 0.5]], [[0.0, 1.0]], np.eye(2))
        >>> TracedProblem.of(given, [[0.0, 2.0]]).fixed_point(0.0, 1.0).round(4).tolist()
        [1.0, 2.0]
        """
        trace_goes_on(problem)
        weights = check.array("c", check.reals("c", c).ravel(), (problem.n,))
        if (weights < 0.0).any():
            raise ValueError(f"c is {check.brief(c)}; trace coefficients should not be negative")
        carried = problem.p_trace * weights
        most = float(carried.sum(axis=1).max())
        if most > 1.0 + check.PROBABILITY_TOLERANCE:
            raise ValueError(
                f"c carries on {most:.4g} of the trace in the mean; it should be at most 1 from every pair"
            )
        return cls._view(problem, carried)


class TextbookProblem(TracedProblem):
    """The exact mean of the textbook GQ(σ, λ) at one σ. Here σ matters, through the trace alone.

    Methods that take σ refuse any other than its own: A is a rational function of σ, not linear as the paper's is, and
    what relies on linearity (`stability.critical_sigma`) must not run on it.

    Examples
    --------
    >>> mdp = FiniteMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], 0.5)
    >>> given = PredictionProblem.on_pairs(mdp, [[0.5, 0.5]], [[0.0, 1.0]], np.eye(2))
    >>> view = TextbookProblem.of(given, [[0.5, 0.5]], [[0.0, 1.0]], 0.5)
    >>> view.p_trace.tolist(), view.next_features(0.5).tolist(), view.gamma_v(0.5, 0.0).tolist()
    ([[0.0, 0.75], [0.0, 0.75]], [[0.0, 1.0], [0.0, 1.0]], [[0.0, 0.0], [0.25, 0.25]])
    >>> view.next_features(0.4)
    Traceback (most recent call last):
    ValueError: sigma is 0.4; it should be 0.5, for which this problem was made
    """

    own_sigma: float | None = None  # without `of` there is none, and every σ is refused

    def _held(self) -> Any:
        return (*super()._held(), self.own_sigma)

    @classmethod
    def of(  # type: ignore[override]
        cls, problem: PredictionProblem, mu: ArrayLike, pi: ArrayLike, sigma: float
    ) -> Self:
        """The view at σ of a problem on the pairs of μ and π, as in the example of the class."""
        sigma = check.scalar("sigma", sigma, low=0.0, high=1.0)
        made = super().of(problem, trace_coefficients(mu, pi, sigma=sigma))
        off = np.abs(problem.p_mu * importance_ratios(mu, pi).ravel() - problem.p_pi).max()
        if off > check.PROBABILITY_TOLERANCE:
            raise ValueError(
                f"mu and pi miss the chains of problem by {off:.2g}; they should be its own policies"
            )
        object.__setattr__(made, "own_sigma", sigma)  # made just now, and nobody else's yet
        return made

    def _own(self, sigma: float) -> None:
        if (asked := check.scalar("sigma", sigma)) != self.own_sigma:
            own = "that of TextbookProblem.of" if self.own_sigma is None else f"{self.own_sigma:g}"
            raise ValueError(
                f"sigma is {asked:g}; it should be {own}, for which this problem was made"
            )

    def next_features(self, sigma: float) -> Array:
        """E[φ̄_{k+1} | index], (n, d)."""
        self._own(sigma)
        return self._next_pi

    def _reward(self, sigma: float) -> Array:
        self._own(sigma)
        return self.rewards

    def gamma_v(self, sigma: float, lam: float) -> Array:
        """γE[v], as in `TracedProblem`, at its own σ."""
        self._own(sigma)
        return super().gamma_v(sigma, lam)


def expected_trace(problem: PredictionProblem, c: ArrayLike, lam: float) -> Array:
    """z_i = E[e_k | pair i at k] for large k, (n, d): the expected trace of van Hasselt et al. (2021).

    Examples
    --------
    >>> p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.25)
    >>> expected_trace(p, [2.0], 1.0).tolist()
    [[2.0]]
    """
    first = trace_first_moments(problem, lam, c)
    seen = problem.xi[:, None] > 0.0
    return np.asarray(np.divide(first, problem.xi[:, None], out=np.zeros_like(first), where=seen))


def conditional_noise(
    mdp: FiniteMDP,
    mu: ArrayLike,
    problem: PredictionProblem,
    tables: VariantTables,
    theta: ArrayLike,
    omega: ArrayLike,
    lam: float,
) -> float:
    """E[tr Cov(GQ direction | all but A')], stationary, for any u, w and c.

    With ũ and d̃ the deviations of u' and u' − λw' from their means under μ(·|S') and F_s = E[eeᵀ; S' = s], it is
    γ² Σ_s Σ_a μ(a|s) [tr F (θᵀũ)² − 2(θᵀũ)(ωᵀF d̃) + (ωᵀFω)‖d̃‖²].

    Examples
    --------
    >>> mdp = FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 0.5)
    >>> p = PredictionProblem.on_pairs(mdp, [[0.5, 0.5]], [[1.0, 0.0]], [[1.0], [3.0]])
    >>> tables = textbook_tables(mdp, [[0.5, 0.5]], [[1.0, 0.0]], [[1.0], [3.0]], [[1.0, 0.0]], expected=True)
    >>> conditional_noise(mdp, [[0.5, 0.5]], p, tables, [1.0], [1.0], 0.9)
    0.0
    """
    check.instance("mdp", mdp, FiniteMDP)
    check.instance("tables", tables, VariantTables)
    check.instance("problem", problem, PredictionProblem)
    if problem.n != mdp.n_states * mdp.n_actions or tables.u.shape != problem.features.shape:
        given = f"problem has {problem.n} pairs and {problem.d} features, tables {tables.u.shape}"
        raise ValueError(
            f"{given}; they should have those of the mdp, {mdp.n_states} by {mdp.n_actions}"
        )
    weights, aux = (
        check.array(n, v, (problem.d,)) for n, v in (("theta", theta), ("omega", omega))
    )
    behaviour = mdp.policy(mu, "mu")
    second = trace_second_moments(problem, lam, tables.c)
    to_states = np.where(mdp.is_terminal, 0.0, mdp.transitions.reshape(problem.n, mdp.n_states))
    moments = np.einsum("ns,nij->sij", to_states, second)
    u, d = (
        x.reshape(mdp.n_states, mdp.n_actions, -1) for x in (tables.u, tables.u - lam * tables.w)
    )
    u, d = (x - np.einsum("sa,sai->si", behaviour, x)[:, None] for x in (u, d))
    value, along = u @ weights, np.einsum("i,sij,saj->sa", aux, moments, d)
    length, m_squared = np.trace(moments, axis1=1, axis2=2)[:, None], (moments @ aux @ aux)[:, None]
    terms = length * value**2 - 2.0 * value * along + m_squared * (d**2).sum(axis=2)
    return float(problem.gamma**2 * (behaviour * terms).sum())
