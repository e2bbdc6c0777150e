"""The sympy twins: closed forms against the float64 library and against the reference closed forms."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from gqlib import FiniteMDP, PredictionProblem, symbolic
from gqlib.domains import random_problem, two_state
from gqlib.domains.two_state import ENDINGS
from gqlib.stability import critical_sigma
from gqlib.symbolic import GAMMA, LAM, SIGMA

ORACLE = json.loads((Path(__file__).parent / "oracles" / "two_state.json").read_text())["two_state"]


@pytest.fixture(scope="module", params=ENDINGS)
def pair(request):
    return request.param, symbolic.twin(two_state(0.99, request.param).problem)


def test_closed_forms_with_numbers_put_in_are_the_float64_matrices(pair):
    reading, exact = pair
    for gamma, lam, sigma in (("0.9", "0.5", "0.25"), ("0.99", "0.99", "0.75"), ("1/3", "0", "1")):
        values = {GAMMA: gamma, LAM: lam, SIGMA: sigma}
        g, decay, s = (float(Fraction(x)) for x in (gamma, lam, sigma))
        problem = two_state(g, reading).problem
        np.testing.assert_allclose(symbolic.to_array(exact.A(), values), problem.A(s, decay), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(
            symbolic.to_array(exact.gamma_v(), values), problem.gamma_v(s, decay), rtol=1e-12, atol=1e-13
        )
    np.testing.assert_allclose(symbolic.to_array(exact.M, {}), problem.M, rtol=1e-14)


@pytest.mark.parametrize("case", ORACLE["grid"], ids=lambda c: f"{c['gamma']}-{c['lambda']}-{c['sigma']}")
def test_exact_entries_are_the_exact_reference(case):
    exact = symbolic.twin(two_state(0.99).problem, gamma=str(case["gamma"]))
    got = exact.A(sp.Rational(str(case["sigma"])), sp.Rational(str(case["lambda"])))
    assert got == sp.Matrix([[sp.Rational(x) for x in row] for row in case["A_exact"]])


def test_eigenvalues_of_the_continuing_chain_are_the_reference_closed_forms():
    first, second = symbolic.eigenvalues(symbolic.twin(two_state().problem).A())
    names = {"gamma": GAMMA, "sigma": SIGMA, "lam": LAM}
    reference = sp.sympify(ORACLE["closed_form"]["eigenvalue_2"].replace("lambda", "lam"), locals=names)
    assert first == sp.Rational(-5, 4)
    assert sp.simplify(second - reference) == 0


def test_one_eigenvalue_of_the_terminal_reading_is_constant():
    first, second = symbolic.eigenvalues(symbolic.twin(two_state(0.9, "terminal").problem).A())
    assert first == sp.Rational(-11, 10)
    problem = two_state(0.9, "terminal").problem
    value = float(second.subs({GAMMA: sp.Rational(9, 10), LAM: sp.Rational(1, 2), SIGMA: sp.Rational(1, 4)}))
    assert value == pytest.approx(np.linalg.eigvals(problem.A(0.25, 0.5)).max().real, rel=1e-12)


def test_eigenvalues_of_the_bootstrap_reading_solve_its_characteristic_equation():
    exact = symbolic.twin(two_state(0.99, "bootstrap").problem)
    roots = symbolic.eigenvalues(exact.A())
    values = {GAMMA: sp.Rational(99, 100), LAM: sp.Rational(99, 100), SIGMA: sp.Rational(3, 4)}
    numeric = sorted(float(root.subs(values)) for root in roots)
    expected = np.sort(np.linalg.eigvals(two_state(0.99, "bootstrap").problem.A(0.75, 0.99)).real)
    np.testing.assert_allclose(numeric, expected, rtol=1e-10)


@pytest.mark.parametrize(("reading", "gamma", "lam"), [("continuing", "0.9", "0.3"), ("bootstrap", "0.9", "0.5")])
def test_critical_values_are_those_of_the_float64_search(reading, gamma, lam):
    exact = symbolic.twin(two_state(0.9, reading).problem)
    (root,) = symbolic.critical_values(exact.A())
    value = float(root.subs({GAMMA: sp.Rational(gamma), LAM: sp.Rational(lam)}))
    np.testing.assert_allclose(critical_sigma(two_state(0.9, reading).problem, float(lam)), [value], rtol=1e-10)


def test_b_has_no_sigma_in_it_and_is_the_float64_b():
    domain = two_state(0.9, rewards=[[1.0, -0.5], [0.25, 2.0]])
    b = symbolic.twin(domain.problem).b()
    assert SIGMA not in b.free_symbols
    got = symbolic.to_array(b, {GAMMA: "0.9", LAM: "0.5"}).ravel()
    np.testing.assert_allclose(got, domain.problem.b(0.7, 0.5), rtol=1e-13)


def test_proposition_1_holds_exactly_where_the_trace_follows_what_is_sampled(pair):
    reading, exact = pair
    defect = (exact.gamma_v() - exact.M - exact.A().T).applyfunc(sp.cancel)
    assert (defect == sp.zeros(2, 2)) == (reading != "bootstrap")


def test_stationary_law_and_pair_chain_are_those_of_the_mdp():
    transitions = [[["1/3", "2/3"], ["1/4", "3/4"]], [["1/2", "1/2"], [1, 0]]]
    policy = [["1/5", "4/5"], ["2/7", "5/7"]]
    chain = symbolic.pair_chain(transitions, policy)
    as_float = lambda table: np.array([[[float(Fraction(x)) for x in r] for r in a] for a in table])  # noqa: E731
    mdp = FiniteMDP(as_float(transitions), np.zeros((2, 2)), 0.5)
    nu = as_float([policy])[0]
    np.testing.assert_allclose(symbolic.to_array(chain, {}), mdp.pair_chain(nu), rtol=1e-15)
    law = symbolic.stationary_law(chain)
    assert (law.T * chain - law.T).applyfunc(sp.simplify) == sp.zeros(1, 4)
    problem = PredictionProblem.on_pairs(mdp, nu, nu, np.eye(4))
    np.testing.assert_allclose(symbolic.to_array(law, {}).ravel(), problem.xi, rtol=1e-13)


def test_a_chain_in_which_every_probability_is_a_symbol_has_its_stationary_law():
    p, q = sp.symbols("p q", positive=True)
    law = symbolic.stationary_law(sp.Matrix([[1 - p, p], [q, 1 - q]]))
    assert (law - sp.Matrix([q / (p + q), p / (p + q)])).applyfunc(sp.simplify) == sp.zeros(2, 1)


def test_floats_are_refused_and_strings_are_read_exactly():
    with pytest.raises(ValueError, match=r"sigma is 0\.5"):
        symbolic.exact("sigma", 0.5)
    with pytest.raises(ValueError, match="lam is"):
        symbolic.twin(two_state().problem).A(0, 0.5)
    assert symbolic.exact("gamma", "0.99") == sp.Rational(99, 100)
    assert symbolic.exact("gamma", Fraction(1, 3)) == sp.Rational(1, 3)


def test_a_problem_without_small_fractions_has_no_twin():
    with pytest.raises(ValueError, match="features is off its fractions"):
        symbolic.twin(random_problem(np.random.default_rng(0), 2, 2, 2))


def test_closed_forms_stop_at_degree_two():
    matrix = sp.Matrix([[0, 0, GAMMA], [1, 0, 1], [0, 1, 0]])
    with pytest.raises(ValueError, match="degree 3"):
        symbolic.eigenvalues(matrix)
    assert symbolic.eigenvalues(sp.diag(GAMMA, GAMMA, 2)) == [2, GAMMA, GAMMA] or symbolic.eigenvalues(
        sp.diag(GAMMA, GAMMA, 2)
    ) == [GAMMA, GAMMA, 2]
