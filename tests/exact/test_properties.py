"""What holds for every problem, setting and sample, on many random ones: identities, special cases, symmetries.

Three witnesses meet (symbolic, exact, sampled); relabelling states, rotating or scaling features and scaling rewards
change what they should and nothing else; compiled code equals the reference; the order of work does not matter.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from strategies import few, lams, problems, seeds, shares

from gqlib import FiniteMDP, PredictionProblem, symbolic
from gqlib.control import ControlSetting, run_control
from gqlib.evaluation import PredictionSetting, run_prediction
from gqlib.learners import gq_step, semi_gradient_step
from gqlib.stability import critical_sigma, joint_matrix, spectral_abscissa


def close(actual, wanted, scale=None, factor=1e-9):
    """Equal up to rounding, relative to the size of what is compared."""
    size = np.abs(wanted).max(initial=0.0) if scale is None else scale
    np.testing.assert_allclose(actual, wanted, rtol=0.0, atol=factor * max(float(size), 1e-300))


class TestThreeWitnesses:
    @given(weights=st.lists(st.integers(1, 6), min_size=12, max_size=12), sigma=shares, lam=shares)
    @few(8)
    def test_symbolic_is_exact(self, weights, sigma, lam):
        """On two states and two actions; the twin is built from the fractions themselves, not from floats."""

        def law(first, second):
            return [sp.Rational(first, first + second), sp.Rational(second, first + second)]

        moves = [[law(*weights[:2]), law(*weights[2:4])], [law(*weights[4:6]), law(*weights[6:8])]]
        mu, pi = [law(*weights[8:10]), law(*weights[10:])], [law(*weights[1:3]), [1, 0]]
        features, rewards = [[1, 0], [0, 1], [1, 1], [2, -1]], [[1, -2], [3, 5]]
        chain, gamma = symbolic.pair_chain(moves, mu), sp.Rational(9, 10)
        exact = symbolic.SymbolicProblem(
            sp.Matrix(features), chain, symbolic.pair_chain(moves, pi), sp.Matrix([1, -2, 3, 5]),
            symbolic.stationary_law(chain), gamma,
        )  # fmt: skip
        as_floats = [np.array(sp.flatten(part), dtype=float) for part in (moves, mu, pi)]
        mdp = FiniteMDP(as_floats[0].reshape(2, 2, 2), rewards, 0.9)
        problem = PredictionProblem.on_pairs(
            mdp, as_floats[1].reshape(2, 2), as_floats[2].reshape(2, 2), features
        )
        s, x = sp.Rational(sigma), sp.Rational(lam)
        for twin, number in (
            (exact.A(s, x), problem.A(sigma, lam)),
            (exact.b(x), problem.b(sigma, lam)[:, None]),
            (exact.M, problem.M),
            (exact.gamma_v(s, x), problem.gamma_v(sigma, lam)),
        ):
            close(number, symbolic.to_array(twin, {}), factor=1e-12)


class TestSpecialCases:
    @given(p=problems(), sigma=st.floats(-0.5, 1.5), lam=lams)
    @few(25)
    def test_A_and_v_are_linear_in_sigma_and_b_is_free_of_it(self, p, sigma, lam):
        for part in (p.problem.A, p.problem.gamma_v):
            ends = part(0.0, lam), part(1.0, lam)
            close(
                part(sigma, lam),
                (1.0 - sigma) * ends[0] + sigma * ends[1],
                np.abs([*ends, p.problem.M]).max(),
                1e-12,
            )
        np.testing.assert_array_equal(p.problem.b(sigma, lam), p.problem.b(0.0, lam))

    @given(p=problems())
    @few(15)
    def test_sampling_with_a_full_trace_is_monte_carlo(self, p):
        """σ = λ = 1: the trace cancels the bootstrap, A is −M, and the fixed point is the projection of q^μ."""
        close(p.problem.A(1.0, 1.0), -p.problem.M)
        weighted = np.sqrt(p.problem.xi)
        fit = np.linalg.lstsq(
            weighted[:, None] * p.features, weighted * p.mdp.q(p.mu).ravel(), rcond=None
        )[0]
        close(p.problem.fixed_point(1.0, 1.0), fit, 1.0 + np.abs(fit).max(), 1e-7)


class TestSymmetries:
    @given(p=problems(), sigma=shares, lam=lams, seed=seeds)
    @few(12)
    def test_names_of_states_and_actions_do_not_matter(self, p, sigma, lam, seed):
        rng = np.random.default_rng(seed)
        states, actions = rng.permutation(p.mdp.n_states), rng.permutation(p.mdp.n_actions)
        pairs = (states[:, None] * p.mdp.n_actions + actions).ravel()
        moves = p.mdp.transitions[np.ix_(states, actions, states)]
        renamed = FiniteMDP(moves, p.mdp.rewards[np.ix_(states, actions)], p.mdp.gamma)
        mu, pi = p.mu[np.ix_(states, actions)], p.pi[np.ix_(states, actions)]
        other = PredictionProblem.on_pairs(renamed, mu, pi, p.features[pairs])
        close(other.xi, p.problem.xi[pairs], factor=1e-12)
        close(renamed.q(pi), p.mdp.q(p.pi)[np.ix_(states, actions)], factor=1e-10)
        for name in ("A", "b", "gamma_v"):
            close(getattr(other, name)(sigma, lam), getattr(p.problem, name)(sigma, lam))
        np.testing.assert_allclose(
            critical_sigma(other, lam), critical_sigma(p.problem, lam), atol=1e-7
        )

    @given(p=problems(), sigma=shares, lam=lams, seed=seeds)
    @few(20)
    def test_turned_features_turn_the_weights_and_no_prediction(self, p, sigma, lam, seed):
        rng = np.random.default_rng(seed)
        turn = np.linalg.qr(rng.standard_normal((p.problem.d, p.problem.d)))[0]
        other = PredictionProblem.on_pairs(p.mdp, p.mu, p.pi, p.features @ turn)
        a, b = p.problem.A(sigma, lam), p.problem.b(sigma, lam)
        close(other.A(sigma, lam), turn.T @ a @ turn)
        close(other.b(sigma, lam), turn.T @ b, 1.0 + np.abs(b).max())
        assert spectral_abscissa(other.A(sigma, lam)) == pytest.approx(
            spectral_abscissa(a), abs=1e-6 * np.abs(a).max()
        )
        theta = rng.standard_normal(p.problem.d)
        wanted = p.problem.mspbe(theta, sigma, lam)
        assert other.mspbe(turn.T @ theta, sigma, lam) == pytest.approx(wanted, rel=1e-6, abs=1e-9)
        close(
            turn @ other.mspbe_gradient(turn.T @ theta, sigma, lam),
            p.problem.mspbe_gradient(theta, sigma, lam),
            None,
            1e-6,
        )


class TestLearners:
    @given(p=problems(), sigma=st.floats(-0.5, 1.5), lam=lams, seed=seeds)
    @few(20)
    def test_the_mean_of_a_step_is_the_expected_update(self, p, sigma, lam, seed):
        """Over every transition, with the trace that pairs have on average; a step is linear in it."""
        problem, rng = p.problem, np.random.default_rng(seed)
        theta, omega = rng.standard_normal((2, problem.d))
        decay = problem.gamma * lam
        traces = problem.trace_weights(lam) / problem.xi[:, None]
        by_state = np.einsum(
            "sa,sad->sd", p.pi, p.features.reshape(p.mdp.n_states, p.mdp.n_actions, -1)
        )
        rates = {"sigma": sigma, "lam": lam, "gamma": problem.gamma, "alpha": 1.0}
        td, gq = np.zeros(problem.d), np.zeros(2 * problem.d)
        for i in range(problem.n):
            before = (traces[i] - p.features[i]) / decay if decay > 0 else np.zeros(problem.d)
            for j in np.flatnonzero(problem.p_mu[i]):
                chance = problem.xi[i] * problem.p_mu[i, j]
                seen = (
                    p.features[i],
                    problem.rewards[i],
                    p.features[j],
                    by_state[j // p.mdp.n_actions],
                )
                td += chance * (semi_gradient_step(theta, before, *seen, **rates)[0] - theta)
                new = gq_step(theta, omega, before, *seen, **rates, beta=3.0)
                gq += chance * np.concatenate([new[0] - theta, new[1] - omega])
        size = 1.0 + np.abs(traces).max() * np.abs(p.features).max() * (
            1.0 + np.abs(problem.rewards).max()
        )
        close(td, problem.td_step(theta, sigma, lam), size)
        b = problem.b(sigma, lam)
        joint = joint_matrix(problem, sigma, lam, 3.0) @ np.concatenate([theta, omega])
        close(gq, joint + np.concatenate([b, 3.0 * b]), 3.0 * size)

    @given(
        learner=st.sampled_from(["gq", "semi-gradient", "tdc", "gtd2"]),
        reading=st.sampled_from(["expected", "stacked"]),
        rates=st.tuples(
            shares, shares, st.sampled_from([0.001, 0.01, 0.1]), st.sampled_from([0.0, 0.5, 4.0])
        ),
        drawn=st.sampled_from(["step", "episode", "run"]),
        seed=st.integers(0, 1000),
    )
    @few(10)
    def test_compiled_prediction_is_the_reference(self, learner, reading, rates, drawn, seed):
        sigma, lam, alpha, eta = rates
        setting = PredictionSetting(
            "boyan_chain", (("reading", reading),), learner, sigma=sigma, sigma_noise=0.1, sigma_drawn=drawn, lam=lam,
            alpha=alpha, eta=eta, steps=60, kept=6,
        )  # fmt: skip
        fast, slow = (
            run_prediction(setting, 1, seed, engine=engine) for engine in ("fast", "reference")
        )
        np.testing.assert_array_equal(fast.diverged_at, slow.diverged_at)
        np.testing.assert_allclose(fast.theta, slow.theta, rtol=1e-9, atol=1e-9)

    @given(
        rates=st.tuples(
            shares, shares, st.sampled_from([0.001, 0.02]), st.sampled_from([0.25, 1.0]), shares
        ),
        target=st.sampled_from(["greedy", "epsilon-greedy"]),
        method=st.sampled_from(["gradient", "semi-gradient"]),
        memory=st.sampled_from(["int", "iht"]),
        drawn=st.sampled_from(["step", "episode", "run"]),
        seed=st.integers(0, 1000),
    )
    @few(8)
    def test_compiled_control_is_the_reference(self, rates, target, method, memory, drawn, seed):
        sigma, lam, alpha, eta, epsilon = rates
        setting = ControlSetting(
            sigma=sigma, lam=lam, alpha=alpha, eta=eta, epsilon=epsilon, target=target, method=method, memory=memory,
            sigma_drawn=drawn, sigma_noise=0.05, p=128, episodes=2, max_steps=25,
        )  # fmt: skip
        fast, slow = (
            run_control(setting, 1, seed, engine=engine, weights=True)
            for engine in ("fast", "reference")
        )
        np.testing.assert_array_equal(fast.steps, slow.steps)
        np.testing.assert_allclose(fast.theta, slow.theta, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(fast.omega, slow.omega, rtol=1e-7, atol=1e-10)
