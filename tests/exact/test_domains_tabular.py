"""Episodes of finite MDPs, the random walk and the windy gridworld."""

import numpy as np
import pytest

from gqlib import FiniteMDP
from gqlib.domains.episodes import Episode, sample_episode
from gqlib.domains.gridworld import COLUMNS, windy_gridworld
from gqlib.domains.random_walk import LEFT, RIGHT, random_walk


@pytest.mark.parametrize("length", [1, 5, 19])
def test_values_of_the_random_walk_lie_on_a_straight_line(length):
    walk, s, c = random_walk(length), np.arange(1, length + 1), (length + 1) / 2
    pi = walk.uniform_policy()
    np.testing.assert_allclose(walk.mdp.v(pi)[1:-1], (s - c) / c, atol=1e-13)
    np.testing.assert_allclose(walk.mdp.q(pi)[1:-1, LEFT], (s - 1 - c) / c, atol=1e-13)
    np.testing.assert_allclose(walk.mdp.q(pi)[1:-1, RIGHT], (s + 1 - c) / c, atol=1e-13)


def test_windy_gridworld_without_stray_steps_takes_15_steps_at_best():
    """Sutton and Barto (2018, Example 6.5): the shortest way has 15 steps."""
    mdp = windy_gridworld(astray=0.0).mdp
    v = np.zeros(mdp.n_states)
    for _ in range(50):
        q = mdp.rewards + mdp.transitions @ v
        v = np.where(mdp.is_terminal, 0.0, q.max(axis=1))
    assert v[3 * COLUMNS] == -15.0


def test_wind_lifts_and_the_border_stops():
    mdp = windy_gridworld(astray=0.0).mdp
    up, right, down, left = range(4)
    assert mdp.transitions[3 * COLUMNS + 6, down].argmax() == 2 * COLUMNS + 6  # down one, up two
    assert mdp.transitions[0 * COLUMNS + 6, up].argmax() == 0 * COLUMNS + 6
    assert mdp.transitions[6 * COLUMNS + 0, left].argmax() == 6 * COLUMNS + 0
    assert mdp.transitions[6 * COLUMNS + 9, right].argmax() == 6 * COLUMNS + 9


def test_a_stray_step_leads_to_each_of_the_eight_neighbours():
    mdp = windy_gridworld(astray=0.8).mdp
    row = mdp.transitions[3 * COLUMNS + 1, 1].reshape(
        7, COLUMNS
    )  # no wind here; the action is right
    expected = np.zeros((7, COLUMNS))
    expected[2:5, 0:3] = 0.1
    expected[3, 1] = 0.0
    expected[3, 2] += 0.2
    np.testing.assert_allclose(row, expected, atol=1e-15)


def test_iteration_gives_the_transitions_in_order():
    episode = Episode([3, 4, 5], [0, 1, 0], [0.5, 1.5], ended=True)
    assert [tuple(step) for step in episode] == [(3, 0, 0.5, 4, 1, False), (4, 1, 1.5, 5, 0, True)]


def test_an_episode_is_drawn_by_inverting_distributions_one_after_the_other():
    """Each index is the first whose cumulative probability exceeds a uniform number, by a search of our own."""
    rng = np.random.default_rng(12)
    transitions = rng.dirichlet(np.full(4, 0.5), size=(4, 3))
    transitions[3] = np.eye(4)[3]
    mdp = FiniteMDP(
        transitions, np.vstack([rng.random((3, 3)), np.zeros((1, 3))]), 0.9, terminal=[3]
    )
    policy, start = rng.dirichlet(np.ones(3), size=4), [0.2, 0.5, 0.3, 0.0]

    def first(law, uniform):
        total = 0.0
        for index, probability in enumerate(law):
            total += probability
            if uniform < total:
                return index
        raise AssertionError("the probabilities do not add up")

    for seed in range(30):
        episode = sample_episode(mdp, policy, start, np.random.default_rng(seed), max_steps=12)
        uniforms = iter(np.random.default_rng(seed).random(40))
        states = [first(start, next(uniforms))]
        actions, rewards = [first(policy[states[0]], next(uniforms))], []
        while len(rewards) < 12 and states[-1] != 3:
            rewards.append(mdp.rewards[states[-1], actions[-1]])
            states.append(first(transitions[states[-1], actions[-1]], next(uniforms)))
            actions.append(first(policy[states[-1]], next(uniforms)))
        assert (episode.states.tolist(), episode.actions.tolist()) == (states, actions)
        assert (episode.rewards.tolist(), episode.ended) == (rewards, states[-1] == 3)


def test_a_number_on_the_border_of_two_intervals_belongs_to_the_upper():
    class Half(np.random.Generator):
        def random(self):
            return 0.5

    FiniteMDP([[[0.0, 1.0]], [[0.0, 1.0]]], [[2.0], [0.0]], 1.0, terminal=[1])
    twice = FiniteMDP(
        np.eye(4)[[[1, 1], [1, 1], [1, 1], [3, 3]]], np.zeros((4, 2)), 1.0, terminal=[3]
    )
    drawn = sample_episode(
        twice, np.full((4, 2), 0.5), [0.5, 0.0, 0.5, 0.0], Half(np.random.PCG64(0)), max_steps=1
    )
    assert (drawn.states.tolist(), drawn.actions.tolist()) == ([2, 1], [1, 1])
