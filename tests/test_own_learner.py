"""A learner of one's own in `play`: it is told what happened, in order, and nothing else is asked of it."""

import gymnasium
import numpy as np
import pytest

from gqlib.control.gym import play
from gqlib.control.vector import play_side_by_side


class Corridor(gymnasium.Env):
    """Three steps to the end; the reward is the number of the step, and `cut` cuts episodes instead of ending them."""

    observation_space = gymnasium.spaces.Box(0.0, 9.0, (1,))
    action_space = gymnasium.spaces.Discrete(5)

    def __init__(self, *, cut=False):
        self.cut, self.done = cut, []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return np.zeros(1, dtype=np.float32), {}

    def step(self, action):
        self.done.append(int(action))
        self.place += 1
        over = self.place == 3
        return np.full(1, self.place, dtype=np.float32), float(self.place), over and not self.cut, over and self.cut, {}


class Own:
    """Takes the actions 0 to 4 in turn, and writes down what it is told."""

    def __init__(self):
        self.asked, self.told = 0, []

    def act(self, state):
        self.asked += 1
        return (self.asked - 1) % 5

    def greedy(self, state):
        return 4

    def learn(self, state, action, reward, next_state, next_action, *, terminated):
        self.told.append((int(state[0]), action, reward, int(next_state[0]), next_action, terminated))

    def end_episode(self):
        self.told.append("end")


def told(ended):
    """Two episodes of three steps: an action is asked for in every state, the last of an episode too."""
    return [
        (0, 0, 1.0, 1, 1, False), (1, 1, 2.0, 2, 2, False), (2, 2, 3.0, 3, 3, ended), "end",
        (0, 4, 1.0, 1, 0, False), (1, 0, 2.0, 2, 1, False), (2, 1, 3.0, 3, 2, ended), "end",
    ]  # fmt: skip


@pytest.mark.parametrize("cut", [False, True])
def test_a_learner_is_told_every_step_in_order(cut):
    env, learner = Corridor(cut=cut), Own()
    played = play(env, learner, episodes=2, seed=0)
    assert learner.told == told(not cut)
    assert env.done == [0, 1, 2, 4, 0, 1]
    assert list(played.lengths) == [3, 3]
    assert list(played.returns) == [6.0, 6.0]


def test_play_without_learning_takes_the_greedy_action_and_teaches_nothing():
    env, learner = Corridor(), Own()
    play(env, learner, episodes=2, seed=0, learn=False)
    assert env.done == [4] * 6
    assert learner.told == []
    assert learner.asked == 0


@pytest.mark.parametrize("cut", [False, True])
def test_learners_side_by_side_are_told_the_same_each(cut):
    mode = gymnasium.vector.AutoresetMode.SAME_STEP
    envs = gymnasium.vector.SyncVectorEnv([lambda: Corridor(cut=cut)] * 2, autoreset_mode=mode)
    learners = [Own(), Own()]
    logs = play_side_by_side(envs, learners, 2, seed=0)
    assert [list(log.lengths) for log in logs] == [[3, 3], [3, 3]]
    assert learners[0].told == learners[1].told == told(not cut)
