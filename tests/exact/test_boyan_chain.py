"""Boyan's chain: checked against reference values computed elsewhere, and against exact arithmetic."""

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import sympy

from gqlib.domains import boyan_chain
from gqlib.domains.boyan_chain import triangles

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "boyan.json").read_text())["boyan"]
ENDS = {
    "episodic_restart_on_absorption": "restart",
    "ergodic_chain_s14_to_s1_traces_not_reset": "jump",
}


def test_features_are_the_correctly_rounded_fractions():
    want = [[float(Fraction(entry)) for entry in row] for row in ORACLE["phi_exact"]]
    np.testing.assert_array_equal(triangles(14), want)
    np.testing.assert_allclose(triangles(14), ORACLE["phi"], atol=1e-15)
    np.testing.assert_array_equal(
        triangles(13), ORACLE["boyan2002_13_states"]["phi_rows_state12_down_to_state0"]
    )


@pytest.mark.parametrize(
    "row", ORACLE["A_b_M"], ids=lambda row: f"{row['case']}-{row['gamma']}-{row['lambda']}"
)
@pytest.mark.parametrize("reading", ["literal", "expected", "stacked"])
def test_reference_matrices(row, reading):
    problem = boyan_chain(gamma=row["gamma"], end=ENDS[row["case"]], reading=reading).problem
    lam = row["lambda"]
    for sigma in (0.0, 0.37, 1.0):
        np.testing.assert_allclose(problem.A(sigma, lam), row["A"], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(problem.b(sigma, lam), row["b"], rtol=1e-11)
    np.testing.assert_allclose(problem.M, row["M"], rtol=1e-11, atol=1e-14)
    assert problem.mspbe(np.zeros(4), 0.5, lam) == pytest.approx(
        row["MSPBE_half_at_theta_0"], rel=1e-10
    )
    if row["theta_star"] is None:
        assert problem.rank_A(0.5, lam) == 3
    else:
        np.testing.assert_allclose(problem.fixed_point(0.5, lam), row["theta_star"], rtol=1e-10)


def test_zero_features_at_the_end_give_the_end_the_value_zero():
    theta = {
        end: boyan_chain(terminal_features=end).problem.fixed_point(0.5, 0.0)[0]
        for end in ("printed", "zero")
    }
    assert theta["printed"] == pytest.approx(-35.689, abs=1e-3)
    assert theta["zero"] == pytest.approx(-25.010, abs=1e-3)


@pytest.mark.parametrize("gamma", ["0.95", "0.99", "1"])
def test_true_values(gamma):
    chain = boyan_chain(gamma=float(gamma))
    np.testing.assert_allclose(chain.truth, ORACLE["true_values"][gamma], rtol=1e-13)


def test_values_rise_and_are_linear_only_at_gamma_one_in_exact_arithmetic():
    """Appendix E says "decreasing" and "represented perfectly"; v rises, and is in the span only as γ → 1."""
    gamma = sympy.symbols("gamma")
    v = [sympy.Integer(0), sympy.Integer(-2)]
    for _ in range(12):
        v.append(sympy.expand(-3 + gamma * (v[-1] + v[-2]) / 2))
    v = v[::-1]
    assert [entry.subs(gamma, 1) for entry in v] == list(range(-26, 1, 2))
    at = [entry.subs(gamma, sympy.Rational(99, 100)) for entry in v]
    assert all(after > before for before, after in pairwise(at))
    phi = sympy.Matrix([[sympy.Rational(x) for x in row] for row in ORACLE["phi_exact"]])
    assert phi.row_join(sympy.Matrix(at)).rank() == 5, "not in the span at 0.99"
    assert phi.row_join(sympy.Matrix(list(range(-26, 1, 2)))).rank() == 4
    np.testing.assert_allclose(boyan_chain().truth, np.array(at, dtype=float), rtol=1e-13)


def test_boyan_2002_is_solved_exactly_at_gamma_one():
    want = ORACLE["boyan2002_13_states"]
    chain = boyan_chain(states=13, gamma=1.0, terminal_features="zero")
    np.testing.assert_allclose(chain.truth, want["true_values_gamma1"], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(
        chain.problem.fixed_point(1.0, 0.3), want["theta_star_gamma1"], atol=1e-9
    )


def test_visits_per_episode_are_exact():
    visits = [Fraction(1)]
    for i in range(1, 13):
        visits.append(visits[i - 1] / 2 + (visits[i - 2] / 2 if i >= 2 else 0))
    visits[12] = visits[11] / 2 + visits[10] / 2
    assert visits == [Fraction(entry) for entry in ORACLE["expected_visits_exact"]]
    assert sum(visits) == Fraction(ORACLE["expected_episode_length_exact"])
    laws = ORACLE["state_distributions"]
    restart, jump = boyan_chain().problem, boyan_chain(end="jump").problem
    np.testing.assert_allclose(restart.xi, laws["restart_on_absorption_sources_s1_s13"], rtol=1e-12)
    np.testing.assert_allclose(jump.xi, laws["s14_visited_once_then_jump_to_s1"], rtol=1e-12)


def test_the_printed_chain_is_absorbed():
    """Its only stationary law sits in s_14, so M has rank 1 (or 0) where Assumption 3 asks for 4."""
    forever = boyan_chain(end="absorb").problem
    np.testing.assert_array_equal(forever.xi, np.eye(14)[13])
    assert forever.rank_M == 1
    cut = boyan_chain(end="absorb", episode_steps=20)
    per_state = cut.problem.xi.reshape(21, 14).sum(axis=0)
    np.testing.assert_allclose(
        per_state,
        ORACLE["state_distributions"]["tdlearn_training_20_steps_per_episode"],
        rtol=1e-12,
    )
    assert cut.problem.rank_M == 4
    np.testing.assert_allclose(cut.truth.reshape(21, 14), np.tile(boyan_chain().truth, (21, 1)))


def test_with_one_action_the_literal_reading_hands_out_equal_features():
    literal = boyan_chain().trajectory(500, np.random.default_rng(1))
    np.testing.assert_array_equal(literal.phi_next, literal.phi_next_expected)
    expected = boyan_chain(reading="expected").trajectory(500, np.random.default_rng(1))
    np.testing.assert_array_equal(literal.phi_next, expected.phi_next)
    assert (expected.phi_next != expected.phi_next_expected).any()
    assert (expected.rho == 1.0).all()
