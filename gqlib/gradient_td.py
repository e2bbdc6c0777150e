r"""Reference updates of the baselines: TDC(λ) and GTD2, weighted by ρ_k = π(A_k|S_k)/μ(A_k|S_k).

Unlike GQ(σ, λ) these weight by importance, and so aim at the value of π. On states (Maei 2011, GTD(λ)),

    e_k = ρ_k(γλ e_{k−1} + φ_k)
    δ_k = R + γ θᵀφ_{k+1} − θᵀφ_k
    TDC(λ):  θ += α(δ e − γ(1−λ)(eᵀω) φ_{k+1}),   ω += β(δ e − (φᵀω) φ)
    GTD2:    θ += α ρ (φ − γφ_{k+1})(φᵀω),        ω += β(ρδ − φᵀω) φ

On state–action pairs (Maei and Sutton 2010, GQ(λ)) the first action is given and needs no weight:
e_k = γλρ_k e_{k−1} + φ_k, E_πφ(S_{k+1}, ·) takes the place of φ_{k+1}, and ρ = 1 in GTD2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array


def _checked(theta: ArrayLike, **others: ArrayLike) -> list[Array]:
    first = check.array("theta", theta, (None,))
    return [first] + [check.array(name, value, first.shape) for name, value in others.items()]


def tdc_step(
    theta: ArrayLike,
    omega: ArrayLike,
    trace: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_next: ArrayLike,
    rho: float,
    *,
    lam: float,
    gamma: float,
    alpha: float,
    beta: float,
    pairs: bool = False,
) -> tuple[Array, Array, Array, float]:
    """One step of TDC(λ); with `pairs` of GQ(λ), where `phi_next` is E_πφ(S_{k+1}, ·).

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
    weights, aux, old, now, after = _checked(theta, omega=omega, trace=trace, phi=phi, phi_next=phi_next)
    lam, gamma = check.scalar("lam", lam, low=0.0, high=1.0), check.scalar("gamma", gamma, low=0.0, high=1.0)
    alpha, beta = check.scalar("alpha", alpha, low=0.0), check.scalar("beta", beta, low=0.0)
    rho = check.scalar("rho", rho, low=0.0)
    e = gamma * lam * rho * old + (1.0 if pairs else rho) * now
    delta = check.scalar("reward", reward) + gamma * (weights @ after) - weights @ now
    new_theta = weights + alpha * (delta * e - gamma * (1.0 - lam) * (e @ aux) * after)
    new_omega = aux + beta * (delta * e - (now @ aux) * now)
    return new_theta, new_omega, e, float(delta)


def gtd2_step(
    theta: ArrayLike,
    omega: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_next: ArrayLike,
    rho: float,
    *,
    gamma: float,
    alpha: float,
    beta: float,
    pairs: bool = False,
) -> tuple[Array, Array, float]:
    """One step of GTD2 (λ = 0).

    Returns
    -------
    theta, omega, delta

    Examples
    --------
    >>> theta, omega, delta = gtd2_step([1.0], [1.0], [1.0], 0.5, [2.0], 2.0, gamma=1.0, alpha=0.1, beta=0.1)
    >>> theta.round(4).tolist(), omega.round(4).tolist(), delta
    ([0.8], [1.2], 1.5)
    """
    weights, aux, now, after = _checked(theta, omega=omega, phi=phi, phi_next=phi_next)
    gamma = check.scalar("gamma", gamma, low=0.0, high=1.0)
    alpha, beta = check.scalar("alpha", alpha, low=0.0), check.scalar("beta", beta, low=0.0)
    weight = 1.0 if pairs else check.scalar("rho", rho, low=0.0)
    delta = check.scalar("reward", reward) + gamma * (weights @ after) - weights @ now
    projected = now @ aux
    new_theta = weights + alpha * weight * projected * (now - gamma * after)
    new_omega = aux + beta * (weight * delta - projected) * now
    return np.asarray(new_theta), np.asarray(new_omega), float(delta)
