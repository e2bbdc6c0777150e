"""Emphatic TD(λ) in the mean: follow-on, emphasis, the matrix and why it is definite, and the variance."""

import numpy as np
import pytest

from gqlib import FiniteMDP, PredictionProblem
from gqlib.domains import random_mdp, random_policy, two_state
from gqlib.emphatic import (
    emphasis,
    emphatic_matrix,
    emphatic_vector,
    followon,
    followon_limit,
    followon_second_moment,
)
from gqlib.learners.corrected import importance_ratios

RATIOS = np.array([2.0, 0.0, 2.0, 0.0])  # of the two-state example


def drawn(seed, gamma=0.9, features=3):
    """A random problem on pairs, and its ratios."""
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 4, 2, gamma, concentration=0.3)
    mu, pi = 0.1 + 0.8 * random_policy(rng, 4, 2), random_policy(rng, 4, 2, concentration=0.3)
    problem = PredictionProblem.on_pairs(mdp, mu, pi, rng.standard_normal((8, features)))
    return problem, importance_ratios(mu, pi).ravel()


def ending(gamma=0.9):
    """Episodes: state 1 leads to state 2 or to the end, state 2 to the end."""
    moves = np.zeros((3, 2, 3))
    moves[0, 0, 1] = moves[0, 1, 2] = moves[1, :, 2] = moves[2, :, 2] = 1.0
    mdp = FiniteMDP(moves, [[1.0, -0.5], [2.0, 0.0], [0.0, 0.0]], gamma, terminal=[2])
    features = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    mu, pi = [[0.5, 0.5]] * 3, [[0.9, 0.1]] * 3
    return PredictionProblem.on_pairs(mdp, mu, pi, features, start=[1.0, 0.0, 0.0])


def test_two_state_in_closed_form():
    for gamma in (0.5, 0.99):
        p = two_state(gamma).problem
        entered = 0.25 + gamma / 2
        forever = (0.25 + gamma / 4 + gamma**2 / 2) / (1 - gamma)
        np.testing.assert_allclose(followon(p), [entered, 0.25, forever, 0.25], rtol=1e-12)
        wanted = [[-(5 + 4 * gamma + 4 * gamma**2) / 4, 0.0], [3 * gamma / 4, -1.25]]
        np.testing.assert_allclose(emphatic_matrix(p, 0.0), wanted, atol=1e-12)
    p = two_state(0.5).problem
    assert followon_second_moment(p, RATIOS).sum() == pytest.approx(6.0)
    assert followon_limit(p, RATIOS.reshape(2, 2)) == pytest.approx(2**-0.5)


@pytest.mark.parametrize("lam", [0.0, 0.7, 1.0])
@pytest.mark.parametrize(
    "problem", [drawn(1)[0], drawn(2, 0.99)[0], two_state(0.99).problem, ending()]
)
def test_the_matrix_is_negative_definite_and_the_sums_are_why(problem, lam):
    n, gamma, chain = problem.n, problem.gamma, problem.p_pi
    interest = np.random.default_rng(0).random(n) + 0.1
    f, g = followon(problem, interest), emphasis(problem, lam, interest)
    np.testing.assert_allclose(f, problem.xi * interest + gamma * chain.T @ f)
    np.testing.assert_allclose(g, f - gamma * lam * chain.T @ f)
    key = g[:, None] * np.linalg.solve(np.eye(n) - gamma * lam * chain, np.eye(n) - gamma * chain)
    np.testing.assert_allclose(key.sum(axis=0), problem.xi * interest, atol=1e-12)
    assert (key - np.diag(key.diagonal()) <= 1e-12).all()
    assert (key.sum(axis=1)[problem.xi > 0] > 0).all()
    a, rows = emphatic_matrix(problem, lam, interest), problem.row_basis
    np.testing.assert_allclose(a, -problem.features.T @ key @ problem.features, atol=1e-10)
    assert np.linalg.eigvalsh(rows @ (a + a.T) @ rows.T).max() < 0


def test_on_policy_with_lambda_one_nothing_changes():
    """There every ratio is 1, F = i/(1 − γ), and λ = 1 leaves the plain trace."""
    p, _ = drawn(3)
    same = PredictionProblem(p.features, p.p_mu, p.p_mu, p.rewards, p.xi, p.gamma)
    np.testing.assert_allclose(followon(same), p.xi / (1 - p.gamma))
    np.testing.assert_allclose(emphatic_matrix(same, 1.0), same.A(0.0, 1.0))
    np.testing.assert_allclose(emphatic_vector(same, 1.0), same.b(0.0, 1.0))
    np.testing.assert_allclose(emphatic_matrix(same, 0.0), same.A(0.0, 0.0) / (1 - p.gamma))


@pytest.mark.parametrize("lam", [0.0, 0.6, 1.0])
def test_a_table_has_the_values_of_the_target(lam):
    p, _ = drawn(4)
    table = PredictionProblem(np.eye(8), p.p_mu, p.p_pi, p.rewards, p.xi, p.gamma)
    theta = np.linalg.solve(emphatic_matrix(table, lam), -emphatic_vector(table, lam))
    np.testing.assert_allclose(theta, np.linalg.solve(np.eye(8) - p.gamma * p.p_pi, p.rewards))


def test_second_moment_by_iteration_and_at_its_limit():
    p, rho = drawn(5, 0.5)
    assert p.gamma < followon_limit(p, rho)
    f, interest = followon(p), np.ones(8)
    found = np.zeros(8)
    for _ in range(400):
        found = 0.25 * rho**2 * (p.p_mu.T @ found) + 2 * 0.5 * rho * (p.p_mu.T @ f) + p.xi
    np.testing.assert_allclose(followon_second_moment(p, rho, interest), found, rtol=1e-9)
    for gamma, finite in ((0.7, True), (0.71, False)):
        q = two_state(gamma).problem
        assert (gamma < followon_limit(q, RATIOS)) == finite


def test_no_ratio_no_limit():
    p = PredictionProblem(np.eye(2), [[0, 1], [0, 1]], [[0, 1], [0, 0]], [0, 0], [0.5, 0.5], 0.5)
    assert followon_limit(p, [1.0, 1.0]) == np.inf
