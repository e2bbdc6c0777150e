"""The agent on active features: equal to the dense reference; saved, scheduled, watched, side by side."""

import copy
import dataclasses
import json
import pickle
import warnings
from itertools import pairwise
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from gqlib import seeds
from gqlib.control import features
from gqlib.control.agent import Agent, TableCoder, TileCoder
from gqlib.control.gym import (
    GymSetting,
    Interrupted,
    Played,
    evaluate,
    features_of,
    gym_runs,
    play,
    tile_coder,
)
from gqlib.control.schedules import Anneal
from gqlib.control.vector import play_side_by_side
from gqlib.domains.random_walk import random_walk
from gqlib.engine import EngineSetting, _steps, environments, run_setting
from gqlib.fast import _tiles
from gqlib.fast.rng import uniform
from gqlib.learners.texts import LEARNERS
from gqlib.rules import TIE
from gqlib.seeds import BEHAVIOUR, START, TRAJECTORY, words
from gqlib.sweeps.store import DamagedFile, pack, unpack
from gqlib.tiles3 import IHT, tiles

ORACLES = Path(__file__).parent / "oracles"


def tiled(size=512, actions=3):
    return TileCoder([-1.0, 0.0], [1.0, 2.0], actions, tiles_per_side=[3, 4], tilings=8, size=size)


def walk(steps, seed=0, actions=3):
    """A random path through the box: state, action, reward, next state, next action, terminated."""
    rng = np.random.default_rng(seed)
    states = np.clip(
        np.cumsum(0.3 * rng.standard_normal((steps + 1, 2)), axis=0) % 2.0 - [1.0, 0.0], -1.0, 2.0
    )
    taken, ends = (
        rng.integers(actions, size=steps + 1).tolist(),
        (rng.random(steps) < 0.05).tolist(),
    )
    rewards = rng.standard_normal(steps).tolist()
    return list(zip(states[:-1], taken[:-1], rewards, states[1:], taken[1:], ends, strict=True))


def follow(agent, path):
    deltas = []
    for state, action, reward, after, following, ended in path:
        deltas.append(agent.learn(state, action, reward, after, following, terminated=ended))
        if ended:
            agent.end_episode()
    return np.array(deltas)


def test_the_hash_of_a_tile_is_that_of_python():
    rows = np.random.default_rng(0).integers(0, 2**40, (500, 4))
    assert [int(_tiles.hash_of(row)) for row in rows] == [hash(tuple(row.tolist())) for row in rows]


def test_the_hash_that_python_keeps_for_errors_is_another_number():
    """Worked back from the hash: the second number of a tile whose hash would be −1."""
    word, across, into, first, length = (
        2**64,
        *map(int, (_tiles._ACROSS, _tiles._INTO, _tiles._FIRST, _tiles._LENGTH)),
    )
    mixed = (word - 1 - (2 ^ length)) * pow(across, -1, word) % word
    for number in range(1000):
        begun = (first + number * into) % word
        begun = ((begun << 31 | begun >> 33) % word) * across % word
        last = ((mixed >> 31 | mixed << 33) % word - begun) * pow(into, -1, word) % word
        if last < 2**61 - 1:  # Python's own hash of such a number is the number
            break
    assert int(_tiles.hash_of(np.array([number, last]))) == hash((number, last)) == 1546275796


def test_tiles_that_differ_in_the_action_alone_have_places_of_their_own():
    """In a table of two places, where the search for the second has to pass the first."""
    rows = [np.array([0, 1, action]) for action in range(40)]
    one, other = [row for row in rows if int(_tiles.hash_of(row)) % 2 == 0][:2]
    slots, keys = np.array([1, 0]), np.array([one, [0, 0, 0]])
    assert (_tiles.place_of(one, slots, keys), _tiles.place_of(other, slots, keys)) == (0, 1)


def test_a_point_is_as_large_as_a_number_may_be_and_no_larger():
    coder = tiled()
    assert coder.active(np.array([1e50, -1e50])).shape == (3, 8)
    with pytest.raises(
        ValueError, match=r"^state reaches 1\.1e\+50 in size; every entry should be at most 1e\+50$"
    ):
        coder.active(np.array([1.1e50, 0.0]))


def test_a_trace_that_is_forgotten_leaves_its_share_in_both_weights():
    weights, lazy = np.array([0.0, 4.0, 0.0, 1.0, 0.0, 5.0, 0.0, 2.0]), _steps.empty()
    lazy[: _steps.S + 1] = 0.5, 2.0, 3.0, 7.0, 8.0, 0.25  # ω = sW + hE
    lazy[[_steps.BEGUN, _steps.LIVE]] = 1.0, 2.0
    _steps.forget(weights, lazy, np.array([0, 4, 0]))
    assert weights.tolist() == [8.0, 0.0, 48.0, 0.0, 10.0, 0.0, 60.0, 0.0]
    assert lazy[: _steps.S + 1].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 0.25]
    assert not lazy[[_steps.BEGUN, _steps.LIVE]].any()


def handed_over(agent, state=(0.0, 1.0), after=(0.5, 0.5)):
    """What the kernel takes of an agent on tiles: those of both states, and its memory."""
    rows, ahead = agent.features.active(state), agent.features.active(after)
    weights, live = np.zeros(4 * agent.features.size + 4), np.zeros(agent.features.size, dtype=int)
    return rows, 0, ahead, weights, _steps.empty(), live, np.zeros(3)


LEARN, ADVANCE = _steps.steps_of(LEARNERS["gq"])


def numbers(epsilon=0.1):
    """σ, ε, a greedy target, λ, γ, α, η, β and κ."""
    return np.array([0.5, epsilon, 1.0, 0.9, 0.9, 0.1, 1.0, 0.1, 1.0])


def test_a_trace_that_has_left_its_bounds_is_refused_though_its_error_has_not():
    given = handed_over(Agent(tiled(), np.random.default_rng(0)))
    lazy = given[4]
    lazy[_steps.M] = 1e101
    assert np.isnan(LEARN(*given, numbers(), 0, 1.0, True))
    assert (lazy[_steps.M], lazy[_steps.C], given[3].any()) == (1e101, 1.0, False)
    lazy[_steps.M] = 1e99
    assert LEARN(*given, numbers(), 0, 1.0, True) == 1.0


@pytest.mark.parametrize(
    ("explore", "epsilon", "taken"), [(0.0, 0.0, 0), (0.25, 0.25, 0), (0.2, 0.25, 2)]
)
def test_an_action_is_explored_below_epsilon_and_not_at_it(explore, epsilon, taken):
    given = handed_over(Agent(tiled(), np.random.default_rng(0)))
    assert ADVANCE(*given, numbers(epsilon), explore, 0.99, 1.0, True) == (taken, 1.0)


def test_an_agent_takes_the_steps_of_the_engine():
    """ρ and π of an action are those of the moment when it was chosen: Watkins' trace is cut as in the engine's loop."""
    walk, draws = random_walk(9), words(3, 0, BEHAVIOUR)
    setting = EngineSetting(
        environments.chain(walk), "watkins", episodes=40, alpha=0.1, lam=0.9, gamma=1.0, epsilon=0.3
    )
    agent = Agent(
        TableCoder(11, 2), np.random.default_rng(0), learner="watkins", alpha=0.1, lam=0.9, gamma=1.0,
        epsilon=0.3, target="greedy",
    )  # fmt: skip
    chain, moves = setting.make_environment(), words(3, 0, TRAJECTORY)
    starts, found = words(3, 0, START), []

    def act(state):
        u = uniform(draws)
        return agent.greedy(state) if u >= 0.3 else int(u >= 0.15)

    for _ in range(40):
        state, ends, steps = chain.start(chain.data, starts), False, 0
        action = act(state)
        while not ends:
            after, reward, ends = chain.step(chain.data, state, action, moves)
            chosen = 0 if ends else act(after)
            agent.learn(state, action, float(reward), after, chosen, terminated=bool(ends))
            state, action, steps = after, chosen, steps + 1
        agent.end_episode()
        found.append(steps)
    engine = run_setting(setting, 1, 3)
    assert engine.steps[0].tolist() == found
    np.testing.assert_allclose(np.sort(agent.theta), np.sort(engine.theta[0]), rtol=0, atol=1e-12)


def test_an_agent_of_version_0_2_goes_on():
    """A file that 0.2 wrote in the middle of an episode, and the errors of the twenty steps that followed there."""
    kept = json.loads((ORACLES / "agent_0_2.json").read_text())
    agent, points = Agent.load(ORACLES / "agent_0_2.npz"), np.array(kept["points"])
    assert (agent.learner, agent.corrected, agent.steps) == ("gq", True, 39)
    deltas = [
        agent.learn(s, agent.act(s), float(s[0]), t, agent.act(t), terminated=False)
        for s, t in pairwise(points)
    ]
    np.testing.assert_allclose(deltas, kept["deltas"], rtol=0, atol=1e-13)


@pytest.mark.parametrize("features", [tiled(), lambda state: np.eye(3)])
def test_a_learner_with_a_memory_is_saved_with_it(features, tmp_path):
    """QRC remembers z and ρ within an episode; a ridge on ω, tiles and arrays."""
    agent = Agent(features, np.random.default_rng(0), learner="qrc", target="greedy", alpha=0.02)
    path = walk(60)
    follow(agent, [(*row[:5], False) for row in path[:30]])
    own = None if isinstance(features, TileCoder) else features
    again = Agent.load(agent.save(tmp_path / "agent.npz"), own)
    one, two = (follow(each, path[30:]) for each in (agent, again))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(agent.theta, again.theta)
    assert repr(again).startswith("Agent(qrc(0, 0.9)")


def test_a_learner_of_an_agent_has_a_name_and_is_not_late():
    for wrong in ("gq_lagged", "GQ", 3):
        with pytest.raises(ValueError, match=f"^learner is {wrong!r}; it should be one of"):
            Agent(tiled(), np.random.default_rng(0), learner=wrong)
    with pytest.raises(ValueError, match=r"^corrected is True; of the learner 'sarsa'"):
        Agent(tiled(), np.random.default_rng(0), learner="sarsa", corrected=True)
    with pytest.raises(ValueError, match=r"^learner is Learner\(gq_lagged, .+late\); it should"):
        _steps.steps_of(LEARNERS["gq_lagged"])


@pytest.mark.parametrize("features", [tiled(), TableCoder(5, 3)], ids=["tiles", "table"])
def test_what_an_agent_gives_away_is_a_copy(features):
    agent = Agent(features, np.random.default_rng(0), alpha=0.5)
    one, other = ((0.0, 1.0), (0.9, 0.1)) if isinstance(features, TileCoder) else (1, 2)
    agent.learn(one, 0, 1.0, other, 1, terminated=True)
    values = agent.values(one)
    kept = values.copy()
    agent.values(other)
    np.testing.assert_array_equal(values, kept)
    values[:] = 7.0
    np.testing.assert_array_equal(agent.values(one), kept)


def test_the_tiles_that_a_coder_has_met_are_given_as_a_copy():
    coder = tiled()
    active = coder.active([0.0, 1.0]).tolist()
    coder.tiles_met[:] = 0
    assert coder.active([0.0, 1.0]).tolist() == active


@pytest.mark.filterwarnings("ignore:size is")
def test_tiles_beyond_the_memory_are_those_of_tiles3():
    coder, memory = tiled(size=40), IHT(40)
    for state in np.random.default_rng(0).uniform([-1.0, 0.0], [1.0, 2.0], (60, 2)):
        scaled = [(state[0] + 1.0) * 1.5, state[1] * 2.0]
        assert coder.active(state).tolist() == [tiles(memory, 8, scaled, [a]) for a in range(3)]
    assert (coder.used, coder.overfull) == (40, memory.overfullCount)


def test_an_overfull_memory_warns_once():
    coder = tiled(size=40)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for x in np.linspace(-1, 1, 50):
            coder([x, 1.0])
    assert [str(one.message) for one in told] == [
        "size is 40, and more tiles than that were met; from now on they share features"
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:size is")
@pytest.mark.parametrize(
    "size", [512, 64]
)  # the smaller one is overfull: an action may have a feature twice
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("target", ["greedy", "epsilon-greedy"])
@pytest.mark.parametrize(("lam", "gamma"), [(0.9, 0.99), (0.0, 0.9), (1.0, 1.0), (0.5, 0.0)])
def test_active_features_learn_what_the_dense_reference_learns(size, corrected, target, lam, gamma):
    options = {
        "sigma": 0.4,
        "lam": lam,
        "gamma": gamma,
        "alpha": 0.02,
        "eta": 0.3,
        "epsilon": 0.2,
        "target": target,
    }
    coder = tiled(size)
    sparse = Agent(tiled(size), np.random.default_rng(0), corrected=corrected, **options)
    dense = Agent(
        lambda state: coder(state), np.random.default_rng(0), corrected=corrected, **options
    )
    path = walk(1500)
    np.testing.assert_allclose(follow(sparse, path), follow(dense, path), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(sparse.theta, dense.theta, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(sparse.trace, dense.trace, rtol=1e-8, atol=1e-12)
    for state, *_ in path[:50]:
        np.testing.assert_allclose(sparse.values(state), dense.values(state), atol=1e-9)
        assert sparse.greedy(state) == dense.greedy(state)
    assert (
        (sparse.steps, sparse.episodes)
        == (dense.steps, dense.episodes)
        == (1500, sum(row[-1] for row in path))
    )


def test_the_scalars_of_the_lazy_trace_are_what_they_stand_for():
    agent = Agent(tiled(), np.random.default_rng(0), lam=0.95, alpha=0.01, eta=0.5, sigma=0.5)
    follow(agent, [(*row[:5], False) for row in walk(333)])
    c, _, h, m, n = agent._weights.lazy[:5]
    held = agent._weights.weights[:-1]
    trace, omega = agent.trace, held[:, 2] + h * held[:, 1]
    assert 0 < c <= 1
    np.testing.assert_allclose([m, n], [trace @ omega, trace @ trace], rtol=1e-10)


def test_features_are_found_once_a_step(monkeypatch):
    found, coder = [], tiled()
    original = TileCoder._found
    monkeypatch.setattr(
        TileCoder, "_found", lambda self, *a, **k: found.append(1) or original(self, *a, **k)
    )
    agent = Agent(coder, np.random.default_rng(0))
    path = walk(100)
    agent.act(path[0][0])
    for state, action, reward, after, _, _ in path:
        agent.learn(state, action, reward, after, agent.act(after), terminated=False)
    assert len(found) == 101


def test_a_state_that_is_changed_in_place_is_another_state():
    agent, state = Agent(tiled(), np.random.default_rng(0)), np.array([0.0, 1.0])
    before = agent._weights.rows(state).tolist()
    state += 0.7
    assert agent._weights.rows(state).tolist() != before


def test_a_step_that_overflows_is_refused_before_anything_has_changed():
    agent = Agent(tiled(), np.random.default_rng(0), alpha=100.0, lam=1.0, gamma=1.0)
    path = [(*row[:5], False) for row in walk(2000)]
    before = []

    def until_it_overflows():
        for row in path:
            before[:] = agent.theta, agent.trace, agent.steps
            follow(agent, [row])

    with pytest.raises(ValueError, match=r"beyond 1e\+100"):
        until_it_overflows()
    np.testing.assert_array_equal(agent.theta, before[0])
    np.testing.assert_array_equal(agent.trace, before[1])
    assert agent.steps == before[2]
    assert np.isfinite(agent.theta).all()


@pytest.mark.parametrize(
    "features", [TableCoder(4, 3), lambda state: np.kron(np.eye(3), np.eye(4)[state])]
)
def test_actions_are_refused_by_name_just_beyond_the_first_and_the_last(features):
    agent = Agent(features, np.random.default_rng(0))
    for action in (0, 2, np.int64(0), np.int64(2), np.int8(1)):
        agent.learn(0, action, 1.0, 1, action, terminated=False)
    learned, steps = agent.theta.copy(), agent.steps
    for wrong, due in (
        (-1, "from 0 to 2"),
        (3, "from 0 to 2"),
        (0.0, "a whole number"),
        (True, "a whole number"),
    ):
        with pytest.raises(ValueError, match=rf"^action is {wrong}; it should be {due}$"):
            agent.learn(0, wrong, 1.0, 1, 0, terminated=False)
        with pytest.raises(ValueError, match=rf"^next_action is {wrong}; it should be {due}$"):
            agent.learn(0, 0, 1.0, 1, wrong, terminated=False)
    assert agent.steps == steps == 5
    np.testing.assert_array_equal(agent.theta, learned)


@pytest.mark.parametrize("coded", [True, False])
def test_an_action_that_the_behaviour_never_takes_has_no_weight(coded):
    """With ε = 0 μ is greedy; the corrected step takes π/μ for 0 where μ is 0, so that σ has nothing to sample."""
    thetas = []
    for sigma in (1.0, 0.0):
        table = TableCoder(2, 2)
        agent = Agent(table if coded else (lambda state, table=table: table(state)), np.random.default_rng(0),
                      sigma=sigma, lam=0.0, gamma=1.0, alpha=0.5, eta=0.0, epsilon=0.0, corrected=True)  # fmt: skip
        agent.learn(1, 0, 1.0, 0, 0, terminated=True)  # now action 0 is the greedy one in state 1
        agent.learn(1, 1, 0.5, 0, 0, terminated=True)
        agent.learn(0, 0, 0.0, 1, 1, terminated=False)
        thetas.append(agent.theta.tolist())
    assert thetas == [[0.0, 0.0, 0.5, 0.25], [0.25, 0.0, 0.5, 0.25]]


# saved

RATES = {
    "alpha": Anneal(0.05, 0.01, 300),
    "epsilon": Anneal(1.0, 0.05, 5, shape="geometric", by="episode"),
}


def makers():
    return {
        "tiles": lambda rng: Agent(tiled(), rng, sigma=0.5, **RATES),
        "table": lambda rng: Agent(
            TableCoder((7, 5), 3, first=(-3, 0)), rng, corrected=True, target="greedy"
        ),
        "dense": lambda rng: Agent(sines, rng, eta=0.1),
    }


def sines(state):
    return np.kron(np.eye(3), np.sin(np.outer(np.atleast_1d(state), [1, 2, 3])).ravel())


def turned(path, kind):
    """A path whose states fit a table."""
    if kind != "table":
        return path
    return [
        ((int(3 * s[0]), int(2 * s[1])), a, r, (int(3 * t[0]), int(2 * t[1])), b, e)
        for s, a, r, t, b, e in path
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tiles", "table", "dense"])
@pytest.mark.parametrize(
    "bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64]
)
def test_an_agent_that_was_saved_goes_on_to_the_bit(tmp_path, kind, bits):
    agent = makers()[kind](np.random.Generator(bits(3)))
    first, second = turned(walk(333), kind), turned(walk(200, seed=1), kind)
    follow(agent, first)
    agent.act(first[0][0])
    path = agent.save(tmp_path / "agent.npz")
    again = Agent.load(path, sines if kind == "dense" else None)
    assert (again.steps, again.episodes, again.alpha, again.epsilon) == (
        agent.steps, agent.episodes, agent.alpha, agent.epsilon,
    )  # fmt: skip
    np.testing.assert_array_equal(follow(agent, second), follow(again, second))
    np.testing.assert_array_equal(agent.theta, again.theta)
    assert [agent.act(row[0]) for row in second] == [again.act(row[0]) for row in second]


def test_a_saved_agent_is_the_same_file_byte_for_byte(tmp_path):
    for name in "ab":
        agent = makers()["tiles"](np.random.default_rng(3))
        follow(agent, walk(50))
        agent.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_cannot_be_saved_or_loaded_is_said(tmp_path):
    with pytest.raises(
        ValueError, match=r"epsilon is .*; to be saved it should be a number or an Anneal"
    ):
        Agent(tiled(), np.random.default_rng(0), epsilon=lambda step: 0.5).save(
            tmp_path / "agent.npz"
        )
    Agent(sines, np.random.default_rng(0)).save(tmp_path / "own.npz")
    told = "given: the agent had a function of its own"
    with pytest.raises(ValueError, match=rf"^features is None; it should be {told}$"):
        Agent.load(tmp_path / "own.npz")
    assert Agent.load(tmp_path / "own.npz", sines).steps == 0
    Agent(tiled(), np.random.default_rng(0)).save(tmp_path / "tiles.npz")
    told = "left out: the file has them"
    with pytest.raises(
        ValueError, match=rf"^features is <function sines at .*>; it should be {told}$"
    ):
        Agent.load(tmp_path / "tiles.npz", sines)
    with pytest.raises(FileNotFoundError):
        Agent.load(tmp_path / "none.npz")


@pytest.mark.parametrize("name", ["alpha", "epsilon"])
def test_a_rate_of_ones_own_is_not_saved(tmp_path, name):
    agent = Agent(tiled(), np.random.default_rng(0), **{name: halved})
    told = "to be saved it should be a number or an Anneal"
    with pytest.raises(ValueError, match=rf"^{name} is <function halved at .*>; {told}$"):
        agent.save(tmp_path / "agent.npz")
    assert not (tmp_path / "agent.npz").exists()


def halved(step):
    return 0.5


def test_a_file_holds_all_that_an_agent_is(tmp_path):
    rng = np.random.default_rng(3)
    agent = Agent(tiled(size=40), rng, **RATES)
    with pytest.warns(UserWarning, match="size is 40"):
        follow(agent, walk(50))
    header, arrays = unpack(agent.save(tmp_path / "agent.npz").read_bytes())
    assert header["format"] == "gqlib agent 1"
    assert header["counts"] == [agent.steps, agent.episodes]
    assert agent.steps == 50
    assert header["rng"] == rng.bit_generator.state
    assert header["overfull"] == agent.features.overfull > 0
    assert header["settings"] == {
        "sigma": 0.0, "lam": 0.9, "gamma": 0.99, "alpha": dataclasses.asdict(RATES["alpha"]), "eta": 1.0,
        "epsilon": dataclasses.asdict(RATES["epsilon"]), "target": "epsilon-greedy", "corrected": False, "learner": "gq",
    }  # fmt: skip
    corners = {"low": [-1.0, 0.0], "high": [1.0, 2.0], "tiles_per_side": [3.0, 4.0]}
    assert header["features"] == ["tiles", corners | {"actions": 3, "tilings": 8, "size": 40}]
    assert set(arrays) == {"weights", "lazy", "touched", "tiles"}
    np.testing.assert_array_equal(arrays["tiles"], agent.features.tiles_met)
    again = Agent.load(tmp_path / "agent.npz")
    assert (again.features.overfull, again.steps, again.episodes) == (
        header["overfull"],
        50,
        agent.episodes,
    )
    assert again.alpha == RATES["alpha"]
    header, _ = unpack(makers()["table"](rng).save(tmp_path / "table.npz").read_bytes())
    assert header["features"] == ["table", {"sizes": [7, 5], "actions": 3, "first": [-3, 0]}]
    assert "overfull" not in header
    header, _ = unpack(makers()["dense"](rng).save(tmp_path / "dense.npz").read_bytes())
    assert header["features"] is None


def test_a_file_that_is_no_agent_says_why(tmp_path):
    agent = makers()["tiles"](np.random.default_rng(3))
    follow(agent, walk(20))
    header, arrays = unpack(agent.save(tmp_path / "agent.npz").read_bytes())
    path, (kind, options) = tmp_path / "bad.npz", header["features"]
    known = "'PCG64', 'PCG64DXSM', 'MT19937', 'Philox', 'SFC64'"
    changes = {
        "": ({"format": "gqlib agent 0"}, {}),
        "weights has 512 rows; it should have 513": ({"features": [kind, {**options, "size": 513}]}, {}),
        "weights has 511 rows; it should have 512": ({}, {"weights": arrays["weights"][:-1]}),
        "tiles are fewer than the weights; there should be one for each that is not zero":
            ({}, {"tiles": arrays["tiles"][:-1]}),
        f"rng is 'Bits'; it should be one of {known}": ({"rng": {**header["rng"], "bit_generator": "Bits"}}, {}),
        "counts is -1; it should be at least 0": ({"counts": [-1, 0]}, {}),
        "counts is -2; it should be at least 0": ({"counts": [0, -2]}, {}),
        f"overfull is -1; it should be from 0 to {2**53}": ({"overfull": -1}, {}),
        "lazy has shape (12,); it should have shape (13,)": ({}, {"lazy": arrays["lazy"][:-1]}),
        "'text'": ({"features": ["text", options]}, {}),
    }  # fmt: skip
    for told, (headed, held) in changes.items():
        path.write_bytes(pack({**header, **headed}, {**arrays, **held}))
        with pytest.raises(DamagedFile) as refused:
            Agent.load(path)
        assert str(refused.value) == f"{path}: holds no agent" + f": {told}" * bool(told)
    one = ({"counts": [0, 0]}, {"tiles": np.concatenate([arrays["tiles"], [[7, 9, 9, 2]]])})
    path.write_bytes(pack({**header, **one[0]}, {**arrays, **one[1]}))
    again = Agent.load(
        path
    )  # a tile more than there are weights is one that was met and not learned from
    assert (again.steps, again.episodes, again.features.used) == (0, 0, agent.features.used + 1)


def hostile(header, arrays):
    """Files with a good digest that no agent wrote."""
    yield {**header, "format": "gqlib dataset 1"}, arrays
    for name in ("settings", "counts", "rng"):
        yield {key: value for key, value in header.items() if key != name}, arrays
    for settings in (
        {"alpha": -1.0},
        {"alpha": {"first": 1}},
        {"sigma": "0"},
        {"features": "os:system"},
        {"rng": 1},
    ):
        yield {**header, "settings": {**header["settings"], **settings}}, arrays
    yield {**header, "counts": [-1, 0]}, arrays
    yield {**header, "counts": 7}, arrays
    yield {**header, "overfull": -1}, arrays
    yield {**header, "rng": {**header["rng"], "bit_generator": "BitGenerator"}}, arrays
    yield {**header, "rng": {**header["rng"], "state": 3}}, arrays
    kind, options = header["features"]
    yield {**header, "features": ["os", options]}, arrays
    yield {**header, "features": [kind, {**options, "size": 2**30}]}, arrays
    yield {**header, "features": [kind, {**options, "tilings": 2**40}]}, arrays
    yield {**header, "features": [kind, {**options, "low": []}]}, arrays
    for name in ("weights", "lazy", "touched", "tiles"):
        yield header, {key: value for key, value in arrays.items() if key != name}
        yield header, {**arrays, name: arrays[name][:-1]}
    yield header, {**arrays, "weights": arrays["weights"] * np.nan}
    yield header, {**arrays, "lazy": -arrays["lazy"]}
    yield header, {**arrays, "touched": arrays["touched"] + 10**6}
    yield header, {**arrays, "tiles": arrays["tiles"].astype(np.int8)}
    yield header, {**arrays, "own": np.zeros(3)}
    yield header, {**arrays, "tiles": arrays["tiles"] - 5}
    yield header, {**arrays, "tiles": np.repeat(arrays["tiles"], 2, axis=0)}


def test_hostile_files_are_refused(tmp_path):
    agent = makers()["tiles"](np.random.default_rng(3))
    follow(agent, walk(20))
    good = agent.save(tmp_path / "agent.npz").read_bytes()
    bad = tmp_path / "bad.npz"
    for data in (
        b"",
        good[:-1],
        good[:500],
        good.replace(b"header", b"header".upper()),
        b"\x80\x04." + good,
    ):
        bad.write_bytes(data)
        with pytest.raises(DamagedFile):
            Agent.load(bad)
    changed = list(hostile(*unpack(good)))
    assert len(changed) > 25
    for number, (header, arrays) in enumerate(changed):
        bad.write_bytes(pack(header, arrays))
        with pytest.raises(DamagedFile, match="holds no agent"):
            print(number, Agent.load(bad))


@pytest.mark.parametrize("kind", ["tiles", "table"])
def test_agents_are_pickled_and_copied(kind):
    agent = makers()[kind](np.random.default_rng(3))
    first, second = turned(walk(50), kind), turned(walk(50, seed=1), kind)
    follow(agent, first)
    for twin in (pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)):
        np.testing.assert_array_equal(follow(copy.deepcopy(agent), second), follow(twin, second))


# schedules


def test_rates_change_by_step_or_episode_and_reach_the_learner():
    rates = {"alpha": Anneal(0.1, 0.0, 10), "epsilon": Anneal(1.0, 0.0, 2, by="episode")}
    agent = Agent(tiled(), np.random.default_rng(0), **rates)
    fixed = Agent(tiled(), np.random.default_rng(0), alpha=0.1, epsilon=1.0)
    rows = [(*row[:5], False) for row in walk(12)]
    np.testing.assert_array_equal(follow(agent, rows[:1]), follow(fixed, rows[:1]))
    assert agent.rate("alpha") == pytest.approx(0.09)
    follow(agent, rows[1:])
    assert (agent.rate("alpha"), agent.rate("epsilon")) == (0.0, 1.0)
    before = agent.theta
    follow(agent, rows)
    np.testing.assert_allclose(agent.theta, before, atol=1e-13)  # α is zero: nothing is learned
    agent.end_episode()
    assert agent.rate("epsilon") == 0.5
    own = Agent(tiled(), np.random.default_rng(0), epsilon=lambda step: 1.0 / (1 + step))
    follow(own, rows[:1])
    assert own.rate("epsilon") == 0.5


@pytest.mark.parametrize(("first", "last"), [(2.0, 0.5), (0.25, 4.0)])
def test_shapes_of_a_schedule(first, last):
    """Equal differences or equal ratios, from the first to the last and no further."""
    linear, geometric = (np.array([Anneal(first, last, 6, shape=shape)(k) for k in range(10)])
                         for shape in ("linear", "geometric"))  # fmt: skip
    np.testing.assert_allclose(linear, np.interp(np.arange(10), [0, 6], [first, last]), rtol=1e-14)
    np.testing.assert_allclose(geometric[:7], np.geomspace(first, last, 7), rtol=1e-14)
    assert (geometric[7:] == geometric[6]).all()


def test_the_ends_of_a_schedule_are_held_to_the_range_of_the_rate():
    def made(**rates):
        return Agent(TableCoder(3, 2), np.random.default_rng(0), **rates)

    for wrong in (Anneal(0.5, 2.0, 5), Anneal(2.0, 0.5, 5)):
        with pytest.raises(ValueError, match=r"^epsilon is 2\.0"):
            made(epsilon=wrong)
    assert made(epsilon=Anneal(1.0, 0.0, 5)).rate("epsilon") == 1.0
    assert (
        made(alpha=Anneal(0.0, 0.5, 5)).rate("alpha") == 0.0
    )  # may begin or end at zero, and a number may not be it
    with pytest.raises(ValueError, match=r"^alpha is 0\.0"):
        made(alpha=0.0)
    for name, wrong in (("alpha", -0.5), ("epsilon", 1.5), ("epsilon", -0.5)):
        with pytest.raises(ValueError, match=rf"^{name} after 0 steps is {wrong}"):
            made(**{name: lambda step, wrong=wrong: wrong}).rate(name)
    with pytest.raises(ValueError, match=r"^name is 'eta'"):
        made().rate("eta")


@pytest.mark.parametrize(
    ("options", "name"),
    [({"first": -1.0}, "first"), ({"over": 0}, "over"), ({"shape": "cubic"}, "shape"), ({"by": "year"}, "by"),
     ({"last": 0.0, "shape": "geometric"}, "last")],
)  # fmt: skip
def test_schedules_refuse(options, name):
    with pytest.raises(ValueError, match=f"^{name}"):
        Anneal(**({"first": 1.0, "last": 0.1, "over": 5} | options))


def test_rates_out_of_range_are_refused_when_they_get_there():
    agent = Agent(tiled(), np.random.default_rng(0), epsilon=lambda step: 2.0)
    with pytest.raises(ValueError, match=r"epsilon after 0 steps is 2\.0"):
        agent.act([0.0, 1.0])


# environments

BOX = {"low": [-2.4, -3.0, -0.21, -3.0], "high": [2.4, 3.0, 0.21, 3.0]}


class Corridor:
    """Steps 0..3 to the right; ends at 3, or is cut off after 5 steps."""

    def reset(self, seed=None):
        self.at, self.age = 0, 0
        return np.array([self.at / 3]), {}

    def step(self, action):
        self.at, self.age = max(0, self.at + (1 if action == 1 else -1)), self.age + 1
        return np.array([self.at / 3]), -1.0, self.at == 3, self.age == 5, {}


def corridor_agent(**options):
    return Agent(
        TileCoder([0.0], [1.0], 2, tiles_per_side=4, tilings=4, size=128),
        np.random.default_rng(0),
        **options,
    )


def test_a_budget_of_steps_ends_in_the_middle_of_an_episode():
    whole, cut = corridor_agent(), corridor_agent()
    everything = play(Corridor(), whole, 20, seed=0)
    some = play(Corridor(), cut, steps=int(everything.lengths[:3].sum()) + 2, seed=0)
    assert some == dataclasses.replace(everything, **{name: getattr(everything, name)[:3] for name in
                                                      ("returns", "lengths", "truncated")})  # fmt: skip
    assert cut.steps == everything.lengths[:3].sum() + 2
    assert not cut.trace.any()
    assert len(play(Corridor(), corridor_agent(), 2, steps=1000, seed=0).lengths) == 2
    with pytest.raises(ValueError, match=r"^episodes is None, and so is steps"):
        play(Corridor(), corridor_agent(), seed=0)


def test_the_seed_is_for_the_first_reset_and_an_end_is_no_cut():
    class Both(Corridor):
        def reset(self, seed=None):
            seeded.append(seed)
            return super().reset()

        def step(self, action):
            state, reward, *_ = super().step(action)
            return state, reward, self.age == 3, self.age == 3, {}

    seeded = []
    played = play(Both(), corridor_agent(), 3, seed=5)
    assert played.lengths.tolist() == [3, 3, 3]
    assert not played.truncated.any()
    evaluate(Both(), None, 2, seed=6, policy=lambda state: 1)
    assert seeded == [5, None, None, 6, None]


def test_what_a_policy_of_ones_own_returns_is_an_action():
    for wrong in (-1, 2, 0.5):
        with pytest.raises(ValueError, match=rf"^what policy returns is {wrong}"):
            evaluate(
                gymnasium.make("CartPole-v1"),
                None,
                1,
                seed=0,
                policy=lambda state, wrong=wrong: wrong,
            )
    assert evaluate(
        Corridor(), None, 1, seed=0, policy=lambda state: 7
    ).truncated.all()  # it does not say how many
    with pytest.raises(ValueError, match=r"^what policy returns is -1"):
        evaluate(Corridor(), None, 1, seed=0, policy=lambda state: -1)


def test_runs_of_a_setting_are_those_of_the_agent_that_it_describes():
    coding = BOX | {"tiles_per_side": (2, 3, 4, 5), "tilings": 4, "size": 1024}
    rates = {"sigma": 0.3, "lam": 0.7, "gamma": 0.95, "alpha": 0.05, "eta": 0.5, "epsilon": 0.3, "target": "greedy",
             "corrected": True}  # fmt: skip
    setting = GymSetting("CartPole-v1", **coding, **rates, options='{"sutton_barto_reward": true}', episodes=3,
                         max_steps=40)  # fmt: skip
    found = gym_runs(setting, 1, 7, first_run=2)
    env = gymnasium.make("CartPole-v1", max_episode_steps=40, sutton_barto_reward=True)
    agent = Agent(tile_coder(env, **coding), seeds.generator(7, 2, seeds.GYM_EXPLORATION), **rates)
    begin = int(seeds.sequence(7, 2, seeds.GYM_ENVIRONMENT).generate_state(1)[0])
    played = play(env, agent, 3, seed=begin)
    for name in ("returns", "lengths", "truncated"):
        np.testing.assert_array_equal(found[name], [getattr(played, name)])
    assert found["theta_norm"].tolist() == [np.linalg.norm(agent.theta)]
    assert found["theta_norm"][0] > 0.0
    assert found["diverged"].tolist() == [False]


def test_a_callback_sees_every_episode_and_may_stop():
    told = []
    played = play(
        Corridor(),
        corridor_agent(),
        9,
        seed=0,
        callback=lambda *row: told.append(row) or len(told) == 4,
    )
    assert told == list(
        zip(range(4), played.returns.tolist(), played.lengths.tolist(), strict=True)
    )
    for goes_on in (None, 1, "stop"):
        played = play(
            Corridor(), corridor_agent(), 3, seed=0, callback=lambda *row, goes_on=goes_on: goes_on
        )
        assert len(played.returns) == 3


def test_progress_is_shown_when_asked_for(capsys):
    play(Corridor(), corridor_agent(), 3, seed=0, progress=True)
    told = capsys.readouterr().err
    assert "3/3" in told
    assert "episodes" in told
    play(Corridor(), corridor_agent(), steps=7, seed=0, progress=True)
    assert "7/7" in capsys.readouterr().err
    play(Corridor(), corridor_agent(), 3, seed=0, progress=False)
    assert capsys.readouterr().err == ""


def test_evaluation_follows_its_policy_and_changes_nothing():
    agent = corridor_agent(epsilon=0.5, alpha=0.1, gamma=1.0)
    play(Corridor(), agent, 60, seed=0)
    before, theta, used = agent.rng.bit_generator.state, agent.theta, agent.features.used
    greedy = evaluate(Corridor(), agent, 4, seed=0)
    assert greedy.lengths.tolist() == [3, 3, 3, 3]
    assert greedy == play(Corridor(), agent, 4, seed=0, learn=False)
    soft = evaluate(Corridor(), agent, 40, seed=0, policy="epsilon-greedy")
    assert soft.lengths.mean() > 3.2
    assert soft == evaluate(Corridor(), agent, 40, seed=0, policy="epsilon-greedy")
    assert evaluate(Corridor(), None, 2, seed=0, policy=lambda state: 0).truncated.all()
    assert agent.rng.bit_generator.state == before
    np.testing.assert_array_equal(agent.theta, theta)
    assert (agent.features.used, agent.episodes) == (used, 60)
    with pytest.raises(ValueError, match="policy is 'softmax'"):
        evaluate(Corridor(), agent, 1, seed=0, policy="softmax")
    with pytest.raises(ValueError, match="agent is None"):
        evaluate(Corridor(), None, 1, seed=0)
    actions = []
    env = gymnasium.make("MountainCar-v0", max_episode_steps=300)
    env.unwrapped.step, step = (
        lambda action: actions.append(action) or step(action),
        env.unwrapped.step,
    )
    evaluate(env, None, 1, seed=0, policy="random")
    assert np.bincount(actions).min() > 70


class Stops(Corridor):
    """Somebody presses Ctrl-C in the seventh step."""

    left = 7

    def step(self, action):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return super().step(action)


def test_an_interrupted_evaluation_keeps_its_episodes():
    with pytest.raises(Interrupted) as told:
        evaluate(Stops(), None, 9, seed=0, policy=lambda state: 1)
    assert told.value.played.lengths.tolist() == [3, 3]


def test_a_callback_that_raises_loses_no_episode_and_counts_none_twice():
    def third(number, total, length):
        if number == 2:
            raise RuntimeError("enough")

    agent, whole = corridor_agent(), corridor_agent()
    with pytest.raises(RuntimeError, match="enough") as told:
        play(Corridor(), agent, 9, seed=0, callback=third)
    assert told.value.played == play(Corridor(), whole, 3, seed=0)
    assert told.value.__cause__ is None
    assert agent.episodes == whole.episodes == 3
    np.testing.assert_array_equal(agent.theta, whole.theta)


def test_an_error_of_the_environment_comes_with_the_episodes_before_it():
    class Breaks(Corridor):
        left = 7

        def step(self, action):
            self.left -= 1
            if not self.left:
                raise OSError("no sensor")
            return super().step(action)

    agent = corridor_agent()
    with pytest.raises(OSError, match="no sensor") as told:
        play(Breaks(), agent, 9, seed=0)
    assert 1 <= len(told.value.played.lengths) <= 2
    assert told.value.played.lengths.sum() <= 6
    assert not agent.trace.any()
    with pytest.raises(
        KeyboardInterrupt, match=r"^2 episodes finished; they are in the exception's `played`$"
    ):
        evaluate(Stops(), None, 9, seed=0, policy=lambda state: 1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_side_by_side_an_interrupt_leaves_no_trace_and_keeps_the_episodes(error, monkeypatch):
    def both():
        envs = gymnasium.make_vec("FrozenLake-v1", num_envs=2, vectorization_mode="sync")
        return envs, [
            Agent(features_of(envs), np.random.default_rng(run), epsilon=1.0) for run in range(2)
        ]

    envs, agents = both()
    steps, step = [], envs.step

    def stops(actions):
        steps.append(actions)
        if len(steps) > 30:
            raise error
        return step(actions)

    monkeypatch.setattr(envs, "step", stops)
    with pytest.raises(error) as told:
        play_side_by_side(envs, agents, 50, seed=0)
    expected = play_side_by_side(*both(), 50, seed=0)
    for agent, kept, all_of_it in zip(agents, told.value.played, expected, strict=True):
        count = len(kept.lengths)
        assert 1 <= count < 50
        assert kept.lengths.tolist() == all_of_it.lengths[:count].tolist()
        assert kept.lengths.sum() <= agent.steps <= 30
        assert not agent.trace.any()


@pytest.mark.parametrize(
    ("space", "wanted", "state", "index"),
    [
        (gymnasium.spaces.Discrete(5, start=2), "5 states", 4, 2),
        (gymnasium.spaces.MultiDiscrete([3, 4]), "3×4 states", np.array([2, 1]), 9),
        (gymnasium.spaces.MultiBinary(3), "2×2×2 states", np.array([1, 0, 1], dtype=np.int8), 5),
        (
            gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(3), gymnasium.spaces.Discrete(2)]),
            "3×2 states",
            (2, 1),
            5,
        ),
    ],
)
def test_states_that_can_be_numbered_get_a_table(space, wanted, state, index):
    class Env:
        observation_space, action_space = space, gymnasium.spaces.Discrete(2)

    coder = features_of(Env())
    assert repr(coder) == f"TableCoder({wanted}, 2 actions)"
    assert coder.active(state).ravel().tolist() == [2 * index, 2 * index + 1]
    with pytest.raises(ValueError, match="options are size"):
        features_of(Env(), size=5)


def test_what_has_no_features_is_refused():
    class Env:
        observation_space, action_space = gymnasium.spaces.Text(3), gymnasium.spaces.Discrete(2)

    with pytest.raises(ValueError, match="FlattenObservation"):
        features_of(Env())
    coder = TableCoder((3, 2), 2)
    for state in ((3, 0), (0,), 1.5, (0, "a"), None):
        with pytest.raises(ValueError, match="state"):
            coder(state)
    for arguments in (
        {"sizes": 0},
        {"sizes": ()},
        {"first": (1, 2, 3)},
        {"actions": 0},
        {"sizes": 2**40},
    ):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            TableCoder(**({"sizes": (3, 2), "actions": 2} | arguments))


@pytest.mark.slow
def test_a_table_learns_the_lake_and_a_game_of_cards():
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    agent = Agent(features_of(lake), np.random.default_rng(0), alpha=0.5, eta=0.0, lam=0.9, gamma=0.95,
                  epsilon=Anneal(1.0, 0.05, 300, by="episode"))  # fmt: skip
    play(lake, agent, 400, seed=0)
    assert evaluate(lake, agent, 1, seed=0).lengths.tolist() == [6]
    cards = gymnasium.make("Blackjack-v1")
    agent = Agent(features_of(cards), np.random.default_rng(0), alpha=0.05, eta=0.0, gamma=1.0)
    play(cards, agent, 3000, seed=0)
    learned = evaluate(cards, agent, 2000, seed=1).returns.mean()
    assert learned > evaluate(cards, agent, 2000, seed=1, policy="random").returns.mean() + 0.15


@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP"])
@pytest.mark.parametrize(("name", "options"), [("CartPole-v1", BOX), ("Blackjack-v1", {})])
def test_side_by_side_is_one_after_the_other_to_the_bit(mode, name, options):
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    def make():
        return gymnasium.make(name, max_episode_steps=40)

    envs = SyncVectorEnv([make] * 3, autoreset_mode=AutoresetMode[mode])
    agents = [Agent(features_of(envs, **options), np.random.default_rng(run)) for run in range(3)]
    together = play_side_by_side(envs, agents, 6, seed=5)
    for run, (agent, played) in enumerate(zip(agents, together, strict=True)):
        alone = Agent(features_of(make(), **options), np.random.default_rng(run))
        assert play(make(), alone, 6, seed=5 + run) == played
        np.testing.assert_array_equal(alone.theta, agent.theta)
    watched = play_side_by_side(envs, agents, 2, seed=9, learn=False)
    assert watched[1] == play(make(), agents[1], 2, seed=10, learn=False)


def test_side_by_side_refuses_one_agent_for_all():
    envs = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    agent = Agent(tiled(), np.random.default_rng(0))
    with pytest.raises(ValueError, match="2 different agents"):
        play_side_by_side(envs, [agent, agent], 1, seed=0)
    with pytest.raises(ValueError, match="envs"):
        play_side_by_side(Corridor(), [agent], 1, seed=0)


def test_what_was_played_and_who_played_are_told():
    played = Played(np.array([1.0, 2.0, 6.0]), np.array([3, 4, 5]), np.array([True, False, False]))
    assert repr(played) == "Played(3 episodes, mean return 3, mean length 4, 1 cut off)"
    table = played._repr_html_()
    assert "<td>-3.572 to 9.572</td>" in table  # 3 ± 4.303·√(7/3)
    one = Played(np.array([1.0]), np.array([3]), np.array([True]))
    assert repr(one) == "Played(1 episode, mean return 1, mean length 3, 1 cut off)"
    assert (
        repr(Played(*np.zeros((2, 0)), np.zeros(0, dtype=bool))) == "Played(0 episodes, 0 cut off)"
    )
    assert played == Played(played.returns.copy(), played.lengths, played.truncated)
    assert hash(played) == hash(pickle.loads(pickle.dumps(played)))
    assert played != dataclasses.replace(played, lengths=np.array([3, 4, 6]))
    assert (played == 3) is False
    agent = Agent(
        TableCoder(3, 2), np.random.default_rng(0), corrected=True, alpha=Anneal(0.5, 0.1, 5)
    )
    assert repr(agent) == "Agent(corrected GQ(0, 0.9), TableCoder(3 states, 2 actions), 0 steps)"
    assert '<th scope="row">α now</th><td>0.5</td>' in agent._repr_html_()
    assert repr(Agent(sines, np.random.default_rng(0))) == "Agent(GQ(0, 0.9), sines, 0 steps)"


@pytest.mark.parametrize("corrected", [False, True])
def test_play_is_act_and_learn_to_the_bit(corrected):
    """`play` looks at a state once where a loop by hand looks twice."""

    def made():
        env = gymnasium.make("CartPole-v1")
        coder = tile_coder(env, low=[-2.4, -3, -0.21, -3], high=[2.4, 3, 0.21, 3], size=2048)
        epsilon = Anneal(0.5, 0.1, 100)
        return env, Agent(
            coder,
            np.random.default_rng(0),
            sigma=0.5,
            alpha=0.02,
            epsilon=epsilon,
            corrected=corrected,
        )

    (env, one), (other_env, two) = made(), made()
    played = play(env, one, 8, seed=3)
    lengths = []
    for episode in range(8):
        state, _ = other_env.reset(seed=None if episode else 3)
        action, over, steps = two.act(state), False, 0
        while not over:
            after, reward, terminated, truncated, _ = other_env.step(action)
            following = two.act(after)
            two.learn(state, action, reward, after, following, terminated=terminated)
            state, action, steps, over = after, following, steps + 1, terminated or truncated
        two.end_episode()
        lengths.append(steps)
    assert played.lengths.tolist() == lengths
    np.testing.assert_array_equal(one.theta, two.theta)
    assert (one.steps, one.episodes) == (two.steps, two.episodes)
    assert one.rng.bit_generator.state == two.rng.bit_generator.state


def test_play_calls_what_a_subclass_overrides():
    class Timid(Agent):
        def act(self, state):
            return 0

    env = gymnasium.make("CartPole-v1")
    coder = tile_coder(env, low=[-2.4, -3, -0.21, -3], high=[2.4, 3, 0.21, 3], size=512)
    assert (
        play(env, Timid(coder, np.random.default_rng(0)), 3, seed=0).lengths.max() < 12
    )  # always to the left


def test_the_first_of_values_that_tie_is_greedy():
    """Within the tolerance of a tie the first action is taken, beyond it the largest; −1 where a value is none."""
    rows, lazy, values = np.array([[0], [1], [2]]), _steps.empty(), np.zeros(3)
    lazy[_steps.G] = 0.5
    for weights, wanted in (
        ([1.0, 1.0 + TIE / 2, 0.0], 0), ([1.0, 1.0 + 2 * TIE, 0.0], 1), ([0.0, 1.0, 1.0 + TIE / 2], 1),
        ([0.0, 1.0, 1.0 + 2 * TIE], 2), ([1.0, 1.0, 1.0], 0), ([1.0, np.inf, 1.0], -1), ([np.nan, 1.0, 1.0], -1),
    ):  # fmt: skip
        held = np.column_stack(
            [np.array(weights) - 2.0, np.full(3, 4.0), np.zeros((3, 2))]
        )  # θ = T + E/2
        assert _steps.greedy(rows, held.reshape(-1), lazy, values) == wanted
        if wanted >= 0:
            np.testing.assert_allclose(values, weights, rtol=1e-15)


@pytest.mark.parametrize(
    ("bits", "path", "last"),
    [(np.random.MT19937, ("state", "pos"), 624), (np.random.Philox, ("buffer_pos",), 4)],
)
def test_a_generator_that_would_read_outside_its_memory_is_refused(tmp_path, bits, path, last):
    """NumPy takes any place in the generator's memory and reads there: a file could end the process."""
    agent = Agent(TableCoder(3, 2), np.random.Generator(bits(0)))
    header, arrays = unpack(agent.save(tmp_path / "x.npz").read_bytes())
    within = header["rng"]["state"] if len(path) > 1 else header["rng"]
    for place in (-1, last + 1, 10**9, -(10**9), 1.5, None):
        within[path[-1]] = place
        (tmp_path / "x.npz").write_bytes(pack(header, arrays))
        with pytest.raises(
            DamagedFile, match=f"holds no agent: the place in rng is {place}; it should be"
        ):
            Agent.load(tmp_path / "x.npz")
    for place in (0, last):
        within[path[-1]] = place
        (tmp_path / "x.npz").write_bytes(pack(header, arrays))
        assert Agent.load(tmp_path / "x.npz").act(0) in (0, 1)


def test_a_file_cannot_ask_for_more_tiles_than_memory(tmp_path):
    """Two bytes of a small file would fill the memory in the first step."""
    agent = Agent(TileCoder([0.0], [1.0], 2, tilings=4, size=16), np.random.default_rng(0))
    header, arrays = unpack(agent.save(tmp_path / "x.npz").read_bytes())
    for tilings, fits in ((2**19, True), (2**19 + 1, False), (2**29, False)):
        header["features"][1]["tilings"] = tilings
        (tmp_path / "x.npz").write_bytes(pack(header, arrays))
        if fits:
            assert Agent.load(tmp_path / "x.npz").features.tilings == tilings
            continue
        with pytest.raises(
            DamagedFile, match=r"the number of tiles of a state is .+; it should be at most 1048576"
        ):
            Agent.load(tmp_path / "x.npz")


def test_a_file_cannot_ask_for_a_product_that_takes_hours(tmp_path, monkeypatch):
    """A megabyte of factors, compressed to a few hundred bytes, whose product has a million digits."""
    agent = Agent(TableCoder(3, 2), np.random.default_rng(0))
    header, arrays = unpack(agent.save(tmp_path / "x.npz").read_bytes())
    header["features"][1]["sizes"] = [3] * 500
    (tmp_path / "x.npz").write_bytes(pack(header, arrays))
    largest, room = [], features.check.room
    monkeypatch.setattr(
        features.check, "room", lambda *given: (largest.append(given[-1]), room(*given))
    )
    with pytest.raises(DamagedFile, match="holds no agent: sizes is"):
        Agent.load(tmp_path / "x.npz")
    assert len(largest) < 25
    assert max(largest) < 100 * features.check.ROOM


@pytest.mark.parametrize("coder", [tiled(), TableCoder((3, 2), 2)], ids=["tiles", "table"])
def test_what_says_how_many_features_there_are_cannot_change(coder):
    """Compiled code goes by these numbers, in arrays that were made for the first ones."""
    for name in ("size", "actions", "tilings" if isinstance(coder, TileCoder) else "sizes"):
        before = getattr(coder, name)
        with pytest.raises(
            AttributeError, match=f"{name} of a {type(coder).__name__} cannot change"
        ):
            setattr(coder, name, 10**6)
        assert getattr(coder, name) == before


def test_a_shallow_copy_of_a_coder_has_a_memory_of_its_own():
    """Both would number tiles by one count, each in a table of its own, of which the smaller would be left."""
    first = TileCoder([0.0], [1.0], 1, tiles_per_side=10**4, tilings=1, size=10**5)
    second = copy.copy(first)
    for place in range(3000):
        first.active([(place + 0.5) / 10**4])
    assert (first.used, second.used) == (3000, 0)
    assert [second.active([place / 10]).tolist() for place in (1, 2)] == [[[0]], [[1]]]
    assert len(second._keys) < 3000
