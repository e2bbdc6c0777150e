"""Conditional variances of a step, against brute force without simulation and the known special cases."""

from __future__ import annotations

import numpy as np
import pytest

from gqlib import FiniteMDP, PredictionProblem
from gqlib.domains import random_mdp, random_policy
from gqlib.learners import gq_step, semi_gradient_step
from gqlib.variance import (
    NoiseParabola,
    action_covariance,
    arrival_moments,
    gq_noise,
    second_moment_limit,
    stationary_moments,
    trace_first_moments,
    trace_second_moments,
)


@pytest.fixture
def case():
    rng = np.random.default_rng(1)
    mdp = random_mdp(rng, 3, 3, 0.9)
    mu, pi = random_policy(rng, 3, 3), random_policy(rng, 3, 3)
    problem = PredictionProblem.on_pairs(mdp, mu, pi, rng.standard_normal((9, 4)))
    theta, omega = rng.standard_normal((2, 4))
    return mdp, mu, pi, problem, theta, omega


def step_covariance(case, pair, state, trace, sigma, lam):
    """Covariance of the GQ direction over A' ~ μ(·|state), by running the reference step for every action."""
    _, mu, pi, problem, theta, omega = case
    phi = problem.features.reshape(3, 3, 4)
    before = (trace - problem.features[pair]) / (0.9 * lam) if lam else np.zeros(4)
    moves = np.array(
        [
            gq_step(
                theta,
                omega,
                before,
                problem.features[pair],
                0.3,
                phi[state, a],
                pi[state] @ phi[state],
                sigma=sigma,
                lam=lam,
                gamma=0.9,
                alpha=1.0,
                beta=0.0,
            )[0]
            - theta
            for a in range(3)
        ]
    )
    centred = moves - mu[state] @ moves
    return (mu[state][:, None] * centred).T @ centred


def test_variance_of_delta_is_sigma_squared_gamma_squared_the_variance_of_the_next_value(case):
    _, mu, pi, problem, theta, _ = case
    phi = problem.features.reshape(3, 3, 4)
    for sigma in (0.0, 0.4, 1.0):
        deltas = np.array(
            [
                semi_gradient_step(
                    theta,
                    np.zeros(4),
                    problem.features[2],
                    0.7,
                    phi[1, a],
                    pi[1] @ phi[1],
                    sigma=sigma,
                    lam=0.5,
                    gamma=0.9,
                    alpha=0.1,
                )[2]
                for a in range(3)
            ]
        )
        value = phi[1] @ theta
        spread = mu[1] @ value**2 - (mu[1] @ value) ** 2
        assert mu[1] @ deltas**2 - (mu[1] @ deltas) ** 2 == pytest.approx(
            sigma**2 * 0.81 * spread, abs=1e-12
        )


def test_the_covariance_of_a_gq_step_is_K_C_K_transposed(case):
    mdp, mu, _, problem, theta, omega = case
    covariance = action_covariance(mdp, mu, problem.features)
    trace = np.array([0.5, -1.0, 2.0, 0.1])
    for sigma, lam in ((0.0, 0.6), (0.6, 0.6), (1.0, 0.3)):
        k = sigma * np.outer(trace, theta) - (sigma - lam) * (trace @ omega) * np.eye(4)
        expected = 0.81 * k @ covariance[2] @ k.T
        np.testing.assert_allclose(
            step_covariance(case, 4, 2, trace, sigma, lam), expected, rtol=1e-9, atol=1e-12
        )


def test_trace_moments_obey_the_recursion_of_the_trace():
    """Iterate the joint moments (mass, ξE[e], ξE[eeᵀ]) of the trace along the chain until they stand still."""
    rng = np.random.default_rng(2)
    mdp = random_mdp(rng, 2, 2, 0.8)
    mu = random_policy(rng, 2, 2)
    problem = PredictionProblem.on_pairs(mdp, mu, mu, rng.standard_normal((4, 3)))
    lam, rho, phi, chain = 0.7, 0.56, problem.features, problem.p_mu
    first, second = np.zeros((4, 3)), np.zeros((4, 3, 3))
    for _ in range(200):
        moved, squared = chain.T @ first, np.einsum("ij,iab->jab", chain, second)
        cross = phi[:, :, None] * moved[:, None, :]
        outer = problem.xi[:, None, None] * phi[:, :, None] * phi[:, None, :]
        second = outer + rho * (cross + cross.transpose(0, 2, 1)) + rho**2 * squared
        first = problem.xi[:, None] * phi + rho * moved
    np.testing.assert_allclose(problem.trace_weights(lam), first, rtol=1e-11)
    np.testing.assert_allclose(trace_second_moments(problem, lam), second, rtol=1e-11, atol=1e-14)


@pytest.mark.slow
def test_the_averaged_noise_is_a_long_run_average(case):
    mdp, mu, _, problem, theta, omega = case
    lam, sigmas = 0.6, (0.0, 0.5, 1.0)
    rng = np.random.default_rng(3)
    covariance = action_covariance(mdp, mu, problem.features)
    pair, trace, totals = 0, np.zeros(4), []
    for _ in range(20_000):
        trace = 0.9 * lam * trace + problem.features[pair]
        state = rng.choice(3, p=mdp.transitions.reshape(9, 3)[pair])
        row = []
        for sigma in sigmas:
            k = sigma * np.outer(trace, theta) - (sigma - lam) * (trace @ omega) * np.eye(4)
            row.append(0.81 * np.trace(k @ covariance[state] @ k.T))
        totals.append(row)
        pair = 3 * state + rng.choice(3, p=mu[state])
    batches = np.array(totals).reshape(40, 500, 3).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(40)
    parabola = gq_noise(mdp, mu, problem, theta, omega, lam)
    assert (np.abs(batches.mean(axis=0) - parabola(sigmas)) < 4 * error).all()


def test_the_best_sigma_is_the_minimum_and_lies_inside_for_some_weights(case):
    mdp, mu, _, problem, theta, omega = case
    parabola = gq_noise(mdp, mu, problem, theta, omega, 0.6)
    near = parabola.best + np.array([-1e-3, 0.0, 1e-3])
    assert parabola(near).argmin() == 1
    # without a value gradient only the correction is noisy, with coefficient (σ − λ): least at σ = λ
    assert gq_noise(mdp, mu, problem, np.zeros(4), omega, 0.6).best == pytest.approx(0.6)


def test_semi_gradient_noise_is_least_at_sigma_zero(case):
    mdp, mu, _, problem, theta, _ = case
    parabola = gq_noise(mdp, mu, problem, theta, np.zeros(4), 0.6)
    assert parabola.best == 0.0
    assert parabola(0.0) == 0.0
    assert parabola(1.0) > 0.0


def test_sigma_zero_is_not_free_of_noise_in_gq(case):
    mdp, mu, _, problem, theta, omega = case
    assert gq_noise(mdp, mu, problem, theta, omega, 0.6)(0.0) > 1e-3
    assert gq_noise(mdp, mu, problem, theta, omega, 0.0)(0.0) == 0.0


def test_a_flat_parabola_has_no_best_sigma_and_bad_vectors_are_named(case):
    mdp, mu, _, problem, theta, _ = case
    told = r"^quadratic is 0\.0; it should be positive, or no sigma is better than another$"
    with pytest.raises(ValueError, match=told):
        _ = NoiseParabola(0.0, 0.0, 1.0).best
    with pytest.raises(ValueError, match=r"omega has shape \(2,\)"):
        gq_noise(mdp, mu, problem, theta, [0.0, 1.0], 0.5)
    with pytest.raises(ValueError, match=r"features has shape \(2, 1\)"):
        action_covariance(mdp, mu, [[1.0], [2.0]])


def test_one_action_has_no_action_noise():
    mdp = FiniteMDP([[[0.5, 0.5]], [[1.0, 0.0]]], [[1.0], [0.0]], 0.9)
    problem = PredictionProblem.on_pairs(mdp, [[1.0], [1.0]], [[1.0], [1.0]], [[1.0], [2.0]])
    assert gq_noise(mdp, [[1.0], [1.0]], problem, [3.0], [2.0], 0.5)(0.7) == 0.0


def test_stationary_moments_are_the_limit_of_the_moment_recursion_path_by_path():
    """Propagate E[θ; j] and E[θθᵀ; j] over transitions i → j with the reference step until they stand still."""
    rng = np.random.default_rng(4)
    mdp = random_mdp(rng, 2, 2, 0.5)
    mu, pi = random_policy(rng, 2, 2), random_policy(rng, 2, 2)
    phi, sigma, alpha = rng.standard_normal((4, 2)), 0.6, 0.1
    problem = PredictionProblem.on_pairs(mdp, mu, pi, phi)

    def affine(i, j):
        state = j // 2
        seen = (phi[i], problem.rewards[i], phi[j], pi[state] @ phi[2 * state : 2 * state + 2])
        step = [
            semi_gradient_step(x, np.zeros(2), *seen, sigma=sigma, lam=0.0, gamma=0.5, alpha=alpha)[
                0
            ]
            for x in (np.zeros(2), np.eye(2)[0], np.eye(2)[1])
        ]
        return np.column_stack([step[1] - step[0], step[2] - step[0]]), step[0]

    maps = {(i, j): affine(i, j) for i in range(4) for j in range(4)}
    first, second = np.zeros((4, 2)), np.zeros((4, 2, 2))
    for _ in range(1500):
        new_first, new_second = np.zeros((4, 2)), np.zeros((4, 2, 2))
        for (i, j), (g, c) in maps.items():
            p = problem.p_mu[i, j]
            new_first[j] += p * (g @ first[i] + problem.xi[i] * c)
            mixed = np.outer(g @ first[i], c)
            new_second[j] += p * (
                g @ second[i] @ g.T + mixed + mixed.T + problem.xi[i] * np.outer(c, c)
            )
        first, second = new_first, new_second
    mean, square = stationary_moments(mdp, mu, pi, phi, sigma=sigma, alpha=alpha)
    np.testing.assert_allclose(mean, first.sum(axis=0), rtol=1e-8)
    np.testing.assert_allclose(square, second.sum(axis=0), rtol=1e-8)
    assert np.linalg.eigvalsh(square - np.outer(mean, mean)).min() > 0.0


def test_the_stationary_mean_approaches_the_fixed_point_as_the_step_shrinks():
    rng = np.random.default_rng(5)
    mdp = random_mdp(rng, 2, 2, 0.5)
    mu, pi = random_policy(rng, 2, 2), random_policy(rng, 2, 2)
    problem = PredictionProblem.on_pairs(mdp, mu, pi, np.eye(4))
    gaps = [
        np.abs(
            stationary_moments(mdp, mu, pi, np.eye(4), sigma=0.5, alpha=a)[0]
            - problem.fixed_point(0.5, 0.0)
        ).max()
        for a in (0.1, 0.01, 0.001)
    ]
    assert gaps[2] < gaps[1] < gaps[0]
    assert gaps[2] < 1e-2 * max(gaps[0], 1.0)


def test_a_step_too_large_for_second_moments_is_refused(case):
    mdp, mu, pi, problem, _, _ = case
    with pytest.raises(ValueError, match="alpha is 5"):
        stationary_moments(mdp, mu, pi, problem.features, sigma=0.5, alpha=5.0)


def test_traces_that_arrive_at_an_end_do_not_count():
    """From state 0 half of the steps end; a trace of λ = 0 is the feature itself, so E[ee^T; S' = 0] is 2²/2."""
    mdp = FiniteMDP([[[0.5, 0.5]], [[0.0, 1.0]]], [[1.0], [0.0]], 1.0, terminal=[1])
    only = [[1.0], [1.0]]
    problem = PredictionProblem.on_pairs(mdp, only, only, [[2.0], [7.0]], start=[1.0, 0.0])
    assert arrival_moments(mdp, problem, 0.0).ravel().tolist() == [2.0, 0.0]


def test_coefficients_of_a_trace_are_refused_with_what_they_should_be():
    swap = [[0.0, 1.0], [1.0, 0.0]]
    problem = PredictionProblem([[1.0], [2.0]], swap, swap, [0.0, 0.0], [0.5, 0.5], 0.9)
    weighted = PredictionProblem(
        [[1.0], [2.0]], swap, swap, [0.0, 0.0], [0.5, 0.5], 0.9, p_trace=0.5 * np.array(swap)
    )
    told = {
        r"^problem has a trace that is weighted or that another chain carries; its p_trace should be that of the walk, "
        r"or zero, and the weights should be handed in as c$": (weighted, 0.5, None),
        r"^c is \[1\.0, -0\.5\]; trace coefficients should not be negative$": (
            problem,
            0.5,
            [1.0, -0.5],
        ),
        r"^c has shape \(3,\); it should have shape \(2,\)$": (problem, 0.5, [1.0, 1.0, 1.0]),
        r"^c carries on 1\.8 of the trace in the mean at lam 1; it should be less than 1$": (
            problem,
            1.0,
            [2.0, 2.0],
        ),
        r"^lam is 2; it should be in \[0, 1\]$": (problem, 2, None),
        r"^problem is None; it should be a PredictionProblem$": (None, 0.5, None),
    }
    for message, given in told.items():
        with pytest.raises(ValueError, match=message):
            trace_first_moments(*given)
    # A trace that is cut at once is no other one's: zero is allowed.
    cut = PredictionProblem(
        [[1.0], [2.0]], swap, swap, [0.0, 0.0], [0.5, 0.5], 0.9, p_trace=np.zeros((2, 2))
    )
    np.testing.assert_allclose(trace_first_moments(cut, 0.5, [3.0, 3.0]), [[0.5], [1.0]])
    told = r"^lam is 1; from 0\.\d+ on the trace has no second moment, it should be smaller$"
    with pytest.raises(ValueError, match=told):
        trace_second_moments(problem, 1.0, [2.0, 2.0])


def test_the_first_moments_of_a_trace_by_hand():
    """φ = 1, 2 in turn, γλ = ½, c = (1, ½): x₁ = ½·1 + ½·1·x₂ and x₂ = ½·2 + ½·½·x₁, each of which begins at ξφ."""
    swap = [[0.0, 1.0], [1.0, 0.0]]
    problem = PredictionProblem([[1.0], [2.0]], swap, swap, [0.0, 0.0], [0.5, 0.5], 1.0)
    found = trace_first_moments(problem, 0.5, [1.0, 0.5])
    np.testing.assert_allclose(found, np.linalg.solve([[1.0, -0.5], [-0.25, 1.0]], [[0.5], [1.0]]))


def test_a_parabola_refuses_what_is_not_finite():
    with pytest.raises(ValueError, match=r"^sigma is nan; it should be finite$"):
        NoiseParabola(1.0, 2.0, 3.0)(np.nan)
    np.testing.assert_array_equal(NoiseParabola(1.0, 2.0, 3.0)([0.0, 2.0]), [3.0, 11.0])
    assert NoiseParabola(2.0, -1.0, 3.0).best == 0.25


def test_a_trace_that_all_but_explodes_is_told_from_one_that_does_to_rounding():
    """One index, c = 2 and γ = ½: e_k = λe_{k−1} + 1, so the moments are (1 − λ)⁻¹ and (1 − λ)⁻², up to λ = 1."""
    p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.5)
    assert second_moment_limit(p, [2.0]) == 1.0
    lam = 1.0 - 2.0**-20
    np.testing.assert_allclose(trace_first_moments(p, lam, [2.0]), [[2.0**20]])
    np.testing.assert_allclose(trace_second_moments(p, lam, [2.0]), [[[2.0**40]]])
    for near in (1.0 - 1e-10, 1.0):
        with pytest.raises(
            ValueError,
            match=r"^c carries on 1 of the trace in the mean at lam 1; it should be less",
        ):
            trace_first_moments(p, near, [2.0])
        with pytest.raises(
            ValueError, match=r"^lam is 1; from 1 on the trace has no second moment"
        ):
            trace_second_moments(p, near, [2.0])
    with pytest.raises(ValueError, match=r"^lam is 1\.5; it should be in \[0, 1\]$"):
        trace_second_moments(p, 1.5, [2.0])


def test_where_nothing_is_carried_on_the_second_moment_is_always_finite():
    myopic = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.0)
    assert second_moment_limit(myopic, [2.0]) == np.inf
    p = PredictionProblem([[3.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.5)
    assert second_moment_limit(p, [0.0]) == np.inf
    np.testing.assert_array_equal(trace_second_moments(p, 1.0, [0.0]), [[[9.0]]])


def test_problems_on_other_pairs_are_refused_and_so_is_a_step_at_the_very_limit():
    mdp = FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 0.0)
    other = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.5)
    with pytest.raises(
        ValueError, match=r"^problem has 1 indices; it should have 2, the pairs of mdp$"
    ):
        arrival_moments(mdp, other, 0.5)
    # γ = 0 and φ = 1: θ goes to (1 − α)θ + αr, whose second moment stands still at α = 2 without settling.
    one = FiniteMDP([[[1.0]]], [[1.0]], 0.0)
    told = r"^alpha is 2; at spectral radius 1 of the moments it should be smaller$"
    with pytest.raises(ValueError, match=told):
        stationary_moments(one, [[1.0]], [[1.0]], [[1.0]], sigma=0.5, alpha=2.0)
    mean, second = stationary_moments(one, [[1.0]], [[1.0]], [[1.0]], sigma=0.5, alpha=1.75)
    np.testing.assert_allclose((mean[0], second[0, 0]), 1.0)
