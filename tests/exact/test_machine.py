"""The running example: its numbers by hand and in exact fractions, by matrices, and by learning from trajectories."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
import sympy as sp

from gqlib import symbolic
from gqlib.domains import machine
from gqlib.domains.machine import (
    ACTIONS,
    BROKEN,
    CREW,
    NEW,
    PLAN,
    REPAIR,
    RUN,
    STATES,
    WORN,
    machine_mdp,
)

SIGMAS = (0.0, 0.25, 0.5, 1.0)
# The story in fractions, typed a second time.
REPAIRED = (F(19, 20), F(1, 20), F(0))
MOVES = [
    [(F(4, 5), F(1, 5), F(0)), REPAIRED],
    [(F(0), F(3, 5), F(2, 5)), REPAIRED],
    [(F(0), F(0), F(1)), REPAIRED],
]
REWARDS = [[F(3), F(-1)], [F(2), F(-3, 2)], [F(0), F(-2)]]
GAMMA = F(19, 20)
CREW_SAYS = [[F(7, 10), F(3, 10)]] * 3
PLAN_SAYS = [[F(1), F(0)], [F(0), F(1)], [F(0), F(1)]]


def exact_values(sigma):
    """q of the mixture policy in fractions: q = r + γ P q, with P built pair by pair from the story."""
    nu = [
        [p + sigma * (m - p) for p, m in zip(*rows, strict=True)]
        for rows in zip(PLAN_SAYS, CREW_SAYS, strict=True)
    ]
    chain = symbolic.pair_chain(MOVES, nu)
    rewards = symbolic.exact_matrix("rewards", [reward for row in REWARDS for reward in row])
    return symbolic.solve(sp.eye(6) - symbolic.exact("gamma", GAMMA) * chain, rewards)


def test_names_and_numbers_go_together():
    assert [STATES[s] for s in (NEW, WORN, BROKEN)] == ["new", "worn", "broken"]
    assert [ACTIONS[a] for a in (RUN, REPAIR)] == ["run", "repair"]
    mdp = machine_mdp()
    np.testing.assert_array_equal(mdp.transitions, np.array(MOVES, dtype=float))
    np.testing.assert_array_equal(mdp.rewards, np.array(REWARDS, dtype=float))
    np.testing.assert_array_equal(CREW, np.array(CREW_SAYS, dtype=float))
    np.testing.assert_array_equal(PLAN, np.array(PLAN_SAYS, dtype=float))
    assert mdp.gamma == float(GAMMA)


def test_values_of_the_plan_by_hand():
    """x = 3 + γ(4x + y)/5 and y = −3/2 + γ(19x + y)/20, by Cramer's rule; a broken machine costs ½ more to repair."""
    a, b, c, d = 1 - GAMMA * F(4, 5), -GAMMA * F(1, 5), -GAMMA * F(19, 20), 1 - GAMMA * F(1, 20)
    determinant = a * d - b * c
    x, y = (3 * d + b * F(3, 2)) / determinant, (-a * F(3, 2) - 3 * c) / determinant
    assert (x, y) == (F(20580, 457), F(18780, 457))
    v = machine_mdp().v(PLAN)
    np.testing.assert_allclose(v, [float(x), float(y), float(y - F(1, 2))], rtol=1e-12)
    # by hand as well: what running a worn and a broken machine is worth, (worn, run) and (broken, run)
    q = machine_mdp().q(PLAN)
    assert q[WORN, RUN] == pytest.approx(
        float(2 + GAMMA * (F(3, 5) * y + F(2, 5) * (y - F(1, 2)))), rel=1e-12
    )
    assert q[BROKEN, RUN] == pytest.approx(float(GAMMA * (y - F(1, 2))), rel=1e-12)


def test_the_crew_and_the_plan_differ_by_the_first_finding():
    plan, crew = exact_values(F(0)), exact_values(F(1))
    assert (plan[0], crew[0]) == (sp.Rational(20580, 457), sp.Rational(123280451, 4500288))
    assert all(one > other for one, other in zip(plan, crew, strict=True))


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("lam", [0.0, 0.6, 1.0])
def test_the_fixed_point_is_the_value_of_the_mixture_whatever_lambda_is(sigma, lam):
    """Three ways: fractions, the Bellman equation in float64, and A θ + b = 0 with its trace."""
    want = np.array(exact_values(F(sigma)).tolist(), dtype=float).ravel()
    np.testing.assert_allclose(
        machine_mdp().q(PLAN + sigma * (CREW - PLAN)).ravel(), want, rtol=1e-12
    )
    np.testing.assert_allclose(machine().problem.fixed_point(sigma, lam), want, rtol=1e-10)


def test_how_often_the_crew_is_where():
    """Balance by hand: .28·worn = .3·broken and .155·new = .285·(worn + broken)."""
    worn = F(1)
    broken = F(28, 100) / F(3, 10) * worn
    new = F(285, 1000) / F(155, 1000) * (worn + broken)
    law = [part / (new + worn + broken) for part in (new, worn, broken)]
    assert law == [F(57, 88), F(465, 2552), F(217, 1276)]
    pairs = [float(part * share) for part in law for share in (F(7, 10), F(3, 10))]
    np.testing.assert_allclose(machine().problem.xi, pairs, rtol=1e-12)
    assert machine().problem.rank_M == 6


def test_three_features_are_too_few_on_purpose():
    problem = machine(features="wear").problem
    np.testing.assert_array_equal(
        problem.features, [[1, 0, 0], [1, 1, 0], [1, 0, 0.5], [1, 1, 0], [1, 0, 1], [1, 1, 0]]
    )
    assert problem.rank_M == 3
    truth = machine_mdp().q(PLAN).ravel()
    off = [
        np.sqrt(problem.xi @ (problem.features @ problem.fixed_point(s, 0.6) - truth) ** 2)
        for s in (0.0, 1.0)
    ]
    assert 0.1 < off[0] < off[1]


def test_the_exact_twin_reads_its_fractions():
    twin = symbolic.twin(machine().problem, gamma=None, largest_denominator=30_000)
    assert list(twin.xi)[:2] == [sp.Rational(399, 880), sp.Rational(171, 880)]
    assert sum(twin.xi) == 1
    residual = twin.A(0, 0) * exact_values(F(0)) + twin.b(0)
    assert residual == sp.zeros(6, 1)
