"""Random problems: valid, ergodic, determined by the generator, and refused where arguments make no sense."""

from __future__ import annotations

import numpy as np
import pytest

from gqlib import FiniteMDP
from gqlib.domains import domain_on_pairs, random_mdp, random_policy, random_problem
from gqlib.domains.finite import Chain
from gqlib.domains.random_problems import _rows


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


def test_the_generator_decides():
    first, again, other = (random_problem(np.random.default_rng(s)).A(0.5, 0.5) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_without_features_the_problem_is_the_table_and_on_policy_has_one_chain():
    problem = random_problem(np.random.default_rng(3), 3, 2, on_policy=True)
    np.testing.assert_array_equal(problem.features, np.eye(6))
    np.testing.assert_array_equal(problem.p_mu, problem.p_pi)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random_policy(np.random.default_rng(0), 0, 2), "n_states is 0"),
        (lambda: random_mdp(np.random.default_rng(0), 2, -1), "n_actions is -1"),
        (lambda: random_mdp(np.random.default_rng(0), 2, 2, 1.0), r"gamma is 1\.0"),
        (lambda: random_policy(7, 2, 2), "rng is 7"),
        (
            lambda: random_policy(np.random.default_rng(0), 2, 2, concentration=0.0),
            r"concentration is 0\.0",
        ),
        (lambda: random_problem(np.random.default_rng(0), 2, 2, 0), "n_features is 0"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_domain_on_pairs_samples_its_own_problem():
    rng = np.random.default_rng(4)
    mdp = random_mdp(rng, 3, 2, 0.8)
    mu, pi = random_policy(rng, 3, 2), random_policy(rng, 3, 2)
    domain = domain_on_pairs(mdp, mu, pi, np.eye(6), theta0=np.arange(6.0))
    path = domain.trajectory(30_000, rng)
    pair, after = path.phi.argmax(axis=1), path.phi_next.argmax(axis=1)
    np.testing.assert_array_equal(after[:-1], pair[1:])
    np.testing.assert_allclose(path.phi.mean(axis=0), domain.problem.xi, atol=0.02)
    np.testing.assert_array_equal(path.reward, mdp.rewards.ravel()[pair])
    for index in range(6):
        rows = pair == index
        np.testing.assert_allclose(
            path.phi_next[rows].mean(axis=0), domain.problem.p_mu[index], atol=0.04
        )
        np.testing.assert_allclose(
            path.phi_next_expected[rows].mean(axis=0), domain.problem.p_pi[index], atol=0.04
        )
    np.testing.assert_array_equal(domain.theta0, np.arange(6.0))
    assert not path.ends.any()
    assert path.ends.dtype == bool


def test_a_domain_on_pairs_refuses_terminal_states():
    mdp = FiniteMDP([[[0.5, 0.5]], [[0.0, 1.0]]], [[1.0], [0.0]], 1.0, terminal=[1])
    with pytest.raises(ValueError, match=r"terminal states \(1,\)"):
        domain_on_pairs(mdp, [[1.0], [1.0]], [[1.0], [1.0]], np.eye(2))


MOVES = np.array([[[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [0.25, 0.75]]])
DRAWS = np.array([[0.0, 0.5, 0.25], [0.25, 0.25, 0.2], [0.1, 0.6, 0.1], [0.9, 0.2, 0.9]])


@pytest.mark.parametrize(("ends_on", "horizon"), [([False, False], 2), ([True, False], 0)])
def test_a_walk_by_hand_with_draws_on_the_borders(ends_on, horizon):
    """A draw on the border between two outcomes takes the later one: [0, ¼) is the first, [¼, 1) the second."""
    mu, start = np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0.25, 0.75])
    chain = Chain(MOVES, mu, start, np.array(ends_on), horizon)
    path = chain.walk(DRAWS)
    assert path.states.tolist() == [1, 1, 0]  # the last one by a new start
    assert path.actions.tolist() == [1, 1, 1]
    assert path.arrivals.tolist() == [1, 0, 1]
    assert path.next_actions.tolist() == [1, 1, 0]
    assert path.ends.tolist() == [False, True, False]
    assert chain.has_episodes
    assert not Chain(MOVES, mu, start, np.zeros(2, dtype=bool)).has_episodes


def test_sums_of_probabilities_reach_one_so_that_no_draw_falls_off_the_end():
    thirds = np.full((1, 3), 1.0 - 2.0 / 3.0)
    chain = Chain(
        np.full((3, 3, 3), 0.1 + 0.7 / 3),
        np.tile(thirds, (3, 1)),
        thirds[0],
        np.zeros(3, dtype=bool),
    )
    for sums in chain.cumulative:
        assert (sums[..., -1] == 1.0).all()
    top = np.nextafter(1.0, 0.0)
    assert chain.walk(np.full((3, 3), top)).arrivals.tolist() == [2, 2]


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


@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 4, 3)])
def test_rows_whose_total_underflows_are_uniform(shape):
    class Underflows(np.random.Generator):
        def dirichlet(self, alpha, size):
            return np.full((*size, len(alpha)), np.nan)

    rows = _rows(Underflows(np.random.PCG64(0)), shape, 1e-300)
    assert rows.tolist() == np.full(shape, 1.0 / 3.0).tolist()


def test_sizes_that_no_machine_holds_are_refused_by_name():
    many, rng = 2**40, np.random.default_rng(0)
    for call in (random_mdp, random_policy):
        with pytest.raises(ValueError, match=rf"^n_states is {many}; it should be smaller"):
            call(rng, many, 2)
    with pytest.raises(ValueError, match=rf"^n_features is {many}; it should be smaller"):
        random_problem(rng, n_features=many)
