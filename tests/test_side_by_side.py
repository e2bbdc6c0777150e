"""Agents side by side, call by call: what each is asked and told, in both ways of starting an episode."""

import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from gqlib._validate import Diverged
from gqlib.control.agent import Agent, TileCoder
from gqlib.control.gym import DivergedPlay, Interrupted, play
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
        self.calls.append(
            (float(state[0]), action, reward, float(reached[0]), following, terminated)
        )

    def end_episode(self):
        self.calls.append("end")


LENGTHS = [[2, 1, 3], [4, 1, 2, 5]]


def vectorised(mode, lengths=LENGTHS, **options):
    return SyncVectorEnv(
        [lambda one=one: Counting(one, **options) for one in lengths], autoreset_mode=mode
    )


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
        assert (
            together.truncated.tolist() == played.truncated.tolist() == [False, False, True, False]
        )
        assert agent.calls == calls
        assert {call[0] == "greedy" for call in calls} == {not learn}
        assert learn or agent.next == 10 * number


@pytest.mark.parametrize("mode", MODES)
def test_by_hand_one_step_episodes(mode):
    agents = [Scripted(0)]
    (played,) = play_side_by_side(vectorised(mode, [[1]]), agents, 2, seed=0)
    # first action 1: from 1000 to 1001, where 2 would follow; the next episode begins at 2000 with 3
    assert agents[0].calls == [
        (1000.0, 1, 1.0, 1001.0, 2, True),
        "end",
        (2000.0, 3, 3.0, 2003.0, 4, True),
        "end",
    ]
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
    told = r"^env SyncVectorEnv returned the reward nan in episode 1 \(from 0\), after 2 steps; it should be finite"
    with pytest.raises(ValueError, match=told) as caught:
        play_side_by_side(envs, [Scripted(0)], 3, seed=0)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("mode", MODES)
def test_a_state_that_is_no_number_is_refused_where_it_comes(mode):
    class Lost(Counting):
        def seen(self):
            return np.array([np.nan if self.total == 1003 else float(self.total)])

    envs = SyncVectorEnv([lambda: Lost([3])], autoreset_mode=mode)
    told = r"^env SyncVectorEnv returned the state array\(\[nan\]\) in episode 0 \(from 0\), after 2 steps; it should"
    with pytest.raises(ValueError, match=told):
        play_side_by_side(envs, [Scripted(0)], 3, seed=0)


@pytest.mark.parametrize(
    ("stop", "kind"), [(KeyboardInterrupt, Interrupted), (Diverged, DivergedPlay)]
)
def test_what_is_raised_instead_of_an_error_tells_it(stop, kind):
    class Stops(Scripted):
        def learn(self, *given, **more):
            raise stop("here")

    with pytest.raises(kind) as caught:
        play_side_by_side(vectorised(MODES[0], [[3]]), [Stops(0)], 2, seed=0)
    assert type(caught.value.__cause__) is stop
    assert [played.lengths.tolist() for played in caught.value.played] == [[]]


@pytest.mark.parametrize("mode", MODES)
def test_agents_that_diverge_stop_and_the_others_play_on(mode):
    """The second agent in its third step, in its second episode, and the third in its first step, but it is first."""

    class Diverges(Scripted):
        def __init__(self, first, after):
            super().__init__(first)
            self.after = after

        def learn(self, *given, **more):
            if len([call for call in self.calls if call != "end"]) == self.after:
                raise Diverged(f"theta after {self.after}")
            super().learn(*given, **more)

    agents = [Scripted(0), Diverges(10, 2), Diverges(20, 0)]
    envs = vectorised(mode, [LENGTHS[0], [2, 4], [3]])
    told = r"^2 of 3 agents diverged; agent 2 \(from 0\) first: theta after 0$"
    with pytest.raises(DivergedPlay, match=told) as caught:
        play_side_by_side(envs, agents, 4, seed=5)
    assert str(caught.value.__cause__) == "theta after 0"
    whole, calls = alone(0, 4)
    assert (caught.value.played[0], agents[0].calls) == (whole, calls)
    assert [played.lengths.tolist() for played in caught.value.played[1:]] == [[2], []]
    assert [agent.calls[-1] for agent in agents] == ["end"] * 3
    assert [agent.calls.count("end") for agent in agents] == [4, 2, 1]


@pytest.mark.parametrize("mode", MODES)
def test_an_episode_that_ends_and_is_cut_off_at_once_has_ended(mode):
    class Both(Counting):
        def step(self, action):
            seen, reward, ended, cut, info = super().step(action)
            return seen, reward, ended or cut, ended or cut, info

    agents = [Scripted(0)]
    (played,) = play_side_by_side(
        SyncVectorEnv([lambda: Both([2])], autoreset_mode=mode), agents, 3, seed=0
    )
    assert played.truncated.tolist() == [False, False, False]
    assert [call[-1] for call in agents[0].calls if call != "end"] == [False, True] * 3


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize(
    ("mode", "episodes", "short", "middle"),
    [(MODES[0], 3, "LELE", "LLEE"), (MODES[1], 2, "LELE", "LLELE")],
)
def test_a_run_that_is_stopped_ends_the_episodes_that_had_begun_and_keeps_the_others(
    mode, episodes, short, middle, learn
):
    """The third agent stops it at the third step: the first is between episodes or done, the second within one."""

    class Stops(Scripted):
        def stop(self):
            if len(self.calls) == 2 + (not learn):
                raise RuntimeError("stop")

        def learn(self, *given, **more):
            self.stop()
            super().learn(*given, **more)

        def greedy(self, state):
            self.stop()
            return super().greedy(state)

    agents = [Scripted(0), Scripted(10), Stops(20)]
    with pytest.raises(RuntimeError, match=r"^stop$") as caught:
        play_side_by_side(vectorised(mode, [[1], [2], [6]]), agents, episodes, seed=0, learn=learn)
    if learn:
        calls = ["".join("E" if call == "end" else "L" for call in one.calls) for one in agents]
        assert calls == [short, middle, "LLE"]
    else:
        assert "end" not in [call for one in agents for call in one.calls]
    assert [played.lengths.tolist() for played in caught.value.played] == [[1, 1], [2], []]


def test_what_cannot_be_played_is_refused_by_name():
    envs, one, other = vectorised(MODES[0]), Scripted(0), Scripted(1)
    for wrong in ([one], [one, one], [one, other, Scripted(2)], iter([one, other])):
        with pytest.raises(
            ValueError, match=r"^agents is (\[<|<list_it).*; it should hold 2 different agents$"
        ):
            play_side_by_side(envs, wrong, 1, seed=0)
    for missing in ("act", "learn", "end_episode", "greedy"):
        lacking = type(
            "Lacking",
            (),
            {name: None for name in ("act", "learn", "end_episode", "greedy") if name != missing},
        )
        with pytest.raises(
            ValueError, match=r"^agent is .*; it should have act, learn, end_episode, greedy, as an"
        ):
            play_side_by_side(envs, [one, lacking()], 1, seed=0)
    with pytest.raises(ValueError, match=r"^envs is "):
        play_side_by_side(Counting([1]), [one], 1, seed=0)
    for name, wrong in (("seed", -1), ("seed", 0.5), ("learn", 3)):
        with pytest.raises(ValueError, match=f"^{name} is {wrong}; "):
            play_side_by_side(envs, [one, other], 1, **{"seed": 0, name: wrong})
    for wrong in (0, 1.5, 10**15):
        with pytest.raises(ValueError, match=rf"^episodes is {wrong}; "):
            play_side_by_side(envs, [one, other], wrong, seed=0)
    with pytest.raises(
        ValueError,
        match=r"^envs has autoreset mode .*; it should start episodes in the next step or the",
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


@pytest.mark.parametrize("mode", MODES)
def test_environments_may_write_their_states_into_one_array(mode):
    pairs = []
    for copy in (True, False):
        envs = SyncVectorEnv(
            [lambda one=one: Counting(one) for one in LENGTHS], autoreset_mode=mode, copy=copy
        )
        agents = [
            Agent(lambda state: np.eye(50) * (1.0 + state[0] % 7), np.random.default_rng(i))
            for i in range(2)
        ]
        pairs.append(
            (play_side_by_side(envs, agents, 6, seed=5), [agent.theta for agent in agents])
        )
    assert pairs[0][0] == pairs[1][0]
    assert np.all(pairs[0][1])
    np.testing.assert_array_equal(pairs[0][1], pairs[1][1])


def test_agents_have_no_more_actions_than_their_environments():
    agents = [
        Agent(TileCoder([0.0], [1.0], 51, size=64), np.random.default_rng(i)) for i in range(2)
    ]
    with pytest.raises(
        ValueError, match=r"^agent has features for 51 actions; env has 50 of them$"
    ):
        play_side_by_side(vectorised(MODES[0]), agents, 1, seed=0)
