"""The sympy twins: closed forms against the float64 library and against the reference closed forms."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from gqlib import FiniteMDP, PredictionProblem, symbolic
from gqlib.domains import two_state
from gqlib.domains.two_state import ENDINGS
from gqlib.stability import critical_sigma
from gqlib.symbolic import GAMMA, LAM, SIGMA

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "two_state.json").read_text())[
    "two_state"
]


@pytest.fixture(scope="module", params=ENDINGS)
def pair(request):
    return request.param, symbolic.twin(two_state(0.99, request.param).problem)


@pytest.mark.slow
def test_closed_forms_with_numbers_put_in_are_the_float64_matrices(pair):
    reading, exact = pair
    for gamma, lam, sigma in (("0.9", "0.5", "0.25"), ("0.99", "0.99", "0.75"), ("1/3", "0", "1")):
        values = {GAMMA: gamma, LAM: lam, SIGMA: sigma}
        g, decay, s = (float(Fraction(x)) for x in (gamma, lam, sigma))
        problem = two_state(g, reading).problem
        np.testing.assert_allclose(
            symbolic.to_array(exact.A(), values), problem.A(s, decay), rtol=1e-12, atol=1e-14
        )
        np.testing.assert_allclose(
            symbolic.to_array(exact.gamma_v(), values),
            problem.gamma_v(s, decay),
            rtol=1e-12,
            atol=1e-13,
        )
    np.testing.assert_allclose(symbolic.to_array(exact.M, {}), problem.M, rtol=1e-14)


@pytest.mark.parametrize(
    "case", ORACLE["grid"], ids=lambda c: f"{c['gamma']}-{c['lambda']}-{c['sigma']}"
)
def test_exact_entries_are_the_exact_reference(case):
    exact = symbolic.twin(two_state(0.99).problem, gamma=str(case["gamma"]))
    got = exact.A(sp.Rational(str(case["sigma"])), sp.Rational(str(case["lambda"])))
    assert got == sp.Matrix([[sp.Rational(x) for x in row] for row in case["A_exact"]])


def test_eigenvalues_of_the_continuing_chain_are_the_reference_closed_forms():
    first, second = symbolic.eigenvalues(symbolic.twin(two_state().problem).A())
    names = {"gamma": GAMMA, "sigma": SIGMA, "lam": LAM}
    reference = sp.sympify(
        ORACLE["closed_form"]["eigenvalue_2"].replace("lambda", "lam"), locals=names
    )
    assert first == sp.Rational(-5, 4)
    assert sp.simplify(second - reference) == 0


@pytest.mark.parametrize(
    ("reading", "gamma", "lam"), [("continuing", "0.9", "0.3"), ("bootstrap", "0.9", "0.5")]
)
def test_critical_values_are_those_of_the_float64_search(reading, gamma, lam):
    exact = symbolic.twin(two_state(0.9, reading).problem)
    (root,) = symbolic.critical_values(exact.A())
    value = float(root.subs({GAMMA: sp.Rational(gamma), LAM: sp.Rational(lam)}))
    np.testing.assert_allclose(
        critical_sigma(two_state(0.9, reading).problem, float(lam)), [value], rtol=1e-10
    )


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


def test_what_counts_as_exact():
    x = sp.Symbol("x")
    for value, wanted in ((np.int64(3), 3), (-2, -2), ("-1/4", sp.Rational(-1, 4)), (x, x)):
        found = symbolic.exact("a", value)
        assert (isinstance(found, sp.Expr), found) == (True, wanted)
    for value in (x + sp.Float(0.5), sp.nan, sp.zoo, x + sp.oo):
        with pytest.raises(ValueError, match=r"^a is .*; it should be exact: "):
            symbolic.exact("a", value)


def test_what_is_read_as_a_matrix():
    third, column = Fraction(1, 3), np.array([4, 5])
    wanted, tall = sp.Matrix([[1, third], [2, 0]]), sp.Matrix([[4], [5]])
    for value in ([[1, "1/3"], [2, 0]], ((1, third), (2, 0)), wanted, sp.ImmutableMatrix(wanted)):
        assert symbolic.exact_matrix("a", value) == wanted
    for value in (["4", 5], column, (sp.Integer(4), 5), column[:, None]):
        assert symbolic.exact_matrix("a", value) == tall


def test_a_system_is_solved_exactly_or_refused():
    x, (p, q) = sp.Matrix([[1, "2/3"], [GAMMA, -5]]), sp.symbols("p q")
    matrix = sp.Matrix([[p, 2], [q, 1 - p]])
    assert (symbolic.solve(matrix, matrix * x) - x).applyfunc(sp.cancel) == sp.zeros(2, 2)


def test_a_chain_of_pairs_by_hand_and_its_shapes():
    """Two states, one action in three: P[(s, a), (s', a')] = P(s'|s, a)·policy(a'|s')."""
    moves = [[["1/3", "2/3"], [1, 0], [0, 1]], [["1/4", "3/4"], [0, 1], [1, 0]]]
    policy = [["1/2", "1/2", 0], [0, "1/5", "4/5"]]
    found = symbolic.pair_chain(moves, policy)
    third = sp.Rational(1, 3)
    assert found[0, :] == sp.Matrix([[third / 2, third / 2, 0, 0, 2 * third / 5, 8 * third / 5]])
    assert found[5, :] == sp.Matrix([["1/2", "1/2", 0, 0, 0, 0]])
    assert found.shape == (6, 6)


def test_the_trace_is_carried_by_its_own_chain_or_by_the_behaviours():
    """Two indices in turn, γλ = ½: X = (I − ½Pᵀ)⁻¹ΞΦ; a trace that is cut is the feature itself."""
    swap, phi, half = sp.Matrix([[0, 1], [1, 0]]), sp.Matrix([2, 4]), sp.Rational(1, 2)
    parts = {"features": phi, "p_mu": swap, "p_pi": sp.eye(2), "rewards": sp.Matrix([1, 3])}
    parts |= {"xi": sp.Matrix([half, half]), "gamma": sp.Integer(1)}
    third, cut = sp.Rational(1, 3), {"p_trace": sp.zeros(2, 2)}
    for more, weights, b in (({}, [8 * third, 10 * third], 38 * third), (cut, [1, 2], 7)):
        problem = symbolic.SymbolicProblem(**parts, **more)
        assert problem.trace_weights(half).applyfunc(sp.cancel) == sp.Matrix(weights)
        assert problem.b(half) == sp.Matrix([[b]])


def one_state(reward, gamma=0.5, phi=1.0):
    return PredictionProblem([[phi]], [[1.0]], [[1.0]], [reward], [1.0], gamma)


def test_a_twin_reads_fractions_up_to_the_largest_denominator():
    """Rounding is judged against the largest entry, or against one where all are smaller."""
    third = sp.Rational(1, 3)
    found = symbolic.twin(one_state(1.0 / 3.0, 1.0 / 7.0), gamma=None, largest_denominator=7)
    assert (found.rewards, found.gamma) == (sp.Matrix([[third]]), sp.Rational(1, 7))
    for reward, wanted in (
        (1 / 997, Fraction(1, 997)),
        (1e-3, Fraction(1, 1000)),
        (1e3 + 1e-12, 1000),
        (1e-15, 0),
    ):
        assert symbolic.twin(one_state(reward)).rewards == sp.Matrix([[wanted]])
    assert symbolic.twin(one_state(3.0), largest_denominator=1).rewards == sp.Matrix([[3]])
    assert symbolic.twin(one_state(1.0)).gamma == GAMMA
    assert symbolic.twin(one_state(1.0), gamma="0.9").gamma == sp.Rational(9, 10)
    for problem, given, told in (
        (one_state(1.0 / 1009.0), {}, "rewards is .* up to largest_denominator, 1000$"),
        (one_state(1.0 + 3e-14), {}, "rewards is off its fractions by "),
        (one_state(1e-12), {}, "rewards is off its fractions by "),
        (
            one_state(1.0, 0.5, 0.5),
            {"largest_denominator": 1},
            "features is off its fractions by 0.5; ",
        ),
        (
            one_state(1.0),
            {"largest_denominator": 1, "gamma": None},
            "gamma is off its fractions by 0.5; ",
        ),
    ):
        with pytest.raises(ValueError, match=f"^{told}"):
            symbolic.twin(problem, **given)


def test_roots_of_factors_by_hand():
    """(s − 1/γ)², and 2s² + 3s − γ over two: each root as often as its factor counts."""
    twice = sp.diag(1 / GAMMA, 1 / GAMMA)
    assert symbolic.eigenvalues(twice) == [1 / GAMMA, 1 / GAMMA]
    companion = sp.Matrix([[0, GAMMA / 2], [1, sp.Rational(-3, 2)]])
    root = sp.sqrt(9 + 8 * GAMMA)
    for blocks in (1, 2):
        found = symbolic.eigenvalues(sp.diag(*[companion] * blocks))
        assert [sp.expand(x) for x in found] == [
            -sp.Rational(3, 4) - root / 4,
            -sp.Rational(3, 4) + root / 4,
        ] * blocks


def test_critical_values_by_hand():
    x = sp.Symbol("x")
    assert symbolic.critical_values(sp.Matrix([[1 / (1 + SIGMA), 1], [GAMMA, 2]])) == [
        sp.factor((2 - GAMMA) / GAMMA)
    ]
    assert symbolic.critical_values(sp.diag(x - 2, x + SIGMA), x) == [2, -SIGMA]
    assert symbolic.critical_values(sp.Matrix([[GAMMA + 1]])) == []


def test_numbers_are_put_in_for_every_symbol_or_refused():
    matrix = sp.Matrix([[GAMMA / 3, SIGMA], [LAM, 1]])
    found = symbolic.to_array(matrix, {GAMMA: "0.3", SIGMA: Fraction(1, 4), LAM: 2})
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [[0.1, 0.25], [2.0, 1.0]])
