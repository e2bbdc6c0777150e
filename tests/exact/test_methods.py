"""The methods of today: exact means and noise against other derivations, steps against steps from their own sources."""

import numpy as np
import pytest

from gqlib import emphatic
from gqlib.domains import (
    baird_star,
    collision,
    collision_features,
    five_state_walk,
    random_mdp,
)
from gqlib.domains.random_problems import random_policy
from gqlib.learners.corrected import CorrectedProblem
from gqlib.learners.gradient_td import tdc_step
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
    fixed_point,
    increment_covariance,
    limits,
    means,
)
from gqlib.methods.catalogue import coefficients, psi_of_zeta
from gqlib.methods.limits import largest_step
from gqlib.methods.noise import trace_moments
from gqlib.methods.steps import Seen, Weights, method_step, run_method

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
# With a step that moves (θ, ω) by its mean: LSTD moves nothing, and AᵀTD takes two samples, whose mean is a product.


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

    def test_infinite_noise_is_refused(self):
        star = Task.of(baird_star(features="classical"))
        for name in ("TD(λ)", "ETD(λ)"):
            with pytest.raises(ValueError, match="infinite"):
                trace_moments(star, METHODS[name], 0.9)
        assert limits(star, METHODS["ETD(λ)"], 0.0).price == np.inf


class TestLimits:
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


class TestRuns:
    def test_tasks_that_differ_in_features_run_side_by_side(self):
        tasks = [drawn_collision(seed) for seed in range(3)]
        walks = tasks[0].walks(3, 200, np.random.default_rng(0))
        together = run_method(tasks, METHODS["TDRC(λ)"], walks, lam=0.5, alphas=[0.05]).theta
        for run, task in enumerate(tasks):
            one = type(walks)(walks.index[:, [run]], walks.ends[:, [run]])
            alone = run_method(task, METHODS["TDRC(λ)"], one, lam=0.5, alphas=[0.05]).theta
            assert (alone[:, :, 0] == together[:, :, run]).all()


def test_very_small_matrices_have_very_large_steps():
    for scale in (1.0, 2.0**-1000, 2.0**100):  # a power of two changes no digit
        matrix = scale * np.array([[-1.0, 3.0], [0.0, -2.0]])
        assert largest_step(matrix) == largest_step(matrix / scale) / scale == 1.0 / scale
        assert largest_step(matrix, extragradient=True) * scale == pytest.approx(0.5)


def test_the_ends_of_what_a_method_can_be():
    ends = Method("uncut", "tdrc", "mixed", beta=1, sigma=1, kappa=0, on=("pairs",))
    assert (ends.beta, ends.sigma, ends.kappa) == (1.0, 1.0, 0.0)
    assert all(type(number) is float for number in (ends.beta, ends.sigma, ends.kappa))
