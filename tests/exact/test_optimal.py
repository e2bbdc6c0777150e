"""Optimal values: by two iterations, by linear programming, and by trying every policy."""

import itertools

import gymnasium
import numpy as np
import pytest
from scipy.optimize import linprog

from gqlib import FiniteMDP
from gqlib.domains import random_mdp
from gqlib.optimal import Optimum, policy_iteration, value_iteration


def programmed(mdp):
    """v*, as the least v with v ≥ r + γPv: a linear programme."""
    n, a = mdp.n_states, mdp.n_actions
    use = ~np.repeat(mdp.is_terminal, a)
    moves = np.where(mdp.is_terminal, 0.0, mdp.transitions).reshape(n * a, n)
    left = (mdp.gamma * moves - np.repeat(np.eye(n), a, axis=0))[use]
    ends = (
        {"A_eq": np.eye(n)[mdp.is_terminal], "b_eq": np.zeros(len(mdp.terminal))}
        if mdp.terminal
        else {}
    )
    found = linprog(
        np.ones(n), A_ub=left, b_ub=-mdp.rewards.ravel()[use], bounds=(None, None), **ends
    )
    return found.x


@pytest.mark.parametrize("seed", range(5))
def test_both_iterations_find_what_a_linear_programme_and_all_policies_give(seed):
    mdp = random_mdp(np.random.default_rng(seed), 4, 3, gamma=0.9)
    exact, near = policy_iteration(mdp), value_iteration(mdp, 1e-9)
    np.testing.assert_allclose(exact.v, programmed(mdp), atol=1e-7)
    assert np.abs(near.q - exact.q).max() <= near.bound <= 1e-9
    every = [mdp.v(np.eye(3)[list(choice)]) for choice in itertools.product(range(3), repeat=4)]
    np.testing.assert_allclose(exact.v, np.max(every, axis=0), atol=1e-12)
    np.testing.assert_allclose(mdp.v(exact.policy), exact.v, atol=1e-12)
    np.testing.assert_array_equal(exact.policy, near.policy)
    # Bellman's equation, and nothing less
    np.testing.assert_allclose(exact.q, mdp.rewards + 0.9 * mdp.transitions @ exact.v, atol=1e-12)


def test_the_bound_of_value_iteration_holds_at_every_tolerance():
    mdp = random_mdp(np.random.default_rng(7), 6, 2, gamma=0.95)
    exact = policy_iteration(mdp).q
    for tolerance in (1.0, 1e-2, 1e-4, 1e-8):
        found = value_iteration(mdp, tolerance)
        assert np.abs(found.q - exact).max() <= found.bound <= tolerance
        assert np.abs(found.q - exact).max() > 1e-4 * tolerance  # the bound is not idle


@pytest.mark.parametrize(("gamma", "reward", "steps"), [(0.5, 1.0, 2), (0.75, -3.0, 10)])
def test_what_value_iteration_says_of_itself(gamma, reward, steps):
    """One state that pays for ever, by hand: the k-th change is rγᵏ⁻¹, and the rest is γ/(1 − γ) times as large."""
    mdp, eps = FiniteMDP(np.ones((1, 1, 1)), [[reward]], gamma), float(np.finfo(float).eps)
    size = abs(reward) / (1 - gamma)
    rounding = 4 * 3 * eps * size / (1 - gamma)
    bound = abs(reward) * gamma**steps / (1 - gamma)
    found = value_iteration(mdp, 1.01 * bound)
    assert found.iterations == steps
    assert found.bound == pytest.approx(bound + rounding / 2, rel=1e-15, abs=0)
    assert (
        found.v.tolist()
        == found.q[:, 0].tolist()
        == [pytest.approx(reward * (1 - gamma**steps) / (1 - gamma))]
    )
    with pytest.raises(ValueError, match=rf"at least {rounding:.1e}"):
        value_iteration(mdp, 0.999 * rounding)
    assert value_iteration(mdp, 1.001 * rounding).bound <= 1.001 * rounding
    assert policy_iteration(mdp).bound == 0.0


def test_the_default_tolerance_is_one_that_rounding_allows():
    """A cliff of 48 states that costs 100, γ = 0.99: 1e-8 is too much to ask, and nobody asked for it."""
    moves = np.zeros((48, 2, 48))
    moves[np.arange(48), 0, np.maximum(np.arange(48) - 1, 0)] = moves[:, 1, 0] = 1.0
    mdp = FiniteMDP(moves, np.tile([-1.0, -100.0], (48, 1)), 0.99)
    found = value_iteration(mdp)
    assert 1e-8 < found.bound < 1e-6
    assert np.abs(found.q - policy_iteration(mdp).q).max() <= found.bound
    with pytest.raises(ValueError, match="rounding asks for at least"):
        value_iteration(mdp, 1e-8)


@pytest.mark.slow
def test_the_lake_and_the_cliff_have_their_known_values():
    lake = policy_iteration(
        FiniteMDP.from_gym(gymnasium.make("FrozenLake-v1", is_slippery=False), 0.9)
    )
    assert lake.v[0] == pytest.approx(0.9**5)  # six steps to the goal, which pays 1
    slippery = FiniteMDP.from_gym(gymnasium.make("FrozenLake-v1"), 1.0)
    assert policy_iteration(slippery).v[0] == pytest.approx(14 / 17)
    cliff = policy_iteration(FiniteMDP.from_gym(gymnasium.make("CliffWalking-v1"), 1.0))
    assert cliff.v[36] == pytest.approx(-13)  # one up, eleven along, one down
    taxi = FiniteMDP.from_gym(gymnasium.make("Taxi-v4"), 0.99)
    np.testing.assert_allclose(policy_iteration(taxi).q, value_iteration(taxi, 1e-7).q, atol=1e-7)


def test_an_optimum_is_told_in_a_line():
    assert repr(Optimum(np.ones((2, 1)), np.array([1.0, 3.0]), np.ones((2, 1)), 4, 0.0)) == (
        "Optimum(2 states, 4 iterations, v from 1 to 3)"
    )


def test_ties_within_rounding_go_to_the_first_action_and_others_do_not():
    """One state, γ = 0: rewards are the values, and what counts as rounding is 1e-10 of the largest, or of one."""
    for size, gap, best in (
        (1.0, 0.5e-10, 0),
        (1.0, 2e-10, 1),
        (1e6, 0.5e-4, 0),
        (1e6, 2e-4, 1),
        (1e-3, 0.5e-10, 0),
    ):
        mdp = FiniteMDP(np.ones((1, 2, 1)), [[size, size + gap]], 0.0)
        for found in (policy_iteration(mdp), value_iteration(mdp)):
            assert found.policy.tolist() == np.eye(2)[[best]].tolist()
            assert found.v.tolist() == [size + gap]
