"""Poisson's equation on one trajectory: identities that fail when a factor changes, other routes, and refusals."""

import numpy as np
import pytest

from gqlib.domains import random_mdp, random_policy, two_state
from gqlib.domains.two_state import FEATURES, MU, PI
from gqlib.learners.corrected import (
    CorrectedProblem,
    VariantTables,
    corrected_gq_step,
    importance_ratios,
    variant_tables,
)
from gqlib.long_run import joint_noise, long_run_covariance
from gqlib.mdp import FiniteMDP
from gqlib.poisson import (
    Affine,
    affine_poisson,
    limit_covariance,
    limit_noise,
    lyapunov_matrix,
    mean_increments,
    poisson_solution,
)
from gqlib.prediction import PredictionProblem
from gqlib.stability import joint_matrix

SIGMA, LAM, ETA = 0.3, 0.8, 1.5
UNWEIGHTED = ("paper", "corrected", "expected")


def two_states():
    moves = np.zeros((2, 2, 2))
    moves[:, 0, 1] = moves[:, 1, 0] = 1.0
    return FiniteMDP(moves, [[1.0, -0.5]] * 2, 0.5), np.array(MU), np.array(PI), np.array(FEATURES)


def random_states(seed=5):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 4, 2, 0.9, concentration=0.3)
    mu, pi = 0.1 + 0.8 * random_policy(rng, 4, 2), random_policy(rng, 4, 2, concentration=0.3)
    return mdp, mu, pi, rng.standard_normal((8, 3))


def period_two():
    """Both actions exchange two states, so the chain of pairs has period 2."""
    swap = np.zeros((2, 2, 2))
    swap[0, :, 1] = swap[1, :, 0] = 1.0
    mdp = FiniteMDP(swap, [[1.0, 0.0], [-0.5, 2.0]], 0.5)
    mu, pi = np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.1, 0.9], [0.8, 0.2]])
    return mdp, mu, pi, np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 2.0]])


CASES = {"two states": two_states(), "random": random_states(), "period two": period_two()}


def case(name, variant="corrected", sigma=SIGMA):
    mdp, mu, pi, features = CASES[name]
    problem = PredictionProblem.on_pairs(mdp, mu, pi, features)
    view = problem if variant == "paper" else CorrectedProblem.of(problem)
    return problem, variant_tables(mdp, mu, pi, features, sigma, variant), view


def increments(problem, tables, lam, eta, i, j, e):
    """H and h of one step i → j, with its trace."""
    d, gamma, phi, u, w = problem.d, problem.gamma, problem.features[i], tables.u[j], tables.w[j]
    top = np.hstack([np.outer(e, gamma * u - phi), -gamma * np.outer(u - lam * w, e)])
    low = eta * np.hstack([np.outer(e, gamma * u - phi), -np.outer(phi, phi)])
    assert top.shape == (d, 2 * d)
    return np.vstack([top, low]), problem.rewards[i] * np.concatenate([e, eta * e])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("variant", UNWEIGHTED)
def test_a_step_of_the_recursion_is_the_step_of_the_library(name, variant):
    mdp, mu, pi, features = CASES[name]
    problem, tables, _ = case(name, variant)
    rng = np.random.default_rng(1)
    z, old = rng.standard_normal(2 * problem.d), rng.standard_normal(problem.d)
    i, j = 0, int(np.argmax(problem.p_mu[0]))
    H, h = increments(problem, tables, LAM, ETA, i, j, problem.gamma * LAM * old + features[i])
    s, a = divmod(j, mdp.n_actions)
    by_state = features.reshape(mdp.n_states, mdp.n_actions, -1)
    theta, omega, _, _ = corrected_gq_step(
        z[: problem.d], z[problem.d :], old, features[i], problem.rewards[i], features[j], pi[s] @ by_state[s],
        rho_next=1.0 if variant == "paper" else importance_ratios(mu, pi)[s, a], sigma=SIGMA, lam=LAM,
        gamma=problem.gamma, alpha=0.1, beta=0.1 * ETA, phi_next_traced=tables.w[j],
    )  # fmt: skip
    np.testing.assert_allclose(np.concatenate([theta, omega]), z + 0.1 * (H @ z + h), rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("variant", UNWEIGHTED)
def test_poissons_equation_holds_for_any_pair_and_trace_and_its_mean_is_the_joint_matrix(
    name, variant
):
    problem, tables, view = case(name, variant)
    found = poisson_solution(problem, tables, LAM, ETA)
    np.testing.assert_allclose(found.J, joint_matrix(view, SIGMA, LAM, ETA), atol=1e-12)
    np.testing.assert_allclose(found.solution[: problem.d], view.fixed_point(SIGMA, LAM), rtol=1e-7)
    np.testing.assert_allclose(found.J @ found.solution, -found.c, atol=1e-9)
    np.testing.assert_array_equal(found.solution[problem.d :], 0.0)
    np.testing.assert_allclose(np.tensordot(problem.xi, found.Psi.constant, 1), 0.0, atol=1e-10)
    rng = np.random.default_rng(0)
    for _ in range(20):
        i, e = int(rng.integers(problem.n)), rng.standard_normal(problem.d)
        of_step, of_noise = found.Psi(i, e) + found.J, found.chi(i, e)
        for j, p in enumerate(problem.p_mu[i]):
            H, h = increments(problem, tables, LAM, ETA, i, j, e)
            after = problem.gamma * LAM * e + problem.features[j]
            of_step = of_step - p * (H + found.Psi(j, after))
            of_noise = of_noise - p * (H @ found.solution + h + found.chi(j, after))
        np.testing.assert_allclose(of_step, 0.0, atol=1e-9)
        np.testing.assert_allclose(of_noise, 0.0, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("variant", ["paper", "corrected"])
def test_the_noise_agrees_with_the_sum_over_lags(name, variant):
    problem, tables, view = case(name, variant)
    lags = long_run_covariance(problem, tables.u, view.fixed_point(SIGMA, LAM), LAM)
    np.testing.assert_allclose(
        limit_noise(problem, tables, LAM, ETA), joint_noise(lags, ETA), rtol=1e-6, atol=1e-10
    )


def test_random_rewards_add_their_variance():
    """One pair, one feature: the trace is 1/(1 − γλ) = 4/3, and all noise is that of the reward."""
    p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [3.0], [1.0], 0.5)
    noise = limit_noise(
        p, VariantTables(np.ones((1, 1)), np.ones((1, 1)), np.ones(1)), 0.5, 2.0, [[9.0]]
    )
    np.testing.assert_allclose(noise, 16.0 * np.array([[1.0, 2.0], [2.0, 4.0]]), atol=1e-9)


@pytest.mark.parametrize("reading", ["bootstrap", "terminal"])
def test_episodes_that_end_need_the_restarts_in_the_chain_and_not_in_what_is_carried(reading):
    problem = two_state(
        1.0, reading, rewards=[[1.0, -0.5], [1.0, -0.5]]
    ).problem  # γ = 1 is allowed: γλ < 1
    restart = problem.p_trace.copy()
    restart[2] = 0.25  # an episode ends after the third pair
    np.testing.assert_allclose(problem.xi @ restart, problem.xi)
    next_mu, next_pi = problem.p_mu @ problem.features, problem.p_pi @ problem.features
    pull = next_pi + SIGMA * (next_mu - next_pi) - LAM * next_mu
    change = problem.next_features(SIGMA) - problem.features
    H, _ = mean_increments(problem.features, change, pull, problem.rewards, ETA)
    mean, Psi = affine_poisson(restart, problem.p_trace, problem.xi, problem.features, LAM, H)
    np.testing.assert_allclose(mean, joint_matrix(problem, SIGMA, LAM, ETA), atol=1e-12)
    rng = np.random.default_rng(4)
    for i in range(4):
        e = rng.standard_normal(2)
        kept = 0.0 if i == 2 else LAM
        after = sum(restart[i, j] * Psi(j, kept * e + problem.features[j]) for j in range(4))
        np.testing.assert_allclose(Psi(i, e) - after, H(i, e) - mean, atol=1e-10)


def test_lyapunov_and_covariance_equations():
    J, noise = np.array([[-1.0, 3.0], [0.0, -0.5]]), np.array([[2.0, 0.3], [0.3, 1.0]])
    Q, V = lyapunov_matrix(J), limit_covariance(J, noise, 0.25)
    np.testing.assert_allclose(J.T @ Q + Q @ J, -np.eye(2), atol=1e-12)
    K = J + 0.25 * np.eye(2)
    np.testing.assert_allclose(K @ V + V @ K.T, -noise, atol=1e-12)
    np.testing.assert_allclose(limit_covariance(J, noise, 0.0), limit_covariance(J, noise))


def test_an_affine_function_is_its_constant_and_its_slope():
    f = Affine(np.arange(4.0).reshape(2, 2), np.arange(12.0).reshape(2, 3, 2))
    np.testing.assert_array_equal(f(1, [1.0, 0.0, 2.0]), [2.0 + 6.0 + 20.0, 3.0 + 7.0 + 22.0])
