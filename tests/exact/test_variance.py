"""Conditional variances of a step, against brute force without simulation and the known special cases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gqlib import FiniteMDP, PredictionProblem
from gqlib.domains import random_mdp, random_policy
from gqlib.learners import gq_step, semi_gradient_step
from gqlib.variance import (
    NoiseParabola,
    action_covariance,
    arrival_moments,
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


def test_traces_that_arrive_at_an_end_do_not_count():
    """From state 0 half of the steps end; a trace of λ = 0 is the feature itself, so E[ee^T; S' = 0] is 2²/2."""
    mdp = FiniteMDP([[[0.5, 0.5]], [[0.0, 1.0]]], [[1.0], [0.0]], 1.0, terminal=[1])
    only = [[1.0], [1.0]]
    problem = PredictionProblem.on_pairs(mdp, only, only, [[2.0], [7.0]], start=[1.0, 0.0])
    assert arrival_moments(mdp, problem, 0.0).ravel().tolist() == [2.0, 0.0]
    assert action_covariance(mdp, only, [[2.0], [7.0]]).ravel().tolist() == [0.0, 0.0]


def test_the_first_moments_of_a_trace_by_hand():
    """φ = 1, 2 in turn, γλ = ½, c = (1, ½): x₁ = ½·1 + ½·1·x₂ and x₂ = ½·2 + ½·½·x₁, each of which begins at ξφ."""
    swap = [[0.0, 1.0], [1.0, 0.0]]
    problem = PredictionProblem([[1.0], [2.0]], swap, swap, [0.0, 0.0], [0.5, 0.5], 1.0)
    found = trace_first_moments(problem, 0.5, [1.0, 0.5])
    np.testing.assert_allclose(found, np.linalg.solve([[1.0, -0.5], [-0.25, 1.0]], [[0.5], [1.0]]))


def test_a_parabola_refuses_what_is_not_finite():
    np.testing.assert_array_equal(NoiseParabola(1.0, 2.0, 3.0)([0.0, 2.0]), [3.0, 11.0])
    assert NoiseParabola(2.0, -1.0, 3.0).best == 0.25


def test_a_trace_that_all_but_explodes_is_told_from_one_that_does_to_rounding():
    """One index, c = 2 and γ = ½: e_k = λe_{k−1} + 1, so the moments are (1 − λ)⁻¹ and (1 − λ)⁻², up to λ = 1."""
    p = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.5)
    assert second_moment_limit(p, [2.0]) == 1.0
    lam = 1.0 - 2.0**-20
    np.testing.assert_allclose(trace_first_moments(p, lam, [2.0]), [[2.0**20]])
    np.testing.assert_allclose(trace_second_moments(p, lam, [2.0]), [[[2.0**40]]])
    for near, (moment, told) in itertools.product(
        (1.0 - 1e-10, 1.0),
        (
            (trace_first_moments, r"^c carries on 1 of"),
            (trace_second_moments, r"^lam is 1; from 1 on"),
        ),
    ):
        with pytest.raises(ValueError, match=told):
            moment(p, near, [2.0])


def test_where_nothing_is_carried_on_the_second_moment_is_always_finite():
    myopic = PredictionProblem([[1.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.0)
    assert second_moment_limit(myopic, [2.0]) == np.inf
    p = PredictionProblem([[3.0]], [[1.0]], [[1.0]], [0.0], [1.0], 0.5)
    assert second_moment_limit(p, [0.0]) == np.inf
    np.testing.assert_array_equal(trace_second_moments(p, 1.0, [0.0]), [[[9.0]]])


def test_a_step_at_the_very_limit_is_refused():
    one = FiniteMDP([[[1.0]]], [[1.0]], 0.0)
    with pytest.raises(ValueError, match=r"^alpha is 2; at spectral radius 1 of the moments"):
        stationary_moments(one, [[1.0]], [[1.0]], [[1.0]], sigma=0.5, alpha=2.0)
    mean, second = stationary_moments(one, [[1.0]], [[1.0]], [[1.0]], sigma=0.5, alpha=1.75)
    np.testing.assert_allclose((mean[0], second[0, 0]), 1.0)
