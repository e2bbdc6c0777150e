"""Abscissas, critical σ, transients and the joint matrix, against closed forms, dense grids and traps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import block_diag, expm

from gqlib import FiniteMDP, PredictionProblem
from gqlib.domains import random_problem, two_state
from gqlib.prediction import LinearPrediction
from gqlib.stability import (
    bialternate,
    critical_sigma,
    growth,
    is_hurwitz,
    is_negative_definite,
    joint,
    joint_matrix,
    numerical_abscissa,
    numerical_range,
    pencil_roots,
    phase_diagram,
    sign_changes,
    spectral_abscissa,
    transient_peak,
)

BAIRD = json.loads((Path(__file__).parents[1] / "oracles" / "baird.json").read_text())["baird"]


class Pencil(LinearPrediction):
    """A stand-in for a problem whose A_σ is low + σ(high − low), so that crossings can be placed at will."""

    def __init__(self, low, high):
        self.low, self.high = np.array(low, dtype=float), np.array(high, dtype=float)
        self.n = len(self.low)

    @property
    def row_basis(self):
        return np.eye(self.n)

    def A(self, sigma, lam):
        return self.low + sigma * (self.high - self.low)


def turned(matrix, seed=0):
    """The matrix in another basis: same eigenvalues, no zeros left to see."""
    basis = np.random.default_rng(seed).standard_normal(np.shape(matrix))
    return basis @ matrix @ np.linalg.inv(basis)


def block_baird(name):
    """Baird's star with the features of a state in one block per action, as in the reference values."""
    data = BAIRD[name]
    transitions = np.zeros((7, 2, 7))
    transitions[:, 0, :6], transitions[:, 1, 6] = 1 / 6, 1.0
    features = np.zeros((14, 16))
    features[0::2, :8] = features[1::2, 8:] = data["phi"]
    mdp = FiniteMDP(transitions, np.zeros((7, 2)), data["gamma"])
    problem = PredictionProblem.on_pairs(
        mdp, np.tile([6 / 7, 1 / 7], (7, 1)), np.tile([0.0, 1.0], (7, 1)), features
    )
    return problem, data["state_action_block_features"]["A_sigma_grid"]


@pytest.mark.parametrize("gamma", [0.5, 0.84, 0.9, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("lam", [0.0, 0.3, 0.7, 0.9, 0.95])
def test_critical_sigma_of_the_continuing_chain_is_its_closed_form(gamma, lam):
    """10 = γ(12 + λ − 3σ) − 3γ²λ(1 − σ), solved for σ; there is none where the root leaves [0, 1]."""
    root = (gamma * (12 + lam) - 3 * gamma**2 * lam - 10) / (3 * gamma * (1 - gamma * lam))
    found = critical_sigma(two_state(gamma).problem, lam)
    expected = [root] if 0 <= root <= 1 else []
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_claim_of_figure_2_continuing_chain_is_stable_for_every_sigma():
    assert critical_sigma(two_state(0.99).problem, 0.99).size == 0
    values = phase_diagram(two_state(0.99).problem, np.linspace(0, 1, 101), [0.99])
    assert values.max() < -0.3


def test_claim_of_figure_2_bootstrap_through_the_end_is_unstable_for_every_sigma():
    assert critical_sigma(two_state(0.99, "bootstrap").problem, 0.99).size == 0
    assert (
        phase_diagram(two_state(0.99, "bootstrap").problem, np.linspace(0, 1, 101), [0.99]).min()
        > 0.2
    )


def test_claim_of_figure_2_with_value_zero_at_the_end_every_sigma_lambda_gamma_is_stable():
    for gamma in (0.1, 0.5, 0.9, 0.99, 1.0):
        problem = two_state(gamma, "terminal").problem
        assert phase_diagram(problem, np.linspace(0, 1, 21), np.linspace(0, 1, 21)).max() < 0.0


def test_two_crossings_much_closer_than_the_grid_are_both_found():
    gap = 1e-5
    at = 0.2 + gap * np.array([0.0, 1.0])
    slopes = np.array([1.0, -1.0])  # s(A) = max(σ − 0.20001, 0.2 − σ): negative only in between
    low, high = np.diag(-slopes * at[::-1]), np.diag(slopes * (1 - at[::-1]))
    found = critical_sigma(Pencil(turned(low, 1), turned(high, 1)), 0.0)
    np.testing.assert_allclose(found, at, atol=1e-9)


def test_a_complex_pair_that_crosses_and_returns_within_the_grid_is_found():
    """Two rotations, growing from σ = 0.31 on and shrinking up to 0.31 + 1e-4: stable only in between."""
    a, b = 0.31, 0.31 + 1e-4
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])

    def block(first, second):
        return block_diag(first * np.eye(2) + turn, second * np.eye(2) + 3 * turn)

    low, high = block(-b, a), block(1 - b, a - 1)
    found = critical_sigma(Pencil(turned(low, 2), turned(high, 2)), 0.0)
    np.testing.assert_allclose(found, [a, b], atol=1e-8)


def test_a_touch_of_zero_is_not_a_change_of_sign():
    assert (
        critical_sigma(Pencil([[-1.0, 1.0], [0.0, -1.0]], [[-1.0, 0.0], [0.0, -0.5]]), 0.0).size
        == 0
    )
    assert critical_sigma(Pencil([[-1.0]], [[0.0]]), 0.0).size == 0  # ends at zero, never above


def test_eigenvalues_that_are_zero_for_every_sigma_do_not_count():
    low, high = np.diag([-0.25, 0.0, -1.0]), np.diag([0.75, 0.0, -1.0])
    np.testing.assert_allclose(
        critical_sigma(Pencil(turned(low, 3), turned(high, 3)), 0.0), [0.25], atol=1e-10
    )
    nilpotent = np.zeros((4, 4))
    nilpotent[0, 1] = 1.0  # a Jordan block of zeros beside the crossing
    low, high = nilpotent.copy(), nilpotent.copy()
    low[2:, 2:], high[2:, 2:] = np.diag([-0.25, -1.0]), np.diag([0.75, -1.0])
    np.testing.assert_allclose(
        critical_sigma(Pencil(turned(low, 4), turned(high, 4)), 0.0), [0.25], atol=1e-8
    )
    assert critical_sigma(Pencil(np.zeros((2, 2)), np.zeros((2, 2))), 0.0).size == 0


def test_a_null_vector_that_turns_with_sigma_does_not_count():
    """[[σ−½, 1, 0], [0, 0, σ], [0, 0, −1]] kills (1, ½−σ, 0) from the right and (0, 1, σ) from the left."""
    low, slope = (
        np.array([[-0.5, 1, 0], [0, 0, 0], [0, 0, -1.0]]),
        np.array([[1.0, 0, 0], [0, 0, 1], [0, 0, 0]]),
    )
    pencil = Pencil(turned(low, 5), turned(low + slope, 5))
    np.testing.assert_allclose(critical_sigma(pencil, 0.0), [0.5], atol=1e-8)


@pytest.mark.parametrize("name", list(BAIRD))
def test_bairds_zero_eigenvalues_do_not_fool_critical_sigma(name):
    problem, grid = block_baird(name)
    for lam in {row["lambda"] for row in grid}:
        rows = [row for row in grid if row["lambda"] == lam]
        crossings = critical_sigma(problem, lam)
        for row in rows:
            unstable = row["max_real_eigenvalue"] > 1e-9
            before = int((crossings < row["sigma"]).sum())
            starts = rows[0]["max_real_eigenvalue"] > 1e-9
            assert unstable == (starts ^ (before % 2 == 1))
        assert len(crossings) == (1 if "standard" in name else 0)


def test_random_problems_agree_with_a_dense_grid():
    rng = np.random.default_rng(5)
    grid, seen = np.linspace(0, 1, 2001), 0
    for _ in range(60):
        problem = random_problem(rng, 3, 2, int(rng.integers(1, 4)), gamma=0.99, concentration=0.1)
        lam = 0.5 * float(rng.random())
        low, high = problem.A(0.0, lam), problem.A(1.0, lam)
        values = np.linalg.eigvals(low + grid[:, None, None] * (high - low)).real.max(axis=1)
        places = grid[:-1][np.sign(values[1:]) != np.sign(values[:-1])]
        found = critical_sigma(problem, lam)
        assert len(found) == len(places)
        assert (np.abs(found - places - 2.5e-4) < 3e-4).all()
        seen += len(found)
    assert seen >= 5


def test_beyond_the_exact_order_the_grid_still_finds_a_crossing():
    low, high = -np.eye(30), -np.eye(30)
    low[0, 0], high[0, 0] = -0.4, 0.6
    np.testing.assert_allclose(
        critical_sigma(Pencil(turned(low, 6), turned(high, 6)), 0.0), [0.4], atol=1e-9
    )


def test_the_joint_matrix_is_the_mean_of_equations_25_and_26():
    problem = random_problem(np.random.default_rng(6), 3, 2, 2)
    sigma, lam, eta = 0.4, 0.6, 3.0
    j = joint_matrix(problem, sigma, lam, eta)
    a, m = problem.A(sigma, lam), problem.M
    np.testing.assert_allclose(
        j, np.block([[a, -(m + a.T)], [eta * a, -eta * m]]), rtol=1e-10, atol=1e-13
    )
    # det(J − sI) = det(s²I + s(ηM − A) + ηAAᵀ) up to sign, at an arbitrary s
    s = 0.37
    left = np.linalg.det(j - s * np.eye(4))
    right = np.linalg.det(s**2 * np.eye(2) + s * (eta * m - a) + eta * a @ a.T)
    assert left == pytest.approx(right, rel=1e-9)


def test_the_joint_matrix_uses_v_itself_where_proposition_1_does_not_apply():
    problem = two_state(0.99, "bootstrap").problem
    j = joint_matrix(problem, 0.5, 0.9, 1.0)
    np.testing.assert_allclose(j[:2, 2:], -problem.gamma_v(0.5, 0.9), rtol=1e-13)


def test_hurwitz_is_weaker_than_negative_definite():
    shear = [[-1.0, 9.0], [0.0, -2.0]]
    assert is_hurwitz(shear)
    assert not is_negative_definite(shear)
    assert is_negative_definite([[-1.0, 5.0], [-5.0, -1.0]])
    rng = np.random.default_rng(7)
    for _ in range(200):
        a = rng.standard_normal((4, 4))
        assert spectral_abscissa(a) <= numerical_abscissa(a) + 1e-12
        assert numerical_abscissa(a) == pytest.approx(spectral_abscissa((a + a.T) / 2), rel=1e-9)


def test_the_numerical_range_holds_every_quotient_and_its_rightmost_point_is_the_numerical_abscissa():
    a = two_state().problem.A(0.5, 0.99)
    boundary = numerical_range(a, 721)
    assert boundary.real.max() == pytest.approx(numerical_abscissa(a), rel=1e-9)
    for angle in np.linspace(0, 2 * np.pi, 25):
        turn = np.exp(1j * angle)
        largest = np.linalg.eigvalsh((turn * a + (turn * a).conj().T) / 2)[-1]  # over all x
        assert (turn * boundary).real.max() == pytest.approx(largest, abs=1e-9)


def test_the_transient_peak_of_a_shear_is_its_analytic_maximum():
    """Jordan block −1 with coupling c: ‖exp(tA)‖ by the singular values of e^{−t}[[1, ct], [0, 1]]."""
    c = 40.0
    time, size = transient_peak([[-1.0, c], [0.0, -1.0]])
    grid = np.linspace(0, 5, 200_001)
    half = c * grid / 2
    norms = np.exp(-grid) * (half + np.sqrt(half**2 + 1))
    assert size == pytest.approx(norms.max(), rel=1e-8)
    assert time == pytest.approx(grid[norms.argmax()], abs=1e-4)


def test_growth_starts_at_the_numerical_abscissa():
    a = two_state().problem.A(0.0, 0.99)
    step = 1e-7
    first, second = growth(a, [0.0, step])
    assert first == 1.0
    assert (second - first) / step == pytest.approx(numerical_abscissa(a), rel=1e-4)
    assert growth(a, [0.8])[0] == pytest.approx(np.linalg.norm(expm(0.8 * a), 2), rel=1e-13)


def test_no_peak_where_nothing_grows_and_none_where_nothing_decays():
    assert transient_peak([[-1.0, 0.0], [0.0, -2.0]]) == (0.0, 1.0)


def test_the_bialternate_sum_has_the_sums_of_pairs_of_eigenvalues():
    a = np.random.default_rng(31).standard_normal((5, 5))
    values = np.linalg.eigvals(a)
    sums = [values[i] + values[j] for i in range(5) for j in range(i)]
    np.testing.assert_allclose(np.poly(bialternate(a)), np.poly(sums).real, rtol=1e-9, atol=1e-9)


def test_roots_of_a_pencil_make_it_singular_and_infinite_ones_are_left_out():
    rng = np.random.default_rng(32)
    constant, slope = rng.standard_normal((2, 4, 4))
    slope[:, 0] = 0.0  # of rank three: one root is at infinity
    roots = pencil_roots(constant, slope)
    assert len(roots) == 3
    for root in roots:
        smallest = np.linalg.svd(constant + root * slope, compute_uv=False)[-1]
        assert smallest < 1e-10 * (1 + abs(root))


def test_signs_change_where_values_leave_the_noise():
    points = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    for function, at, noise, wanted in (
        (lambda x: x - 0.5, points, 1e-12, [0.5]),
        (abs, points, 1e-12, []),
        (lambda x: x, points, 2.0, []),
        (lambda x: x**3 - x, points, 0.1, [0.0]),
        (np.sin, [1.0, 4.0, 7.0], 1e-9, [np.pi, 2 * np.pi]),
        (lambda x: x - 1.0, [-1e50, 1e50], 0.0, [1.0]),
    ):
        np.testing.assert_allclose(
            sign_changes(function, at, noise), wanted, rtol=1e-14, atol=1e-12
        )


def test_joint_matrices_of_stacks_are_those_of_their_members():
    a, m, v = np.random.default_rng(33).standard_normal((3, 4, 2, 2))
    stacked = joint(a, m, v, 3.0)
    for k in range(4):
        expected = np.vstack([np.hstack([a[k], -v[k]]), np.hstack([3.0 * a[k], -3.0 * m[k]])])
        np.testing.assert_array_equal(stacked[k], expected)


def test_the_numerical_range_of_a_diagonal_matrix_runs_between_its_outermost_entries():
    np.testing.assert_allclose(
        numerical_range(np.diag([1.0, 2.0, 4.0]), points=3), [4.0, 1.0, 4.0], atol=1e-12
    )


def spirals(*real_parts):
    """A matrix with a pair of complex eigenvalues for each real part."""
    return block_diag(
        *(np.array([[part, 1.0 + k], [-1.0 - k, part]]) for k, part in enumerate(real_parts))
    )


@pytest.mark.parametrize(("pairs", "leaves", "returns"), [(12, 0.5, 0.501), (13, 0.3, 0.7)])
def test_two_crossings_of_complex_pairs_are_found(pairs, leaves, returns):
    rest = [-1.0] * (pairs - 2)
    low, high = spirals(leaves, -returns, *rest), spirals(leaves - 1.0, 1.0 - returns, *rest)
    np.testing.assert_allclose(critical_sigma(Pencil(low, high), 0.0), [leaves, returns], atol=1e-9)


def test_a_trace_and_a_determinant_that_vanish_close_together_are_told_apart():
    """Trace a − σ and determinant b − σ: stable between a and b alone, which lie in one piece of the grid."""
    a, b = 0.5 + 2.5 / 1024, 0.5 + 3.0 / 1024
    low, high = [[a, 1.0], [-b, 0.0]], [[a - 1.0, 1.0], [1.0 - b, 0.0]]
    np.testing.assert_allclose(critical_sigma(Pencil(low, high), 0.0), [a, b], atol=1e-9)


def test_beyond_the_exact_order_two_crossings_two_pieces_of_the_grid_apart_are_found():
    leaves, returns = 0.505, 0.505 + 2.0 / 256
    rest = [-1.0] * 11
    low, high = spirals(leaves, -returns, *rest), spirals(leaves - 1.0, 1.0 - returns, *rest)
    np.testing.assert_allclose(critical_sigma(Pencil(low, high), 0.0), [leaves, returns], atol=1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_crossings_do_not_depend_on_the_scale_of_the_features(scale):
    base = two_state(0.9).problem
    scaled = PredictionProblem(
        scale * base.features, base.p_mu, base.p_pi, base.rewards, base.xi, 0.9
    )
    np.testing.assert_allclose(critical_sigma(scaled, 0.0), [8 / 27], rtol=1e-9)
