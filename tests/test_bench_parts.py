"""What the benchmark hands to its clock: the work itself, done once, and what is made of the times."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

from benchmarks import agents, costs, general, matrices, peers, plain, prediction, store
from benchmarks import engine as bench
from benchmarks.timing import least_seconds
from gqlib.control import ControlSetting
from gqlib.control.engine import engine_setting
from gqlib.control.tile_tables import tile_table
from gqlib.domains import mountain_car as car
from gqlib.engine import EngineSetting
from gqlib.experiments.today_control import ROWS
from gqlib.learners import gq_step


@pytest.fixture
def encodings(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The encodings that files are written in: what is written must not depend on the language of the machine."""
    noted: list[Any] = []
    write = Path.write_text

    def noting(path: Path, text: str, encoding: str | None = None) -> int:
        noted.append(encoding)
        return write(path, text, encoding="utf-8")

    monkeypatch.setattr(Path, "write_text", noting)
    return noted


class Clock:
    """In the place of `least_seconds`: does the work as often as asked for, keeps what it returns, makes up times."""

    def __init__(self, *seconds: float) -> None:
        self.seconds, self.done, self.repeats, self.clocks = list(seconds), [], [], []

    def __call__(
        self, work: Callable[[], Any], repeats: int, clock: Any = time.perf_counter
    ) -> float:
        self.done.append([work() for _ in range(repeats)])
        self.repeats.append(repeats)
        self.clocks.append(clock)
        return self.seconds.pop(0)


def test_the_shortest_time_is_taken_of_as_many_as_were_asked_for() -> None:
    ticks, calls = iter([1.0, 4.0, 5.0, 6.5, 7.0, 9.0]), []
    assert least_seconds(lambda: calls.append(1), 3, lambda: next(ticks)) == 1.5
    assert len(calls) == 3


def test_what_a_sigma_costs_is_the_time_of_a_problem_and_of_its_matrix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(2.0, 3.0, 5.0)
    monkeypatch.setattr(matrices, "least_seconds", clock)
    found = matrices.cost_of_a(12, 3, 2)
    assert found == {
        "solve": 2.0,
        "A": 3.0,
        "A_ratio": 1.5,
        "problem_and_A": 5.0,
        "problem_and_A_ratio": 2.5,
    }
    assert clock.repeats == [2, 2, 2]
    solved, alone, both = (results[0] for results in clock.done)
    # The same problem, written down: uniform weights, γ = 0.99, σ = 0.5, λ = 0.9.
    rng = np.random.default_rng(0)
    p_mu, p_pi = rng.dirichlet(np.ones(12), size=(2, 12))
    features, rewards = rng.standard_normal((12, 3)), rng.standard_normal(12)
    np.testing.assert_allclose((np.eye(12) - 0.99 * 0.9 * p_mu) @ solved, rewards, atol=1e-12)
    mean = p_pi + 0.5 * (p_mu - p_pi)
    weights = np.linalg.inv(np.eye(12) - 0.99 * 0.9 * p_mu)
    wanted = features.T @ (np.eye(12) / 12) @ weights @ (0.99 * mean - np.eye(12)) @ features
    np.testing.assert_allclose(alone, wanted, atol=1e-12)
    np.testing.assert_array_equal(both, alone)
    for name in ("n", "d"):
        with pytest.raises(ValueError, match=rf"^{name} is 0; it should be at least 1$"):
            matrices.cost_of_a(**({"n": 12, "d": 3} | {name: 0}))
        with pytest.raises(ValueError, match=rf"^{name} is 2\.5; it should be a whole number$"):
            matrices.cost_of_a(**({"n": 12, "d": 3} | {name: 2.5}))
    clock.seconds = [1.0] * 3
    matrices.cost_of_a(1, 1, 1)
    assert [results[0].shape for results in clock.done[3:]] == [(1,), (1, 1), (1, 1)]


def test_what_a_sigma_costs_is_found_for_the_sizes_that_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two thousand pairs and two hundred features, three times, each with a problem of its own."""
    shapes: list[Any] = []

    def problem(*arrays: Any) -> Any:
        shapes.append([np.shape(array) for array in arrays])
        return SimpleNamespace(A=lambda sigma, lam: None)

    monkeypatch.setattr(matrices, "PredictionProblem", problem)
    monkeypatch.setattr(matrices, "least_seconds", lambda work, repeats: float(repeats))
    assert set(matrices.cost_of_a().values()) == {3.0, 1.0}
    assert shapes == [[(2000, 200), (2000, 2000), (2000, 2000), (2000,), (2000,), ()]] * 3


def test_prediction_is_timed_by_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty compiled runs against a thousand steps of one reference run, of each setting."""
    clock, calls = Clock(*(0.5, 3.0) * 3), []

    def run(setting: Any, runs: int, seed: int, engine: str = "fast") -> None:
        calls.append((setting.domain, setting.steps, runs, seed, engine))

    monkeypatch.setattr(prediction, "least_seconds", clock)
    monkeypatch.setattr(prediction, "run_prediction", run)
    found = prediction.prediction_ratios(1)
    steps = {
        "Baird": ("baird_star", 1000),
        "Boyan": ("boyan_chain", 2000),
        "Cart-pole": ("cart_pole", 10_000),
    }
    assert list(found) == list(steps)
    wanted = []
    for name, (domain, number) in steps.items():
        wanted += [
            (domain, number, 1, 0, "fast"),
            (domain, number, 20, 0, "fast"),
            (domain, 1000, 1, 0, "reference"),
        ]
        compiled, slow = 1e9 * 0.5 / (20 * number), 1e9 * 3.0 / 1000
        assert found[name] == pytest.approx(
            {"reference": slow, "compiled": compiled, "ratio": slow / compiled}
        )
    assert calls == wanted
    assert clock.repeats == [1] * 6
    with pytest.raises(ValueError, match=r"^repeats is 0; it should be "):
        prediction.prediction_ratios(0)
    clock.seconds = [1.0] * 6
    prediction.prediction_ratios()
    assert clock.repeats[6:] == [5] * 6


def test_the_store_that_is_opened_holds_every_task(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, filled = store.finished_store(tmp_path, 1000)
    assert (len(sweep.settings), sweep.runs, filled.directory) == (100, 10, tmp_path)
    task = sweep.tasks()[-1]
    steps = filled.get(task.name, task.header)["signed_steps"]
    assert (steps.shape, steps.dtype) == ((10, 400), np.int16)
    np.testing.assert_array_equal(steps, np.random.default_rng(1).integers(100, 5000, (10, 400)))
    assert len(filled.names()) == 100
    clock, asked = Clock(0.25), []

    def finished(folder: Any) -> Any:
        asked.append(folder.is_dir())
        return sweep, filled

    monkeypatch.setattr(store, "least_seconds", clock)
    monkeypatch.setattr(store, "finished_store", finished)
    assert store.seconds_to_open() == 0.25
    assert asked == [True]
    assert clock.repeats == [3]
    assert clock.clocks == [time.process_time]
    assert [(done.found, done.computed) for done in clock.done[0]] == [(100, 0)] * 3


# Agents


class Counted(gymnasium.Wrapper):
    """An environment that writes down what it is asked for."""

    log: list[Any]

    def reset(self, **options: Any) -> Any:
        self.log.append(options)
        return super().reset(**options)

    def step(self, action: Any) -> Any:
        self.log.append(int(action))
        return super().step(action)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What environments are asked for, from now on."""
    Counted.log = []
    make = gymnasium.make
    monkeypatch.setattr(gymnasium, "make", lambda name: Counted(make(name)))
    return Counted.log


def test_the_environment_alone_gets_actions_drawn_beforehand(log: list[Any]) -> None:
    place = agents.PLACES["CartPole"]
    assert agents.environment_alone(place, 60)() == 60
    drawn = np.random.default_rng(0).integers(2, size=60).tolist()
    assert [entry for entry in log if not isinstance(entry, dict)] == drawn
    assert log[0] == {"seed": 0}
    resets = [entry for entry in log[1:] if isinstance(entry, dict)]
    assert resets  # a pole that is pushed at random falls within sixty steps
    assert all(options == {} for options in resets)
    log.clear()
    agents.environment_alone(place, 5, seed=3)()
    assert log[0] == {"seed": 3}
    assert log[1:6] == np.random.default_rng(3).integers(2, size=5).tolist()
    log.clear()
    assert agents.environment_alone(place)() == 4000
    assert [entry for entry in log if not isinstance(entry, dict)] == np.random.default_rng(
        0
    ).integers(2, size=4000).tolist()


def test_an_agent_is_made_for_the_box_of_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}

    def features(env: Any, **options: Any) -> str:
        made["coder"] = (env, options)
        return "coder"

    def agent(coder: str, rng: np.random.Generator, **options: Any) -> Any:
        made["agent"] = (coder, rng.random(), options)
        return SimpleNamespace(steps=10)

    def play(env: Any, agent: Any, **options: Any) -> None:
        made["play"] = (env, options)
        agent.steps += options["steps"]

    monkeypatch.setattr(agents, "_made", lambda place: place.name)
    monkeypatch.setattr(agents, "features_of", features)
    monkeypatch.setattr(agents, "Agent", agent)
    monkeypatch.setattr(agents, "play", play)
    assert agents.agent_in(agents.PLACES["CartPole"], 50)() == 50
    low, high = agents.PLACES["CartPole"].box
    common = {"tilings": 8, "size": 32768}
    assert made["coder"] == (
        "CartPole-v1",
        {"tiles_per_side": 8, "low": low, "high": high, **common},
    )
    numbers = {"sigma": 0.5, "lam": 0.9, "alpha": 0.05 / 8, "eta": 0.01}
    assert made["agent"] == ("coder", np.random.default_rng(0).random(), numbers)
    assert made["play"] == ("CartPole-v1", {"steps": 50, "seed": 0, "progress": False})
    assert agents.agent_in(agents.PLACES["Acrobot"], seed=2)() == 4000
    assert made["coder"] == ("Acrobot-v1", {"tiles_per_side": 4, **common})
    assert made["agent"][1] == np.random.default_rng(2).random()
    assert made["play"][1]["seed"] == 2


def test_a_box_has_two_corners() -> None:
    for corners in (((0.0,) * 4,), ((0.0,) * 4,) * 3):
        with pytest.raises(ValueError, match=r"^zip\(\) argument 2 is "):
            agents.agent_in(agents.Place("CartPole-v1", corners))


def test_places_are_those_of_gymnasium_and_without_it_one_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for place in agents.PLACES.values():
        assert agents._made(place).spec.id == place.name
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    for call in (agents.environment_alone, agents.agent_in):
        with pytest.raises(
            ModuleNotFoundError, match=r"^this needs the package gymnasium: install gqlib\[gym\]$"
        ):
            call(agents.PLACES["CartPole"])


def test_an_agent_takes_the_steps_that_it_is_timed_for(log: list[Any]) -> None:
    work = agents.agent_in(agents.PLACES["CartPole"], 40, seed=4)
    for _ in range(2):  # it goes on learning, in an environment that begins again
        log.clear()
        assert work() == 40
        assert log[0] == {"seed": 4}
        assert len([entry for entry in log if not isinstance(entry, dict)]) == 40


def test_the_plain_loop_gets_the_same_place(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        agents, "gymnasium_steps", lambda *given, **options: asked.append((given, options))
    )
    agents.plain_loop(agents.PLACES["Acrobot"])()
    agents.plain_loop(agents.PLACES["CartPole"], 7)()
    corners = agents.PLACES["CartPole"].box
    assert asked == [
        ((400, "Acrobot-v1"), {"box": (), "sides": 4, "alpha": 0.05}),
        ((7, "CartPole-v1"), {"box": corners, "sides": 8, "alpha": 0.05}),
    ]


def test_the_peer_gets_the_same_car_tiles_and_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that plays MushroomRL's version 1 and writes down what it is told."""
    told: dict[str, Any] = {}

    def keep(name: str) -> Callable[..., Any]:
        def call(*given: Any, **options: Any) -> Any:
            told[name] = (given, options)
            return SimpleNamespace(size=7, called=name)

        return call

    class Environment:
        def __init__(self, info: Any) -> None:
            self.info = info

    class Core:
        def __init__(self, agent: Any, environment: Any) -> None:
            told["core"] = (agent, environment)

        def learn(self, **options: Any) -> None:
            told["learn"] = options

    parts = {
        "algorithms.value": {"TrueOnlineSARSALambda": keep("agent")},
        "core": {"Core": Core, "Environment": Environment, "MDPInfo": keep("info")},
        "features": {"Features": keep("features")},
        "features.tiles": {"Tiles": SimpleNamespace(generate=keep("tiles"))},
        "policy": {"EpsGreedy": keep("policy")},
        "utils": {"spaces": SimpleNamespace(Box=keep("box"), Discrete=keep("discrete"))},
        "utils.parameters": {"Parameter": lambda value: ("parameter", value)},
    }
    for name in ("", ".algorithms"):
        monkeypatch.setitem(sys.modules, f"mushroom_rl{name}", ModuleType(f"mushroom_rl{name}"))
    for name, members in parts.items():
        module = ModuleType(f"mushroom_rl.{name}")
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, f"mushroom_rl.{name}", module)
    monkeypatch.setattr(peers, "version", lambda package: f"1.0 of {package}")
    played = SimpleNamespace(
        action_space=SimpleNamespace(n=3),
        observation_space=SimpleNamespace(low=[-1.0, -2.0], high=[1.0, 2.0]),
        reset=lambda: ("first", {}),
        step=lambda action: (f"after {action}", -1.0, action == 1, action == 2, {}),
    )
    monkeypatch.setattr(
        gymnasium, "make", lambda name: played if name == "MountainCar-v0" else None
    )
    loop, known = peers.loop_of("MushroomRL", 9)
    assert known == "1.0 of mushroom-rl"
    assert loop is not None
    assert loop() == 9
    assert told["learn"] == {"n_steps": 9, "n_steps_per_fit": 1, "quiet": True}
    assert told["box"] == (([-1.0, -2.0], [1.0, 2.0]), {})
    assert told["discrete"] == ((3,), {})
    info, _ = told["info"]
    assert [getattr(one, "called", one) for one in info] == ["box", "discrete", 1.0, 10_000]
    assert told["tiles"] == ((8, [8, 8], [-1.0, -2.0], [1.0, 2.0]), {})
    assert told["features"][1]["tilings"].called == "tiles"
    assert told["policy"] == ((), {"epsilon": ("parameter", 0.1)})
    given, options = told["agent"]
    assert given[0].called == "info"
    assert given[1].called == "policy"
    assert given[2:] == (("parameter", 0.05 / 8), 0.9)
    assert options["features"].called == "features"
    assert options["approximator_params"] == {
        "input_shape": (7,),
        "output_shape": (3,),
        "n_actions": 3,
    }
    agent, adapted = told["core"]
    assert agent.called == "agent"
    assert adapted.reset() == "first"
    assert [adapted.step([action])[:3] for action in range(3)] == [
        ("after 0", -1.0, False), ("after 1", -1.0, True), ("after 2", -1.0, True),
    ]  # fmt: skip
    assert adapted.step([0])[3] == {}


def test_a_peer_with_other_names_is_left_out_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(steps: int) -> None:
        raise AttributeError(f"no loop of {steps} steps")

    monkeypatch.setattr(peers, "version", lambda package: "9.9")
    monkeypatch.setitem(peers.PEERS, "MushroomRL", peers.PEERS["MushroomRL"]._replace(loop=moved))
    told = (
        "left out, its version has other names than the one that was measured: no loop of 400 steps"
    )
    assert peers.loop_of("MushroomRL") == (None, told)


def test_without_a_peer_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(peers, "version", missing)
    assert peers.loop_of("MushroomRL") == (None, "not installed (pip install mushroom-rl)")
    with pytest.raises(
        ValueError, match=r"^name is 'nobody'; it should be one of 'MushroomRL', 'gymnax'"
    ):
        peers.loop_of("nobody")


def test_gymnax_takes_actions_at_random_in_one_compiled_scan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a stand-in that counts: every step has a key of its own, which gives the action and the step's noise."""
    taken: list[Any] = []

    class Env:
        num_actions = 3

        def reset(self, key: str, numbers: str) -> Any:
            return "seen", (key, numbers, 0)

        def step(self, key: str, state: Any, action: Any, numbers: str) -> Any:
            taken.append((key, state, action, numbers))
            return "seen", (*state[:2], state[2] + 1), 0.0, False, {}

    def scan(one: Any, state: Any, keys: Any) -> Any:
        for key in keys:
            state, kept = one(state, key)
            assert kept is None
        return state, None

    random = SimpleNamespace(
        PRNGKey=lambda seed: f"k{seed}",
        split=lambda key, count=2: [f"{key}.{n}" for n in range(count)],
        randint=lambda key, shape, low, high: (key, shape, low, high),
    )
    ready: list[Any] = []
    jax = {
        "random": random,
        "jit": lambda f: f,
        "lax": SimpleNamespace(scan=scan),
        "block_until_ready": ready.append,
    }
    made = {"MountainCar-v0": (Env(), "numbers")}
    for name, parts in (("jax", jax), ("gymnax", {"make": lambda name: made[name]})):
        module = ModuleType(name)
        vars(module).update(parts)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(peers, "version", lambda package: {"gymnax": "0.1"}[package])
    loop, told = peers.loop_of("gymnax", 2)
    assert (loop(), told) == (2, "0.1")
    assert taken == [
        ("k1.0.1", ("k0", "numbers", 0), ("k1.0.0", (), 0, 3), "numbers"),
        ("k1.1.1", ("k0", "numbers", 1), ("k1.1.0", (), 0, 3), "numbers"),
    ]
    assert ready == [("k0", "numbers", 2)]
    assert peers.loop_of("gymnax")[0]() == peers.MANY_STEPS


def test_peers_are_measured_beside_ours_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        peers, "loop_of", lambda name: ("a loop", "7") if name == "MushroomRL" else (None, "away")
    )
    for module, name in ((peers.general, "general"), (peers.general, "without_learning"), (peers, "environment_alone"),
                         (peers, "agent_in"), (peers, "plain_loop")):  # fmt: skip
        monkeypatch.setattr(module, name, lambda given, name=name: (name, given))
    asked: list[Any] = []
    monkeypatch.setattr(
        peers,
        "side_by_side",
        lambda works, repeats: asked.append((works, repeats)) or dict.fromkeys(works, 3.0),
    )
    told: list[Any] = []
    found = peers.peers(4, lambda *row: told.append(row))
    place, sarsa = agents.PLACES["MountainCar"], general.SARSA
    works = {
        "engine, Sarsa(λ)": ("general", sarsa),
        "engine, without learning": ("without_learning", sarsa),
        "Gymnasium's car alone": ("environment_alone", place),
        "agent": ("agent_in", place),
        "plain sparse Sarsa(λ) loop": ("plain_loop", place),
        "MushroomRL": "a loop",
    }
    assert asked == [(works, 4)]
    assert told == [("absent", "gymnax: away", 0.0), *(("time", name, 3.0) for name in works)]
    assert found == {
        "nanoseconds": dict.fromkeys(works, 3.0),
        "versions": {"MushroomRL": "7", "gymnax": "away"},
    }


def test_an_unknown_peer_and_a_bad_path_are_named() -> None:
    with pytest.raises(ValueError, match=r"^name is 'jax'"):
        peers.loop_of("jax")
    with pytest.raises(ValueError, match=r"^path is "):
        peers.write_peers(3, 1)


def test_peers_are_written_relative_to_the_engine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, encodings: list[Any]
) -> None:
    asked: list[Any] = []
    times = {"engine, Sarsa(λ)": 80.0, "agent": 1000.0, "gymnax": 4.444}
    monkeypatch.setattr(
        peers,
        "peers",
        lambda *given: asked.append(given) or {"nanoseconds": times, "versions": {"gymnax": "1"}},
    )
    monkeypatch.setattr(peers.time, "strftime", {"%Y-%m": "2001-02"}.__getitem__)
    path = tmp_path / "peers.json"
    assert peers.write_peers(path, 5, print) == path
    assert asked == [(5, print)]
    assert encodings == ["utf-8"]
    text = path.read_text(encoding="utf-8")
    assert text.startswith('{\n  "measured": "2001-02",\n  "versions": {\n    "gymnax": "1"\n')
    assert "Sarsa(λ)" in text
    assert text.endswith("}\n")
    assert json.loads(text)["relative"] == {"engine, Sarsa(λ)": 1.0, "agent": 12.0, "gymnax": 0.056}
    assert json.loads(text)["steps"] == {name: peer.step for name, peer in peers.PEERS.items()}


# Costs


def test_costs_are_those_of_every_learner_that_does_not_diverge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("Sarsa(λ)", "GQ(½, λ) corrected")
    settings = {name: costs.learners()[name] for name in names}
    sarsa, lost = settings.values()
    changed: list[Any] = []
    monkeypatch.setattr(costs, "learners", lambda **changes: changed.append(changes) or settings)
    ran: list[Any] = []

    def run(*given: Any) -> Any:
        ran.append(given)
        return SimpleNamespace(diverged=np.array([given[0] == lost]))

    monkeypatch.setattr(costs, "run_setting", run)
    monkeypatch.setattr(costs.general, "general", lambda setting, seed: ("general", setting, seed))
    monkeypatch.setattr(costs.general, "without_learning", lambda setting: ("bare", setting))
    works: list[Any] = []
    times = {"Sarsa(λ)": 40.0, costs.BARE: 10.0}
    monkeypatch.setattr(costs, "side_by_side", lambda *given: works.append(given) or times)
    told: list[Any] = []
    found = costs.costs(3, lambda *row: told.append(row), episodes=9)
    assert changed == [{"episodes": 9}]
    assert ran == [(sarsa, 1, 1), (lost, 1, 1)]
    assert works == [({"Sarsa(λ)": ("general", sarsa, 1), costs.BARE: ("bare", sarsa)}, 3)]
    assert found == {"Sarsa(λ)": 1.0, "GQ(½, λ) corrected": None, "the same without learning": 0.25}
    assert told == [
        ("absent", "GQ(½, λ) corrected: diverges at this setting", 0.0),
        ("time", "Sarsa(λ)", 40.0),
        ("time", "the same without learning", 10.0),
    ]
    costs.costs()
    assert works[-1][1] == 7
    costs.costs(1)
    with pytest.raises(ValueError, match=r"^repeats is 0; "):
        costs.costs(0)


def test_learners_of_the_chapter_are_at_one_setting_each() -> None:
    settings = costs.learners(episodes=3, gamma=0.5)
    assert len(set(settings.values())) == len(settings)
    for name, setting in settings.items():
        row = ROWS[name]
        assert (setting.environment, setting.learner) == ("mountain_car", row.learner)
        assert (setting.target, setting.sigma) == (row.target, row.sigma)
        assert (setting.lam, setting.alpha, setting.eta, setting.kappa) == (
            0.8,
            1 / 32,
            1 / 64,
            1.0,
        )
        assert (setting.episodes, setting.max_steps, setting.gamma) == (3, 1000, 0.5)
    # of rows that are alike in all this, the first has it
    firsts: dict[Any, str] = {}
    for name, row in ROWS.items():
        firsts.setdefault((row.learner, row.target, row.sigma), name)
    assert list(settings) == list(firsts.values())


def test_costs_are_written_with_two_decimals(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, encodings: list[Any]
) -> None:
    asked: list[Any] = []
    found = {"Sarsa(λ)": 1.0, "a": 1.23456, "b": None}
    monkeypatch.setattr(costs, "costs", lambda *given: asked.append(given) or found)
    monkeypatch.setattr(costs.time, "strftime", {"%Y-%m": "2001-02"}.__getitem__)
    path = tmp_path / "costs.json"
    assert costs.write_costs(path, 5, print) == path
    assert asked == [(5, print)]
    assert encodings == ["utf-8"]
    text = path.read_text(encoding="utf-8")
    assert text.startswith('{\n  "measured": "2001-02",\n  "repeats": 5,\n  "setting": {\n')
    assert text.endswith(
        '  "relative": {\n    "Sarsa(λ)": 1.0,\n    "a": 1.23,\n    "b": null\n  }\n}\n'
    )
    assert json.loads(text)["setting"] == costs.NUMBERS
    with pytest.raises(ValueError, match=r"^path is 3; "):
        costs.write_costs(3, 1)  # type: ignore[arg-type]


# Loops


def test_the_numpy_loop_takes_the_steps_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its actions are those of the dense step that reads like the paper, with the same random numbers.

    The memory is so large that no two tiles of a state share an index: a trace set by NumPy's indices counts them once.
    """
    setting = ControlSetting(
        p=8192, alpha=0.03, eta=0.5, lam=0.8, gamma=0.95, sigma=0.3, epsilon=0.2
    )
    seen: list[tuple[float, float, float]] = []
    advance = car.advance

    def watched(x: float, v: float, push: float, slope: float) -> tuple[float, float]:
        seen.append((x, v, push))
        assert slope == math.cos(3.0 * x)
        return placed.get(len(seen)) or advance(x, v, push, slope)

    placed = {
        40: (0.5, 0.0),
        60: (-1.2, 0.0),
    }  # a goal, to begin again after it, and the wall on the left

    monkeypatch.setattr(plain, "car", SimpleNamespace(advance=watched, GOAL=car.GOAL))
    assert plain.numpy_steps(setting, 150, seed=5) == 150
    found = list(seen)

    table, rng = tile_table(8192, 8, setting.memory), np.random.default_rng(5)
    places = table.index_rows()
    assert all(len(set(row[8 * a : 8 * a + 8])) == 8 for row in places.tolist() for a in range(3))
    theta, omega, trace = np.zeros(8192), np.zeros(8192), np.zeros(8192)

    def look(x: float, v: float) -> Any:
        phis = np.zeros((3, 8192))
        for a in range(3):
            for index in places[table.cell(x, v)][8 * a : 8 * a + 8]:
                phis[a, index] = 1.0
        greedy = int((phis @ theta).argmax())
        return phis, greedy, greedy if rng.random() >= 0.2 else int(rng.integers(3))

    x, v = -0.5, 0.0
    phis, greedy, action = look(x, v)
    for step, (at, speed, push) in enumerate(found):
        assert (at, speed, push) == (x, v, action - 1.0)
        x, v = placed.get(step + 1) or advance(x, v, action - 1.0, math.cos(3.0 * x))
        x = -0.5 if x == 0.5 else x
        phi = phis[action]
        phis, greedy, action = look(x, v)
        theta, omega, trace, _ = gq_step(
            theta, omega, trace, phi, -1.0, phis[action], phis[greedy],
            sigma=0.3, lam=0.8, gamma=0.95, alpha=0.03, beta=0.015,
        )  # fmt: skip
    assert len({push for _, _, push in found[60:]}) == 3
    assert np.abs(omega).max() > 0.01


@pytest.mark.parametrize(
    ("name", "box", "sides", "steps"),
    [("MountainCar-v0", None, 8, 430), ("CartPole-v1", agents.PLACES["CartPole"].box, 4, 300)],
)
def test_the_gymnasium_loop_is_sarsa_with_a_replacing_trace(
    monkeypatch: pytest.MonkeyPatch, name: str, box: Any, sides: int, steps: int
) -> None:
    """Action by action: tiles as tuples of coordinates, weights and trace in dictionaries, the same random numbers.

    The car is cut off after 200 steps, which is no end of the task; the pole falls, which is.
    """
    make, taken, seeds, closed = gymnasium.make, [], [], []

    class Watched(gymnasium.Wrapper):
        def reset(self, **options: Any) -> Any:
            seeds.append(options.get("seed"))
            return super().reset(**options)

        def step(self, action: Any) -> Any:
            taken.append(action)
            return super().step(action)

        def close(self) -> None:
            closed.append(True)
            super().close()

    monkeypatch.setattr(gymnasium, "make", lambda wanted: Watched(make(wanted)))
    options = {"box": box, "sides": sides, "alpha": 0.3, "lam": 0.7, "seed": 4}
    assert plain.gymnasium_steps(steps, name, **options) == steps == len(taken)
    assert seeds[0] == 4
    assert set(seeds[1:]) == {None}
    assert closed == [True]
    monkeypatch.undo()

    env, rng = gymnasium.make(name), np.random.default_rng(4)
    low, high = box or (
        env.observation_space.low.astype(float),
        env.observation_space.high.astype(float),
    )
    weights: dict[Any, float] = {}

    def tiles_of(seen: Any, action: int) -> list[Any]:
        scaled = [
            (float(x) - a) * (sides / (b - a)) for x, a, b in zip(seen, low, high, strict=True)
        ]
        return [
            (
                k,
                action,
                *((math.floor(x * 8) + (k * (1 + 2 * i)) % 8) // 8 for i, x in enumerate(scaled)),
            )
            for k in range(8)
        ]

    def look(seen: Any) -> tuple[int, float]:
        q = [
            np.array([weights.get(tile, 0.0) for tile in tiles_of(seen, a)]).sum()
            for a in range(env.action_space.n)
        ]
        action = int(np.argmax(q)) if rng.random() >= 0.1 else int(rng.integers(len(q)))
        return action, q[action]

    seen, _ = env.reset(seed=4)
    action, value = look(seen)
    trace: dict[Any, float] = {}
    ends = cuts = 0
    for step, found in enumerate(taken):
        assert found == action, step
        before = seen
        seen, reward, ended, cut, _ = env.step(action)
        trace = {tile: 0.7 * e for tile, e in trace.items() if e > 1e-3} | dict.fromkeys(
            tiles_of(before, action), 1.0
        )
        error = reward - value
        if not ended:
            action, value = look(seen)
            error += value
        for tile, e in trace.items():
            weights[tile] = weights.get(tile, 0.0) + 0.3 / 8 * error * e
        if ended or cut:
            ends, cuts = ends + ended, cuts + cut
            seen, _ = env.reset()
            trace, (action, value) = {}, look(seen)
    assert (ends, cuts) == (0, 2) if name == "MountainCar-v0" else ends > 5


def test_without_more_said_the_loops_learn_for_400_steps_on_the_car(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the actions of the numbers that are said to be those by default."""
    made, taken = gymnasium.make, []

    class Watched(gymnasium.Wrapper):
        def step(self, action: Any) -> Any:
            taken.append(action)
            return super().step(action)

    monkeypatch.setattr(gymnasium, "make", lambda wanted: Watched(made(wanted)))
    assert plain.gymnasium_steps() == 400
    by_default = taken.copy()
    plain.gymnasium_steps(400, "MountainCar-v0", box=None, sides=8, alpha=0.05, lam=0.9, seed=0)
    assert taken == 2 * by_default
    pushes: list[float] = []
    monkeypatch.setattr(
        plain,
        "car",
        SimpleNamespace(
            advance=lambda x, v, push, slope: pushes.append(push) or (x, v), GOAL=car.GOAL
        ),
    )
    setting = ControlSetting(p=512, epsilon=0.9)
    assert plain.numpy_steps(setting) == 400
    plain.numpy_steps(setting, 400, 0)
    assert pushes[:400] == pushes[400:]
    assert len(set(pushes)) == 3


def test_without_gymnasium_its_loop_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ImportError, match=r"gymnasium.*gqlib\[gym\]"):
        plain.gymnasium_steps(1)


def test_loops_refuse_by_name() -> None:
    for call in (plain.numpy_steps, plain.numba_steps):
        with pytest.raises(ValueError, match=r"^setting is 3; it should be "):
            call(3)
    for other in (general.general, general.without_learning):
        with pytest.raises(ValueError, match=r"^setting is 3; it should be "):
            other(3)


def test_the_loops_learn_on_the_table_of_their_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(
        plain, "tile_table", lambda *given: asked.append(given) or tile_table(*given)
    )
    monkeypatch.setattr(plain, "_numba_loop", lambda *given: 7)
    setting = ControlSetting(p=512, tilings=4, memory="iht")
    plain.numpy_steps(setting, 2)
    plain.numba_steps(setting)
    assert asked == [(512, 4, "iht")] * 2


def test_the_numba_loop_gets_the_numbers_of_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(plain, "_numba_loop", lambda *given: asked.append(given) or 7)
    setting = ControlSetting(
        p=512,
        tilings=4,
        gamma=0.9,
        lam=0.8,
        alpha=0.2,
        eta=0.5,
        sigma=0.3,
        epsilon=0.1,
        episodes=3,
        max_steps=11,
    )
    assert plain.numba_steps(setting, seed=4) == 7
    places, edges_x, edges_v, tilings, p, rates, episodes, limit, rng = asked[0]
    table = tile_table(512, 4, setting.memory)
    np.testing.assert_array_equal(places, table.index_rows())
    np.testing.assert_array_equal(edges_x, table.edges_x)
    np.testing.assert_array_equal(edges_v, table.edges_v)
    assert (tilings, p, episodes, limit) == (4, 512, 3, 11)
    assert rates == pytest.approx((0.9, 0.8, 0.2, 0.1, 0.3, 0.1))
    assert rng.random() == np.random.default_rng(4).random()
    plain.numba_steps(setting)
    assert asked[1][-1].random() == np.random.default_rng(0).random()


def test_the_general_engine_is_handed_its_own_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bare loop gets the weights that learning ends with, three times the episodes, and the limits of a run."""
    asked: list[tuple[Any, ...]] = []

    def ran(setting: Any, runs: int, seed: int) -> Any:
        asked.append((setting, runs, seed))
        return SimpleNamespace(steps=np.array([[3, 4]]), theta=np.array([[0.5, 0.25]]))

    def kernel(data: Any, codes: Any, theta: Any, steps: Any, streams: Any, limits: Any) -> None:
        steps[:] = -7
        asked.append((data, codes, theta.tolist(), len(steps), steps.dtype, streams, limits))

    monkeypatch.setattr(general, "run_setting", ran)
    monkeypatch.setattr(general, "parts_of", lambda *given, stride: (*given, stride))
    monkeypatch.setattr(general, "bare_of", lambda given: asked.append(given) or kernel)
    monkeypatch.setattr(general, "streams_of", lambda seed, run: (seed, run))
    setting = EngineSetting("cart_pole", "sarsa", episodes=2, epsilon=0.3)
    assert general.general(setting)() == 7
    assert asked.pop() == (setting, 1, 1)
    work = general.without_learning(setting, 9)
    environment = setting.make_environment()
    assert asked == [(setting, 1, 9), (environment, setting.make_learner(), "greedy", 1)]
    assert work() == 6 * 7
    data, codes, theta, count, kind, streams, limits = asked[-1]
    assert (data, theta, count, kind, streams) == (
        environment.data,
        [0.5, 0.25],
        6,
        np.int64,
        (9, 0),
    )
    np.testing.assert_array_equal(codes.grid, environment.coder._codes(2, 1).grid)
    assert tuple(limits) == (500, 0.3, 0.0)
    general.without_learning(replace(setting, max_steps=8))()
    assert tuple(asked[-1][-1]) == (8, 0.3, 0.0)
    assert asked[-1][-2] == (1, 0)


# The rows of the benchmark


# What each row measures: a maker of work, what it is made with, and how that differs from the base.
WORKS = {
    "plain bare loop": ("plain_bare", {}),
    "bare loop": ("bare", {}),
    "compiled": ("learning", {}),
    "plain bare loop, epsilon-greedy": ("plain_bare", {"target": "epsilon-greedy"}),
    "bare loop, epsilon-greedy": ("bare", {"target": "epsilon-greedy"}),
    "compiled, epsilon-greedy target": ("learning", {"target": "epsilon-greedy"}),
    "compiled, dynamic sigma": ("learning", {"sigma_noise": 0.01}),
    "compiled, 16 tilings": ("learning", {"tilings": 16}),
    "compiled, p = 512": ("learning", {"p": 512}),
    "compiled, p = 2048": ("learning", {"p": 2048}),
    "compiled, p = 16384": ("learning", {"p": 16384}),
    "plain Numba loop, dense, p = 512": (plain.numba_steps, {"p": 512, "episodes": 2}),
    "plain Numba loop, dense, p = 2048": (plain.numba_steps, {"p": 2048, "episodes": 2}),
    "plain Numba loop, dense, p = 16384": (plain.numba_steps, {"p": 16384, "episodes": 2}),
    "engine, mountain car": ("general", general.CLASSIC["mountain car"]),
    "the same without learning, mountain car": (
        "without_learning",
        general.CLASSIC["mountain car"],
    ),
    "engine, Acrobot": ("general", general.CLASSIC["Acrobot"]),
    "the same without learning, Acrobot": ("without_learning", general.CLASSIC["Acrobot"]),
    "engine, cart-pole": ("general", general.CLASSIC["cart-pole"]),
    "the same without learning, cart-pole": ("without_learning", general.CLASSIC["cart-pole"]),
    "engine, Sarsa, mountain car": ("general", general.SARSA),
    "plain NumPy loop": (plain.numpy_steps, {}),
    "checked reference": ("reference", {}),
    "Gymnasium loop in Python, Sarsa": plain.gymnasium_steps,
    "environment alone, CartPole": ("environment_alone", agents.PLACES["CartPole"]),
    "agent, CartPole": ("agent_in", agents.PLACES["CartPole"]),
    "plain sparse Sarsa loop, CartPole": ("plain_loop", agents.PLACES["CartPole"]),
    "environment alone, MountainCar": ("environment_alone", agents.PLACES["MountainCar"]),
    "agent, MountainCar": ("agent_in", agents.PLACES["MountainCar"]),
    "plain sparse Sarsa loop, MountainCar": ("plain_loop", agents.PLACES["MountainCar"]),
    "environment alone, Acrobot": ("environment_alone", agents.PLACES["Acrobot"]),
    "agent, Acrobot": ("agent_in", agents.PLACES["Acrobot"]),
    "plain sparse Sarsa loop, Acrobot": ("plain_loop", agents.PLACES["Acrobot"]),
    "MushroomRL, mountain car": "peer",
    "gymnax, mountain car": "peer",
}


def works_of(given: dict[str, Any]) -> dict[str, Any]:
    """The works as in `WORKS`."""
    base = asdict(bench.BASE)

    def told(part: Any) -> Any:
        if not isinstance(part, ControlSetting):
            return part
        return {name: value for name, value in asdict(part).items() if value != base[name]}

    parts = {
        name: (work.func, *work.args) if isinstance(work, partial) else work
        for name, work in given.items()
    }
    return {
        name: tuple(sorted((told(part) for part in work), key=lambda part: isinstance(part, dict)))
        if isinstance(work, tuple)
        else work
        for name, work in parts.items()
    }


def test_rows_are_made_of_the_times_that_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every time is another, so a ratio of two others than it says would show."""
    numbers = iter(range(2, 1000))
    made: dict[str, float] = {}

    def times(works: dict[str, Any], repeats: int) -> dict[str, float]:
        found = {name: float(next(numbers)) for name in works}
        made.update(found)
        given.update(works)
        asked.update(dict.fromkeys(works, repeats))
        return found

    asked: dict[str, int] = {}
    given: dict[str, Any] = {}
    more: dict[str, Any] = {}
    monkeypatch.setattr(bench, "side_by_side", times)
    for module, names in {
        bench: ("learning", "reference", "bare", "plain_bare"), general: ("general", "without_learning"),
        agents: ("environment_alone", "agent_in", "plain_loop"),
    }.items():  # fmt: skip
        for name in names:
            monkeypatch.setattr(module, name, lambda what, name=name: (name, what))
    monkeypatch.setattr(peers, "loop_of", lambda name: ("peer", f"version of {name}"))
    monkeypatch.setattr(bench, "two_workers", lambda few: more.update(workers=few) or 1.2)
    monkeypatch.setattr(bench, "two_copies", lambda few: more.update(copies=few) or 1.5)
    monkeypatch.setattr(
        bench, "prediction_ratios", lambda repeats: {"Baird": {"ratio": 10.0 * repeats}}
    )
    monkeypatch.setattr(bench, "cost_of_a", lambda repeats: {"A_ratio": 10.0 * repeats})
    monkeypatch.setattr(bench, "flush_rule", lambda tell: tell("flush", "a", 1.0) or ["flushed"])
    monkeypatch.setattr(bench, "seconds_to_open", lambda few: 0.5 * few)
    rows: list[tuple[str, str, float]] = []
    result = bench.measure(5, lambda *row: rows.append(row))
    assert result["times"] == made
    long = (
        "plain N",
        "plain sparse",
        "checked",
        "Gymnasium loop",
        "compiled, p =",
        "MushroomRL",
        "gymnax",
    )
    assert asked == {name: 3 if name.startswith(long) else 5 for name in made}
    wanted = {
        "learning / bare": ("compiled", "bare loop"),
        "learning / bare, epsilon-greedy": ("compiled, epsilon-greedy target", "bare loop, epsilon-greedy"),
        "learning / bare, dynamic sigma": ("compiled, dynamic sigma", "bare loop"),
        "learning / plain": ("compiled", "plain bare loop"),
        "learning / plain, epsilon-greedy": ("compiled, epsilon-greedy target", "plain bare loop, epsilon-greedy"),
        "learning / plain, dynamic sigma": ("compiled, dynamic sigma", "plain bare loop"),
        "Gymnasium / general": ("Gymnasium loop in Python, Sarsa", "engine, Sarsa, mountain car"),
        "MushroomRL / agent": ("MushroomRL, mountain car", "agent, MountainCar"),
        "gymnax / general": ("gymnax, mountain car", "the same without learning, mountain car"),
        "reference / NumPy": ("checked reference", "plain NumPy loop"),
        "NumPy / compiled": ("plain NumPy loop", "compiled"),
        "p = 16384 / p = 512": ("compiled, p = 16384", "compiled, p = 512"),
        "16 tilings / 8 tilings": ("compiled, 16 tilings", "compiled"),
        **{
            f"learning / bare, {name}": (f"engine, {name}", f"the same without learning, {name}")
            for name in ("mountain car", "Acrobot", "cart-pole")
        },
        **{f"dense / lazy, p = {p}": (f"plain Numba loop, dense, p = {p}", f"compiled, p = {p}")
           for p in (512, 2048, 16384)},
        **{f"agent / environment, {name}": (f"agent, {name}", f"environment alone, {name}")
           for name in agents.PLACES},
        **{f"plain / agent, {name}": (f"plain sparse Sarsa loop, {name}", f"agent, {name}")
           for name in agents.PLACES},
    }  # fmt: skip
    others = {
        "two workers / one": 1.2, "two copies / one": 1.5, "two workers / two copies": 1.2 / 1.5,
        "prediction, Baird": 50.0, "A / solve": 30.0,
    }  # fmt: skip
    assert result["ratios"] == pytest.approx(
        {k: made[a] / made[b] for k, (a, b) in wanted.items()} | others
    )
    assert more == {"workers": 3, "copies": 3}
    assert works_of(given) == WORKS
    assert result["flush"] == ["flushed"]
    assert result[bench.OPENING] == 1.5
    assert rows[-2:] == [("flush", "a", 1.0), ("open", bench.OPENING, 1.5)]
    assert result["engine_version"] == bench.ENGINE_VERSION
    assert result["peers"] == {name: f"version of {name}" for name in ("MushroomRL", "gymnax")}
    bench.measure()
    assert (asked["compiled"], asked["checked reference"]) == (7, 3)


def test_tasks_of_the_benchmark_are_runs_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    monkeypatch.setattr(
        bench, "one_run", lambda *given: asked.append(given) or (np.array([-3, 4]),)
    )
    assert bench._task(5, 2) == 14
    assert asked == [(bench.BASE, 1, 5), (bench.BASE, 1, 6)]


def test_two_workers_get_the_tasks_of_one_and_two_copies_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []

    class Parallel:
        def __init__(self, n_jobs: int) -> None:
            self.jobs = n_jobs

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: Any) -> None:
            pass

        def __call__(self, work: Any) -> list[float]:
            asked.append((self.jobs, [(what.__name__, *given) for what, given, _ in work]))
            return [100.0] * len(work)

    def best(work: Callable[[], int], repeats: int, clock: Any) -> float:
        asked.append((work(), repeats, clock))
        return 12.0 / asked[-2][0] ** 0.5

    monkeypatch.setattr("joblib.Parallel", Parallel)
    monkeypatch.setattr(bench, "best", best)
    assert bench.two_workers(4) == pytest.approx(math.sqrt(2.0))
    tasks = [("_task", 16 * k, 16) for k in range(32)]
    assert asked == [
        (1, tasks),
        (3200.0, 4, time.perf_counter),
        (2, tasks),
        (3200.0, 4, time.perf_counter),
    ]
    asked.clear()
    assert bench.two_workers(4, 2, 3) == pytest.approx(math.sqrt(2.0))
    assert asked[0] == (1, [("_task", 0, 3), ("_task", 3, 3)])
    asked.clear()
    assert bench.two_copies(1) == 2.0
    assert asked == [(2, [("_pace", 1.0)] * count) for count in (2, 1, 2)]


def test_the_flush_rule_is_told_as_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that are off by a tenth of the threshold at the largest of two, and a time that is known."""
    asked: list[Any] = []

    def ran(
        setting: Any, seed: int, run: int, flush_below: float = 0.0, reference: bool = False
    ) -> Any:
        if reference:
            asked.append((setting, seed, run))
            return None, None, np.array([-4.0, 2.0])
        asked.append((setting, seed, run, flush_below))
        return np.array([-3, 4]), None, np.array([-4.0, 2.0 - 0.4 * flush_below])

    monkeypatch.setattr(bench, "one_run", ran)
    monkeypatch.setattr(bench, "best", lambda work, repeats: 10.0 * work() * repeats)
    told: list[Any] = []
    rows = bench.flush_rule(tell=lambda *row: told.append(row))
    thresholds = [1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-12]
    assert [row["threshold"] for row in rows] == thresholds
    assert [row["relative error"] for row in rows] == pytest.approx(
        [0.1 * t for t in thresholds], abs=1e-15
    )
    assert {row["nanoseconds"] for row in rows} == {210.0}
    assert told[1] == ("flush", "0.01       (relative error of theta 1.0e-03)", 210.0)
    assert len(told) == 7
    short = replace(bench.BASE, episodes=1, max_steps=2000, p=512)
    assert asked[:3] == [(short, 1, 0), (short, 1, 0, 0.1), (bench.BASE, 1, 0, 0.1)]
    assert bench.flush_rule((1e-2,)) == [rows[1]]


def test_the_learner_and_the_loops_without_learning_run_the_same_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    setting = ControlSetting(p=512, tilings=4, memory="iht", episodes=2, max_steps=70, epsilon=0.3)
    theta = np.arange(512.0)
    monkeypatch.setattr(
        bench, "one_run", lambda *given: asked.append(given) or (np.array([-3, 4]), None, theta)
    )
    assert bench.learning(setting)() == 7
    assert asked == [(setting, 1, 0)]

    monkeypatch.setattr(plain, "bare_steps", lambda *given: asked.append(given) or 30)
    assert bench.plain_bare(setting)() == 30
    assert asked[1:] == [(setting, 1, 0), (setting, theta, 1)]
    monkeypatch.setattr(general, "without_learning", lambda *given: given)
    assert bench.bare(setting) == (engine_setting(setting), 1)
    monkeypatch.setattr(
        bench, "one_run", lambda *given, reference: asked.append(given) or (np.array([-3, 4]),)
    )
    assert bench.reference(setting)() == 7
    assert asked[-1] == (replace(setting, episodes=1), 1, 0)
    bench.reference(replace(setting, max_steps=900))()
    assert asked[-1][0].max_steps == 300


def test_json_is_laid_out_for_reading(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        bench, "measure", lambda repeats: {"ratios": {}, bench.OPENING: 0.5 * repeats}
    )
    assert bench.bench(2, as_json=True) == 0
    assert (
        capsys.readouterr().out
        == f'{{\n  "ratios": {{}},\n  "{bench.OPENING}": 1.0,\n  "missed": []\n}}\n'
    )
