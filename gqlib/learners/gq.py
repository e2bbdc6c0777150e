r"""Reference updates: one step of each learner, written like the paper's equations.

A step sees φ_k, R, φ_{k+1} and E_πφ(S_{k+1}, ·), the last two zero where an episode ends:

    e_k = γλ e_{k−1} + φ_k                                                      (Algorithm 1)
    δ_k = R + γ θ_kᵀ(σφ_{k+1} + (1−σ)E_πφ) − θ_kᵀφ_k                            (before Eq. (20))
    v_{k+1} = {σ(1−λ)φ_{k+1} + (1−σ)(E_πφ − λφ_{k+1})} e_kᵀ                     (23)
    ω_{k+1} = ω_k + β(δ_k e_k − φ_k φ_kᵀω_k)                                    (25)
    θ_{k+1} = θ_k + α(δ_k e_k − γ v ω_k)                                        (26)

The functions are pure: arrays in, new arrays out. Any finite σ will do, since the paper's dynamic σ can leave [0, 1].
They are the texts "q_sigma" and "gq" of `gqlib.learners.texts`, carried out by `gqlib.learners.dense`; Algorithm 1 as
printed is here in its own words, since its v is a matrix.
Checks take most of the time of a step; `gq_steps` checks a whole trajectory once, and its numbers are the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.learners import dense
from gqlib.learners.texts import LEARNERS

__all__ = ["gq_step", "gq_step_lagged", "gq_steps", "mix", "semi_gradient_step", "v_vector"]


def mix(sigma: float, phi_next: Array, phi_next_expected: Array) -> Array:
    """σφ_{k+1} + (1−σ)E_πφ, the braces of Δ_k in Eq. (22), written so that σ drops out to the bit where the two agree.

    Examples
    --------
    >>> mix(0.25, np.array([4.0]), np.array([0.0])).tolist()
    [1.0]
    """
    return phi_next_expected + sigma * (phi_next - phi_next_expected)


def v_vector(sigma: float, lam: float, phi_next: Array, phi_next_expected: Array) -> Array:
    """The braces of v in Eq. (23): σ(1−λ)φ_{k+1} + (1−σ)(E_πφ − λφ_{k+1}), collected so that σ drops out exactly.

    The matrix is v = (v_vector) eᵀ, so that v ω = (v_vector)(eᵀω) costs O(d).

    Examples
    --------
    >>> v_vector(0.5, 0.5, np.array([2.0]), np.array([3.0])).tolist()  # ½·½·2 + ½·(3 − ½·2)
    [1.5]
    """
    return mix(sigma, phi_next, phi_next_expected) - lam * phi_next


def semi_gradient_step(
    theta: ArrayLike,
    trace: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_next: ArrayLike,
    phi_next_expected: ArrayLike,
    *,
    sigma: float,
    lam: float,
    gamma: float,
    alpha: float,
) -> tuple[Array, Array, float]:
    """One step of semi-gradient Q(σ, λ), the backward view of Eq. (10): θ + α δ e.

    Returns
    -------
    theta, trace, delta

    Examples
    --------
    >>> theta, trace, delta = semi_gradient_step([1.0], [0.0], [1.0], 0.5, [2.0], [3.0],
    ...                                          sigma=0.5, lam=0.0, gamma=1.0, alpha=0.1)
    >>> theta.tolist(), trace.tolist(), delta
    ([1.2], [1.0], 2.0)
    """
    sigma, lam, gamma, alpha, reward = check.numbers(
        sigma=sigma, lam=lam, gamma=gamma, alpha=alpha, reward=reward
    )
    theta, trace, phi, phi_next, phi_next_expected = check.vectors(
        theta=theta, trace=trace, phi=phi, phi_next=phi_next, phi_next_expected=phi_next_expected
    )
    weights, numbers = (
        dense.Weights(theta, 0.0 * theta, trace),
        dense.rates(lam=lam, gamma=gamma, alpha=alpha),
    )
    (theta, _, trace, *_), delta = dense.step(
        LEARNERS["q_sigma"], weights, phi, reward, phi_next, phi_next_expected, numbers, sigma=sigma
    )
    check.finite(theta=theta)  # then trace and delta are finite too, or their product would not be
    return theta, trace, delta


def gq_step(
    theta: ArrayLike,
    omega: ArrayLike,
    trace: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_next: ArrayLike,
    phi_next_expected: ArrayLike,
    *,
    sigma: float,
    lam: float,
    gamma: float,
    alpha: float,
    beta: float,
) -> tuple[Array, Array, Array, float]:
    """One step of GQ(σ, λ), Eqs. (25)–(26), with v of the same step.

    Returns
    -------
    theta, omega, trace, delta

    Examples
    --------
    >>> theta, omega, trace, delta = gq_step([1.0], [1.0], [0.0], [1.0], 0.5, [2.0], [3.0],
    ...                                      sigma=0.5, lam=0.0, gamma=1.0, alpha=0.1, beta=0.1)
    >>> theta.round(4).tolist(), omega.tolist(), trace.tolist(), delta
    ([0.95], [1.1], [1.0], 2.0)
    """
    sigma, lam, gamma, alpha, beta, reward = check.numbers(
        sigma=sigma, lam=lam, gamma=gamma, alpha=alpha, beta=beta, reward=reward
    )
    theta, omega, trace, phi, phi_next, phi_next_expected = check.vectors(
        theta=theta,
        omega=omega,
        trace=trace,
        phi=phi,
        phi_next=phi_next,
        phi_next_expected=phi_next_expected,
    )
    weights = dense.Weights(theta, omega, trace)
    numbers = dense.rates(lam=lam, gamma=gamma, alpha=alpha, beta=beta)
    (theta, omega, trace, *_), delta = dense.step(
        LEARNERS["gq"], weights, phi, reward, phi_next, phi_next_expected, numbers, sigma=sigma
    )
    check.finite(theta=theta, omega=omega)
    return theta, omega, trace, delta


def gq_steps(
    theta: ArrayLike,
    omega: ArrayLike,
    trace: ArrayLike,
    phi: ArrayLike,
    reward: ArrayLike,
    phi_next: ArrayLike,
    phi_next_expected: ArrayLike,
    ends: ArrayLike | None = None,
    *,
    sigma: float,
    lam: float,
    gamma: float,
    alpha: float,
    beta: float,
) -> tuple[Array, Array, Array, Array]:
    """Many steps of `gq_step`, one after the other, with the same numbers: what is checked is checked once.

    Parameters
    ----------
    theta, omega, trace : array_like, (d,)
        Where it starts.
    phi, phi_next, phi_next_expected : array_like, (T, d)
    reward : array_like, (T,)
    ends : array_like of bool, (T,), optional
        Where an episode ends after the step, and the trace is forgotten.

    Returns
    -------
    thetas : ndarray, (T, d)
        θ after each step.
    omega, trace : ndarray, (d,)
        As they are at the end.
    deltas : ndarray, (T,)

    Raises
    ------
    Diverged
        (a ValueError) where numbers overflow; it names the step.

    Examples
    --------
    >>> from gqlib.domains import two_state
    >>> path = two_state(0.9).trajectory(500, np.random.default_rng(0))
    >>> seen = (path.phi, path.reward, path.phi_next, path.phi_next_expected, path.ends)
    >>> thetas, *_ = gq_steps([2.0, 0.0], [0.0, 0.0], [0.0, 0.0], *seen, sigma=0.5, lam=0.9, gamma=0.9,
    ...                       alpha=0.01, beta=0.01)
    >>> thetas.shape, thetas[0].round(4).tolist()
    ((500, 2), [1.992, 0.0])
    """
    sigma, lam, gamma, alpha, beta = check.numbers(
        sigma=sigma, lam=lam, gamma=gamma, alpha=alpha, beta=beta
    )
    theta, omega, trace = check.vectors(theta=theta, omega=omega, trace=trace)
    rows = check.array("phi", phi, (None, len(theta)), largest=np.inf)
    after = check.array("phi_next", phi_next, rows.shape, largest=np.inf)
    expected = check.array("phi_next_expected", phi_next_expected, rows.shape, largest=np.inf)
    rewards = check.array("reward", reward, (len(rows),), largest=np.inf).tolist()
    over = np.zeros(len(rows), dtype=bool) if ends is None else np.asarray(ends)
    if over.dtype != bool or over.shape != (len(rows),):
        raise ValueError(
            f"ends is {check.brief(ends)}; it should have {len(rows)} entries, each True or False"
        )
    thetas, deltas = np.empty(rows.shape), np.empty(len(rows))
    learner, weights = LEARNERS["gq"], dense.Weights(theta, omega, trace)
    numbers = dense.rates(lam=lam, gamma=gamma, alpha=alpha, beta=beta)
    with np.errstate(over="ignore", invalid="ignore"):
        for k, (r, end) in enumerate(zip(rewards, over.tolist(), strict=True)):
            weights, deltas[k] = dense.step(
                learner, weights, rows[k], r, after[k], expected[k], numbers, sigma=sigma
            )
            thetas[k] = weights.theta
            if end:
                weights = dense.again(learner, weights, numbers)
    theta, omega, trace, *_ = weights
    # What is not finite stays so, in θ or in ω.
    if not (np.isfinite(theta).all() and np.isfinite(omega).all()):
        lost = np.flatnonzero(~(np.isfinite(thetas).all(axis=1) & np.isfinite(deltas)))
        step = int(lost[0]) if len(lost) else len(rows) - 1
        raise check.Diverged(
            f"theta overflows in step {step}; weights, features and rates should be smaller"
        )
    return thetas, omega, trace, deltas


def gq_step_lagged(
    theta: ArrayLike,
    omega: ArrayLike,
    trace: ArrayLike,
    v: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_next: ArrayLike,
    phi_next_expected: ArrayLike,
    *,
    sigma: float,
    lam: float,
    gamma: float,
    alpha: float,
    beta: float,
) -> tuple[Array, Array, Array, Array, float]:
    """One step of Algorithm 1 as printed: θ uses v_k of the previous step, with v_0 = 0; v is a (d, d) matrix.

    Returns
    -------
    theta, omega, trace, v, delta

    Examples
    --------
    At the first step v is zero, and θ moves as in `semi_gradient_step`:

    >>> theta, omega, trace, v, delta = gq_step_lagged([1.0], [1.0], [0.0], [[0.0]], [1.0], 0.5, [2.0], [3.0],
    ...                                                sigma=0.5, lam=0.0, gamma=1.0, alpha=0.1, beta=0.1)
    >>> theta.round(4).tolist(), omega.tolist(), v.tolist()
    ([1.2], [1.1], [[2.5]])
    """
    sigma, lam, gamma, alpha, beta, reward = check.numbers(
        sigma=sigma, lam=lam, gamma=gamma, alpha=alpha, beta=beta, reward=reward
    )
    theta, omega, trace, phi, phi_next, phi_next_expected = check.vectors(
        theta=theta,
        omega=omega,
        trace=trace,
        phi=phi,
        phi_next=phi_next,
        phi_next_expected=phi_next_expected,
    )
    v = check.array("v", v, (len(theta), len(theta)), largest=np.inf)
    trace = gamma * lam * trace + phi
    delta = reward + gamma * (theta @ mix(sigma, phi_next, phi_next_expected)) - theta @ phi
    theta = theta + alpha * (delta * trace - gamma * (v @ omega))
    omega = omega + beta * (delta * trace - phi * (phi @ omega))
    v = np.outer(v_vector(sigma, lam, phi_next, phi_next_expected), trace)
    check.finite(theta=theta, omega=omega, v=v)
    return theta, omega, trace, v, float(delta)
