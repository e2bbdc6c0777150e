"""The textbook's GQ(σ, λ) and its relatives: identities, special cases to the bit, moments, noise, refusals."""

import itertools

import numpy as np
import pytest

from gqlib import PredictionProblem
from gqlib.domains import random_mdp, random_policy
from gqlib.learners.corrected import (
    CorrectedProblem,
    corrected_noise,
    importance_ratios,
    variant_tables,
)
from gqlib.learners.ensemble import gq_ensemble, pair_walks
from gqlib.learners.gradient_td import maei_gq_step
from gqlib.learners.relatives import tree_backup_step
from gqlib.learners.textbook import (
    RULES,
    TracedProblem,
    conditional_noise,
    textbook_gq_step,
    textbook_tables,
    trace_coefficients,
)
from gqlib.variance import gq_noise, trace_first_moments, trace_second_moments


def instance(seed, states=5, actions=3, features=None, discount=0.9):
    """MDP, μ (never below 0.1), π and the problem on pairs."""
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states, actions, discount, concentration=0.3)
    mu = 0.1 + (1 - 0.1 * actions) * random_policy(rng, states, actions)
    pi = random_policy(rng, states, actions, concentration=0.3)
    phi = (
        np.eye(states * actions)
        if features is None
        else rng.standard_normal((states * actions, features))
    )
    return mdp, mu, pi, PredictionProblem.on_pairs(mdp, mu, pi, phi)


@pytest.fixture
def parts():
    return instance(1, features=4)


# --- the mean ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_a_table_has_the_fixed_point_of_the_target_policy_whatever_the_rule(rule):
    for seed in range(5):
        mdp, mu, pi, table = instance(seed)
        s, d = np.random.default_rng([seed, 1]).random(2)
        c = trace_coefficients(mu, pi, rule, sigma=s, psi=2.0)
        assert np.allclose(
            TracedProblem.of(table, c).fixed_point(0.0, d), mdp.q(pi).ravel(), rtol=1e-8
        )


# --- special cases, to the bit ----------------------------------------------------------------------------------------


def test_ends_of_the_coefficients_to_the_bit(parts):
    _, mu, pi, problem = parts
    rho = importance_ratios(mu, pi)
    assert np.array_equal(
        trace_coefficients(mu, pi, sigma=0.0), trace_coefficients(mu, pi, "tree_backup")
    )
    assert np.array_equal(trace_coefficients(mu, pi, "tree_backup"), pi)
    assert np.array_equal(
        trace_coefficients(mu, pi, sigma=1.0), trace_coefficients(mu, pi, "importance")
    )
    assert np.array_equal(trace_coefficients(mu, pi, "importance"), rho)
    assert np.array_equal(trace_coefficients(mu, pi, "abq", psi=1.0), pi)
    assert np.array_equal(
        trace_coefficients(mu, pi, "abq", psi=1e6), trace_coefficients(mu, pi, "retrace")
    )
    assert np.allclose(
        trace_coefficients(mu, pi, "abq", psi=1.5), pi * np.minimum(1.5, 1 / np.maximum(mu, pi))
    )
    assert not trace_coefficients(mu, pi, "abq", psi=0.0).any()
    assert np.array_equal(trace_coefficients(mu, pi, "retrace"), np.minimum(1.0, rho))
    by_state = trace_coefficients(mu, pi, sigma=np.array([[0.0], [1.0], [0.0], [1.0], [0.5]]))
    assert np.array_equal(by_state[[0, 2]], pi[[0, 2]])
    assert np.array_equal(by_state[[1, 3]], rho[[1, 3]])
    uncut = TracedProblem.of(problem, trace_coefficients(mu, pi, "uncut"))
    assert np.array_equal(uncut.A(0.0, 0.7), CorrectedProblem.of(problem).A(0.0, 0.7))


def test_the_step_is_tree_backup_and_maeis_to_the_bit(parts):
    _, mu, pi, _ = parts
    for seed in range(20):
        theta, omega, e, phi, mean, other = np.random.default_rng(seed).standard_normal((6, 3))
        rates = {"lam": 0.5, "gamma": 0.9, "alpha": 0.125}
        cut = trace_coefficients(mu, pi, sigma=0.0)[1, 2]
        ours = textbook_gq_step(
            theta, np.zeros(3), e, phi, 0.5, mean, other, coefficient=cut, beta=0.0, **rates
        )
        tree = tree_backup_step(theta, e, phi, 0.5, mean, probability=pi[1, 2], **rates)
        assert np.array_equal(ours[0], tree[0])
        assert np.array_equal(ours[2], tree[1])
        assert ours[3] == tree[2]
        rho = importance_ratios(mu, pi)[1, 2]
        ours = textbook_gq_step(
            theta, omega, e, phi, 0.5, mean, mean, coefficient=rho, beta=0.25, **rates
        )
        maei = maei_gq_step(theta, omega, e, phi, 0.5, mean, rho=rho, beta=0.25, **rates)
        assert all(np.array_equal(a, b) for a, b in zip(ours, maei, strict=True))


def test_the_ensemble_repeats_the_step(parts):
    mdp, mu, pi, problem = parts
    c, phi = trace_coefficients(mu, pi, sigma=0.4), problem.features
    walks = pair_walks(problem, 2, 40, np.random.default_rng(6))
    for expected in (False, True):
        tables = textbook_tables(mdp, mu, pi, phi, c, expected=expected)
        path, diverged = gq_ensemble(
            problem, tables, walks, np.ones(4), lam=0.7, alpha=0.05, beta=0.1
        )
        assert not diverged.any()
        for run, walk in enumerate(walks):
            theta, omega, e = np.ones(4), np.zeros(4), np.zeros(4)
            for here, after in itertools.pairwise(walk):
                state, now = after // 3, phi.reshape(5, 3, 4)
                w = (
                    (mu[state] * c[state]) @ now[state]
                    if expected
                    else c.ravel()[after] * phi[after]
                )
                theta, omega, e, _ = textbook_gq_step(
                    theta, omega, e, phi[here], problem.rewards[here], pi[state] @ now[state], w,
                    coefficient=c.ravel()[here], lam=0.7, gamma=0.9, alpha=0.05, beta=0.1,
                )  # fmt: skip
            assert np.allclose(theta, path[-1, run], rtol=1e-10)


# --- moments ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", ["ones", "textbook", "importance"])
def test_second_moments_are_those_of_the_recursion(c):
    """Iterate (mass, ξE[e], ξE[eeᵀ]) of e' = γλc'e + φ' along the chain until they stand still."""
    _, mu, pi, problem = instance(2, 2, 2, features=3)
    weights = np.ones(4) if c == "ones" else trace_coefficients(mu, pi, c, sigma=0.5).ravel()
    decay, phi, chain = 0.9 * 0.5, problem.features, problem.p_mu
    first, second = np.zeros((4, 3)), np.zeros((4, 3, 3))
    for _ in range(600):
        went = np.einsum("ij,iab->jab", chain, second)
        scaled = decay * weights[:, None] * (chain.T @ first)
        cross = phi[:, :, None] * scaled[:, None, :]
        outer = problem.xi[:, None, None] * phi[:, :, None] * phi[:, None, :]
        second = (
            outer + cross + cross.transpose(0, 2, 1) + (decay * weights[:, None, None]) ** 2 * went
        )
        first = problem.xi[:, None] * phi + scaled
    assert np.allclose(trace_first_moments(problem, 0.5, weights), first, rtol=1e-10, atol=1e-13)
    assert np.allclose(trace_second_moments(problem, 0.5, weights), second, rtol=1e-9, atol=1e-12)
    if c == "ones":
        assert np.allclose(trace_second_moments(problem, 0.5), second, rtol=1e-9, atol=1e-12)


# --- noise ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.0, 0.8])
def test_conditional_noise_is_the_parabolas_where_the_trace_is_uncut(parts, lam):
    mdp, mu, pi, problem = parts
    theta, omega = np.random.default_rng(2).standard_normal((2, 4))
    parabolas = {
        "paper": gq_noise(mdp, mu, problem, theta, omega, lam),
        "corrected": corrected_noise(mdp, mu, pi, problem, theta, omega, lam),
        "expected": corrected_noise(mdp, mu, pi, problem, theta, omega, lam, expected_trace=True),
    }
    for (name, noise), s in itertools.product(parabolas.items(), (0.0, 0.3, 1.0)):
        tables = variant_tables(mdp, mu, pi, problem.features, s, name)
        exact = conditional_noise(mdp, mu, problem, tables, theta, omega, lam)
        assert exact == pytest.approx(float(noise(s)), rel=1e-9, abs=1e-12)


# --- refusals ---------------------------------------------------------------------------------------------------------
