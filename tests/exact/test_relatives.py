"""GQ(σ, λ) and its relatives on the same trajectory: equal to 1e-12, or different for a stated reason."""

from types import SimpleNamespace

import numpy as np
import pytest

from gqlib import PredictionProblem, tabular
from gqlib.domains import random_mdp, random_policy, two_state
from gqlib.domains.base import sample_chain
from gqlib.domains.episodes import Episode
from gqlib.domains.random_walk import random_walk
from gqlib.learners import gq_step, semi_gradient_step
from gqlib.learners.gradient_td import gtd2_step, maei_gq_step, tdc_step
from gqlib.learners.relatives import (
    expected_sarsa_step,
    n_step_q_sigma_return,
    sarsa_lambda_step,
    tree_backup_step,
)

GAMMA, ALPHA, BETA, STEPS = 0.9, 0.02, 0.03, 300
CLOSE = {"rtol": 0.0, "atol": 1e-12}


def walk(on_policy=False, steps=STEPS, seed=3):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 4, 3, GAMMA)
    mu = random_policy(rng, 4, 3)
    pi = mu if on_policy else random_policy(rng, 4, 3)
    phi = rng.standard_normal((12, 3))
    problem = PredictionProblem.on_pairs(mdp, mu, pi, phi)
    path = sample_chain(problem.p_mu, problem.xi, steps, rng)
    pair, after = path[:-1], path[1:]
    expected = np.einsum("sa,sad->sd", pi, phi.reshape(4, 3, 3))[after // 3]
    prob = pi.ravel()[pair]
    return SimpleNamespace(
        problem=problem, phi=phi[pair], reward=problem.rewards[pair], ahead=phi[after], expected=expected,
        prob=prob, rho=prob / mu.ravel()[pair], mdp=mdp, mu=mu, pi=pi, path=path,
    )  # fmt: skip


def gq_run(data, sigma, lam, beta=BETA, omega0=0.5):
    theta, omega, trace = np.ones(3), np.full(3, omega0), np.zeros(3)
    rows = []
    for x, r, ahead, mean in zip(data.phi, data.reward, data.ahead, data.expected, strict=True):
        theta, omega, trace, _ = gq_step(
            theta,
            omega,
            trace,
            x,
            r,
            ahead,
            mean,
            sigma=sigma,
            lam=lam,
            gamma=GAMMA,
            alpha=ALPHA,
            beta=beta,
        )
        rows.append(theta)
    return np.array(rows)


def run(data, step, omega=None, trace=True):
    """θ over the trajectory of a relative: `step` maps (state, k) to the next state, θ first."""
    state = (
        [np.ones(3)]
        + ([np.full(3, omega)] if omega is not None else [])
        + ([np.zeros(3)] if trace else [])
    )
    rows = []
    for k in range(len(data.reward)):
        state = list(step(state, k))
        rows.append(state[0])
    return np.array(rows)


def differ(one, other):
    return np.abs(one - other).max()


def test_gq_with_omega_zero_and_beta_zero_is_semi_gradient_q_sigma_lambda():
    data = walk()
    semi = run(
        data,
        lambda s, k: semi_gradient_step(
            *s, data.phi[k], data.reward[k], data.ahead[k], data.expected[k],
            sigma=0.4, lam=0.8, gamma=GAMMA, alpha=ALPHA,
        )[:-1],
    )  # fmt: skip
    np.testing.assert_allclose(gq_run(data, 0.4, 0.8, beta=0.0, omega0=0.0), semi, **CLOSE)
    assert differ(gq_run(data, 0.4, 0.8), semi) > 1e-3


def sarsa(data, lam):
    return run(
        data,
        lambda s, k: sarsa_lambda_step(
            *s, data.phi[k], data.reward[k], data.ahead[k], lam=lam, gamma=GAMMA, alpha=ALPHA
        )[:-1],
    )


def test_sigma_1_is_sarsa_lambda():
    data = walk()
    np.testing.assert_allclose(gq_run(data, 1.0, 0.8, 0.0, 0.0), sarsa(data, 0.8), **CLOSE)
    assert differ(gq_run(data, 0.9, 0.8, 0.0, 0.0), sarsa(data, 0.8)) > 1e-3


def tree(data, lam, probability):
    return run(
        data,
        lambda s, k: tree_backup_step(
            *s, data.phi[k], data.reward[k], data.expected[k],
            probability=probability[k], lam=lam, gamma=GAMMA, alpha=ALPHA,
        )[:-1],
    )  # fmt: skip


def test_sigma_0_is_q_pi_lambda_and_not_tree_backup():
    data = walk()
    semi = gq_run(data, 0.0, 0.8, 0.0, 0.0)
    np.testing.assert_allclose(semi, tree(data, 0.8, np.ones(STEPS)), **CLOSE)
    assert differ(semi, tree(data, 0.8, data.prob)) > 1e-2
    np.testing.assert_allclose(
        gq_run(data, 0.0, 0.0, 0.0, 0.0), tree(data, 0.0, data.prob), **CLOSE
    )


def test_sigma_0_lambda_0_is_expected_sarsa():
    data = walk()
    plain = run(
        data,
        lambda s, k: expected_sarsa_step(
            *s, data.phi[k], data.reward[k], data.expected[k], gamma=GAMMA, alpha=ALPHA
        )[:-1],
        trace=False,
    )
    np.testing.assert_allclose(gq_run(data, 0.0, 0.0, 0.0, 0.0), plain, **CLOSE)


@pytest.mark.parametrize("lam", [0.0, 0.7, 1.0])
def test_sigma_1_is_tdc_lambda_of_the_behaviour(lam):
    data = walk()
    tdc = run(
        data,
        lambda s, k: tdc_step(
            *s,
            data.phi[k],
            data.reward[k],
            data.ahead[k],
            lam=lam,
            gamma=GAMMA,
            alpha=ALPHA,
            beta=BETA,
        )[:-1],
        omega=0.5,
    )
    np.testing.assert_allclose(gq_run(data, 1.0, lam), tdc, **CLOSE)


def maei(data, lam, rho):
    return run(
        data,
        lambda s, k: maei_gq_step(
            *s, data.phi[k], data.reward[k], data.expected[k],
            rho=rho[k], lam=lam, gamma=GAMMA, alpha=ALPHA, beta=BETA,
        )[:-1],
        omega=0.5,
    )  # fmt: skip


def test_sigma_0_lambda_0_is_gq_of_maei_and_lambda_parts_them():
    data = walk()
    np.testing.assert_allclose(gq_run(data, 0.0, 0.0), maei(data, 0.0, data.rho), **CLOSE)
    assert differ(gq_run(data, 0.0, 0.7), maei(data, 0.7, data.rho)) > 1e-2


def test_tree_backup_on_the_two_state_example_has_the_matrix_of_its_source():
    # Closed form for the continuing chain; Retrace(λ) has the same, since min(1, ρ)μ = πμ there.
    gamma, lam = 0.95, 0.8
    p = two_state(gamma).problem
    cut = p.p_mu * np.array([1.0, 0.0, 1.0, 0.0])  # π(a'|s') is 1 for right, 0 for left
    tb = PredictionProblem(p.features, p.p_mu, p.p_pi, p.rewards, p.xi, gamma, p_trace=cut)
    gl = gamma * lam
    closed = [
        [(12 * gamma - 10 - gl) / (4 * (2 - gl)), 0.0],
        [3 * gamma * (2 - lam) * (2 + gl) / (8 * (2 - gl)), -1.25],
    ]
    np.testing.assert_allclose(tb.A(0.0, lam), closed, atol=1e-12)
    assert differ(p.A(0.0, lam), np.array(closed)) > 0.05


def test_the_mean_of_a_gtd2_step_is_minus_a_transposed_omega():
    p, theta, omega = walk().problem, np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.4])
    ahead = p.next_features(0.0)
    moves = np.zeros((2, 3))
    for i in range(p.n):
        new = gtd2_step(
            theta, omega, p.features[i], p.rewards[i], ahead[i], gamma=GAMMA, alpha=1.0, beta=1.0
        )
        moves += p.xi[i] * np.array([new[0] - theta, new[1] - omega])
    np.testing.assert_allclose(moves[0], -p.A(0.0, 0.0).T @ omega, atol=1e-12)
    np.testing.assert_allclose(moves[1], p.td_step(theta, 0.0, 0.0) - p.M @ omega, atol=1e-12)


@pytest.mark.parametrize("max_steps", [7, 1000])
@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0])
def test_with_one_feature_a_pair_a_step_is_that_of_the_table(sigma, max_steps):
    """Features (1, 0, …), (0, 1, …), …: θ is the table, whether the episode ends or is cut off."""
    task, rng = random_walk(5), np.random.default_rng(8)
    pi = rng.dirichlet((1.0, 1.0), size=7)
    episode = task.episode(pi, rng, max_steps=max_steps)
    assert episode.ended == (max_steps > 7)
    first, phi = rng.standard_normal((7, 2)), np.eye(14).reshape(7, 2, 14)
    theta, trace = first.ravel(), np.zeros(14)
    for k, reward in enumerate(episode.rewards):
        here, after = ((episode.states[t], episode.actions[t]) for t in (k, k + 1))
        goes_on = float(k + 1 < len(episode) or not episode.ended)
        theta, trace, _ = semi_gradient_step(
            theta, trace, phi[here], reward, goes_on * phi[after], goes_on * (pi[after[0]] @ phi[after[0]]),
            sigma=sigma, lam=0.7, gamma=GAMMA, alpha=0.3,
        )  # fmt: skip
    table = tabular.q_sigma_lambda(first, episode, pi, sigma=sigma, lam=0.7, gamma=GAMMA, alpha=0.3)
    np.testing.assert_allclose(theta.reshape(7, 2), table, **CLOSE)
    assert differ(table, first) > 0.1


@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0])
def test_the_n_step_return_is_where_the_table_goes(sigma):
    """With a step size of one, and states that are seen once, the table's first pair moves to the return."""
    rng, n = np.random.default_rng(9), 4
    q, pi, rewards = (
        rng.standard_normal((5, 2)),
        rng.dirichlet((1.0, 1.0), size=5),
        rng.standard_normal(n),
    )
    actions = rng.integers(2, size=n + 1)
    episode = Episode(np.arange(n + 1), actions, rewards, ended=False)
    table = tabular.n_step_q_sigma(q, episode, pi, n=n, sigma=sigma, gamma=GAMMA, alpha=1.0)
    at = np.arange(n + 1), actions
    found = n_step_q_sigma_return(
        q[at], (pi * q).sum(axis=1)[1:], rewards, pi[at][:-1], sigma=sigma, gamma=GAMMA
    )
    assert found == pytest.approx(table[0, actions[0]], abs=1e-12)
    assert abs(found - q[0, actions[0]]) > 0.01
