"""Random problems: valid, ergodic, determined by the generator, and refused where arguments make no sense."""

from __future__ import annotations

import numpy as np
import pytest

from gqlib.domains import random_mdp, random_policy, random_problem


@pytest.mark.parametrize("concentration", [1e-3, 0.1, 1.0, 100.0])
def test_rows_are_distributions_and_every_chain_is_ergodic(concentration):
    rng = np.random.default_rng(1)
    mdp = random_mdp(rng, 4, 3, concentration=concentration)
    np.testing.assert_allclose(mdp.transitions.sum(axis=2), 1.0, rtol=1e-12)
    assert mdp.transitions.min() > 0.0
    policy = random_policy(rng, 4, 3, concentration=concentration)
    np.testing.assert_allclose(policy.sum(axis=1), 1.0, rtol=1e-12)


def test_small_concentrations_give_nearly_deterministic_rows():
    rng = np.random.default_rng(2)
    assert random_policy(rng, 50, 4, concentration=0.01).max(axis=1).mean() > 0.95
    assert random_policy(rng, 50, 4, concentration=100.0).max(axis=1).mean() < 0.4


def test_without_more_said_a_problem_has_a_table_for_five_states_and_three_actions_off_policy():
    rng = np.random.default_rng(9)
    problem, again = random_problem(rng), np.random.default_rng(9)
    transitions = 0.999 * again.dirichlet(np.ones(5), size=(5, 3)) + 0.001 / 5
    rewards = again.standard_normal((5, 3))
    mu, pi = again.dirichlet(np.ones(3), size=5), again.dirichlet(np.ones(3), size=5)
    assert problem.features.tolist() == np.eye(15).tolist()
    assert problem.gamma == 0.9
    for chain, policy in ((problem.p_mu, mu), (problem.p_pi, pi)):
        pairs = np.einsum("xs,sa->xsa", transitions.reshape(15, 5), policy).reshape(15, 15)
        np.testing.assert_allclose(chain, pairs, rtol=1e-12)
    np.testing.assert_allclose(problem.rewards, rewards.ravel(), rtol=1e-12)
    assert rng.random() == again.random()
    same = random_problem(np.random.default_rng(9), on_policy=True)
    np.testing.assert_array_equal(same.p_mu, same.p_pi)
    np.testing.assert_allclose(same.p_mu, problem.p_mu, rtol=1e-14)
