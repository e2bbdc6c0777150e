"""The corrected GQ(σ, λ): its mean, its step, its noise, its long run, and its runs on the mountain car."""

import dataclasses
import itertools
import re

import numpy as np
import pytest

from gqlib import FiniteMDP, PredictionProblem
from gqlib.control import ControlSetting, reference, run_control
from gqlib.control.corrected import corrected_car
from gqlib.control.tile_tables import make_coder, tile_table
from gqlib.domains import mountain_car, random_mdp, random_policy, two_state
from gqlib.fast import _car
from gqlib.fast.rng import uniform
from gqlib.learners import gq_step
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
from gqlib.learners.gradient_td import maei_gq_step
from gqlib.long_run import joint_noise, long_run_covariance, stationary_error
from gqlib.seeds import BEHAVIOUR, START, words
from gqlib.stability import joint_matrix
from gqlib.variance import gq_noise

STEP = {"sigma": 0.6, "lam": 0.7, "gamma": 0.9, "alpha": 0.1, "beta": 0.2}


def instance(seed, states=4, actions=3, features=None):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, states, actions, 0.9, concentration=0.3)
    mu = 0.1 + (1 - 0.1 * actions) * random_policy(rng, states, actions)
    pi = random_policy(rng, states, actions, concentration=0.3)
    phi = (
        np.eye(states * actions)
        if features is None
        else rng.standard_normal((states * actions, features))
    )
    return mdp, mu, pi, PredictionProblem.on_pairs(mdp, mu, pi, phi)


@pytest.mark.parametrize("trace", ["uncorrected", "weighted"])
@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_table_finds_the_target_policy_for_every_sigma_and_lambda(trace, lam):
    mdp, _, pi, table = instance(0)
    view = CorrectedProblem.of(table, trace)
    for sigma in (0.0, 0.4, 1.0):
        assert np.allclose(view.fixed_point(sigma, lam), mdp.q(pi).ravel(), rtol=1e-9)
    assert not np.allclose(table.fixed_point(0.4, lam), mdp.q(pi).ravel(), rtol=1e-3)


@pytest.mark.parametrize("trace", ["uncorrected", "weighted"])
def test_proposition_1_holds_and_the_trace_term_is_the_traces_own(trace):
    *_, problem = instance(1, features=5)
    view = CorrectedProblem.of(problem, trace)
    theta = np.random.default_rng(0).standard_normal(5)
    assert np.allclose(view.gamma_v(0.3, 0.6), view.M + view.A(0.3, 0.6).T, rtol=1e-10)
    assert np.allclose(
        view.prop1_step(theta, 0.3, 0.6), -view.mspbe_gradient(theta, 0.3, 0.6), rtol=1e-8
    )
    # γE[v] with the trace's term weighted (or not) against its trace is no gradient
    wrong = problem.p_pi if trace == "uncorrected" else problem.p_mu
    other = (
        0.9
        * (problem.p_pi @ problem.features - 0.6 * wrong @ problem.features).T
        @ view.trace_weights(0.6)
    )
    assert not np.allclose(other, view.M + view.A(0.3, 0.6).T, rtol=1e-2)


@pytest.mark.slow
def test_mean_over_long_walks_is_the_exact_mean():
    mdp, mu, pi, problem = instance(2, 3, 2, features=3)
    walk = pair_walks(problem, 1, 60_000, np.random.default_rng(3))[0]
    for variant, trace in (("corrected", "uncorrected"), ("weighted", "weighted")):
        tables = variant_tables(mdp, mu, pi, problem.features, 0.7, variant)
        e, total, pull = np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3))
        for here, after in itertools.pairwise(walk):
            e = 0.9 * 0.4 * tables.c[here] * e + problem.features[here]
            total += np.outer(e, 0.9 * tables.u[after] - problem.features[here])
            pull += 0.9 * np.outer(tables.u[after] - 0.4 * tables.w[after], e)
        view = CorrectedProblem.of(problem, trace)
        size = np.abs(view.A(0.7, 0.4)).max()
        assert np.abs(total / 60_000 - view.A(0.7, 0.4)).max() < 0.1 * size
        assert np.abs(pull / 60_000 - view.gamma_v(0.7, 0.4)).max() < 0.1 * size


def test_step_is_the_papers_with_ratio_one_and_maeis_with_its_own_trace():
    theta, omega, e, x, after, mean = np.random.default_rng(4).standard_normal((6, 5))
    ours = corrected_gq_step(theta, omega, e, x, 0.5, after, mean, rho_next=1.0, **STEP)
    for a, b in zip(ours, gq_step(theta, omega, e, x, 0.5, after, mean, **STEP), strict=True):
        assert np.allclose(a, b, rtol=1e-13)
    zero = STEP | {"sigma": 0.0}
    ours = corrected_gq_step(
        theta,
        omega,
        e,
        x,
        0.5,
        after,
        mean,
        rho_next=9.0,
        trace_weight=1.7,
        phi_next_traced=mean,
        **zero,
    )
    del zero["sigma"]
    for a, b in zip(
        ours, maei_gq_step(theta, omega, e, x, 0.5, mean, rho=1.7, **zero), strict=True
    ):
        assert np.allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_ensemble_repeats_the_reference_step(variant):
    mdp, mu, pi, problem = instance(5, 3, 2, features=3)
    tables = variant_tables(mdp, mu, pi, problem.features, 0.6, variant)
    walks = pair_walks(problem, 2, 40, np.random.default_rng(6))
    path, diverged = gq_ensemble(problem, tables, walks, np.ones(3), lam=0.7, alpha=0.1, beta=0.2)
    rho = importance_ratios(mu, pi).ravel()
    by_state = problem.features.reshape(3, 2, 3)
    for run, walk in enumerate(walks):
        theta, omega, e = np.ones(3), np.zeros(3), np.zeros(3)
        for here, after in itertools.pairwise(walk):
            phi, state = problem.features, after // 2
            traced = {"expected": mu[state] @ by_state[state], "maei": pi[state] @ by_state[state],
                      "weighted": rho[after] * phi[after]}.get(variant, phi[after])  # fmt: skip
            theta, omega, e, _ = corrected_gq_step(
                theta, omega, e, phi[here], problem.rewards[here], phi[after], pi[state] @ by_state[state],
                rho_next=1.0 if variant == "paper" else rho[after], phi_next_traced=traced,
                trace_weight=rho[here] if variant in ("weighted", "maei") else 1.0, **STEP,
            )  # fmt: skip
        assert np.allclose(theta, path[-1, run], rtol=1e-10)
    assert not diverged.any()


def test_ensemble_keeps_every_third_step_and_stops_a_run_beyond_the_bound():
    mdp, mu, pi, problem = instance(5, 3, 2, features=3)
    tables = variant_tables(mdp, mu, pi, problem.features, 0.6, "corrected")
    walks, rates = (
        pair_walks(problem, 5, 30, np.random.default_rng(6)),
        {"lam": 0.7, "alpha": 0.5, "beta": 0.2},
    )
    free, _ = gq_ensemble(problem, tables, walks, np.ones(3), bound=1e300, **rates)
    largest = np.abs(free).max(axis=2)  # before the first step and after each
    bound = np.median(largest.max(axis=0))  # some run reaches it exactly, which is not beyond
    stopped, diverged = gq_ensemble(problem, tables, walks, np.ones(3), bound=bound, **rates)
    np.testing.assert_array_equal(diverged, largest.max(axis=0) > bound)
    assert 0 < diverged.sum() < 5
    for run in range(5):
        last = np.argmax(largest[:, run] > bound) if diverged[run] else 30
        np.testing.assert_array_equal(stopped[: last + 1, run], free[: last + 1, run])
        assert (stopped[last:, run] == stopped[last, run]).all()
    thirds, _ = gq_ensemble(problem, tables, walks, np.ones(3), every=3, bound=bound, **rates)
    np.testing.assert_array_equal(thirds, stopped[::3])


def test_ensemble_refuses_pairs_that_are_none():
    mdp, mu, pi, problem = instance(5, 3, 2, features=3)
    tables = variant_tables(mdp, mu, pi, problem.features, 0.6, "corrected")
    for wrong in (-1, 6, 0.5):
        with pytest.raises(ValueError, match=r"^pairs is .* whole numbers in \[0, 6\)"):
            gq_ensemble(problem, tables, [[0, wrong, 5]], np.ones(3), lam=0.7, alpha=0.1, beta=0.2)


def test_walks_begin_in_the_stationary_law_and_follow_the_chain():
    *_, problem = instance(5, 3, 2)
    walks, runs = pair_walks(problem, 20_000, 1, np.random.default_rng(3)), 20_000
    for step in (0, 1):
        counts = np.bincount(walks[:, step], minlength=6)
        assert (np.abs(counts - runs * problem.xi) < 5 * np.sqrt(runs * problem.xi) + 1).all()
    joint = np.bincount(6 * walks[:, 0] + walks[:, 1], minlength=36).reshape(6, 6)
    expected = runs * problem.xi[:, None] * problem.p_mu
    assert (np.abs(joint - expected) < 5 * np.sqrt(expected) + 1).all()


def test_noise_parabola_is_the_average_over_actions():
    mdp, mu, pi, problem = instance(7, 3, 2, features=3)
    theta, omega = np.random.default_rng(8).standard_normal((2, 3))
    by_state, rho = problem.features.reshape(3, 2, 3), importance_ratios(mu, pi)
    # with λ = 0 the trace is φ: sum over pairs, next states and next actions
    for sigma in (0.0, 0.5, 1.0):
        total = 0.0
        for pair in range(6):
            for state in range(3):
                moves = np.array([
                    corrected_gq_step(theta, omega, np.zeros(3), problem.features[pair], 0.0, by_state[state, a],
                                      pi[state] @ by_state[state], rho_next=rho[state, a], sigma=sigma, lam=0.0,
                                      gamma=0.9, alpha=1.0, beta=0.0)[0]
                    for a in range(2)
                ])  # fmt: skip
                spread = moves - mu[state] @ moves
                total += (
                    problem.xi[pair]
                    * mdp.transitions.reshape(6, 3)[pair, state]
                    * (mu[state] @ spread**2).sum()
                )
        assert np.isclose(
            corrected_noise(mdp, mu, pi, problem, theta, omega, 0.0)(sigma), total, rtol=1e-10
        )


def test_noise_on_policy_is_the_papers_and_vanishes_with_expectations():
    mdp, mu, pi, _ = instance(9, features=3)
    problem = PredictionProblem.on_pairs(
        mdp, mu, mu, np.random.default_rng(1).standard_normal((12, 3))
    )
    theta, omega = np.random.default_rng(2).standard_normal((2, 3))
    ours = corrected_noise(mdp, mu, mu, problem, theta, omega, 0.8)
    theirs = gq_noise(mdp, mu, problem, theta, omega, 0.8)
    assert np.allclose(dataclasses.astuple(ours), dataclasses.astuple(theirs), rtol=1e-10)
    off = corrected_noise(mdp, mu, pi, problem, theta, omega, 0.8, expected_trace=True)
    assert off(0.0) == 0.0
    assert off(0.5) > 0.0
    assert off.best == 0.0


def test_ratios_and_views_refuse_what_has_no_meaning():
    with pytest.raises(ValueError, match="positive wherever pi is"):
        importance_ratios([[1.0, 0.0]], [[0.5, 0.5]])
    with pytest.raises(ValueError, match="trace"):
        CorrectedProblem.of(two_state().problem, "none")
    mdp, mu, pi, _ = instance(10)
    averaged = PredictionProblem.on_states(mdp, mu, pi, np.eye(4), average_rewards=True)
    with pytest.raises(ValueError, match="averages its rewards"):
        CorrectedProblem.of(averaged)
    with pytest.raises(ValueError, match="rho_next"):
        corrected_gq_step([1.0], [0.0], [0.0], [1.0], 0.0, [1.0], [1.0], rho_next=-1.0, **STEP)
    with pytest.raises(ValueError, match="variant"):
        variant_tables(mdp, mu, pi, np.eye(12), 0.5, "best")
    with pytest.raises(ValueError, match="continuing"):
        pair_walks(two_state(reading="terminal").problem, 1, 5, np.random.default_rng(0))


def test_weighted_trace_keeps_resets_of_episodes():
    problem = two_state(reading="bootstrap").problem
    view = CorrectedProblem.of(problem, "weighted")
    assert not view.p_trace[2].any()
    assert np.allclose(view.p_trace[[0, 1, 3]], problem.p_pi[[0, 1, 3]])


def test_second_moment_of_the_weighted_trace_ends_at_its_limit():
    mdp = FiniteMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 1 - 1e-9)
    problem = PredictionProblem.on_pairs(mdp, [[0.25, 0.75]], [[1.0, 0.0]], np.eye(2))
    assert np.isclose(trace_variance_limit(problem, [[4.0, 0.0]]), 0.5, rtol=1e-6)  # E[ρ²] = 4


def test_long_run_noise_in_a_table_is_quadratic_in_sigma():
    mdp, mu, pi, table = instance(11, 3, 2)
    q = mdp.q(pi).ravel()
    gammas = [long_run_covariance(table, variant_tables(mdp, mu, pi, np.eye(6), s, "corrected").u, q, 0.6)
              for s in (0.0, 0.5, 1.0)]  # fmt: skip
    assert np.allclose(gammas[1] - gammas[0], (gammas[2] - gammas[0]) / 4, atol=1e-12)
    assert np.linalg.eigvalsh(gammas[2] - gammas[0]).min() > -1e-12


def test_long_run_covariance_by_brute_force_over_lags():
    """λ > 0 on a chain of two pairs, lags summed from a long simulation's batch means."""
    mdp, mu, pi, problem = instance(12, 2, 2, features=2)
    tables, view = (
        variant_tables(mdp, mu, pi, problem.features, 0.8, "corrected"),
        CorrectedProblem.of(problem),
    )
    theta, walks = (
        view.fixed_point(0.0, 0.5),
        pair_walks(problem, 400, 2050, np.random.default_rng(13)),
    )
    e, total = np.zeros((400, 2)), np.zeros((400, 2))
    for k in range(2050):
        here, after = walks[:, k], walks[:, k + 1]
        e = 0.45 * e + problem.features[here]
        delta = problem.rewards[here] + (0.9 * tables.u[after] - problem.features[here]) @ theta
        total += (k >= 50) * delta[:, None] * e
    measured = total.T @ total / 400 / 2000
    exact = long_run_covariance(problem, tables.u, theta, 0.5)
    assert np.abs(measured - exact).max() < 0.25 * np.abs(exact).max()
    with pytest.raises(
        ValueError, match=r"^theta leaves a mean step of size [\d.]+; it should be the fixed point$"
    ):
        long_run_covariance(problem, tables.u, theta + 1.0, 0.5)


def test_long_run_covariance_asks_for_a_continuing_chain_in_its_stationary_law():
    rewards = [[1.0, 0.0], [-2.0, 0.5]]
    domain = two_state(
        0.9, rewards=rewards
    ).problem  # its p_trace is p_mu again, in an array of its own
    same = PredictionProblem(
        domain.features, domain.p_mu, domain.p_pi, domain.rewards, domain.xi, 0.9
    )
    bootstrap, theta = domain.features, domain.fixed_point(1.0, 0.5)
    wanted = long_run_covariance(same, bootstrap, theta, 0.5)
    assert np.array_equal(long_run_covariance(domain, bootstrap, theta, 0.5), wanted)
    with pytest.raises(
        ValueError, match=r"^problem has episodes that end; the chain should be a continuing one$"
    ):
        long_run_covariance(
            two_state(0.9, "bootstrap", rewards=rewards).problem, bootstrap, theta, 0.5
        )
    view = CorrectedProblem.of(domain, "weighted")  # its chains are P^π, its ξ that of P^μ
    told = r"^problem has a xi that p_mu changes; it should be the stationary law of p_mu$"
    with pytest.raises(ValueError, match=told):
        long_run_covariance(view, bootstrap, theta, 0.5)


def test_a_problem_and_an_mdp_of_other_sizes_are_refused():
    _, _, _, problem = instance(16, 3, 2, features=2)
    other = random_mdp(np.random.default_rng(17), 2, 2)
    half = np.full((2, 2), 0.5)
    for noise in (lambda: corrected_noise(other, half, half, problem, [1.0, 0.0], [0.0, 1.0], 0.5),
                  lambda: gq_noise(other, half, problem, [1.0, 0.0], [0.0, 1.0], 0.5)):  # fmt: skip
        with pytest.raises(
            ValueError, match=r"^problem has 6 indices; it should have 4, the pairs of mdp$"
        ):
            noise()
    tables = variant_tables(other, half, half, np.eye(4)[:, :2], 0.5, "corrected")
    with pytest.raises(
        ValueError, match=r"^tables has u of shape \(4, 2\); it should be \(6, 2\) for problem$"
    ):
        gq_ensemble(
            problem, tables, np.zeros((1, 3), dtype=int), np.zeros(2), lam=0.5, alpha=0.1, beta=0.1
        )


def test_stationary_error_of_gq_agrees_with_runs_at_a_small_step_size():
    mdp, mu, pi, problem = instance(14, 3, 2, features=2)
    view, tables = (
        CorrectedProblem.of(problem),
        variant_tables(mdp, mu, pi, problem.features, 0.5, "corrected"),
    )
    theta, alpha = view.fixed_point(0.0, 0.3), 0.01
    noise = joint_noise(long_run_covariance(problem, tables.u, theta, 0.3), 2.0)
    exact = alpha * stationary_error(problem, joint_matrix(view, 0.5, 0.3, 2.0), noise)
    walks = pair_walks(problem, 200, 4000, np.random.default_rng(15))
    path, _ = gq_ensemble(
        problem, tables, walks, theta, lam=0.3, alpha=alpha, beta=2 * alpha, every=100
    )
    measured = (((path[10:] - theta) @ problem.features.T) ** 2 @ problem.xi).mean()
    assert abs(measured / exact - 1) < 0.25
    with pytest.raises(
        ValueError, match=r"^drift is not Hurwitz; the mean iteration should be stable$"
    ):
        stationary_error(problem, np.eye(2), np.eye(2))


def test_car_with_the_papers_variant_takes_the_engines_steps():
    setting = ControlSetting(sigma=0.5, episodes=5, max_steps=400)
    steps, diverged = corrected_car(setting, "paper", 2, 3)
    assert (steps == run_control(setting, 2, 3).steps).all()
    assert diverged == 0


def car_by_steps(setting, variant, seed):
    """Run 0 of the corrected car in dense NumPy, one `corrected_gq_step` after the other: steps, and θ."""
    starts, behaviour = (words(seed, 0, purpose) for purpose in (START, BEHAVIOUR))
    coder, share = make_coder(setting.memory, setting.p, setting.tilings), setting.epsilon / 3
    theta, omega, nothing = np.zeros(setting.p), np.zeros(setting.p), np.zeros(setting.p)
    rates = {"sigma": setting.sigma, "lam": setting.lam, "gamma": setting.gamma}
    rates |= {"alpha": setting.alpha, "beta": setting.eta * setting.alpha}

    def look(x, v):
        phis = reference.features(setting, coder, x, v)
        greedy = reference.greedy_action(phis @ theta)
        action = reference.behave(setting, greedy, behaviour)
        mu = np.full(3, share)
        mu[greedy] = 1 - 2 * share
        return phis, action, greedy, mu, (action == greedy) / mu[action]

    steps = []
    for _ in range(setting.episodes):
        x, v, trace = mountain_car.start(uniform(starts)), 0.0, np.zeros(setting.p)
        phis, action, _, _, rho = look(x, v)
        for k in itertools.count(1):
            phi, trace_weight = phis[action], rho if variant in ("weighted", "maei") else 1.0
            x, v, reward, done = mountain_car.step(x, v, action)
            after = mean = traced = nothing
            if not done:
                phis, action, greedy, mu, rho = look(x, v)
                after, mean = phis[action], phis[greedy]
                traced = {"expected": mu @ phis, "weighted": rho * after, "maei": mean}.get(
                    variant, after
                )
            theta, omega, trace, _ = corrected_gq_step(
                theta, omega, trace, phi, reward, after, mean, rho_next=1.0 if variant == "paper" else rho,
                trace_weight=trace_weight, phi_next_traced=traced, **rates,
            )  # fmt: skip
            if done or k == setting.max_steps:
                break
        steps.append(k)
    return steps, theta


def assert_compiled_car_is_the_reference(setting, variant, seed, monkeypatch):
    weights, kernel = [], _car.dense_run
    monkeypatch.setattr(
        _car, "dense_run", lambda *given: (weights.append(given[1]), kernel(*given))[1]
    )
    compiled, diverged = corrected_car(setting, variant, 1, seed)
    steps, theta = car_by_steps(setting, variant, seed)
    assert diverged == 0
    assert compiled[0].tolist() == steps
    used = tile_table(setting.p, setting.tilings, setting.memory).used
    assert np.abs(weights[0] - theta[used]).max() < 1e-9 * np.abs(theta).max()
    return steps


# With each variant a seed with which the car soon reaches the goal, so that ends and restarts are compared too.
@pytest.mark.slow
@pytest.mark.parametrize(("variant", "seed"), [*zip(VARIANTS, (362, 58, 27, 23, 4), strict=True)])
def test_compiled_car_is_the_reference_step_on_the_same_car(variant, seed, monkeypatch):
    setting = ControlSetting(
        sigma=0.6, lam=0.9, eta=0.5, alpha=0.01, epsilon=0.3, p=512, episodes=3, max_steps=700
    )
    steps = assert_compiled_car_is_the_reference(setting, variant, seed, monkeypatch)
    assert min(steps) < setting.max_steps


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_car_is_the_reference_step_until_it_is_cut_off(variant, monkeypatch):
    setting = ControlSetting(
        sigma=0.6,
        lam=0.9,
        eta=0.5,
        alpha=0.01,
        epsilon=0.6,
        p=96,
        tilings=5,
        memory="iht",
        episodes=2,
        max_steps=40,
    )
    assert assert_compiled_car_is_the_reference(setting, variant, 5, monkeypatch) == [40, 40]


def test_cars_that_diverge_are_counted_and_their_episodes_are_cut_off():
    setting = ControlSetting(p=64, episodes=3, max_steps=300, alpha=0.01, epsilon=0.3, sigma=1.0)
    steps, diverged = corrected_car(setting, "corrected", 8, 1)
    apart = run_control(dataclasses.replace(setting, method="corrected"), 8, 1)
    assert diverged == apart.diverged.sum()
    assert 1 < diverged < 8
    assert (steps[apart.diverged, -1] == 300).all()
    assert (steps.dtype, type(diverged)) == (np.int32, int)
    at_once = dataclasses.replace(setting, alpha=1.0, episodes=1)
    steps, diverged = corrected_car(at_once, "corrected", 2, 1)
    assert (steps.tolist(), diverged) == ([[300], [300]], 2)
    with pytest.raises(ValueError, match=r"^seed is -1; it should be at least 0$"):
        corrected_car(setting, "corrected", 2, -1)


def test_car_variants_agree_where_nothing_is_sampled_and_refuse_other_settings():
    setting = ControlSetting(sigma=0.0, lam=0.0, episodes=4, max_steps=300)
    first, *others = (corrected_car(setting, variant, 1, 4)[0] for variant in VARIANTS)
    assert all((steps == first).all() for steps in others)
    others = ({"target": "epsilon-greedy"}, {"method": "semi-gradient"}, {"v": "lagged"})
    for change in (*others, {"sigma_noise": 0.1}, {"sigma_decay": 0.9}):
        changed = dataclasses.replace(setting, **change)
        told = f"setting is {changed}; it should have a greedy target, the gradient method and a fixed sigma"
        with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
            corrected_car(changed, "paper", 1, 0)


def test_more_cars_than_memory_holds_are_refused_by_their_number():
    told = (
        r"^runs is 2200000; it should be smaller, so that arrays hold at most 2147483648 numbers$"
    )
    with pytest.raises(ValueError, match=told):
        corrected_car(ControlSetting(episodes=1000), "paper", 2_200_000, 0)


def test_engine_has_the_corrected_method_too():
    setting = ControlSetting(
        method="corrected", alpha=0.002, eta=0.1, epsilon=0.3, episodes=30, max_steps=1500
    )
    dense, _ = corrected_car(dataclasses.replace(setting, method="gradient"), "corrected", 3, 58)
    sparse = run_control(setting, 3, 58)
    assert np.array_equal(sparse.steps, dense)
    assert 0 < sparse.capped.mean() < 1
