r"""The relatives of semi-gradient Q(σ, λ), one step each: every method from its own source, in our notation.

None of these calls the others or `gqlib.learners.gq`, so that an equality with Q(σ, λ) is a result. A step sees φ_k, R
and what it needs of φ_{k+1} and φ̄_{k+1} = E_πφ(S_{k+1}, ·); Tree Backup also sees π(A_k|S_k), the probability of the
action taken at φ_k. The methods with a second weight vector are in `gqlib.learners.gradient_td`.

    method             trace e_k                    δ_k bootstraps from
    Sarsa(λ)           γλ e_{k−1} + φ_k             φ_{k+1}
    Expected Sarsa     φ_k                          φ̄_{k+1}
    Q^π(λ)             γλ e_{k−1} + φ_k             φ̄_{k+1}
    Tree Backup(λ)     γλ π_k e_{k−1} + φ_k         φ̄_{k+1}
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gqlib import _validate as check
from gqlib._validate import Array

__all__ = ["expected_sarsa_step", "n_step_q_sigma_return", "sarsa_lambda_step", "tree_backup_step"]


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
    lam, gamma, alpha, reward = check.numbers(lam=lam, gamma=gamma, alpha=alpha, reward=reward)
    theta, trace, phi, phi_next = check.vectors(
        theta=theta, trace=trace, phi=phi, phi_next=phi_next
    )
    trace = gamma * lam * trace + phi
    delta = reward + gamma * (theta @ phi_next) - theta @ phi
    theta = theta + alpha * delta * trace
    check.finite(theta=theta, trace=trace, reward=delta)
    return theta, trace, float(delta)


def expected_sarsa_step(
    theta: ArrayLike,
    phi: ArrayLike,
    reward: float,
    phi_next_expected: ArrayLike,
    *,
    gamma: float,
    alpha: float,
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
    gamma, alpha, reward = check.numbers(gamma=gamma, alpha=alpha, reward=reward)
    theta, phi, phi_next_expected = check.vectors(
        theta=theta, phi=phi, phi_next_expected=phi_next_expected
    )
    delta = reward + gamma * (phi_next_expected @ theta) - phi @ theta
    theta = theta + alpha * delta * phi
    check.finite(theta=theta, reward=delta)
    return theta, float(delta)


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
    lam, gamma, alpha, probability, reward = check.numbers(
        lam=lam, gamma=gamma, alpha=alpha, probability=probability, reward=reward
    )
    theta, trace, phi, phi_next_expected = check.vectors(
        theta=theta, trace=trace, phi=phi, phi_next_expected=phi_next_expected
    )
    trace = phi + gamma * lam * probability * trace
    delta = reward + gamma * (phi_next_expected @ theta) - phi @ theta
    theta = theta + alpha * delta * trace
    check.finite(theta=theta, trace=trace, reward=delta)
    return theta, trace, float(delta)


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
    sigma, gamma = check.numbers(sigma=sigma, gamma=gamma)
    deltas = r + gamma * (sigma * q[1:] + (1.0 - sigma) * v) - q[:-1]
    factors = np.concatenate([[1.0], gamma * ((1.0 - sigma) * pi[1:] + sigma)])
    result = float(q[0] + deltas @ np.cumprod(factors))
    check.finite(values=result)
    return result
