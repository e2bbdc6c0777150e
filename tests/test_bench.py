"""The benchmark: what it measures, and what it prints. Nothing here depends on how fast a machine is."""

import io
import json
import math
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import agents, costs, general, peers, plain
from benchmarks import engine as bench
from gqlib.control import ControlSetting, run_control
from gqlib.control.engine import engine_setting, one_run
from gqlib.control.tile_tables import tile_table
from gqlib.domains import mountain_car as car
from gqlib.experiments.today_control import ROWS
from gqlib.learners import gq_step

SMALL = replace(bench.BASE, episodes=1, max_steps=60, p=512)


@pytest.mark.parametrize("maker", [bench.learning, bench.reference])
def test_work_counts_its_steps(maker):
    assert maker(SMALL)() == 60


def test_bare_loop_counts_three_times_the_episodes():
    assert bench.bare(SMALL)() == 180


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7])
def test_the_plain_loop_without_learning_drives_the_car_of_the_tuned_one(epsilon, monkeypatch):
    """On what a learner has learnt, rounded so that actions tie: out of the valley, each time in other steps."""
    setting = replace(bench.BASE, alpha=0.005, lam=0.9, sigma=1.0, episodes=60)
    theta = np.round(one_run(setting, 1, 0)[2], 1)
    counts = []
    for episodes in range(1, 11):
        some = replace(setting, episodes=episodes, max_steps=3000, epsilon=epsilon)
        learnt = SimpleNamespace(theta=theta[None])
        monkeypatch.setattr(general, "run_setting", lambda *given, learnt=learnt: learnt)
        counts.append(plain.bare_steps(some, theta, 1))
        assert general.without_learning(engine_setting(some), 1)() == counts[-1]
    assert len(set(np.diff(counts)) - {9000}) > 5


def test_best_is_the_least_time_per_step():
    ticks = iter([0.0, 5.0, 10.0, 12.0, 20.0, 29.0])
    assert bench.best(lambda: 4, 3, lambda: next(ticks)) == 0.5e9


def test_flush_rule_shows_errors_that_grow_as_the_threshold_falls(monkeypatch):
    monkeypatch.setattr(bench, "BASE", replace(bench.BASE, max_steps=1500, episodes=1))
    coarse, fine = bench.flush_rule((1e-12, 1e-1))
    assert coarse["relative error"] > 1000 * fine["relative error"]


def fake(learning, opening=0.5):
    ratios = {name: bound or 1.0 for name, (_, bound, _) in bench.TARGETS.items()} | {
        "learning / bare": learning
    }
    flush = [{"threshold": 1e-3, "nanoseconds": 50.0, "relative error": 1e-13}]
    return {
        "engine_version": 1,
        "times": {"bare loop": 32.0},
        "ratios": ratios,
        "flush": flush,
        bench.OPENING: opening,
    }


def test_a_row_says_whether_its_bar_is_met():
    good, bad = (bench.as_text("ratio", "learning / bare", value) for value in (1.6, 2.1))
    assert good.endswith("at most 1.7: yes")
    assert "tuned loop without learning" in bad
    assert bad.endswith("at most 1.7: NO")
    assert bench.as_text("ratio", "two workers / two copies", 0.95).endswith("at least 0.9: yes")
    assert bench.as_text("time", "bare loop", 32.0).split() == ["bare", "loop", "32.00"]
    assert bench.as_text("open", bench.OPENING, 2.5).endswith("at most 2: NO")


def test_bars_that_are_missed_are_named():
    assert bench.missed(fake(1.6)) == []
    assert bench.missed(fake(2.1)) == ["learning / bare"]
    assert bench.missed(fake(2.1, 3.0)) == ["learning / bare", bench.OPENING]
    several = fake(0.1, 0.1)
    several["ratios"] |= {"NumPy / compiled": 99.0, "Gymnasium / general": 101.0}
    assert bench.missed(several) == ["NumPy / compiled"]
    assert bench._verdict(["a", "b / c"]) == "\nmissed: a; b / c"


def test_rows_are_printed_at_once_below_a_head_for_each_kind(monkeypatch):
    """On a stream that shows what was flushed: who waits for a row in a pipe wants it as soon as it is there."""

    class Stream(io.StringIO):
        seen = ""

        def flush(self):
            self.seen = self.getvalue()

    monkeypatch.setattr("sys.stdout", stream := Stream())
    printer = bench.Printer()
    printer("time", "a", 1.0)
    first = f"nanoseconds per step\n  {'a':<62}       1.00\n"
    assert stream.seen == first
    printer("time", "b", 2.0)
    printer("ratio", "NumPy / compiled", 30.0)
    second = f"  {'b':<62}       2.00\n\nratios\n"
    third = f"  {'plain NumPy loop / compiled, p = 1024':<62}      30.00   at least 100: NO\n"
    assert stream.seen == first + second + third


@pytest.mark.parametrize(
    ("learning", "code", "verdict"),
    [(1.5, 0, "all bars are met"), (9.0, 1, "missed: learning / bare")],
)
def test_rows_are_printed_as_they_come_and_json_only_when_asked_for(
    monkeypatch, capsys, learning, code, verdict
):
    printed = []

    def measure(repeats, tell=lambda *row: None):
        assert repeats == 2
        tell("time", "bare loop", 32.0)
        printed.append(capsys.readouterr().out)
        tell("ratio", "learning / bare", learning)
        return fake(learning)

    monkeypatch.setattr(bench, "measure", measure)
    assert bench.bench(2, as_json=False) == code
    rest = capsys.readouterr().out
    assert printed[0].splitlines()[0] == "nanoseconds per step"
    assert "bare loop" in printed[0]  # before the next row is measured
    assert rest.splitlines()[1] == "ratios"
    assert rest.splitlines()[-1] == verdict
    assert "{" not in printed[0] + rest
    assert bench.bench(2, as_json=True) == code
    wanted = fake(learning) | {"missed": bench.missed(fake(learning))}
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(wanted))


def test_every_row_of_the_result_is_told_once(monkeypatch):
    """With made-up times: what is measured has its own tests."""
    monkeypatch.setattr(bench, "best", lambda work, repeats, clock=None: 10.0 * repeats)
    monkeypatch.setattr(
        bench, "side_by_side", lambda works, repeats: dict.fromkeys(works, 10.0 * repeats)
    )
    monkeypatch.setattr(
        general, "CLASSIC", {"cart-pole": replace(general.CLASSIC["cart-pole"], episodes=1)}
    )
    monkeypatch.setattr(
        peers, "loop_of", lambda name: (lambda: 1, "7") if name == "MushroomRL" else (None, "away")
    )
    monkeypatch.setattr(bench, "two_workers", lambda repeats: 1.2)
    monkeypatch.setattr(bench, "two_copies", lambda repeats: 1.5)
    monkeypatch.setattr(bench, "prediction_ratios", lambda repeats: {"Baird": {"ratio": 200.0}})
    monkeypatch.setattr(bench, "cost_of_a", lambda repeats: {"A_ratio": 2.0})
    monkeypatch.setattr(bench, "seconds_to_open", lambda repeats: 0.5)
    monkeypatch.setattr(bench, "BASE", replace(bench.BASE, max_steps=50, episodes=1))
    rows = []
    result = bench.measure(5, lambda *row: rows.append(row))
    assert [row[1:] for row in rows if row[0] == "time"] == list(result["times"].items())
    assert [row[1:] for row in rows if row[0] == "ratio"] == list(result["ratios"].items())
    assert len([row for row in rows if row[0] == "flush"]) == len(result["flush"]) == 7
    assert rows[-1] == ("open", bench.OPENING, 0.5)
    assert result["times"]["compiled"] == 50.0
    assert (
        result["times"]["plain NumPy loop"] == 30.0
    )  # what takes long is measured three times at most
    assert result["ratios"]["MushroomRL / agent"] == 30.0 / 50.0
    assert "gymnax / general" not in result["ratios"]
    assert [row[1] for row in rows if row[0] == "absent"] == ["gymnax: away"]
    assert result["peers"] == {"MushroomRL": "7", "gymnax": "away"}
    assert result["ratios"]["two workers / two copies"] == 1.2 / 1.5
    assert set(result["ratios"]) <= set(bench.TARGETS)


@pytest.mark.slow
def test_two_workers_are_compared_on_the_same_tasks(monkeypatch):
    monkeypatch.setattr(bench, "BASE", SMALL)
    assert bench.two_workers(1, tasks=2, runs=1) > 0


def test_what_two_copies_gain_is_the_best_pace_of_both_over_that_of_one(monkeypatch):
    paces = iter([[1.0, 1.0], [10.0], [7.0, 8.0], [20.0], [16.0, 14.0], [15.0], [12.0, 12.0]])
    asked = []

    class Parallel:
        def __init__(self, n_jobs):
            assert n_jobs == 2

        __enter__ = lambda self: self  # noqa: E731
        __exit__ = lambda self, *error: None  # noqa: E731

        def __call__(self, work):
            asked.append(len(work))
            return next(paces)

    monkeypatch.setattr("joblib.Parallel", Parallel)
    assert bench.two_copies(3) == 30.0 / 20.0
    assert asked == [2, 1, 2, 1, 2, 1, 2]


def test_the_pace_is_steps_over_seconds(monkeypatch):
    ticks = iter([5.0, 5.0, 6.0, 7.0, 9.0])
    monkeypatch.setattr(bench.time, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(bench, "_task", lambda *task: {(0, 1): 30}[task])
    assert bench._pace(2.0) == 60 / 4.0


def test_side_by_side_takes_turns_and_keeps_the_least(monkeypatch):
    ticks, order = iter([0.0, 4.0, 4.0, 6.0, 6.0, 8.0, 8.0, 20.0]), []
    monkeypatch.setattr(bench.time, "process_time", lambda: next(ticks))

    def work(name, steps):
        return lambda: order.append(name) or steps

    assert bench.side_by_side({"a": work("a", 2), "b": work("b", 4)}, 2, 0.0) == {
        "a": 1e9,
        "b": 0.5e9,
    }
    assert order == ["a", "b", "a", "b", "a", "b"]


def test_side_by_side_goes_on_until_short_works_have_had_their_time(monkeypatch):
    """Of two works that take one second and two, five rounds are 15 seconds; two repeats of 3.6 each ask for 14.4."""
    ticks = iter(np.cumsum([0.0, *([1.0, 0.0, 2.0, 0.0] * 9)]).tolist())
    monkeypatch.setattr(bench.time, "process_time", lambda: next(ticks))
    counts = {"a": 0, "b": 0}

    def work(name):
        def count():
            counts[name] += 1
            return 1

        return count

    assert bench.side_by_side({name: work(name) for name in counts}, 2, 3.6) == {"a": 1e9, "b": 2e9}
    assert counts == {"a": 6, "b": 6}  # the first fills the caches


def test_what_one_writes_in_an_hour_learns_the_task():
    """Not a straw man: steps are counted, and the plain loops get the car out of the valley as the engine does."""
    setting = replace(bench.BASE, alpha=0.005, lam=0.9, sigma=1.0, episodes=100)
    assert plain.numpy_steps(setting, 30) == plain.gymnasium_steps(30) == 30
    engine = run_control(setting, 3, 0).steps[:, -50:].mean()
    early = (
        sum(plain.numba_steps(replace(setting, episodes=50), seed=seed) for seed in range(3)) / 150
    )
    late = sum(plain.numba_steps(setting, seed=seed) for seed in range(3)) / 150 - early
    assert late == pytest.approx(engine, rel=0.3)
    assert early > 1.5 * late


@pytest.mark.slow
def test_the_engine_is_measured_on_its_runs():
    short = replace(bench.BASE, episodes=3)
    assert general.general(engine_setting(short))() == bench.learning(short)()
    assert general.without_learning(replace(general.CLASSIC["cart-pole"], episodes=2))() > 6


@pytest.mark.parametrize("place", agents.PLACES.values(), ids=list(agents.PLACES))
def test_agents_and_loops_take_the_steps_that_are_counted(place):
    assert agents.environment_alone(place, 30)() == agents.plain_loop(place, 30)() == 30
    learning = agents.agent_in(place, 30)
    assert learning() == learning() == 30


@pytest.mark.parametrize(("name", "module"), [("MushroomRL", "mushroom_rl"), ("gymnax", "gymnax")])
def test_a_peer_that_is_not_there_or_has_moved_its_names_is_left_out_with_a_reason(
    monkeypatch, name, module
):
    """An installed package must not end the benchmark because it is another version."""

    def absent(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(peers, "version", absent)
    assert peers.loop_of(name) == (None, f"not installed (pip install {peers.PEERS[name].package})")
    monkeypatch.setattr(peers, "version", lambda package: "99")
    monkeypatch.setitem(sys.modules, module, ModuleType(module))
    monkeypatch.setitem(sys.modules, "jax", ModuleType("jax"))
    loop, told = peers.loop_of(name)
    assert loop is None
    assert told.startswith("left out, its version has other names")


def test_what_is_absent_is_said_in_a_line_of_its_own(capsys):
    tell = bench.Printer()
    tell("time", "agent", 3.0)
    tell("absent", "gymnax: not installed (pip install gymnax)", 0.0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["not measured", "  gymnax: not installed (pip install gymnax)"]


def test_peers_are_written_with_versions_and_month(monkeypatch, tmp_path):
    made = {name: (lambda name=name: len(name)) for name in peers.PEERS}
    monkeypatch.setattr(peers, "loop_of", lambda name: (made[name], "1.2"))
    monkeypatch.setattr(peers.time, "strftime", lambda form: "2001-02" if form == "%Y-%m" else None)
    counted = {}

    def times(works, repeats):
        counted.update(works)
        return {name: 50.0 * (1 + k) for k, name in enumerate(works)} if repeats == 3 else None

    monkeypatch.setattr(peers, "side_by_side", times)
    found = json.loads(peers.write_peers(tmp_path / "peers.json", 3).read_text(encoding="utf-8"))
    assert found["measured"] == "2001-02"
    assert found["versions"] == {"MushroomRL": "1.2", "gymnax": "1.2"}
    assert found["relative"]["engine, Sarsa(λ)"] == 1.0
    assert found["relative"]["gymnax"] == 7.0
    assert set(found["relative"]) == set(counted)
    assert counted["MushroomRL"]() == 10
    assert found["steps"] == {name: peer.step for name, peer in peers.PEERS.items()}
    written = (tmp_path / "peers.json").read_text(encoding="utf-8")
    assert written.startswith(
        '{\n  "measured": "2001-02",\n  "versions": {\n    "MushroomRL": "1.2",'
    )
    assert "(λ)" in written
    assert written.endswith("}\n")


def test_costs_are_relative_to_sarsa_and_name_every_learner_of_the_chapter(monkeypatch, tmp_path):
    settings = costs.learners()
    assert {(one.learner, one.target, one.sigma) for one in settings.values()} == {
        (row.learner, row.target, row.sigma) for row in ROWS.values()
    }
    lost = "GQ(½, λ) corrected"

    def runs(setting, runs, seed):
        return SimpleNamespace(diverged=np.array([setting == settings[lost]]))

    monkeypatch.setattr(costs, "run_setting", runs)
    monkeypatch.setattr(
        costs, "side_by_side", lambda works, repeats: {name: 8.0 + len(name) for name in works}
    )
    monkeypatch.setattr(costs.general, "without_learning", lambda setting: lambda: 1)
    found = json.loads(costs.write_costs(tmp_path / "costs.json", 2).read_text(encoding="utf-8"))
    wanted = {name: round((8 + len(name)) / 16, 2) for name in [*settings, costs.BARE]}
    assert found["relative"] == wanted | {lost: None}  # fewer steps after a divergence are no speed
    assert found["setting"] == costs.NUMBERS


def test_the_plain_sparse_loop_learns(monkeypatch):
    """Not a straw man: the pole stays up longer than at random, some 22 steps."""
    taken, starts = [], []

    class Counted(gymnasium.Wrapper):
        def reset(self, **options):
            starts.append(len(taken))
            return super().reset(**options)

        def step(self, action):
            taken.append(action)
            return super().step(action)

    make = gymnasium.make
    monkeypatch.setattr(gymnasium, "make", lambda name: Counted(make(name)))
    plain.gymnasium_steps(
        6000, "CartPole-v1", box=agents.PLACES["CartPole"].box, sides=4, alpha=0.2
    )
    assert (starts[-1] - starts[-11]) / 10 > 60


def test_the_command_gets_its_options_and_gives_its_code(monkeypatch):
    called = []
    monkeypatch.setattr(
        command, "bench", lambda repeats, as_json: called.append((repeats, as_json)) or 1
    )
    assert command.main([]) == command.main(["--repeats", "2", "--json"]) == 1
    for name in ("costs", "peers"):
        monkeypatch.setattr(
            command, f"write_{name}", lambda *given, name=name: called.append((name, *given[:2]))
        )
    assert command.main(["--costs", "a.json", "--peers", "b.json", "--repeats", "3"]) == 0
    files = [("costs", Path("a.json"), 3), ("peers", Path("b.json"), 3)]
    assert called == [(7, False), (2, True), *files]


@pytest.mark.parametrize("option", ["--costs", "--peers", "--repeats"])
@pytest.mark.parametrize("value", [".", "file/x.json", "nowhere/x.json", "0"])
def test_the_command_refuses_before_it_measures(option, value, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "0").mkdir()
    for name in ("bench", "write_costs", "write_peers"):
        monkeypatch.setattr(command, name, lambda *given, **_: pytest.fail("it measured"))
    with pytest.raises(SystemExit, match="2"):
        command.main([option, value])
    assert value in capsys.readouterr().err


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
