"""The counterexample of Figure 1 in its three readings, against exact values and its own samples."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gqlib.domains import two_state
from gqlib.domains.two_state import ENDINGS, FEATURES
from gqlib.prediction import PredictionProblem

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


def test_theta_starts_where_figure_2_starts():
    np.testing.assert_array_equal(two_state().theta0, [2.0, 0.0])


@pytest.mark.parametrize("reading", ["bootstrap", "terminal"])
def test_episodic_weights_are_three_visits_to_two(reading):
    np.testing.assert_allclose(
        two_state(0.99, reading).problem.xi, [0.3, 0.3, 0.2, 0.2], rtol=1e-14
    )


@pytest.mark.parametrize("reading", ENDINGS)
def test_a_trajectory_has_the_visits_transitions_and_ends_of_its_problem(reading):
    domain = two_state(0.9, reading, rewards=[[1.0, -0.5], [2.0, 3.0]])
    path = domain.trajectory(20_000, np.random.default_rng(7))
    phi, problem = np.array(FEATURES), domain.problem
    pair = np.array([FEATURES.index(tuple(row)) for row in path.phi])
    share = np.bincount(pair, minlength=4) / len(pair)
    np.testing.assert_allclose(share, problem.xi, atol=0.015)
    np.testing.assert_array_equal(path.reward, np.array([1.0, -0.5, 2.0, 3.0])[pair])
    np.testing.assert_array_equal(path.phi_next_expected, (problem.p_pi @ phi)[pair])
    for index in range(4):
        mean = path.phi_next[pair == index].mean(axis=0)
        np.testing.assert_allclose(mean, (problem.p_mu @ phi)[index], atol=0.05)
    if reading == "continuing":
        assert not path.ends.any()
    else:
        np.testing.assert_array_equal(path.ends, pair == 2)
    inside = ~path.ends[:-1]
    np.testing.assert_array_equal(path.phi_next[:-1][inside], path.phi[1:][inside])


def test_behind_an_end_the_bootstrap_reading_sees_state_2_and_the_terminal_reading_nothing():
    for reading, states in (("bootstrap", {2.0}), ("terminal", {0.0})):
        path = two_state(0.9, reading).trajectory(500, np.random.default_rng(1))
        assert set(path.phi_next[path.ends].sum(axis=1)) == states
        assert set(path.phi_next_expected[path.ends].sum(axis=1)) == states


def test_same_seed_same_trajectory_and_another_seed_another():
    first, again, other = (two_state().trajectory(200, np.random.default_rng(s)) for s in (3, 3, 4))
    np.testing.assert_array_equal(first.phi, again.phi)
    assert not np.array_equal(first.phi, other.phi)


def test_the_terminal_reading_is_the_episodic_problem_built_from_its_mdp():
    from gqlib import FiniteMDP

    # pairs (1, ·) and (2, ·) plus a terminal state; only (2, right) leads there
    transitions = np.zeros((3, 2, 3))
    transitions[0, 0, 1] = transitions[:2, 1, 0] = transitions[1, 0, 2] = 1.0
    mdp = FiniteMDP(transitions, np.zeros((3, 2)), 0.9, terminal=[2])
    mu, pi = np.full((3, 2), 0.5), np.tile([1.0, 0.0], (3, 1))
    problem = PredictionProblem.on_pairs(
        mdp, mu, pi, np.vstack([FEATURES, np.zeros((2, 2))]), start=[0.5, 0.5, 0.0]
    )
    np.testing.assert_allclose(
        problem.A(0.3, 0.7), two_state(0.9, "terminal").problem.A(0.3, 0.7), rtol=1e-13
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reading": "episodic"}, "reading is 'episodic'"),
        ({"gamma": 1.5}, "gamma is 1.5"),
        ({"gamma": float("nan")}, "gamma is nan"),
        ({"rewards": [1.0, 2.0]}, r"rewards has shape \(2,\)"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        two_state(**arguments)


def test_a_trajectory_needs_steps_and_a_generator():
    with pytest.raises(ValueError, match="steps is 0"):
        two_state().trajectory(0, np.random.default_rng(0))
    with pytest.raises(ValueError, match="rng is 3"):
        two_state().trajectory(5, 3)
