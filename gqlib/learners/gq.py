r"""Reference updates: one step of each learner, written like the paper's equations.

A step sees φ_k, R, φ_{k+1} and E_πφ(S_{k+1}, ·), the last two zero where an episode ends:

    e_k = γλ e_{k−1} + φ_k                                                      (Algorithm 1)
    δ_k = R + γ θ_kᵀ(σφ_{k+1} + (1−σ)E_πφ) − θ_kᵀφ_k                            (before Eq. (20))
    v_{k+1} = {σ(1−λ)φ_{k+1} + (1−σ)(E_πφ − λφ_{k+1})} e_kᵀ                     (23)
    ω_{k+1} = ω_k + β(δ_k e_k − φ_k φ_kᵀω_k)                                    (25)
    θ_{k+1} = θ_k + α(δ_k e_k − γ v ω_k)                                        (26)

The functions are pure: arrays in, new arrays out. Any finite σ will do, since the paper's dynamic σ can leave [0, 1].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array

__all__ = ["gq_step", "gq_step_lagged", "mix", "semi_gradient_step", "v_vector"]


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
    sigma, lam, gamma, alpha, reward = check.numbers(sigma=sigma, lam=lam, gamma=gamma, alpha=alpha, reward=reward)
    theta, trace, phi, phi_next, phi_next_expected = check.vectors(
        theta=theta, trace=trace, phi=phi, phi_next=phi_next, phi_next_expected=phi_next_expected
    )
    trace = gamma * lam * trace + phi
    delta = reward + gamma * (theta @ mix(sigma, phi_next, phi_next_expected)) - theta @ phi
    theta = theta + alpha * delta * trace
    check.finite(theta=theta)  # then trace and delta are finite too, or their product would not be
    return theta, trace, float(delta)


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
        theta=theta, omega=omega, trace=trace, phi=phi, phi_next=phi_next, phi_next_expected=phi_next_expected
    )
    trace = gamma * lam * trace + phi
    delta = reward + gamma * (theta @ mix(sigma, phi_next, phi_next_expected)) - theta @ phi
    v_omega = v_vector(sigma, lam, phi_next, phi_next_expected) * (trace @ omega)
    theta = theta + alpha * (delta * trace - gamma * v_omega)
    omega = omega + beta * (delta * trace - phi * (phi @ omega))
    check.finite(theta=theta, omega=omega)
    return theta, omega, trace, float(delta)


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
        theta=theta, omega=omega, trace=trace, phi=phi, phi_next=phi_next, phi_next_expected=phi_next_expected
    )
    v = check.array("v", v, (len(theta), len(theta)), largest=np.inf)
    trace = gamma * lam * trace + phi
    delta = reward + gamma * (theta @ mix(sigma, phi_next, phi_next_expected)) - theta @ phi
    theta = theta + alpha * (delta * trace - gamma * (v @ omega))
    omega = omega + beta * (delta * trace - phi * (phi @ omega))
    v = np.outer(v_vector(sigma, lam, phi_next, phi_next_expected), trace)
    check.finite(theta=theta, omega=omega, v=v)
    return theta, omega, trace, v, float(delta)
