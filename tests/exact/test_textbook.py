"""The textbook's GQ(σ, λ) and its relatives: identities, special cases to the bit, moments, noise, refusals."""

import itertools

import numpy as np
import pytest

from gqlib import FiniteMDP, PredictionProblem
from gqlib.domains import random_mdp, random_policy, two_state
from gqlib.learners.corrected import (
    VARIANTS,
    CorrectedProblem,
    corrected_gq_step,
    corrected_noise,
    importance_ratios,
    trace_variance_limit,
    variant_tables,
)
from gqlib.learners.ensemble import gq_ensemble, pair_walks
from gqlib.learners.gradient_td import gtd2_step, maei_gq_step
from gqlib.learners.relatives import tree_backup_step
from gqlib.learners.textbook import (
    RULES,
    TextbookProblem,
    TracedProblem,
    conditional_noise,
    expected_trace,
    textbook_gq_step,
    textbook_tables,
    trace_coefficients,
)
from gqlib.long_run import joint_noise, long_run_covariance, stationary_error
from gqlib.stability import critical_sigma, is_hurwitz, joint_matrix
from gqlib.variance import gq_noise, second_moment_limit, trace_first_moments, trace_second_moments


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


@pytest.mark.parametrize("seed", range(10))
def test_matrices_are_the_sum_over_the_visits_that_a_trace_remembers(seed):
    _, mu, pi, problem = instance(seed, features=4)
    s, d = np.random.default_rng(seed).random(2)
    view, c, phi = (
        TextbookProblem.of(problem, mu, pi, s),
        trace_coefficients(mu, pi, sigma=s),
        problem.features,
    )
    total, term = 0.0, problem.xi[:, None] * phi
    for _ in range(600):
        total, term = total + term, 0.9 * d * c.reshape(-1, 1) * (problem.p_mu.T @ term)
    assert np.allclose(
        view.A(s, d), total.T @ (0.9 * problem.p_pi @ phi - phi), rtol=1e-9, atol=1e-12
    )
    assert np.allclose(view.b(s, d), total.T @ problem.rewards, rtol=1e-9, atol=1e-12)
    assert np.allclose(view.gamma_v(s, d), view.M + view.A(s, d).T, rtol=1e-9, atol=1e-12)
    theta = np.random.default_rng(99).standard_normal(4)
    assert np.allclose(
        view.prop1_step(theta, s, d), -view.mspbe_gradient(theta, s, d), rtol=1e-8, atol=1e-11
    )
    assert np.allclose(
        problem.p_mu * c.ravel(), problem.p_pi * (s + (1 - s) * mu).ravel(), rtol=1e-13
    )


@pytest.mark.parametrize("rule", RULES)
def test_a_table_has_the_fixed_point_of_the_target_policy_whatever_the_rule(rule):
    for seed in range(5):
        mdp, mu, pi, table = instance(seed)
        s, d = np.random.default_rng([seed, 1]).random(2)
        c = trace_coefficients(mu, pi, rule, sigma=s, psi=2.0)
        assert np.allclose(
            TracedProblem.of(table, c).fixed_point(0.0, d), mdp.q(pi).ravel(), rtol=1e-8
        )


def test_every_return_of_the_textbook_has_mean_q_at_q_with_a_sigma_for_every_pair():
    """Eq. (7.17) of Sutton and Barto, averaged over all paths of four steps."""
    mdp, mu, pi, _ = instance(0, 2, 2)
    q, v = mdp.q(pi), mdp.v(pi)
    c = trace_coefficients(mu, pi, sigma=np.random.default_rng(2).random((2, 2)))

    def mean_return(s, a, n):
        total = mdp.rewards[s, a]
        for s2, a2 in itertools.product(range(2), range(2)):
            tail = (q[s2, a2] if n == 1 else mean_return(s2, a2, n - 1)) - q[s2, a2]
            total += mdp.transitions[s, a, s2] * mu[s2, a2] * mdp.gamma * (c[s2, a2] * tail + v[s2])
        return total

    for n, s, a in itertools.product((1, 2, 4), (0, 1), (0, 1)):
        assert mean_return(s, a, n) == pytest.approx(q[s, a], rel=1e-12)


@pytest.mark.parametrize("rule", ["textbook", "tree_backup", "importance", "retrace", "abq"])
def test_a_table_with_c_up_to_rho_is_stable_in_the_semi_gradient_for_every_lambda(rule):
    for seed in range(20):
        _, mu, pi, table = instance(seed, 3, 2, discount=0.99)
        s, psi = np.random.default_rng([seed, 3]).random(2)
        view = TracedProblem.of(table, trace_coefficients(mu, pi, rule, sigma=s, psi=3 * psi))
        assert all(is_hurwitz(view.A(0.0, d)) for d in (0.0, 0.5, 0.9, 1.0))


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


def test_coefficients_vanish_where_neither_policy_goes():
    mu, pi = [[0.5, 0.5, 0.0]], [[1.0, 0.0, 0.0]]
    for rule in RULES:
        assert trace_coefficients(mu, pi, rule, sigma=0.5)[0, 2] == 0.0


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


def test_the_tables_at_sigma_one_are_maeis_and_uncut_ones_the_expected_variant(parts):
    mdp, mu, pi, problem = parts
    ones = np.ones((5, 3))
    for c, name, expected in ((importance_ratios(mu, pi), "maei", True), (ones, "expected", True),
                              (importance_ratios(mu, pi), "weighted", False), (ones, "corrected", False)):  # fmt: skip
        ours = textbook_tables(mdp, mu, pi, problem.features, c, expected=expected)
        theirs = variant_tables(mdp, mu, pi, problem.features, 0.0, name)
        assert np.array_equal(ours.u, theirs.u)
        assert np.allclose(ours.w, theirs.w, rtol=1e-14, atol=1e-15)
        assert np.array_equal(ours.c, theirs.c)


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


def test_gradient_tree_backup_of_touati_has_the_same_mean_and_is_stable_at_every_step_ratio(parts):
    _, mu, pi, problem = parts
    view = TextbookProblem.of(problem, mu, pi, 0.0)
    a, m = view.A(0.0, 0.8), view.M
    for eta in (1e-3, 0.1, 1.0, 10.0, 1e3):
        assert is_hurwitz(np.block([[0 * a, -a.T], [eta * a, -eta * m]]))
    theta, omega, phi, mean = np.random.default_rng(4).standard_normal((4, 4))
    sample = np.outer(phi, 0.9 * mean - phi)
    new = gtd2_step(theta, omega, phi, 0.5, mean, gamma=0.9, alpha=0.1, beta=0.2)  # at λ = 0
    assert np.allclose(new[0], theta - 0.1 * sample.T @ omega)


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


def test_second_moments_refuse_a_trace_that_the_problem_weighs_itself():
    """p_trace has c in it, and the second moment needs c²: a weighted view used to give a wrong answer in silence."""
    mdp, mu, pi, problem = instance(3, features=3)
    theta, omega = np.random.default_rng(4).standard_normal((2, 3))
    for view in (
        CorrectedProblem.of(problem, "weighted"),
        TextbookProblem.of(problem, mu, pi, 0.5),
    ):
        calls = {
            trace_second_moments: (view, 0.3),
            trace_first_moments: (view, 0.3),
            second_moment_limit: (view, np.ones(15)),
            gq_noise: (mdp, mu, view, theta, omega, 0.3),
        }
        for function, arguments in calls.items():
            with pytest.raises(
                ValueError, match=r"^problem has a trace that is weighted or that another chain"
            ):
                function(*arguments)
    rho = importance_ratios(mu, pi)
    silent = np.linalg.solve(
        np.eye(15) - (0.9 * 0.3) ** 2 * problem.p_pi.T, np.eye(15)
    )  # what it was made of
    right = np.linalg.solve(
        np.eye(15) - (0.9 * 0.3) ** 2 * (problem.p_mu * rho.ravel() ** 2).T, np.eye(15)
    )
    assert np.abs(silent - right).max() > 0.1
    # what has weights of 0 and 1 alone is none: the corrected view, ends of episodes, an on-policy view
    expected = trace_second_moments(problem, 0.3)
    assert np.array_equal(trace_second_moments(CorrectedProblem.of(problem), 0.3), expected)
    assert trace_second_moments(two_state(0.9, "bootstrap").problem, 0.3).shape == (4, 2, 2)
    on_policy = PredictionProblem.on_pairs(mdp, mu, mu, problem.features)
    assert np.array_equal(
        trace_second_moments(CorrectedProblem.of(on_policy, "weighted"), 0.3), expected
    )
    with pytest.raises(ValueError, match=r"^c is .*negative"):
        trace_second_moments(problem, 0.3, -np.ones(15))


def test_the_second_moment_is_finite_up_to_its_limit_which_falls_with_sigma(parts):
    _, mu, pi, problem = parts
    cs = [trace_coefficients(mu, pi, sigma=s) for s in np.linspace(0, 1, 11)]
    limits = np.array([second_moment_limit(problem, c) for c in cs])
    assert limits[0] > 1 / 0.9
    assert (np.diff(limits) <= 0).all()
    rho = importance_ratios(mu, pi).ravel()
    radius = np.abs(np.linalg.eigvals(problem.p_pi * rho)).max()
    assert limits[-1] == pytest.approx(1 / (0.9 * np.sqrt(radius)), rel=1e-9)
    assert trace_variance_limit(problem, rho) == pytest.approx(limits[-1], rel=1e-12)
    near = trace_second_moments(problem, 0.999 * limits[-1], rho).sum(axis=0).trace()
    assert near > 20 * trace_second_moments(problem, 0.9 * limits[-1], rho).sum(axis=0).trace()
    with pytest.raises(
        ValueError, match=r"^lam is 1; from 0\.\d+ on the trace has no second moment"
    ):
        trace_second_moments(problem, 1.0, rho)
    with pytest.raises(ValueError, match=r"^ratios is .*negative"):
        trace_variance_limit(problem, -rho)
    with pytest.raises(ValueError, match=r"^c carries on 2\.7 of the trace in the mean at lam 1;"):
        trace_first_moments(problem, 1.0, np.full(15, 3.0))


def test_a_target_that_takes_one_action_has_a_sharp_bound_on_sigma():
    m = 0.2
    mdp = FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 0.999999)
    mu, pi = [[m, 1 - m]], [[1.0, 0.0]]
    problem = PredictionProblem.on_pairs(mdp, mu, pi, np.eye(2))
    edge = np.sqrt(m) / (1 + np.sqrt(m))
    for s in (0.0, edge - 1e-3, edge + 1e-3, 1.0):
        limit = second_moment_limit(problem, trace_coefficients(mu, pi, sigma=s))
        assert limit == pytest.approx(np.sqrt(m) / (s + (1 - s) * m) / 0.999999, rel=1e-12)
        assert (limit > 1) == (s < edge)


def test_coefficients_stay_below_one_up_to_the_ratio_of_odds(parts):
    _, mu, pi, _ = parts
    edge = min(1.0, float((mu / (1 - mu) / (pi / (1 - pi))).min()))
    assert trace_coefficients(mu, pi, sigma=edge).max() <= 1 + 1e-12
    assert edge == 1.0 or trace_coefficients(mu, pi, sigma=edge + 1e-6).max() > 1


def test_the_expected_trace_keeps_the_mean_and_takes_variance_away(parts):
    mdp, mu, pi, problem = parts
    c, d, theta = (
        trace_coefficients(mu, pi, sigma=0.3),
        0.5,
        np.random.default_rng(5).standard_normal(4),
    )
    z, u = expected_trace(problem, c, d), textbook_tables(mdp, mu, pi, problem.features, c).u
    delta = (problem.rewards - problem.features @ theta)[:, None] + 0.9 * (u @ theta)
    visit = problem.xi[:, None] * problem.p_mu
    mean = np.einsum("ij,ia->a", visit * delta, z)
    assert np.allclose(mean, TextbookProblem.of(problem, mu, pi, 0.3).td_step(theta, 0.3, d))
    with_e = np.einsum("ij,iab->ab", problem.p_mu * delta**2, trace_second_moments(problem, d, c))
    with_z = np.einsum("ij,ia,ib->ab", visit * delta**2, z, z)
    assert np.linalg.eigvalsh(with_e - with_z).min() > 0
    unseen = PredictionProblem.on_pairs(
        mdp, np.eye(3)[[0] * 5], np.eye(3)[[0] * 5], problem.features
    )
    assert not expected_trace(unseen, np.ones(15), d).reshape(5, 3, 4)[:, 1:].any()


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


def moves_over_actions(parts, tables, theta, omega, traces, states, lam):
    """tr Cov over A' ~ μ(·|S') of the direction that a GQ step takes, from the definition, for many (e, S') at once."""
    mdp, mu, _, _ = parts
    u, w = (
        x.reshape(mdp.n_states, mdp.n_actions, -1)[states] for x in (tables.u, tables.w)
    )  # (runs, actions, d)
    delta = 0.9 * (u @ theta)[:, :, None]
    moves = delta * traces[:, None] - 0.9 * (traces @ omega)[:, None, None] * (u - lam * w)
    law = mu[states][:, :, None]
    return (law * (moves - (law * moves).sum(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*VARIANTS, "textbook"])
def test_the_noise_off_policy_with_a_trace_is_that_of_simulated_steps(name):
    """Off policy and at λ > 0: traces are simulated, the covariance over the next action is enumerated."""
    mdp, mu, pi, problem = parts = instance(6, 3, 2, features=3)
    theta, omega = np.random.default_rng(7).standard_normal((2, 3))
    s, lam, phi = 0.6, 0.5, problem.features
    if name == "textbook":
        tables = textbook_tables(
            mdp, mu, pi, phi, trace_coefficients(mu, pi, sigma=s), expected=False
        )
    else:
        tables = variant_tables(mdp, mu, pi, phi, s, name)
    exact = conditional_noise(mdp, mu, problem, tables, theta, omega, lam)
    if name in ("corrected", "expected"):
        parabola = corrected_noise(
            mdp, mu, pi, problem, theta, omega, lam, expected_trace=name == "expected"
        )
        assert float(parabola(s)) == pytest.approx(exact, rel=1e-10)
    walks = pair_walks(problem, 1000, 330, np.random.default_rng(8))
    traces, total = np.zeros((1000, 3)), np.zeros(1000)
    for k in range(330):
        here, after = walks[:, k], walks[:, k + 1]
        traces = 0.9 * lam * tables.c[here, None] * traces + phi[here]
        if k >= 30:
            total += moves_over_actions(parts, tables, theta, omega, traces, after // 2, lam) / 300
    error = total.std(ddof=1) / np.sqrt(1000)
    assert abs(total.mean() - exact) < 4 * error
    assert error < 0.02 * exact


def test_the_covariance_of_a_corrected_step_is_that_of_its_actions():
    """The matrix, not its trace alone: γ²(σBρφ + λmφ) over the actions of one state, against `corrected_gq_step`."""
    _, mu, pi, problem = instance(9, 3, 3, features=4)
    by_state, rho = problem.features.reshape(3, 3, 4), importance_ratios(mu, pi)
    theta, omega, before = np.random.default_rng(10).standard_normal((3, 4))
    for s, lam in ((0.0, 0.6), (0.4, 0.6), (1.0, 0.3)):
        rates = {"sigma": s, "lam": lam, "gamma": 0.9, "alpha": 1.0, "beta": 0.0}
        e = 0.9 * lam * before + by_state[1, 0]
        moves = np.array([
            corrected_gq_step(theta, omega, before, by_state[1, 0], 0.5, x, pi[2] @ by_state[2], rho_next=r, **rates)[0]
            for x, r in zip(by_state[2], rho[2], strict=True)
        ])  # fmt: skip
        moves = moves - mu[2] @ moves
        m = e @ omega
        mix = (
            s * rho[2][:, None] * by_state[2] @ (np.outer(e, theta) - m * np.eye(4)).T
            + lam * m * by_state[2]
        )
        mix = mix - mu[2] @ mix
        assert np.allclose(
            (mu[2][:, None] * moves).T @ moves, 0.81 * (mu[2][:, None] * mix).T @ mix, rtol=1e-9
        )


def test_the_error_without_control_variate_has_the_same_mean_and_more_noise(parts):
    mdp, mu, pi, problem = parts
    c = trace_coefficients(mu, pi, sigma=0.5)
    with_cv, plain = (
        textbook_tables(mdp, mu, pi, problem.features, c, error_sigma=s) for s in (0.0, 0.5)
    )
    assert np.allclose(problem.p_mu @ with_cv.u, problem.p_mu @ plain.u)
    theta, omega = np.random.default_rng(2).standard_normal((2, 4))
    assert (
        conditional_noise(mdp, mu, problem, with_cv, theta, omega, 0.5) < 1e-25
    )  # rounding, squared
    assert conditional_noise(mdp, mu, problem, plain, theta, omega, 0.5) > 0.1


@pytest.mark.parametrize("s", [0.0, 0.5, 1.0])
def test_long_run_covariance_with_coefficients_is_the_sum_over_lags(s):
    """E[δ_k e_k (δ_{k+l} e_{k+l})ᵀ], carried from lag to lag along the chain, 2000 of them."""
    mdp, mu, pi, problem = instance(4, 2, 2, features=2)
    c = trace_coefficients(mu, pi, sigma=s).ravel()
    lam, chain, phi = 0.4, problem.p_mu, problem.features
    theta = TracedProblem.of(problem, c).fixed_point(0.0, lam)
    u = textbook_tables(mdp, mu, pi, phi, c.reshape(2, 2)).u
    delta = (problem.rewards - phi @ theta)[:, None] + 0.9 * (u @ theta)
    second, first = trace_second_moments(problem, lam, c), trace_first_moments(problem, lam, c)
    fade = 0.9 * lam * c[:, None, None]
    both = fade * np.einsum("ij,iab->jab", chain * delta, second)
    both += np.einsum("ij,ia,jb->jab", chain * delta, first, phi)  # E[δ_k e_k e_{k+1}ᵀ; j]
    one = np.einsum("ij,ia->ja", chain * delta, first)  # E[δ_k e_k; j]
    lagged = np.zeros((2, 2))
    for _ in range(2000):
        lagged += np.einsum("jab,j->ab", both, (chain * delta).sum(axis=1))
        both = fade * np.einsum("ij,iab->jab", chain, both) + np.einsum(
            "ij,ia,jb->jab", chain, one, phi
        )
        one = chain.T @ one
    total = np.einsum("ij,iab->ab", chain * delta**2, second) + lagged + lagged.T
    assert np.allclose(long_run_covariance(problem, u, theta, lam, c), total, rtol=1e-8)
    ones = np.ones(4)
    uncut = CorrectedProblem.of(problem).fixed_point(0.0, lam)
    plain = long_run_covariance(problem, u, uncut, lam)
    assert np.allclose(long_run_covariance(problem, u, uncut, lam, ones), plain, rtol=1e-12)


def test_stationary_error_of_the_textbook_method_agrees_with_runs_at_a_small_step_size():
    mdp, mu, pi, problem = instance(14, 3, 2, features=2)
    c, view, alpha = (
        trace_coefficients(mu, pi, sigma=0.5),
        TextbookProblem.of(problem, mu, pi, 0.5),
        0.01,
    )
    tables, theta = textbook_tables(mdp, mu, pi, problem.features, c), view.fixed_point(0.5, 0.3)
    noise = joint_noise(long_run_covariance(problem, tables.u, theta, 0.3, c), 2.0)
    exact = alpha * stationary_error(problem, joint_matrix(view, 0.5, 0.3, 2.0), noise)
    walks = pair_walks(problem, 200, 4000, np.random.default_rng(15))
    path, diverged = gq_ensemble(
        problem, tables, walks, theta, lam=0.3, alpha=alpha, beta=2 * alpha, every=100
    )
    measured = (((path[10:] - theta) @ problem.features.T) ** 2 @ problem.xi).mean(axis=0)
    assert not diverged.any()
    assert abs(measured.mean() - exact) < 0.1 * exact + 4 * measured.std(ddof=1) / np.sqrt(200)


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_a_view_at_one_sigma_refuses_another(parts):
    _, mu, pi, problem = parts
    view = TextbookProblem.of(problem, mu, pi, 0.5)
    for call in (lambda: view.A(0.4, 0.5), lambda: view.b(0.4, 0.5), lambda: view.gamma_v(0.4, 0.5),
                 lambda: critical_sigma(view, 0.5)):  # fmt: skip
        with pytest.raises(
            ValueError,
            match=r"^sigma is 0(\.4)?; it should be 0\.5, for which this problem was made$",
        ):
            call()
    bare = TextbookProblem(
        problem.features, problem.p_pi, problem.p_pi, problem.rewards, problem.xi, 0.9
    )
    with pytest.raises(
        ValueError, match=r"^sigma is 0\.5; it should be that of TextbookProblem\.of, for which"
    ):
        bare.A(0.5, 0.5)
    with pytest.raises(ValueError, match=r"^mu and pi miss the chains of problem by"):
        TextbookProblem.of(problem, mu, mu, 0.5)


def test_coefficients_refuse_what_has_no_meaning(parts):
    _, mu, pi, _ = parts
    for bad in (1.5, -0.1, np.nan, [0.5, 0.5]):
        with pytest.raises(ValueError, match="sigma is"):
            trace_coefficients(mu, pi, sigma=bad)
    with pytest.raises(ValueError, match="rule is 'watkins'"):
        trace_coefficients(mu, pi, "watkins")
    with pytest.raises(ValueError, match="psi is -1"):
        trace_coefficients(mu, pi, "abq", psi=-1)
    with pytest.raises(ValueError, match="mu is 0 at"):
        trace_coefficients([[1.0, 0.0]], [[0.5, 0.5]])


def test_views_steps_and_moments_refuse_what_has_no_meaning(parts):
    mdp, mu, pi, problem = parts
    with pytest.raises(ValueError, match=r"^c is .*negative"):
        TracedProblem.of(problem, -np.ones((5, 3)))
    with pytest.raises(ValueError, match=r"c carries on 1\.5 of the trace"):
        TracedProblem.of(problem, np.full((5, 3), 1.5))
    with pytest.raises(ValueError, match="c has shape"):
        TracedProblem.of(problem, np.ones((5, 2)))
    with pytest.raises(ValueError, match=r"^problem has a p_trace that is neither p_mu nor zero"):
        TracedProblem.of(CorrectedProblem.of(problem), np.ones(15))
    averaged = PredictionProblem.on_states(mdp, mu, pi, np.eye(5), average_rewards=True)
    with pytest.raises(ValueError, match=r"^problem averages its rewards"):
        TracedProblem.of(averaged, np.ones(5))
    u = textbook_tables(mdp, mu, pi, problem.features, np.ones((5, 3))).u
    with pytest.raises(ValueError, match="theta leaves a mean step"):
        long_run_covariance(problem, u, np.ones(4), 0.5, np.ones(15))
    with pytest.raises(ValueError, match=r"^coefficient is -1"):
        textbook_gq_step(
            [1.0],
            [0.0],
            [0.0],
            [1.0],
            0.0,
            [1.0],
            [1.0],
            coefficient=-1,
            lam=0,
            gamma=0,
            alpha=0,
            beta=0,
        )
