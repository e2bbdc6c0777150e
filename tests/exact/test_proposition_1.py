"""MSPBE, its two forms, its gradient and Proposition 1, Eqs. (18)–(24) and Appendix B."""

import itertools

import numpy as np
import pytest

from gqlib.domains import baird_star, random_problem, two_state
from gqlib.learners import v_vector

SETTINGS = [(0.0, 0.0), (0.3, 0.6), (1.0, 0.9), (0.5, 1.0)]


def bellman_residual(p, theta, sigma, lam):
    """B(Φθ) − Φθ on pairs, from the definition of the mixed operator."""
    q = p.features @ theta
    mixed = (1 - sigma) * p.p_pi + sigma * p.p_mu
    return np.linalg.solve(
        np.eye(p.n) - p.gamma * lam * p.p_mu, p.rewards + p.gamma * mixed @ q - q
    )


@pytest.mark.parametrize(("sigma", "lam"), SETTINGS)
def test_projected_error_is_weighted_least_squares_with_one_half(sigma, lam):
    rng = np.random.default_rng(4)
    p, theta = random_problem(rng, 4, 3, 5), rng.standard_normal(5)
    pi = p.features @ np.linalg.solve(p.M, p.features.T * p.xi)
    assert pi.shape == (12, 12)  # pairs, not states
    error = pi @ bellman_residual(p, theta, sigma, lam)
    assert 0.5 * error @ (p.xi * error) == pytest.approx(p.mspbe(theta, sigma, lam), rel=1e-10)


@pytest.mark.parametrize(("sigma", "lam"), SETTINGS)
def test_proposition_1_last_line_is_minus_the_gradient_and_twice_the_printed_first_line(sigma, lam):
    rng = np.random.default_rng(5)
    p, theta = random_problem(rng, 4, 3, 5), rng.standard_normal(5)
    slope = np.array(
        [
            (p.mspbe(theta + h, sigma, lam) - p.mspbe(theta - h, sigma, lam)) / 2e-4
            for h in 1e-4 * np.eye(5)
        ]
    )
    step = p.prop1_step(theta, sigma, lam)
    np.testing.assert_allclose(step, -slope, rtol=1e-6, atol=1e-8 * np.abs(slope).max())
    # As printed, −½∇MSPBE: half of what the next line says.
    assert np.linalg.norm(step) / np.linalg.norm(-0.5 * slope) == pytest.approx(2.0, rel=1e-6)


def paths(p, length):
    """All paths of pairs from ξ with their probabilities."""
    for path in itertools.product(range(p.n), repeat=length):
        chance = p.xi[path[0]] * np.prod([p.p_mu[i, j] for i, j in itertools.pairwise(path)])
        if chance > 0:
            yield path, chance


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_defect_of_a_young_trace_by_all_paths(k):
    p, sigma, lam = two_state(0.9).problem, 0.3, 0.7
    rate, phi, mean = 0.9 * lam, p.features, p.p_pi @ p.features
    a, v = np.zeros((2, 2)), np.zeros((2, 2))
    for path, chance in paths(p, k + 2):
        e = sum(rate ** (k - i) * phi[path[i]] for i in range(k + 1))
        ahead, expected = phi[path[-1]], mean[path[-2]]
        a += chance * np.outer(e, 0.9 * (sigma * ahead + (1 - sigma) * expected) - phi[path[-2]])
        v += chance * 0.9 * np.outer(v_vector(sigma, lam, ahead, expected), e)
    push = np.linalg.matrix_power(p.p_mu.T, k + 1) @ (p.xi[:, None] * phi)
    defect = rate ** (k + 1) * phi.T @ push
    np.testing.assert_allclose(p.M + a.T - v, defect, atol=1e-13)
    assert np.abs(defect).max() > 1e-3


@pytest.mark.parametrize(
    ("reading", "holds"), [("continuing", True), ("terminal", True), ("bootstrap", False)]
)
def test_identity_by_the_reading_of_the_end(reading, holds):
    p = two_state(0.99, reading).problem
    gap = p.M + p.A(0.5, 0.9).T - p.gamma_v(0.5, 0.9)
    lost = 0.99 * 0.9 * ((p.p_mu - p.p_trace) @ p.features).T @ p.trace_weights(0.9)
    np.testing.assert_allclose(gap, lost, atol=1e-12)
    assert (np.abs(gap).max() < 1e-12) == holds


def test_singular_M_any_generalised_inverse_gives_the_same_mspbe():
    star = baird_star(features="classical", reading="expected")
    p, theta = star.problem, star.theta0
    null = np.linalg.svd(p.M)[2][-1]
    assert p.rank_M == p.rank_A(0.3, 0.5) == 7
    other = np.linalg.pinv(p.M) + 3.0 * np.outer(null, null) + np.outer(np.arange(8.0), null)
    np.testing.assert_allclose(p.M @ other @ p.M, p.M, atol=1e-12)
    g = p.td_step(theta, 0.3, 0.5)
    assert 0.5 * g @ other @ g == pytest.approx(p.mspbe(theta, 0.3, 0.5))
    assert abs(null @ p.prop1_step(theta, 0.3, 0.5)) < 1e-10
    # A vector that is not in the range of M would not do.
    assert abs((g + null) @ (other - np.linalg.pinv(p.M)) @ (g + null)) > 1.0


def test_one_sample_of_the_gradient_is_biased_and_two_are_not():
    p, theta = two_state(0.9, rewards=[[1.0, -0.5], [1.0, -0.5]]).problem, np.array([2.0, 0.0])
    change = 0.9 * p.p_pi @ p.features - p.features
    delta, metric = p.rewards + change @ theta, np.linalg.inv(p.M)

    def product(i, j):
        return change[i] * (p.features[i] @ metric @ p.features[j]) * delta[j]

    single = sum(p.xi[i] * product(i, i) for i in range(4))
    double = sum(p.xi[i] * p.xi[j] * product(i, j) for i in range(4) for j in range(4))
    gradient = p.mspbe_gradient(theta, 0.0, 0.0)
    np.testing.assert_allclose(double, gradient, atol=1e-12)
    assert np.abs(single - gradient).max() > 0.1


def test_a_regular_A_makes_M_positive_definite():
    for seed in range(20):
        p = random_problem(np.random.default_rng(seed), 3, 2, 3)
        assert (p.rank_A(0.3, 0.6) == 3) <= (np.linalg.eigvalsh(p.M)[0] > 0)
    # A redundant feature makes both singular, and the same vector is in both null spaces.
    p = baird_star(features="classical", reading="expected").problem
    null = np.linalg.svd(p.M)[2][-1]
    assert np.abs(null @ p.A(0.3, 0.6)).max() < 1e-12
