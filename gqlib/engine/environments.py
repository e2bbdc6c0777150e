r"""Environments as data: an environment is two or three compiled functions, a number of actions and a coder.

    start(data, stream)                   a state, at the start of an episode
    step(data, state, action, stream)     the next state, the reward, and whether the episode ends there
    observe(data, state)                  what the tile coder sees of a state, a tuple of floats

`data` is whatever the functions need, a tuple of numbers and arrays; `stream` gives random numbers to `draw`.
States are tuples of floats, or whole numbers. The dynamics of the classic problems are Gymnasium's, in double precision
from the start (Gymnasium rounds what it returns, and the first state of Acrobot, to single precision):

    mountain_car   MountainCar-v0, whose goal and walls are those of `gqlib.domains.mountain_car`
    acrobot        Acrobot-v1: two links, torque on the joint between them, one Runge–Kutta step of 0.2 s
    cart_pole      CartPole-v1: a step of Euler's rule of 0.02 s
    chain          any finite MDP with terminal states, one feature per state

Sine and cosine are fixed series, the same on every machine: the error is below 3e-16 on [−4π, 4π]. One step from the
same state therefore differs from Gymnasium's by a few units in the last place (tests: 1e-14 for the cart-pole, 1e-13
for Acrobot, each relative to the size of the numbers that are added up).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import factorial, pi
from typing import Any

import numpy as np

from gqlib import _validate as check
from gqlib._objects import ByValue
from gqlib.control.setting import STARTS, Memory, Start
from gqlib.domains import mountain_car as car
from gqlib.domains.episodes import TabularTask
from gqlib.engine.coders import CarTable, Features, Tiles
from gqlib.fast import COMPILE
from gqlib.fast import _car as compiled_car
from gqlib.fast._jit import COMPILED, is_jitted, njit
from gqlib.fast._lowered import early
from gqlib.fast._rng import uniform

__all__ = ["Environment", "acrobot", "cart_pole", "chain", "draw", "mountain_car"]


@njit(forceinline=True, **COMPILE)
def draw(stream: Any) -> Any:
    """A uniform number in [0, 1), for compiled code: the next of the stream that an environment is handed.

    Examples
    --------
    >>> from gqlib.seeds import START, words
    >>> 0.0 <= draw(words(0, 0, START)) < 1.0
    True
    """
    return uniform(stream)


@njit(forceinline=True, **COMPILE)
def _as_it_is(data: Any, state: Any) -> Any:
    return state


@dataclass(frozen=True, eq=False, repr=False)
class Environment(ByValue):
    """An environment: see the module.

    Parameters
    ----------
    start, step : compiled function
    actions : int
    coder : Tiles, Features or CarTable
        How states become active features.
    observe : compiled function
        What `Tiles` sees of a state; the state itself by default.
    data : tuple
        Handed to every function. Each run has arrays of its own: what it writes there, no other run sees, nor do you.
    max_steps : int
        Where episodes are cut off, unless a run says otherwise.
    name : str

    Examples
    --------
    A walk of your own, along a corridor of ten states with a coin at its end:

    >>> @njit
    ... def start(data, stream):
    ...     return 0
    >>> @njit
    ... def step(data, state, action, stream):
    ...     place = max(0, state + 2 * action - 1)
    ...     return place, -1.0, place == 9
    >>> @njit
    ... def fill(data, state, out):
    ...     out[0] = state
    >>> corridor = Environment(start, step, 2, Features(fill, size=10))
    >>> corridor
    Environment('own', 2 actions, 1 of 10 features active, at most 1000 steps)
    >>> from gqlib.engine import run
    >>> result = run(corridor, "sarsa", runs=3, seed=0, episodes=60, alpha=0.5, lam=0.9, max_steps=500)
    >>> result.steps[:, -1].max() < 20
    np.True_
    """

    start: Callable[..., Any]
    step: Callable[..., Any]
    actions: int
    coder: Tiles | Features | CarTable
    observe: Callable[..., Any] = field(default=_as_it_is)
    data: tuple[Any, ...] = ()
    max_steps: int = 1000
    name: str = "own"

    def __repr__(self) -> str:
        coder = self.coder
        size = coder.p if isinstance(coder, CarTable) else coder.size
        features = f"{coder.active} of {size} features active"
        return f"Environment({self.name!r}, {self.actions} actions, {features}, at most {self.max_steps} steps)"

    def __post_init__(self) -> None:
        called = {"start": ("data", "stream"), "step": ("data", "state", "action", "stream"),
                  "observe": ("data", "state")}  # fmt: skip
        for name, arguments in called.items():
            if not is_jitted(check.takes(name, getattr(self, name), *arguments)) and COMPILED:
                raise ValueError(f"{name} is a plain function; it should be compiled by numba.njit")
        object.__setattr__(self, "actions", check.integer("actions", self.actions, low=1, high=64))
        object.__setattr__(
            self, "max_steps", check.integer("max_steps", self.max_steps, low=1, high=check.ROOM)
        )
        check.instance("coder", self.coder, Tiles, Features, CarTable)
        check.instance("data", self.data, tuple)
        check.instance("name", self.name, str)
        if isinstance(self.coder, CarTable) and self.actions != car.ACTIONS:
            raise ValueError(
                f"actions is {self.actions}; with the table of the car's tiles it should be {car.ACTIONS}"
            )
        if self.coder._rows(self.actions) > 2**26:
            raise ValueError(f"coder has {self.coder.size} features for each of {self.actions} actions; "  # type: ignore[union-attr]
                             "together there should be at most 2**26")  # fmt: skip


# Series of sine and cosine on [-pi/4, pi/4]: the next terms are below 1e-18.
_SIN = tuple(float((-1) ** k) / factorial(2 * k + 1) for k in range(10))
_COS = tuple(float((-1) ** k) / factorial(2 * k) for k in range(11))
# pi/2 in three parts, the first two with so few bits that small multiples of them are exact (Cody and Waite).
_HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
_TWO_OVER_PI = 2.0 / pi


@njit(forceinline=True, **COMPILE)
def _sine_and_cosine(x: Any) -> Any:
    turns = np.floor(x * _TWO_OVER_PI + 0.5)
    t = ((x - turns * _HALF_PI[0]) - turns * _HALF_PI[1]) - turns * _HALF_PI[2]
    z = t * t
    sine, cosine = _SIN[9], _COS[10]
    for k in range(8, -1, -1):
        sine = sine * z + _SIN[k]
    for k in range(9, -1, -1):
        cosine = cosine * z + _COS[k]
    sine *= t
    quarter = np.int64(turns) & 3
    if quarter == 0:
        return sine, cosine
    if quarter == 1:
        return cosine, -sine
    if quarter == 2:
        return -sine, -cosine
    return -cosine, sine


# In memory, of which the compiler cannot know what is there: it reads a number where it needs one, in the instruction
# that computes with it. Numbers that it knows it names by an instruction of their own at every use, and numbers that it
# was handed it carries from register to register all around the loop. In plain Python a tuple is faster.
_CAR: Any = np.array(car.CONSTANTS) if COMPILED else car.CONSTANTS
if COMPILED:
    _CAR.setflags(write=False)  # not copied for each run
_AT_BOTTOM, _ANYWHERE = STARTS.index("bottom"), STARTS.index("anywhere")


@njit(forceinline=True, **COMPILE)
def _car_start(data: Any, stream: Any) -> Any:
    if data[1] == _ANYWHERE:
        u = uniform(stream)
        x, v = compiled_car.anywhere(u, uniform(stream))
    else:
        x, v = car.BOTTOM if data[1] == _AT_BOTTOM else compiled_car.start(uniform(stream)), 0.0
    return x, v, compiled_car.cosine(3.0 * x, data[0])


@njit(forceinline=True, **COMPILE)
def _car_step(data: Any, state: Any, action: Any, stream: Any) -> Any:
    # The slope is part of the state, so that it is known before the action is.
    x, v = compiled_car.advance(state[0], state[1], np.float64(action - 1), state[2], data[0])
    return (x, v, early(compiled_car.cosine(3.0 * x, data[0]))), -1.0, x >= compiled_car.GOAL


@njit(forceinline=True, **COMPILE)
def _car_observe(data: Any, state: Any) -> Any:
    return state[0], state[1]


def mountain_car(
    tilings: int = 8,
    *,
    p: int | None = None,
    memory: Memory = "int",
    start: Start = "valley",
    tiles_of: int = -1,
) -> Environment:
    """The mountain car, with tilings of 8 × 8 tiles.

    Parameters
    ----------
    tilings : int
    p : int, optional
        Hash the tiles into a memory of this size, as the paper does; by default every tile has an index.
    memory : {"int", "iht", "salted", "rltoolkit"}
        How they are hashed.
    start : {"valley", "bottom", "anywhere"}
        Where episodes start: see `gqlib.control.ControlSetting`.
    tiles_of : int
        The run whose drawn tiles all have; -1: each its own.

    Examples
    --------
    >>> mountain_car().coder.size, mountain_car(p=1024).coder.active
    (648, 8)
    """
    low, high = (car.POSITION_MIN, -car.VELOCITY_MAX), (car.POSITION_MAX, car.VELOCITY_MAX)
    coder = (
        Tiles(low, high, (8, 8), tilings) if p is None else CarTable(p, tilings, memory, tiles_of)
    )
    data = _CAR, STARTS.index(check.choice("start", start, STARTS))
    return Environment(
        _car_start, _car_step, car.ACTIONS, coder, _car_observe, data, max_steps=5000, name="mountain car"
    )  # fmt: skip


# Gymnasium's CartPole-v1.
_GRAVITY, _POLE, _TOTAL, _HALF_LENGTH, _FORCE, _TAU = 9.8, 0.1, 1.1, 0.5, 10.0, 0.02
_POLE_LENGTH = _POLE * _HALF_LENGTH
_EDGE, _TILT = 2.4, 12 * 2 * pi / 360


@njit(forceinline=True, **COMPILE)
def _pole_start(data: Any, stream: Any) -> Any:
    a = -0.05 + 0.1 * uniform(stream)
    b = -0.05 + 0.1 * uniform(stream)
    c = -0.05 + 0.1 * uniform(stream)
    return a, b, c, -0.05 + 0.1 * uniform(stream)


@njit(forceinline=True, **COMPILE)
def _pole_step(data: Any, state: Any, action: Any, stream: Any) -> Any:
    x, speed, angle, spin = state
    force = _FORCE if action == 1 else -_FORCE
    sine, cosine = _sine_and_cosine(angle)
    push = (force + _POLE_LENGTH * (spin * spin) * sine) / _TOTAL
    turn = (_GRAVITY * sine - cosine * push) / (
        _HALF_LENGTH * (4.0 / 3.0 - _POLE * (cosine * cosine) / _TOTAL)
    )
    pull = push - _POLE_LENGTH * turn * cosine / _TOTAL
    x, speed, angle, spin = (
        x + _TAU * speed,
        speed + _TAU * pull,
        angle + _TAU * spin,
        spin + _TAU * turn,
    )
    ends = x < -_EDGE or x > _EDGE or angle < -_TILT or angle > _TILT
    return (x, speed, angle, spin), 1.0, ends


def cart_pole(tilings: int = 8, tiles: int = 4) -> Environment:
    """Gymnasium's cart-pole; speeds beyond ±3 and spins beyond ±3.5 count as those for the tiles.

    Examples
    --------
    >>> cart_pole().coder.size
    5000
    """
    high = (_EDGE, 3.0, _TILT, 3.5)
    coder = Tiles(tuple(-x for x in high), high, (tiles,) * 4, tilings)
    return Environment(_pole_start, _pole_step, 2, coder, max_steps=500, name="cart-pole")


# Gymnasium's Acrobot-v1: masses, lengths and moments of inertia are 1, centres of mass at 1/2.
_SPIN_1, _SPIN_2, _DT = 4 * pi, 9 * pi, 0.2


@njit(forceinline=True, **COMPILE)
def _acrobot_slope(a: Any, b: Any, da: Any, db: Any, torque: Any) -> Any:
    sine_b, cosine_b = _sine_and_cosine(b)
    sine_a, _ = _sine_and_cosine(a)
    sine_ab, _ = _sine_and_cosine(a + b)
    d1 = 0.25 + (1.25 + cosine_b) + 2.0
    d2 = (0.25 + 0.5 * cosine_b) + 1.0
    phi2 = 0.5 * 9.8 * sine_ab  # cos(x - pi/2) is sin x
    phi1 = -0.5 * (db * db) * sine_b - db * da * sine_b + 1.5 * 9.8 * sine_a + phi2
    ddb = (torque + d2 / d1 * phi1 - 0.5 * (da * da) * sine_b - phi2) / (1.25 - d2 * d2 / d1)
    return da, db, -(d2 * ddb + phi1) / d1, ddb


@njit(**COMPILE)
def _wrapped(x: Any) -> Any:
    while x > pi:
        x -= 2 * pi
    while x < -pi:
        x += 2 * pi
    return x


@njit(forceinline=True, **COMPILE)
def _acrobot_start(data: Any, stream: Any) -> Any:
    a = -0.1 + 0.2 * uniform(stream)
    b = -0.1 + 0.2 * uniform(stream)
    c = -0.1 + 0.2 * uniform(stream)
    return a, b, c, -0.1 + 0.2 * uniform(stream)


@njit(**COMPILE)
def _acrobot_step(data: Any, state: Any, action: Any, stream: Any) -> Any:
    a, b, da, db = state
    torque, half = np.float64(action - 1), 0.5 * _DT
    k1 = _acrobot_slope(a, b, da, db, torque)
    k2 = _acrobot_slope(
        a + half * k1[0], b + half * k1[1], da + half * k1[2], db + half * k1[3], torque
    )
    k3 = _acrobot_slope(
        a + half * k2[0], b + half * k2[1], da + half * k2[2], db + half * k2[3], torque
    )
    k4 = _acrobot_slope(
        a + _DT * k3[0], b + _DT * k3[1], da + _DT * k3[2], db + _DT * k3[3], torque
    )
    sixth = _DT / 6.0
    a = _wrapped(a + sixth * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0]))
    b = _wrapped(b + sixth * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1]))
    da = min(max(da + sixth * (k1[2] + 2 * k2[2] + 2 * k3[2] + k4[2]), -_SPIN_1), _SPIN_1)
    db = min(max(db + sixth * (k1[3] + 2 * k2[3] + 2 * k3[3] + k4[3]), -_SPIN_2), _SPIN_2)
    _, up = _sine_and_cosine(a)
    _, further = _sine_and_cosine(a + b)
    ends = -up - further > 1.0
    return (a, b, da, db), (0.0 if ends else -1.0), ends


def acrobot(tilings: int = 8, tiles: int = 6) -> Environment:
    """Gymnasium's Acrobot; the coder sees the two angles and their speeds.

    Examples
    --------
    >>> acrobot().coder.size
    19208
    """
    high = (pi, pi, _SPIN_1, _SPIN_2)
    coder = Tiles(tuple(-x for x in high), high, (tiles,) * 4, tilings)
    return Environment(_acrobot_start, _acrobot_step, 3, coder, max_steps=500, name="Acrobot")


@njit(forceinline=True, **COMPILE)
def _pick(cumulative: Any, u: Any) -> Any:
    index = 0
    while index < cumulative.size - 1 and cumulative[index] <= u:
        index += 1
    return index


@njit(**COMPILE)
def _chain_start(data: Any, stream: Any) -> Any:
    return _pick(data[0], uniform(stream))


@njit(**COMPILE)
def _chain_step(data: Any, state: Any, action: Any, stream: Any) -> Any:
    following = _pick(data[1][state, action], uniform(stream))
    return following, data[2][state, action], data[3][following]


@njit(**COMPILE)
def _chain_fill(data: Any, state: Any, out: Any) -> None:
    out[0] = state


def chain(task: TabularTask, name: str = "chain") -> Environment:
    """A finite MDP with terminal states, as in `gqlib.domains.random_walk`, with one feature for each state.

    Examples
    --------
    >>> from gqlib.domains.random_walk import random_walk
    >>> walk = chain(random_walk(5))
    >>> walk.actions, walk.coder.size
    (2, 7)
    """
    check.instance("task", task, TabularTask, where="gqlib.domains.episodes")
    mdp = task.mdp
    law, moves = np.cumsum(task.start), np.cumsum(mdp.transitions, axis=2)
    data = law, moves, np.array(mdp.rewards), np.array(mdp.is_terminal)
    coder = Features(_chain_fill, mdp.n_states)
    return Environment(
        _chain_start, _chain_step, mdp.n_actions, coder, data=data, max_steps=10_000, name=name
    )
