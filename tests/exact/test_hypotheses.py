"""Hypotheses of statements in the book and the paper: what fails without them. Evidence for entries in the register."""

import itertools

import numpy as np
import pytest

from gqlib import FiniteMDP, PredictionProblem, tabular
from gqlib.domains import random_mdp, random_policy, random_problem, two_state
from gqlib.stability import critical_sigma, joint_matrix


def test_with_theta_fast_slow_omega_follows_the_transpose_of_a():
    for seed in range(10):
        q = random_problem(np.random.default_rng(seed), 4, 2, 3)
        a, b, m, v = q.A(0.3, 0.6), q.b(0.3, 0.6), q.M, q.gamma_v(0.3, 0.6)
        omega = np.random.default_rng(seed).standard_normal(3)
        theta = np.linalg.solve(a, v @ omega - b)
        np.testing.assert_allclose(a @ theta + b - m @ omega, a.T @ omega, atol=1e-10)


def test_the_projected_field_rests_at_the_solution_only():
    p, radius = two_state(0.99, rewards=[[1.0, -0.5], [1.0, -0.5]]).problem, 20.0
    angles = np.linspace(0.0, 2.0 * np.pi, 721)
    rim = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for sigma in (0.0, 0.25, 0.5, 0.75, 1.0):
        goal = p.fixed_point(sigma, 0.0)
        assert np.linalg.norm(goal) < radius
        push = np.array([p.prop1_step(point, sigma, 0.0) for point in rim])
        outward = (push * rim).sum(axis=1) / radius
        sideways = np.linalg.norm(push - outward[:, None] * rim / radius, axis=1)
        assert not ((outward >= 0.0) & (sideways < 1e-3 * np.abs(outward))).any()
        assert ((push * (goal - rim)).sum(axis=1) > 0.0).all()
    assert critical_sigma(p, 0.0).round(3).tolist() == [0.633]


@pytest.fixture(scope="module")
def border():
    """Both actions exchange two states; A has the eigenvalues ±i·0.291."""
    swap = np.zeros((2, 2, 2))
    swap[0, :, 1] = swap[1, :, 0] = 1.0
    features = [[1.0, 0.0], [-1.0, 2.0], [0.0, 1.0], [2.0, 1.0]]
    return PredictionProblem.on_pairs(
        FiniteMDP(swap, np.zeros((2, 2)), 7 / 9), [[0.9, 0.1]] * 2, [[0.0, 1.0]] * 2, features
    )


def test_on_the_border_the_printed_order_neither_diverges_nor_converges(border):
    a = border.A(0.0, 0.0)
    assert abs(np.trace(a)) < 1e-15
    assert np.linalg.det(a) == pytest.approx(343 / 4050)
    for eta in (1e-3, 1e-4):
        found = np.linalg.eigvals(joint_matrix(border, 0.0, 0.0, eta))
        slow, fast = np.split(found[np.argsort(np.abs(found))], 2)
        np.testing.assert_allclose(slow.real / eta**2, -1.32, atol=0.02)
        np.testing.assert_allclose(np.abs(slow.imag) / eta, 0.291, atol=0.002)
        np.testing.assert_allclose(fast.real / eta, -0.70, atol=0.02)


def norm(matrix):
    return np.abs(matrix).sum(axis=1).max()


def radius_of(matrix):
    return np.abs(np.linalg.eigvals(matrix)).max()


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 1.7, 2.0])
def test_the_contraction_modulus_is_attained_for_every_distance(epsilon):
    one = FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 0.9)
    pi, mu = [[0.0, 1.0]], [[epsilon / 2.0, 1.0 - epsilon / 2.0]]
    for sigma, lam in itertools.product((0.0, 0.3, 0.8), (0.1, 0.5, 0.9)):
        matrix = tabular.mixed_operator(one, pi, mu, sigma, lam)[0]
        assert norm(matrix) == pytest.approx(
            0.9 * (1 - lam + max(lam - sigma, 0.0) * epsilon) / (1 - 0.9 * lam)
        )
        assert radius_of(matrix) == pytest.approx(0.9 * (1 - lam) / (1 - 0.9 * lam), abs=1e-6)


def factor(epsilon, sigma, lam):
    kappa = np.exp(1j * np.linspace(0.0, np.pi, 4001))
    common, apart = abs(1 - lam + lam * kappa), 1 - sigma + abs(sigma - lam + lam * kappa)
    values = common + epsilon / 2.0 * (apart - common)
    return values.max(), kappa[values.argmax()]


def test_below_the_factor_every_iteration_converges():
    for seed in range(150):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng, 4, 3, 0.95, concentration=0.05)
        pi, mu = (random_policy(rng, 4, 3, concentration=0.2) for _ in range(2))
        sigma, lam = rng.random(2)
        if 0.95 * factor(tabular.policy_distance(pi, mu), sigma, lam)[0] < 1.0:
            assert radius_of(tabular.mixed_operator(mdp, pi, mu, sigma, lam)[0]) < 1.0


def test_above_the_factor_a_circle_diverges():
    epsilon, sigma, gamma, lam, states = 1.0, 0.0, 0.95, 0.30, 60
    value, kappa = factor(epsilon, sigma, lam)
    assert gamma * value > 1.0
    w = sigma - lam + lam * kappa
    angles = np.angle(kappa) - np.angle([w, 1 - sigma + w, 1.0])
    turns = np.rint(angles / (2 * np.pi) * states).astype(int) % states
    moves = np.zeros((states, 3, states))
    for action, turn in enumerate(turns):
        moves[np.arange(states), action, (np.arange(states) + turn) % states] = 1.0
    mdp = FiniteMDP(moves, np.zeros((states, 3)), gamma)
    pi, mu = np.tile([0.0, 0.5, 0.5], (states, 1)), np.tile([0.5, 0.5, 0.0], (states, 1))
    matrix = tabular.mixed_operator(mdp, pi, mu, sigma, lam)[0]
    assert tabular.policy_distance(pi, mu) == pytest.approx(epsilon)
    assert radius_of(matrix) > 1.0


def test_features_under_mu_do_not_bound_those_under_pi():
    n = np.arange(1, 41)
    law, rare, odd = 2.0**-n, 2.0 ** (-4 * n), 2.0**n
    second = np.cumsum(law * (1 - rare + rare * odd**2))
    assert second[-1] < 2.0
    np.testing.assert_allclose(np.diff(np.cumsum(law * odd)), 1.0)


def test_omega_of_theta_is_lipschitz_with_the_norm_of_its_matrix():
    p = random_problem(np.random.default_rng(0), 4, 2, 3)
    slope = np.linalg.solve(p.M, p.A(0.3, 0.6))
    _, size, right = np.linalg.svd(slope)
    step = np.linalg.solve(p.M, p.td_step(right[0], 0.3, 0.6) - p.td_step(np.zeros(3), 0.3, 0.6))
    assert np.linalg.norm(step) == pytest.approx(size[0])


def test_the_argument_of_section_9_4_carries_over_to_every_lambda():
    for seed, lam in itertools.product(range(20), (0.0, 0.5, 0.9, 1.0)):
        p = random_problem(np.random.default_rng(seed), 4, 2, 3, 0.95, on_policy=True)
        eye, decay = np.eye(p.n), 0.95 * lam
        key = p.xi[:, None] * np.linalg.solve(eye - decay * p.p_mu, eye - 0.95 * p.p_mu)
        share = 1.0 - 0.95 * (1.0 - lam) / (1.0 - decay)
        assert (key - np.diag(np.diag(key)) < 1e-15).all()
        np.testing.assert_allclose(key.sum(axis=1), share * p.xi, atol=1e-14)
        np.testing.assert_allclose(key.sum(axis=0), share * p.xi, atol=1e-14)


@pytest.mark.parametrize("forward", [True, False])
def test_the_weights_of_equation_10_know_the_future_and_those_of_the_backward_view_do_not(forward):
    p = two_state(0.9, rewards=[[1.0, -0.5], [1.0, -0.5]]).problem
    mean, ends = p.p_pi @ p.features, []
    for seed in (1, 2):
        rest = np.random.default_rng(seed).integers(2, size=300)
        actions = np.r_[np.random.default_rng(0).integers(2, size=12), rest]
        pairs = 2 * np.r_[0, actions[:-1] == 0] + actions
        x, r, ahead = p.features[pairs], p.rewards[pairs], mean[pairs]
        theta, trace = np.array([2.0, 0.0]), np.zeros(2)
        for k in range(10):
            trace = 0.81 * trace + x[k]
            delta = r[k:] + (0.9 * ahead[k:] - x[k:]) @ theta
            theta = theta + 0.05 * (
                0.81 ** np.arange(len(delta)) @ delta * x[k] if forward else delta[0] * trace
            )
        ends.append(theta)
    assert (np.abs(ends[0] - ends[1]).max() > 0.1) == forward
