r"""Gradient TD methods other than GQ(σ, λ): TDC(λ), GTD2 and GQ(λ), weighted by ρ_k = π(A_k|S_k)/μ(A_k|S_k).

Unlike GQ(σ, λ), these use importance weights, and so aim at the value of π; with ρ = 1 at every step, at that of μ.
On states (Sutton et al. 2009; Maei 2011, who calls TDC(λ) GTD(λ)),

    e_k = ρ_k(γλ e_{k−1} + φ_k)
    δ_k = R + γ θᵀφ_{k+1} − θᵀφ_k
    TDC(λ):  θ += α(δ e − γ(1−λ)(eᵀω) φ_{k+1}),   ω += β(δ e − (φᵀω) φ)
    GTD2:    θ += α ρ (φ − γφ_{k+1})(φᵀω),        ω += β(ρδ − φᵀω) φ

On state–action pairs the first action is given and needs no weight. GQ(λ) of Maei and Sutton (2010) is TDC(λ) with
e_k = γλρ_k e_{k−1} + φ_k and E_πφ(S_{k+1}, ·) in place of φ_{k+1}; GTD2 takes that too, with ρ = 1.

They are texts of their own, "tdc", "tdc_pairs" and "gtd2" (`gqlib.learners.texts`), so that an equality with GQ(σ, λ) is
a result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array
from gqlib.learners import dense
from gqlib.learners.texts import LEARNERS

__all__ = ["gtd2_step", "maei_gq_step", "tdc_step"]


def _carried(
    name: str,
    weights: dense.Weights,
    seen: tuple[Array, float, Array],
    rho: float,
    **numbers: float,
) -> tuple[Array, Array, Array, float]:
    """A step of the text of that name, refused where it overflows."""
    phi, reward, after = seen
    (theta, omega, trace, *_), delta = dense.step(
        LEARNERS[name],
        weights,
        phi,
        reward,
        after,
        after,
        dense.rates(**numbers),
        ratios=dense.Ratios(rho),
    )
    check.finite(theta=theta, omega=omega, trace=trace, reward=delta)
    return theta, omega, trace, delta


def tdc_step(
    theta: ArrayLike,
    omega: ArrayLike,
    trace: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_next: ArrayLike,
    rho: float = 1.0,
    *,
    lam: float,
    gamma: float,
    alpha: float,
    beta: float,
) -> tuple[Array, Array, Array, float]:
    """One step of TDC(λ).

    Returns
    -------
    theta, omega, trace, delta

    Examples
    --------
    >>> theta, omega, trace, delta = tdc_step([1.0], [1.0], [0.0], [1.0], 0.5, [2.0], 2.0,
    ...                                       lam=0.0, gamma=1.0, alpha=0.1, beta=0.1)
    >>> theta.round(4).tolist(), omega.round(4).tolist(), trace.tolist(), delta
    ([0.9], [1.2], [2.0], 1.5)
    """
    lam, gamma, alpha, beta, rho, reward = check.numbers(
        lam=lam, gamma=gamma, alpha=alpha, beta=beta, rho=rho, reward=reward
    )
    theta, omega, trace, phi, phi_next = check.vectors(
        theta=theta, omega=omega, trace=trace, phi=phi, phi_next=phi_next
    )
    weights, seen = dense.Weights(theta, omega, trace), (phi, reward, phi_next)
    return _carried("tdc", weights, seen, rho, lam=lam, gamma=gamma, alpha=alpha, beta=beta)


def maei_gq_step(
    theta: ArrayLike,
    omega: ArrayLike,
    trace: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_next_expected: ArrayLike,
    *,
    rho: float,
    lam: float,
    gamma: float,
    alpha: float,
    beta: float,
) -> tuple[Array, Array, Array, float]:
    """One step of GQ(λ) of Maei and Sutton (2010): ρ_k weights what the trace carries forward, not φ_k.

    Returns
    -------
    theta, omega, trace, delta

    Examples
    --------
    >>> maei_gq_step([1.0], [1.0], [1.0], [1.0], 1.0, [2.0], rho=2.0, lam=0.5, gamma=0.5, alpha=0.1, beta=0.5)[2]
    array([1.5])
    """
    lam, gamma, alpha, beta, rho, reward = check.numbers(
        lam=lam, gamma=gamma, alpha=alpha, beta=beta, rho=rho, reward=reward
    )
    theta, omega, trace, phi, phi_next_expected = check.vectors(
        theta=theta, omega=omega, trace=trace, phi=phi, phi_next_expected=phi_next_expected
    )
    weights, seen = dense.Weights(theta, omega, trace), (phi, reward, phi_next_expected)
    return _carried("tdc_pairs", weights, seen, rho, lam=lam, gamma=gamma, alpha=alpha, beta=beta)


def gtd2_step(
    theta: ArrayLike,
    omega: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_next: ArrayLike,
    rho: float = 1.0,
    *,
    gamma: float,
    alpha: float,
    beta: float,
) -> tuple[Array, Array, float]:
    """One step of GTD2 (λ = 0), which samples −Aᵀω itself; `phi_next` is whatever δ bootstraps from.

    Returns
    -------
    theta, omega, delta

    Examples
    --------
    >>> theta, omega, delta = gtd2_step([1.0], [1.0], [1.0], 0.5, [2.0], 2.0, gamma=1.0, alpha=0.1, beta=0.1)
    >>> theta.round(4).tolist(), omega.round(4).tolist(), delta
    ([0.8], [1.2], 1.5)
    """
    gamma, alpha, beta, rho, reward = check.numbers(
        gamma=gamma, alpha=alpha, beta=beta, rho=rho, reward=reward
    )
    theta, omega, phi, phi_next = check.vectors(
        theta=theta, omega=omega, phi=phi, phi_next=phi_next
    )
    weights, seen = dense.Weights(theta, omega, np.zeros_like(theta)), (phi, reward, phi_next)
    theta, omega, _, delta = _carried(
        "gtd2", weights, seen, rho, gamma=gamma, alpha=alpha, beta=beta
    )
    return theta, omega, delta
