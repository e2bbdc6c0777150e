"""The methods of today: exact means and noise against other derivations, steps against steps from their own sources."""

import dataclasses
import math

import numpy as np
import pytest

from gqlib import emphatic, ridge, timescales
from gqlib.domains import (
    baird_star,
    boyan_chain,
    collision,
    collision_features,
    five_state_walk,
    random_mdp,
)
from gqlib.domains.random_problems import random_policy
from gqlib.learners import gq_step
from gqlib.learners.corrected import CorrectedProblem, corrected_gq_step, variant_tables
from gqlib.learners.gradient_td import gtd2_step, maei_gq_step, tdc_step
from gqlib.learners.relatives import tree_backup_step
from gqlib.learners.textbook import (
    TextbookProblem,
    TracedProblem,
    textbook_tables,
    trace_coefficients,
)
from gqlib.long_run import long_run_covariance
from gqlib.methods import (
    METHODS,
    Method,
    Task,
    eta_star,
    fixed_point,
    increment_covariance,
    joint_of,
    limits,
    means,
)
from gqlib.methods.catalogue import coefficients, psi_of_zeta
from gqlib.methods.limits import largest_step, ratio_windows
from gqlib.methods.mean import followon, next_features
from gqlib.methods.noise import trace_moments
from gqlib.methods.steps import Seen, Weights, gap, method_step, run_method

GAMMA, LAM = 0.9, 0.6


def random_task(seed=0, on="pairs", features=3, on_policy=False):
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, 4, 3, GAMMA)
    mu = random_policy(rng, 4, 3, concentration=3.0)
    pi = mu if on_policy else random_policy(rng, 4, 3, concentration=3.0)
    phi = rng.standard_normal((4 if on == "states" else 12, features))
    return Task(f"random {seed}", mdp, mu, pi, phi, on=on)


def drawn_collision(seed=0, on="states"):
    return Task.of(collision(collision_features(np.random.default_rng(seed))), on=on)


def lam_of(method, lam=LAM):
    return 0.0 if method.update == "direct" else lam


STATES = {name: method for name, method in METHODS.items() if "states" in method.on}
CASES = [(name, on) for name, method in METHODS.items() for on in method.on]
# With a step that moves (θ, ω) by its mean: LSTD moves nothing, and AᵀTD takes two samples, whose mean is a product.
MOVED = [
    (name, on) for name, on in CASES if METHODS[name].update not in ("least squares", "direct")
]


class TestMeans:
    def test_emphatic_means_are_those_of_the_emphatic_module(self):
        task = random_task()
        given = means(task, METHODS["ETD(λ)"], LAM)
        assert np.abs(given.A - emphatic.emphatic_matrix(task.problem, LAM)).max() < 1e-12
        assert np.abs(given.b - emphatic.emphatic_vector(task.problem, LAM)).max() < 1e-12

    @pytest.mark.parametrize(
        ("name", "rule"),
        [("TD(λ)", "importance"), ("Tree Backup(λ)", "tree_backup"), ("Retrace(λ)", "retrace")],
    )
    def test_traced_means_are_those_of_the_textbook_module(self, name, rule):
        task = random_task()
        view = TracedProblem.of(task.problem, trace_coefficients(task.mu, task.pi, rule))
        given = means(task, METHODS[name], LAM)
        assert np.abs(given.A - view.A(0.0, LAM)).max() < 1e-14
        assert np.abs(given.b - view.b(0.0, LAM)).max() < 1e-14
        assert np.abs(given.V - view.gamma_v(0.0, LAM)).max() < 1e-14

    def test_printed_and_repaired_gq_are_those_of_the_book(self):
        task = random_task()
        printed, repaired, textbook = (means(task, METHODS[f"GQ(½, λ) {kind}"], LAM)
                                       for kind in ("printed", "repaired", "textbook"))  # fmt: skip
        views = (
            CorrectedProblem.of(task.problem),
            TextbookProblem.of(task.problem, task.mu, task.pi, 0.5),
        )
        for given, view in zip((printed, repaired, textbook), (task.problem, *views), strict=True):
            assert np.abs(given.A - view.A(0.5, LAM)).max() < 1e-14
            assert np.abs(given.V - view.gamma_v(0.5, LAM)).max() < 1e-14

    @pytest.mark.parametrize(("name", "on"), CASES)
    def test_the_correction_is_that_of_proposition_1_wherever_nothing_is_emphasised_or_clipped(
        self, name, on
    ):
        method, task = METHODS[name], drawn_collision(on=on)
        given = means(task, method, lam_of(method))
        gap_of = np.abs(given.V - task.M - given.A.T).max()
        if method.emphasis or method.error == "clipped":
            assert gap_of > 0.01
        else:
            assert gap_of < 1e-14

    @pytest.mark.parametrize("on", ["states", "pairs"])
    def test_with_a_table_every_method_but_two_has_the_values_of_the_target(self, on):
        """V-trace and the printed GQ estimate another policy's."""
        task = Task.of(five_state_walk(), on=on)
        for name, method in METHODS.items():
            if on not in method.on:
                continue
            error = task.error(fixed_point(task, means(task, method, lam_of(method))))
            if name in ("V-trace(λ)", "GQ(½, λ) printed"):
                assert error > 0.1, name
            else:
                assert error < 1e-12, name

    def test_v_trace_has_the_values_of_the_clipped_policy(self):
        """Espeholt et al. (2018), Theorem 1: of min(μ, π), normalised."""
        task = Task.of(five_state_walk())
        clipped = np.minimum(task.mu, task.pi)
        values = task.mdp.v(clipped / clipped.sum(axis=1, keepdims=True))
        assert (
            np.abs(fixed_point(task, means(task, METHODS["V-trace(λ)"], LAM)) - values[1:6]).max()
            < 1e-12
        )


class TestSpecialCases:
    """To the bit: a special case is the same numbers, not nearly the same."""

    @staticmethod
    def same(task, one, other, lam=LAM, other_lam=None):
        first, second = (
            means(task, one, lam),
            means(task, other, lam if other_lam is None else other_lam),
        )
        return all(
            (x == y).all() for x, y in zip(vars(first).values(), vars(second).values(), strict=True)
        )

    @pytest.mark.parametrize("on", ["states", "pairs"])
    def test_textbook_sigma_ends_are_tree_backup_and_importance_sampling(self, on):
        task = random_task(on=on)
        for sigma, rule in ((0.0, "tree_backup"), (1.0, "importance")):
            assert self.same(task, Method("textbook", sigma=sigma), Method(rule))
        assert not self.same(task, Method("textbook", sigma=0.5), Method("importance"))

    @pytest.mark.parametrize("on", ["states", "pairs"])
    def test_abtd_runs_from_no_trace_over_tree_backup_to_retrace(self, on):
        task = Task.of(five_state_walk("dependent"), on=on)
        abtd = METHODS["ABTD(ζ)"]
        assert psi_of_zeta(task, 0.0) == 0.0
        larger = np.maximum(task.mu, task.pi).ravel()[task.xi > 0.0]
        corners = (0.0, 1.0 / larger.max(), 1.0 / larger.min())
        for zeta in np.linspace(0.0, 1.0, 9):
            assert psi_of_zeta(task, zeta) == pytest.approx(
                np.interp(zeta, (0.0, 0.5, 1.0), corners), rel=1e-14
            )
        assert (
            np.abs(means(task, abtd, 0.0).A - means(task, Method("tree_backup"), 0.0).A).max()
            == 0.0
        )
        assert (
            coefficients(task, abtd, 1.0)[0] == coefficients(task, Method("retrace"), 1.0)[0]
        ).all()
        assert self.same(task, abtd, Method("retrace"), 1.0)

    @pytest.mark.parametrize("on", ["states", "pairs"])
    def test_emphatic_beta_gamma_is_emphatic_td_and_beta_zero_at_lambda_zero_is_td(self, on):
        task = drawn_collision(on=on)
        emphasised = Method(emphasis=True, beta=task.gamma)
        assert self.same(task, emphasised, METHODS["ETD(λ)"])
        assert (
            means(task, Method(emphasis=True, beta=0.0), 0.0).A
            == means(task, METHODS["TD(λ)"], 0.0).A
        ).all()

    def test_a_ridge_of_zero_is_tdc_and_the_ridge_is_that_of_its_module(self):
        task = random_task()
        given = means(task, METHODS["TDC(λ)"], LAM)
        for eta in (0.5, 2.0):
            without = joint_of(task, Method(update="tdrc", kappa=0.0), given, eta)
            assert (without == joint_of(task, METHODS["TDC(λ)"], given, eta)).all()
            rows = task.basis
            a, m = rows @ given.A @ rows.T, rows @ task.M @ rows.T
            expected = ridge.ridge_joint(a, m, eta, 1.0)
            assert np.abs(joint_of(task, METHODS["TDRC(λ)"], given, eta) - expected).max() < 1e-13

    def test_without_a_clip_v_trace_is_retrace_and_on_policy_everything_is_td(self):
        task = random_task(on="states", on_policy=True)
        td = means(task, METHODS["TD(λ)"], LAM)
        for name in ("V-trace(λ)", "Retrace(λ)"):
            assert (means(task, METHODS[name], LAM).A == td.A).all()
        hybrid = means(task, METHODS["HTD(λ)"], LAM)
        assert (hybrid.A_mu == hybrid.A).all()
        upper = joint_of(task, METHODS["HTD(λ)"], hybrid, 1.0)[: task.d]
        assert (upper[:, task.d :] == 0.0).all()

    def test_lambda_zero_forgets_the_rule(self):
        task = drawn_collision()
        td = means(task, METHODS["TD(λ)"], 0.0)
        for name in ("Tree Backup(λ)", "Retrace(λ)", "ABTD(ζ)"):
            assert (means(task, METHODS[name], 0.0).A == td.A).all()


class TestNoise:
    @pytest.mark.parametrize(
        ("name", "rule"),
        [("TD(λ)", "importance"), ("Tree Backup(λ)", "tree_backup"), ("Retrace(λ)", "retrace")],
    )
    def test_on_pairs_it_is_that_of_the_long_run_module(self, name, rule):
        task, lam = random_task(3), 0.4
        c = trace_coefficients(task.mu, task.pi, rule)
        tables = textbook_tables(task.mdp, task.mu, task.pi, task.phi, c)
        theta = fixed_point(task, means(task, METHODS[name], lam))
        expected = long_run_covariance(task.problem, tables.u, theta, lam, c)
        assert np.abs(increment_covariance(task, METHODS[name], lam) - expected).max() < 1e-12

    def test_that_of_the_repaired_gq_is_too(self):
        task, method = random_task(3), METHODS["GQ(½, λ) repaired"]
        tables = variant_tables(task.mdp, task.mu, task.pi, task.phi, 0.5, "corrected")
        theta = fixed_point(task, means(task, method, 0.4))
        expected = long_run_covariance(task.problem, tables.u, theta, 0.4)
        assert np.abs(increment_covariance(task, method, 0.4) - expected).max() < 1e-12

    def test_second_moment_of_the_followon_is_that_of_the_emphatic_module(self):
        task = random_task(5)
        task = Task("short", type(task.mdp)(task.mdp.transitions, task.mdp.rewards, 0.5), task.mu, task.pi, task.phi,
                    on="pairs")  # fmt: skip
        _, _, squared = trace_moments(task, METHODS["ETD(λ)"], LAM)
        assert (
            np.abs(squared - emphatic.followon_second_moment(task.problem, task.rho)).max() < 1e-10
        )

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["TD(λ)", "ETD(λ)", "V-trace(λ)", "ABTD(ζ)", "AᵀTD"])
    def test_batches_of_increments_spread_as_much(self, name):
        """Increments at the fixed point, on states with restarts, summed over batches much longer than their memory."""
        task, method = drawn_collision(2), METHODS[name]
        theta = fixed_point(task, means(task, method, lam_of(method)))
        gamma_matrix = increment_covariance(task, method, lam_of(method))
        sums = sampled_sums(task, method, theta, runs=2000, steps=250)
        measured = sums.T @ sums / len(sums) / 250
        # Of 2000 batches a covariance is known to about 4%; edges of a batch add memory/batch.
        assert np.abs(measured - gamma_matrix).max() < 0.15 * np.abs(gamma_matrix).max()
        assert abs(np.trace(measured) / np.trace(gamma_matrix) - 1.0) < 0.1

    def test_infinite_noise_is_refused(self):
        star = Task.of(baird_star(features="classical"))
        for name in ("TD(λ)", "ETD(λ)"):
            with pytest.raises(ValueError, match="infinite"):
                trace_moments(star, METHODS[name], 0.9)
        assert limits(star, METHODS["ETD(λ)"], 0.0).price == np.inf

    def test_only_the_fixed_point_has_noise_without_drift(self):
        with pytest.raises(ValueError, match="theta leaves a mean step"):
            increment_covariance(drawn_collision(), METHODS["TD(λ)"], 0.5, np.ones(6))


def seen_on(task, method, walks):
    """What a method sees along walks, step by step."""
    runs = walks.ends.shape[1]
    c, _ = coefficients(task, method, lam_of(method))
    u, states = next_features(task, method), task.on == "states"
    w = np.ones(task.n)
    if states:
        w = np.minimum(1.0, task.rho) if method.error == "clipped" else task.rho
    for k in range(len(walks.ends)):
        now, then, before = walks.index[k], walks.index[k + 1], walks.index[max(k - 1, 0)]
        goes = (~walks.ends[k]).astype(float)[:, None]
        begins = np.zeros(runs) if k == 0 else (~walks.ends[k - 1]).astype(float)
        linked, onward = (before, now) if states else (now, then)
        yield Seen(task.phi[now], task.rewards[now], goes * u[then], goes * task.phi[then], w=w[now], c=c[linked],
                   rho=task.rho[linked], onward=c[onward], goes_on=begins)  # fmt: skip


def sampled_sums(task, method, theta, runs, steps):
    """Sums of the increments of θ over walks, (runs, d), with θ held; for AᵀTD with a gap of 60 steps."""
    walks = task.walks(runs, steps + 60, np.random.default_rng(7))
    seen = list(seen_on(task, method, walks))
    held = np.tile(theta, (runs, 1))
    weights, total = Weights.first(held), np.zeros_like(held)
    for k in range(steps + 60):
        earlier = seen[max(k - 60, 0)] if method.update == "direct" else None
        reach = 1.0 if method.trace == "abtd" else lam_of(method)
        new = method_step(
            method, seen[k], weights, lam=reach, gamma=task.gamma, alpha=1.0, earlier=earlier
        )
        if k >= 60:  # before that steps are not stationary
            total = total + new.theta - held
        weights = dataclasses.replace(new, theta=held)
    return total


class TestLimits:
    def test_eta_star_is_that_of_the_time_scales(self):
        task = random_task(11)
        for lam in (0.0, LAM):
            view = TracedProblem.of(task.problem, task.rho)
            expected = timescales.eta_star(view, 0.0, lam)
            assert abs(eta_star(task, METHODS["TDC(λ)"], lam) - expected) < 1e-6 * max(
                expected, 1e-3
            )

    def test_windows_are_where_the_abscissa_is_negative(self):
        star = Task.of(baird_star(features="classical"))
        for name in ("TDC(λ)", "TDRC(λ)", "HTD(λ)", "GTD2(λ)"):
            given = means(star, METHODS[name], 0.0)
            windows = ratio_windows(star, METHODS[name], 0.0)
            for eta in np.geomspace(1e-3, 1e3, 25):
                stable = (
                    np.linalg.eigvals(joint_of(star, METHODS[name], given, eta)).real.max() < -1e-12
                )
                assert stable == any(low < eta < high for low, high in windows), (name, eta)

    @pytest.mark.parametrize("extragradient", [False, True])
    def test_the_mean_iteration_turns_at_the_largest_step(self, extragradient):
        task = drawn_collision()
        joint = joint_of(task, METHODS["GTD2(λ)"], means(task, METHODS["GTD2(λ)"], LAM), 1.0)
        largest = largest_step(joint, extragradient=extragradient)
        for factor, stable in ((0.999, True), (1.001, False)):
            moved = factor * largest * joint
            once = np.eye(len(joint)) + moved + (moved @ moved if extragradient else 0.0)
            assert (np.abs(np.linalg.eigvals(once)).max() < 1.0) == stable

    def test_an_extragradient_halves_the_step_where_eigenvalues_are_real(self):
        assert largest_step([[-1.0]]) == 2.0
        assert abs(largest_step([[-1.0]], extragradient=True) - 1.0) < 1e-12
        spiral = [[-0.01, 1.0], [-1.0, -0.01]]
        assert largest_step(spiral, extragradient=True) > 20 * largest_step(spiral)

    def test_a_price_that_is_not_asked_for_or_does_not_exist_is_nan(self):
        star = Task.of(baird_star(features="classical"))
        assert math.isnan(limits(star, METHODS["TDRC(λ)"], 0.0, noise=False).price)
        assert math.isnan(limits(star, METHODS["TD(λ)"], 0.0).price)  # its mean diverges
        with pytest.raises(ValueError, match=r"^joint has shape \(1, 2\)"):
            largest_step([[-1.0, 0.0]])

    def test_for_one_feature_the_price_of_td_is_half_of_least_squares(self):
        task = random_task(4, on="states", features=1)
        td, least = (limits(task, METHODS[name], LAM) for name in ("TD(λ)", "LSTD(λ)"))
        assert td.abscissa < 0.0
        assert abs(td.price / least.price - 0.5) < 1e-12

    def test_the_star_parts_the_methods_as_published(self):
        """TDRC's Figure 1: TD, V-trace and HTD diverge on the star at η = 1, TDC, GTD2 and TDRC do not."""
        star = Task.of(baird_star(features="classical"))
        stable = {
            name: limits(star, METHODS[name], 0.0, noise=False).abscissa < 0.0 for name in STATES
        }
        assert not any(stable[name] for name in ("TD(λ)", "V-trace(λ)", "HTD(λ)", "Tree Backup(λ)"))
        assert all(stable[name] for name in ("TDC(λ)", "GTD2(λ)", "TDRC(λ)", "ETD(λ)", "AᵀTD"))


class TestSteps:
    """One step against the same method from its own source, with z = ρ(γλz + φ) where we keep e with z = ρe."""

    @pytest.fixture
    def vectors(self):
        rng = np.random.default_rng(9)
        return {
            name: rng.standard_normal(4)
            for name in ("theta", "omega", "trace", "phi", "phi_next", "expected")
        }

    def test_tdc_on_states(self, vectors):
        v, last, now = vectors, 1.3, 0.7
        theirs = tdc_step(v["theta"], v["omega"], last * v["trace"], v["phi"], 0.5, v["phi_next"], now,
                          lam=LAM, gamma=GAMMA, alpha=0.1, beta=0.2)  # fmt: skip
        seen = Seen(
            v["phi"], 0.5, v["phi_next"], v["phi_next"], w=now, c=last, rho=last, onward=now
        )
        old = Weights(v["theta"], v["omega"], v["trace"], v["trace"], np.ones(1))
        ours = method_step(METHODS["TDC(λ)"], seen, old, lam=LAM, gamma=GAMMA, alpha=0.1, eta=2.0)
        assert np.abs(ours.theta - theirs[0]).max() < 1e-14
        assert np.abs(ours.omega - theirs[1]).max() < 1e-14
        assert np.abs(now * ours.trace - theirs[2]).max() < 1e-14

    def test_gtd2_on_states_without_trace(self, vectors):
        v = vectors
        theirs = gtd2_step(
            v["theta"],
            v["omega"],
            v["phi"],
            0.5,
            v["phi_next"],
            0.7,
            gamma=GAMMA,
            alpha=0.1,
            beta=0.2,
        )
        seen = Seen(v["phi"], 0.5, v["phi_next"], v["phi_next"], w=0.7, c=1.3, rho=1.3, onward=0.7)
        old = Weights(v["theta"], v["omega"], v["trace"], v["trace"], np.ones(1))
        ours = method_step(METHODS["GTD2(λ)"], seen, old, lam=0.0, gamma=GAMMA, alpha=0.1, eta=2.0)
        # Theirs weighs φφᵀω by ρ as well: the same mean, another sample.
        assert np.abs(ours.omega - theirs[1]).max() < 1e-14
        difference = 0.1 * (0.7 - 1.0) * (v["phi"] @ v["omega"]) * v["phi"]
        assert np.abs(ours.theta + difference - theirs[0]).max() < 1e-14

    def test_on_pairs_tdc_is_gq_of_maei(self, vectors):
        v = vectors
        theirs = maei_gq_step(v["theta"], v["omega"], v["trace"], v["phi"], 0.5, v["expected"], rho=1.3, lam=LAM,
                              gamma=GAMMA, alpha=0.1, beta=0.2)  # fmt: skip
        # Maei takes E_πφ for what the trace carries on, we take ρ'φ': equal where they agree.
        seen = Seen(v["phi"], 0.5, v["expected"], v["expected"], w=1.0, c=1.3, rho=1.3, onward=1.0)
        old = Weights(v["theta"], v["omega"], v["trace"], v["trace"], np.ones(1))
        ours = method_step(METHODS["TDC(λ)"], seen, old, lam=LAM, gamma=GAMMA, alpha=0.1, eta=2.0)
        for mine, given in zip((ours.theta, ours.omega, ours.trace), theirs, strict=False):
            assert np.abs(mine - given).max() < 1e-14

    def test_on_pairs_tree_backup_is_that_of_the_relatives(self, vectors):
        v = vectors
        theirs = tree_backup_step(v["theta"], v["trace"], v["phi"], 0.5, v["expected"], probability=0.4, lam=LAM,
                                  gamma=GAMMA, alpha=0.1)  # fmt: skip
        seen = Seen(v["phi"], 0.5, v["expected"], v["phi_next"], w=1.0, c=0.4, rho=1.3, onward=0.2)
        old = Weights(v["theta"], v["omega"], v["trace"], v["trace"], np.ones(1))
        ours = method_step(METHODS["Tree Backup(λ)"], seen, old, lam=LAM, gamma=GAMMA, alpha=0.1)
        assert np.abs(ours.theta - theirs[0]).max() < 1e-14

    def test_gq_printed_and_repaired_are_the_books(self, vectors):
        v, common = vectors, {"sigma": 0.5, "lam": LAM, "gamma": GAMMA, "alpha": 0.1, "beta": 0.2}
        given = [v[name] for name in ("theta", "omega", "trace", "phi")]
        printed = gq_step(*given, 0.5, v["phi_next"], v["expected"], **common)
        repaired = corrected_gq_step(
            *given, 0.5, v["phi_next"], v["expected"], rho_next=1.3, **common
        )
        old = Weights(v["theta"], v["omega"], v["trace"], v["trace"], np.ones(1))
        for theirs, rho in ((printed, 1.0), (repaired, 1.3)):
            u = v["expected"] + 0.5 * (rho * v["phi_next"] - v["expected"])
            seen = Seen(v["phi"], 0.5, u, v["phi_next"], w=1.0, c=1.0, rho=rho, onward=1.0)
            ours = method_step(
                METHODS["GQ(½, λ) printed"], seen, old, lam=LAM, gamma=GAMMA, alpha=0.1, eta=2.0
            )
            assert np.abs(ours.theta - theirs[0]).max() < 1e-14
            assert np.abs(ours.omega - theirs[1]).max() < 1e-14

    def test_on_policy_the_hybrid_is_td_step_by_step(self):
        task = random_task(on="states", on_policy=True)
        walks = task.walks(3, 200, np.random.default_rng(0))
        hybrid, td = (
            run_method(task, METHODS[name], walks, lam=LAM, alphas=[0.01])
            for name in ("HTD(λ)", "TD(λ)")
        )
        assert np.abs(hybrid.theta - td.theta).max() < 1e-13

    @pytest.mark.slow
    @pytest.mark.parametrize(("name", "on"), MOVED)
    def test_the_mean_of_a_step_is_the_exact_one(self, name, on):
        """Increments of (θ, ω) from a fixed place, averaged over runs, against J(η) and b, within five errors."""
        method, task, eta = METHODS[name], Task.of(five_state_walk("dependent"), on=on), 0.5
        rng = np.random.default_rng(3)
        theta, omega = rng.standard_normal((2, task.d))
        moves = held_increments(task, method, theta, omega, eta)
        given = means(task, method, LAM)
        exact = joint_of(task, method, given, eta)
        rows = task.basis if not method.has_ratio else np.kron(np.eye(2), task.basis)
        place = np.concatenate([theta, omega])[: rows.shape[1]]
        force = np.concatenate(
            [given.b * (method.update not in ("gtd2", "proximal")), eta * given.b]
        )[: rows.shape[1]]
        expected = rows.T @ (exact @ (rows @ place)) + force
        measured = moves[:, : rows.shape[1]]
        error = measured.std(axis=0, ddof=1) / np.sqrt(len(measured))
        assert (np.abs(measured.mean(axis=0) - expected) < 5 * error + 1e-12).all()

    def test_gaps_grow_and_never_reach_before_the_beginning(self):
        gaps = np.array([gap(k) for k in range(3000)])
        assert (gaps <= np.arange(3000)).all()
        assert (np.diff(gaps) >= 0).all()
        assert gaps.tolist() == [min(k, math.floor(math.log(k + 1) ** 2)) for k in range(3000)]


def held_increments(task, method, theta, omega, eta, runs=2000, steps=120):
    """Mean increments of (θ, ω) over the second half of walks, (runs, 2d), with both held where they are."""
    walks = task.walks(runs, steps, np.random.default_rng(5))
    alpha = 1e-6 if method.update == "proximal" else 1.0
    held = np.tile(theta, (runs, 1)), np.tile(omega, (runs, 1))
    weights = dataclasses.replace(Weights.first(held[0]), omega=held[1])
    total = np.zeros((runs, 2 * task.d))
    for k, seen in enumerate(seen_on(task, method, walks)):
        reach = 1.0 if method.trace == "abtd" else LAM
        new = method_step(method, seen, weights, lam=reach, gamma=task.gamma, alpha=alpha, eta=eta)
        if k >= steps // 2:
            total += np.concatenate([new.theta - held[0], new.omega - held[1]], axis=1) / alpha
        weights = dataclasses.replace(new, theta=held[0], omega=held[1])
    return total / (steps - steps // 2)


class TestRuns:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", STATES)
    def test_runs_that_start_at_the_exact_fixed_point_stay_around_it(self, name):
        method = METHODS[name]
        walk, lam = Task.of(five_state_walk("dependent")), lam_of(method, 0.4)
        exact = fixed_point(walk, means(walk, method, lam))
        begin = np.eye(7)[3]
        task = Task("walk", walk.mdp, walk.mu, walk.pi, walk.phi[::2], start=begin, theta0=exact)
        walks = task.walks(60, 1200, np.random.default_rng(11))
        done = (
            run_method(task, method, walks, lam=lam, alphas=[0.01], every=100)
            .theta[1:, 0]
            .mean(axis=0)
        )
        error = done.std(axis=0, ddof=1) / np.sqrt(60)
        assert (np.abs(done.mean(axis=0) - exact) < 5 * error + 0.005).all()
        assert (error > 0.0).all()

    @pytest.mark.parametrize(("name", "on"), MOVED)
    def test_a_run_is_its_steps(self, name, on):
        method, task = METHODS[name], Task.of(five_state_walk("dependent"), on=on)
        walks = task.walks(2, 60, np.random.default_rng(1))
        together = run_method(task, method, walks, lam=LAM, alphas=[0.02, 0.05], eta=0.5).theta
        weights = Weights.first(np.tile(task.theta0, (2, 1)))
        for k, seen in enumerate(seen_on(task, method, walks)):
            weights = method_step(method, seen, weights, lam=1.0 if method.trace == "abtd" else LAM, gamma=task.gamma,
                                  alpha=0.05, eta=0.5)  # fmt: skip
            assert (together[k + 1, 1] == weights.theta).all()

    def test_a_run_of_the_direct_method_pairs_a_step_with_the_one_before_the_gap(self):
        method, task = METHODS["AᵀTD"], drawn_collision()
        walks = task.walks(2, 60, np.random.default_rng(1))
        together = run_method(task, method, walks, lam=0.0, alphas=[0.02]).theta
        seen, weights = (
            list(seen_on(task, method, walks)),
            Weights.first(np.tile(task.theta0, (2, 1))),
        )
        for k in range(60):
            weights = method_step(method, seen[k], weights, lam=0.0, gamma=task.gamma, alpha=0.02,
                                  earlier=seen[k - gap(k)])  # fmt: skip
            assert (together[k + 1, 0] == weights.theta).all()
        assert gap(59) > 10

    def test_lstd_solves_the_sums_of_its_walk(self):
        method, task = METHODS["LSTD(λ)"], drawn_collision()
        walks = task.walks(2, 400, np.random.default_rng(1))
        kept = run_method(task, method, walks, lam=LAM, alphas=[1.0, 2.0], every=200).theta
        assert kept.shape == (3, 2, 2, task.d)
        assert (kept[0] == task.theta0).all()
        assert (kept[:, 0] == kept[:, 1]).all()  # the step size has no say
        system, right, trace = (
            np.zeros((2, task.d, task.d)),
            np.zeros((2, task.d)),
            np.zeros((2, task.d)),
        )
        for k, seen in enumerate(seen_on(task, method, walks)):
            trace = (task.gamma * LAM * seen.goes_on * seen.c)[:, None] * trace + seen.phi
            change = seen.w[:, None] * (seen.phi - task.gamma * seen.u)
            for run in range(2):
                system[run] += np.outer(trace[run], change[run])
                right[run] += seen.w[run] * seen.reward[run] * trace[run]
                if (k + 1) % 200 == 0:
                    solved = np.linalg.lstsq(system[run], right[run], rcond=1e-10)[0]
                    np.testing.assert_allclose(
                        kept[(k + 1) // 200, 0, run], solved, rtol=1e-8, atol=1e-10
                    )

    def test_tasks_that_do_not_go_together_are_refused(self):
        tasks = [drawn_collision(seed) for seed in range(3)]
        walks = tasks[0].walks(3, 5, np.random.default_rng(0))
        wrong = {r"^task is \[\]": [], r"^task holds 2; .* 3 runs": tasks[:2],
                 r"^task holds 3; .* one chain": [*tasks[:2], Task.of(five_state_walk())]}  # fmt: skip
        for message, given in wrong.items():
            with pytest.raises(ValueError, match=message):
                run_method(given, METHODS["TDRC(λ)"], walks, lam=0.5, alphas=[0.05])

    def test_a_run_that_diverges_is_counted_and_stays(self):
        star = Task.of(baird_star(features="classical"))
        walks = star.walks(3, 3000, np.random.default_rng(0))
        runs = run_method(star, METHODS["TD(λ)"], walks, lam=0.0, alphas=[0.001, 0.3], every=500)
        assert runs.diverged.tolist() == [[False] * 3, [True] * 3]
        assert np.isfinite(runs.theta).all()

    def test_tasks_that_differ_in_features_run_side_by_side(self):
        tasks = [drawn_collision(seed) for seed in range(3)]
        walks = tasks[0].walks(3, 200, np.random.default_rng(0))
        together = run_method(tasks, METHODS["TDRC(λ)"], walks, lam=0.5, alphas=[0.05]).theta
        for run, task in enumerate(tasks):
            one = type(walks)(walks.index[:, [run]], walks.ends[:, [run]])
            alone = run_method(task, METHODS["TDRC(λ)"], one, lam=0.5, alphas=[0.05]).theta
            assert (alone[:, :, 0] == together[:, :, run]).all()

    def test_lstd_sees_the_same_samples_as_its_mean(self):
        task = Task.of(boyan_chain(states=13, gamma=1.0, terminal_features="zero"))
        walks = task.walks(10, 4000, np.random.default_rng(2))
        done = run_method(task, METHODS["LSTD(λ)"], walks, lam=0.5, alphas=[1.0], every=4000).theta[
            -1, 0
        ]
        exact = fixed_point(task, means(task, METHODS["LSTD(λ)"], 0.5))
        price = limits(task, METHODS["LSTD(λ)"], 0.5).price
        squared = (((done - exact) @ task.phi.T) ** 2 @ task.xi).mean()
        assert 0.3 < squared / (price / 4000) < 3.0


class TestRefusals:
    def test_a_task_says_what_is_wrong(self):
        with pytest.raises(ValueError, match="literal"):
            Task.of(baird_star(reading="stacked"))
        with pytest.raises(ValueError, match=r"^features are not zero in a terminal state"):
            Task.of(boyan_chain(states=13, gamma=1.0))
        with pytest.raises(ValueError, match="defined on states"):
            means(random_task(), METHODS["V-trace(λ)"], 0.5)
        with pytest.raises(ValueError, match="for AᵀTD it should be 0"):
            means(random_task(), METHODS["AᵀTD"], 0.5)
        with pytest.raises(ValueError, match="second weight vector"):
            ratio_windows(random_task(), METHODS["TD(λ)"], 0.5)
        with pytest.raises(ValueError, match="emphasis"):
            Method("retrace", emphasis=True)

    def test_without_features_there_is_nothing_to_solve(self):
        task = random_task(on="states")
        blank = Task("blank", task.mdp, task.mu, task.pi, np.zeros((4, 3)))
        given = means(blank, METHODS["TDC(λ)"], 0.5)
        with pytest.raises(ValueError, match=r"^task has no feature but zero"):
            joint_of(blank, METHODS["TDC(λ)"], given, 1.0)
        with pytest.raises(ValueError, match=r"^given has an A that is singular"):
            fixed_point(blank, given)

    def test_a_followon_without_a_mean_is_refused(self):
        task = random_task(on="states")
        assert np.abs(followon(task, METHODS["TD(λ)"]) - task.xi).max() == 0.0
        with pytest.raises(ValueError, match="less than 1"):
            followon(task, Method(emphasis=True, beta=1.0))


def test_very_small_matrices_have_very_large_steps():
    for scale in (1.0, 2.0**-1000, 2.0**100):  # a power of two changes no digit
        matrix = scale * np.array([[-1.0, 3.0], [0.0, -2.0]])
        assert largest_step(matrix) == largest_step(matrix / scale) / scale == 1.0 / scale
        assert largest_step(matrix, extragradient=True) * scale == pytest.approx(0.5)


REFUSED = {
    "trace": ("cut", None), "update": ("gtd3", 7), "error": ("half", ()), "emphasis": (1, "yes"), "source": (None, 7),
    "sigma": (-0.01, 1.01, "a"), "kappa": (-0.01, None), "beta": (-0.01, 1.01, "a"), "on": ("states", ("state",), None),
}  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, bad in REFUSED.items() for value in bad]
)
def test_what_a_method_cannot_be_is_refused_by_name(field, value):
    with pytest.raises(ValueError, match=rf"^{field} is "):
        Method(**{field: value})


def test_the_ends_of_what_a_method_can_be():
    ends = Method("uncut", "tdrc", "mixed", beta=1, sigma=1, kappa=0, on=("pairs",))
    assert (ends.beta, ends.sigma, ends.kappa) == (1.0, 1.0, 0.0)
    assert all(type(number) is float for number in (ends.beta, ends.sigma, ends.kappa))
    with pytest.raises(ValueError, match=r"^emphasis is True; it should go with"):
        Method("uncut", emphasis=True)
