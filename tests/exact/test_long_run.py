"""The long-run covariance of increments and what it leaves of θ: sums over lags, values by hand, and refusals."""

import numpy as np
import pytest

from gqlib import PredictionProblem
from gqlib.long_run import joint_noise, long_run_covariance, stationary_error

CHAIN = np.array([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3], [0.7, 0.3, 0.0]])
PHI = np.array([[1.0, 0.5], [0.0, -1.0], [2.0, 1.0]])
REWARDS, GAMMA, LAM = np.array([1.0, -2.0, 0.5]), 0.8, 0.6
BOOTSTRAP = np.array([[0.5, 0.0], [1.0, -1.0], [0.5, 1.5]])
SWAP = [[0.0, 1.0], [1.0, 0.0]]


def law(chain=CHAIN):
    return np.linalg.matrix_power(chain, 400)[0]


def problem(reward=1.0, mass=1.0, chain=CHAIN):
    return PredictionProblem(PHI, chain, chain, reward * REWARDS, mass * law(), GAMMA)


def moments(c, steps=400):
    """ξE[e | j] and ξE[eeᵀ | j], along the chain from e = 0."""
    first, second, xi = np.zeros((3, 2)), np.zeros((3, 2, 2)), law()
    for _ in range(steps):
        moved, squared = CHAIN.T @ first, np.einsum("ij,iab->jab", CHAIN, second)
        cross = GAMMA * LAM * c[:, None, None] * PHI[:, :, None] * moved[:, None, :]
        second = (GAMMA * LAM * c[:, None, None]) ** 2 * squared + cross + cross.transpose(0, 2, 1)
        second += xi[:, None, None] * PHI[:, :, None] * PHI[:, None, :]
        first = GAMMA * LAM * c[:, None] * moved + xi[:, None] * PHI
    return first, second


def fixed_point(c, reward=1.0):
    """Σ_i X_i (r_i + (γ Σ_j P_ij u_j − φ_i)ᵀθ) = 0."""
    first, _ = moments(c)
    return np.linalg.solve(first.T @ (PHI - GAMMA * CHAIN @ BOOTSTRAP), reward * first.T @ REWARDS)


def by_lags(c, theta):
    """Σ_l E[g_k g_{k+l}ᵀ], one lag after the other."""
    first, second = moments(c)
    fade = GAMMA * LAM * c[:, None, None]
    error = CHAIN * ((REWARDS - PHI @ theta)[:, None] + GAMMA * BOOTSTRAP @ theta)
    both = fade * np.einsum("ij,iab->jab", error, second) + np.einsum(
        "ij,ia,jb->jab", error, first, PHI
    )
    one, lagged = np.einsum("ij,ia->ja", error, first), np.zeros((2, 2))
    for _ in range(400):
        lagged += np.einsum("jab,j->ab", both, error.sum(axis=1))
        both = fade * np.einsum("ij,iab->jab", CHAIN, both) + np.einsum(
            "ij,ia,jb->jab", CHAIN, one, PHI
        )
        one = CHAIN.T @ one
    squares = np.divide(error**2, CHAIN, out=np.zeros((3, 3)), where=CHAIN > 0.0)
    return np.einsum("ij,iab->ab", squares, second) + lagged + lagged.T


@pytest.mark.parametrize("c", [None, [1.0, 1.0, 1.0], [1.3, 0.4, 0.0]])
def test_it_is_the_sum_over_lags(c):
    weights = np.ones(3) if c is None else np.array(c)
    theta = fixed_point(weights)
    exact = by_lags(weights, theta)
    np.testing.assert_allclose(
        long_run_covariance(problem(), BOOTSTRAP, theta, LAM, c), exact, rtol=1e-9
    )
    assert np.linalg.eigvalsh(exact).min() > 1e-3


def test_it_scales_with_rewards_squared_and_with_the_mass_of_xi():
    theta = fixed_point(np.ones(3))
    plain = long_run_covariance(problem(), BOOTSTRAP, theta, LAM)
    for factor in (1e-7, 1e7):
        found = long_run_covariance(problem(reward=factor), BOOTSTRAP, factor * theta, LAM)
        np.testing.assert_allclose(found, factor**2 * plain, rtol=1e-9)
    for mass in (1e-6, 1e6):
        found = long_run_covariance(problem(mass=mass), BOOTSTRAP, theta, LAM)
        np.testing.assert_allclose(found, mass * plain, rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-7, 1.0, 1e7])
def test_a_fixed_point_is_held_to_half_the_digits_in_any_units(factor):
    theta = fixed_point(np.ones(3), factor)
    long_run_covariance(problem(factor), BOOTSTRAP, theta * (1.0 + 1e-10), LAM)
    with pytest.raises(
        ValueError,
        match=r"^theta leaves a mean step of size [\d.e+-]+; it should be the fixed point$",
    ):
        long_run_covariance(problem(factor), BOOTSTRAP, theta * (1.0 + 1e-6), LAM)


def test_a_xi_of_another_chain_is_refused_in_any_units():
    other = [[0.2, 0.5, 0.3], *CHAIN[1:]]
    theta = fixed_point(np.ones(3))
    told = r"^problem has a xi that p_mu changes; it should be the stationary law of p_mu$"
    for mass in (1e-12, 1.0, 1e12):
        with pytest.raises(ValueError, match=told):
            long_run_covariance(problem(mass=mass, chain=other), BOOTSTRAP, theta, LAM)


def test_the_error_weighs_the_covariance_of_theta_with_m():
    """Σ = noise/(sum of the rates) where the drift is diagonal; only the part of θ counts."""
    p = PredictionProblem([[1.0, 2.0], [3.0, -1.0]], SWAP, SWAP, [0.0, 0.0], [0.5, 0.5], 0.5)
    np.testing.assert_array_equal(p.M, [[5.0, -0.5], [-0.5, 2.5]])
    noise = np.array([[4.0, 1.0, 9.0], [1.0, 6.0, 9.0], [9.0, 9.0, 99.0]])
    drift = np.diag([-1.0, -3.0, -7.0])
    assert stationary_error(p, drift, noise) == pytest.approx(5.0 * 2.0 - 0.25 + 2.5 * 1.0)
    assert stationary_error(p, -0.5 * np.eye(2), noise[:2, :2]) == pytest.approx(
        5.0 * 4.0 - 1.0 + 2.5 * 6.0
    )
    turning = np.array([[-1.0, 3.0], [-0.5, -2.0]])
    spread = np.array([[2.0, 0.3], [0.3, 1.0]])
    right = -(turning @ spread + spread @ turning.T)
    assert stationary_error(p, turning, right) == pytest.approx(np.trace(p.M @ spread))


def test_theta_and_omega_move_along_the_same_noise():
    noise = np.array([[1.0, 2.0], [3.0, 5.0]])
    both = np.vstack([np.eye(2), 0.5 * np.eye(2)])
    np.testing.assert_array_equal(joint_noise(noise, 0.5), both @ noise @ both.T)
    np.testing.assert_array_equal(joint_noise(noise, 0.0), np.pad(noise, (0, 2)))
