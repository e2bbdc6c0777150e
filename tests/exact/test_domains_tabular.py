"""Episodes of finite MDPs, the random walk and the windy gridworld."""

import re

import numpy as np
import pytest

from gqlib import FiniteMDP
from gqlib.domains.episodes import Episode, TabularTask, sample_episode
from gqlib.domains.gridworld import COLUMNS, windy_gridworld
from gqlib.domains.random_walk import LEFT, RIGHT, random_walk


@pytest.mark.parametrize("length", [1, 5, 19])
def test_values_of_the_random_walk_lie_on_a_straight_line(length):
    walk, s, c = random_walk(length), np.arange(1, length + 1), (length + 1) / 2
    pi = walk.uniform_policy()
    np.testing.assert_allclose(walk.mdp.v(pi)[1:-1], (s - c) / c, atol=1e-13)
    np.testing.assert_allclose(walk.mdp.q(pi)[1:-1, LEFT], (s - 1 - c) / c, atol=1e-13)
    np.testing.assert_allclose(walk.mdp.q(pi)[1:-1, RIGHT], (s + 1 - c) / c, atol=1e-13)


def test_random_walk_starts_in_the_middle_and_ends_at_either_end():
    walk, rng = random_walk(), np.random.default_rng(0)
    episodes = [walk.episode(walk.uniform_policy(), rng) for _ in range(200)]
    assert {int(e.states[0]) for e in episodes} == {10}
    assert {int(e.states[-1]) for e in episodes} == {0, 20}
    assert all(e.rewards.sum() == (1 if e.states[-1] == 20 else -1) for e in episodes)
    assert all(np.abs(np.diff(e.states)).max() == 1 for e in episodes)


def test_mean_length_of_the_random_walk_is_100_steps():
    """The expected time from the middle of n + 1 = 20 steps is 10 · 10."""
    walk, rng = random_walk(), np.random.default_rng(1)
    lengths = np.array([len(walk.episode(walk.uniform_policy(), rng)) for _ in range(400)])
    assert abs(lengths.mean() - 100) < 4 * lengths.std(ddof=1) / np.sqrt(len(lengths))


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


def test_sampled_moves_have_the_probabilities_of_the_mdp():
    task, rng = windy_gridworld(), np.random.default_rng(2)
    episode = task.episode(task.uniform_policy(), rng, max_steps=20_000)
    counts = np.zeros(4)
    np.add.at(counts, episode.actions, 1)
    assert np.abs(counts / counts.sum() - 0.25).max() < 4 * np.sqrt(0.25 * 0.75 / counts.sum())
    probabilities = task.mdp.transitions[
        episode.states[:-1], episode.actions[:-1], episode.states[1:]
    ]
    assert (probabilities > 0).all()


def test_an_episode_can_be_cut_and_keeps_the_action_that_would_follow():
    walk, rng = random_walk(), np.random.default_rng(3)
    episode = walk.episode(walk.uniform_policy(), rng, max_steps=3)
    assert len(episode) == 3
    assert not episode.ended
    assert len(episode.actions) == 4
    assert not any(step.ends for step in episode)


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

    mdp = FiniteMDP([[[0.0, 1.0]], [[0.0, 1.0]]], [[2.0], [0.0]], 1.0, terminal=[1])
    twice = FiniteMDP(
        np.eye(4)[[[1, 1], [1, 1], [1, 1], [3, 3]]], np.zeros((4, 2)), 1.0, terminal=[3]
    )
    drawn = sample_episode(
        twice, np.full((4, 2), 0.5), [0.5, 0.0, 0.5, 0.0], Half(np.random.PCG64(0)), max_steps=1
    )
    assert (drawn.states.tolist(), drawn.actions.tolist()) == ([2, 1], [1, 1])
    for limit in (0, 1.5):
        with pytest.raises(ValueError, match=rf"^max_steps is {limit}; "):
            sample_episode(
                mdp, [[1.0], [1.0]], [1.0, 0.0], np.random.default_rng(0), max_steps=limit
            )


def test_an_episode_keeps_arrays_that_cannot_be_written_and_names_what_is_wrong():
    given = {"states": [0, 1, 2], "actions": [1, 1, 0], "rewards": [0.5, 1.0], "ended": True}
    episode = Episode(**given)
    for name in ("states", "actions", "rewards"):
        kept = getattr(episode, name)
        assert kept.tolist() == given[name]
        assert kept.dtype == (np.float64 if name == "rewards" else np.intp)
        assert not kept.flags.writeable
    for name in ("states", "actions"):
        for wrong in ([0.5, 1.0, 2.0], [-1, 0, 1], [True, False, True]):
            told = rf"^{name} is {re.escape(repr(wrong))}; it should hold whole numbers from 0$"
            with pytest.raises(ValueError, match=told):
                Episode(**given | {name: wrong})
    with pytest.raises(ValueError, match=r"^ended is 1; "):
        Episode(**given | {"ended": 1})


def test_same_generator_same_episode():
    walk = random_walk()
    one, two = (walk.episode(walk.uniform_policy(), np.random.default_rng(4)) for _ in range(2))
    assert (one.states == two.states).all()
    assert (one.actions == two.actions).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: random_walk(4), "length is 4; it should be odd"),
        (lambda: random_walk(0), "length is 0; it should be at least 1"),
        (lambda: random_walk(-3), "length is -3; it should be at least 1"),
        (lambda: random_walk(2.5), "length is 2.5"),
        (lambda: random_walk(5, gamma=1.1), "gamma is 1.1"),
        (lambda: windy_gridworld(astray=1.5), "astray is 1.5"),
        (lambda: windy_gridworld(astray=np.nan), "astray is nan"),
        (lambda: Episode([0, 1], [0, 1], [1.0, 2.0], True), "states has shape"),
        (lambda: Episode([0, 1], [0], [1.0], True), "actions has shape"),
        (lambda: Episode([0, -1], [0, 0], [1.0], True), "states is"),
        (lambda: Episode([0, 1], [0, 0.5], [1.0], True), "actions is"),
        (lambda: Episode([0, 1], [0, 0], [np.nan], True), "rewards is nan"),
        (lambda: Episode([0], [0], [], True), "rewards has shape"),
    ],
)
def test_bad_input_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_task_keeps_its_own_start_law_and_never_starts_at_an_end():
    mdp, start = (
        FiniteMDP([[[0.0, 1.0]], [[0.0, 0.0]]], [[2.0], [0.0]], 1.0, terminal=[1]),
        [1.0, 0.0],
    )
    task = TabularTask(mdp, start)
    start[0] = 7.0
    assert task.start.tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        task.start[0] = 0.5
    with pytest.raises(
        ValueError, match=r"^start is \[0, 1\]; it should give no weight to a terminal state"
    ):
        TabularTask(mdp, [0, 1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy": [[1.0, 0.0]]}, "policy has shape"),
        ({"start": [0.5, 0.4, 0.0]}, "start sums to 0.9"),
        ({"start": [0.0, 0.0, 1.0]}, "no weight to a terminal state"),
        ({"rng": 7}, "rng is 7"),
        ({"max_steps": 0}, "max_steps is 0"),
    ],
)
def test_sampling_refuses_bad_input_by_name(changes, message):
    mdp = FiniteMDP(np.eye(3)[[[1, 2], [0, 2], [2, 2]]], np.zeros((3, 2)), 1.0, terminal=[2])
    good = {
        "policy": np.full((3, 2), 0.5),
        "start": [1.0, 0.0, 0.0],
        "rng": np.random.default_rng(0),
        "max_steps": 9,
    }
    arguments = good | changes
    with pytest.raises(ValueError, match=message):
        sample_episode(
            mdp,
            arguments["policy"],
            arguments["start"],
            arguments["rng"],
            max_steps=arguments["max_steps"],
        )
