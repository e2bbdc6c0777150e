"""A ridge on ω: the joint matrix, its pencil, and the windows of κ in which it is stable."""

import numpy as np
import pytest

from gqlib import PredictionProblem
from gqlib.domains import baird_star, random_problem, two_state
from gqlib.ridge import kappa_crossings, kappa_windows, ridge_joint, ridge_pencil, safe_kappa
from gqlib.stability import joint, spectral_abscissa
from gqlib.timescales import mean_matrices, rare_action_problem, sufficient_eta

STAR = baird_star(features="classical", reading="expected").problem


def draw(rng, d=3):
    root = rng.standard_normal((d, d))
    return rng.standard_normal((d, d)), root @ root.T, rng.random() + 0.1, rng.random()


def stable(a, m, eta, kappa):
    return spectral_abscissa(ridge_joint(a, m, eta, kappa)) < 0.0


def test_the_blocks():
    a, m, eta, kappa = draw(np.random.default_rng(0))
    found = ridge_joint(a, m, eta, kappa)
    np.testing.assert_array_equal(found[:3], np.hstack([a, -(m + a.T)]))
    np.testing.assert_allclose(found[3:] / eta, np.hstack([a, -m - kappa * np.eye(3)]), rtol=1e-12)
    np.testing.assert_array_equal(ridge_joint(a, m, eta, 0.0), joint(a, m, m + a.T, eta))


@pytest.mark.parametrize("seed", range(5))
def test_determinants_of_the_pencil_and_at_zero(seed):
    rng = np.random.default_rng(seed)
    a, m, eta, kappa = draw(rng)
    s, found, eye = complex(*rng.standard_normal(2)), ridge_joint(a, m, eta, kappa), np.eye(3)
    exact = np.linalg.det(found - s * np.eye(6))
    assert np.linalg.det(ridge_pencil(a, m, eta, kappa, s)) == pytest.approx(exact, rel=1e-9)
    at_zero = eta**3 * np.linalg.det(a) * np.linalg.det(a.T - kappa * eye)
    assert np.linalg.det(found) == pytest.approx(at_zero, rel=1e-9)
    for wrong in (a @ a.T, a.T @ (a - kappa * eye), a @ (a.T + kappa * eye)):
        other = s**2 * eye + s * (eta * (m + kappa * eye) - a) + eta * wrong
        assert abs(np.linalg.det(other) - exact) > 1e-4 * abs(exact)


@pytest.mark.slow
def test_windows_are_where_the_eigenvalues_say():
    rng, several = np.random.default_rng(2), 0
    for _ in range(40):
        a, m, eta, _ = draw(rng)
        windows = kappa_windows(a, m, eta)
        several += len(windows) > 1
        assert windows == sorted(windows)
        for kappa in np.geomspace(1e-3, 1e3, 61):
            assert any(low < kappa < high for low, high in windows) == stable(a, m, eta, kappa)
    assert several


@pytest.mark.parametrize(
    ("problem", "lam", "windows"),
    [
        (
            two_state(0.99).problem,
            0.0,
            [(0.0, (6 * 0.99 - 5) / 4)],
        ),  # the positive eigenvalue of A, in closed form
        (two_state(0.99).problem, 0.99, [(0.0, np.inf)]),
        (STAR, 0.0, [(0.0, 0.02218), (0.23925, 14.5215)]),
        (STAR, 0.9, [(5.05797, 57.2829)]),
        (rare_action_problem([[1.25, 1.5], [0.75, -0.25]]), 0.0, [(0.006153, np.inf)]),
    ],
)
def test_windows_of_the_books_domains_at_eta_one(problem, lam, windows):
    a, m, _ = mean_matrices(problem, 0.0, lam)
    np.testing.assert_allclose(kappa_windows(a, m, 1.0), windows, rtol=1e-3)
    for edge in kappa_crossings(a, m, 1.0):
        sides = [stable(a, m, 1.0, factor * edge) for factor in (1 - 1e-6, 1 + 1e-6)]
        assert sorted(sides) == [False, True]


def test_features_times_c_move_the_windows_by_c_squared():
    p = two_state(0.99).problem
    scaled = PredictionProblem(3.0 * p.features, p.p_mu, p.p_pi, p.rewards, p.xi, p.gamma)
    (small,), (large,) = (kappa_windows(*mean_matrices(q, 0.0, 0.0)[:2], 1.0) for q in (p, scaled))
    np.testing.assert_allclose(large, np.multiply(9.0, small), rtol=1e-6)


def test_safe_kappa_is_safe_and_below_every_positive_eigenvalue():
    assert safe_kappa(np.diag([0.5, 0.25])) == pytest.approx(0.25)
    assert safe_kappa(np.diag([-0.5, 0.25])) == pytest.approx(0.25)
    assert safe_kappa([[-1.0, 0.5], [-0.5, -2.0]]) == np.inf
    met = 0
    for seed in range(60):
        p = random_problem(np.random.default_rng(seed), 3, 2, 2, 0.99, concentration=0.1)
        a, m, _ = mean_matrices(p, 0.0, 0.0)
        top, eta, half = safe_kappa(a), 1.001 * sufficient_eta(p, 0.0, 0.0) + 1e-4, (a + a.T) / 2
        for kappa in (0.5 * top, 0.999 * top) if np.isfinite(top) else (1.0, 1e4):
            assert stable(a, m, eta, kappa)
            assert np.linalg.eigvalsh(a @ a.T - kappa * half)[0] > 0.0
        if np.isfinite(top):
            assert np.linalg.eigvalsh(a @ a.T - 1.001 * top * half)[0] < 0.0
            values = np.linalg.eigvals(a)
            positive = values.real[(np.abs(values.imag) < 1e-12) & (values.real > 0)]
            met += len(positive) > 0
            assert top <= positive.min(initial=np.inf) * (1 + 1e-9)
    assert met > 2


def test_without_a_regular_a_nothing_is_stable():
    assert kappa_windows(np.zeros((2, 2)), np.eye(2), 1.0) == []
    assert kappa_windows(np.diag([-1.0, 0.0]), np.eye(2), 1.0) == []


@pytest.mark.parametrize("growth", [1e-3, 1e-4, 3e-5, 1e-5])
def test_a_crossing_far_beyond_the_size_of_a_is_found(growth):
    """A = [[g, 1], [-1, g]], M = I, η = 1: unstable, but it takes a ridge of about 1/g to show it."""
    a, m = np.array([[growth, 1.0], [-1.0, growth]]), np.eye(2)
    ((low, high),) = kappa_windows(a, m, 1.0)
    assert (low, high) == (0.0, pytest.approx(1.0 / growth, rel=1e-2))
    assert [stable(a, m, 1.0, factor * high) for factor in (0.5, 0.99, 1.01, 2.0, 100.0)] == [
        True,
        True,
        *[False] * 3,
    ]
