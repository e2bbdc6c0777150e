"""The parts of the textbook's GQ(σ, λ) by hand: coefficients, a step, tables, views, noise, and what is refused."""

import numpy as np
import pytest

from gqlib import FiniteMDP, PredictionProblem
from gqlib.domains import random_mdp
from gqlib.learners.textbook import (
    TextbookProblem,
    TracedProblem,
    conditional_noise,
    expected_trace,
    textbook_gq_step,
    textbook_tables,
    trace_coefficients,
)

# Ratios 2½ and ½, then 0 and 2; neither policy takes the last action.
MU, PI = (
    np.array([[0.25, 0.75, 0.0], [0.5, 0.5, 0.0]]),
    np.array([[0.625, 0.375, 0.0], [0.0, 1.0, 0.0]]),
)


@pytest.mark.parametrize(
    ("rule", "given", "wanted"),
    [
        ("tree_backup", {}, [[0.625, 0.375, 0.0], [0.0, 1.0, 0.0]]),
        ("importance", {}, [[2.5, 0.5, 0.0], [0.0, 2.0, 0.0]]),
        ("retrace", {}, [[1.0, 0.5, 0.0], [0.0, 1.0, 0.0]]),
        ("uncut", {}, [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]]),
        ("abq", {}, [[0.625, 0.375, 0.0], [0.0, 1.0, 0.0]]),
        ("abq", {"psi": 0.5}, [[0.3125, 0.1875, 0.0], [0.0, 0.5, 0.0]]),
        ("abq", {"psi": 1.5}, [[0.9375, 0.5, 0.0], [0.0, 1.0, 0.0]]),
        ("abq", {"psi": 9.0}, [[1.0, 0.5, 0.0], [0.0, 1.0, 0.0]]),
        ("textbook", {}, [[0.625, 0.375, 0.0], [0.0, 1.0, 0.0]]),
        ("textbook", {"sigma": 0.5}, [[1.5625, 0.4375, 0.0], [0.0, 1.5, 0.0]]),
        ("textbook", {"sigma": 1}, [[2.5, 0.5, 0.0], [0.0, 2.0, 0.0]]),
        ("textbook", {"sigma": [[1.0], [0.0]]}, [[2.5, 0.5, 0.0], [0.0, 1.0, 0.0]]),
        (
            "textbook",
            {"sigma": [[1.0, 0.0, 0.5], [0.0, 0.5, 1.0]]},
            [[2.5, 0.375, 0.0], [0.0, 1.5, 0.0]],
        ),
    ],
)
def test_coefficients_by_hand(rule, given, wanted):
    found = trace_coefficients(MU, PI, rule, **given)
    assert found.tolist() == wanted
    assert found.dtype == np.float64
    if rule == "textbook":
        assert trace_coefficients(MU, PI, **given).tolist() == wanted


def test_a_step_by_hand():
    """γλc = ¼: e = ¼(4, 0) + (1, 2) = (2, 2); δ = 1 + ½·θᵀφ̄ − θᵀφ = 1 + ½·3 − (1 − 2) = 3.5; eᵀω = 1."""
    theta, omega, trace, delta = textbook_gq_step(
        [1.0, -1.0], [1.0, -0.5], [4.0, 0.0], [1.0, 2.0], 1.0, [3.0, 0.0], [2.0, 4.0],
        coefficient=1.0, lam=0.5, gamma=0.5, alpha=0.1, beta=0.2,
    )  # fmt: skip
    assert (trace.tolist(), delta) == ([2.0, 2.0], 3.5)
    # θ += 0.1(3.5·(2, 2) − ½·1·((3, 0) − ½(2, 4))), and ω += 0.2·3.5·(2, 2), since φᵀω = 0.
    np.testing.assert_allclose(theta, [1.0 + 0.1 * (7.0 - 1.0), -1.0 + 0.1 * (7.0 + 1.0)])
    np.testing.assert_allclose(omega, [1.0 + 1.4, -0.5 + 1.4])
    again = textbook_gq_step([0.0], [2.0], [1.0], [3.0], 0.0, [0.0], [0.0], coefficient=0.5, lam=0.5, gamma=1.0,
                             alpha=0.0, beta=0.1)  # fmt: skip
    assert again[1].tolist() == [pytest.approx(2.0 - 0.1 * 9.0 * 2.0)]
    assert again[2].tolist() == [3.25]
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match=r"^theta overflows in this step"),
    ):
        textbook_gq_step([0.0], [0.0], [0.0], [1e200], 1e200, [0.0], [0.0], coefficient=1.0, lam=0.5, gamma=1.0,
                         alpha=1.0, beta=0.0)  # fmt: skip


def small():
    rng = np.random.default_rng(0)
    mdp = random_mdp(rng, 2, 2, 0.8)
    mu, pi = np.array([[0.4, 0.6], [0.7, 0.3]]), np.array([[0.5, 0.5], [0.2, 0.8]])
    return mdp, mu, pi, PredictionProblem.on_pairs(mdp, mu, pi, rng.standard_normal((4, 2)))


def test_tables_by_hand():
    mdp, mu, pi, problem = small()
    phi, c = problem.features, np.array([[0.5, 2.0], [1.0, 0.25]])
    mean, carried = np.empty((4, 2)), np.empty((4, 2))
    for s in range(2):
        mean[2 * s : 2 * s + 2] = pi[s, 0] * phi[2 * s] + pi[s, 1] * phi[2 * s + 1]
        carried[2 * s : 2 * s + 2] = (
            mu[s, 0] * c[s, 0] * phi[2 * s] + mu[s, 1] * c[s, 1] * phi[2 * s + 1]
        )
    rho = (pi / mu).ravel()[:, None]
    for given, u, w in (
        ({}, mean, carried),
        ({"expected": True}, mean, carried),
        ({"expected": False}, mean, c.ravel()[:, None] * phi),
        ({"error_sigma": 0.5}, 0.5 * mean + 0.5 * rho * phi, carried),
        ({"error_sigma": 1.0, "expected": False}, rho * phi, c.ravel()[:, None] * phi),
    ):
        tables = textbook_tables(mdp, mu, pi, phi, c, **given)
        np.testing.assert_allclose(tables.u, u, rtol=1e-13)
        np.testing.assert_allclose(tables.w, w, rtol=1e-13)
        assert tables.c.tolist() == [0.5, 2.0, 1.0, 0.25]


def test_views_are_made_of_sums_over_the_future():
    """A = Σ_k Φᵀ Ξ (γλP_c)ᵏ(γP^π − I)Φ, and so on, for c up to what carries on all of the trace."""
    _, mu, pi, problem = small()
    for view, c, sigma in (
        (
            TracedProblem.of(problem, [[0.5, 1.0], [1.25, 0.25]]),
            np.array([0.5, 1.0, 1.25, 0.25]),
            0.3,
        ),
        (
            TextbookProblem.of(problem, mu, pi, 0.3),
            trace_coefficients(mu, pi, sigma=0.3).ravel(),
            0.3,
        ),
        (TextbookProblem.of(problem, mu, pi, 1.0), (pi / mu).ravel(), 1.0),
    ):
        carried, power, total = problem.p_mu * c, np.eye(4), np.zeros((4, 4))
        np.testing.assert_allclose(view.p_trace, carried, rtol=1e-14)
        for _ in range(300):
            total, power = total + power, 0.8 * 0.5 * power @ carried
        left = problem.features.T @ np.diag(problem.xi) @ total
        change = (0.8 * problem.p_pi - np.eye(4)) @ problem.features
        np.testing.assert_allclose(view.A(sigma, 0.5), left @ change, rtol=1e-10)
        np.testing.assert_allclose(view.b(sigma, 0.5), left @ problem.rewards, rtol=1e-10)
        pull = 0.8 * (problem.p_pi - 0.5 * carried) @ problem.features
        np.testing.assert_allclose(view.gamma_v(sigma, 0.5), pull.T @ left.T, rtol=1e-10)
        np.testing.assert_allclose(
            view.next_features(sigma), problem.p_pi @ problem.features, rtol=1e-14
        )


def test_the_expected_trace_is_the_first_moment_over_the_visits():
    _, mu, pi, problem = small()
    c = trace_coefficients(mu, pi, "retrace").ravel()
    first = np.zeros((4, 2))
    for _ in range(200):
        first = problem.xi[:, None] * problem.features + 0.4 * c[:, None] * (problem.p_mu.T @ first)
    np.testing.assert_allclose(
        expected_trace(problem, c, 0.5), first / problem.xi[:, None], rtol=1e-11
    )
    rare = PredictionProblem(
        [[1.0], [2.0]], [[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0]] * 2, [0.0, 0.0], [1.0, 0.0], 0.5
    )
    np.testing.assert_allclose(expected_trace(rare, [1.0, 1.0], 1.0), [[2.0], [0.0]])


def test_the_noise_of_the_next_action_by_enumeration():
    """Of δe − γ(eᵀω)(u − λw) over A' ~ μ(·|S'), with E[eeᵀ] summed along the chain; an end has no next action."""
    rng = np.random.default_rng(3)
    theta, omega = rng.standard_normal((2, 2))
    moves = np.zeros((3, 2, 3))
    moves[:2], moves[2, :, 2] = rng.dirichlet(np.ones(3), size=(2, 2)), 1.0
    mu, pi = (
        np.array([[0.4, 0.6], [0.7, 0.3], [0.5, 0.5]]),
        np.array([[0.5, 0.5], [0.2, 0.8], [0.5, 0.5]]),
    )
    mdp, lam = FiniteMDP(moves, rng.standard_normal((3, 2)), 0.8, terminal=[2]), 0.5
    features = rng.standard_normal((6, 2))
    problem = PredictionProblem.on_pairs(mdp, mu, pi, features, start=[1.0, 0.0, 0.0])
    c = trace_coefficients(mu, pi, sigma=0.5)
    tables = textbook_tables(mdp, mu, pi, features, c, expected=False, error_sigma=0.4)
    phi, weights = problem.features, c.ravel()
    first, second = np.zeros((6, 2)), np.zeros((6, 2, 2))
    for _ in range(200):
        kept = 0.8 * lam * weights[:, None] * (problem.p_mu.T @ first)
        cross = phi[:, :, None] * kept[:, None, :]
        squares = (0.8 * lam * weights[:, None, None]) ** 2 * np.einsum(
            "ij,iab->jab", problem.p_mu, second
        )
        second = (
            problem.xi[:, None, None] * phi[:, :, None] * phi[:, None, :]
            + cross
            + cross.transpose(0, 2, 1)
            + squares
        )
        first = problem.xi[:, None] * phi + kept
    total = 0.0
    for pair in range(6):
        for state in range(2):
            pairs, law = [2 * state, 2 * state + 1], mu[state]
            # The direction is K e with K = (θᵀu)I − (u − λw)ωᵀ, so its covariance needs E[eeᵀ] alone.
            maps = [
                0.8
                * (
                    tables.u[j] @ theta * np.eye(2)
                    - np.outer(tables.u[j] - lam * tables.w[j], omega)
                )
                for j in pairs
            ]
            mean = law[0] * maps[0] + law[1] * maps[1]
            for p, one in zip(law, maps, strict=True):
                total += (
                    moves.reshape(6, 3)[pair, state]
                    * p
                    * np.trace((one - mean) @ second[pair] @ (one - mean).T)
                )
    assert conditional_noise(mdp, mu, problem, tables, theta, omega, lam) == pytest.approx(
        total, rel=1e-10
    )
