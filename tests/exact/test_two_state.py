"""The counterexample of Figure 1 in its three readings, against exact values and its own samples."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gqlib.domains import two_state
from gqlib.domains.two_state import ENDINGS, FEATURES

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "two_state.json").read_text())[
    "two_state"
]
KEYS = {
    "continuing": None,
    "bootstrap": "episodic_variant_bootstrap_through_end",
    "terminal": "episodic_variant_zero_value_at_end",
}


@pytest.mark.parametrize("reading", ENDINGS)
@pytest.mark.parametrize(
    "case", ORACLE["grid"], ids=lambda c: f"{c['gamma']}-{c['lambda']}-{c['sigma']}"
)
def test_A_and_its_eigenvalues_are_the_reference(case, reading):
    expected = case if KEYS[reading] is None else case[KEYS[reading]]
    a = two_state(case["gamma"], reading).problem.A(case["sigma"], case["lambda"])
    np.testing.assert_allclose(a, expected["A"], rtol=1e-10, atol=1e-12)
    reference = np.sort_complex(
        [value["re"] + 1j * value["im"] for value in expected["eigenvalues"]]
    )
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(a)), reference, rtol=1e-10)


def test_continuing_problem_is_the_reference_up_to_the_order_of_pairs():
    problem = two_state(0.99).problem
    order = [FEATURES.index(tuple(row)) for row in ORACLE["phi"]]
    np.testing.assert_array_equal(problem.p_mu[np.ix_(order, order)], ORACLE["P_mu"])
    np.testing.assert_array_equal(problem.p_pi[np.ix_(order, order)], ORACLE["P_pi"])
    np.testing.assert_array_equal(problem.xi, ORACLE["xi"])
    np.testing.assert_allclose(problem.M, ORACLE["M"], rtol=1e-14)
    np.testing.assert_array_equal(problem.b(0.5, 0.9), ORACLE["b"])


@pytest.mark.parametrize("reading", ["bootstrap", "terminal"])
def test_episodic_weights_are_three_visits_to_two(reading):
    np.testing.assert_allclose(
        two_state(0.99, reading).problem.xi, [0.3, 0.3, 0.2, 0.2], rtol=1e-14
    )


def test_behind_an_end_the_bootstrap_reading_sees_state_2_and_the_terminal_reading_nothing():
    for reading, states in (("bootstrap", {2.0}), ("terminal", {0.0})):
        path = two_state(0.9, reading).trajectory(500, np.random.default_rng(1))
        assert set(path.phi_next[path.ends].sum(axis=1)) == states
        assert set(path.phi_next_expected[path.ends].sum(axis=1)) == states
