"""States that an environment should not return: the engine says so, and reads nothing beyond its tables."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit, typeof

from gqlib.engine import Environment, Features, Learner, Tiles, run
from gqlib.engine.coders import CarTable
from gqlib.fast import _sound
from gqlib.learners.texts import LEARNERS


@njit
def _still(data, stream):
    return (0.0, 0.0)


@njit
def _wide():
    return 0.0


@njit
def _drive_on(data, state, action, stream):
    return (state[0] + data[0], state[1] + data[1]), -1.0, False


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize(
    "speed", [(0.3, 0.0), (1e6, 0.0), (-1e12, 0.0), (0.0, 0.03), (0.0, -1e9), (np.inf, 0.0)]
)
def test_a_car_that_leaves_its_box_is_refused(speed, engine):
    """The table of the car's tiles ends with the box: what is beyond is other memory."""
    car = Environment(_still, _drive_on, 3, CarTable(512), data=speed, name="own car")
    with pytest.raises(ValueError, match=r"^((coder|state) of 'own car'|position is|velocity is)"):
        run(car, "sarsa", runs=1, seed=0, episodes=1, max_steps=20, engine=engine)


@pytest.mark.slow
def test_a_car_inside_its_box_is_not():
    car = Environment(_still, _drive_on, 3, CarTable(512), data=(0.02, -0.003), name="own car")
    both = [
        run(car, "sarsa", runs=1, seed=0, episodes=2, max_steps=20, engine=each)
        for each in ("fast", "reference")
    ]
    assert both[0].capped.all()
    np.testing.assert_allclose(both[0].theta, both[1].theta, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("actions", [1, 2, 4, 64])
def test_the_cars_table_has_three_actions(actions):
    with pytest.raises(ValueError, match=rf"^actions is {actions}; .* it should be 3$"):
        Environment(_still, _drive_on, actions, CarTable(512))


@njit
def _list_start(data, stream):
    return np.zeros(data[0])


@njit
def _list_step(data, state, action, stream):
    return state, -1.0, False


@pytest.mark.slow
@pytest.mark.parametrize("tiles", [(4, 4, 4), (64, 64, 64)], ids=["looked up", "computed"])
@pytest.mark.parametrize("entries", [2, 4])
def test_a_state_of_another_size_than_the_tiles_is_refused(tiles, entries):
    place = Environment(
        _list_start, _list_step, 2, Tiles((0.0,) * 3, (1.0,) * 3, tiles, 8), data=(entries,)
    )
    with pytest.raises(
        ValueError, match=r"^coder of 'own' has no place for the state array.* its box, 3$"
    ):
        run(place, "sarsa", runs=1, seed=0, episodes=1, max_steps=5)
    right = Environment(_list_start, _list_step, 2, place.coder, data=(3,))
    assert run(right, "sarsa", runs=1, seed=0, episodes=1, max_steps=5).capped.all()


def test_the_compiler_is_given_a_function_for_each_kind_of_state(monkeypatch):
    """It is registered when the module is loaded; here once more, and what it chooses is called as it is written."""
    made, real = [], _sound.import_module
    stub = SimpleNamespace(
        overload=lambda function, **_: made.append if function is _sound.finite else None
    )
    monkeypatch.setattr(
        _sound, "import_module", lambda name: stub if name == "numba.extending" else real(name)
    )
    _sound._for_the_compiler()
    (choose,) = made
    for state in (
        0.5,
        np.inf,
        np.nan,
        (0.5,),
        (np.nan,),
        (0.5, -np.inf),
        (1, 0.5),
        np.ones(2),
        np.array([np.nan]),
    ):
        assert choose(typeof(state))(state) == _sound.finite(state)
    assert choose(typeof(3))(3) is True


@njit
def _counted(data, state, action, stream):
    data[0][0] += 1.0
    data[1][0][0] -= 1.0
    return state, data[0][0] - data[1][0][0], False


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_what_a_run_writes_into_the_data_stays_in_that_run(engine):
    fixed = np.array([2.0])
    fixed.setflags(write=False)
    counts = np.zeros(1), (np.zeros(1),), fixed
    place = Environment(_still, _counted, 2, Tiles((0.0,) * 2, (1.0,) * 2, (2, 2), 1), data=counts)
    both = run(place, "sarsa", runs=2, seed=0, episodes=2, max_steps=3, engine=engine)
    second = run(
        place, "sarsa", runs=1, seed=0, first_run=1, episodes=2, max_steps=3, engine=engine
    )
    np.testing.assert_array_equal(both.returns, [[12.0, 30.0]] * 2)
    np.testing.assert_array_equal(both.theta[1], second.theta[0])
    assert counts[0][0] == counts[1][0][0] == 0.0


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda: Environment(_wide, _drive_on, 3, CarTable(512)),
            r"^start takes \(\); .* \(data, stream\)$",
        ),
        (
            lambda: Environment(_still, _wide, 3, CarTable(512)),
            r"^step takes .* \(data, state, action, stream\)$",
        ),
        (
            lambda: Environment(_still, _drive_on, 3, CarTable(512), _wide),
            r"^observe takes .* \(data, state\)$",
        ),
        (
            lambda: Features(_wide, size=3),
            r"^fill takes \(\); it should take \(data, state, out\)$",
        ),
        (lambda: Learner(_wide, _wide, _wide), r"^begin takes \(\); it should take \(rates\)$"),
        (
            lambda: Learner(_still, _wide, _wide),
            r"^begin takes \(data, stream\); it should take \(rates\)$",
        ),
        (
            lambda: replace(LEARNERS["gq"], before=_wide),
            r"^before takes .* \(memory, seen, rates\)$",
        ),
        (lambda: replace(LEARNERS["gq"], after=_wide), r"^after takes .* \(memory, seen, rates\)$"),
    ],
)
def test_a_function_with_other_arguments_is_refused_before_it_is_compiled(make, told):
    with pytest.raises(ValueError, match=told):
        make()
