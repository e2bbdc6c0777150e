"""What the engine is made of, without running a compiled kernel: fields, defaults, refusals in full, small parts."""

from __future__ import annotations

from dataclasses import replace
from math import pi
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gqlib.control.setting import STARTS
from gqlib.domains import mountain_car
from gqlib.domains.random_walk import random_walk
from gqlib.engine import (
    EngineSetting,
    Environment,
    Features,
    Learner,
    Tiles,
    coders,
    environments,
    run_setting,
)
from gqlib.engine import runs as runs_module
from gqlib.engine._kernel import DRAWN, FLUSH_BELOW
from gqlib.engine.coders import (
    CarTable,
    _car_functions,
    _feature_functions,
    _tile_functions,
    _tile_table,
)
from gqlib.engine.runs import EngineResult
from gqlib.fast._jit import COMPILED, njit
from gqlib.learners.texts import LEARNERS
from gqlib.seeds import BEHAVIOUR, SIGMA, START, TIES, TRAJECTORY, words
from gqlib.stats._told import told_mean


@njit
def _start(data, stream):
    return 0


@njit
def _step(data, state, action, stream):
    return min(state + action, 3), -1.0, state == 3


@njit
def _fill(data, state, out):
    out[0] = state


@njit
def _fill_two(data, state, out):
    out[0], out[1] = state, state + 1


WORLD: dict[str, Any] = {
    "start": _start,
    "step": _step,
    "actions": 2,
    "coder": Features(_fill, size=4),
}
PARTS = {name: getattr(LEARNERS["gq"], name) for name in ("begin", "before", "after")}


# Environments: Gymnasium's limits, and the boxes of their coders


def test_the_environments_have_the_actions_limits_and_boxes_that_they_should() -> None:
    car, pole, acrobot = (
        environments.mountain_car(),
        environments.cart_pole(),
        environments.acrobot(),
    )
    assert [(one.name, one.actions, one.max_steps) for one in (car, pole, acrobot)] == [
        ("mountain car", 3, 5000),
        ("cart-pole", 2, 500),
        ("Acrobot", 3, 500),
    ]
    assert car.coder == Tiles((-1.2, -0.07), (0.5, 0.07), (8, 8), 8)
    tilt = pi / 15  # twelve degrees
    assert pole.coder == Tiles((-2.4, -3.0, -tilt, -3.5), (2.4, 3.0, tilt, 3.5), (4, 4, 4, 4), 8)
    assert acrobot.coder == Tiles(
        (-pi, -pi, -4 * pi, -9 * pi), (pi, pi, 4 * pi, 9 * pi), (6, 6, 6, 6), 8
    )
    assert (pole.data, acrobot.data) == ((), ())
    assert [environments.mountain_car(start=start).data[1] for start in STARTS] == [0, 1, 2]
    assert car.data[0] is environments.mountain_car(p=64).data[0]  # made once, and never written
    assert np.array(car.data[0]).tolist() == list(mountain_car.CONSTANTS)
    with pytest.raises(ValueError, match=r"^start is 'top'; it should be one of 'valley', 'bott"):
        environments.mountain_car(start="top")


def test_their_options_reach_the_coder() -> None:
    assert environments.mountain_car(4).coder == Tiles((-1.2, -0.07), (0.5, 0.07), (8, 8), 4)
    assert environments.mountain_car(4, p=256, memory="iht").coder == CarTable(256, 4, "iht")
    assert environments.mountain_car(p=256).coder == CarTable(256, 8, "int")
    assert (
        environments.cart_pole(2, 3).coder.tilings,
        environments.cart_pole(2, 3).coder.tiles,
    ) == (2, (3,) * 4)
    assert (environments.acrobot(2, 3).coder.tilings, environments.acrobot(2, 3).coder.tiles) == (
        2,
        (3,) * 4,
    )


def test_a_chain_has_the_laws_of_its_task() -> None:
    task = random_walk(5)
    walk = environments.chain(task)
    assert (walk.name, walk.actions, walk.max_steps) == ("chain", 2, 10_000)
    assert environments.chain(task, "mine").name == "mine"
    with pytest.raises(
        ValueError, match=r"; it should be a TabularTask of gqlib\.domains\.episodes$"
    ):
        environments.chain(task.mdp)
    start, moves, rewards, ends = walk.data
    np.testing.assert_allclose(np.diff(start, prepend=0.0), task.start, atol=1e-15)
    np.testing.assert_allclose(
        np.diff(moves, axis=2, prepend=0.0), task.mdp.transitions, atol=1e-15
    )
    np.testing.assert_array_equal(rewards, task.mdp.rewards)
    np.testing.assert_array_equal(ends, task.mdp.is_terminal)
    assert (walk.coder.size, walk.coder.active) == (7, 1)


def test_an_environment_of_ones_own_has_defaults() -> None:
    own = Environment(**WORLD)
    assert (own.name, own.max_steps, own.data, own.actions) == ("own", 1000, (), 2)
    assert own.observe is environments._as_it_is
    assert Environment(**WORLD, max_steps=np.int64(7)).max_steps == 7
    assert type(Environment(**(WORLD | {"actions": np.int64(2)})).actions) is int


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"actions": 0}, r"^actions is 0; it should be .*1"),
        ({"actions": 65}, r"^actions is 65; it should be .*64"),
        ({"actions": 2.5}, r"^actions is 2\.5"),
        ({"max_steps": 0}, r"^max_steps is 0; it should be .*1"),
        ({"coder": 3}, r"^coder is 3; it should be "),
        ({"data": [1]}, r"^data is \[1\]; it should be "),
        ({"name": 3}, r"^name is 3; it should be "),
        ({"start": 3}, r"^start is 3"),
        ({"observe": None}, r"^observe is None"),
        (
            {"actions": 64, "coder": Features(_fill, size=2**24)},
            r"^coder has 16777216 features for each of 64 actions; together there should be at most 2\*\*26$",
        ),
    ],
)
def test_an_environment_refuses_by_name_and_range(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Environment(**(WORLD | change))


def test_the_largest_memory_and_the_most_actions_will_do() -> None:
    assert (
        Environment(**(WORLD | {"actions": 4, "coder": Features(_fill, size=2**24)})).actions == 4
    )
    assert Environment(**(WORLD | {"actions": 64})).actions == 64
    assert Environment(**(WORLD | {"actions": 1, "max_steps": 1})).max_steps == 1


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
@pytest.mark.parametrize("name", ["start", "step", "observe"])
def test_a_plain_function_in_an_environment_is_refused(name: str) -> None:
    with pytest.raises(
        ValueError, match=rf"^{name} is a plain function; it should be compiled by numba\.njit$"
    ):
        Environment(**(WORLD | {name: max}))


# Learners


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
@pytest.mark.parametrize("name", PARTS)
def test_a_plain_function_in_a_learner_is_refused(name: str) -> None:
    with pytest.raises(
        ValueError, match=rf"^{name} is a plain function; it should be compiled by numba\.njit$"
    ):
        Learner(**(PARTS | {name: max}))


@pytest.mark.parametrize("name", PARTS)
def test_what_is_no_function_in_a_learner_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} is 3"):
        Learner(**(PARTS | {name: 3}))


@pytest.mark.parametrize("name", ["gradient", "ridge", "together", "here", "late", "traced"])
def test_the_flags_of_a_learner_are_flags(name: str) -> None:
    assert getattr(Learner(**PARTS, **{name: True}), name) is True
    assert getattr(Learner(**PARTS), name) is (name == "gradient")
    with pytest.raises(ValueError, match=rf"^{name} is 1"):
        Learner(**PARTS, **{name: 1})


# Coders


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: Tiles((np.nan,), (1.0,), (2,)), r"^low is "),
        (lambda: Tiles(((0.0,),), (1.0,), (2,)), r"^low has shape \(1, 1\); "),
        (
            lambda: Tiles((0.0,), (1.0, 2.0), (2,)),
            r"^high has shape \(2,\); it should have shape \(1,\)$",
        ),
        (
            lambda: Tiles((0.0,), (0.0,), (2,)),
            r"^high is \(0\.0,\); it should be above low, \(0\.0,\)$",
        ),
        (
            lambda: Tiles((0.0,), (1.0,), (2, 3)),
            r"^tiles is \(2, 3\); it should hold a number for each of 1 axes$",
        ),
        (
            lambda: Tiles((0.0,), (1.0,), 2),
            r"^tiles is 2; it should hold a number for each of 1 axes$",
        ),
        (lambda: Tiles((0.0,), (1.0,), (0,)), r"^tiles is 0; it should be .*1"),
        (lambda: Tiles((0.0,), (1.0,), (1025,)), r"^tiles is 1025; it should be .*1024"),
        (lambda: Tiles((0.0,), (1.0,), (2,), 0), r"^tilings is 0; it should be .*1"),
        (lambda: Tiles((0.0,), (1.0,), (2,), 65), r"^tilings is 65; it should be .*64"),
        (
            lambda: Tiles((0.0,) * 3, (1.0,) * 3, (255, 255, 255), 2),
            r"^tiles is .*; with 2 tilings that makes 33554432 features, and it should make at most 16777216$",
        ),
        (lambda: Tiles((0.0,), (1.0,), (2,)).indices((0.0, 0.0)), r"^state has shape \(2,\); "),
        (lambda: Features(3, 4), r"^fill is 3"),
        (lambda: Features(_fill, 0), r"^size is 0; it should be .*1"),
        (lambda: Features(_fill, 2**24 + 1), r"^size is 16777217; it should be .*16777216"),
        (lambda: Features(_fill, 4, 0), r"^active is 0; it should be .*1"),
        (lambda: Features(_fill, 4, 5), r"^active is 5; it should be .*4"),
        (lambda: Features(_fill, 4000, 1025), r"^active is 1025; it should be .*1024"),
        (
            lambda: Features(_fill, 4).indices(4),
            r"^state is 4, for which fill gives \[4\]; it should give 1 different numbers below 4$",
        ),
        (
            lambda: Features(_fill, 4).indices(-1),
            r"^state is -1, for which fill gives \[-1\]; it should give 1 different numbers below 4$",
        ),
        (
            lambda: Features(_fill, 4, 2).indices(1),  # the second is never written
            r"^state is 1, for which fill gives \[1, -1\]; it should give 2 different numbers below 4$",
        ),
        (lambda: Features(_fill, 4).indices("a"), r"^state is 'a', which fill cannot take: "),
        (lambda: CarTable(0), r"^p is 0; it should be .*1"),
        (lambda: CarTable(512, 0), r"^tilings is 0; it should be .*1"),
        (
            lambda: CarTable(512, memory="sorted"),
            r"^memory is 'sorted'; it should be one of 'int', 'iht', 'salted', 'rltoolkit'$",
        ),
    ],
)
def test_a_coder_refuses_by_name_and_range(call: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        call()


def test_sizes_are_those_of_a_hand_count() -> None:
    coder = Tiles([0, -1], [1, 1], [2, 3], 4)
    assert (coder.low, coder.high, coder.tiles, coder.tilings) == (
        (0.0, -1.0),
        (1.0, 1.0),
        (2, 3),
        4,
    )
    assert all(type(x) is float for x in (*coder.low, *coder.high))
    assert (coder.size, coder.active, coder._rows(3)) == (4 * 3 * 4, 4, 3 * 48)
    assert Tiles((0.0,), (1.0,), (2,)).tilings == 8
    assert Features(_fill, 4).active == 1
    assert Features(_fill, 4)._rows(3) == 12
    assert Features(_fill_two, 4, 2).indices(1) == [1, 2]
    assert (CarTable().p, CarTable().tilings, CarTable().memory, CarTable().active) == (
        1024,
        8,
        "int",
        8,
    )
    assert CarTable(512)._rows(3) == 512


def test_a_state_lies_where_a_ruler_says_and_on_the_edge_beyond() -> None:
    """Each axis has tilings · tiles marks; tiling k is moved by k, 3k, ... of them, modulo the tilings."""
    coder = Tiles((0.0, 0.0), (1.0, 2.0), (2, 4), 2)
    assert coder._fine((0.0, 0.0)) == [0, 0]
    assert coder._fine((0.3, 1.3)) == [1, 5]  # marks of 1/4
    assert coder._fine((1.0, 2.0)) == [4, 8] == coder._fine((5.0, 7.0))
    assert coder._fine((-5.0, -7.0)) == [0, 0]
    # Tiling 0 is not moved; tiling 1 is moved by one mark along both axes (3 modulo 2 is 1). A tiling has 3 × 5 tiles.
    assert coder.indices((0.3, 1.3)) == [0 * 5 + 2, (1 * 3 + 1) * 5 + 3]


def test_tiles_are_counted_in_an_array_as_in_a_list() -> None:
    wanted = Tiles((0.0, 0.0), (1.0, 1.0), (3, 4))
    assert Tiles([0.0, 0.0], [1.0, 1.0], [3, 4]) == wanted
    assert Tiles(np.zeros(2), np.ones(2), np.array([3, 4], dtype=np.uint8)) == wanted
    for wrong in (np.array(3), np.array([3]), np.array([3.5, 4.0]), np.array([[3, 4]])):
        with pytest.raises(ValueError, match=r"^tiles is "):
            Tiles((0.0, 0.0), (1.0, 1.0), wrong)


def test_more_steps_than_can_be_counted_are_refused() -> None:
    for make in (
        lambda n: EngineSetting("acrobot", max_steps=n),
        lambda n: Environment(**WORLD, max_steps=n),
    ):
        assert make(2**31).max_steps == 2**31
        with pytest.raises(
            ValueError, match=r"^max_steps is 10+; it should be from 1 to 2147483648$"
        ):
            make(10**19)


def test_the_table_of_tiles_has_every_cell_and_action() -> None:
    coder = Tiles((0.0,), (1.0,), (2,), 2)
    codes = coder._codes(3, 1)
    assert codes is _tile_table(coder, 3, 1)
    assert codes.active.dtype == np.uint16
    np.testing.assert_allclose(codes.grid, [0.0, 4.0, 4.0])
    wanted = [index * 3 + a for q in range(5) for a in range(3) for index in coder._indices([q])]
    assert codes.active.tolist() == wanted
    assert coder._codes(3, 4).active.tolist() == [4 * index for index in wanted]
    wide = Tiles(
        (0.0,), (1.0,), (128,), 64
    )  # 8256 features; twice 4 times as many are beyond 16 bits
    assert [wide._codes(a, s).active.dtype for a, s in ((1, 1), (1, 4), (2, 4))] == [
        np.uint16,
        np.uint16,
        np.int64,
    ]
    assert wide._codes(2, 4).active.max() == 4 * (2 * 8256 - 1)
    large = Tiles((0.0,) * 4, (1.0,) * 4, (4,) * 4, 8)._codes(
        2, 4
    )  # 33**4 cells are too many for a table
    assert (large.active.dtype, large.active.shape, large.active.any()) == (
        np.int64,
        (3 * 2 * 8,),
        False,
    )
    np.testing.assert_allclose(large.grid, [0.0, 32.0, 32.0] * 4)
    buffer = Features(_fill_two, 4, 2)._codes(3, 4)
    assert (buffer.active.dtype, buffer.active.shape, buffer.grid.tolist()) == (
        np.int64,
        (3 * 3 * 2,),
        [0.0],
    )


@pytest.mark.parametrize(("largest", "few"), [(14, False), (15, True), (16, True)])
def test_as_many_cells_as_a_table_may_have_are_looked_up(
    monkeypatch: pytest.MonkeyPatch, largest: int, few: bool
) -> None:
    """Two tilings of 1 × 2 tiles have (2 + 1)(4 + 1) fine cells, which are in the table or computed."""
    monkeypatch.setattr(coders, "LARGEST_TABLE", largest)
    coder = Tiles((0.0, 0.0), (1.0, 1.0), (1, 2), 2)
    assert len(coder._codes(3, 1).active) == (15 * 3 * 2 if few else 3 * 3 * 2)
    assert coder._functions(3, _start, 1) is _tile_functions((1, 2), 2, 3, few, _start, 1)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled here")
def test_a_plain_function_is_refused_in_whole_words() -> None:
    with pytest.raises(
        ValueError, match=r"^fill is a plain function; it should be compiled by numba\.njit$"
    ):
        Features(lambda data, state, out: None, 4)


@pytest.mark.parametrize("first", [np.nan, np.inf])
def test_the_reference_tells_a_first_state_that_is_no_number(first: float) -> None:
    lost = Environment(**(WORLD | {"start": njit(lambda data, stream: first), "coder": Tiles((0.0,), (1.0,), (2,), 2),
                                   "observe": njit(lambda data, state: (state,))}))  # fmt: skip
    told = r"^state of 'own' is not finite, in run 3, episode 0 \(both from 0\), after 0 steps;"
    with pytest.raises(ValueError, match=told):
        run_setting(EngineSetting(lost, "sarsa", episodes=1), 1, 0, first_run=3, engine="reference")


def test_the_table_of_the_car_is_that_of_control_with_the_edges_of_its_cells() -> None:
    coder = CarTable(np.int64(64), np.int64(2))
    assert (type(coder.p), type(coder.tilings), coder) == (int, int, CarTable(64, 2))
    table, codes = coder._table(), coder._codes(3, 4)
    np.testing.assert_array_equal(codes.active.reshape(table.rows.shape), table.offsets)
    np.testing.assert_array_equal(coder._codes(3, 1).active.reshape(table.rows.shape), table.rows)
    (x, v), grid = (table.edges_x, table.edges_v), codes.grid.tolist()
    assert grid[4:] == [*x.tolist(), *v.tolist()]
    for edges, (scale, offset) in (
        (x, grid[:2]),
        (v, grid[2:4]),
    ):  # an inner edge is where the number of a cell begins
        assert edges[1] * scale + offset == pytest.approx(1.0)
        assert edges[-2] * scale + offset == pytest.approx(len(edges) - 2)


def test_the_functions_of_a_coder_are_made_for_its_numbers() -> None:
    """Made once for the same numbers, so that a kernel is compiled once; other numbers make other functions."""
    see = _start
    tiles, large = Tiles((0.0,), (1.0,), (2,), 2), Tiles((0.0,) * 4, (1.0,) * 4, (4,) * 4, 8)
    assert tiles._functions(3, see, 4) is _tile_functions((2,), 2, 3, True, see, 4)
    assert large._functions(3, see, 1) is _tile_functions((4, 4, 4, 4), 8, 3, False, see, 1)
    assert Features(_fill_two, 4, 2)._functions(3, see, 4) is _feature_functions(
        _fill_two, 4, 2, 3, 4
    )
    car = CarTable(64, 2)
    table = car._table()
    width, edges = table.rows.shape[1], (len(table.edges_x), len(table.edges_v))
    assert car._functions(3, see, 4) is _car_functions(2, width, *edges, see)


# Settings, results and what a run is made of


def test_a_setting_has_these_defaults() -> None:
    setting = EngineSetting("acrobot")
    assert (setting.learner, setting.options, setting.lam, setting.gamma, setting.alpha) == (
        "gq",
        (),
        0.9,
        1.0,
        0.01,
    )
    assert (setting.eta, setting.kappa, setting.epsilon, setting.target) == (
        1.0,
        1.0,
        0.1,
        "greedy",
    )
    assert (setting.episodes, setting.max_steps, setting.theta0) == (100, None, 0.0)
    assert (setting.theta0_noise, setting.ties) == (0.0, "first")
    # Added later: a store keeps its results.
    assert setting.key == EngineSetting("acrobot", theta0_noise=0.0, ties="first").key
    assert setting.make_learner() is LEARNERS["gq"]
    assert setting.imported == ()


def test_a_setting_keeps_numbers_as_pythons_and_options_in_order() -> None:
    kinds = ("lam", "gamma", "alpha", "eta", "kappa", "epsilon", "theta0")
    setting = EngineSetting(
        "acrobot", **{name: np.float32(0.5) for name in kinds}, episodes=np.int64(3)
    )
    assert all(
        type(getattr(setting, name)) is float and getattr(setting, name) == 0.5 for name in kinds
    )
    assert type(setting.episodes) is int
    assert type(EngineSetting("acrobot", max_steps=np.int64(3)).max_steps) is int
    given = EngineSetting("acrobot", options=[["tilings", 2], ["tiles", [3]]])
    assert given.options == (("tiles", (3,)), ("tilings", 2))
    assert EngineSetting("acrobot", options=(("tilings", 2),)).make_environment().coder.tilings == 2


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"environment": "maze"},
            r"^environment is 'maze'; .* 'cart_pole', or 'module:function', or an Environment$",
        ),
        ({"environment": 3}, r"^environment is 3; it should be one of 'mountain_car'"),
        ({"learner": "dqn"}, r"^learner is 'dqn'; it should be one of 'gq', 'gq_lagged'"),
        ({"lam": -0.1}, r"^lam is -0\.1"),
        ({"lam": 1.1}, r"^lam is 1\.1"),
        ({"gamma": -0.1}, r"^gamma is -0\.1"),
        ({"gamma": 1.1}, r"^gamma is 1\.1"),
        ({"alpha": -0.1}, r"^alpha is -0\.1"),
        ({"eta": -0.1}, r"^eta is -0\.1"),
        ({"kappa": -0.1}, r"^kappa is -0\.1"),
        ({"epsilon": -0.1}, r"^epsilon is -0\.1"),
        ({"epsilon": 1.1}, r"^epsilon is 1\.1"),
        ({"target": "soft"}, r"^target is 'soft'; it should be one of "),
        ({"episodes": 0}, r"^episodes is 0"),
        ({"max_steps": 0}, r"^max_steps is 0"),
        ({"theta0": np.nan}, r"^theta0 is nan"),
        ({"theta0_noise": -0.5}, r"^theta0_noise is -0\.5"),
        ({"ties": "last"}, r"^ties is 'last'; it should be one of 'first', 'random'$"),
        ({"options": 3}, r"^options is 3; it should hold pairs \(name, value\)$"),
        ({"options": (("a", {}),)}, r"^options is .*; it should hold pairs \(name, value\)$"),
        ({"options": ((1, 2, 3),)}, r"^options is .*; it should hold pairs \(name, value\)$"),
        ({"sigma": np.nan}, r"^sigma is nan"),
    ],
)
def test_a_setting_refuses_by_name_and_range(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        EngineSetting(**({"environment": "acrobot"} | fields))


def test_environments_and_learners_of_ones_own() -> None:
    own = Environment(**WORLD)
    setting = EngineSetting(own, LEARNERS["sarsa"])
    assert setting.make_environment() is own
    assert setting.make_learner() is LEARNERS["sarsa"]
    with pytest.raises(
        ValueError, match=r"^options is .*; an environment that is made already has none$"
    ):
        EngineSetting(own, options=(("a", 1),))
    with pytest.raises(
        ValueError,
        match=r"^environment is an object; in a setting that is stored it should be 'mod",
    ):
        _ = setting.key
    with pytest.raises(
        ValueError, match=r"^learner is an object; in a setting that is stored it should be 'mod"
    ):
        _ = EngineSetting("acrobot", LEARNERS["sarsa"]).key
    named = EngineSetting("test_engine_parts:world", "gqlib.learners.texts:mine")
    assert named.imported == ("test_engine_parts:world", "gqlib.learners.texts:mine")
    with pytest.raises(
        ValueError, match=r"^learner is 'gqlib\.learners\.texts:mine', which cannot be imported: "
    ):
        named.make_learner()
    with pytest.raises(ValueError, match=r"^learner is .*; it should be "):
        EngineSetting("acrobot", "math:pi").make_learner()
    with pytest.raises(ValueError, match=r"^environment is 3\.14"):
        EngineSetting("math:pi").make_environment()
    with pytest.raises(ValueError, match=r"^environment is 1; it should be "):
        EngineSetting("test_engine_parts:no_world").make_environment()
    with pytest.raises(
        ValueError, match=r"^options is \(\('depth', 3\),\); .*unexpected keyword argument 'depth'"
    ):
        EngineSetting("acrobot", options=(("depth", 3),)).make_environment()


def no_world() -> int:
    return 1


def result() -> EngineResult:
    setting = EngineSetting("acrobot", "sarsa", episodes=2)
    return EngineResult(
        setting,
        steps=np.array([[5, 9], [7, 9], [9, 9]]),
        returns=np.array([[-5.0, -8.0], [-7.0, -8.0], [-9.0, np.nan]]),
        capped=np.array([[False, False], [False, False], [False, True]]),
        diverged=np.array([False, False, True]),
        theta=np.zeros((3, 4)),
        omega=np.zeros((3, 4)),
    )


def test_a_result_is_told_in_a_line_and_in_a_table() -> None:
    told = (
        "EngineResult(3 runs of 2 episodes, mean return -7.4, 1 capped episodes, 1 diverged runs)"
    )
    assert repr(result()) == told
    page = result()._repr_html_()
    words = [
        "EngineResult",
        "environment",
        "Acrobot",
        "learner",
        "sarsa",
        "runs",
        "episodes of each",
        "mean return",
    ]
    words += ["capped episodes", "diverged runs"]
    places = [page.find(f">{word}<") for word in words]
    assert min(places) >= 0
    assert places == sorted(places)
    for row, number in (
        ("runs", 3),
        ("episodes of each", 2),
        ("capped episodes", 1),
        ("diverged runs", 1),
    ):
        assert f">{number}<" in page[page.find(f">{row}<") :][:120]
    assert runs_module._called(LEARNERS["gq"]) == "own"


def test_the_rates_of_a_setting() -> None:
    given = {"lam": 0.5, "gamma": 0.9, "alpha": 0.2, "eta": 0.25, "kappa": 3.0, "epsilon": 0.3}
    greedy = runs_module.rates_of(EngineSetting("acrobot", **given), 3)
    assert tuple(greedy) == pytest.approx((0.5, 0.9, 0.2, 0.25, 0.05, 3.0, 1.0, 0.0))
    soft = runs_module.rates_of(EngineSetting("acrobot", target="epsilon-greedy", **given), 3)
    assert tuple(soft) == pytest.approx((0.5, 0.9, 0.2, 0.25, 0.05, 3.0, 0.7, 0.1))


def test_the_parts_of_a_kernel_are_those_of_environment_and_learner() -> None:
    own, learner = Environment(**WORLD), LEARNERS["qrc"]
    parts = runs_module.parts_of(own, learner, "epsilon-greedy")
    assert tuple(parts)[:2] == (own.start, own.step)
    assert tuple(parts)[2:4] == own.coder._functions(2, own.observe, 4)
    assert tuple(runs_module.parts_of(own, learner, "greedy", stride=1))[
        2:4
    ] == own.coder._functions(2, own.observe, 1)
    assert tuple(parts)[4:7] == (learner.begin, learner.before, learner.after)
    flags = {"gradient", "ridge", "here", "each"}
    assert {name for name, on in parts._asdict().items() if on is True} == flags
    plain = runs_module.parts_of(own, LEARNERS["sarsa"], "greedy")
    assert (plain[7:9], set(plain[9:])) == ((2, 1), {False})
    late = runs_module.parts_of(own, LEARNERS["gq_lagged"], "greedy", "random")
    flags = {"gradient", "together", "late", "random_ties"}
    assert {name for name, on in late._asdict().items() if on is True} == flags


def test_features_of_a_state_by_hand() -> None:
    phi = runs_module._features(Environment(**WORLD), 2)
    assert phi.tolist() == [[0, 0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0]]
    car = environments.mountain_car(2, p=64)
    table = car.coder._table()
    phi = runs_module._features(car, (-0.5, 0.01, 0.0))
    assert phi.sum(axis=1).tolist() == [2.0, 2.0, 2.0]
    for a in range(3):
        wanted = np.zeros(64)
        for index in table.indices(-0.5, 0.01, a):
            wanted[index] += 1.0
        np.testing.assert_array_equal(phi[a], wanted)


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (
            lambda *_: 0,
            r"^step returned 0; it should return the next state, the reward and an end$",
        ),
        (
            lambda *_: (0, -1.0),
            r"^step returned \(0, -1\.0\); it should return the next state, the reward and an end$",
        ),
        (lambda *_: [0, -1.0, False], r"^step returned \[0, -1\.0, False\]; it should return"),
        (
            lambda *_: ("b", -1.0, False),
            r"^step returned the state 'b' after 0; both should be of the same type",
        ),
    ],
)
def test_a_step_that_returns_other_things_is_told(step: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        runs_module._rehearse(SimpleNamespace(start=lambda *_: 0, step=step, data=()), 0, 0)


def test_a_state_that_changes_its_size_is_told_and_one_that_does_not_will_do() -> None:
    seen: list[Any] = []

    def step(data: Any, state: Any, action: int, stream: Any) -> Any:
        seen.append((data, state, action))
        return ((0.5, 0.5) if data else (0.5,)), -1.0, False

    world = SimpleNamespace(start=lambda data, stream: (0.25,), step=step, data=())
    runs_module._rehearse(world, 0, 0)
    assert seen == [((), (0.25,), 0)]
    world.data = (1,)
    with pytest.raises(
        ValueError, match=r"^step returned the state \(0\.5, 0\.5\) after \(0\.25,\); both should "
    ):
        runs_module._rehearse(world, 0, 0)


def test_runs_of_the_reference_are_counted_and_cut() -> None:
    """With one action that never moves, every episode is cut, and its return is minus its steps."""
    still = Environment(**(WORLD | {"actions": 1, "max_steps": 6}))
    setting = EngineSetting(still, "sarsa", episodes=2, alpha=0.1, lam=0.0, epsilon=0.0, theta0=0.5)
    found = run_setting(setting, 3, 0, engine="reference")
    assert found.setting is setting
    assert found.steps.tolist() == [[6, 6]] * 3
    assert found.capped.tolist() == [[True, True]] * 3
    assert found.returns.tolist() == [[-6.0, -6.0]] * 3
    assert found.diverged.tolist() == [False] * 3
    theta = 0.5
    for _ in range(12):
        theta += 0.1 * -1.0  # gamma is 1 and the pair follows itself, so the error is the reward
    np.testing.assert_allclose(found.theta, [[theta, 0.5, 0.5, 0.5]] * 3, atol=1e-14)
    assert found.omega.tolist() == [[0.0] * 4] * 3
    cut = run_setting(
        EngineSetting(still, "sarsa", episodes=1, max_steps=4), 1, 0, engine="reference"
    )
    assert cut.steps.tolist() == [[4]]


def test_a_run_is_refused_by_name() -> None:
    other = EngineSetting("acrobot")
    for options, told in (
        ({"runs": 0}, r"^runs is 0"),
        ({"seed": -1}, r"^seed is -1"),
        ({"first_run": -1}, r"^first_run is -1"),
        ({"engine": "gpu"}, r"^engine is 'gpu'; it should be one of 'fast', 'reference'$"),
        ({"runs": 10**9}, r"^runs is 1000000000; "),
    ):
        with pytest.raises(ValueError, match=told):
            run_setting(other, **({"runs": 1, "seed": 0} | options))
    with pytest.raises(ValueError, match=r"^setting is 3; it should be "):
        run_setting(3, 1, 0)


def test_the_table_of_a_result_has_an_interval_over_runs() -> None:
    """Of the means of runs, not of all episodes: by `told_mean` of their means."""
    whole = replace(result(), returns=np.array([[-5.0, -8.0], [-7.0, -8.0], [-9.0, -8.0]]))
    page = whole._repr_html_()
    for name, told in told_mean("mean return", [-6.5, -7.5, -8.5]):
        assert f">{told}<" in page[page.find(f">{name}<") :][:120]


def test_the_kernel_is_given_the_setting_and_its_weights_are_taken_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, given = Environment(**(WORLD | {"data": (3,)})), []

    def kernel(
        data: Any, codes: Any, memory: Any, streams: Any, sigma: Any, rates: Any, limits: Any
    ) -> Any:
        given.append((data, codes, memory, streams, sigma, rates, limits))
        rows = memory.weights.reshape(-1, 4)
        assert rows.tolist() == [[0.5, 0.0, 0.0, 0.0]] * 8
        assert rows.ctypes.data % 64 == 0
        rows[:] = np.arange(32.0).reshape(8, 4)
        memory.steps[:], memory.returns[:] = [4, -9, 2], [-4.0, -9.0, -2.0]
        return np.int64(runs_module.FINISHED), np.int64(3), np.int64(0)

    monkeypatch.setattr(runs_module, "kernel_of", lambda parts: given.append(parts) or kernel)
    setting = EngineSetting(own, "qrc", alpha=0.2, eta=0.5, epsilon=0.3, episodes=3, theta0=0.5, sigma=0.4,
                            sigma_noise=0.1, sigma_drawn="episode", sigma_clipped=True, sigma_decay=0.9,
                            target="epsilon-greedy")  # fmt: skip
    found = run_setting(setting, 1, 7, first_run=2)
    parts, (data, codes, memory, streams, sigma, rates, limits) = given
    assert parts == runs_module.parts_of(own, LEARNERS["qrc"], "epsilon-greedy")
    assert data == (3,)
    assert [one.tolist() for one in codes] == [one.tolist() for one in own.coder._codes(2, 4)]
    assert (memory.live.shape, memory.live.dtype, memory.weights.shape) == (
        (9,),
        np.int64,
        (32,),
    )  # room for one more
    assert (memory.steps.dtype, memory.returns.dtype) == (np.int64, np.float64)
    for name, purpose in (
        ("starts", START),
        ("behaviour", BEHAVIOUR),
        ("moves", TRAJECTORY),
        ("ties", TIES),
    ):
        assert getattr(streams, name).tolist() == words(7, 2, purpose).tolist()
    assert tuple(sigma)[:5] == (0.4, 0.1, DRAWN["episode"], True, 0.9)
    assert sigma.stream.tolist() == words(7, 2, SIGMA).tolist()
    assert rates == runs_module.rates_of(setting, 2)
    assert tuple(limits) == (own.max_steps, 0.3, FLUSH_BELOW)
    assert (found.steps.tolist(), found.capped.tolist()) == ([[4, 9, 2]], [[False, True, False]])
    assert (found.returns.tolist(), found.diverged.tolist()) == ([[-4.0, -9.0, -2.0]], [False])
    assert (found.theta.tolist(), found.omega.tolist()) == (
        [list(range(0, 32, 4))],
        [list(range(2, 32, 4))],
    )


def test_an_end_that_is_none_of_the_learners_is_told_with_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = Environment(**(WORLD | {"name": "maze"}))
    place = r"in run 5, episode 1 \(both from 0\), after 2 steps; "
    for outcome, told in (
        (
            runs_module.LOST,
            rf"^coder of 'maze' has no place for the state, .* {place}it should give different ",
        ),
        (
            runs_module.NO_STATE,
            rf"^state of 'maze' is not finite, {place}its start, step and observe should return ",
        ),
        (
            runs_module.NO_REWARD,
            rf"^reward of 'maze' is not finite, {place}its step should return a finite number$",
        ),
    ):
        monkeypatch.setattr(
            runs_module, "kernel_of", lambda _, outcome=outcome: lambda *_: (outcome, 1, 2)
        )
        with pytest.raises(ValueError, match=told):
            run_setting(EngineSetting(own, "sarsa"), 2, 0, first_run=5)
    monkeypatch.setattr(runs_module, "kernel_of", lambda _: lambda *_: (runs_module.DIVERGED, 1, 2))
    found = run_setting(EngineSetting(own, "sarsa", episodes=3, max_steps=7), 2, 0)
    assert (found.steps.tolist(), found.capped.tolist()) == (
        [[0, 7, 7]] * 2,
        [[False, True, True]] * 2,
    )
    assert np.isnan(found.returns).tolist() == [[False, True, True]] * 2
    assert found.diverged.tolist() == [True, True]
    kept = runs_module.engine_runs(
        EngineSetting(own, "sarsa", episodes=3, max_steps=7), 2, 0, first_run=1
    )
    assert list(kept) == ["steps", "returns", "diverged"]
    assert (kept["steps"].dtype, kept["steps"].tolist()) == (np.int32, [[0, 7, 7]] * 2)
    assert (np.isnan(kept["returns"]).tolist(), kept["diverged"].tolist()) == (
        [[False, True, True]] * 2,
        [True] * 2,
    )
