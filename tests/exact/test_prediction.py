"""A_σ, b, M, the fixed point and MSPBE, against sums over paths, other formulas for them, and the paper's claims."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gqlib import FiniteMDP, PredictionProblem
from gqlib.domains import random_mdp, random_policy, random_problem, two_state
from gqlib.stability import critical_sigma

SETTINGS = [(0.0, 0.0), (0.3, 0.5), (1.0, 0.9), (0.7, 1.0)]


def mixed(problem, sigma):
    return (1 - sigma) * problem.p_pi + sigma * problem.p_mu


def forward_sum(problem, sigma, lam, terms):
    """E[Â_k] of Eq. (13), term by term: Σ_m (γλ)^m Φᵀ Ξ P^m (γP^ν − I)Φ, by repeated multiplication alone."""
    row = problem.xi[:, None] * problem.features  # Ξ Φ pushed forward along the chain
    change = problem.gamma * mixed(problem, sigma) @ problem.features - problem.features
    total = np.zeros((problem.d, problem.d))
    for _ in range(terms):
        total += row.T @ change
        row = problem.gamma * lam * problem.p_trace.T @ row
    return total


@pytest.mark.parametrize(("sigma", "lam"), SETTINGS)
def test_A_is_the_forward_sum_of_eq_13(sigma, lam):
    problem = random_problem(np.random.default_rng(1), 3, 2, 4, gamma=0.8)
    np.testing.assert_allclose(
        problem.A(sigma, lam), forward_sum(problem, sigma, lam, 400), rtol=1e-11, atol=1e-13
    )


def test_A_is_the_average_over_every_path():
    """By enumeration of paths (k, k+1, k+2): coefficients of λ^0 and λ^1 of E[φ_k Σ (γλ)^{t−k} Δ_tᵀ]."""
    rng = np.random.default_rng(2)
    mdp = random_mdp(rng, 2, 2, 0.7)
    mu, pi = random_policy(rng, 2, 2), random_policy(rng, 2, 2)
    phi = rng.standard_normal((4, 3))
    problem = PredictionProblem.on_pairs(mdp, mu, pi, phi)
    sigma, orders = 0.4, np.zeros((2, 3, 3))
    for i, j, k in itertools.product(range(4), repeat=3):
        chance = problem.xi[i]
        for here, there in ((i, j), (j, k)):
            chance *= mdp.transitions[here // 2, here % 2, there // 2] * mu[there // 2, there % 2]
        for order, (here, there) in enumerate(((i, j), (j, k))):
            target = pi[there // 2] @ phi[2 * (there // 2) : 2 * (there // 2) + 2]
            delta = 0.7 * (sigma * phi[there] + (1 - sigma) * target) - phi[here]
            orders[order] += chance * np.outer(phi[i], delta)
    np.testing.assert_allclose(problem.A(sigma, 0.0), orders[0], rtol=1e-12)
    step = 1e-6  # A is analytic in λ: a central difference at 0 needs a negative λ, so use A(h) and A(2h)
    slope = (
        4 * problem.A(sigma, step) - problem.A(sigma, 2 * step) - 3 * problem.A(sigma, 0.0)
    ) / (2 * step)
    np.testing.assert_allclose(slope, 0.7 * orders[1], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("sigma", "lam"), SETTINGS)
def test_A_is_the_printed_closed_form_on_pairs(sigma, lam):
    problem = random_problem(np.random.default_rng(3), 4, 3, 5, gamma=0.9)
    eye = np.eye(problem.n)
    inverse = np.linalg.inv(eye - 0.9 * lam * problem.p_mu)
    phi = problem.features
    printed = phi.T @ np.diag(problem.xi) @ inverse @ (0.9 * mixed(problem, sigma) - eye) @ phi
    np.testing.assert_allclose(problem.A(sigma, lam), printed, rtol=1e-10, atol=1e-12)


def test_backward_view_is_the_forward_view_once_the_trace_is_stationary_and_the_defect_of_finite_k():
    """Appendix C: E[e_k Δ_kᵀ] with e_{−1} = 0 misses exactly the tail (γλ)^{k+1} Φᵀ Ξ P^{k+1}(I − γλP)⁻¹(γP^ν − I)Φ."""
    problem = random_problem(np.random.default_rng(4), 3, 2, 3, gamma=0.95)
    sigma, lam, rho = 0.6, 0.9, 0.95 * 0.9
    change = 0.95 * mixed(problem, sigma) @ problem.features - problem.features
    for k in (0, 1, 5, 40):
        finite = forward_sum(problem, sigma, lam, k + 1)
        power = np.linalg.matrix_power(rho * problem.p_mu, k + 1)
        tail = np.linalg.solve(np.eye(problem.n) - rho * problem.p_mu, change)
        defect = problem.features.T @ (problem.xi[:, None] * (power @ tail))
        np.testing.assert_allclose(problem.A(sigma, lam) - finite, defect, rtol=1e-9, atol=1e-13)
    assert np.abs(problem.A(sigma, lam) - forward_sum(problem, sigma, lam, 1)).max() > 1e-2


def test_printed_b_is_wrong_and_the_corrected_b_is_free_of_sigma():
    """(14) sums R_t φ_t; what the update (10) holds is φ_k Σ R_t. (15) mixes rewards that are the same on pairs."""
    problem = random_problem(np.random.default_rng(5), 3, 2, 3, gamma=0.9)
    lam = 0.8
    corrected, push = np.zeros(problem.d), problem.xi[:, None] * problem.features
    for _ in range(300):
        corrected += push.T @ problem.rewards
        push = 0.9 * lam * problem.p_mu.T @ push
    for sigma in (0.0, 0.5, 1.0):
        np.testing.assert_allclose(problem.b(sigma, lam), corrected, rtol=1e-11)
    as_printed = problem.features.T @ (problem.xi * problem.rewards) / (1 - 0.9 * lam)
    assert np.abs(as_printed - corrected).max() > 1e-2


def test_printed_eq_14_agrees_only_where_nothing_is_carried():
    problem = random_problem(np.random.default_rng(5), 3, 2, 3, gamma=0.9)
    np.testing.assert_allclose(
        problem.b(0.3, 0.0), problem.features.T @ (problem.xi * problem.rewards), rtol=1e-12
    )


def test_appendix_A_step_2_breaks_in_the_middle_and_is_right_at_its_end():
    problem = random_problem(np.random.default_rng(6), 3, 2, 3, gamma=0.9)
    lam, phi, eye = 0.7, problem.features, np.eye(6)
    resolvent = np.linalg.inv(eye - 0.9 * lam * problem.p_mu)
    weight = phi.T * problem.xi
    truth = -problem.A(0.0, lam)  # the appendix writes φ − γE_πφ, the negative
    middle = weight @ (eye - 0.9 * (1 - lam) * resolvent @ problem.p_pi) @ phi
    end = weight @ resolvent @ (eye - 0.9 * problem.p_pi) @ phi
    np.testing.assert_allclose(end, truth, rtol=1e-11)
    assert np.abs(middle - truth).max() > 1e-2
    gap = 0.9 * lam * weight @ resolvent @ (problem.p_mu - problem.p_pi) @ phi
    np.testing.assert_allclose(truth - middle, gap, rtol=1e-9, atol=1e-12)


def test_appendix_A_step_1_and_eq_41_hold():
    problem = random_problem(np.random.default_rng(7), 3, 2, 3, gamma=0.9)
    lam, phi = 0.6, problem.features
    p_lambda, power = np.zeros((6, 6)), problem.p_mu
    for ell in range(200):
        p_lambda += (1 - lam) * (0.9 * lam) ** ell * power
        power = power @ problem.p_mu
    eq_41 = (phi.T * problem.xi) @ (phi - 0.9 * p_lambda @ phi)
    np.testing.assert_allclose(-problem.A(1.0, lam), eq_41, rtol=1e-11)


def test_sigma_mixes_policies_and_the_table_converges_to_the_value_of_the_mixture():
    """The fixed point solves q = r + γP^{ν_σ}q with ν_σ = (1−σ)π + σμ, for every λ."""
    rng = np.random.default_rng(8)
    for _ in range(25):
        n_states, n_actions = int(rng.integers(2, 6)), int(rng.integers(2, 4))
        mdp = random_mdp(rng, n_states, n_actions, 0.9)
        mu, pi = (random_policy(rng, n_states, n_actions) for _ in range(2))
        problem = PredictionProblem.on_pairs(mdp, mu, pi, np.eye(n_states * n_actions))
        sigma, lam = rng.random(2)
        nu = (1 - sigma) * pi + sigma * mu
        np.testing.assert_allclose(mixed(problem, sigma), mdp.pair_chain(nu), atol=1e-15)
        np.testing.assert_allclose(problem.fixed_point(sigma, lam), mdp.q(nu).ravel(), rtol=1e-8)


def test_bias_of_the_mixture_is_the_exact_formula():
    rng = np.random.default_rng(9)
    mdp = random_mdp(rng, 4, 3, 0.95)
    mu, pi = random_policy(rng, 4, 3), random_policy(rng, 4, 3)
    for sigma in (0.0, 0.2, 1.0):
        nu = (1 - sigma) * pi + sigma * mu
        drift = (mdp.pair_chain(mu) - mdp.pair_chain(pi)) @ mdp.q(pi).ravel()
        bias = 0.95 * sigma * np.linalg.solve(np.eye(12) - 0.95 * mdp.pair_chain(nu), drift)
        np.testing.assert_allclose(
            mdp.q(nu).ravel() - mdp.q(pi).ravel(), bias, rtol=1e-9, atol=1e-12
        )


def test_on_policy_sigma_has_no_effect_and_A_is_eq_17():
    problem = random_problem(np.random.default_rng(10), 4, 2, 3, on_policy=True)
    for sigma in (0.25, 1.0):
        np.testing.assert_array_equal(problem.A(0.0, 0.8), problem.A(sigma, 0.8))
    eye = np.eye(8)
    eq_17 = (problem.features.T * problem.xi) @ np.linalg.solve(
        eye - 0.9 * 0.8 * problem.p_pi, (0.9 * problem.p_pi - eye) @ problem.features
    )
    np.testing.assert_allclose(problem.A(0.5, 0.8), eq_17, rtol=1e-11)


def test_the_law_of_visits_is_stationary_for_the_mixture_only_on_policy_or_at_sigma_one():
    rng = np.random.default_rng(4)
    mdp = random_mdp(rng, 4, 3, 0.9)
    mu, pi = random_policy(rng, 4, 3), random_policy(rng, 4, 3)
    problem = PredictionProblem.on_pairs(mdp, mu, pi, np.eye(12))
    visits = problem.xi.reshape(4, 3).sum(axis=1)
    moved = (visits[:, None] * pi).ravel()  # by one step of π
    np.testing.assert_allclose(problem.xi @ problem.p_pi, moved, atol=1e-13)
    assert np.abs(moved - problem.xi).max() > 0.01
    for sigma in (0.0, 0.4, 1.0):
        p_sigma = problem.p_pi + sigma * (problem.p_mu - problem.p_pi)
        gap = np.abs(problem.xi @ p_sigma - problem.xi).max()
        assert gap == pytest.approx((1.0 - sigma) * np.abs(moved - problem.xi).max(), abs=1e-13)


def test_on_policy_A_is_negative_definite_on_many_problems():
    rng = np.random.default_rng(11)
    for _ in range(100):
        problem = random_problem(rng, 4, 2, 3, gamma=0.99, on_policy=True, concentration=0.3)
        a = problem.A(0.5, float(rng.random()))
        assert np.linalg.eigvalsh(a + a.T).max() < 0.0


@pytest.mark.parametrize(("sigma", "lam"), SETTINGS)
def test_proposition_1_v_is_M_plus_A_transposed(sigma, lam):
    problem = random_problem(np.random.default_rng(12), 4, 2, 3)
    np.testing.assert_allclose(
        problem.gamma_v(sigma, lam), problem.M + problem.A(sigma, lam).T, rtol=1e-10, atol=1e-13
    )


def test_ranks_are_reported_and_a_redundant_feature_gets_the_least_norm_solution():
    plain = random_problem(np.random.default_rng(14), 4, 2, 2)
    doubled = np.column_stack([plain.features, plain.features[:, 0]])
    problem = PredictionProblem(doubled, plain.p_mu, plain.p_pi, plain.rewards, plain.xi, 0.9)
    assert (problem.rank_M, problem.rank_A(0.5, 0.5), plain.rank_M) == (2, 2, 2)
    theta, single = problem.fixed_point(0.5, 0.5), plain.fixed_point(0.5, 0.5)
    np.testing.assert_allclose(theta, [single[0] / 2, single[1], single[0] / 2], rtol=1e-9)
    np.testing.assert_allclose(problem.td_step(theta, 0.5, 0.5), 0.0, atol=1e-12)
    assert problem.mspbe([1.0, 2.0, 0.0], 0.5, 0.5) == pytest.approx(
        plain.mspbe([1.0, 2.0], 0.5, 0.5), rel=1e-10
    )


def test_a_system_without_a_solution_raises_and_names_the_ranks():
    domain = two_state(0.9, rewards=[[1.0, 0.0], [0.0, 0.0]])
    (sigma,) = critical_sigma(domain.problem, 0.0)
    with pytest.raises(np.linalg.LinAlgError, match="rank 1 of 2"):
        domain.problem.fixed_point(sigma, 0.0)
    assert np.abs(domain.problem.fixed_point(sigma + 1e-3, 0.0)).max() > 50
    np.testing.assert_array_equal(two_state(0.9).problem.fixed_point(sigma, 0.0), 0.0)


def test_rewards_of_the_target_are_averaged_when_given():
    base = random_problem(np.random.default_rng(16), 3, 2, 3)
    other = base.rewards + 1.0
    problem = PredictionProblem(
        base.features, base.p_mu, base.p_pi, base.rewards, base.xi, 0.9, rewards_pi=other
    )
    weights = base.trace_weights(0.5)
    np.testing.assert_allclose(
        problem.b(0.25, 0.5), weights.T @ (0.25 * base.rewards + 0.75 * other), rtol=1e-12
    )


def test_on_states_is_the_reading_with_the_printed_sizes():
    rng = np.random.default_rng(17)
    mdp = random_mdp(rng, 4, 2, 0.9)
    mu, pi = random_policy(rng, 4, 2), random_policy(rng, 4, 2)
    sampled = PredictionProblem.on_states(mdp, mu, pi, np.eye(4))
    averaged = PredictionProblem.on_states(mdp, mu, pi, np.eye(4), average_rewards=True)
    nu = 0.7 * pi + 0.3 * mu
    np.testing.assert_allclose(averaged.fixed_point(0.3, 0.6), mdp.v(nu), rtol=1e-9)
    assert np.abs(sampled.fixed_point(0.3, 0.6) - mdp.v(nu)).max() > 1e-3
    np.testing.assert_allclose(sampled.fixed_point(1.0, 0.6), mdp.v(mu), rtol=1e-9)


def test_trace_weights_are_kept_for_the_last_lam_and_cannot_be_changed():
    problem = random_problem(np.random.default_rng(22), 3, 2, 3)
    half = problem.trace_weights(0.5)
    assert problem.trace_weights(0.5) is half
    for lam in (0.9, 0.5):
        carried = problem.xi[:, None] * problem.features
        carried = np.linalg.solve(np.eye(6) - 0.9 * lam * problem.p_mu.T, carried)
        np.testing.assert_allclose(problem.trace_weights(lam), carried, rtol=1e-12)
    assert not any(x.flags.writeable for x in (half, problem.features, problem.row_basis))


def test_weights_of_an_episodic_problem_are_shares_of_visits():
    """From state 0 to state 1 with probability one half, else stay; state 1 ends. Visits: two and one an episode."""
    moves = [[[0.5, 0.5, 0.0]] * 2, [[0.0, 0.0, 1.0]] * 2, [[0.0, 0.0, 1.0]] * 2]
    mdp = FiniteMDP(moves, [[1.0, 3.0], [5.0, 7.0], [9.0, 9.0]], 1.0, terminal=[2])
    mu, pi = [[0.25, 0.75]] * 3, [[1.0, 0.0]] * 3
    pairs = PredictionProblem.on_pairs(mdp, mu, pi, np.eye(6), start=[1.0, 0.0, 0.0])
    np.testing.assert_allclose(pairs.xi, np.array([2, 6, 1, 3, 0, 0]) / 12, rtol=1e-14)
    states = PredictionProblem.on_states(
        mdp, mu, pi, np.eye(3), start=[0.5, 0.0, 0.5], average_rewards=True
    )
    np.testing.assert_allclose(states.xi, np.array([2, 1, 0]) / 3, rtol=1e-14)
    np.testing.assert_allclose(states.rewards, [2.5, 6.5, 9.0], rtol=1e-14)
    np.testing.assert_allclose(states.rewards_pi, [1.0, 5.0, 9.0], rtol=1e-14)
    np.testing.assert_array_equal(pairs.rewards, [1.0, 3.0, 5.0, 7.0, 9.0, 9.0])
    FiniteMDP([[[1.0, 0.0]], [[0.0, 1.0]]], [[0.0], [0.0]], 0.9, terminal=[1])


def test_a_fixed_point_that_rounding_may_have_made_is_refused():
    problem = two_state(0.9, rewards=[[1.0, 0.0], [0.0, 0.0]]).problem
    (sigma,) = critical_sigma(problem, 0.0)
    with pytest.raises(
        np.linalg.LinAlgError, match=r"^sigma is .* and lam is 0; there A is so near to singular"
    ):
        problem.fixed_point(sigma + 1e-12, 0.0)
    # A thousand times further away it has three digits more, and is given: the bound is on its relative error.
    near, further = (problem.fixed_point(sigma + distance, 0.0) for distance in (1e-9, 1e-8))
    np.testing.assert_allclose(near, 10 * further, rtol=1e-3)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("lam", [0.0, 0.9, 1.0])
def test_a_fixed_point_of_zero_is_found_although_it_has_no_digits(gamma, lam):
    """Gains and losses in turn that one constant feature averages out: θ* = 0, and A is regular."""
    swap, payments = [[0.0, 1.0], [1.0, 0.0]], [0.1, -0.1]
    problem = PredictionProblem([[1.0], [1.0]], swap, swap, payments, [0.5, 0.5], gamma)
    assert abs(problem.fixed_point(0.5, lam).item()) < 1e-14
    for scale in (1e-6, 1e6):  # of the feature; the values, and so what is lost, stay
        scaled = PredictionProblem([[scale], [scale]], swap, swap, payments, [0.5, 0.5], gamma)
        assert abs(scale * scaled.fixed_point(0.5, lam).item()) < 1e-14
    shifted = PredictionProblem([[1.0], [1.0]], swap, swap, [0.1, -0.1 + 1e-9], [0.5, 0.5], gamma)
    assert shifted.fixed_point(0.5, lam).item() == pytest.approx(0.5e-9 / (1.0 - gamma), rel=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_ranks_of_A_depend_neither_on_the_scale_of_the_features_nor_on_idle_ones(scale):
    base = two_state(0.9).problem
    features = scale * np.hstack([base.features, np.zeros((4, 2))])  # as many columns as pairs
    problem = PredictionProblem(features, base.p_mu, base.p_pi, base.rewards, base.xi, 0.9)
    (sigma,) = critical_sigma(base, 0.3)
    assert [problem.rank_A(s, 0.3) for s in (0.0, sigma, 1.0)] == [2, 1, 2]


def test_bounds_on_rounding_are_made_from_the_matrices_of_the_problem():
    base = random_problem(np.random.default_rng(24), 3, 2, 3)
    problem = PredictionProblem(
        base.features,
        base.p_mu,
        base.p_pi,
        base.rewards,
        base.xi,
        0.9,
        p_trace=base.p_pi,
        rewards_pi=base.rewards + 1,
    )
    sigma, lam = 0.3, 0.6
    made = problem.rounding(sigma, lam)
    np.testing.assert_allclose(made.system, np.eye(6) - 0.9 * lam * base.p_pi, rtol=1e-15)
    np.testing.assert_array_equal(made.x, problem.trace_weights(lam))
    white = (
        made.x @ np.linalg.inv(np.linalg.cholesky(problem.M)).T
    )  # Y up to a rotation of its columns
    np.testing.assert_allclose(made.y @ made.y.T, white @ white.T, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(made.features, base.features)
    np.testing.assert_allclose(
        made.change, (0.9 * mixed(problem, sigma) - np.eye(6)) @ base.features, rtol=1e-12
    )
    np.testing.assert_allclose(made.reward, base.rewards + 1 - sigma, rtol=1e-14)
    weighed = np.linalg.svd(np.sqrt(base.xi)[:, None] * base.features, compute_uv=False)
    np.testing.assert_allclose(made.spread, weighed[0] / weighed, rtol=1e-12)
    assert made.mass == pytest.approx(np.sqrt(base.xi.sum()))
