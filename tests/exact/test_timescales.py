"""The step ratio η of GQ(σ, λ): the joint matrix, its bounds and its limits."""

import itertools

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

from gqlib import PredictionProblem
from gqlib.domains import baird_star, random_problem, two_state
from gqlib.stability import joint, joint_matrix, spectral_abscissa
from gqlib.timescales import (
    eta_crossings,
    eta_star,
    mean_matrices,
    necessary_eta,
    pencil,
    rare_action_problem,
    search_rare_action,
    sufficient_eta,
)

RARE = [[1.25, 1.5], [0.75, -0.25]]


@pytest.mark.parametrize("seed", range(5))
def test_determinant_of_the_pencil_and_only_this_order_of_a_and_its_transpose(seed):
    p = random_problem(np.random.default_rng(seed), 4, 2, 3)
    a, m, v = mean_matrices(p, 0.3, 0.6)
    whole = joint_matrix(p, 0.3, 0.6, 0.7)
    # In orthonormal coordinates of a full row space, the same eigenvalues.
    np.testing.assert_allclose(
        np.sort_complex(np.linalg.eigvals(joint(a, m, v, 0.7))),
        np.sort_complex(np.linalg.eigvals(whole)),
        atol=1e-10,
    )
    for s in (0.3, -1.1 + 0.4j):
        exact = np.linalg.det(joint(a, m, v, 0.7) - s * np.eye(6))
        assert np.linalg.det(pencil(a, m, 0.7, s)) == pytest.approx(exact, rel=1e-10)
        swapped = s**2 * np.eye(3) + s * (0.7 * m - a) + 0.7 * a.T @ a
        assert abs(np.linalg.det(swapped) - exact) > 1e-4 * abs(exact)


def test_sufficient_bound_is_sufficient_and_necessary_bound_is_necessary():
    for seed in range(20):
        p = random_problem(np.random.default_rng(seed), 4, 2, 3, 0.99, concentration=0.1)
        for lam in (0.0, 0.9):
            enough, least, star = (
                f(p, 0.0, lam) for f in (sufficient_eta, necessary_eta, eta_star)
            )
            assert least <= star + 1e-12 <= enough + 2e-12
            if enough > 0:
                a = p.A(0.0, lam)
                worst = p.features @ eigh((a + a.T) / 2, p.M)[1][:, -1:]
                single = PredictionProblem(worst, p.p_mu, p.p_pi, p.rewards, p.xi, p.gamma)
                assert eta_star(single, 0.0, lam) == pytest.approx(enough)
            for factor in (1.0 + 1e-9, 3.0, 100.0):
                assert spectral_abscissa(joint_matrix(p, 0.0, lam, factor * enough + 1e-9)) < 0


def test_two_state_at_gamma_099():
    p = two_state(0.99).problem
    assert eta_star(p, 0.0, 0.0) == pytest.approx(0.13915402491, abs=1e-9)
    below, above = (spectral_abscissa(joint_matrix(p, 0.0, 0.0, eta)) for eta in (0.139, 0.1393))
    assert below > 0 > above
    assert eta_star(p, 1.0, 0.0) == 0.0
    assert eta_star(p, 0.0, 0.99) == 0.0


def test_baird_needs_a_ratio_far_above_the_grid_of_the_paper():
    p = baird_star(features="classical", reading="expected").problem
    assert eta_star(p, 0.0, 0.99) == pytest.approx(15.7907, abs=1e-3)
    assert necessary_eta(p, 0.0, 0.99) == pytest.approx(5.2724, abs=1e-3)
    rows = p.row_basis
    for eta in 2.0 ** -np.arange(11):
        j = joint_matrix(p, 0.0, 0.99, eta)
        both = np.kron(np.eye(2), rows)
        assert spectral_abscissa(both @ j @ both.T) > 1.0
    assert eta_star(baird_star(features="printed", reading="expected").problem, 0.0, 0.99) == 0.0


def test_as_eta_vanishes_the_eigenvalues_are_those_of_a_and_eta_times_those_of_a():
    for seed in range(6):
        p = random_problem(np.random.default_rng(seed), 4, 2, 2)
        a, m, v = mean_matrices(p, 0.0, 0.5)
        eta = 1e-7
        values = np.linalg.eigvals(joint(a, m, v, eta))
        values = values[np.argsort(np.abs(values))]
        expected = np.linalg.eigvals(a)
        for part, scale in ((values[:2], eta), (values[2:], 1.0)):
            gap = np.abs(part[:, None] / scale - expected)
            assert gap.min(axis=1).max() < 1e-4 * np.abs(expected).max()


def test_as_eta_grows_the_slow_half_is_gradient_descent():
    p = two_state(0.99).problem
    a, m, v = mean_matrices(p, 0.0, 0.0)
    values = np.linalg.eigvals(joint(a, m, v, 1e7))
    slow = np.sort(values[np.argsort(np.abs(values))][:2].real)
    np.testing.assert_allclose(
        slow, np.sort(np.linalg.eigvals(-a.T @ np.linalg.solve(m, a)).real), rtol=1e-4
    )


def test_td_is_stable_and_gq_is_not_in_a_window_of_eta():
    p = rare_action_problem(RARE)
    assert spectral_abscissa(p.A(0.0, 0.0)) == pytest.approx(-0.008433125)
    low, high = eta_crossings(p, 0.0, 0.0)
    assert (low, high) == pytest.approx((0.05465534, 1.2752137), rel=1e-6)
    for eta, stable in (
        (0.9 * low, True),
        (1.1 * low, False),
        (1.0, False),
        (0.9 * high, False),
        (1.1 * high, True),
    ):
        assert (spectral_abscissa(joint_matrix(p, 0.0, 0.0, eta)) < 0) == stable
    assert eta_star(p, 0.0, 0.0) == high


def test_where_proposition_1_fails_no_ratio_is_large_enough():
    p = two_state(0.99, "bootstrap").problem
    assert eta_star(p, 0.0, 0.99) == np.inf


def test_conditional_mean_given_the_pair_is_not_the_mean_field():
    p, theta = two_state(0.9, rewards=[[1.0, -0.5], [1.0, -0.5]]).problem, np.array([2.0, 0.0])
    field = p.td_step(theta, 0.0, 0.5)
    delta = p.rewards + (0.9 * p.next_features(0.0) - p.features) @ theta
    by_pair = delta[:, None] * p.trace_weights(0.5) / p.xi[:, None]  # E[δ_k e_k | (S_k, A_k)]
    np.testing.assert_allclose(p.xi @ by_pair, field, atol=1e-12)
    assert np.linalg.norm(by_pair - field, axis=1).min() > 0.5


def test_the_problem_of_the_rare_action_by_hand():
    p = rare_action_problem(RARE, near=0.5, epsilon=0.25, gamma=0.8)
    np.testing.assert_array_equal(p.features, [[1.0, 0.0], [1.25, 1.5], [0.0, 0.5], [0.75, -0.25]])
    np.testing.assert_allclose(p.xi, [0.375, 0.125, 0.375, 0.125])
    np.testing.assert_allclose(p.p_pi, [[0, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0, 0], [0, 1, 0, 0]])
    np.testing.assert_allclose(p.p_mu[0], [0.0, 0.0, 0.75, 0.25])
    assert p.gamma == 0.8
    assert not p.rewards.any()
    usual = rare_action_problem(RARE)
    assert (usual.gamma, usual.features[2].tolist()) == (0.99, [0.0, 0.2])
    np.testing.assert_allclose(usual.xi, [0.495, 0.005, 0.495, 0.005])


def test_the_search_tries_every_candidate_and_takes_the_widest_gap():
    """Against a problem built for each of them."""
    values, gaps = [-0.5, 1.5], {}
    for far in itertools.product(values, repeat=4):
        p = rare_action_problem(np.reshape(far, (2, 2)))
        a = p.A(0.0, 0.0)
        least = min(-spectral_abscissa(a), spectral_abscissa(joint_matrix(p, 0.0, 0.0, 0.7)))
        gaps[far] = least / np.linalg.norm(a)
    far, gap, hits = search_rare_action(values, 0.7)
    assert gap == pytest.approx(max(gaps.values()))
    assert gaps[tuple(far.ravel())] == pytest.approx(gap)
    assert hits == sum(value > 1.5e-8 for value in gaps.values())


def test_the_pencil_at_a_complex_point_by_hand():
    found = pencil([[1.0, 2.0], [0.0, 3.0]], [[5.0, 0.0], [0.0, 7.0]], 2.0, 1.0 + 2.0j)
    s = 1.0 + 2.0j
    # ηAAᵀ = 2·[[5, 6], [6, 9]].
    np.testing.assert_allclose(found, [[s**2 + 9 * s + 10, -2 * s + 12], [12, s**2 + 11 * s + 18]])


def scaled(p, factor):
    """The same problem with features in other units: A and M grow with the square of the factor, and no η changes."""
    return PredictionProblem(factor * p.features, p.p_mu, p.p_pi, p.rewards, p.xi, p.gamma)


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_crossings_do_not_depend_on_the_units_of_the_features(factor):
    window = scaled(rare_action_problem(RARE), factor)
    np.testing.assert_allclose(eta_crossings(window, 0.0, 0.0), [0.05465534, 1.2752137], rtol=1e-6)
    # A is singular at one σ and has no positive eigenvalue there, so the abscissa is zero for every η, up to rounding.
    p = random_problem(np.random.default_rng(4), 4, 2, 2, 0.99, concentration=0.1)
    sigma = brentq(lambda s: np.linalg.det(p.A(s, 0.0)), 0.0, 1.0, xtol=1e-16)
    assert np.linalg.eigvals(p.A(sigma, 0.0)).real.max() < 1e-15
    assert eta_crossings(scaled(p, factor), sigma, 0.0).tolist() == []


@pytest.mark.parametrize("short", [1e-2, 1e-3, 1e-4, 1e-5])
def test_a_ratio_far_beyond_that_of_the_norms_is_found(short):
    """Two features apart: one state that stays, and w → 2w with features ε and 1, whose second state is rarely visited.

    The second feature asks for a ratio of about 0.3/ε, where the norms of A and M, which the first one sets, are alike.
    """
    stay = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    features, xi = [[1.0, 0.0], [0.0, short], [0.0, 1.0]], [0.5, 0.5 - short**2, short**2]
    p = PredictionProblem(features, stay, stay, [0.0, 0.0, 0.0], xi, 0.9)
    a, m, v = mean_matrices(p, 0.0, 0.0)
    needed = np.max(np.diagonal(a) / np.diagonal(m))
    assert 0.2 < needed * short < 0.4
    assert eta_star(p, 0.0, 0.0) == pytest.approx(needed, rel=1e-6)
    assert (
        spectral_abscissa(joint(a, m, v, 0.99 * needed))
        > 0.0
        > spectral_abscissa(joint(a, m, v, 1.01 * needed))
    )
