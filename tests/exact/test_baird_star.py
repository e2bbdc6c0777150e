"""Baird's star: checked against reference values computed elsewhere, and against exact arithmetic."""

import json
from pathlib import Path

import numpy as np
import pytest
import sympy

from gqlib.domains import baird_star
from gqlib.stability import spectral_abscissa

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "baird.json").read_text())["baird"]
BY_FEATURES = {
    "classical": ORACLE["standard_7state_8feat_s7=e7+2e8"],
    "printed": ORACLE["paper_literal_7state_8feat_all_2ei+e8"],
}


def eigenvalues(entries):
    return np.sort_complex([complex(entry["re"], entry["im"]) for entry in entries])


@pytest.mark.parametrize("features", BY_FEATURES)
class TestReferenceValues:
    def test_features_law_and_first_weights(self, features):
        star, want = baird_star(features=features), BY_FEATURES[features]
        np.testing.assert_array_equal(star.problem.features, want["phi"])
        np.testing.assert_array_equal(star.theta0, want["theta0"])
        np.testing.assert_allclose(star.problem.xi, want["xi_behaviour_stationary"], rtol=1e-14)
        assert star.problem.gamma == want["gamma"]

    def test_expected_reading_at_sigma_zero(self, features):
        star, want = baird_star(features=features, reading="expected"), BY_FEATURES[features]
        a = star.problem.A(0.0, 0.0)
        key = "A_importance_weighted_lambda0 (Phi^T Xi (gamma P_pi - I) Phi)"
        np.testing.assert_allclose(a, want[key], atol=1e-13)
        np.testing.assert_allclose(star.problem.M, want["M"], atol=1e-13)
        np.testing.assert_array_equal(star.problem.b(0.0, 0.0), want["b"])
        values = np.sort(np.linalg.eigvals(a).real)
        np.testing.assert_allclose(values, eigenvalues(want["eigenvalues_A"]).real, atol=1e-10)
        assert star.problem.rank_M == want["rank_M"] == 7
        assert star.problem.mspbe(star.theta0, 0.0, 0.0) == pytest.approx(
            want["MSPBE_half_theta0"], rel=1e-12
        )

    @pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0, -0.02])
    def test_literal_reading_has_one_matrix_for_every_sigma(self, features, sigma):
        problem = baird_star(features=features).problem
        key = "A_if_features_are_state_only_in_paper_algorithm (Phi^T Xi (gamma P_mu - I) Phi, any sigma)"
        np.testing.assert_allclose(problem.A(sigma, 0.0), BY_FEATURES[features][key], atol=1e-13)
        assert (problem.A(sigma, 0.9) == problem.A(1.0, 0.9)).all()

    def test_stacked_reading_over_the_grid(self, features):
        problem = baird_star(features=features, reading="stacked").problem
        want = BY_FEATURES[features]["state_action_block_features"]
        np.testing.assert_allclose(problem.xi.reshape(7, 2).T.ravel(), want["xi"], rtol=1e-13)
        if want["M"] is not None:
            np.testing.assert_allclose(problem.M, want["M"], atol=1e-13)
        for row in want["A_sigma_grid"]:
            a = problem.A(row["sigma"], row["lambda"])
            if "A_sigma" in row:
                np.testing.assert_allclose(a, row["A_sigma"], atol=1e-12)
            assert spectral_abscissa(a) == pytest.approx(row["max_real_eigenvalue"], abs=1e-10)
            # Repeated eigenvalues move by the root of a rounding error; their sums do not.
            values = eigenvalues(row["eigenvalues"])
            assert np.trace(a) == pytest.approx(values.sum().real, rel=1e-11)
            assert np.trace(a @ a) == pytest.approx((values**2).sum().real, rel=1e-11)


def exact_star(features, reading):
    """A_0 at λ = 0 and M in rational arithmetic, from the words of Appendix E."""
    n, gamma = 7, sympy.Rational(99, 100)
    phi = sympy.zeros(n, n + 1)
    for i in range(n):
        phi[i, i], phi[i, n] = 2, 1
    if features == "classical":
        phi[n - 1, n - 1], phi[n - 1, n] = 1, 2
    xi = sympy.eye(n) / n
    p_mu = sympy.ones(n, n) / n
    p_pi = sympy.zeros(n, n)
    p_pi[:, n - 1] = sympy.ones(n, 1)
    chain = p_pi if reading == "expected" else p_mu
    return phi.T * xi * (gamma * chain - sympy.eye(n)) * phi, phi.T * xi * phi, phi


@pytest.mark.parametrize("features", BY_FEATURES)
@pytest.mark.parametrize("reading", ["literal", "expected"])
def test_ranks_in_exact_arithmetic(features, reading):
    """Assumption 3 fails: Φ, M and A have rank 7, one less than the number of weights."""
    a, m, phi = exact_star(features, reading)
    assert (phi.rank(), m.rank(), a.rank()) == (7, 7, 7)
    problem = baird_star(features=features, reading=reading).problem
    assert problem.rank_M == 7
    assert problem.rank_A(0.0, 0.0) == 7
    np.testing.assert_allclose(problem.A(0.0, 0.0), np.array(a, dtype=float), atol=1e-14)


def test_divergence_in_exact_arithmetic():
    """Off the policy at λ = 0: with the classical φ(s_7) A has a positive eigenvalue, with the printed one none."""
    x = sympy.symbols("x")
    unstable = {}
    for features in BY_FEATURES:
        a, _, _ = exact_star(features, "expected")
        real = sympy.real_roots(sympy.Poly(a.charpoly(x).as_expr(), x))
        assert len(real) == 8, "every eigenvalue is real"
        unstable[features] = sum(bool(root > 0) for root in real)
    assert unstable == {"classical": 2, "printed": 0}


@pytest.mark.parametrize("lam", [0.0, 0.5, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("reading", ["literal", "expected", "stacked"])
def test_with_printed_features_no_sigma_and_lambda_diverges(reading, lam):
    problem = baird_star(reading=reading).problem
    for sigma in np.linspace(0.0, 1.0, 21):
        assert spectral_abscissa(problem.A(sigma, lam)) < 1e-12


@pytest.mark.parametrize("states", [2, 7, 8])
def test_parts_of_the_star_by_hand(states):
    star = baird_star(states=states, gamma=0.9)
    np.testing.assert_array_equal(star.chain.start, [1.0 / states] * states)
    away, last = [1.0 / (states - 1)] * (states - 1) + [0.0], [0.0] * (states - 1) + [1.0]
    np.testing.assert_allclose(star.chain.transitions, [[away, last]] * states)
    np.testing.assert_allclose(star.tables.rho, [[0.0, states]] * states)
    assert (star.chain.has_episodes, star.chain.ends_on.dtype) == (False, bool)
    assert not star.tables.rewards.any()
    np.testing.assert_array_equal(star.theta0, [1.0] * (states - 1) + [10.0, 1.0])
    assert star.name == f"baird_star(printed, {states} states, literal, gamma=0.9)"
