"""Agents side by side, call by call: what each is asked and told, in both ways of starting an episode."""

import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from gqlib.control.gym import play
from gqlib.control.vector import play_side_by_side

MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]


class Counting(gymnasium.Env):
    """Counts on by the action; episodes have so many steps, and every third is cut off."""

    observation_space = gymnasium.spaces.Box(-1.0, 1e9, (1,), dtype=np.float64)
    action_space = gymnasium.spaces.Discrete(50)

    def __init__(self, lengths, wrong_at=None):
        self.lengths, self.wrong_at = lengths, wrong_at
        self.episode, self.total, self.seeds = -1, 0, []

    def seen(self):
        return np.array([float(self.total)])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.episode += 1
        self.steps, self.total = 0, 1000 * (self.episode + 1)
        return self.seen(), {}

    def step(self, action):
        self.steps += 1
        self.total += int(action)
        over = self.steps == self.lengths[self.episode % len(self.lengths)]
        cut = over and self.episode % 3 == 2
        reward = float("nan") if (self.episode, self.steps) == self.wrong_at else float(action)
        return self.seen(), reward, over and not cut, cut, {}


class Scripted:
    """Takes the next of its numbers, and notes every call."""

    def __init__(self, first):
        self.next, self.calls = first, []

    def act(self, state):
        self.next += 1
        return self.next % 50

    def greedy(self, state):
        self.calls.append(("greedy", float(state[0])))
        return 7

    def learn(self, state, action, reward, reached, following, *, terminated):
        assert type(reward) is float
        assert type(terminated) is bool
        self.calls.append((float(state[0]), action, reward, float(reached[0]), following, terminated))

    def end_episode(self):
        self.calls.append("end")


LENGTHS = [[2, 1, 3], [4, 1, 2, 5]]


def vectorised(mode, lengths=LENGTHS, **options):
    return SyncVectorEnv([lambda one=one: Counting(one, **options) for one in lengths], autoreset_mode=mode)


def alone(number, episodes, learn=True):
    agent = Scripted(10 * number)
    played = play(Counting(LENGTHS[number]), agent, episodes, seed=5 + number, learn=learn)
    return played, agent.calls


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_each_agent_is_asked_and_told_what_it_would_be_alone(mode, learn):
    envs, agents = vectorised(mode), [Scripted(0), Scripted(10)]
    both = play_side_by_side(envs, agents, 4, seed=5, learn=learn)
    assert [env.seeds[0] for env in envs.envs] == [5, 6]
    for number, (together, agent) in enumerate(zip(both, agents, strict=True)):
        played, calls = alone(number, 4, learn)
        assert together.returns.tolist() == played.returns.tolist()
        assert together.lengths.tolist() == played.lengths.tolist()
        assert together.truncated.tolist() == played.truncated.tolist() == [False, False, True, False]
        assert agent.calls == calls
        assert {call[0] == "greedy" for call in calls} == {not learn}
        assert learn or agent.next == 10 * number


@pytest.mark.parametrize("mode", MODES)
def test_by_hand_one_step_episodes(mode):
    agents = [Scripted(0)]
    (played,) = play_side_by_side(vectorised(mode, [[1]]), agents, 2, seed=0)
    # first action 1: from 1000 to 1001, where 2 would follow; the next episode begins at 2000 with 3
    assert agents[0].calls == [(1000.0, 1, 1.0, 1001.0, 2, True), "end", (2000.0, 3, 3.0, 2003.0, 4, True), "end"]
    assert (played.returns.tolist(), played.lengths.tolist()) == ([1.0, 3.0], [1, 1])


@pytest.mark.parametrize("mode", MODES)
def test_one_that_is_done_waits_for_the_others(mode):
    agents = [Scripted(0), Scripted(10)]
    short, long = play_side_by_side(vectorised(mode, [[1], [6]]), agents, 2, seed=0)
    assert (short.lengths.tolist(), long.lengths.tolist()) == ([1, 1], [6, 6])
    assert agents[0].next == 4
    assert len(agents[0].calls) == 4
    assert len(agents[1].calls) == 14


@pytest.mark.parametrize("mode", MODES)
def test_a_reward_that_is_no_number_is_refused_where_it_comes(mode):
    envs = vectorised(mode, [[3]], wrong_at=(1, 2))
    told = r"returned the reward nan in episode 1 \(from 0\), after 2 steps; it should be finite"
    with pytest.raises(ValueError, match=told):
        play_side_by_side(envs, [Scripted(0)], 3, seed=0)


def test_what_cannot_be_played_is_refused_by_name():
    envs, one, other = vectorised(MODES[0]), Scripted(0), Scripted(1)
    for wrong in ([one], [one, one], [one, other, Scripted(2)], iter([one, other])):
        with pytest.raises(ValueError, match=r"^agents is .*; it should hold 2 different agents$"):
            play_side_by_side(envs, wrong, 1, seed=0)
    for missing in ("act", "learn", "end_episode", "greedy"):
        lacking = type(
            "Lacking", (), {name: None for name in ("act", "learn", "end_episode", "greedy") if name != missing}
        )
        with pytest.raises(ValueError, match=r"^agent is .*; it should have act, learn, end_episode, greedy, as an"):
            play_side_by_side(envs, [one, lacking()], 1, seed=0)
    with pytest.raises(ValueError, match=r"^envs is "):
        play_side_by_side(Counting([1]), [one], 1, seed=0)
    for name, wrong in (("seed", -1), ("seed", 0.5), ("learn", 3)):
        with pytest.raises(ValueError, match=f"^{name} is {wrong}; "):
            play_side_by_side(envs, [one, other], 1, **{"seed": 0, name: wrong})
    for wrong in (0, 1.5, 10**15):
        with pytest.raises(ValueError, match=r"^episodes is "):
            play_side_by_side(envs, [one, other], wrong, seed=0)
    with pytest.raises(
        ValueError, match=r"^envs has autoreset mode .*; it should start episodes in the next step or the"
    ):
        play_side_by_side(vectorised(AutoresetMode.DISABLED), [one, other], 1, seed=0)


def test_without_a_mode_episodes_start_in_the_next_step():
    envs = vectorised(AutoresetMode.NEXT_STEP, [[2, 1]])
    envs.metadata = {}
    agents = [Scripted(0)]
    play_side_by_side(envs, agents, 2, seed=0)
    assert agents[0].calls[3][:2] == (2000.0, 4)


def test_without_gymnasium_it_says_what_to_install(monkeypatch):
    for name in ("gymnasium.vector", "gymnasium.vector.utils", "gymnasium"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"gymnasium.*gqlib\[gym\]"):
        play_side_by_side(None, [], 1, seed=0)


@pytest.mark.parametrize("mode", MODES)
def test_a_last_state_that_is_no_number_is_the_environments_error(mode):
    """Where episodes start in the same step, it comes with the first state of the next one, in `info`."""

    class Lost(Counting):
        def step(self, action):
            state, *rest = super().step(action)
            return (state * np.nan if rest[1] else state), *rest

    envs = SyncVectorEnv([lambda: Lost([3])], autoreset_mode=mode)
    told = r"returned the state array\(\[nan.+ in episode 0 \(from 0\), after 3 steps; it should be finite"
    with pytest.raises(ValueError, match=told):
        play_side_by_side(envs, [Scripted(0)], 2, seed=0)
