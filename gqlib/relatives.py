r"""The relatives of GQ(σ, λ), one step each, written as their own sources write them.

None of these calls the others or `gqlib.learners`, so that an equality with GQ(σ, λ) is a result. A step sees φ_k, R,
what it needs of φ_{k+1} and φ̄_{k+1} = E_πφ(S_{k+1}, ·), and for the off-policy ones π(A_k|S_k) or
ρ_k = π(A_k|S_k)/μ(A_k|S_k), the probability or ratio of the action that led away from φ_k.

    method             trace e_k                    δ_k bootstraps from   correction of θ
    Sarsa(λ)           γλ e_{k−1} + φ_k             φ_{k+1}               none
    Expected Sarsa     φ_k                          φ̄_{k+1}               none
    Q^π(λ)             γλ e_{k−1} + φ_k             φ̄_{k+1}               none
    Tree Backup(λ)     γλ π_k e_{k−1} + φ_k         φ̄_{k+1}               none
    TDC(λ)             γλ e_{k−1} + φ_k             φ_{k+1}               −γ(1−λ) φ_{k+1} (eᵀω)
    GTD2               φ_k                          as GQ(σ, 0)           (φ_k − γφ'_k)(φᵀω) in place of δe − γvω
    GQ(λ) of Maei      γλ ρ_k e_{k−1} + φ_k         φ̄_{k+1}               −γ(1−λ) φ̄_{k+1} (eᵀω)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array


def _read(theta: ArrayLike, **others: ArrayLike) -> list[Array]:
    first = check.array("theta", theta, (None,))
    return [first] + [check.array(name, value, first.shape) for name, value in others.items()]


def _rates(lam: float, gamma: float, **steps: float) -> list[float]:
    unit = [check.scalar("lam", lam, low=0.0, high=1.0), check.scalar("gamma", gamma, low=0.0, high=1.0)]
    return unit + [check.scalar(name, value, low=0.0) for name, value in steps.items()]


def sarsa_lambda_step(
    theta: ArrayLike,
    trace: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_next: ArrayLike,
    *,
    lam: float,
    gamma: float,
    alpha: float,
) -> tuple[Array, Array, float]:
    """Sarsa(λ) with accumulating traces (Rummery and Niranjan 1994; Sutton and Barto 2018, Section 12.7).

    Returns
    -------
    theta, trace, delta

    Examples
    --------
    >>> sarsa_lambda_step([1.0], [1.0], [1.0], 1.0, [2.0], lam=0.5, gamma=0.5, alpha=0.1)
    (array([1.125]), array([1.25]), 1.0)
    """
    lam, gamma, alpha = _rates(lam, gamma, alpha=alpha)
    q, z, x, x_next = _read(theta, trace=trace, phi=phi, phi_next=phi_next)
    z = gamma * lam * z + x
    delta = check.scalar("reward", reward) + gamma * (q @ x_next) - q @ x
    return q + alpha * delta * z, z, float(delta)


def expected_sarsa_step(
    theta: ArrayLike, phi: ArrayLike, reward: float, phi_next_expected: ArrayLike, *, gamma: float, alpha: float
) -> tuple[Array, float]:
    """Expected Sarsa (van Seijen et al. 2009): one step, no trace.

    Returns
    -------
    theta, delta

    Examples
    --------
    >>> expected_sarsa_step([1.0], [1.0], 1.0, [2.0], gamma=0.5, alpha=0.1)
    (array([1.1]), 1.0)
    """
    _, gamma, alpha = _rates(0.0, gamma, alpha=alpha)
    q, x, mean = _read(theta, phi=phi, phi_next_expected=phi_next_expected)
    delta = check.scalar("reward", reward) + gamma * (mean @ q) - x @ q
    return q + alpha * delta * x, float(delta)


def tree_backup_step(
    theta: ArrayLike,
    trace: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_next_expected: ArrayLike,
    *,
    probability: float,
    lam: float,
    gamma: float,
    alpha: float,
) -> tuple[Array, Array, float]:
    """Tree Backup(λ) (Precup et al. 2000): the trace is cut by π(A_k|S_k), `probability`.

    With `probability` 1 at every step it is Q^π(λ) (Harutyunyan et al. 2016), which does not cut the trace.

    Returns
    -------
    theta, trace, delta

    Examples
    --------
    >>> tree_backup_step([1.0], [1.0], [1.0], 1.0, [2.0], probability=0.5, lam=1.0, gamma=0.5, alpha=0.1)
    (array([1.125]), array([1.25]), 1.0)
    """
    lam, gamma, alpha = _rates(lam, gamma, alpha=alpha)
    cut = check.scalar("probability", probability, low=0.0, high=1.0)
    q, z, x, mean = _read(theta, trace=trace, phi=phi, phi_next_expected=phi_next_expected)
    z = x + gamma * lam * cut * z
    delta = check.scalar("reward", reward) + gamma * (mean @ q) - x @ q
    return q + alpha * delta * z, z, float(delta)


def tdc_lambda_step(
    theta: ArrayLike,
    omega: ArrayLike,
    trace: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_next: ArrayLike,
    *,
    lam: float,
    gamma: float,
    alpha: float,
    beta: float,
) -> tuple[Array, Array, Array, float]:
    """TDC(λ), also GTD(λ), with ρ = 1 (Sutton et al. 2009; Maei 2011).

    Returns
    -------
    theta, omega, trace, delta

    Examples
    --------
    >>> tdc_lambda_step([1.0], [1.0], [0.0], [1.0], 1.0, [2.0], lam=0.0, gamma=0.5, alpha=0.1, beta=0.5)[:2]
    (array([1.]), array([1.]))
    """
    lam, gamma, alpha, beta = _rates(lam, gamma, alpha=alpha, beta=beta)
    q, w, z, x, x_next = _read(theta, omega=omega, trace=trace, phi=phi, phi_next=phi_next)
    z = x + gamma * lam * z
    delta = check.scalar("reward", reward) + gamma * (q @ x_next) - q @ x
    step = delta * z - gamma * (1.0 - lam) * (z @ w) * x_next
    return q + alpha * step, w + beta * (delta * z - (x @ w) * x), z, float(delta)


def gtd2_step(
    theta: ArrayLike,
    omega: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_bootstrap: ArrayLike,
    *,
    gamma: float,
    alpha: float,
    beta: float,
) -> tuple[Array, Array, float]:
    """GTD2 (Sutton et al. 2009), which samples −Aᵀω itself; `phi_bootstrap` is what δ bootstraps from.

    Returns
    -------
    theta, omega, delta

    Examples
    --------
    >>> gtd2_step([1.0], [1.0], [1.0], 1.0, [2.0], gamma=0.25, alpha=0.1, beta=0.5)[:2]
    (array([1.05]), array([0.75]))
    """
    _, gamma, alpha, beta = _rates(0.0, gamma, alpha=alpha, beta=beta)
    q, w, x, ahead = _read(theta, omega=omega, phi=phi, phi_bootstrap=phi_bootstrap)
    delta = check.scalar("reward", reward) + gamma * (q @ ahead) - q @ x
    return q + alpha * (x - gamma * ahead) * (x @ w), w + beta * (delta - x @ w) * x, float(delta)


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
    """GQ(λ) of Maei and Sutton (2010): the trace is weighted by ρ_k, the correction uses φ̄_{k+1} alone.

    Returns
    -------
    theta, omega, trace, delta

    Examples
    --------
    >>> maei_gq_step([1.0], [1.0], [1.0], [1.0], 1.0, [2.0], rho=2.0, lam=0.5, gamma=0.5, alpha=0.1, beta=0.5)[2]
    array([1.5])
    """
    lam, gamma, alpha, beta = _rates(lam, gamma, alpha=alpha, beta=beta)
    ratio = check.scalar("rho", rho, low=0.0)
    q, w, z, x, mean = _read(theta, omega=omega, trace=trace, phi=phi, phi_next_expected=phi_next_expected)
    z = x + gamma * lam * ratio * z
    delta = check.scalar("reward", reward) + gamma * (q @ mean) - q @ x
    step = delta * z - gamma * (1.0 - lam) * (z @ w) * mean
    return q + alpha * step, w + beta * (delta * z - (x @ w) * x), z, float(delta)


def n_step_q_sigma_return(
    values: ArrayLike,
    expected: ArrayLike,
    rewards: ArrayLike,
    probabilities: ArrayLike,
    *,
    sigma: float,
    gamma: float,
) -> float:
    """The n-step return of Q(σ) from time 0 (De Asis et al. 2018, on-policy form), n = the number of rewards.

    G = Q_0 + Σ_{k<n} δ_k Π_{1≤i≤k} γ[(1−σ)π(A_i|S_i) + σ],  δ_k = R_{k+1} + γ[σQ_{k+1} + (1−σ)V_{k+1}] − Q_k.

    Parameters
    ----------
    values : array_like, (n + 1,)
        Q(S_k, A_k).
    expected : array_like, (n,)
        V_{k+1} = E_πQ(S_{k+1}, ·).
    rewards : array_like, (n,)
    probabilities : array_like, (n,)
        π(A_k|S_k); the first is not used.
    sigma, gamma : float

    Examples
    --------
    Two steps of Sarsa: 1 + ½·1 + ¼·4.

    >>> n_step_q_sigma_return([0, 0, 4], [9, 9], [1, 1], [0.5, 0.5], sigma=1.0, gamma=0.5)
    2.5
    """
    r = check.array("rewards", rewards, (None,))
    q, v = check.array("values", values, (len(r) + 1,)), check.array("expected", expected, r.shape)
    pi = check.array("probabilities", probabilities, r.shape)
    sigma, gamma = check.scalar("sigma", sigma), check.scalar("gamma", gamma, low=0.0, high=1.0)
    deltas = r + gamma * (sigma * q[1:] + (1.0 - sigma) * v) - q[:-1]
    factors = np.concatenate([[1.0], gamma * ((1.0 - sigma) * pi[1:] + sigma)])
    return float(q[0] + deltas @ np.cumprod(factors))
