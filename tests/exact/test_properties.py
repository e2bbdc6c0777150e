"""What holds for every problem, setting and sample, on many random ones: identities, special cases, symmetries.

Three witnesses meet (symbolic, exact, sampled); relabelling states, rotating or scaling features and scaling rewards
change what they should and nothing else; compiled code equals the reference; the order of work does not matter.
"""

from __future__ import annotations

import dataclasses
from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import few, gammas, lams, problems, seeds, shares
from sweep_tasks import experiment
from walks import assert_samples

from gqlib import FiniteMDP, PredictionProblem, symbolic
from gqlib.control import ControlSetting, run_control
from gqlib.domains import domain_on_pairs
from gqlib.evaluation import PredictionSetting, run_prediction
from gqlib.learners import gq_step, semi_gradient_step
from gqlib.learners.sigma import Schedule
from gqlib.stability import critical_sigma, joint_matrix, spectral_abscissa
from gqlib.stats import (
    bootstrap_interval,
    case_counts,
    case_null,
    grim,
    holm,
    paired_difference,
    performance_profile,
    probability_of_improvement,
    tolerance_interval,
)
from gqlib.sweeps.results import collect
from gqlib.sweeps.store import Store
from gqlib.sweeps.sweep import run_sweep
from gqlib.tiles3 import IHT, tiles
from gqlib.timescales import eta_star


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

    @given(
        p=problems(gamma=st.sampled_from([0.5, 0.9])),
        sigma=shares,
        lam=st.sampled_from([0.0, 0.5, 0.8]),
    )
    @few(3)
    def test_sampled_is_exact(self, p, sigma, lam):
        path = domain_on_pairs(p.mdp, p.mu, p.pi, p.features).trajectory(20_000, p.rng)
        assert_samples(path, p.problem, sigma, lam)

    @given(p=problems(), sigma=st.floats(-0.5, 1.5), lam=lams)
    @few(25)
    def test_A_and_b_are_sums_over_the_age_of_what_the_trace_holds(self, p, sigma, lam):
        problem, decay = p.problem, p.problem.gamma * lam
        carried = problem.xi[:, None] * p.features
        summed = np.zeros_like(carried)
        for _ in range(
            1 + int(np.ceil(-36.0 / np.log(decay))) if decay > 0 else 1
        ):  # decay**n < 2e-16
            summed += carried
            carried = decay * problem.p_mu.T @ carried
        mixed = (1.0 - sigma) * problem.p_pi + sigma * problem.p_mu
        close(problem.A(sigma, lam), summed.T @ (problem.gamma * mixed @ p.features - p.features))
        close(
            problem.b(sigma, lam),
            summed.T @ problem.rewards,
            (np.abs(summed).T @ np.abs(problem.rewards)).max(),
        )


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

    @given(p=problems(gamma=st.just(0.0)), sigma=shares, lam=lams)
    @few(10)
    def test_without_a_future_everything_is_regression(self, p, sigma, lam):
        close(p.problem.A(sigma, lam), -p.problem.M, factor=1e-14)
        weighted = np.sqrt(p.problem.xi)
        fit = np.linalg.lstsq(
            weighted[:, None] * p.features, weighted * p.problem.rewards, rcond=None
        )[0]
        close(p.problem.fixed_point(sigma, lam), fit)

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

    @given(p=problems(on_policy=True), sigma=st.floats(-1.0, 2.0), lam=lams)
    @few(15)
    def test_on_policy_sigma_is_void_and_A_is_negative_definite(self, p, sigma, lam):
        close(p.problem.A(sigma, lam), p.problem.A(0.0, lam), factor=1e-12)
        assert np.linalg.eigvalsh(p.problem.A(sigma, lam) + p.problem.A(sigma, lam).T).max() < 0.0

    @given(p=problems(), sigma=shares, lam=lams)
    @few(15)
    def test_in_a_table_the_fixed_point_is_the_value_of_the_mixture(self, p, sigma, lam):
        table = PredictionProblem.on_pairs(p.mdp, p.mu, p.pi, np.eye(p.problem.n))
        mixture = (1.0 - sigma) * p.pi + sigma * p.mu
        assume(table.xi.min() > 1e-6)
        close(table.fixed_point(sigma, lam), p.mdp.q(mixture).ravel(), factor=1e-7)

    @given(p=problems(), sigma=shares, lam=lams)
    @few(25)
    def test_proposition_1_and_the_gradient(self, p, sigma, lam):
        theta = p.rng.standard_normal(p.problem.d)
        gradient = p.problem.mspbe_gradient(theta, sigma, lam)
        size = np.abs(gradient).max() + p.problem.mspbe(theta, sigma, lam)
        close(p.problem.prop1_step(theta, sigma, lam), -gradient, size, 1e-7)
        h = 1e-4 * np.eye(p.problem.d)
        value = p.problem.mspbe
        slope = [(value(theta + x, sigma, lam) - value(theta - x, sigma, lam)) / 2e-4 for x in h]
        # A quadratic: central differences are exact up to rounding.
        close(slope, gradient, size, 1e-6)
        M, A = p.problem.M, p.problem.A(sigma, lam)  # M + Aᵀ may cancel
        close(p.problem.gamma_v(sigma, lam), M + A.T, np.abs(M).max() + np.abs(A).max(), 1e-8)


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

    @given(p=problems(), sigma=shares, lam=lams, scale=st.sampled_from([0.125, 2.0, 64.0]))
    @few(10)
    def test_scaled_features(self, p, sigma, lam, scale):
        """With powers of two scaling is exact, and so is everything that follows from it by multiplication."""
        other = PredictionProblem.on_pairs(p.mdp, p.mu, p.pi, scale * p.features)
        close(other.A(sigma, lam), scale**2 * p.problem.A(sigma, lam), factor=1e-14)
        close(other.b(sigma, lam), scale * p.problem.b(sigma, lam), factor=1e-14)
        theta = p.rng.standard_normal(p.problem.d)
        wanted = p.problem.mspbe(theta, sigma, lam)
        assert other.mspbe(theta / scale, sigma, lam) == pytest.approx(wanted, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(
            critical_sigma(other, lam), critical_sigma(p.problem, lam), atol=1e-9
        )
        assume(p.problem.d <= 2)
        assert eta_star(other, sigma, lam) == pytest.approx(
            eta_star(p.problem, sigma, lam), rel=1e-6, abs=1e-9
        )

    @given(p=problems(), sigma=shares, lam=lams, scale=st.sampled_from([-4.0, 0.5, 1024.0]))
    @few(20)
    def test_scaled_rewards_scale_values_and_weights(self, p, sigma, lam, scale):
        richer = FiniteMDP(p.mdp.transitions, scale * p.mdp.rewards, p.mdp.gamma)
        other = PredictionProblem.on_pairs(richer, p.mu, p.pi, p.features)
        np.testing.assert_array_equal(other.A(sigma, lam), p.problem.A(sigma, lam))
        close(other.b(sigma, lam), scale * p.problem.b(sigma, lam), factor=1e-14)
        close(richer.q(p.pi), scale * p.mdp.q(p.pi), factor=1e-12)
        theta = p.rng.standard_normal(p.problem.d)
        wanted = scale**2 * p.problem.mspbe(theta, sigma, lam)
        assert other.mspbe(scale * theta, sigma, lam) == pytest.approx(wanted, rel=1e-9)

    @given(p=problems(), more=st.floats(0.0, 5.0))
    @few(15)
    def test_values_solve_the_bellman_equation_and_rise_with_rewards(self, p, more):
        q, v = p.mdp.q(p.pi), p.mdp.v(p.pi)
        close(q, p.mdp.rewards + p.mdp.gamma * p.mdp.transitions @ v, 1.0 + np.abs(q).max())
        close(v, (p.pi * q).sum(axis=1), 1.0 + np.abs(q).max())
        raised = FiniteMDP(p.mdp.transitions, p.mdp.rewards + more, p.mdp.gamma)
        close(
            raised.q(p.pi),
            q + more / (1.0 - p.mdp.gamma),
            1.0 + np.abs(q).max() + more / (1.0 - p.mdp.gamma),
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


class TestOrderOfWork:
    @given(cut=st.integers(1, 4), seed=st.integers(0, 1000))
    @few(5)
    def test_runs_do_not_depend_on_how_they_are_cut(self, cut, seed):
        setting = ControlSetting(p=128, episodes=2, max_steps=50)
        whole = run_control(setting, 5, seed)
        parts = [
            run_control(setting, n, seed, first_run=first)
            for first, n in ((0, cut), (cut, 5 - cut))
        ]
        np.testing.assert_array_equal(
            whole.checksum, np.concatenate([part.checksum for part in parts])
        )

    def test_a_sweep_does_not_depend_on_the_order_of_settings_or_on_the_cut(self, tmp_path):
        """One example: every task waits for the disk. That of workers is in test_sweep."""
        whole = experiment(settings=3, runs=2, runs_per_task=2)
        other = dataclasses.replace(whole, settings=whole.settings[::-1], runs_per_task=1)
        results = []
        for name, sweep in (("whole", whole), ("other", other)):
            store = Store(tmp_path / name)
            run_sweep(sweep, store)
            results.append(collect(sweep, store))
        np.testing.assert_array_equal(
            results[0]["values"].values[::-1], results[1]["values"].values
        )


samples = st.lists(st.integers(-1000, 1000).map(lambda k: k / 8), min_size=5, max_size=12)


class TestStatistics:
    @given(
        x=samples,
        shift=st.integers(-50, 50),
        scale=st.sampled_from([0.5, 2.0, 8.0]),
        method=st.sampled_from(["BCa", "percentile", "basic"]),
    )
    @few(20)
    def test_bootstrap_intervals_move_and_scale_with_the_scores(self, x, shift, scale, method):
        assume(len(set(x)) > 2)

        def interval(sample):
            return np.array(
                bootstrap_interval(sample, np.random.default_rng(3), method=method, resamples=200)
            )

        size = np.abs(x).max() * scale + abs(shift)
        close(interval(scale * np.array(x) + shift), scale * interval(x) + shift, size)

    @given(
        runs=st.integers(5, 12),
        shift=st.integers(-50, 50),
        scale=st.sampled_from([0.5, 2.0, 8.0]),
        seed=seeds,
    )
    @few(10)
    def test_paired_differences_are_antisymmetric_and_blind_to_what_runs_share(
        self, runs, shift, scale, seed
    ):
        rng = np.random.default_rng(seed)
        first, common = rng.integers(-100, 100, (2, runs))
        # Differences of different sizes and none zero: the signed-rank test is then exact and quick.
        second = first + rng.permutation(np.arange(1, runs + 1)) * rng.choice([-1, 1], runs)
        one, other = paired_difference(first, second), paired_difference(second, first)
        assert one.mean == -other.mean
        assert (one.p_value, one.p_signed_rank) == pytest.approx(
            (other.p_value, other.p_signed_rank), rel=1e-9
        )
        close([one.low, one.high], [-other.high, -other.low], 100.0)
        moved = paired_difference(
            scale * (first + common) + shift, scale * (second + common) + shift
        )
        assert moved.mean == pytest.approx(scale * one.mean, rel=1e-9, abs=1e-9)
        assert moved.p_value == pytest.approx(one.p_value, rel=1e-6, abs=1e-12)
        assert moved.p_signed_rank == one.p_signed_rank

    @given(x=samples, y=samples)
    @few(15)
    def test_improvement_depends_on_ranks_alone_and_its_two_sides_make_one(self, x, y):
        def share(first, second, **how):
            return probability_of_improvement(
                first, second, np.random.default_rng(1), resamples=20, **how
            ).probability

        assert share(x, y) + share(y, x) == pytest.approx(1.0)
        assert share(np.arctan(x), np.arctan(y)) == pytest.approx(share(x, y))
        assert share(x, y, lower_is_better=False) == pytest.approx(share(y, x))
        assert share(x, y) == pytest.approx(
            np.mean([(a < b) + 0.5 * (a == b) for a in x for b in y])
        )

    @given(p=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8), seed=seeds)
    @few(40)
    def test_holm_raises_p_values_keeps_their_order_and_ignores_their_places(self, p, seed):
        raw, adjusted = np.array(p), holm(p)
        assert (adjusted >= raw).all()
        assert (adjusted <= np.minimum(1.0, len(p) * raw + 1e-15)).all()
        assert (np.diff(adjusted[np.argsort(raw, kind="stable")]) >= 0.0).all()
        order = np.random.default_rng(seed).permutation(len(p))
        np.testing.assert_array_equal(holm(raw[order]), adjusted[order])

    @given(scores=st.lists(st.integers(0, 6), min_size=3, max_size=12), seed=seeds)
    @few(40)
    def test_cases_add_up_and_depend_on_the_order_of_scores_alone(self, scores, seed):
        counts = case_counts(scores)
        assert counts.total == len(scores) - 2
        interior = np.random.default_rng(seed).permutation(scores[1:-1])
        assert case_counts(interior, scores[0], scores[-1]) == counts
        assert case_counts(interior, scores[-1], scores[0]) == counts
        assert case_counts(np.exp(scores)) == counts
        assert case_counts([-s for s in scores], lower_is_better=False) == counts
        better, between, worse = case_counts(scores, lower_is_better=False)
        assert (worse, between, better) == tuple(counts)

    @given(n=st.integers(1, 12), cells=st.integers(1, 3))
    @few(15)
    def test_the_null_of_cases_is_a_law_with_the_moments_it_says(self, n, cells):
        null = case_null(n, cells)
        p, k = null.probabilities, null.support
        assert p.sum() == pytest.approx(1.0)
        assert (p * k).sum() == pytest.approx(null.mean)
        assert (p * (k - null.mean) ** 2).sum() == pytest.approx(null.variance)
        assert null.p_value(0) == pytest.approx(1.0)
        tails = [null.p_value(int(count)) for count in k]
        assert all(later <= earlier for earlier, later in pairwise(tails))

    @given(printed=st.integers(0, 1000), denominator=st.integers(1, 60))
    @few(60)
    def test_grim_finds_what_brute_force_finds(self, printed, denominator):
        shown = Decimal(printed) / 10
        fits = []
        for k in range(denominator + 1):
            share = Decimal(100 * k) / Decimal(denominator)
            if shown in {
                share.quantize(Decimal("0.1"), mode) for mode in (ROUND_HALF_UP, ROUND_HALF_DOWN)
            }:
                fits.append(k)
        assert grim(str(shown), denominator) == ({denominator: tuple(fits)} if fits else {})

    @given(
        x=st.lists(st.integers(0, 9), min_size=1, max_size=15),
        levels=st.lists(st.integers(-1, 10), min_size=1, max_size=6),
    )
    @few(20)
    def test_profiles_are_shares_that_rise_inside_their_band(self, x, levels):
        profile = performance_profile(x, sorted(levels))
        assert profile.share.tolist() == [np.mean(np.array(x) <= level) for level in sorted(levels)]
        assert (profile.low >= 0.0).all()
        assert (profile.low <= profile.share).all()
        assert (profile.share <= profile.high).all()
        assert (profile.high <= 1.0).all()

    @given(seed=seeds, shift=st.integers(-50, 50), runs=st.integers(50, 80))
    @few(10)
    def test_tolerance_intervals_are_runs_and_turn_round_with_the_scores(self, seed, shift, runs):
        x = np.random.default_rng(seed).integers(-1000, 1000, runs).astype(float)
        low, high = tolerance_interval(x, 0.8, 0.9)
        assert {low, high} <= set(x)
        assert tolerance_interval(shift - x, 0.8, 0.9) == (shift - high, shift - low)


points = st.lists(st.integers(-2000, 2000).map(lambda k: k / 64), min_size=1, max_size=4)


class TestTilesAndSigma:
    @given(point=points, power=st.integers(0, 4))
    @few(40)
    def test_neighbours_share_all_tiles_but_one(self, point, power):
        """Across one cell of the first coordinate exactly one tiling has a border; inside a cell none has."""
        count = 2**power
        here = tiles(None, count, point)
        assert [tile[0] for tile in here] == list(range(count))
        corner = [np.floor(point[0] * count) / count, *point[1:]]
        assert tiles(None, count, corner) == here
        beyond = tiles(None, count, [corner[0] + 1.0 / count, *point[1:]])
        assert sum(a != b for a, b in zip(here, beyond, strict=True)) == 1

    @given(
        path=st.lists(points.map(lambda p: p[:2]), min_size=1, max_size=20),
        size=st.integers(1, 40),
        count=st.integers(1, 8),
    )
    @few(25)
    def test_an_index_table_is_a_function_with_values_below_its_size(self, path, size, count):
        table = IHT(size)
        seen = {}
        for point in path:
            indices = tiles(table, count, point)
            assert all(0 <= index < size for index in indices)
            assert seen.setdefault(tuple(point), indices) == indices
        assert table.count() <= size
        assert all(0 <= index < size for index in tiles(size, count, path[0]))

    @given(
        mean=shares,
        noise=st.sampled_from([0.0, 0.01, 0.5]),
        drawn=st.sampled_from(["step", "episode", "run"]),
        clipped=st.booleans(),
        ramp_to=st.none() | shares,
        decay=st.sampled_from([0.5, 1.0]),
        ends=st.lists(st.booleans(), min_size=1, max_size=30),
        seed=seeds,
    )
    @few(60)
    def test_schedules_stay_in_range_and_change_only_when_they_may(
        self, mean, noise, drawn, clipped, ramp_to, decay, ends, seed
    ):
        schedule = Schedule(mean, noise, drawn, clipped, ramp_to, decay)
        values, again = (schedule.sample(ends, np.random.default_rng(seed)) for _ in range(2))
        np.testing.assert_array_equal(values, again)
        means = schedule.means(ends)
        top = max(mean, 0.0 if ramp_to is None else ramp_to)
        assert (means >= 0.0).all()
        assert (means <= top + 0.02).all()
        if clipped or noise == 0.0:
            assert (values >= 0.0).all()
            assert (values <= 1.0).all()
        if noise == 0.0:
            np.testing.assert_array_equal(values, np.clip(means, 0.0, 1.0) if clipped else means)
        if ramp_to is None and decay == 1.0 and drawn != "step":
            changes = np.flatnonzero(np.diff(values) != 0.0)
            assert drawn == "episode" or len(changes) == 0
            assert all(ends[k] for k in changes)
        assert 0.0 <= schedule.outside(ends) <= 1.0


@given(
    fields=st.fixed_dictionaries(
        {},
        optional={
            "sigma": shares,
            "lam": lams,
            "gamma": gammas,
            "p": st.sampled_from([64, 128]),
            "target": st.sampled_from(["greedy", "epsilon-greedy"]),
        },
    ),
)
@few(25)
def test_settings_are_their_values(fields):
    """Neither the order of fields nor a default that is written out changes a key; a changed field does."""
    setting = ControlSetting(**fields)
    spelt = ControlSetting(**dict(reversed(list(dataclasses.asdict(setting).items()))))
    assert spelt == setting
    assert spelt.key == setting.key
    assert dataclasses.replace(setting, episodes=setting.episodes + 1).key != setting.key
