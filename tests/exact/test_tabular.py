"""The tabular learners: hand-worked numbers, special cases, the paper's misprints, the mixed operator, convergence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gqlib import FiniteMDP, PredictionProblem, tabular
from gqlib.domains.episodes import Episode, sample_episode
from gqlib.domains.random_walk import random_walk

CLOSE = {"rtol": 0.0, "atol": 1e-12}
EPISODES = st.builds(
    lambda seed, ended: make_episode(seed, ended), st.integers(0, 10_000), st.booleans()
)


def make_mdp(seed, gamma=0.9, states=4, actions=3):
    rng = np.random.default_rng(seed)
    return FiniteMDP(
        rng.dirichlet(np.ones(states), size=(states, actions)),
        rng.normal(size=(states, actions)),
        gamma,
    )


def make_policies(seed, states=4, actions=3):
    rng = np.random.default_rng([seed, 1])
    return rng.dirichlet(np.ones(actions), size=states), rng.dirichlet(
        np.ones(actions), size=states
    )


def make_episode(seed, ended, steps=12, states=4, actions=3):
    rng = np.random.default_rng([seed, 2])
    return Episode(
        rng.integers(states, size=steps + 1),
        rng.integers(actions, size=steps + 1),
        rng.normal(size=steps),
        ended,
    )


def make_table(seed, states=4, actions=3):
    return np.random.default_rng([seed, 3]).normal(size=(states, actions))


PI, MU = make_policies(0)
Q = make_table(0)


# --- special cases, on the same trajectory -------------------------------------------------------------------


@given(episode=EPISODES, gamma=st.sampled_from([0.0, 0.7, 1.0]))
@settings(max_examples=20, deadline=None)
def test_q_sigma_at_its_ends_is_expected_sarsa_and_sarsa(episode, gamma):
    at = {"gamma": gamma, "alpha": 0.3}
    zero = tabular.q_sigma(Q, episode, PI, sigma=0.0, **at)
    one = tabular.q_sigma(Q, episode, PI, sigma=1.0, **at)
    np.testing.assert_allclose(zero, tabular.expected_sarsa(Q, episode, PI, **at), **CLOSE)
    np.testing.assert_allclose(one, tabular.sarsa(Q, episode, **at), **CLOSE)


@given(episode=EPISODES, n=st.integers(1, 15))
@settings(max_examples=30, deadline=None)
def test_n_step_q_sigma_at_its_ends_is_tree_backup_and_n_step_sarsa(episode, n):
    at = {"n": n, "gamma": 0.8, "alpha": 0.3}
    zero = tabular.n_step_q_sigma(Q, episode, PI, sigma=0.0, **at)
    one = tabular.n_step_q_sigma(Q, episode, PI, sigma=1.0, **at)
    np.testing.assert_allclose(zero, tabular.n_step_tree_backup(Q, episode, PI, **at), **CLOSE)
    np.testing.assert_allclose(one, tabular.n_step_sarsa(Q, episode, **at), **CLOSE)


@given(episode=EPISODES, sigma=st.sampled_from([0.0, 0.4, 1.0, 1.3]))
@settings(max_examples=20, deadline=None)
def test_one_step_of_every_n_step_method_is_the_one_step_method(episode, sigma):
    at = {"gamma": 0.8, "alpha": 0.3}
    pairs = [
        (tabular.n_step_sarsa(Q, episode, n=1, **at), tabular.sarsa(Q, episode, **at)),
        (
            tabular.n_step_tree_backup(Q, episode, PI, n=1, **at),
            tabular.expected_sarsa(Q, episode, PI, **at),
        ),
        (
            tabular.n_step_q_sigma(Q, episode, PI, n=1, sigma=sigma, **at),
            tabular.q_sigma(Q, episode, PI, sigma=sigma, **at),
        ),
    ]
    for many, one in pairs:
        np.testing.assert_allclose(many, one, **CLOSE)


@given(episode=EPISODES, lam=st.sampled_from([0.0, 0.6, 1.0]))
@settings(max_examples=20, deadline=None)
def test_q_sigma_lambda_at_its_ends_is_q_pi_lambda_and_sarsa_lambda(episode, lam):
    at = {"lam": lam, "gamma": 0.8, "alpha": 0.3}
    zero = tabular.q_sigma_lambda(Q, episode, PI, sigma=0.0, **at)
    one = tabular.q_sigma_lambda(Q, episode, PI, sigma=1.0, **at)
    np.testing.assert_allclose(zero, tabular.q_pi_lambda(Q, episode, PI, **at), **CLOSE)
    np.testing.assert_allclose(one, tabular.sarsa_lambda(Q, episode, **at), **CLOSE)


@given(episode=EPISODES, sigma=st.sampled_from([0.0, 0.4, 1.0]))
@settings(max_examples=20, deadline=None)
def test_without_trace_every_lambda_method_is_the_one_step_method(episode, sigma):
    at = {"gamma": 0.8, "alpha": 0.3}
    pairs = [
        (tabular.sarsa_lambda(Q, episode, lam=0.0, **at), tabular.sarsa(Q, episode, **at)),
        (
            tabular.q_pi_lambda(Q, episode, PI, lam=0.0, **at),
            tabular.expected_sarsa(Q, episode, PI, **at),
        ),
        (
            tabular.q_sigma_lambda(Q, episode, PI, lam=0.0, sigma=sigma, **at),
            tabular.q_sigma(Q, episode, PI, sigma=sigma, **at),
        ),
    ]
    for traced, one in pairs:
        np.testing.assert_allclose(traced, one, **CLOSE)


def test_lambda_one_off_line_is_every_visit_monte_carlo():
    episode, gamma, alpha = make_episode(5, True), 0.8, 0.1
    new = tabular.q_sigma_lambda_offline(
        Q, episode, PI, sigma=1.0, lam=1.0, gamma=gamma, alpha=alpha
    )
    expected = Q.copy()
    for t in range(len(episode)):
        total = episode.rewards[t:] @ gamma ** np.arange(len(episode) - t)
        s, a = episode.states[t], episode.actions[t]
        expected[s, a] += alpha * (total - Q[s, a])
    np.testing.assert_allclose(new, expected, **CLOSE)


def test_q_learning_is_q_zero_with_a_greedy_target_and_not_full_sampling():
    """The paper counts Q-learning among the full-sampling algorithms; it ignores the sampled A_{t+1} altogether."""
    walk, rng = random_walk(5), np.random.default_rng(1)
    episode = walk.episode(walk.uniform_policy(), rng)
    first, gamma, alpha = rng.normal(size=(7, 2)), 0.9, 0.3
    table = first.copy()
    for t in range(len(episode)):  # a greedy target follows the table, so one step at a time
        both = slice(t, t + 2)
        step = Episode(
            episode.states[both], episode.actions[both], episode.rewards[[t]], t == len(episode) - 1
        )
        greedy = np.eye(2)[table.argmax(axis=1)]
        table = tabular.q_sigma(table, step, greedy, sigma=0.0, gamma=gamma, alpha=alpha)
    np.testing.assert_allclose(
        tabular.q_learning(first, episode, gamma=gamma, alpha=alpha), table, **CLOSE
    )
    step = Episode([1, 2], [1, 0], [0.0], False)
    other = Episode([1, 2], [1, 1], [0.0], False)  # the same but for the sampled A_{t+1}
    at = {"gamma": 1.0, "alpha": 1.0}
    assert (tabular.q_learning(first, step, **at) == tabular.q_learning(first, other, **at)).all()
    assert (tabular.sarsa(first, step, **at) != tabular.sarsa(first, other, **at)).any()


def test_q_pi_lambda_keeps_full_traces_so_it_is_not_tree_backup():
    """Q(σ, λ) with λ = 1 is not the n-step Q(σ) of De Asis et al. with n beyond the end, except for σ = 1."""
    episode, at = (
        Episode([0, 1, 2, 3], [0, 1, 2, 0], [1.0, -1.0, 2.0], True),
        {"gamma": 0.9, "alpha": 0.5},
    )
    for sigma, equal in [(0.0, False), (0.5, False), (1.0, True)]:
        traced = tabular.q_sigma_lambda_offline(Q, episode, PI, sigma=sigma, lam=1.0, **at)
        stepped = tabular.n_step_q_sigma(Q, episode, PI, n=9, sigma=sigma, **at)
        assert np.allclose(traced, stepped, **CLOSE) == equal


# --- returns: Eqs. (3), (4), (5), (7), (8) -------------------------------------------------------------------


@given(episode=EPISODES, t=st.integers(0, 11), lam=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=30, deadline=None)
def test_lambda_return_is_the_td_error_sum_from_its_own_time(episode, t, lam):
    """Eqs. (3)–(4) as corrected: bootstrap at t + n + 1, and t on both sides."""
    average = tabular.lambda_return(Q, episode, t, lam=lam, gamma=0.9)
    errors = tabular.td_error_return(Q, episode, PI, t, sigma=1.0, lam=lam, gamma=0.9)
    assert average == pytest.approx(errors, abs=1e-12)


def printed_lambda_return(q, episode, t, lam, gamma):
    """Eq. (3) with Q(S_{t+n}, A_{t+n}) as printed; the last return of an episode is the full one."""
    total, discounted, last = 0.0, 0.0, len(episode) - 1 - t
    for n in range(last + 1):
        discounted += gamma**n * episode.rewards[t + n]
        end = episode.ended and n == last
        value = discounted + (
            0.0 if end else gamma ** (n + 1) * q[episode.states[t + n], episode.actions[t + n]]
        )
        total += (lam**n if n == last else (1 - lam) * lam**n) * value
    return total


def test_printed_n_step_return_does_not_give_the_td_error_sum():
    """Eq. (3): with the bootstrap one step too early, (4) fails, and at λ = 0 it is not Sarsa's target."""
    episode = make_episode(7, True)
    right = tabular.td_error_return(Q, episode, PI, 0, sigma=1.0, lam=0.5, gamma=0.9)
    assert abs(printed_lambda_return(Q, episode, 0, 0.5, 0.9) - right) > 0.01
    s, a = episode.states[:2], episode.actions[:2]
    target = episode.rewards[0] + 0.9 * Q[s[1], a[1]]
    assert tabular.lambda_return(Q, episode, 0, lam=0.0, gamma=0.9) == pytest.approx(
        target, abs=1e-14
    )
    assert printed_lambda_return(Q, episode, 0, 0.0, 0.9) == pytest.approx(
        episode.rewards[0] + 0.9 * Q[s[0], a[0]], abs=1e-14
    )


def test_printed_td_error_sum_is_right_for_time_zero_only():
    """Eq. (4): the right side starts at Q(S_0, A_0) whatever t is on the left."""
    episode = make_episode(8, True)
    printed = tabular.td_error_return(Q, episode, PI, 0, sigma=1.0, lam=0.5, gamma=0.9)
    gaps = [
        abs(tabular.lambda_return(Q, episode, t, lam=0.5, gamma=0.9) - printed) for t in range(4)
    ]
    assert gaps[0] < 1e-12
    assert min(gaps[1:]) > 1e-3


def test_printed_expected_sarsa_error_lacks_gamma():
    """Under Eq. (5): without γ the mean error is not zero at q^π, with it it is."""
    mdp, gamma = make_mdp(9), 0.9
    q = mdp.q(PI)
    following = mdp.transitions @ (PI * q).sum(axis=1)
    np.testing.assert_allclose(mdp.rewards + gamma * following - q, 0.0, atol=1e-12)
    assert np.abs(mdp.rewards + following - q).max() > 0.05


def test_td_errors_mix_as_equation_5_says():
    episode = make_episode(10, True)
    sampled, expected, mixed = (
        tabular.td_errors(Q, episode, PI, sigma=s, gamma=0.9) for s in (1.0, 0.0, 0.3)
    )
    np.testing.assert_allclose(mixed, 0.3 * sampled + 0.7 * expected, **CLOSE)
    s, a, reward, s_next, a_next, _ = next(iter(episode))
    assert sampled[0] == pytest.approx(reward + 0.9 * Q[s_next, a_next] - Q[s, a], abs=1e-14)
    assert expected[0] == pytest.approx(reward + 0.9 * PI[s_next] @ Q[s_next] - Q[s, a], abs=1e-14)


@given(
    episode=EPISODES, sigma=st.sampled_from([0.0, 0.4, 1.0]), lam=st.sampled_from([0.0, 0.5, 1.0])
)
@settings(max_examples=20, deadline=None)
def test_off_line_update_sums_the_returns_of_all_visits(episode, sigma, lam):
    """What Eq. (8) should be: α Σ_visits (G_t − Q), of which the printed line is the first visit's part."""
    at = {"sigma": sigma, "lam": lam, "gamma": 0.9}
    new = tabular.q_sigma_lambda_offline(Q, episode, PI, alpha=0.1, **at)
    expected = Q.copy()
    for t in range(len(episode)):
        s, a = episode.states[t], episode.actions[t]
        expected[s, a] += 0.1 * (tabular.td_error_return(Q, episode, PI, t, **at) - Q[s, a])
    np.testing.assert_allclose(new, expected, **CLOSE)


def test_printed_total_update_forgets_later_visits():
    at = {"sigma": 0.5, "lam": 0.5, "gamma": 0.9}
    for states, holds in [([0, 1, 2, 3], True), ([0, 1, 0, 3], False)]:
        episode = Episode(states, [0, 0, 0, 0], [1.0, -1.0, 2.0], True)
        printed = tabular.td_error_return(Q, episode, PI, 0, **at)
        reached = tabular.q_sigma_lambda_offline(Q, episode, PI, alpha=1.0, **at)[0, 0]
        assert (abs(reached - printed) < 1e-12) == holds


def test_printed_equation_7_has_no_past():
    """Q_{t+1} = Q_{t+1} + αδe forces αδe = 0; the learner's recursion starts from Q_t."""
    episode = Episode([0, 1], [0, 0], [1.0], False)
    new = tabular.q_sigma_lambda(Q, episode, PI, sigma=1.0, lam=0.5, gamma=0.9, alpha=0.1)
    delta = tabular.td_errors(Q, episode, PI, sigma=1.0, gamma=0.9)[0]
    assert abs(0.1 * delta) > 1e-3
    assert new[0, 0] == pytest.approx(Q[0, 0] + 0.1 * delta, abs=1e-15)


def test_trace_counts_recent_visits():
    """Eq. (6): after visits at steps 0 and 2 of 3, e = (γλ)² + 1; seen through α δ e of the last step alone."""
    episode = Episode([0, 1, 0, 2], [0, 0, 0, 0], [0.0, 0.0, 1.0], True)
    new = tabular.sarsa_lambda(np.zeros((3, 1)), episode, lam=0.5, gamma=0.8, alpha=1.0)
    assert new.ravel().tolist() == pytest.approx([1.0 + 0.4**2, 0.4, 0.0], abs=1e-15)


# --- n-step Q(σ) off policy ----------------------------------------------------------------------------------


def test_tree_backup_needs_no_ratio():
    episode = make_episode(11, True)
    mu = np.full((4, 3), 1 / 3)
    at = {"n": 3, "sigma": 0.0, "gamma": 0.9, "alpha": 0.1}
    assert (
        tabular.n_step_q_sigma(Q, episode, PI, mu, **at)
        == tabular.n_step_q_sigma(Q, episode, PI, **at)
    ).all()


def move(mdp, q, x, u, sigma, pi, mu, *, correct_bootstrap):
    """ρ(G − Q(S_0, A_0)) of n-step Q(σ) on the path x, u of n moves, by the definition."""
    n, target, decay, rho = len(x) - 1, q[x[0], u[0]], 1.0, 1.0
    for k in range(n):
        following = sigma * q[x[k + 1], u[k + 1]] + (1 - sigma) * pi[x[k + 1]] @ q[x[k + 1]]
        target += decay * (mdp.rewards[x[k], u[k]] + mdp.gamma * following - q[x[k], u[k]])
        decay *= mdp.gamma * ((1 - sigma) * pi[x[k + 1], u[k + 1]] + sigma)
    for k in range(1, n + correct_bootstrap):
        rho *= sigma * pi[x[k], u[k]] / mu[x[k], u[k]] + 1 - sigma
    return rho * (target - q[x[0], u[0]])


def expected_move(mdp, q, n, sigma, pi, mu, *, correct_bootstrap):
    """E_μ[ρ(G − Q)] for every pair, summed over all paths of n moves."""
    result, (states, actions) = np.zeros_like(q), q.shape
    for s, a in np.ndindex(states, actions):
        paths = [(1.0, [s], [a])]
        for _ in range(n):
            paths = [
                (p * mdp.transitions[x[-1], u[-1], s2] * mu[s2, a2], [*x, s2], [*u, a2])
                for p, x, u in paths
                for s2, a2 in np.ndindex(states, actions)
            ]
        result[s, a] = sum(
            p * move(mdp, q, x, u, sigma, pi, mu, correct_bootstrap=correct_bootstrap)
            for p, x, u in paths
        )
    return result


@pytest.mark.parametrize("correct", [False, True])
@pytest.mark.parametrize("sigma", [0.0, 0.5, 1.0])
def test_the_first_update_of_the_learner_is_the_one_of_the_definition(sigma, correct):
    mdp, x, u = make_mdp(20), [0, 1, 2, 3], [0, 1, 2, 0]
    episode = Episode(x, u, mdp.rewards[x[:-1], u[:-1]], False)
    new = tabular.n_step_q_sigma(
        Q, episode, PI, MU, n=3, sigma=sigma, gamma=mdp.gamma, alpha=1.0, correct_bootstrap=correct
    )
    expected = move(mdp, Q, x, u, sigma, PI, MU, correct_bootstrap=correct)
    assert new[0, 0] - Q[0, 0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2])
def test_the_uncorrected_last_action_moves_the_target_of_off_policy_n_step_sarsa(n):
    """With ρ up to A_{t+n−1} the fixed point solves q = r + γP^π(… (r + γP^μ q)): q^μ for n = 1. With A_{t+n}: q^π."""
    mdp, (pi, mu) = (
        make_mdp(12, states=2, actions=2, gamma=0.8),
        make_policies(12, states=2, actions=2),
    )
    r, p_pi, p_mu, g = mdp.rewards.ravel(), mdp.pair_chain(pi), mdp.pair_chain(mu), mdp.gamma
    power = np.linalg.matrix_power(g * p_pi, n - 1)
    head = sum(np.linalg.matrix_power(g * p_pi, i) for i in range(n)) @ r
    biased = np.linalg.solve(np.eye(4) - power @ (g * p_mu), head).reshape(2, 2)
    assert np.abs(expected_move(mdp, biased, n, 1.0, pi, mu, correct_bootstrap=False)).max() < 1e-12
    assert (
        np.abs(expected_move(mdp, mdp.q(pi), n, 1.0, pi, mu, correct_bootstrap=True)).max() < 1e-12
    )
    assert np.abs(biased - mdp.q(pi)).max() > 0.01
    if n == 1:
        np.testing.assert_allclose(biased, mdp.q(mu), atol=1e-12)


@pytest.mark.parametrize("sigma", [0.0, 0.3, 0.5, 1.0])
def test_for_one_step_the_ratio_leaves_a_mixture_as_the_target(sigma):
    """n = 1: the weight of μ in the target is σ without a factor for A_{t+1}, and σ(1 − σ) with it."""
    mdp, (pi, mu) = (
        make_mdp(21, states=2, actions=2, gamma=0.8),
        make_policies(21, states=2, actions=2),
    )
    for correct, weight in [(False, sigma), (True, sigma * (1 - sigma))]:
        q = mdp.q(pi + weight * (mu - pi))
        assert (
            np.abs(expected_move(mdp, q, 1, sigma, pi, mu, correct_bootstrap=correct)).max() < 1e-12
        )


# --- the mixed operator, Eq. (9) -----------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_mixed_operator_is_the_expected_sum_of_errors(sigma, lam):
    """Eq. (9), summed term by term over t from E_μ[δ_t | S_0, A_0] = (P^μ)^t (r + γP^ν q − q)."""
    mdp, q = make_mdp(13), make_table(13).ravel()
    p_mu, p_nu = mdp.pair_chain(MU), mdp.pair_chain((1 - sigma) * PI + sigma * MU)
    error, total = mdp.rewards.ravel() + mdp.gamma * p_nu @ q - q, q.copy()
    for t in range(400):
        total += (lam * mdp.gamma) ** t * error
        error = p_mu @ error
    matrix, offset = tabular.mixed_operator(mdp, PI, MU, sigma, lam)
    np.testing.assert_allclose(matrix @ q + offset, total, atol=1e-12)


@pytest.mark.parametrize("sigma", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("lam", [0.0, 0.7, 1.0])
def test_fixed_point_is_the_value_of_the_mixture_policy_for_every_lambda(sigma, lam):
    mdp = make_mdp(15)
    matrix, offset = tabular.mixed_operator(mdp, PI, MU, sigma, lam)
    point = tabular.mixed_fixed_point(mdp, PI, MU, sigma)
    np.testing.assert_allclose(matrix @ point.ravel() + offset, point.ravel(), atol=1e-12)
    np.testing.assert_allclose(point, mdp.q(PI + sigma * (MU - PI)), atol=1e-13)
    assert (np.abs(point - mdp.q(PI)).max() > 0.01) == (sigma > 0)


@given(
    seed=st.integers(0, 500),
    gamma=st.floats(0.1, 0.99),
    sigma=st.floats(0.0, 1.0),
    lam=st.floats(0.0, 1.0),
)
@settings(max_examples=60, deadline=None)
def test_contraction_modulus_and_range(seed, gamma, sigma, lam):
    """λ ≤ σ: exactly γ(1−λ)/(1−γλ); λ > σ: at most γ[1−λ+(λ−σ)ε]/(1−γλ), below 1 up to `contraction_limit`."""
    mdp, (pi, mu) = make_mdp(seed, gamma=gamma), make_policies(seed)
    distance = tabular.policy_distance(pi, mu)
    modulus = np.abs(tabular.mixed_operator(mdp, pi, mu, sigma, lam)[0]).sum(axis=1).max()
    if lam <= sigma:
        assert modulus == pytest.approx(gamma * (1 - lam) / (1 - gamma * lam), abs=1e-10)
        assert modulus <= gamma + 1e-10
    bound = gamma * (1 - lam + max(lam - sigma, 0.0) * distance) / (1 - gamma * lam)
    assert modulus <= bound + 1e-10
    limit = tabular.contraction_limit(gamma, sigma, distance)
    if abs(lam - limit) > 1e-6:
        assert (bound < 1) == (lam < limit)
    if lam < limit - 1e-6:
        assert modulus < 1


def test_control_operator_converges_for_small_lambda():
    """Harutyunyan et al. (2016): with a greedy target Q^π(λ) finds q* for λ < (1 − γ)/(2γ)."""
    mdp, gamma = make_mdp(16, gamma=0.8), 0.8
    lam, q = 0.99 * (1 - gamma) / (2 * gamma), make_table(16)
    for _ in range(600):
        matrix, offset = tabular.mixed_operator(mdp, np.eye(3)[q.argmax(axis=1)], MU, 0.0, lam)
        q = (matrix @ q.ravel() + offset).reshape(q.shape)
    np.testing.assert_allclose(q, mdp.rewards + gamma * mdp.transitions @ q.max(axis=1), atol=1e-10)


@pytest.mark.parametrize(
    ("lam", "critical"), [(0.9, 2.7 - 46 / 19), (0.95, 2.85 - 46 / 19), (1.0, 3.0 - 46 / 19)]
)
def test_tabular_q_pi_lambda_diverges_on_one_state(lam, critical):
    """One state, π takes action 1, μ takes it three times in four, γ = 0.95: unstable below σ = 3λ − 46/19."""
    mdp = FiniteMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], 0.95)
    problem = PredictionProblem.on_pairs(mdp, [[0.25, 0.75]], [[0.0, 1.0]], np.eye(2))
    for sigma in (0.0, critical - 0.01, critical + 0.01, 1.0):
        assert (np.linalg.eigvals(problem.A(sigma, lam)).real.max() > 0) == (sigma < critical)


# --- convergence of the learners to exact values -------------------------------------------------------------


def learn(step, first, mdp, mu, *, episodes, seed):
    """Chunks of 200 steps, step size ½(chunk + 1)^(−0.6), tables averaged over the second half."""
    rng, q, total = np.random.default_rng(seed), first, 0.0
    for k in range(episodes):
        episode = sample_episode(
            mdp, mu, np.full(mdp.n_states, 1 / mdp.n_states), rng, max_steps=200
        )
        q = step(q, episode, 0.5 * (k + 1) ** -0.6)
        total = total + q * (k >= episodes // 2)
    return total / (episodes - episodes // 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "target"),
    [
        (lambda q, e, a: tabular.sarsa(q, e, gamma=0.6, alpha=a), 1.0),
        (lambda q, e, a: tabular.expected_sarsa(q, e, PI, gamma=0.6, alpha=a), 0.0),
        (lambda q, e, a: tabular.q_sigma(q, e, PI, sigma=0.5, gamma=0.6, alpha=a), 0.5),
        (
            lambda q, e, a: tabular.q_sigma_lambda(
                q, e, PI, sigma=0.5, lam=0.5, gamma=0.6, alpha=a
            ),
            0.5,
        ),
        (lambda q, e, a: tabular.q_pi_lambda(q, e, PI, lam=0.3, gamma=0.6, alpha=a), 0.0),
        (lambda q, e, a: tabular.sarsa_lambda(q, e, lam=0.6, gamma=0.6, alpha=a), 1.0),
        (lambda q, e, a: tabular.n_step_tree_backup(q, e, PI, n=3, gamma=0.6, alpha=a), 0.0),
    ],
    ids=[
        "sarsa",
        "expected-sarsa",
        "q-sigma",
        "q-sigma-lambda",
        "q-pi-lambda",
        "sarsa-lambda",
        "tree-backup",
    ],
)
def test_off_policy_learners_converge_to_the_value_of_the_mixture(step, target):
    """Data from μ: σ = 0 finds q^π, σ = 1 finds q^μ, and between them q of the mixture, not q^π."""
    mdp, mu = make_mdp(17, gamma=0.6), np.full((4, 3), 1 / 3)
    exact = tabular.mixed_fixed_point(mdp, PI, mu, target)
    learned = learn(step, np.zeros((4, 3)), mdp, mu, episodes=150, seed=17)
    assert np.abs(learned - exact).max() < 0.06
    if target > 0:
        assert np.abs(learned - mdp.q(PI)).max() > 0.1


def test_q_learning_converges_to_the_optimal_values():
    mdp, mu = make_mdp(18, gamma=0.6), np.full((4, 3), 1 / 3)
    best = np.zeros((4, 3))
    for _ in range(100):
        best = mdp.rewards + 0.6 * mdp.transitions @ best.max(axis=1)
    step = lambda q, e, a: tabular.q_learning(q, e, gamma=0.6, alpha=a)  # noqa: E731
    learned = learn(step, np.zeros((4, 3)), mdp, mu, episodes=150, seed=18)
    assert np.abs(learned - best).max() < 0.05


# --- bad input -----------------------------------------------------------------------------------------------


def test_probability_zero_matters_only_for_actions_that_were_taken_by_the_behaviour():
    """At the end of an episode no action is taken, and the last one that is listed needs no probability."""
    mu = np.array([[1.0, 0.0], [0.5, 0.5]])
    ended, cut = (Episode([1, 1, 0], [0, 1, 1], [1.0, 1.0], end) for end in (True, False))
    half = np.full((2, 2), 0.5)
    at = {"n": 2, "sigma": 1.0, "gamma": 1.0, "alpha": 1.0}
    # Of 1 step each: ρ has the factor of A_1, ½/½, and both targets are two rewards and one.
    assert tabular.n_step_q_sigma(np.zeros((2, 2)), ended, half, mu, **at).tolist() == [
        [0.0, 0.0],
        [2.0, 1.0],
    ]
    with pytest.raises(ValueError, match=r"^mu gives probability 0"):
        tabular.n_step_q_sigma(np.zeros((2, 2)), cut, half, mu, **at)
    first = Episode(
        [0, 1, 1], [1, 0, 0], [1.0, 1.0], True
    )  # no ratio needs the first action, but μ did not take it
    with pytest.raises(ValueError, match=r"^mu gives probability 0"):
        tabular.n_step_q_sigma(np.zeros((2, 2)), first, half, mu, **at)


def test_the_limit_of_contraction_by_hand():
    assert tabular.contraction_limit(0.5, 0.25, 2.0) == 0.25 + 0.5 / (0.5 * 2.0)
    assert tabular.contraction_limit(0.0, 0.25, 2.0) == np.inf
    assert tabular.contraction_limit(1.0, 0.25, 2.0) == 0.25
