"""The corrected GQ(σ, λ): its mean, its step, its noise, its long run, and its runs on the mountain car."""

import dataclasses
import itertools

import numpy as np
import pytest

from gqlib import PredictionProblem
from gqlib.control import ControlSetting, run_control
from gqlib.control.corrected import corrected_car
from gqlib.control.engine import engine_setting
from gqlib.domains import mountain_car, random_mdp, random_policy
from gqlib.engine.runs import run_setting
from gqlib.fast.rng import uniform
from gqlib.learners import gq_step
from gqlib.learners.corrected import (
    VARIANTS,
    CorrectedProblem,
    corrected_gq_step,
    corrected_noise,
    importance_ratios,
    variant_tables,
)
from gqlib.learners.ensemble import gq_ensemble, pair_walks
from gqlib.learners.gradient_td import maei_gq_step
from gqlib.rules import tied
from gqlib.seeds import BEHAVIOUR, START, words
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


def car_by_steps(setting, variant, seed):
    """Run 0 of the corrected car in dense NumPy, one `corrected_gq_step` after the other: steps, and θ."""
    starts, behaviour = (words(seed, 0, purpose) for purpose in (START, BEHAVIOUR))
    car, share = engine_setting(setting).make_environment(), setting.epsilon / 3
    theta, omega, nothing = np.zeros(setting.p), np.zeros(setting.p), np.zeros(setting.p)
    rates = {"sigma": setting.sigma, "lam": setting.lam, "gamma": setting.gamma}
    rates |= {"alpha": setting.alpha, "beta": setting.eta * setting.alpha}

    def look(x, v):
        phis = np.zeros((3, setting.p))
        for a in range(3):
            np.add.at(phis[a], car.coder._table().indices(x, v, a), 1.0)
        greedy, u = tied(phis @ theta)[0], uniform(behaviour)
        action = greedy if u >= setting.epsilon else int(u >= share) + int(u >= 2 * share)
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


# With each variant a seed with which the car soon reaches the goal, so that ends and restarts are compared too.
@pytest.mark.slow
@pytest.mark.parametrize(("variant", "seed"), [*zip(VARIANTS, (362, 58, 27, 23, 4), strict=True)])
def test_compiled_car_is_the_reference_step_on_the_same_car(variant, seed):
    setting = ControlSetting(
        sigma=0.6, lam=0.9, eta=0.5, alpha=0.01, epsilon=0.3, p=512, episodes=3, max_steps=700
    )
    compiled, diverged = corrected_car(setting, variant, 1, seed)
    steps, theta = car_by_steps(setting, variant, seed)
    assert diverged == 0
    assert compiled[0].tolist() == steps
    assert min(steps) < setting.max_steps
    learner = "gq" if variant == "paper" else f"{variant}_gq"
    lazy = run_setting(dataclasses.replace(engine_setting(setting), learner=learner), 1, seed)
    assert lazy.steps[0].tolist() == steps
    assert np.abs(lazy.theta[0] - theta).max() < 1e-9 * np.abs(theta).max()


def test_engine_has_the_corrected_method_too():
    setting = ControlSetting(
        method="corrected", alpha=0.002, eta=0.1, epsilon=0.3, episodes=30, max_steps=1500
    )
    dense, _ = corrected_car(dataclasses.replace(setting, method="gradient"), "corrected", 3, 58)
    sparse = run_control(setting, 3, 58)
    assert np.array_equal(sparse.steps, dense)
    assert 0 < sparse.capped.mean() < 1


def test_one_action_without_coverage_is_enough_to_refuse_ratios():
    with pytest.raises(ValueError, match=r"mu is 0 at \(1, 1\)"):
        importance_ratios([[0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0], [0.5, 0.5]])
