"""The tile coder for boxes, the learner with act and learn, and the adapter for Gymnasium."""

import re
from functools import partial

import numpy as np
import pytest

from gqlib import FiniteMDP
from gqlib._objects import html_table
from gqlib._validate import Diverged
from gqlib.control.agent import _SETTINGS, Agent, TableCoder, TileCoder
from gqlib.control.gym import GymSetting, evaluate, gym_runs, play, tile_coder
from gqlib.control.schedules import Anneal
from gqlib.control.vector import play_side_by_side
from gqlib.learners import gq_step
from gqlib.learners.corrected import corrected_gq_step
from gqlib.sweeps.results import collect
from gqlib.sweeps.store import Store
from gqlib.sweeps.sweep import Experiment, run_sweep
from gqlib.tiles3 import IHT, tiles


def table(state):
    """Two states, two actions, one weight for each pair."""
    return np.eye(4)[2 * state : 2 * state + 2]


def test_coder_gives_the_tiles_of_tiles3():
    coder = TileCoder([-1.0, 0.0], [1.0, 2.0], 3, tiles_per_side=[4, 8], tilings=8, size=4096)
    memory = IHT(4096)
    for state in np.random.default_rng(0).uniform([-1.0, 0.0], [1.0, 2.0], (50, 2)):
        scaled = [(state[0] + 1.0) * 2.0, state[1] * 4.0]
        wanted = [tiles(memory, 8, scaled, [a]) for a in range(3)]
        assert coder.active(state).tolist() == wanted
        assert coder(state).sum(axis=1).tolist() == [8.0, 8.0, 8.0]
    assert coder.overfull == 0


def test_coder_remembers_cells_without_changing_them():
    fresh, used = (
        TileCoder([0.0], [1.0], 2, tiles_per_side=5, tilings=4, size=256) for _ in range(2)
    )
    points = np.random.default_rng(1).random(40)[:, None]
    first = [used.active(x).tolist() for x in points]
    assert [used.active(x).tolist() for x in points] == first
    assert [fresh.active(x).tolist() for x in points] == first


def test_coder_moves_points_to_the_edge_and_counts_what_does_not_fit():
    coder = TileCoder([0.0], [1.0], 1, tiles_per_side=4, tilings=2, size=3)
    assert (coder([-5.0]) == coder([0.0])).all()
    with pytest.warns(UserWarning, match="size is 3, and more tiles than that were met"):
        [coder([x]) for x in np.linspace(0, 1, 20)]
    assert coder.overfull > 0


@pytest.mark.parametrize(
    ("change", "name"),
    [({"high": [0.0]}, "high"), ({"low": [-np.inf]}, "low"), ({"tiles_per_side": 0}, "tiles_per_side"),
     ({"tiles_per_side": [2, 2]}, "tiles_per_side"), ({"tilings": 0}, "tilings"), ({"size": 0}, "size")],
)  # fmt: skip
def test_coder_refuses(change, name):
    arguments = {"low": [0.0], "high": [1.0], "actions": 2} | change
    with pytest.raises(ValueError, match=name):
        TileCoder(**arguments)


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("target", ["greedy", "epsilon-greedy"])
def test_learn_is_the_reference_step(corrected, target):
    agent = Agent(table, np.random.default_rng(2), sigma=0.6, lam=0.8, gamma=0.9, alpha=0.1, eta=0.5, epsilon=0.4,
                  target=target, corrected=corrected)  # fmt: skip
    rng, theta, omega, trace = np.random.default_rng(3), *np.zeros((3, 4))
    for _ in range(60):
        state, action, after, taken = rng.integers(2, size=4)
        reward, terminated = rng.standard_normal(), bool(rng.random() < 0.2)
        values = table(after) @ theta
        mu = np.full(2, 0.2)
        mu[int(values[1] > values[0] + 1e-10)] += 0.6
        pi = mu if target == "epsilon-greedy" else (mu > 0.5).astype(float)
        alive = 0.0 if terminated else 1.0
        seen = (
            table(state)[action],
            reward,
            alive * table(after)[taken],
            alive * (pi @ table(after)),
        )
        rates = {"sigma": 0.6, "lam": 0.8, "gamma": 0.9, "alpha": 0.1, "beta": 0.05}
        if corrected:
            theta, omega, trace, delta = corrected_gq_step(
                theta, omega, trace, *seen, rho_next=pi[taken] / mu[taken],
                phi_next_traced=alive * (mu @ table(after)), **rates,
            )  # fmt: skip
        else:
            theta, omega, trace, delta = gq_step(theta, omega, trace, *seen, **rates)
        got = agent.learn(
            int(state), int(action), reward, int(after), int(taken), terminated=terminated
        )
        assert np.isclose(got, delta, rtol=1e-12)
        if terminated:
            agent.end_episode()
            trace = np.zeros(4)
    assert np.allclose(agent.theta, theta, rtol=1e-12)


def test_act_explores_as_often_as_it_says_and_breaks_ties_by_order():
    agent = Agent(lambda state: np.eye(3), np.random.default_rng(4), epsilon=0.3)
    actions = [agent.act(None) for _ in range(6000)]
    share = np.bincount(actions, minlength=3) / 6000
    assert np.abs(share - [0.8, 0.1, 0.1]).max() < 0.02
    assert agent.greedy(None) == 0


@pytest.mark.slow
def test_learns_the_better_action_of_a_small_mdp():
    # action 1 in state 0 pays 1 and leads to state 1, which pays nothing and returns
    moves = np.zeros((2, 2, 2))
    moves[0, 0, 0] = moves[0, 1, 1] = 1.0
    moves[1, :, 0] = 1.0
    mdp = FiniteMDP(moves, [[0.4, 1.0], [0.0, 0.0]], 0.9)
    rng = np.random.default_rng(5)
    agent = Agent(
        table, rng, sigma=0.3, lam=0.5, gamma=0.9, alpha=0.2, eta=1.0, epsilon=0.2, corrected=True
    )
    state, action = 0, agent.act(0)
    for _ in range(4000):
        after = int(np.argmax(mdp.transitions[state, action]))
        following = agent.act(after)
        agent.learn(state, action, mdp.rewards[state, action], after, following, terminated=False)
        state, action = after, following
    best = np.array([mdp.v([p, [0.5, 0.5]])[0] for p in ([1.0, 0.0], [0.0, 1.0])]).argmax()
    assert agent.greedy(0) == best == 1


IN_UNIT = "it should be in [0, 1]"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [*((name, value, IN_UNIT) for name in ("sigma", "lam", "gamma", "epsilon") for value in (-0.1, 1.1)),
     ("alpha", 0.0, "it should be in (0, inf)"), ("alpha", -1.0, "it should be in (0, inf)"),
     ("eta", -0.1, "it should be in [0, inf)"), ("target", "soft", "it should be one of 'greedy', 'epsilon-greedy'"),
     ("corrected", 1, "it should be True or False")],
)  # fmt: skip
def test_agent_refuses_settings(name, value, told):
    with pytest.raises(ValueError, match=f"^{name} is {value!r}; {re.escape(told)}$"):
        Agent(table, np.random.default_rng(0), **{name: value})


def test_the_ends_of_a_rate_that_changes_are_refused_by_its_name():
    for name, last, told in (
        ("alpha", -0.5, "[0, inf)"),
        ("epsilon", -0.5, "[0, 1]"),
        ("epsilon", 1.5, "[0, 1]"),
    ):
        agent = Agent(table, np.random.default_rng(0), **{name: lambda step, last=last: last})
        with pytest.raises(
            ValueError, match=f"^{name} after 0 steps is {last}; it should be in {re.escape(told)}$"
        ):
            agent.rate(name)
    for ends in ((0.5, 1.5), (1.5, 0.5)):
        with pytest.raises(ValueError, match=r"^epsilon is 1\.5; it should be in \[0, 1\]$"):
            Agent(table, np.random.default_rng(0), epsilon=Anneal(*ends, 10))
    assert Agent(table, np.random.default_rng(0), alpha=Anneal(1.5, 0.0, 10)).rate("alpha") == 1.5
    with pytest.raises(
        ValueError, match=r"^name is 'eta'; it should be one of 'alpha', 'epsilon'$"
    ):
        agent.rate("eta")


def test_an_agent_takes_every_setting_at_its_ends_and_keeps_it():
    for name in ("sigma", "lam", "gamma", "epsilon"):
        for value in (0.0, 1.0):
            assert getattr(Agent(table, np.random.default_rng(0), **{name: value}), name) == value
    assert Agent(table, np.random.default_rng(0), eta=0.0).eta == 0.0
    agent = Agent(table, np.random.default_rng(0))
    settings = {name: getattr(agent, name) for name in _SETTINGS}
    assert settings == {"sigma": 0.0, "lam": 0.9, "gamma": 0.99, "alpha": 0.01, "eta": 1.0, "epsilon": 0.1,
                        "target": "epsilon-greedy", "corrected": False, "learner": "gq"}  # fmt: skip
    assert (agent.steps, agent.episodes, agent.rate("alpha"), agent.rate("epsilon")) == (
        0,
        0,
        0.01,
        0.1,
    )


@pytest.mark.parametrize("features", [table, TableCoder(2, 2)], ids=["dense", "sparse"])
def test_a_setting_that_is_changed_holds_from_the_next_step(features):
    """An agent that changes its mind is one that had the new setting and the same past."""
    changes = {"sigma": 0.7, "lam": 0.3, "gamma": 0.5, "alpha": 0.25, "eta": 0.2, "epsilon": 0.6, "target": "greedy",
               "corrected": True}  # fmt: skip
    path = [
        (0, 1, 1.0, 1, 0),
        (1, 0, -1.0, 0, 0),
        (0, 0, 0.5, 1, 1),
        (1, 1, 2.0, 0, 1),
        (0, 1, -0.5, 0, 0),
    ]

    def learned(change, anew):
        agent = Agent(features, np.random.default_rng(0), sigma=0.4, alpha=0.5)
        for number, step in enumerate(path):
            if number == 3 and anew:
                settings = {name: getattr(agent, name) for name in _SETTINGS} | change
                agent, weights = (
                    Agent(features, np.random.default_rng(0), **settings),
                    agent._weights,
                )
                agent._weights = weights
            elif number == 3:
                for name, value in change.items():
                    setattr(agent, name, value)
            agent.learn(*step, terminated=False)
        return agent.theta.tolist()

    for name, value in changes.items():
        assert (
            learned({name: value}, anew=False)
            == learned({name: value}, anew=True)
            != learned({}, anew=False)
        )


@pytest.mark.parametrize("features", [table, TableCoder(2, 2)], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sigma", 1.5), ("lam", 1.0e9), ("lam", float("nan")), ("gamma", -0.1), ("alpha", 0.0), ("alpha", float("nan")),
        ("eta", -1.0), ("epsilon", 2.0), ("target", "other"), ("corrected", 2),
    ],
)  # fmt: skip
def test_a_setting_is_checked_again_when_it_is_changed(features, name, value):
    agent = Agent(features, np.random.default_rng(0))
    agent.learn(0, 0, 1.0, 1, 0, terminated=False)
    before, theta = getattr(agent, name), agent.theta.tolist()
    setattr(agent, name, value)
    with pytest.raises(ValueError, match=f"^{name} is "):
        agent.learn(0, 0, 1.0, 1, 0, terminated=False)
    assert agent.theta.tolist() == theta
    setattr(agent, name, before)
    agent.learn(0, 0, 1.0, 1, 0, terminated=False)
    assert agent.theta.tolist() != theta


def test_a_rate_that_is_changed_may_be_any_number():
    agent = Agent(TableCoder(2, 2), np.random.default_rng(0))
    for value in (1, np.float32(0.5), np.int64(1)):
        agent.alpha = agent.epsilon = value
        assert (agent.rate("alpha"), agent.act(0) in (0, 1)) == (value, True)
        agent.learn(0, 0, 1.0, 1, 0, terminated=False)
        assert (type(agent.alpha), agent.alpha) == (float, value)


def test_rewards_are_numbers_of_any_size():
    agent = Agent(TableCoder(2, 2), np.random.default_rng(0), alpha=1e-60, eta=0.0)
    for reward in (2, np.float32(2.0), np.array(2.0), 1e60, -1e60):
        delta = agent.learn(0, 0, reward, 1, 0, terminated=True)
        assert type(delta) is float
        assert delta == pytest.approx(float(reward), rel=1e-9, abs=2.0)
    for reward, told in (
        (np.nan, "finite"),
        (np.inf, "finite"),
        (-np.inf, "finite"),
        ("1", "a real number"),
    ):
        with pytest.raises(ValueError, match=rf"^reward is {reward!r}; it should be {told}$"):
            agent.learn(0, 0, reward, 1, 0, terminated=True)
    with pytest.raises(ValueError, match=r"^terminated is 1; it should be True or False$"):
        agent.learn(0, 0, 0.0, 1, 0, terminated=1)
    assert agent.steps == 5
    agent.learn(0, 0, 0.0, 1, 0, terminated=np.True_)
    assert (agent.steps, agent.episodes) == (6, 0)


def test_an_agent_is_shown_with_every_setting():
    agent = Agent(TableCoder(3, 2), np.random.default_rng(0), sigma=0.25, lam=0.5, gamma=0.75, alpha=0.125, eta=2.0,
                  epsilon=Anneal(0.5, 0.0, 4, by="episode"))  # fmt: skip
    agent.steps, agent.episodes = 12345, 2000
    rows = {"method": "GQ(σ, λ)", "σ, λ, γ": "0.25, 0.5, 0.75", "α now": "0.125", "η": "2", "ε now": "0",
            "target": "epsilon-greedy", "features": "TableCoder(3 states, 2 actions)", "steps learnt from": "12,345",
            "episodes ended": "2,000"}  # fmt: skip
    assert agent._repr_html_() == html_table("Agent", rows.items())
    agent.corrected, agent.target, agent.episodes = True, "greedy", 2
    rows |= {
        "method": "corrected GQ(σ, λ)",
        "target": "greedy",
        "ε now": "0.25",
        "episodes ended": "2",
    }
    assert agent._repr_html_() == html_table("Agent", rows.items())
    assert (
        repr(agent)
        == "Agent(corrected GQ(0.25, 0.5), TableCoder(3 states, 2 actions), 12,345 steps)"
    )
    agent.steps = 1
    assert repr(agent).endswith("actions), 1 step)")
    assert (
        repr(Agent(partial(table), np.random.default_rng(0)))
        == "Agent(GQ(0, 0.9), partial, 0 steps)"
    )


def test_agent_refuses_wrong_features_generators_and_actions():
    with pytest.raises(ValueError, match=r"^rng is 5; it should be a numpy\.random\.Generator$"):
        Agent(table, 5)
    with pytest.raises(
        ValueError, match=r"^features is \[1, 2\]; it should be a function of a state$"
    ):
        Agent([1, 2], np.random.default_rng(0))
    with pytest.raises(ValueError, match="theta"):
        _ = Agent(table, np.random.default_rng(0)).theta
    agent = Agent(lambda state: np.ones((2, 3 + state)), np.random.default_rng(0))
    agent.act(0)
    with pytest.raises(ValueError, match=r"should be \(actions, 3\)"):
        agent.act(1)
    with pytest.raises(ValueError, match="next_action"):
        agent.learn(0, 1, 0.0, 0, 2, terminated=False)


class Corridor:
    """Steps 0..3 to the right; ends at 3, or is cut off after 5 steps."""

    def reset(self, seed=None):
        self.at, self.age = 0, 0
        return np.array([self.at / 3]), {}

    def step(self, action):
        self.at, self.age = max(0, self.at + (1 if action == 1 else -1)), self.age + 1
        return np.array([self.at / 3]), -1.0, self.at == 3, self.age == 5, {}


def test_play_counts_and_tells_ends_from_cuts():
    class Always:
        def __init__(self, action):
            self.flags, self.episodes = [], 0
            self.greedy = self.act = lambda state: action

        def learn(self, *seen, terminated):
            self.flags.append(terminated)

        def end_episode(self):
            self.episodes += 1

    right, left = Always(1), Always(0)
    won, lost = play(Corridor(), right, 2, seed=0), play(Corridor(), left, 1, seed=0)
    assert won.lengths.tolist() == [3, 3]
    assert won.returns.tolist() == [-3.0, -3.0]
    assert not won.truncated.any()
    assert right.flags == [False, False, True] * 2
    assert right.episodes == 2
    assert lost.truncated.tolist() == [True]
    assert left.flags == [False] * 5
    watched = Always(1)
    play(Corridor(), watched, 1, seed=0, learn=False)
    assert watched.flags == []


def test_play_learns_the_corridor_and_is_reproducible():
    def run():
        coder = TileCoder([0.0], [1.0], 2, tiles_per_side=4, tilings=4, size=128)
        agent = Agent(coder, np.random.default_rng(6), alpha=0.1, eta=0.1, lam=0.8, gamma=1.0)
        return play(Corridor(), agent, 60, seed=1).lengths, play(
            Corridor(), agent, 1, seed=1, learn=False
        ).lengths

    (first, greedy), (second, _) = run(), run()
    assert (first == second).all()
    assert greedy.tolist() == [3]


def test_tile_coder_of_gymnasium_environments():
    import gymnasium

    car = tile_coder(gymnasium.make("MountainCar-v0"), size=64)
    assert (car.actions, car.size) == (3, 64)
    pole = gymnasium.make("CartPole-v1")
    with pytest.raises(ValueError, match="infinite low"):
        tile_coder(pole)
    with pytest.raises(
        ValueError, match=r"^high is \[1, inf, 1, 1\]; every entry should be finite"
    ):
        tile_coder(pole, low=[-1, -1, -1, -1], high=[1, np.inf, 1, 1])
    with pytest.raises(ValueError, match="Discrete"):
        tile_coder(gymnasium.make("Pendulum-v1"))
    with pytest.raises(ValueError, match="Box"):
        tile_coder(gymnasium.make("FrozenLake-v1"))


def test_gym_runs_depend_on_setting_seed_and_run_index_alone():
    setting = GymSetting(
        "MountainCar-v0", size=256, tiles_per_side=4, tilings=4, episodes=2, max_steps=30
    )
    both = gym_runs(setting, 2, 7, first_run=0)
    second = gym_runs(setting, 1, 7, first_run=1)
    assert both["lengths"].tolist() == [[30, 30], [30, 30]]
    assert both["truncated"].all()
    for name in both:
        assert (both[name][1:] == second[name]).all()
    assert (both["theta_norm"][0] != both["theta_norm"][1]).all()


def test_gym_settings_have_stable_keys_and_refuse_wrong_values():
    one, two = GymSetting("CartPole-v1", sigma=0.5), GymSetting("CartPole-v1", sigma=0.25)
    assert one.key == GymSetting("CartPole-v1", sigma=0.5).key != two.key
    with pytest.raises(ValueError, match="options"):
        gym_runs(GymSetting("CartPole-v1", options="[1]"), 1, 0, first_run=0)


def full_size(coder):
    return coder.used, coder.overfull


@pytest.mark.filterwarnings("ignore:size is")  # a memory that is too small, on purpose
def test_evaluation_takes_no_memory_and_changes_no_later_learning():
    """A look at values or greedy actions used to number tiles, so that learning went on differently after it."""

    def coder():
        return TileCoder([0.0, 0.0], [1.0, 1.0], 2, tiles_per_side=4, tilings=4, size=64)

    plain, watched = (Agent(coder(), np.random.default_rng(0), alpha=0.05) for _ in range(2))
    rng = np.random.default_rng(1)
    for _ in range(60):
        state, after = rng.random((2, 2))
        for agent in (plain, watched):
            action, following = agent.act(state), agent.act(after)
            agent.learn(state, action, 1.0, after, following, terminated=False)
        before = full_size(watched.features)
        for point in rng.random((5, 2)):
            watched.greedy(point)
            watched.values(point)
        assert full_size(watched.features) == before
    np.testing.assert_array_equal(plain.theta, watched.theta)


@pytest.mark.filterwarnings("ignore:size is")  # a memory that is too small, on purpose
def test_peeking_gives_the_features_of_tiles_that_were_met_and_of_a_full_memory():
    for memory in (512, 8):
        coder, rng = (
            TileCoder([0.0], [1.0], 2, tiles_per_side=4, tilings=4, size=memory),
            np.random.default_rng(0),
        )
        for point in rng.random((40, 1)):
            expected = coder(point)
            count = full_size(coder)
            np.testing.assert_array_equal(coder.peek(point), expected)
            assert full_size(coder) == count


class Stops(Corridor):
    """A corridor in which Ctrl-C is pressed in the third episode."""

    episodes = 0

    def reset(self, **options):
        self.episodes += 1
        return super().reset(**options)

    def step(self, action):
        if self.episodes == 3:
            raise KeyboardInterrupt
        return super().step(action)


def test_an_interrupted_play_keeps_finished_episodes_and_leaves_no_trace():
    agent = Agent(TileCoder([0.0], [1.0], 2, size=64), np.random.default_rng(0))
    with pytest.raises(KeyboardInterrupt) as told:
        play(Stops(), agent, 5, seed=0)
    whole = Agent(TileCoder([0.0], [1.0], 2, size=64), np.random.default_rng(0))
    expected = play(Corridor(), whole, 2, seed=0)
    np.testing.assert_array_equal(told.value.played.lengths, expected.lengths)
    np.testing.assert_array_equal(told.value.played.returns, expected.returns)
    assert not agent.trace.any()
    np.testing.assert_array_equal(agent.theta, whole.theta)


class Overwrites(Corridor):
    """Writes every state into one array, as an environment may to save memory."""

    def reset(self, seed=None):
        self.shown = super().reset()[0]
        return self.shown, {}

    def step(self, action):
        state, *rest = super().step(action)
        self.shown[:] = state
        return self.shown, *rest


def rows_of(state):
    return np.eye(2) * (1.0 + state[0])


@pytest.mark.parametrize("features", [lambda: TileCoder([0.0], [1.0], 2, size=64), lambda: rows_of])
def test_an_environment_may_write_every_state_into_one_array(features):
    agents = [Agent(features(), np.random.default_rng(0), alpha=0.1) for _ in range(2)]
    played = [
        play(env, agent, 9, seed=0)
        for env, agent in zip((Overwrites(), Corridor()), agents, strict=True)
    ]
    assert played[0] == played[1]
    assert agents[1].theta.any()
    np.testing.assert_array_equal(agents[0].theta, agents[1].theta)


def test_a_state_of_parts_may_be_changed_in_place_too():
    class Parts(Overwrites):
        def reset(self, seed=None):
            self.parts = {"at": [super().reset()[0]]}
            return self.parts, {}

        def step(self, action):
            return self.parts, *super().step(action)[1:]

    agents = [
        Agent(each, np.random.default_rng(0), alpha=0.1)
        for each in (lambda s: rows_of(s["at"][0]), rows_of)
    ]
    played = [
        play(env, agent, 9, seed=0)
        for env, agent in zip((Parts(), Corridor()), agents, strict=True)
    ]
    assert played[0] == played[1]
    np.testing.assert_array_equal(agents[0].theta, agents[1].theta)


@pytest.mark.parametrize("learn", [True, False])
def test_an_agent_has_no_more_actions_than_the_environment(learn):
    gymnasium = pytest.importorskip("gymnasium")
    env = Corridor()
    env.action_space = gymnasium.spaces.Discrete(2)
    three = Agent(TileCoder([0.0], [1.0], 3, size=64), np.random.default_rng(0))
    told = r"^agent has features for 3 actions; env has 2 of them$"
    for look in (partial(play, learn=learn), evaluate):
        with pytest.raises(ValueError, match=told):
            look(env, three, 1, seed=0)
    rows = Agent(lambda state: np.eye(3), np.random.default_rng(0), epsilon=1.0)
    if learn:
        with pytest.raises(
            ValueError, match=r"^features have a row for action 2; env has actions below 2$"
        ):
            play(env, rows, 20, seed=0)
        assert not rows.trace.any()
    env.action_space = gymnasium.spaces.Discrete(3, start=1)
    with pytest.raises(ValueError, match=r"^env has actions Discrete\(3, start=1\); .* from 0 on$"):
        play(env, three, 1, seed=0, learn=learn)
    env.action_space = gymnasium.spaces.Discrete(4)
    assert len(play(env, three, 2, seed=0, learn=learn).lengths) == 2
    assert len(evaluate(env, None, 2, seed=0, policy=lambda state: 1).lengths) == 2


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (lambda step: step[:4], r"env\.step returned \(array.*it should return five things"),
        (lambda step: (step[0], None, *step[2:]), r"env\.step returned .*reward \(a number\)"),
        (
            lambda step: (step[0], np.ones(2), *step[2:]),
            r"env\.step returned .*reward \(a number\)",
        ),
        (lambda step: None, r"env\.step returned None"),
        (
            lambda step: 1 / 0,
            "division by zero",
        ),  # the environment's own exception is raised as it is
    ],
)
def test_an_environment_that_goes_wrong_is_told_and_leaves_no_trace(step, told):
    class Wrong(Corridor):
        steps = 0

        def step(self, action):
            self.steps += 1
            found = super().step(action)
            return step(found) if self.steps == 7 else found

    agent = Agent(TileCoder([0.0], [1.0], 2, size=64), np.random.default_rng(0))
    with pytest.raises((ValueError, ZeroDivisionError), match=told):
        play(Wrong(), agent, 5, seed=0)
    assert agent.steps == 6
    assert not agent.trace.any()


class NoNumber(Corridor):
    """The third step of the second episode, which is cut off after five, returns what is no number."""

    def __init__(self, state=0.0, reward=-1.0, first=0.0):
        self.given, self.resets = (state, reward, first), -1

    def reset(self, seed=None):
        self.resets += 1
        return super().reset(seed)[0] + self.given[2] * self.resets, {}

    def step(self, action):
        seen, reward, *ends = super().step(0)
        wrong = self.resets == 1 and self.age == 3
        return (seen + self.given[0], self.given[1], *ends) if wrong else (seen, reward, *ends)


def swallowing(state):
    return np.eye(2) if state > 0.5 else 2 * np.eye(2)  # takes NaN for a small number


class Blind:
    """A learner of one's own that looks at nothing."""

    learned = 0

    def act(self, state):
        return 0

    def learn(self, *seen, terminated):
        self.learned += 1

    def end_episode(self):
        pass


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["coder", "function", "own", "watched"])
def test_a_state_that_is_no_number_is_the_environments_error(kind, value):
    """With a coder, a function that would not notice, a learner that does not look; and where nobody learns."""

    def go(env):
        if kind == "watched":
            return evaluate(env, None, 3, seed=0, policy=lambda state: 0)
        coder = TileCoder([0.0], [1.0], 2, size=64)
        agent = (
            Blind()
            if kind == "own"
            else Agent(coder if kind == "coder" else swallowing, np.random.default_rng(0))
        )
        return play(env, agent, 3, seed=0)

    assert go(NoNumber()).lengths.tolist() == [5, 5, 5]
    third = r"in episode 1 \(from 0\), after 3 steps; it should be finite"
    for wrong, told in (
        (NoNumber(state=value), rf"env NoNumber returned the state array.* {third}"),
        (NoNumber(reward=value), rf"env NoNumber returned the reward {value} {third}"),
        (
            NoNumber(first=value),
            r"env NoNumber returned the state array.* in episode [01] \(from 0\), after 0 steps",
        ),
    ):
        with pytest.raises(ValueError, match=told) as raised:
            go(wrong)
        assert not isinstance(raised.value, Diverged)  # which a sweep would count as a result


def test_features_that_are_no_numbers_are_no_divergence():
    agent = Agent(lambda state: np.array([[1.0, state], [0.0, 1.0]]), np.random.default_rng(0))
    agent.act(0.5)
    with pytest.raises(
        ValueError, match=r"^features of nan are not all finite; state and"
    ) as raised:
        agent.act(np.nan)
    assert not isinstance(raised.value, Diverged)


def test_agents_side_by_side_tell_whose_environment_returned_no_number():
    import gymnasium

    class Box(NoNumber, gymnasium.Env):
        observation_space, action_space = (
            gymnasium.spaces.Box(-np.inf, np.inf, (1,)),
            gymnasium.spaces.Discrete(2),
        )

        def reset(self, seed=None, options=None):
            return super().reset(seed)

    for wrong, told in (
        ({"state": np.nan}, r"the state array\(\[nan\]"),
        ({"reward": np.inf}, "the reward inf"),
    ):
        envs = gymnasium.vector.SyncVectorEnv([Box, lambda wrong=wrong: Box(**wrong)])
        agents = [
            Agent(TileCoder([0.0], [1.0], 2, size=64), np.random.default_rng(run))
            for run in range(2)
        ]
        with pytest.raises(
            ValueError,
            match=told + r".* in episode 1 \(from 0\), after 3 steps; it should be finite",
        ):
            play_side_by_side(envs, agents, 3, seed=0)


def test_an_old_reset_and_many_environments_are_refused():
    class Old(Corridor):
        def reset(self, seed=None):
            return super().reset(seed)[0]

    class Many(Corridor):
        single_action_space = None

    agent = Agent(TileCoder([0.0], [1.0], 2, size=64), np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"env\.reset returned array.*the first state and a dict"):
        play(Old(), agent, 1, seed=0)
    for act in (play, evaluate):
        with pytest.raises(ValueError, match=r"it should be one environment .*play_side_by_side"):
            act(Many(), agent, 1, seed=0)


@pytest.mark.filterwarnings("ignore:size is")  # a memory that is too small, on purpose
def test_a_diverging_setting_is_data_and_blocks_no_sweep(tmp_path):
    box = {
        "low": (-2.4, -3.0, -0.21, -3.0),
        "high": (2.4, 3.0, 0.21, 3.0),
        "episodes": 60,
        "max_steps": 50,
    }
    settings = tuple(
        GymSetting("CartPole-v1", **box, alpha=alpha, size=64, lam=1.0) for alpha in (0.01, 50.0)
    )
    sweep = Experiment("gym", "Gym", "gym", settings, 2, 1, "1", runs_per_task=1)
    run_sweep(sweep, Store(tmp_path))
    found = collect(sweep, Store(tmp_path))
    assert found["diverged"].values.tolist() == [[False, False], [True, True]]
    assert np.isfinite(found["returns"].values[0]).all()
    lost = np.isnan(found["returns"].values[1])
    assert lost.any(axis=1).all()
    assert (np.diff(lost.astype(int), axis=1) >= 0).all()  # once lost, lost for good
    assert (found["lengths"].values[1][lost] == 0).all()


def test_texts_with_a_colon_in_the_options_are_asked_for_like_names():
    """An environment that stands for another imports the module that an option names."""
    inner = GymSetting(
        "GymV21Environment-v0", '{"env_id": "os:x", "kwargs": {"a": ["b:c", 1, null]}}'
    )
    assert inner.imported == ("os:x", "b:c")
    assert GymSetting("a:b-v0", '{"desc": "SG"}').imported == ("a:b-v0",)


@pytest.mark.parametrize(
    "setting", [GymSetting("NoSuchThing-v0"), GymSetting("CartPole-v1", '{"colour": "red"}'),
                GymSetting("CartPole-v1", '{"max_episode_steps": 3}')],
)  # fmt: skip
def test_an_environment_that_cannot_be_made_is_one_clear_error(setting):
    with pytest.raises(
        ValueError, match=f"env is '{setting.env}', and options .+; Gymnasium says: "
    ):
        gym_runs(setting, 1, 0, first_run=0)


def test_options_too_deep_are_refused():
    with pytest.raises(ValueError, match=r"options is '\[\[\[.+; it should be a JSON object"):
        GymSetting("CartPole-v1", "[" * 100_000)


class Says(Corridor):
    """A corridor that says other things than it should of one step."""

    def __init__(self, place, value):
        super().__init__()
        self.place, self.value = place, value

    def step(self, action):
        answer = list(super().step(action))
        answer[self.place] = self.value
        return tuple(answer)


def walker():
    return Agent(TileCoder([0.0], [4.0], 2, size=256), np.random.default_rng(0))


@pytest.mark.parametrize(
    "value", ["no", "False", np.nan, None, 2, np.array([True, False]), 1j, [], object()]
)
@pytest.mark.parametrize("place", [2, 3])
def test_an_end_is_true_or_false_and_nothing_that_counts_as_such(place, value):
    """The text "no" would end every episode after its first step."""
    told = r"env\.step returned .+ terminated and truncated \(True or False\)"
    with pytest.raises(ValueError, match=told):
        evaluate(Says(place, value), None, 1, seed=0, policy=lambda state: 1)
    with pytest.raises(ValueError, match=told):
        play(Says(place, value), walker(), 1, seed=0)


@pytest.mark.parametrize(
    "value", ["1.0", None, 1j, 10**400, np.array([1.0, 2.0]), {}, np.datetime64("2019")]
)
def test_a_reward_is_a_number(value):
    with pytest.raises(ValueError, match=r"env\.step returned .+ reward \(a number\)"):
        play(Says(1, value), walker(), 1, seed=0)


@pytest.mark.parametrize("yes", [1, 1.0, np.True_, np.array(True), np.uint8(1)])
def test_rewards_and_ends_may_be_numpys(yes):
    played = play(Says(2, yes), walker(), 2, seed=0)
    assert (played.lengths.tolist(), played.truncated.tolist()) == ([1, 1], [False, False])
    for reward in (np.float32(0.5), np.array(0.5), np.float64(0.5), 1, np.int8(1), True):
        again = play(Says(1, reward), walker(), steps=3, seed=0)
        assert again.lengths.sum() <= 3


def test_states_that_are_objects_are_told_apart_by_their_values():
    """The bytes of an array of objects are addresses, which are used again."""
    coder, rng = (
        TileCoder([0.0, 0.0], [1.0, 1.0], 2, tilings=4, size=4096),
        np.random.default_rng(1),
    )
    agent = Agent(coder, np.random.default_rng(0))
    for _ in range(300):
        point = [float(number) for number in rng.random(2)]
        rows = agent._weights.rows(np.array(point, dtype=object))
        np.testing.assert_array_equal(rows, coder.active(point))


def test_a_state_is_refused_whatever_was_seen_before():
    agent = Agent(TileCoder([0.0, 0.0], [1.0, 1.0], 2, size=256), np.random.default_rng(0))
    state = np.array([0.25, 0.5])
    agent.act(state)
    with pytest.raises(ValueError, match=r"state has shape \(1, 2\)"):
        agent.act(state[None])
    table = Agent(TableCoder((3, 2), 2), np.random.default_rng(0))
    table.act(np.array([1, 0]))
    with pytest.raises(ValueError, match="it should be from 0 to 2"):
        table.act(np.frombuffer(np.array([1, 0]).tobytes(), dtype=np.dtype(int).newbyteorder()))
