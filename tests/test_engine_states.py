"""States that an environment should not return: the engine says so, and reads nothing beyond its tables."""

from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit, typeof

from gqlib.engine import Environment, Tiles, run
from gqlib.engine.coders import CarTable
from gqlib.fast import _sound


@njit
def _still(data, stream):
    return (0.0, 0.0)


@njit
def _drive_on(data, state, action, stream):
    return (state[0] + data[0], state[1] + data[1]), -1.0, False


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("speed", [(0.3, 0.0), (1e6, 0.0), (-1e12, 0.0), (0.0, 0.03), (0.0, -1e9), (np.inf, 0.0)])
def test_a_car_that_leaves_its_box_is_refused(speed, engine):
    """The table of the car's tiles ends with the box: what is beyond is other memory."""
    car = Environment(_still, _drive_on, 3, CarTable(512), data=speed, name="own car")
    with pytest.raises(ValueError, match=r"^((coder|state) of 'own car'|position is|velocity is)"):
        run(car, "sarsa", runs=1, seed=0, episodes=1, max_steps=20, engine=engine)


@pytest.mark.slow
def test_a_car_inside_its_box_is_not():
    car = Environment(_still, _drive_on, 3, CarTable(512), data=(0.02, -0.003), name="own car")
    both = [run(car, "sarsa", runs=1, seed=0, episodes=2, max_steps=20, engine=each) for each in ("fast", "reference")]
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
    place = Environment(_list_start, _list_step, 2, Tiles((0.0,) * 3, (1.0,) * 3, tiles, 8), data=(entries,))
    with pytest.raises(ValueError, match=r"^coder of 'own' has no place for the state"):
        run(place, "sarsa", runs=1, seed=0, episodes=1, max_steps=5)
    right = Environment(_list_start, _list_step, 2, place.coder, data=(3,))
    assert run(right, "sarsa", runs=1, seed=0, episodes=1, max_steps=5).capped.all()


def test_the_compiler_is_given_a_function_for_each_kind_of_state(monkeypatch):
    """It is registered when the module is loaded; here once more, and what it chooses is called as it is written."""
    made, real = [], _sound.import_module
    stub = SimpleNamespace(overload=lambda function, **_: made.append if function is _sound.finite else None)
    monkeypatch.setattr(_sound, "import_module", lambda name: stub if name == "numba.extending" else real(name))
    _sound._for_the_compiler()
    (choose,) = made
    for state in (0.5, np.inf, np.nan, (0.5,), (np.nan,), (0.5, -np.inf), (1, 0.5), np.ones(2), np.array([np.nan])):
        assert choose(typeof(state))(state) == _sound.finite(state)
    assert choose(typeof(3))(3) is True
