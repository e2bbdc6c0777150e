"""A learner of one's own in `play`: it is told what happened, in order, and nothing else is asked of it.

And what is refused on the way, in which words: environments, learners, policies and settings.
"""

import re
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from gqlib import seeds
from gqlib._objects import html_table
from gqlib._validate import Diverged
from gqlib.control.agent import Agent, TableCoder
from gqlib.control.gym import (
    DivergedPlay,
    GymSetting,
    Interrupted,
    Played,
    evaluate,
    features_of,
    gym_runs,
    play,
    tile_coder,
)  # fmt: skip
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
        return (
            np.full(1, self.place, dtype=np.float32),
            float(self.place),
            over and not self.cut,
            over and self.cut,
            {},
        )


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
        self.told.append(
            (int(state[0]), action, reward, int(next_state[0]), next_action, terminated)
        )

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


# what is refused


class Has:
    """An object with these attributes and nothing else, shown by a short name."""

    def __init__(self, **has):
        vars(self).update(has)

    def __repr__(self):
        return "<has>"


def space(seen, actions=None):
    return Has(observation_space=seen, action_space=actions or spaces.Discrete(2))


def bounded(low, high):
    return spaces.Box(np.array(low), np.array(high), dtype=np.float64)


def returning(first=(0.0, {}), then=(0.0, 1.0, True, False, {})):
    return Has(reset=lambda seed=None: first, step=lambda action: then)


def run(env, policy=lambda state: 0):
    return evaluate(env, None, 1, seed=0, policy=policy)


FLAT = "(gymnasium.wrappers.FlattenObservation makes one Box of many parts)"
A_STEP = "five things as gymnasium.Env.step does: state, reward (a number), terminated and truncated (True or False), "
A_STEP += "and a dict"
A_RESET = "it should return the first state and a dict, as gymnasium.Env.reset does"
ROOM = "it should be smaller, so that arrays hold at most 2147483648 numbers"
CART = "CartPole-v1"
REFUSED = [
    (lambda: tile_coder(space(spaces.Discrete(3))),
     f"env has observations Discrete(3); they should be a Box with one dimension {FLAT}"),
    (lambda: tile_coder(space(spaces.Box(0.0, 1.0, (2, 2)))),
     f"env has observations Box(0.0, 1.0, (2, 2), float32); they should be a Box with one dimension {FLAT}"),
    (lambda: tile_coder(space(bounded([-np.inf], [1.0]))),
     "env has an infinite low array([-inf]); low should be given, and finite"),
    (lambda: tile_coder(space(bounded([0.0], [1.1e30]))),
     "env has an infinite high array([1.1e+30]); high should be given, and finite"),
    (lambda: tile_coder(space(bounded([0.0], [1.0])), low=[-1.1e30]),
     "low is [-1.1e+30]; every entry should be finite, at most 1e30 in size"),
    (lambda: tile_coder(space(bounded([0.0, 0.0], [1.0, 1.0])), high=[1.0, np.inf]),
     "high is [1.0, inf]; every entry should be finite, at most 1e30 in size"),
    (lambda: tile_coder(space(bounded([0.0], [1.0])), low="a"), "low is 'a'; it should be an array of real numbers"),
    (lambda: tile_coder(space(bounded([0.0], [1.0])), high="a"), "high is 'a'; it should be an array of real numbers"),
    (lambda: tile_coder(space(bounded([0.0], [1.0]), bounded([0.0], [1.0]))),
     "env has actions Box(0.0, 1.0, (1,), float64); they should be Discrete from 0 on"),
    (lambda: features_of(space(spaces.Discrete(2), spaces.Discrete(2, start=1))),
     "env has actions Discrete(2, start=1); they should be Discrete from 0 on"),
    (lambda: features_of(Has()), "env has actions None; they should be Discrete from 0 on"),
    (lambda: features_of(space(spaces.Discrete(3)), size=3, tilings=2),
     "options are size, tilings; features of Discrete(3) should have none"),
    (lambda: features_of(space(spaces.Text(3, charset="a"))),
     f"env has observations {spaces.Text(3, charset='a')!r}; "
     f"they should be a Box with one dimension or numbers that count {FLAT}"),
    (lambda: features_of(space(spaces.Tuple(()))),
     f"env has observations Tuple(); they should be a Box with one dimension or numbers that count {FLAT}"),
    (lambda: features_of(space(spaces.Tuple((spaces.Discrete(2), spaces.MultiBinary(2))))),
     "env has observations Tuple(Discrete(2), MultiBinary(2)); "
     f"they should be a Box with one dimension or numbers that count {FLAT}"),
    (lambda: play(returning(), Own(), 1, seed=0, learn=1), "learn is 1; it should be True or False"),
    *((lambda has=has: play(returning(), Has(**dict.fromkeys(has)), 1, seed=0),
       "agent is <has>; it should have act, learn, end_episode, as an Agent has")
      for has in (("act", "learn"), ("act", "end_episode"), ("learn", "end_episode"))),
    (lambda: play(returning(), Has(act=1, learn=1, end_episode=1), 1, seed=0, learn=False),
     "agent is <has>; it should have greedy, as an Agent has"),
    *((lambda has=has: evaluate(returning(), Has(**dict.fromkeys(has)), 1, seed=0),
       "agent is <has>; it should have greedy, values, rate, as an Agent has")
      for has in (("greedy", "values"), ("greedy", "rate"), ("values", "rate"))),
    (lambda: evaluate(returning(), None, 1, seed=0, policy="epsilon-greedy"),
     "agent is None; it should have greedy, values, rate, as an Agent has"),
    *((lambda env=env: play(env, Own(), 1, seed=0),
       "env is <has>; it should have reset and step, like a gymnasium.Env") for env in (Has(reset=1), Has(step=1))),
    (lambda: run(Has(reset=1)), "env is <has>; it should have reset and step, like a gymnasium.Env"),
    (lambda: play(Has(reset=1, step=1, single_action_space=1), Own(), 1, seed=0),
     "env is <has>; it should be one environment (gqlib.control.vector.play_side_by_side takes many)"),
    (lambda: play(returning(), Own(), 1, seed=-1), "seed is -1; it should be at least 0"),
    (lambda: evaluate(returning(), None, 1, seed=-1, policy="softmax"), "seed is -1; it should be at least 0"),
    (lambda: evaluate(returning(), None, 1, seed=0, policy="softmax"),
     "policy is 'softmax'; it should be one of 'greedy', 'epsilon-greedy', 'random'"),
    (lambda: evaluate(returning(), Own(), 0, seed=0, policy=abs), "episodes is 0; it should be at least 1"),
    (lambda: play(returning(), Own(), seed=0),
     "episodes is None, and so is steps; one of them should say when to stop"),
    (lambda: play(returning(), Own(), steps=0, seed=0), "steps is 0; it should be at least 1"),
    (lambda: play(returning(), Own(), 1, seed=0, callback=3), "callback is 3; it should be a function"),
    (lambda: play(returning(), Own(), 1, seed=0, progress=1), "progress is 1; it should be True or False"),
    (lambda: evaluate(returning(), None, 1, seed=0, policy=abs, progress=1),
     "progress is 1; it should be True or False"),
    (lambda: run(Corridor(), lambda state: 5), "what policy returns is 5; it should be from 0 to 4"),
    (lambda: run(Corridor(), lambda state: -1), "what policy returns is -1; it should be from 0 to 4"),
    (lambda: run(returning(), lambda state: -1), "what policy returns is -1; it should be at least 0"),
    (lambda: run(returning(), lambda state: 0.5), "what policy returns is 0.5; it should be a whole number"),
    (lambda: run(returning([1, {}])), f"env.reset returned [1, {{}}]; {A_RESET}"),
    (lambda: run(returning((1, {}, 2))), f"env.reset returned (1, {{}}, 2); {A_RESET}"),
    (lambda: run(returning((1,))), f"env.reset returned (1,); {A_RESET}"),
    (lambda: run(returning((1, 2))), f"env.reset returned (1, 2); {A_RESET}"),
    (lambda: run(returning(then=(1, 2, 3, 4))), f"env.step returned (1, 2, 3, 4); it should return {A_STEP}"),
    (lambda: run(returning(then=(1, "a", True, False, {}))),
     f"env.step returned (1, 'a', True, False, {{}}); it should return {A_STEP}"),
    (lambda: run(returning(then=(1, [2], True, False, {}))),
     f"env.step returned (1, [2], True, False, {{}}); it should return {A_STEP}"),
    (lambda: run(returning(then=None)), f"env.step returned None; it should return {A_STEP}"),
    (lambda: run(returning((np.nan, {}))),
     "env Has returned the state nan in episode 0 (from 0), after 0 steps; it should be finite"),
    (lambda: run(returning(then=(np.inf, 1.0, True, False, {}))),
     "env Has returned the state inf in episode 0 (from 0), after 1 steps; it should be finite"),
    (lambda: run(returning(then=(0, -np.inf, True, False, {}))),
     "env Has returned the reward -inf in episode 0 (from 0), after 1 steps; it should be finite"),
    (lambda: GymSetting(3), "env is 3; it should be a str"),
    (lambda: GymSetting(CART, options={}), "options is {}; it should be a str"),
    (lambda: GymSetting(CART, options="{"), "options is '{'; it should be a JSON object"),
    (lambda: GymSetting(CART, options="[]"), "options is '[]'; it should be a JSON object"),
    *((lambda name=name: GymSetting(CART, **{name: 1.0}), f"{name} is 1.0; it should be a tuple of numbers, or empty")
      for name in ("low", "high")),
    *((lambda name=name: GymSetting(CART, **{name: (0.0, "a")}), f"{name} is 'a'; it should be a real number")
      for name in ("low", "high")),
    (lambda: GymSetting(CART, alpha=0.0), "alpha is 0.0; it should be in (0, inf)"),
    (lambda: GymSetting(CART, eta=-0.1), "eta is -0.1; it should be in [0, inf)"),
    (lambda: GymSetting(CART, target="soft"), "target is 'soft'; it should be one of 'greedy', 'epsilon-greedy'"),
    (lambda: GymSetting(CART, corrected=1), "corrected is 1; it should be True or False"),
    *((lambda name=name: GymSetting(CART, **{name: 0}), f"{name} is 0; it should be at least 1")
      for name in ("tilings", "size", "episodes", "max_steps", "tiles_per_side")),
    *((lambda name=name: GymSetting(CART, **{name: 2**31 + 1}), f"{name} is {2**31 + 1}; {ROOM}")
      for name in ("tilings", "size", "episodes", "max_steps")),
    *((lambda name=name, value=value: GymSetting(CART, **{name: value}), f"{name} is {value}; it should be in [0, 1]")
      for name in ("sigma", "lam", "gamma", "epsilon") for value in (-0.1, 1.1)),
    (lambda: GymSetting(CART, tiles_per_side=(4, 0)), "tiles_per_side is 0; it should be at least 1"),
    (lambda: gym_runs(3, 1, 0, first_run=0), "setting is 3; it should be a GymSetting"),
    (lambda: gym_runs(GymSetting(CART), 0, 0, first_run=0), "runs is 0; it should be at least 1"),
    (lambda: gym_runs(GymSetting(CART), 1, -1, first_run=0), "seed is -1; it should be at least 0"),
    (lambda: gym_runs(GymSetting(CART), 1, 0, first_run=-1), "first_run is -1; it should be at least 0"),
    (lambda: gym_runs(GymSetting(CART, episodes=2**30), 3, 0, first_run=0), f"runs is 3; {ROOM}"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_cannot_be_played_is_refused_in_full_words(number):
    call, told = REFUSED[number]
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        call()


def test_without_gymnasium_it_says_what_to_install(monkeypatch):
    env = Has(reset=1, step=1)
    for name in ("gymnasium", "gymnasium.spaces"):
        monkeypatch.setitem(sys.modules, name, None)
    calls = {
        "corners": lambda: tile_coder(env), "features": lambda: features_of(env),
        "random": lambda: evaluate(env, None, 1, seed=0, policy="random"),
        "runs": lambda: gym_runs(GymSetting(CART), 1, 0, first_run=0),
    }  # fmt: skip
    for call in calls.values():
        with pytest.raises(
            ModuleNotFoundError, match=r"^this needs the package gymnasium: install gqlib\[gym\]$"
        ) as told:
            call()
        assert told.value.name == "gymnasium"


def test_settings_take_what_lies_at_their_ends():
    for name in ("sigma", "lam", "gamma", "epsilon"):
        for value in (0.0, 1.0):
            assert getattr(GymSetting(CART, **{name: value}), name) == value
    for name in ("tilings", "size", "episodes", "max_steps", "tiles_per_side"):
        assert getattr(GymSetting(CART, **{name: np.int64(1)}), name) == 1
        assert type(getattr(GymSetting(CART, **{name: np.int64(1)}), name)) is int
    setting = GymSetting(
        CART, low=[0, 1], high=[np.float32(2.0), 3], tiles_per_side=[4, 5], eta=0, alpha=1
    )
    assert (setting.low, setting.high, setting.tiles_per_side) == ((0.0, 1.0), (2.0, 3.0), (4, 5))
    assert [
        type(number) for number in (*setting.low, *setting.high, setting.eta, setting.alpha)
    ] == [float] * 6
    assert GymSetting(CART).imported == ()
    assert GymSetting("a:b").imported == ("a:b",)


# features


def test_corners_are_those_of_the_environment_unless_given():
    env = space(bounded([-1.0, -2.0], [1.0, 1e30]), spaces.Discrete(3))
    assert tile_coder(env, low=[-3.0, 0.0]).low.tolist() == [-3.0, 0.0]
    coder = tile_coder(env, tilings=4, tiles_per_side=[2, 3], size=64)
    assert (coder.low.tolist(), coder.high.tolist(), coder.actions) == (
        [-1.0, -2.0],
        [1.0, 1e30],
        3,
    )
    assert (coder.tilings, coder.tiles_per_side.tolist(), coder.size) == (4, [2.0, 3.0], 64)
    assert features_of(env, high=[2.0, 3.0]).high.tolist() == [2.0, 3.0]
    many = Has(single_observation_space=spaces.Discrete(4, start=2), single_action_space=spaces.Discrete(5),
               observation_space=None, action_space=None)  # fmt: skip
    table = features_of(many)
    assert (table.sizes, table.actions, table.first) == ((4,), 5, (2,))


# what is played


def test_nothing_played_has_the_types_of_something_played():
    for episodes in (0, 2):
        played = play(Corridor(), Own(), steps=1 + 3 * episodes, seed=0)
        assert [array.dtype for array in (played.returns, played.lengths, played.truncated)] == [
            float,
            np.int64,
            bool,
        ]
        assert len(played.returns) == len(played.lengths) == len(played.truncated) == episodes


def test_what_was_played_is_shown_in_full():
    played = Played(np.array([1.0, 2.0, 6.0]), np.array([3, 4, 5]), np.array([True, False, False]))
    rows = [
        ("episodes", 3),
        ("mean return", 3),
        ("its 95% interval", "-3.572 to 9.572"),
        ("mean length", 4),
        ("cut off", 1),
    ]
    assert played._repr_html_() == html_table("Played", rows)
    nothing = Played(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool))
    assert nothing._repr_html_() == html_table("Played", [("episodes", 0), ("cut off", 0)])


class Noting(Corridor):
    """A corridor that notes the seeds of its resets."""

    def __init__(self, **options):
        super().__init__(**options)
        self.seeds = []

    def reset(self, *, seed=None, options=None):
        self.seeds.append(seed)
        return super().reset(seed=seed)


class Valued:
    """Values that make the last of five actions greedy, and an ε."""

    def values(self, state):
        return np.arange(5.0)

    def greedy(self, state):
        return 4

    def rate(self, name):
        return {"epsilon": 0.6}[name]


def test_a_fixed_policy_draws_its_own_numbers_and_no_more_than_it_needs():
    def drawn():
        return np.random.default_rng(np.random.SeedSequence(7, spawn_key=(seeds.GYM_EXPLORATION,)))

    env, rng = Noting(), drawn()
    evaluate(env, None, 2, seed=7, policy="random")
    asked = [int(rng.random() * 5) for _ in range(8)]  # in every state, the last of an episode too
    assert env.done == asked[:3] + asked[4:7]
    assert env.seeds == [7, None]
    env, rng = Noting(), drawn()
    evaluate(env, Valued(), 12, seed=7, policy="epsilon-greedy")
    pairs = [rng.random(2) for _ in range(48)]
    asked = [int(5 * which) if explore < 0.6 else 4 for explore, which in pairs]
    assert env.done == [action for number, action in enumerate(asked) if number % 4 != 3]
    assert 0 in env.done
    env = Noting()
    evaluate(env, Valued(), 2, seed=7)
    assert env.done == [4] * 6
    own = iter([3, 1, 0, 2, 4, 3, 2, 0])
    evaluate(env, None, 2, seed=np.int64(7), policy=lambda state: next(own))
    assert env.done[6:] == [3, 1, 0, 4, 3, 2]


def test_a_callback_is_told_number_return_and_length_of_each_episode():
    told = []
    env = Noting(cut=True)
    played = play(
        env, Own(), 5, seed=3, callback=lambda *episode: told.append(episode) or len(told) == 2
    )
    assert told == [(0, 6.0, 3), (1, 6.0, 3)]
    assert (played.truncated.tolist(), env.seeds) == ([True, True], [3, None])


@pytest.mark.parametrize(("unit", "count"), [("episodes", 2), ("steps", 7)])
def test_a_bar_counts_what_is_the_sooner_to_end(capsys, unit, count):
    play(Corridor(), Own(), **{unit: count}, seed=0, progress=True)
    assert re.search(rf"\rplay: 100%\|.* {count}/{count} \[.* {unit}/s\]", capsys.readouterr().err)
    evaluate(Corridor(), None, 2, seed=0, policy=lambda state: 0, progress=True)
    assert re.search(r"\rplay: 100%\|.* 2/2 \[.* episodes/s\]", capsys.readouterr().err)
    play(Corridor(), Own(), 2, steps=99, seed=0, progress=True)
    assert "2/2 [" in capsys.readouterr().err


class Breaks(Corridor):
    """Raises an error in the step with this number."""

    def __init__(self, error, at):
        super().__init__()
        self.error, self.at = error, at

    def step(self, action):
        if len(self.done) + 1 == self.at:
            raise self.error
        return super().step(action)


@pytest.mark.parametrize(("at", "told"), [(2, "0 episodes"), (5, "1 episode"), (8, "2 episodes")])
def test_whatever_ends_a_play_comes_with_the_episodes_before_it(at, told):
    cause, learner = KeyboardInterrupt(), Own()
    with pytest.raises(
        Interrupted, match=f"^{told} finished; they are in the exception's `played`$"
    ) as ended:
        play(Breaks(cause, at), learner, 9, seed=0)
    assert ended.value.__cause__ is cause
    assert ended.value.played.returns.tolist() == [6.0] * (at // 3)
    assert learner.told[-1] == "end"
    assert learner.told.count("end") == at // 3 + 1
    with pytest.raises(DivergedPlay, match=r"^too large$") as ended:
        play(Breaks(Diverged("too large"), at), Own(), 9, seed=0)
    assert ended.value.played.lengths.tolist() == [3] * (at // 3)
    cause = OSError("no more")
    with pytest.raises(OSError, match=r"^no more$") as ended:
        play(Breaks(cause, at), Own(), 9, seed=0)
    assert ended.value is cause
    assert ended.value.played.truncated.tolist() == [False] * (at // 3)


def test_an_environment_is_told_by_its_name_with_the_place_of_the_error():
    class Odd(Corridor):
        def step(self, action):
            state, reward, ended, cut, info = super().step(action)
            return state * (np.nan if len(self.done) == 5 else 1.0), reward, ended, cut, info

    env = Odd()
    for agent in (Own(), Agent(features_of(env), np.random.default_rng(0))):
        for spec, name in ((None, "Odd"), (Has(id="Odd-v7"), "Odd-v7"), (Has(), "Odd")):
            env.spec, env.done = spec, []
            told = rf"^env {name} returned the state array\(\[nan\].*\) in episode 1 \(from 0\), after 2 steps; it"
            with pytest.raises(ValueError, match=f"{told} should be finite$") as ended:
                play(env, agent, 3, seed=0)
            assert ended.value.played.returns.tolist() == [6.0]
            told = "state is nan at (0,); every entry should be finite"  # the words of a coder, which looks first
            assert str(ended.value.__cause__) == ("None" if isinstance(agent, Own) else told)


@pytest.mark.parametrize("alpha", [0.1, 1e30])
def test_runs_are_those_of_agents_made_by_hand_and_diverged_ones_are_marked(alpha):
    setting = GymSetting("CliffWalking-v1", options='{"is_slippery": true}', alpha=alpha, epsilon=1.0, sigma=0.5,
                         episodes=40, max_steps=9, corrected=True, target="greedy")  # fmt: skip
    out = gym_runs(setting, 2, 5, first_run=3)
    assert out["diverged"].tolist() == [alpha > 1.0] * 2
    assert {name: array.dtype.kind for name, array in out.items()} == {
        "returns": "f", "lengths": "i", "truncated": "b", "theta_norm": "f", "diverged": "b"
    }  # fmt: skip
    for row, number in enumerate((3, 4)):
        env = gymnasium.make("CliffWalking-v1", is_slippery=True, max_episode_steps=9)
        agent = Agent(TableCoder(48, 4), seeds.generator(5, number, seeds.GYM_EXPLORATION), alpha=alpha, epsilon=1.0,
                      sigma=0.5, corrected=True, target="greedy")  # fmt: skip
        begin = int(seeds.sequence(5, number, seeds.GYM_ENVIRONMENT).generate_state(1)[0])
        try:
            played, norm = play(env, agent, 40, seed=begin), None
        except DivergedPlay as error:
            played, norm = error.played, np.inf
        count = len(played.returns)
        assert out["diverged"][row] == (norm == np.inf) == (count < 40)
        assert out["theta_norm"][row] == (norm or np.linalg.norm(agent.theta))
        np.testing.assert_array_equal(
            out["returns"][row], [*played.returns, *[np.nan] * (40 - count)]
        )
        np.testing.assert_array_equal(out["lengths"][row], [*played.lengths, *[0] * (40 - count)])
        np.testing.assert_array_equal(
            out["truncated"][row], [*played.truncated, *[False] * (40 - count)]
        )
